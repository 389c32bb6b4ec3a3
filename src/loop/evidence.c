/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads evidence out of a network: only what is asked for, in as few passes as possible.
 *
 *  - features, logits: one forward pass over the pool
 *  - slopes: |g|^2 and <g, g_S> of every row. g is the whole network's loss gradient, at
 *    the label of a labelled row and at the predicted class of another; g_S is the sum
 *    over the labelled rows. Exact and without storing gradients: one summed pass over
 *    the labelled rows, then one forwards and backwards over the pool.
 *  - lengths: of such gradients at every class, weighted by the probabilities; a backward
 *    pass over the pool for each class
 *  - gradients: sketches of them
 *  - samples: the probabilities of each posterior draw or ensemble member. They may
 *    exceed memory, so they go through a file. It is unlinked once mapped: nothing is
 *    left however the process ends.
 */
#include "loop/evidence.h"

#include <string.h>
#include <unistd.h>

#include "core/argmax.h"
#include "data/dataset.h"
#include "nn/inference.h"
#include "nn/input.h"

enum { SKETCH = 512, LEAST_SKETCH = 32 };

/* ---- arrays ------------------------------------------------------------------------ */

void loop_evidence_init(loop_evidence *e, scant_ctx *ctx) {
    *e = (loop_evidence){0};
    scant__arena_init(&e->arena, ctx);
}

void loop_evidence_end(loop_evidence *e) {
    for (size_t i = 0; i < LOOP_EVIDENCE; i++) scant_array_free(e->arrays[i]);
    scant__arena_end(&e->arena);
}

static const scant_array **place_of(scant_evidence *v, size_t which) {
    const scant_array **const places[LOOP_EVIDENCE] = {
        &v->features, &v->probs,   &v->logits, &v->calibrated, &v->gradients,
        &v->slopes,   &v->lengths, &v->labels, &v->samples,    &v->candidates};
    return places[which];
}

static void put(loop_evidence *e, size_t which, scant_array *array) {
    scant_array_free(e->arrays[which]);
    e->arrays[which] = array;
    *place_of(&e->view, which) = array;
}

scant_status loop_evidence_wrap(loop_evidence *e, size_t which, const void *data,
                                scant_dtype dtype, size_t n, size_t width) {
    static const char *const names[LOOP_EVIDENCE] = {
        "features", "probs",   "logits", "calibrated", "gradients",
        "slopes",   "lengths", "labels", "samples",    "candidates"};
    const size_t shape[] = {n, width};
    scant_array *array;
    TRY(scant_array_wrap(e->arena.ctx, names[which], data, dtype, width ? 2 : 1, shape,
                         &array));
    put(e, which, array);
    return SCANT_OK;
}

/* ---- reading ----------------------------------------------------------------------- */

/* A reading under way. */
typedef struct reader {
    const loop_reading *what;
    loop_evidence *evidence;
    scant__arena *arena;
    size_t classes;
    float *logits;   /* NULL: not read */
    int64_t *labels; /* of the pool; -1: none */
} reader;

static float *floats(reader *r, size_t width) {
    return scant__arena_alloc(r->arena, r->what->n, size_mul(width, sizeof(float)));
}

static scant_status give(reader *r, size_t which, const void *data, scant_dtype dtype,
                         size_t width) {
    return loop_evidence_wrap(r->evidence, which, data, dtype, r->what->n, width);
}

/* The place in the pool of a sample; it must be there. */
static size_t place_in(const loop_reading *what, size_t row) {
    size_t low = 0, high = what->n;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (what->rows[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int32_t label_of(const loop_reading *what, size_t i) {
    const int32_t *labels = scant_data_labels(what->data);
    if (what->labelled->labels) return what->labelled->labels[i];
    return labels ? labels[what->labelled->rows[i]] : 0; /* numbers to predict */
}

static scant_status mark_labels(reader *r) {
    const loop_reading *what = r->what;
    r->labels = scant__arena_alloc(r->arena, what->n, sizeof *r->labels);
    if (!r->labels) return SCANT_ENOMEM;
    for (size_t i = 0; i < what->n; i++) r->labels[i] = -1;
    for (size_t i = 0; i < what->labelled->n; i++)
        r->labels[place_in(what, what->labelled->rows[i])] = label_of(what, i);
    return give(r, LOOP_LABELS, r->labels, SCANT_I64, 0);
}

/* One forward pass. */
static scant_status predict(reader *r) {
    const loop_reading *what = r->what;
    bool probs = what->bits & (SCANT_PROBS | SCANT_CALIBRATED);
    size_t width = scant_net_features(what->net);
    float *features = NULL;
    if (what->bits & SCANT_FEATURES && what->features == LOOP_LAST_LAYER) {
        features = floats(r, width);
        if (!features) return SCANT_ENOMEM;
        TRY(give(r, LOOP_FEATURES, features, SCANT_F32, width));
    }
    if (!scant_data_targets(what->data) && (probs || what->bits & SCANT_GRADIENTS)) {
        r->logits = floats(r, r->classes);
        if (!r->logits) return SCANT_ENOMEM;
        if (probs) TRY(give(r, LOOP_LOGITS, r->logits, SCANT_F32, r->classes));
    }
    if (!features && !r->logits) return SCANT_OK;
    return scant_net_predict(what->net, what->data, what->rows, what->n,
                             &(scant_outputs){.features = features, .logits = r->logits});
}

/* Of loss gradients; of one output, a number, its own. */
static scant_status sketch_gradients(reader *r) {
    const loop_reading *what = r->what;
    int32_t *labels = scant__arena_alloc(r->arena, what->n, sizeof *labels);
    float *sketches = floats(r, SKETCH);
    if (!labels || !sketches) return SCANT_ENOMEM;
    for (size_t i = 0; i < what->n && r->logits; i++)
        labels[i] = r->labels[i] >= 0
                        ? (int32_t)r->labels[i]
                        : (int32_t)scant__argmax(r->logits + i * r->classes, r->classes);
    scant_gradient_opts opts = {.labels = r->logits ? labels : NULL,
                                .sketch = SKETCH,
                                .outputs = !r->logits,
                                .seed = what->seed};
    TRY(scant_net_gradients(what->net, what->data, what->rows, what->n, &opts,
                            &(scant_gradients){.sketches = sketches}));
    return give(r, LOOP_GRADIENTS, sketches, SCANT_F32, SKETCH);
}

/* Slopes of some rows of the pool, at labels or, where those are NULL, at the predicted
 * classes. */
static scant_status measure(reader *r, const size_t *rows, size_t n,
                            const int32_t *labels, const float *direction,
                            double *slopes) {
    const scant_gradient_opts opts = {.labels = labels, .direction = direction};
    double *norms = scant__arena_alloc(r->arena, n, sizeof *norms);
    double *products = scant__arena_alloc(r->arena, n, sizeof *products);
    if (!norms || !products) return SCANT_ENOMEM;
    if (n)
        TRY(scant_net_gradients(
            r->what->net, r->what->data, rows, n, &opts,
            &(scant_gradients){.norms = norms, .products = direction ? products : NULL}));
    for (size_t i = 0; i < n; i++) {
        double *slope = slopes + 2 * place_in(r->what, rows[i]);
        slope[0] = norms[i];
        slope[1] = direction ? products[i] : 0;
    }
    return SCANT_OK;
}

static scant_status measure_slopes(reader *r) {
    const loop_reading *what = r->what;
    const loop_labelled *known = what->labelled;
    size_t n_rest = 0;
    int32_t *labels = scant__arena_alloc(r->arena, known->n + 1, sizeof *labels);
    size_t *rest = scant__arena_alloc(r->arena, what->n, sizeof *rest);
    double *slopes = scant__arena_alloc(r->arena, what->n, 2 * sizeof *slopes);
    float *sum = NULL;
    if (!labels || !rest || !slopes) return SCANT_ENOMEM;
    for (size_t i = 0; i < known->n; i++) labels[i] = label_of(what, i);
    for (size_t i = 0; i < what->n; i++)
        if (r->labels[i] < 0) rest[n_rest++] = what->rows[i];
    if (known->n) {
        sum = scant__arena_alloc(r->arena, scant_net_parameters(what->net), sizeof *sum);
        if (!sum) return SCANT_ENOMEM;
        TRY(scant_net_gradients(what->net, what->data, known->rows, known->n,
                                &(scant_gradient_opts){.labels = labels},
                                &(scant_gradients){.sum = sum}));
    }
    TRY(measure(r, known->rows, known->n, labels, sum, slopes));
    TRY(measure(r, rest, n_rest, NULL, sum, slopes));
    return give(r, LOOP_SLOPES, slopes, SCANT_F64, 2);
}

static scant_status measure_lengths(reader *r) {
    const loop_reading *what = r->what;
    double *lengths = scant__arena_alloc(r->arena, what->n, sizeof *lengths);
    if (!lengths) return SCANT_ENOMEM;
    TRY(scant_net_gradients(what->net, what->data, what->rows, what->n, NULL,
                            &(scant_gradients){.lengths = lengths}));
    return give(r, LOOP_LENGTHS, lengths, SCANT_F64, 0);
}

static scant_status read_inputs(reader *r) {
    const loop_reading *what = r->what;
    size_t width = scant__data_width(what->data);
    float *inputs = floats(r, width);
    if (!inputs) return SCANT_ENOMEM;
    TRY(nn_input_rows(what->net, what->data, what->rows, what->n, inputs));
    return give(r, LOOP_FEATURES, inputs, SCANT_F32, width);
}

static scant_status sketch_jacobians(reader *r) {
    const loop_reading *what = r->what;
    size_t sketch = size_max(SKETCH / r->classes, LEAST_SKETCH);
    size_t width = size_mul(sketch, r->classes);
    float *sketches = floats(r, width);
    if (!sketches) return SCANT_ENOMEM;
    scant_gradient_opts opts = {.sketch = sketch, .outputs = 1, .seed = what->seed};
    TRY(scant_net_gradients(what->net, what->data, what->rows, what->n, &opts,
                            &(scant_gradients){.sketches = sketches}));
    return give(r, LOOP_FEATURES, sketches, SCANT_F32, width);
}

scant_status loop_evidence_draw(loop_evidence *e, const loop_reading *what) {
    scant_array *draws;
    TRY(nn_samples(what->net, what->data, what->rows, what->n, what->draws_path, false));
    scant_status status = scant_array_open(e->arena.ctx, what->draws_path, &draws);
    unlink(what->draws_path);
    if (status == SCANT_OK) put(e, LOOP_DRAWS, draws);
    return status;
}

scant_status loop_evidence_read(loop_evidence *e, const loop_reading *what) {
    reader r = {.what = what,
                .evidence = e,
                .arena = &e->arena,
                .classes = scant_net_classes(what->net)};
    TRY(mark_labels(&r));
    TRY(predict(&r));
    if (what->bits & SCANT_GRADIENTS) TRY(sketch_gradients(&r));
    if (what->bits & SCANT_SLOPES) TRY(measure_slopes(&r));
    if (what->bits & SCANT_LENGTHS) TRY(measure_lengths(&r));
    if (what->bits & SCANT_FEATURES && what->features == LOOP_JACOBIANS)
        TRY(sketch_jacobians(&r));
    if (what->features == LOOP_INPUTS) TRY(read_inputs(&r));
    if (what->bits & SCANT_CALIBRATED)
        e->view.temperature = what->temperature > 0 ? what->temperature : 1;
    return what->bits & SCANT_SAMPLES ? loop_evidence_draw(e, what) : SCANT_OK;
}

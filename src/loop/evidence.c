/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the requested evidence from a network, in as few passes as possible.
 *
 *  - features, logits: one forward pass over the pool
 *  - slopes: |g|^2 and <g, g_S> of every row. g is the loss gradient of the whole network
 *    for the row's label, or for the predicted class if the row is unlabelled; g_S is the
 *    sum of g over the labelled rows. Exact, and gradients are not stored: one pass adds
 *    up g_S, then a forward and a backward pass over the pool compute the slopes.
 *  - lengths: the expected length of g under the predicted probabilities; a backward pass
 *    over the pool for each class
 *  - gradients: sketches of the loss gradients
 *  - samples: the probabilities of each posterior draw or ensemble member. They may
 *    exceed memory, so they are written to a file and mapped. The file is then unlinked,
 *    so nothing is left however the process ends.
 */
#include "loop/evidence.h"

#include <assert.h>
#include <stdlib.h>
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

static scant_array *array_of(const loop_evidence *e, const scant_input *input) {
    scant_array *array = NULL;
    if (input->shape)
        memcpy(&array, (const char *)&e->view + input->offset, sizeof array);
    return array;
}

void loop_evidence_end(loop_evidence *e) {
    size_t count;
    const scant_input *inputs = scant_inputs(&count);
    for (size_t i = 0; i < count; i++) scant_array_free(array_of(e, &inputs[i]));
    scant__arena_end(&e->arena);
}

/* Replaces the array of an input. Takes `array`. */
static void put(loop_evidence *e, const char *name, scant_array *array) {
    size_t count, i = 0;
    const scant_input *inputs = scant_inputs(&count);
    while (i < count && strcmp(inputs[i].name, name) != 0) i++;
    assert(i < count);
    scant_array_free(array_of(e, &inputs[i]));
    memcpy((char *)&e->view + inputs[i].offset, &array, sizeof array);
}

scant_status loop_evidence_wrap(loop_evidence *e, const char *input, const void *data,
                                scant_dtype dtype, size_t n, size_t width) {
    const size_t shape[] = {n, width};
    scant_array *array;
    TRY(scant_array_wrap(e->arena.ctx, input, data, dtype, width ? 2 : 1, shape, &array));
    put(e, input, array);
    return SCANT_OK;
}

/* ---- reading ----------------------------------------------------------------------- */

/* Arguments and intermediate results of loop_evidence_read(). */
typedef struct reader {
    const loop_evidence_opts *what;
    loop_evidence *evidence;
    scant__arena *arena;
    size_t classes;
    float *logits;   /* NULL: not read */
    int64_t *labels; /* label of each row of the pool; -1: none */
} reader;

static scant_status give(reader *r, const char *input, const void *data,
                         scant_dtype dtype, size_t width) {
    return loop_evidence_wrap(r->evidence, input, data, dtype, r->what->n, width);
}

int loop_compare(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

size_t loop_place(const size_t *rows, size_t n, size_t row) {
    const size_t *at = bsearch(&row, rows, n, sizeof row, loop_compare);
    return at ? (size_t)(at - rows) : n;
}

static int32_t label_of(const loop_evidence_opts *what, size_t i) {
    const int32_t *labels = scant_data_labels(what->data);
    if (what->labelled->labels) return what->labelled->labels[i];
    return labels ? labels[what->labelled->rows[i]] : 0; /* 0 for regression */
}

static scant_status mark_labels(reader *r) {
    const loop_evidence_opts *what = r->what;
    r->labels = TRY_NEW(r->arena, int64_t, what->n);
    for (size_t i = 0; i < what->n; i++) r->labels[i] = -1;
    for (size_t i = 0; i < what->labelled->n; i++)
        r->labels[loop_place(what->rows, what->n, what->labelled->rows[i])] =
            label_of(what, i);
    return give(r, "labels", r->labels, SCANT_I64, 0);
}

/* One forward pass. */
static scant_status predict(reader *r) {
    const loop_evidence_opts *what = r->what;
    bool probs = what->bits & (SCANT_PROBS | SCANT_CALIBRATED);
    size_t width = scant_net_features(what->net);
    float *features = NULL;
    if (what->bits & SCANT_FEATURES && what->features == LOOP_LAST_LAYER) {
        features = TRY_NEW(r->arena, float, size_mul(what->n, width));
        TRY(give(r, "features", features, SCANT_F32, width));
    }
    if (!scant_data_targets(what->data) && (probs || what->bits & SCANT_GRADIENTS)) {
        r->logits = TRY_NEW(r->arena, float, size_mul(what->n, r->classes));
        if (probs) TRY(give(r, "logits", r->logits, SCANT_F32, r->classes));
    }
    if (!features && !r->logits) return SCANT_OK;
    return scant_net_predict(what->net, what->data, what->rows, what->n,
                             &(scant_outputs){.features = features, .logits = r->logits});
}

/* Adds sketches of `numbers` floats each: of the loss gradients for these labels, or of
 * each output's gradient if labels is NULL. */
static scant_status sketch(reader *r, const char *input, const int32_t *labels,
                           size_t numbers, size_t width) {
    const loop_evidence_opts *what = r->what;
    float *sketches = TRY_NEW(r->arena, float, size_mul(what->n, width));
    scant_gradient_opts opts = {
        .labels = labels, .sketch = numbers, .outputs = !labels, .seed = what->seed};
    TRY(scant_net_gradients(what->net, what->data, what->rows, what->n, &opts,
                            &(scant_gradients){.sketches = sketches}));
    return give(r, input, sketches, SCANT_F32, width);
}

/* Adds sketches of the loss gradients; for regression, of the output's gradients. */
static scant_status sketch_gradients(reader *r) {
    size_t n = r->what->n;
    int32_t *labels = r->logits ? TRY_NEW(r->arena, int32_t, n) : NULL;
    for (size_t i = 0; labels && i < n; i++)
        labels[i] = r->labels[i] >= 0
                        ? (int32_t)r->labels[i]
                        : (int32_t)scant__argmax(r->logits + i * r->classes, r->classes);
    return sketch(r, "gradients", labels, SKETCH, SKETCH);
}

static scant_status sketch_jacobians(reader *r) {
    size_t numbers = size_max(SKETCH / r->classes, LEAST_SKETCH);
    return sketch(r, "features", NULL, numbers, size_mul(numbers, r->classes));
}

/* Computes the slopes of some rows of the pool, for their labels, or for the predicted
 * classes if labels is NULL. */
static scant_status measure(reader *r, const size_t *rows, size_t n,
                            const int32_t *labels, const float *direction,
                            double *slopes) {
    const scant_gradient_opts opts = {.labels = labels, .direction = direction};
    double *norms = TRY_NEW(r->arena, double, n);
    double *products = TRY_NEW(r->arena, double, n);
    if (n)
        TRY(scant_net_gradients(
            r->what->net, r->what->data, rows, n, &opts,
            &(scant_gradients){.norms = norms, .products = direction ? products : NULL}));
    for (size_t i = 0; i < n; i++) {
        double *slope = slopes + 2 * loop_place(r->what->rows, r->what->n, rows[i]);
        slope[0] = norms[i];
        slope[1] = direction ? products[i] : 0;
    }
    return SCANT_OK;
}

static scant_status measure_slopes(reader *r) {
    const loop_evidence_opts *what = r->what;
    const loop_labelled *known = what->labelled;
    size_t n_rest = 0;
    int32_t *labels = TRY_NEW(r->arena, int32_t, known->n + 1);
    size_t *rest = TRY_NEW(r->arena, size_t, what->n);
    double *slopes = TRY_NEW(r->arena, double, size_mul(2, what->n));
    float *sum = NULL;
    for (size_t i = 0; i < known->n; i++) labels[i] = label_of(what, i);
    for (size_t i = 0; i < what->n; i++)
        if (r->labels[i] < 0) rest[n_rest++] = what->rows[i];
    if (known->n) {
        sum = TRY_NEW(r->arena, float, scant_net_parameters(what->net));
        TRY(scant_net_gradients(what->net, what->data, known->rows, known->n,
                                &(scant_gradient_opts){.labels = labels},
                                &(scant_gradients){.sum = sum}));
    }
    TRY(measure(r, known->rows, known->n, labels, sum, slopes));
    TRY(measure(r, rest, n_rest, NULL, sum, slopes));
    return give(r, "slopes", slopes, SCANT_F64, 2);
}

static scant_status measure_lengths(reader *r) {
    const loop_evidence_opts *what = r->what;
    double *lengths = TRY_NEW(r->arena, double, what->n);
    TRY(scant_net_gradients(what->net, what->data, what->rows, what->n, NULL,
                            &(scant_gradients){.lengths = lengths}));
    return give(r, "lengths", lengths, SCANT_F64, 0);
}

static scant_status read_inputs(reader *r) {
    const loop_evidence_opts *what = r->what;
    size_t width = scant__data_width(what->data);
    float *inputs = TRY_NEW(r->arena, float, size_mul(what->n, width));
    TRY(nn_input_rows(what->net, what->data, what->rows, what->n, inputs));
    return give(r, "features", inputs, SCANT_F32, width);
}

scant_status loop_evidence_draw(loop_evidence *e, const loop_evidence_opts *what) {
    scant_array *draws;
    TRY(nn_samples(what->net, what->data, what->rows, what->n, what->draws_path, false));
    scant_status status = scant_array_open(e->arena.ctx, what->draws_path, &draws);
    unlink(what->draws_path);
    if (status == SCANT_OK) put(e, "samples", draws);
    return status;
}

scant_status loop_evidence_read(loop_evidence *e, const loop_evidence_opts *what) {
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
    return what->bits & SCANT_DRAWS ? loop_evidence_draw(e, what) : SCANT_OK;
}

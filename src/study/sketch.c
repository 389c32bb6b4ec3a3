/* SPDX-License-Identifier: Apache-2.0
 *
 * The study of a kernel without its matrix. With rows s of sketched gradients the kernel
 * is S S^T, and S^T S (K, K) has the same eigenvalues above 0. Its eigenvectors w give
 * those of the kernel as S w / sqrt(lambda), so the energies of labels follow from S^T Y.
 * Samples are read in blocks; nothing of size n^2 or n K is kept.
 *
 * A full kernel has a row for each sample and output. The mean over outputs is the kernel
 * of long rows: the gradients of all outputs, concatenated and divided by sqrt(C). The
 * sketch of a long row is the sum of the outputs' sketches, each with its own permutation
 * and signs, so that products between different outputs cancel on average.
 *
 * Error: the variance of a product is at most 2 |x|^2 |y|^2 / K, so the mean squared
 * (Frobenius) error of S S^T is at most 2 / K times the squared trace of the kernel. The
 * actual error is measured on a few samples, with two seeds.
 *
 * Cost: a sketch of each output's gradient, and K^2 multiply-adds for each row. Memory:
 * 5 K^2 doubles and a block of sketches.
 */
#include <math.h>
#include <string.h>

#include "core/parfor.h"
#include "core/rng.h"
#include "linalg/dense.h"
#include "linalg/products.h"
#include "nn/input.h"
#include "nn/persample.h"
#include "study/quantities.h"
#include "study/study.h"

enum {
    BLOCK_MOST = 512, /* maximum samples in a block */
    BLOCK_BYTES = 64 << 20,
    COMPARED = 200 /* rows of the exact kernel that the error is measured on */
};

typedef struct work {
    const scant_lab_opts *o;
    scant_net *net;
    const int32_t *labels;
    size_t n, classes, k, columns; /* columns of Y: classes, or 1 for a full kernel */
    scant__arena *arena;
    size_t block;
    float *sketches;     /* (block, classes, k) */
    float *s;            /* rows of S: (block, k); full kernel: the same as sketches */
    size_t *which;       /* rows of the block in data */
    float *f;            /* outputs of the block */
    uint32_t *moved;     /* (classes, k): 2 * new position + (1 if the sign is -1) */
    double *gram, *part; /* (k, k) */
    double *to_y, *to_start; /* (k, columns): S^T Y, S^T (F - Y) */
    double start_square;     /* |F - Y|^2 */
} work;

static size_t row_of(const work *w, size_t i) { return w->o->rows ? w->o->rows[i] : i; }

/* Draws a random permutation and random signs for each output. */
static scant_status make_moves(work *w, uint64_t seed) {
    scant__rng rng = {seed, SCANT__RNG_SKETCH};
    const uint64_t beyond = (uint64_t)1 << 62; /* counters that no parameter's draw has */
    size_t *order = TRY_NEW(w->arena, size_t, w->k);
    for (size_t c = 0; c < w->classes; c++) {
        scant__rng_shuffle(&rng, beyond + 2 * c * w->k, w->k, order);
        for (size_t i = 0; i < w->k; i++) {
            uint64_t bits = scant__rng_u64(&rng, beyond + (2 * c + 1) * w->k + i);
            w->moved[c * w->k + i] = (uint32_t)(order[i] << 1 | (bits & 1));
        }
    }
    return SCANT_OK;
}

/* Computes the sketches of samples which[0..count-1], and from them rows of S. */
static scant_status sketch(work *w, size_t count, uint64_t seed) {
    scant_gradient_opts g = {
        .last_layer = w->o->last_layer, .sketch = w->k, .outputs = true, .seed = seed};
    TRY(scant_net_gradients(w->net, w->o->data, w->which, count, &g,
                            &(scant_gradients){.sketches = w->sketches}));
    if (w->o->full) return SCANT_OK;
    float by = (float)(1 / sqrt((double)w->classes));
    memset(w->s, 0, count * w->k * sizeof *w->s);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < w->classes; c++) {
            const float *from = w->sketches + (i * w->classes + c) * w->k;
            const uint32_t *moved = w->moved + c * w->k;
            float *to = w->s + i * w->k;
            for (size_t b = 0; b < w->k; b++)
                to[moved[b] >> 1] += moved[b] & 1 ? -by * from[b] : by * from[b];
        }
    return SCANT_OK;
}

/* ---- sums over samples ----------------------------------------------------------- */

/* Adds a row of S times y to column c of S^T Y, and times start to column c of
 * S^T (F - Y). */
static void add_row(work *w, const float *s, size_t c, double y, double start) {
    for (size_t b = 0; b < w->k; b++) {
        if (y != 0) w->to_y[b * w->columns + c] += y * (double)s[b];
        w->to_start[b * w->columns + c] += start * (double)s[b];
    }
}

static void add_labels(work *w, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < w->classes; c++) {
            double y = w->labels[first + i] == (int32_t)c;
            double start = (double)w->f[i * w->classes + c] - y;
            const float *s = w->s + (w->o->full ? i * w->classes + c : i) * w->k;
            add_row(w, s, w->o->full ? 0 : c, y, start);
            w->start_square += start * start;
        }
}

static scant_status add_gram(work *w, size_t count, la_work *room) {
    size_t m = w->o->full ? count * w->classes : count;
    la_rows rows = {.n = m, .d = w->k, .type = LA_F32, .base = w->s};
    la_view view = {.h = &rows, .m = m};
    TRY(la_gram(&view, NULL, w->part, room));
    for (size_t i = 0; i < w->k * w->k; i++) w->gram[i] += w->part[i];
    return SCANT_OK;
}

static la_view widest(const work *w, la_rows *rows) {
    *rows = (la_rows){
        .n = w->block * (w->o->full ? w->classes : 1), .d = w->k, .type = LA_F32};
    return (la_view){.h = rows, .m = rows->n};
}

static scant_status add_samples(work *w) {
    la_work room = {.ctx = w->net->ctx};
    la_rows rows;
    la_view view = widest(w, &rows);
    TRY(la_work_init(&room, w->arena, la_gram_memory(&view, w->net->ctx->threads)));
    for (size_t first = 0; first < w->n; first += w->block) {
        size_t count = size_min(w->block, w->n - first);
        TRY(scant__tick(w->net->ctx, "sketches", first, w->n));
        for (size_t i = 0; i < count; i++) w->which[i] = row_of(w, first + i);
        TRY(sketch(w, count, w->o->seed));
        TRY(add_gram(w, count, &room));
        if (!w->labels) continue;
        TRY(scant_net_predict(w->net, w->o->data, w->which, count,
                              &(scant_outputs){.logits = w->f}));
        add_labels(w, first, count);
    }
    return scant__tick(w->net->ctx, "sketches", w->n, w->n);
}

/* ---- the error of the sketch ----------------------------------------------------- */

/* Computes |S S^T - k| / |k| for the kernel k of the count samples in `which`. */
static scant_status measure(work *w, const double *k, size_t count, uint64_t seed,
                            double *out) {
    size_t m = w->o->full ? count * w->classes : count;
    double off = 0, all = 0;
    TRY(make_moves(w, seed));
    TRY(sketch(w, count, seed));
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            double dot = 0;
            for (size_t b = 0; b < w->k; b++)
                dot += (double)w->s[i * w->k + b] * (double)w->s[j * w->k + b];
            off += (dot - k[i * m + j]) * (dot - k[i * m + j]);
            all += k[i * m + j] * k[i * m + j];
        }
    *out = all > 0 ? sqrt(off / all) : 0;
    return SCANT_OK;
}

static scant_status measure_error(work *w, scant_sketch_error *error) {
    size_t most = size_max(1, COMPARED / (w->o->full ? w->classes : 1));
    size_t count = size_min(size_min(most, w->block), w->n);
    size_t m = w->o->full ? count * w->classes : count;
    double *k = TRY_NEW(w->arena, double, m *m), trace = 0, all = 0;
    for (size_t i = 0; i < count; i++) w->which[i] = row_of(w, i * w->n / count);
    TRY(scant_net_kernel(w->net, w->o->data, w->which, count, w->o->data, w->which, count,
                         w->o->last_layer, w->o->full, k));
    for (size_t i = 0; i < m; i++) trace += k[i * m + i];
    for (size_t i = 0; i < m * m; i++) all += k[i] * k[i];
    error->samples = count;
    error->expected = all > 0 ? sqrt(2 / (double)w->k) * trace / sqrt(all) : 0;
    TRY(measure(w, k, count, w->o->seed + 1, &error->second));
    return measure(w, k, count, w->o->seed,
                   &error->error); /* last: add_samples() uses its permutations */
}

/* ---- the study ------------------------------------------------------------------- */

static double energy_of(const work *w, const double *vector, const double *to,
                        double value) {
    double sum = 0;
    for (size_t c = 0; c < w->columns; c++) {
        double dot = 0;
        for (size_t b = 0; b < w->k; b++) dot += vector[b] * to[b * w->columns + c];
        sum += dot * dot / value;
    }
    return sum;
}

/* Fills the study's lists, largest eigenvalue first. values: the k eigenvalues,
 * ascending; the largest s->n_values are used. */
static void fill(const work *w, const double *values, scant_study *s,
                 study_lists *lists) {
    double energy = 0, start = 0;
    double floor = STUDY_RANK_TOLERANCE * fmax(0, values[w->k - 1]);
    for (size_t i = 0; i < s->n_values; i++) {
        size_t at = w->k - 1 - i;
        const double *vector = w->gram + at * w->k;
        lists->values[i] = values[at];
        if (!w->labels || !(values[at] > floor)) continue;
        lists->energy[i] = energy_of(w, vector, w->to_y, values[at]);
        energy += lists->energy[i];
        if (!lists->start) continue;
        lists->start[i] = energy_of(w, vector, w->to_start, values[at]);
        start += lists->start[i];
    }
    s->rest = fmax(0, (double)s->labelled - energy);
    s->start_rest = lists->start ? fmax(0, w->start_square - start) : 0;
    for (size_t i = 0; w->labels && i < w->k * w->columns; i++)
        s->alignment += w->to_y[i] * w->to_y[i];
}

static scant_status finish(work *w, scant_study *s, study_lists *lists) {
    double *values = TRY_NEW(w->arena, double, w->k);
    double *room = TRY_NEW(w->arena, double, la_eigh_room(w->k, true));
    TRY(scant__tick(w->net->ctx, "eigenvalues", 0, 1));
    TRY(la_eigh_alone(w->net->ctx, w->k, w->gram, true, values, room));
    TRY(scant__tick(w->net->ctx, "eigenvalues", 1, 1));
    fill(w, values, s, lists);
    s->bound = s->jitter = NAN;
    study_complete(s, w->classes, 0); /* noise 0: sums are in double */
    return SCANT_OK;
}

static size_t block_of(const scant_lab_opts *o, size_t n) {
    size_t each = size_mul(size_mul(o->net->net->classes, o->sketch), 2 * sizeof(float));
    return size_max(1,
                    size_min(size_min(BLOCK_MOST, n), BLOCK_BYTES / size_max(1, each)));
}

static scant_status take_room(work *w) {
    size_t k = w->k, c = w->classes;
    scant__arena *a = w->arena;
    w->sketches = TRY_NEW(a, float, size_mul(size_mul(w->block, c), k));
    w->s = w->o->full ? w->sketches : TRY_NEW(a, float, size_mul(w->block, k));
    w->which = TRY_NEW(a, size_t, w->block);
    w->f = TRY_NEW(a, float, size_mul(w->block, c));
    w->moved = TRY_NEW(a, uint32_t, size_mul(c, k));
    w->gram = TRY_ZERO(a, double, size_mul(k, k));
    w->part = TRY_NEW(a, double, size_mul(k, k));
    w->to_y = TRY_ZERO(a, double, size_mul(k, w->columns));
    w->to_start = TRY_ZERO(a, double, size_mul(k, w->columns));
    return SCANT_OK;
}

size_t study_sketch_memory(const scant_lab_opts *o, size_t n) {
    size_t c = o->net->net->classes, k = o->sketch, block = block_of(o, n);
    size_t floats = size_mul(size_mul(block, size_add(c, 1)), k);
    size_t doubles = size_mul(size_mul(k, k), 2);
    doubles = size_add(doubles, la_eigh_room(k, true));
    doubles = size_add(doubles, size_mul(size_mul(k, c), 2));
    return size_add(size_mul(doubles, sizeof(double)), size_mul(floats, sizeof(float)));
}

scant_status study_sketch(const scant_lab_opts *o, scant_study **out,
                          scant_sketch_error *error) {
    scant_net *net = o->net;
    size_t n = o->n, classes = net->net->classes, labelled = 0;
    scant_ctx *ctx = net->ctx;
    *out = NULL;
    TRY(nn_input_check(net, o->data));
    TRY(nn_input_rows_check(ctx, o->data, o->rows, &n));
    if (!n || !o->sketch || o->sketch > LA_EIGH_MOST)
        return scant__fail(
            ctx, SCANT_EUSAGE,
            "expected a sketch of 1 to %d numbers, and at least one sample",
            LA_EIGH_MOST);
    if (o->labels) TRY(study_check_labels(ctx, o->labels, n, classes, &labelled));
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    work w = {.o = o,
              .net = net,
              .labels = o->labels,
              .n = n,
              .classes = classes,
              .k = o->sketch,
              .columns = o->full ? 1 : classes,
              .arena = &arena,
              .block = block_of(o, n)};
    size_t outputs = o->full ? classes : 1;
    study_lists lists;
    AUTO(study_end)
    scant_study *s = study_new(
        ctx, size_min(w.k, size_mul(n, outputs)), o->labels != NULL,
        o->labels && labelled == n, &lists,
        &(scant_study){
            .samples = n, .outputs = outputs, .labelled = labelled, .rate = o->rate});
    if (!s) return SCANT_ENOMEM;
    TRY(take_room(&w));
    TRY(measure_error(&w, error));
    TRY(add_samples(&w));
    TRY(finish(&w, s, &lists));
    *out = s;
    s = NULL;
    return SCANT_OK;
}

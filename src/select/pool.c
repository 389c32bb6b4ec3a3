/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the shapes of a pool; reads its labels and candidates.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/number.h"
#include "data/array.h"
#include "select/pool.h"

enum { READ = 4096 }; /* labels read at a time */

/* Every row is looked at, so a count that no machine finishes is a wrong one. */
static const uint64_t most_rows = (uint64_t)1 << 40;

/* ---- the inputs -------------------------------------------------------------------- */

typedef struct given_array {
    const scant_input *input;
    const scant_array *array;
} given_array;

enum { MOST_INPUTS = 16 };

/* Lists the given arrays in the order of scant_inputs(); returns how many. */
static size_t list_arrays(const scant_evidence *e, given_array out[MOST_INPUTS]) {
    size_t count, n = 0;
    const scant_input *inputs = scant_inputs(&count);
    for (size_t i = 0; i < count; i++) {
        const scant_array *array = NULL;
        if (inputs[i].shape)
            memcpy(&array, (const char *)e + inputs[i].offset, sizeof array);
        if (array) out[n++] = (given_array){&inputs[i], array};
    }
    return n;
}

static bool has_temperature(const scant_evidence *e) {
    return e->temperature > 0 || e->calibrate_on;
}

unsigned select_given(const scant_evidence *e) {
    given_array given[MOST_INPUTS];
    size_t count = list_arrays(e, given);
    unsigned kinds = SCANT_ROWS | SCANT_STATE;
    for (size_t i = 0; i < count; i++) kinds |= given[i].input->kind;
    if (e->logits && has_temperature(e)) kinds |= SCANT_CALIBRATED;
    return kinds;
}

static scant_status missing(scant_ctx *ctx, const char *who, const scant_input *input) {
    const char *const *instead = input->instead;
    if (!instead[0])
        return scant__fail(ctx, SCANT_EUSAGE, "%s needs %s", who, input->name);
    return scant__fail(ctx, SCANT_EUSAGE, "%s needs %s (or %s%s%s)", who, input->name,
                       instead[0], instead[1] ? " with a " : "",
                       instead[1] ? instead[1] : "");
}

static scant_status check_given(scant_ctx *ctx, const scant_evidence *e, unsigned used,
                                const char *who) {
    size_t count;
    const scant_input *inputs = scant_inputs(&count);
    if (e->probs && e->logits)
        return scant__fail(ctx, SCANT_EUSAGE, "probs and logits: give one, not both");
    if (used & SCANT_CALIBRATED && e->calibrated && has_temperature(e))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "calibrated and a temperature: give one, not both");
    for (size_t i = 0; i < count; i++)
        if (inputs[i].kind & used & ~select_given(e))
            return missing(ctx, who, &inputs[i]);
    if (used & SCANT_CALIBRATED && e->calibrate_on && !e->labels)
        return scant__fail(ctx, SCANT_EUSAGE, "%s needs labels to fit the temperature to",
                           who);
    return SCANT_OK;
}

/* The part of the evidence that is used. Labels and candidates are always used; with
 * SCANT_ROWS all arrays are, to count rows. */
static scant_evidence used_part(const scant_evidence *e, unsigned used) {
    const scant_array *const none = NULL;
    given_array given[MOST_INPUTS];
    size_t count = list_arrays(e, given);
    scant_evidence part = *e;
    for (size_t i = 0; i < count; i++) {
        unsigned kind = given[i].input->kind & ~(unsigned)SCANT_LABELS;
        if (kind && !(used & (kind | SCANT_ROWS)))
            memcpy((char *)&part + given[i].input->offset, &none, sizeof none);
    }
    if (used & SCANT_CALIBRATED && !e->calibrated)
        part.logits = e->logits;
    else
        part.calibrate_on = NULL;
    return part;
}

/* ---- shapes and types -------------------------------------------------------------- */

/* A shape is text such as "m x n x C": one letter for each dimension. */
static size_t dimensions(const scant_input *input) {
    return (strlen(input->shape) + 3) / 4;
}

static char dimension(const scant_input *input, size_t i) { return input->shape[4 * i]; }

static scant_status check_type(scant_ctx *ctx, const scant_array *array,
                               const scant_input *input) {
    scant_dtype dtype = scant_array_dtype(array);
    if (scant_array_ndim(array) != dimensions(input)) {
        char shape[200];
        return scant__fail(
            ctx, SCANT_EINPUT, "%s: has shape %s, expected %s", scant_array_name(array),
            scant__shape_format(scant_array_shape(array), scant_array_ndim(array), shape,
                                sizeof shape),
            input->shape);
    }
    if (!(input->dtypes >> dtype & 1))
        return scant__fail(ctx, SCANT_EINPUT, "%s: holds %s, expected %s",
                           scant_array_name(array), scant__dtype_name(dtype),
                           input->types);
    return SCANT_OK;
}

/* Fails if an array's size differs from that of the first array with this dimension. */
static scant_status check_same(scant_ctx *ctx, const scant_array *array, size_t size,
                               const char *what, const scant_array **first, size_t *out) {
    if (*first && size != *out)
        return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu %s, but %s has %zu",
                           scant_array_name(array), size, what, scant_array_name(*first),
                           *out);
    if (!*first) *first = array, *out = size;
    return SCANT_OK;
}

static scant_status check_rows(scant_ctx *ctx, const scant_evidence *e, const char *who,
                               size_t *n) {
    given_array given[MOST_INPUTS];
    size_t count = list_arrays(e, given);
    const scant_array *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const scant_array *array = given[i].array;
        TRY(check_type(ctx, array, given[i].input));
        for (size_t k = 0; k < scant_array_ndim(array); k++)
            if (dimension(given[i].input, k) == 'n')
                TRY(check_same(ctx, array, scant_array_shape(array)[k], "rows", &first,
                               n));
    }
    if (first) return SCANT_OK;
    *n = e->rows;
    if (!*n)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s needs an input that has the number of rows", who);
    if (*n > most_rows)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: %zu rows, expected at most %" PRIu64,
                           who, *n, most_rows);
    return SCANT_OK;
}

static scant_status check_least(scant_ctx *ctx, const scant_array *array, size_t size,
                                size_t least, const char *what) {
    if (size >= least) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu %s, expected at least %zu",
                       scant_array_name(array), size, what, least);
}

/* Checks one dimension other than n. *classes: the first array that has classes. */
static scant_status check_dimension(scant_ctx *ctx, const scant_array *array, char letter,
                                    size_t size, const scant_array **classes,
                                    select_pool *pool) {
    switch (letter) {
    case 'C':
        TRY(check_least(ctx, array, size, 2, "classes"));
        return check_same(ctx, array, size, "classes", classes, &pool->c);
    case 'd':
        pool->d = size;
        return check_least(ctx, array, size, 1, "columns");
    case 'k':
        pool->k = size;
        return check_least(ctx, array, size, 1, "columns");
    case 'm':
        pool->m = size;
        return check_least(ctx, array, size, 2, "posterior draws");
    case '2':
        if (size == 2) return SCANT_OK;
        return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu columns, expected 2",
                           scant_array_name(array), size);
    default:
        return SCANT_OK;
    }
}

static scant_status check_widths(scant_ctx *ctx, const scant_evidence *e,
                                 select_pool *pool) {
    given_array given[MOST_INPUTS];
    size_t count = list_arrays(e, given);
    const scant_array *classes = NULL;
    for (size_t i = 0; i < count; i++) {
        const scant_array *array = given[i].array;
        pool->input_bytes += array->count * array->item;
        for (size_t k = 0; given[i].input->kind && k < scant_array_ndim(array); k++)
            TRY(check_dimension(ctx, array, dimension(given[i].input, k),
                                scant_array_shape(array)[k], &classes, pool));
    }
    return SCANT_OK;
}

scant_status select_pool_open(scant_ctx *ctx, const scant_evidence *e, unsigned used,
                              const char *who, select_pool *pool) {
    scant_evidence counted = used_part(e, used);
    scant_evidence in = used_part(e, used & ~(unsigned)SCANT_ROWS);
    bool scaled = used & SCANT_CALIBRATED && !e->calibrated;
    *pool = (select_pool){
        .features = in.features,
        .probs = !(used & SCANT_PROBS) ? NULL
                 : in.probs            ? in.probs
                                       : in.logits,
        .softmax = used & SCANT_PROBS && !in.probs,
        .calibrated = scaled ? in.logits : in.calibrated,
        .temperature = !scaled           ? 0
                       : in.calibrate_on ? 1
                                         : in.temperature,
        .calibrate_on = in.calibrate_on,
        .gradients = in.gradients,
        .draws = in.draws,
        .slopes = in.slopes,
        .lengths = in.lengths,
        .labels = in.labels,
        .candidates = in.candidates,
    };
    TRY(check_given(ctx, e, used, who));
    TRY(check_rows(ctx, &counted, who, &pool->n));
    return check_widths(ctx, &in, pool);
}

/* ---- labels and candidates --------------------------------------------------------- */

static scant_status read_labels(scant_ctx *ctx, select_pool *pool) {
    int64_t block[READ];
    for (size_t first = 0; first < pool->n; first += READ) {
        size_t count = pool->n - first < READ ? pool->n - first : READ;
        scant__array_read_i64(pool->labels, first, count, block);
        for (size_t i = 0; i < count; i++) {
            if (block[i] < -1)
                return scant__fail(
                    ctx, SCANT_EINPUT,
                    "%s: row %zu is %lld, expected a class from 0 on, or -1",
                    scant_array_name(pool->labels), first + i, (long long)block[i]);
            if (pool->c && block[i] >= 0 && (uint64_t)block[i] >= pool->c)
                return scant__fail(
                    ctx, SCANT_EINPUT,
                    "%s: row %zu is class %lld, but %s has only %zu classes",
                    scant_array_name(pool->labels), first + i, (long long)block[i],
                    scant_array_name(pool->probs ? pool->probs : pool->draws), pool->c);
            pool->labelled += block[i] >= 0;
        }
    }
    return SCANT_OK;
}

size_t select_measured_width(const select_pool *pool) {
    return pool->slopes ? 2 : pool->lengths ? 1 : 0;
}

/* The first number of a row is a length or a squared length: it must not be negative. */
scant_status select_measured_read(const select_pool *pool, size_t first, size_t count,
                                  double *out, scant__fault *fault) {
    size_t width = select_measured_width(pool);
    const scant_array *array = pool->slopes ? pool->slopes : pool->lengths;
    scant__array_read_f64(array, first * width, count * width, out);
    for (size_t i = 0; i < count * width; i++)
        if (!isfinite(out[i]) || (i % width == 0 && out[i] < 0))
            return scant__fault_set(
                fault, SCANT_EINPUT, "%s: row %zu, column %zu is %g, expected %s",
                scant_array_name(array), first + i / width, i % width, out[i],
                i % width ? "a finite number" : "a finite number of at least 0");
    return SCANT_OK;
}

int64_t select_pool_label(const select_pool *pool, size_t row) {
    int64_t label = -1;
    if (pool->labels) scant__array_read_i64(pool->labels, row, 1, &label);
    return label;
}

static scant_status read_candidates(scant__arena *arena, select_pool *pool) {
    size_t k = scant_array_shape(pool->candidates)[0];
    pool->allowed = TRY_ZERO(arena, uint64_t, pool->n / 64 + 1);
    for (size_t i = 0; i < k; i++) {
        int64_t row;
        scant__array_read_i64(pool->candidates, i, 1, &row);
        if (row < 0 || (uint64_t)row >= pool->n)
            return scant__fail(
                arena->ctx, SCANT_EINPUT,
                "%s: row %zu is %lld, expected a row of the pool, which has %zu "
                "(counted from 0)",
                scant_array_name(pool->candidates), i, (long long)row, pool->n);
        uint64_t *word = &pool->allowed[row / 64], bit = (uint64_t)1 << row % 64;
        if (select_pool_label(pool, (size_t)row) >= 0) {
            pool->barred++;
        } else if (!(*word & bit)) {
            *word |= bit;
            pool->available++;
        }
    }
    return SCANT_OK;
}

scant_status select_pool_read(scant__arena *arena, select_pool *pool) {
    if (pool->labels) TRY(read_labels(arena->ctx, pool));
    if (pool->candidates) return read_candidates(arena, pool);
    pool->available = pool->n - pool->labelled;
    return SCANT_OK;
}

void select_pool_labelled(const select_pool *pool, size_t first, size_t count,
                          bool *mask) {
    int64_t labels[SELECT_MASK];
    if (!pool->labels) {
        memset(mask, 0, count * sizeof *mask);
        return;
    }
    scant__array_read_i64(pool->labels, first, count, labels);
    for (size_t i = 0; i < count; i++) mask[i] = labels[i] >= 0;
}

void select_pool_mask(const select_pool *pool, size_t first, size_t count, bool *mask) {
    if (pool->allowed) { /* `allowed` contains no labelled rows */
        for (size_t i = 0; i < count; i++)
            mask[i] = pool->allowed[(first + i) / 64] >> (first + i) % 64 & 1;
        return;
    }
    select_pool_labelled(pool, first, count, mask);
    for (size_t i = 0; i < count; i++) mask[i] = !mask[i];
}

void select_pool_visit(const select_pool *pool, select_mask_fn mask, bool wanted,
                       void (*visit)(void *self, size_t row), void *self) {
    bool masked[SELECT_MASK];
    for (size_t first = 0; first < pool->n; first += SELECT_MASK) {
        size_t rest = pool->n - first, count = rest < SELECT_MASK ? rest : SELECT_MASK;
        mask(pool, first, count, masked);
        for (size_t i = 0; i < count; i++)
            if (masked[i] == wanted) visit(self, first + i);
    }
}

static void append(void *self, size_t row) {
    size_t **next = self;
    *(*next)++ = row;
}

void select_pool_list_available(const select_pool *pool, size_t *rows) {
    select_pool_visit(pool, select_pool_mask, true, append, &rows);
}

void select_pool_list_labelled(const select_pool *pool, size_t *rows) {
    select_pool_visit(pool, select_pool_labelled, true, append, &rows);
}

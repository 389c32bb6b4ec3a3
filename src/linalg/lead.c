/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/lead.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 256, /* rows that share a largest value */
    FEW = 16,    /* rows that are evaluated whatever it costs */
    SIDE = 32,   /* of a matrix whose spectral norm is worked out */
    MOST_DOUBT = 64
};

#define OUT (-(double)INFINITY)

static size_t classes_of(const la_view *v) { return v->a ? v->a->d : 1; }

static size_t size_of(const la_view *v) {
    return la_size_mul(classes_of(v), la_view_width(v));
}

/* Rows whose evaluation costs about as much as to follow a move. */
static size_t most_chances(const la_view *v) {
    size_t along = la_view_width(v) + classes_of(v);
    return FEW + v->m / (size_of(v) / along + 1) / 2;
}

size_t la_lead_memory(const la_view *v) {
    enum { PIECES = 5, OVERHEAD = 256 };
    size_t rows = la_size_mul(v->m, 2 * sizeof(double));
    size_t blocks = (v->m / BLOCK + 1) * 2 * sizeof(double);
    size_t matrices = la_size_mul(size_of(v), 2 * sizeof(double));
    return la_size_add(la_size_add(rows, matrices),
                       blocks + PIECES * OVERHEAD + most_chances(v) * sizeof(size_t));
}

size_t la_lead_work(const la_view *v, unsigned threads) {
    size_t along = la_kron_along_memory(v, 1, threads);
    size_t dots = la_kron_dots_memory(v, threads), sum = la_kron_sum_memory(v, threads);
    size_t most = along > dots ? along : dots;
    return most > sum ? most : sum;
}

/* ---- norms ------------------------------------------------------------------------ */

static double frobenius(const double *x, size_t size) {
    double square;
    la_kernels_for(LA_F64)->sumsq(x, 1, size, &square);
    return sqrt(square);
}

/* gram = x x^T or x^T x, whichever is smaller. */
static void gram_of(const double *x, size_t rows, size_t columns, double *gram) {
    const void *row[SIDE];
    memset(gram, 0, SIDE * SIDE * sizeof *gram);
    if (rows <= columns) {
        for (size_t i = 0; i < rows; i++) row[i] = x + i * columns;
        la_kernels_for(LA_F64)->dot(row, rows, row, rows, columns, gram);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            for (size_t k = 0; k < columns; k++)
                gram[j * columns + k] += x[i * columns + j] * x[i * columns + k];
}

/* The sum of the 16th powers of the singular values is the squared length of the Gram
 * matrix' fourth power: its 16th root is above the largest, by the 16th root of how many
 * there are at most. */
double la_spectral(const double *x, size_t rows, size_t columns) {
    size_t n = rows < columns ? rows : columns;
    double gram[SIDE * SIDE], square[SIDE * SIDE], length = frobenius(x, rows * columns);
    if (n == 1 || n > SIDE || !(length > 0)) return length;
    gram_of(x, rows, columns, gram);
    double unit = frobenius(gram, n * n), power = 1;
    if (!(unit > 0) || isinf(unit)) return length;
    for (size_t i = 0; i < n * n; i++) gram[i] /= unit;
    for (int twice = 0; twice < 2; twice++) {
        const void *row[SIDE];
        for (size_t i = 0; i < n; i++) row[i] = gram + i * n; /* symmetric: its columns */
        la_kernels_for(LA_F64)->dot(row, n, row, n, n, square);
        memcpy(gram, square, n * n * sizeof *gram);
        power *= 2;
    }
    /* of rounding: far below what is added */
    double bound = sqrt(unit * pow(frobenius(gram, n * n), 1 / power)) * (1 + 1e-9);
    return bound < length ? bound : length;
}

/* ---- values ----------------------------------------------------------------------- */

static size_t rows_of(const la_lead *lead, size_t block) {
    size_t rest = lead->view->m - block * BLOCK;
    return rest < BLOCK ? rest : BLOCK;
}

static void retop(la_lead *lead, size_t block) {
    const double *value = lead->value + block * BLOCK;
    lead->top[block] = value[la_argmax(value, rows_of(lead, block))];
}

scant_status la_lead_init(la_lead *lead, scant__arena *arena) {
    const la_view *v = lead->view;
    size_t m = v->m, size = size_of(v), blocks = m / BLOCK + (m % BLOCK != 0);
    lead->blocks = blocks;
    lead->value = scant__arena_zalloc(arena, m, 2 * sizeof(double));
    lead->chance = scant__arena_alloc(arena, most_chances(v), sizeof *lead->chance);
    lead->top = scant__arena_alloc(arena, blocks, 2 * sizeof(double));
    lead->near = scant__arena_alloc(arena, la_size_mul(size, 2), sizeof(double));
    if (!lead->value || !lead->chance || !lead->top || !lead->near) return SCANT_ENOMEM;
    lead->dot = lead->value + m;
    lead->reach = lead->top + blocks;
    lead->apart = lead->near + size;
    for (size_t b = 0; b < blocks; b++) {
        const double *own = lead->length + b * BLOCK;
        lead->reach[b] = lead->longer * own[la_argmax(own, rows_of(lead, b))];
        lead->longest = fmax(lead->longest, lead->reach[b]);
    }
    for (size_t j = 0; j < m; j++)
        lead->most = fmax(lead->most, lead->share * lead->merit[j]);
    return SCANT_OK;
}

static double value_of(const la_lead *lead, size_t row, double dot) {
    return lead->share * lead->merit[row] - lead->slope * dot;
}

/* All values from R itself: as they would be evaluated one by one, to the bit. */
static scant_status know(la_lead *lead, const double *r) {
    TRY(la_kron_dots(lead->view, r, lead->dot, lead->work));
    for (size_t j = 0; j < lead->view->m; j++)
        if (lead->value[j] != OUT) lead->value[j] = value_of(lead, j, lead->dot[j]);
    for (size_t b = 0; b < lead->blocks; b++) retop(lead, b);
    memcpy(lead->near, r, size_of(lead->view) * sizeof *r);
    lead->radius = lead->slack = 0;
    lead->known = true;
    return SCANT_OK;
}

/* What a rounding error of a product is at most, of both lengths. */
static double rounding(const la_lead *lead) {
    const la_view *v = lead->view;
    return 0x1p-53 * (double)(la_view_width(v) + classes_of(v) + 16);
}

/* near += t g_row, and the values of all rows with it. */
static scant_status follow(la_lead *lead, size_t row, double t) {
    const la_view *v = lead->view;
    la_view one = *v;
    one.rows = &row, one.m = 1;
    double far = lead->longest * frobenius(lead->near, size_of(v));
    TRY(la_kron_sum(&one, NULL, lead->apart, lead->work));
    for (size_t i = 0; i < size_of(v); i++) lead->near[i] += t * lead->apart[i];
    TRY(la_kron_along(v, &row, 1, &t, lead->dot, lead->work));
    for (size_t j = 0; j < v->m; j++) lead->value[j] -= lead->slope * lead->dot[j];
    for (size_t b = 0; b < lead->blocks; b++) retop(lead, b);
    far += lead->longest * fabs(t) * lead->length[row] * lead->longer;
    lead->radius += rounding(lead) * fabs(t) * lead->length[row] * lead->longer;
    lead->slack += 0x1p-51 * (lead->most + lead->slope * far);
    return SCANT_OK;
}

scant_status la_lead_take(la_lead *lead, size_t row, double t) {
    lead->value[row] = OUT;
    retop(lead, row / BLOCK);
    if (lead->doubt) {
        lead->doubt--;
        lead->known = false;
    }
    return lead->known ? follow(lead, row, t) : SCANT_OK;
}

/* ---- the leader ------------------------------------------------------------------- */

/* Rows that may lead if values are off by at most slope |g_j| far + slack. False: too
 * many. */
static bool list_chances(const la_lead *lead, double far, size_t *count) {
    size_t best = la_argmax(lead->top, lead->blocks), limit = most_chances(lead->view);
    const double *own = lead->value + best * BLOCK;
    size_t first = best * BLOCK + la_argmax(own, rows_of(lead, best));
    double unit = lead->slope * far, step = unit * lead->longer;
    double least = lead->value[first] - step * lead->length[first] - 2 * lead->slack;
    *count = 0;
    for (size_t b = 0; b < lead->blocks; b++) {
        if (lead->top[b] + unit * lead->reach[b] < least) continue;
        for (size_t j = b * BLOCK, end = j + rows_of(lead, b); j < end; j++) {
            if (lead->value[j] + step * lead->length[j] < least) continue;
            if (*count == limit) return false;
            lead->chance[(*count)++] = j;
        }
    }
    return true;
}

static scant_status evaluate(la_lead *lead, const double *r, size_t count, size_t *row,
                             double *dot) {
    la_view some = *lead->view;
    double best = OUT;
    some.rows = lead->chance, some.m = count;
    TRY(la_kron_dots(&some, r, lead->dot, lead->work));
    for (size_t i = 0; i < count; i++) {
        double value = value_of(lead, lead->chance[i], lead->dot[i]);
        if (i == 0 || value > best)
            best = value, *row = lead->chance[i], *dot = lead->dot[i];
    }
    return SCANT_OK;
}

scant_status la_lead_find(la_lead *lead, const double *r, size_t *row, double *dot) {
    const la_view *v = lead->view;
    size_t size = size_of(v), count;
    if (lead->known) {
        for (size_t i = 0; i < size; i++) lead->apart[i] = r[i] - lead->near[i];
        double far = lead->radius +
                     rounding(lead) * (frobenius(r, size) + frobenius(lead->near, size));
        far += la_spectral(lead->apart, classes_of(v), la_view_width(v));
        if (list_chances(lead, far, &count)) {
            lead->patience = 0;
            return evaluate(lead, r, count, row, dot);
        }
        lead->patience = lead->patience ? 2 * lead->patience : 1;
        if (lead->patience > MOST_DOUBT) lead->patience = MOST_DOUBT;
        lead->doubt = lead->patience;
    }
    TRY(know(lead, r));
    size_t best = la_argmax(lead->top, lead->blocks);
    const double *own = lead->value + best * BLOCK;
    *row = best * BLOCK + la_argmax(own, rows_of(lead, best));
    *dot = lead->dot[*row];
    return SCANT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/bss_sampling.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "core/rng.h"
#include "linalg/dense.h"

static double squared(const double *x, size_t n) {
    return cblas_ddot((int)n, x, 1, x, 1);
}

/* ---- memory ------------------------------------------------------------------------ */

/* Number of draws between two diagonalizations. A diagonalization costs about 10 D^3; the
 * k-th draw after it costs 3 k^2 D. */
static size_t most_recent(size_t dim) {
    size_t k = (size_t)(1.2 * cbrt((double)dim * (double)dim));
    return k < 4 ? 4 : k;
}

typedef struct carver { /* divides a buffer into arrays, or only counts doubles */
    double *room;
    size_t used;
} carver;

static double *carve(carver *c, size_t rows, size_t columns) {
    size_t at = c->used;
    c->used = size_add(at, size_add(size_mul(rows, columns), 7) / 8 * 8);
    return c->room ? c->room + at : NULL;
}

static void lay_out(la_bss *b, const la_view *f, size_t dim, carver *c) {
    la_view few = *f;
    few.m = LA_AHEAD;
    b->most = most_recent(dim);
    b->weight = carve(c, f->m, 1);
    b->b = carve(c, dim, dim);
    b->turn = carve(c, dim, dim);
    b->lambda = carve(c, dim, 1);
    b->raw = carve(c, b->most, dim);
    b->y = carve(c, b->most, dim);
    b->near = carve(c, dim, 1);
    b->w = carve(c, 2 * b->most, dim);
    b->gram = carve(c, b->most, b->most);
    b->part = carve(c, 1, 2 * b->most + dim);
    b->room = carve(c, 1, la_eigh_room(dim, true));
    b->f = carve(c, LA_AHEAD, la_view_width(f));
    b->v = carve(c, LA_AHEAD, dim);
    b->z = carve(c, LA_AHEAD, dim);
    b->fetched = carve(c, 1, la_view_raw(&few) / sizeof(double) + 1);
}

size_t la_bss_memory(const la_view *f, size_t dim) {
    enum { SPARE = 256 }; /* overhead of arena and allocator */
    la_bss b;
    carver c = {0};
    lay_out(&b, f, dim, &c);
    return size_add(size_mul(c.used, sizeof(double)), SPARE);
}

scant_status la_bss_init(la_bss *b, scant__arena *arena, const la_basis *basis,
                         uint64_t seed) {
    carver c = {0};
    *b = (la_bss){.ctx = arena->ctx, .basis = basis, .seed = seed};
    lay_out(b, &basis->f, basis->dim, &c);
    c.room = TRY_NEW(arena, double, c.used);
    c.used = 0;
    lay_out(b, &basis->f, basis->dim, &c);
    return SCANT_OK;
}

/* ---- M, its trace and its eigenvalue bound ----------------------------------------- */

/* w = L^-1 Y diag(scale) with L L^T = I + sign Y diag(scale) Y^T; *trace = Tr(w^T w). */
static bool correct(la_bss *b, const double *scale, double sign, double *w,
                    double *trace) {
    size_t k = b->recent, dim = b->basis->dim;
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < dim; i++) w[j * dim + i] = b->y[j * dim + i] * scale[i];
    la_nt(k, k, dim, w, dim, b->y, dim, b->gram, k);
    for (size_t i = 0; i < k * k; i++) b->gram[i] *= sign;
    for (size_t j = 0; j < k; j++) b->gram[j * k + j] += 1;
    if (!la_cholesky(k, b->gram, k)) return false;
    la_solve_lower(k, dim, b->gram, k, w, dim);
    *trace = squared(w, k * dim);
    return true;
}

/* Computes M, its trace and a bound of its largest eigenvalue: w_u^T w_u adds at most the
 * Frobenius norm of w_u w_u^T, and subtracting w_l^T w_l only lowers it. */
static bool resolve(la_bss *b) {
    size_t k = b->recent, dim = b->basis->dim;
    double *above = b->part, *below = b->room, top = 0, added = 0, taken = 0;
    b->phi = 0;
    for (size_t i = 0; i < dim; i++) {
        if (!(b->lambda[i] < b->upper && b->lambda[i] > b->lower)) return false;
        above[i] = 1 / (b->upper - b->lambda[i]);
        below[i] = 1 / (b->lambda[i] - b->lower);
        b->near[i] = above[i] + below[i];
        b->phi += b->near[i];
        top = fmax(top, b->near[i]);
    }
    b->bound = top;
    if (k == 0) return true;
    if (!correct(b, below, 1, b->w + k * dim, &taken)) return false;
    if (!correct(b, above, -1, b->w, &added)) return false;
    la_nt(k, k, dim, b->w, dim, b->w, dim, b->gram, k);
    b->bound += sqrt(squared(b->gram, k * k));
    b->phi += added - taken;
    return b->phi > 0;
}

/* Transforms the remaining proposals to the basis of B's eigenvectors. */
static void turn_ahead(la_bss *b) {
    size_t dim = b->basis->dim, from = b->next;
    if (from == LA_AHEAD) return;
    la_nt(LA_AHEAD - from, dim, dim, b->v + from * dim, dim, b->turn, dim,
          b->z + from * dim, dim);
}

static void add_recent(la_bss *b) {
    size_t dim = b->basis->dim;
    la_tn_add(dim, dim, b->recent, b->raw, dim, b->raw, dim, b->b, dim);
    b->recent = 0;
}

static bool diagonalize(la_bss *b) {
    size_t dim = b->basis->dim;
    add_recent(b);
    memcpy(b->turn, b->b, dim * dim * sizeof *b->turn);
    if (!la_eigh(dim, b->turn, true, b->lambda, b->room)) return false;
    b->spare = (b->lambda[0] - b->lower) / 2;
    turn_ahead(b);
    return true;
}

void la_bss_start(la_bss *b, double gamma) {
    size_t dim = b->basis->dim;
    assert(gamma > 0 && gamma < 1);
    b->gamma = gamma;
    b->mid = 2 * (double)dim * (1 - gamma) * (1 + gamma) / (gamma * gamma);
    b->upper = 2 * (double)dim / gamma;
    b->lower = -b->upper;
    b->spare = b->upper / 2;
    b->beta = b->condition = 0;
    b->draws = b->proposals = b->distinct = b->recent = 0;
    b->next = LA_AHEAD;
    memset(b->weight, 0, b->basis->f.m * sizeof *b->weight);
    memset(b->b, 0, dim * dim * sizeof *b->b);
    memset(b->turn, 0, dim * dim * sizeof *b->turn);
    memset(b->lambda, 0, dim * sizeof *b->lambda);
    for (size_t i = 0; i < dim; i++) b->turn[i * dim + i] = 1;
    resolve(b);
}

bool la_bss_done(const la_bss *b) {
    return b->upper - b->lower >= 8 * (double)b->basis->dim / b->gamma;
}

/* ---- one draw ---------------------------------------------------------------------- */

static void propose(la_bss *b) {
    const la_view *f = &b->basis->f;
    const scant__rng rng = {b->seed, SCANT__RNG_ROW};
    size_t width = la_view_width(f), dim = b->basis->dim, named[LA_AHEAD];
    la_view few = *f;
    for (size_t i = 0; i < LA_AHEAD; i++) {
        b->rows[i] = la_basis_row_at(b->basis, scant__rng_unit(&rng, b->proposals + i));
        named[i] = f->rows ? f->rows[b->rows[i]] : b->rows[i];
    }
    few.rows = named;
    few.m = LA_AHEAD;
    la_view_load(&few, 0, LA_AHEAD, b->f, NULL, b->fetched);
    la_nn(LA_AHEAD, dim, width, b->f, width, b->basis->p, dim, b->v, dim);
    b->next = 0;
    turn_ahead(b);
}

static double q_turned(la_bss *b, const double *z) {
    size_t k = b->recent, dim = b->basis->dim;
    double q = 0;
    for (size_t i = 0; i < dim; i++) q += b->near[i] * z[i] * z[i];
    if (k == 0) return q;
    la_nt(2 * k, 1, dim, b->w, dim, z, dim, b->part, 1);
    return q + squared(b->part, k) - squared(b->part + k, k);
}

double la_bss_q(la_bss *b, const double *v) {
    size_t dim = b->basis->dim;
    double *z = b->part + 2 * b->most;
    la_nt(dim, 1, dim, b->turn, dim, v, dim, z, 1);
    return q_turned(b, z);
}

/* Accepts the proposal at b->next; q is its q_i. */
static void take(la_bss *b, double q) {
    size_t dim = b->basis->dim, row = b->rows[b->next];
    double s = b->gamma / q, root = sqrt(s), step = b->gamma / b->phi;
    const double *v = b->v + b->next * dim, *z = b->z + b->next * dim;
    for (size_t i = 0; i < dim; i++) {
        b->raw[b->recent * dim + i] = root * v[i];
        b->y[b->recent * dim + i] = root * z[i];
    }
    b->recent++;
    b->draws++;
    b->distinct += b->weight[row] == 0;
    b->weight[row] += s / b->mid;
    b->beta += step / b->mid;
    b->upper += step / (1 - b->gamma);
    b->lower += step / (1 + b->gamma);
}

/* Updates M after a draw. Diagonalizes B again if the buffer of recent rows is full, l is
 * too close to the eigenvalues, or the update fails. */
static bool settle(la_bss *b) {
    bool full = b->recent == b->most || b->lambda[0] - b->lower < b->spare;
    if (!full && resolve(b)) return true;
    return diagonalize(b) && resolve(b);
}

bool la_bss_draw(la_bss *b, size_t *row) {
    const scant__rng rng = {b->seed, SCANT__RNG_KEEP};
    size_t dim = b->basis->dim;
    for (;;) {
        if (b->next == LA_AHEAD) propose(b);
        const double *z = b->z + b->next * dim;
        double q = q_turned(b, z), square = squared(z, dim);
        double chance = q / (b->bound * square);
        b->condition = fmax(b->condition, b->gamma / b->mid * square / q);
        bool keep = scant__rng_unit(&rng, b->proposals++) < chance;
        if (keep) take(b, q);
        *row = b->rows[b->next++];
        if (keep) return settle(b);
    }
}

/* ---- a whole run ------------------------------------------------------------------- */

enum { AT_ONCE = 16 };

/* Runs a few draws, so that cancel is polled often. */
static scant_status run_block(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    la_bss *b = arg;
    size_t row, end = b->draws + AT_ONCE;
    (void)block, (void)worker;
    do {
        if (!la_bss_draw(b, &row))
            return scant__fault_set(
                fault, SCANT_EINTERNAL,
                "draw %zu in %zu dimensions: rounding moved the matrix past its barriers",
                b->draws, b->basis->dim);
    } while (b->draws < end && b->recent && !la_bss_done(b));
    return SCANT_OK;
}

scant_status la_bss_run(la_bss *b, double gamma) {
    enum { STEPS = 1000 };
    la_bss_start(b, gamma);
    double from = b->upper - b->lower; /* the run ends when it has doubled */
    while (!la_bss_done(b)) {
        TRY(scant__blas_for(b->ctx, NULL, 1, run_block, b));
        double done = fmin(1, (b->upper - b->lower - from) / from);
        TRY(scant__tick(b->ctx, "drawing", (size_t)(done * STEPS), STEPS));
    }
    return SCANT_OK;
}

/* ---- independent draws ------------------------------------------------------------- */

typedef struct plain {
    la_bss *b;
    size_t draws, distinct; /* maximum numbers */
    bool done;
} plain;

/* Adds a draw of weight D / |v|^2. At the end all weights are divided by the number of
 * draws. */
static void take_plain(la_bss *b) {
    size_t dim = b->basis->dim, row = b->rows[b->next];
    const double *v = b->v + b->next * dim;
    double s = (double)dim / squared(v, dim), root = sqrt(s);
    for (size_t i = 0; i < dim; i++) b->raw[b->recent * dim + i] = root * v[i];
    if (++b->recent == b->most) add_recent(b);
    b->draws++;
    b->distinct += b->weight[row] == 0;
    b->weight[row] += s;
}

static scant_status plain_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    plain *p = arg;
    la_bss *b = p->b;
    (void)block, (void)worker, (void)fault;
    for (size_t i = 0; i < AT_ONCE && !p->done; i++, b->next++, b->proposals++) {
        if (b->next == LA_AHEAD) propose(b);
        p->done = b->distinct == p->distinct && b->weight[b->rows[b->next]] == 0;
        if (!p->done) take_plain(b);
        p->done |= b->draws == p->draws;
    }
    return SCANT_OK;
}

scant_status la_bss_run_plain(la_bss *b, size_t draws, size_t distinct) {
    const double any = 0.5; /* any value: there are no barriers */
    plain p = {.b = b, .draws = draws, .distinct = distinct};
    assert(draws && distinct);
    la_bss_start(b, any);
    while (!p.done) {
        TRY(scant__blas_for(b->ctx, NULL, 1, plain_block, &p));
        TRY(scant__tick(b->ctx, "drawing", b->draws, draws));
    }
    b->mid = (double)b->draws;
    for (size_t i = 0; i < b->basis->f.m; i++) b->weight[i] /= b->mid;
    b->beta = 1;
    b->condition = (double)b->basis->dim / b->mid;
    return SCANT_OK;
}

static scant_status band_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    (void)block, (void)worker;
    if (diagonalize(arg)) return SCANT_OK;
    return scant__fault_set(fault, SCANT_EINTERNAL,
                            "the eigenvalues of the sampled matrix did not converge");
}

scant_status la_bss_band(la_bss *b, double *least, double *most) {
    TRY(scant__blas_for(b->ctx, NULL, 1, band_block, b));
    *least = b->lambda[0] / b->mid;
    *most = b->lambda[b->basis->dim - 1] / b->mid;
    return SCANT_OK;
}

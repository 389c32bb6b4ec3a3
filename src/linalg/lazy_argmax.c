/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/lazy_argmax.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/topk.h"

enum {
    BLOCK = LA_BLOCK,  /* rows that share a largest value */
    SMALL_FRONT = 512, /* smallest and largest size of the front, in rows */
    LARGE_FRONT = 4096,
    FRONT_NUMBERS = 1 << 19, /* most numbers of a in the front */
    FIRST_LIMIT = 4,
    MOST_DOUBT = 64
};

#define OUT (-(double)INFINITY)

static size_t classes_of(const la_view *v) { return v->a ? v->a->d : 1; }

static size_t size_of(const la_view *v) {
    return size_mul(classes_of(v), la_view_width(v));
}

/* ---- sizes ------------------------------------------------------------------------ */

static size_t front_rows(const la_view *v) {
    size_t rows = v->m / 16, numbers = FRONT_NUMBERS / classes_of(v) / 2;
    rows = rows > LARGE_FRONT ? LARGE_FRONT : rows;
    rows = rows > numbers ? numbers : rows;
    rows = rows < SMALL_FRONT ? SMALL_FRONT : rows;
    return 2 * rows < v->m ? rows : v->m; /* all rows of a small pool */
}

static size_t front_most(const la_view *v) {
    size_t rows = front_rows(v);
    return rows < v->m ? 2 * rows : v->m;
}

static size_t front_bytes(const la_view *v) { /* per row */
    return 3 * sizeof(size_t) + 2 * sizeof(double) +
           (v->a ? classes_of(v) * sizeof(double) : 0);
}

size_t la_lazy_argmax_memory(const la_view *v) {
    enum { PIECES = 12, OVERHEAD = 256 };
    size_t rows = size_mul(v->m, 2 * sizeof(double));
    size_t blocks = (v->m / BLOCK + 2) * (sizeof(double) + 2 * sizeof(size_t));
    size_t matrices = size_mul(size_of(v), 2 * sizeof(double));
    size_t front = size_mul(front_most(v), front_bytes(v));
    return size_add(size_add(rows, matrices),
                    size_add(front, blocks + PIECES * OVERHEAD));
}

static void catch_block(void *arg, const la_block *b);

static la_job catch_job(const la_view *v, void *arg) {
    size_t width = size_add(la_view_width(v), classes_of(v));
    return (la_job){.fn = catch_block,
                    .arg = arg,
                    .room = 2 * LA_LAZY_ARGMAX_UNDO,
                    .cost = size_mul(width, LA_LAZY_ARGMAX_UNDO / 2),
                    .as_is = true};
}

/* Bytes for the moves' rows, placed before the pass's own buffer. */
static size_t moved_rows(const la_view *v) {
    size_t h = la_rows_point_scratch(v->h, LA_LAZY_ARGMAX_UNDO);
    size_t a = size_mul(LA_LAZY_ARGMAX_UNDO * sizeof(double), classes_of(v));
    return size_add(size_add(h, a), size_add(la_view_raw(v), 127)) / 64 * 64;
}

size_t la_lazy_argmax_work(const la_view *v, unsigned threads) {
    static const size_t some_list;
    la_rows listed = *v->h;
    la_view front = *v;
    listed.list = &some_list;
    front.h = &listed, front.m = front_most(v);
    size_t needs[] = {
        size_add(la_walk_memory(v, catch_job(v, NULL), threads), moved_rows(v)),
        la_kron_along_memory(&front, 1, threads), la_kron_dots_memory(&front, threads),
        la_kron_dots_memory(v, threads), la_kron_sum_memory(v, threads)};
    size_t most = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        most = needs[i] > most ? needs[i] : most;
    return most;
}

static size_t rows_of(const la_lazy_argmax *lead, size_t block) {
    size_t rest = lead->view->m - block * BLOCK;
    return rest < BLOCK ? rest : BLOCK;
}

static scant_status front_init(la_lazy_argmax *lead, scant__arena *arena) {
    const la_view *v = lead->view;
    size_t most = front_most(v), classes = classes_of(v);
    lead->front.most = most;
    lead->front.wanted = front_rows(v);
    lead->front.row = TRY_NEW(arena, size_t, size_mul(3, most));
    lead->front.value = TRY_NEW(arena, double, size_mul(2, most));
    lead->front.a = TRY_NEW(arena, double, v->a ? size_mul(most, classes) : 1);
    lead->front.start = TRY_NEW(arena, size_t, lead->blocks + 1);
    lead->front.place = lead->front.row + most;
    lead->front.chance = lead->front.place + most;
    lead->front.dot = lead->front.value + most;
    lead->front.rows_h = *v->h;
    lead->front.rows_h.list = lead->front.place;
    lead->front.rows_a =
        (la_rows){.n = most, .d = classes, .type = LA_F64, .base = lead->front.a};
    lead->front.view = (la_view){.h = &lead->front.rows_h,
                                 .a = v->a ? &lead->front.rows_a : NULL,
                                 .bias = v->bias};
    return SCANT_OK;
}

scant_status la_lazy_argmax_init(la_lazy_argmax *lead, scant__arena *arena) {
    const la_view *v = lead->view;
    size_t m = v->m, size = size_of(v);
    lead->blocks = m / BLOCK + (m % BLOCK != 0);
    lead->limit = FIRST_LIMIT;
    lead->active = m;
    lead->value = TRY_ZERO(arena, double, m);
    lead->next = TRY_NEW(arena, double, m);
    lead->top = TRY_NEW(arena, double, lead->blocks);
    lead->broken = TRY_NEW(arena, size_t, lead->blocks);
    lead->near = TRY_NEW(arena, double, size_mul(size, 2));
    lead->apart = lead->near + size;
    lead->longest = lead->longer * lead->length[la_argmax(lead->length, m)];
    lead->most = lead->share * lead->merit[la_argmax(lead->merit, m)];
    return front_init(lead, arena);
}

/* ---- the front -------------------------------------------------------------------- */

/* Lists rows with values of at least cut. Returns false if the front cannot hold them. */
static bool list_front(la_lazy_argmax *lead, double cut) {
    size_t count = 0;
    lead->front.cut = cut;
    lead->front.count = 0;
    for (size_t b = 0; b < lead->blocks; b++) {
        lead->front.start[b] = count;
        if (lead->top[b] < cut) continue;
        for (size_t j = b * BLOCK, end = j + rows_of(lead, b); j < end; j++) {
            if (lead->value[j] < cut || lead->value[j] == OUT) continue;
            if (count == lead->front.most) return false;
            lead->front.row[count++] = j;
        }
    }
    lead->front.start[lead->blocks] = lead->front.count = count;
    return true;
}

/* Returns a value that about front.wanted rows reach, estimated from a subset of rows. */
static double cut_at(const la_lazy_argmax *lead) {
    enum { SAMPLE = 1024 };
    la_scored items[SAMPLE];
    la_topk top;
    size_t m = lead->view->m, count = 0, finite = 0;
    size_t rank = 1 + SAMPLE * lead->front.wanted / m;
    la_topk_init(&top, items, rank < SAMPLE ? rank : SAMPLE);
    for (; count < SAMPLE; count++) {
        size_t j = (size_t)((double)count / SAMPLE * (double)m);
        finite += lead->value[j] != OUT;
        if (lead->value[j] != OUT) la_topk_offer(&top, lead->value[j], j);
    }
    return finite > rank ? items[0].score : OUT;
}

/* Fills the front with the rows of the largest values; leaves it empty if too many are
 * equal. */
static void set_front(la_lazy_argmax *lead) {
    const la_view *v = lead->view;
    for (size_t b = 0; b < lead->blocks; b++) {
        const double *value = lead->value + b * BLOCK;
        lead->top[b] = value[la_argmax(value, rows_of(lead, b))];
    }
    double cut = lead->active <= lead->front.most ? OUT : cut_at(lead);
    if (!list_front(lead, cut)) list_front(lead, nextafter(cut, (double)INFINITY));
    for (size_t i = 0; i < lead->front.count; i++) {
        size_t row = lead->front.row[i];
        lead->front.value[i] = lead->value[row];
        lead->front.place[i] = v->h->list ? v->h->list[row] : row;
    }
    la_view some = *v;
    some.rows = lead->front.row, some.m = lead->front.count;
    if (v->a) la_view_load(&some, 0, some.m, NULL, lead->front.a, lead->work->room);
    lead->front.view.m = lead->front.rows_h.n = lead->front.count;
    lead->moves = 0;
}

static bool is_whole(const la_lazy_argmax *lead) { return lead->front.cut == OUT; }

/* ---- values ----------------------------------------------------------------------- */

static double value_of(const la_lazy_argmax *lead, size_t row, double dot) {
    return lead->share * lead->merit[row] - lead->slope * dot;
}

static void exclude(la_lazy_argmax *lead, size_t row) {
    lead->active -= lead->value[row] != OUT;
    lead->value[row] = OUT;
}

/* Recomputes all values from R, to the same bits as for single rows. The last leaders
 * must be final. */
static scant_status know(la_lazy_argmax *lead, const double *r) {
    for (size_t j = 0; j < lead->moves; j++) exclude(lead, lead->move[j].row);
    TRY(la_kron_dots(lead->view, r, lead->next, lead->work));
    for (size_t j = 0; j < lead->view->m; j++)
        if (lead->value[j] != OUT) lead->value[j] = value_of(lead, j, lead->next[j]);
    memcpy(lead->near, r, size_of(lead->view) * sizeof *r);
    lead->radius = lead->slack = 0;
    lead->known = true;
    set_front(lead);
    return SCANT_OK;
}

/* Returns the length of a move, |g_row| |t|. */
static double distance(const la_lazy_argmax *lead, const la_move *move) {
    return fabs(move->t) * lead->length[move->row] * lead->longer;
}

/* Returns the relative rounding error of an inner product computed in `type`. */
static double rounding(const la_lazy_argmax *lead, la_type type) {
    const la_view *v = lead->view;
    double steps = (double)(la_view_width(v) + classes_of(v) + 16);
    return type == LA_F64 ? 0x1p-53 * steps : 0x1p-24 * (steps < 512 ? steps : 512);
}

/* Returns a bound of the rounding error that one update adds to a value: 2^-50 of the
 * largest magnitude of a value. Rounding of inner products is counted separately. */
static double value_rounding(const la_lazy_argmax *lead) {
    double far = la_frobenius(lead->near, size_of(lead->view));
    for (size_t i = 0; i < lead->moves; i++) far += distance(lead, &lead->move[i]);
    return 0x1p-50 * (lead->most + lead->slope * lead->longest * far);
}

/* near += the sum of t g over `rows`, with t indexed by row number. */
static scant_status shift(la_lazy_argmax *lead, const size_t *rows, size_t count,
                          const double *t) {
    la_view some = *lead->view;
    some.rows = rows, some.m = count;
    TRY(la_kron_sum(&some, t, lead->apart, lead->work));
    for (size_t i = 0; i < size_of(lead->view); i++) lead->near[i] += lead->apart[i];
    lead->radius += 0x1p-50 * la_frobenius(lead->near, size_of(lead->view));
    return SCANT_OK;
}

/* ---- updating all rows after moves ------------------------------------------------ */

typedef struct catch_up {
    la_lazy_argmax *lead;
    size_t moves;
    const void *h[LA_LAZY_ARGMAX_UNDO], *a[LA_LAZY_ARGMAX_UNDO]; /* the moves' rows */
    double far[LA_LAZY_ARGMAX_UNDO], slack;
    bool check;
} catch_up;

/* <g_i, g_j> for all rows i of a block and all moves j. */
static double *products(const catch_up *up, const la_block *b) {
    enum { ROWS = 32 };
    const la_view *v = up->lead->view;
    size_t k = up->moves, c = classes_of(v);
    double *y = b->room, *z = b->room + b->count * k;
    /* ROWS rows at a time: they stay in cache for all moves */
    for (size_t i = 0; i < b->count; i += ROWS) {
        const void *own[ROWS];
        size_t rows = b->count - i < ROWS ? b->count - i : ROWS;
        la_kernels_for(v->h->type)->dot(b->x + i, rows, up->h, k, v->h->d, y + i * k);
        if (!v->a) continue;
        for (size_t r = 0; r < rows; r++) own[r] = b->a + (i + r) * c;
        la_kernels_for(LA_F64)->dot(own, rows, up->a, k, c, z + i * k);
    }
    for (size_t i = 0; i < b->count * k; i++)
        y[i] = (y[i] + v->bias * v->bias) * (v->a ? z[i] : 1);
    return y;
}

/* Computes values after all moves, and the first move at which a row outside the front
 * may have led. */
static void catch_block(void *arg, const la_block *b) {
    const catch_up *up = arg;
    la_lazy_argmax *lead = up->lead;
    const la_move *move = lead->move;
    size_t block = b->first / BLOCK, k = up->moves, broken = k;
    size_t front = lead->front.start[block], end = lead->front.start[block + 1];
    const double *product = products(up, b);
    for (size_t i = 0; i < b->count; i++, product += k) {
        size_t row = b->first + i;
        double value = lead->value[row], reach = lead->slope * lead->longer;
        reach *= lead->length[row];
        bool behind = up->check && !(front < end && lead->front.row[front] == row);
        if (!behind) front++;
        for (size_t j = 0; j < k; j++) {
            if (behind && j > 0 && j < broken &&
                value + reach * up->far[j] + up->slack >= move[j].value)
                broken = j;
            value -= lead->slope * move[j].t * product[j];
        }
        lead->next[row] = value;
    }
    lead->broken[block] = broken;
}

/* Computes next, the values after the first `moves` moves. *broken is the first of these
 * moves at which a row outside the front may have led, or `moves` if there is none. */
static scant_status advance(la_lazy_argmax *lead, size_t moves, bool check,
                            size_t *broken) {
    const la_view *v = lead->view;
    catch_up up = {.lead = lead, .moves = moves, .check = check};
    size_t rows[LA_LAZY_ARGMAX_UNDO], c = classes_of(v), own = moved_rows(v);
    double blurred = 0;
    for (size_t j = 0; j < moves; j++) {
        rows[j] = lead->move[j].row;
        up.far[j] = lead->move[j].far + blurred;
        blurred += rounding(lead, v->h->type) * distance(lead, &lead->move[j]);
    }
    lead->slack += value_rounding(lead) * (double)moves;
    up.slack = 2 * lead->slack;
    la_view some = *v;
    la_work rest;
    TRY(la_work_after(lead->work, own, &rest));
    some.rows = rows, some.m = moves;
    double *a = (double *)(void *)lead->work->room;
    unsigned char *h = lead->work->room + LA_LAZY_ARGMAX_UNDO * c * sizeof(double);
    la_rows_point(v->h, rows, 0, moves, h, up.h);
    la_view_load(&some, 0, moves, NULL, v->a ? a : NULL,
                 h + la_rows_point_scratch(v->h, LA_LAZY_ARGMAX_UNDO));
    for (size_t j = 0; j < moves; j++) up.a[j] = a + j * c;
    TRY(la_walk(v, catch_job(v, &up), NULL, &rest));
    *broken = moves;
    for (size_t b = 0; b < lead->blocks; b++)
        *broken = lead->broken[b] < *broken ? lead->broken[b] : *broken;
    return SCANT_OK;
}

/* Values are recomputed from R for the next moves, because updating was not faster. */
static void distrust(la_lazy_argmax *lead) {
    lead->patience = lead->patience ? 2 * lead->patience : 1;
    if (lead->patience > MOST_DOUBT) lead->patience = MOST_DOUBT;
    lead->doubt = lead->patience;
}

/* Subtracts the moves from `first` on from near. */
static scant_status unshift(la_lazy_argmax *lead, size_t first) {
    size_t rows[LA_LAZY_ARGMAX_UNDO], count = lead->moves - first;
    for (size_t j = 0; j < count; j++) {
        const la_move *move = &lead->move[first + j];
        rows[j] = move->row;
        lead->next[move->row] = -move->t;
    }
    return shift(lead, rows, count, lead->next);
}

/* Settles the moves if the front holds all rows: their values are already up to date. */
static scant_status settle_front(la_lazy_argmax *lead) {
    lead->slack += value_rounding(lead) * (double)lead->moves;
    for (size_t j = 0; j < lead->moves; j++)
        lead->radius += rounding(lead, LA_F64) * distance(lead, &lead->move[j]);
    lead->moves = 0;
    return SCANT_OK;
}

scant_status la_lazy_argmax_settle(la_lazy_argmax *lead, size_t *back) {
    size_t moves = lead->moves, stand;
    *back = 0;
    if (!lead->known || !moves) return SCANT_OK;
    if (is_whole(lead)) return settle_front(lead);
    TRY(advance(lead, moves, true, &stand));
    if (stand < moves) {
        size_t all;
        *back = moves - stand;
        TRY(unshift(lead, stand));
        lead->moves = stand;
        TRY(advance(lead, stand, false, &all));
        lead->limit = stand > 2 ? stand : 2;
        if (stand == 1) distrust(lead);
    } else if (moves == lead->limit) {
        lead->limit = moves < LA_LAZY_ARGMAX_UNDO ? moves + 1 : LA_LAZY_ARGMAX_UNDO;
    }
    if (stand > 1) lead->patience = 0;
    for (size_t j = 0; j < stand; j++)
        lead->radius +=
            rounding(lead, lead->view->h->type) * distance(lead, &lead->move[j]);
    double *value = lead->value;
    lead->value = lead->next, lead->next = value;
    for (size_t j = 0; j < stand; j++) {
        lead->active -= 1;
        lead->value[lead->move[j].row] = OUT;
    }
    set_front(lead);
    return SCANT_OK;
}

/* ---- the leader ------------------------------------------------------------------- */

/* Returns a bound of the error, relative to |g_j|, of values of `near` used for R. */
static double far_from(const la_lazy_argmax *lead, const double *r) {
    const la_view *v = lead->view;
    size_t size = size_of(v);
    double length = la_frobenius(r, size) + la_frobenius(lead->near, size);
    for (size_t i = 0; i < size; i++) lead->apart[i] = r[i] - lead->near[i];
    for (size_t j = 0; j < lead->moves; j++) length += distance(lead, &lead->move[j]);
    return lead->radius + rounding(lead, LA_F64) * length +
           la_spectral(lead->apart, classes_of(v), la_view_width(v));
}

/* Lists rows of the front that may lead. Returns false if they are too many to evaluate.
 */
static bool list_chances(const la_lazy_argmax *lead, double far, double slack,
                         size_t *count) {
    size_t n = lead->front.count, most = n / 2 + 16;
    if (n == 0) return false;
    size_t first = la_argmax(lead->front.value, n);
    double unit = lead->slope * lead->longer * far;
    double least = lead->front.value[first] - slack;
    least -= unit * lead->length[lead->front.row[first]];
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        double value = lead->front.value[i];
        if (value + unit * lead->length[lead->front.row[i]] < least || value == OUT)
            continue;
        if (*count == most) return false;
        lead->front.chance[(*count)++] = i;
    }
    return *count > 0;
}

/* Finds the leader within the front. */
static scant_status find_in_front(la_lazy_argmax *lead, const double *r, size_t *row,
                                  double *dot, bool *found) {
    double far = far_from(lead, r), best = OUT;
    double slack = 2 * (lead->slack + value_rounding(lead) * (double)(lead->moves + 1));
    la_view some = lead->front.view;
    size_t count;
    *found = list_chances(lead, far, slack, &count);
    if (!*found) return SCANT_OK;
    some.rows = lead->front.chance, some.m = count;
    TRY(la_kron_dots(&some, r, lead->front.dot, lead->work));
    for (size_t i = 0; i < count; i++) {
        size_t own = lead->front.row[lead->front.chance[i]];
        double value = value_of(lead, own, lead->front.dot[i]);
        if (value > best) best = value, *row = own, *dot = lead->front.dot[i];
    }
    /* later moves are checked when all rows are updated */
    if (lead->moves == 0 && !is_whole(lead))
        *found = lead->front.cut + lead->slope * lead->longest * far + slack < best;
    lead->move[lead->moves] = (la_move){.row = *row, .value = best, .far = far};
    return SCANT_OK;
}

scant_status la_lazy_argmax_find(la_lazy_argmax *lead, const double *r, size_t *row,
                                 double *dot, size_t *back) {
    bool found = false;
    *back = 0;
    if (lead->known && lead->moves == lead->limit) TRY(la_lazy_argmax_settle(lead, back));
    if (*back) return SCANT_OK;
    if (lead->known) {
        TRY(find_in_front(lead, r, row, dot, &found));
        if (!found && lead->moves > 1) TRY(la_lazy_argmax_settle(lead, back));
        if (found || *back) return SCANT_OK;
        distrust(lead);
    }
    TRY(know(lead, r));
    size_t best = la_argmax(lead->top, lead->blocks) * BLOCK;
    *row = best + la_argmax(lead->value + best, rows_of(lead, best / BLOCK));
    *dot = lead->next[*row];
    return SCANT_OK;
}

/* Returns the index of a row in the front, or front.count if the row is not in it. */
static size_t place_of(const la_lazy_argmax *lead, size_t row) {
    size_t low = 0, high = lead->front.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lead->front.row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lead->front.count && lead->front.row[low] == row ? low
                                                                  : lead->front.count;
}

scant_status la_lazy_argmax_take(la_lazy_argmax *lead, size_t row, double t) {
    size_t place = place_of(lead, row), n = lead->front.count;
    bool follow = lead->known && !lead->doubt && place < n;
    if (lead->doubt) lead->doubt--;
    if (!follow || is_whole(lead)) exclude(lead, row);
    lead->known = follow;
    if (!follow) return SCANT_OK;
    la_move *move = &lead->move[lead->moves++];
    move->row = row, move->t = t;
    lead->front.value[place] = OUT;
    TRY(la_kron_along(&lead->front.view, &place, 1, &t, lead->front.dot, lead->work));
    for (size_t i = 0; i < n; i++)
        lead->front.value[i] -= lead->slope * lead->front.dot[i];
    lead->next[row] = t;
    return shift(lead, &row, 1, lead->next);
}

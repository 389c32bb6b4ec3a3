/* SPDX-License-Identifier: Apache-2.0
 *
 * A chart of the pool as an SVG file: every row is a point in two dimensions
 * (report/projection.h), labelled rows have the colours of their classes, picks are on
 * top.
 *
 * Large pools are drawn as an even sample of rows (at most BACKGROUND, LABELLED, PICKS of
 * each kind; the legend has the counts), so a file has less than half a megabyte. Both
 * axes have the same scale, unless one range is more than FLAT times the other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "data/array.h"
#include "linalg/products.h"
#include "report/chart.h"
#include "report/projection.h"

enum {
    BACKGROUND = 3000,
    LABELLED = 2000,
    PICKS = 4000,
    NUMBERED = 30,   /* with more picks, ranks are not drawn */
    EXPLAINED = 400, /* with more picks, a pick has no tooltip */
    CLASSES = 14,    /* most classes in the legend */
};

enum { /* pixels */
       WIDTH = 760,
       HEIGHT = 560,
       LEFT = 40,
       TOP = 64,
       RIGHT = 580,
       BOTTOM = 520,
       INSIDE = 14, /* between the frame and the outermost points */
       LEGEND = 598,
       LINE = 20,
};
static const double FLAT = 5; /* ratio of ranges above which axes have own scales */

/* The rows to draw, in drawing order: background, labelled, picks. */
typedef struct scene {
    chart c;
    const scant_picks *picks;
    size_t others, known; /* unlabelled and labelled rows that are not picked */
    size_t *rows;
    int64_t *classes;                /* classes of drawn labelled rows */
    size_t *ranks;                   /* ranks of drawn picks, from 0 */
    size_t background, marks, stars; /* drawn rows of each kind */
    double *at;                      /* (rows,2): coordinates, later pixels */
    report_axes axes;
    bool own_scales; /* each axis has its own scale */
    double top_weight;
    bool weighted; /* weights differ */
} scene;

/* ---- rows to draw ------------------------------------------------------------------ */

static size_t most_rows(size_t n, size_t picks) {
    return size_min(n, BACKGROUND) + size_min(n, LABELLED) + size_min(picks, PICKS);
}

static bool is_set(const uint64_t *bits, size_t i) { return bits[i / 64] >> i % 64 & 1; }

static scant_status mark_picks(scant_ctx *ctx, const scant_picks *picks, size_t n,
                               uint64_t *bits) {
    for (size_t i = 0; i < picks->count; i++) {
        size_t row = picks->items[i].index;
        if (row >= n)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "pick %zu is row %zu, but there are %zu (from 0)", i + 1,
                               row, n);
        bits[row / 64] |= (uint64_t)1 << row % 64;
    }
    return SCANT_OK;
}

/* Chooses the background and the labelled rows, in one pass. */
static scant_status choose_rows(scant_ctx *ctx, const select_pool *pool,
                                const uint64_t *picked, scene *s) {
    report_sample others = report_sample_begin(s->others, BACKGROUND);
    report_sample marks = report_sample_begin(s->known, LABELLED);
    size_t *marked = s->rows + size_min(s->others, BACKGROUND);
    for (size_t i = 0; i < pool->n; i++) {
        int64_t label = s->known ? select_pool_label(pool, i) : -1;
        if (i % (1 << 20) == 0) TRY(scant__tick(ctx, "drawing", i, pool->n));
        if (is_set(picked, i)) continue;
        if (label < 0 && report_sample_takes(&others)) {
            s->rows[s->background++] = i;
        } else if (label >= 0 && report_sample_takes(&marks)) {
            marked[s->marks] = i;
            s->classes[s->marks++] = label;
        }
    }
    memmove(s->rows + s->background, marked, s->marks * sizeof *marked);
    return SCANT_OK;
}

static void choose_picks(scene *s) {
    const scant_picks *picks = s->picks;
    report_sample stars = report_sample_begin(picks->count, PICKS);
    size_t *rows = s->rows + s->background + s->marks;
    for (size_t i = 0; i < picks->count; i++) {
        double weight = picks->items[i].weight;
        s->top_weight = fmax(s->top_weight, weight);
        s->weighted = s->weighted || weight != picks->items[0].weight;
        if (!report_sample_takes(&stars)) continue;
        s->ranks[s->stars] = i;
        rows[s->stars++] = picks->items[i].index;
    }
}

static scant_status scene_rows(scant__arena *arena, const select_pool *pool, scene *s) {
    size_t most = most_rows(pool->n, s->picks->count) + 1;
    uint64_t *picked = TRY_ZERO(arena, uint64_t, pool->n / 64 + 1);
    s->rows = TRY_NEW(arena, size_t, most);
    s->classes = TRY_NEW(arena, int64_t, most);
    s->ranks = TRY_NEW(arena, size_t, most);
    s->at = TRY_NEW(arena, double, 2 * most);
    TRY(mark_picks(arena->ctx, s->picks, pool->n, picked));
    for (size_t i = 0; i < pool->n; i++) {
        bool known = pool->labelled && select_pool_label(pool, i) >= 0;
        s->known += known && !is_set(picked, i);
        s->others += !known && !is_set(picked, i);
    }
    TRY(choose_rows(arena->ctx, pool, picked, s));
    choose_picks(s);
    return SCANT_OK;
}

/* ---- pixels ------------------------------------------------------------------------ */

static void to_pixels(scene *s) {
    size_t count = s->background + s->marks + s->stars;
    const double room[2] = {RIGHT - LEFT - 2 * INSIDE, BOTTOM - TOP - 2 * INSIDE};
    const double centre[2] = {(RIGHT + LEFT) / 2.0, (BOTTOM + TOP) / 2.0};
    double scale[2], middle[2]; /* scale: pixels per unit; 0 if all points are equal */
    for (size_t a = 0; a < 2; a++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            low = fmin(low, s->at[2 * i + a]);
            high = fmax(high, s->at[2 * i + a]);
        }
        double half = high / 2 - low / 2; /* the whole range may overflow */
        scale[a] = half > 0 ? room[a] / 2 / half : 0;
        middle[a] = low / 2 + high / 2;
    }
    double least = fmin(scale[0], scale[1]), most = fmax(scale[0], scale[1]);
    s->own_scales = least > 0 && most > FLAT * least;
    if (!s->own_scales) scale[0] = scale[1] = least > 0 ? least : most;
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < 2; a++) {
            double offset = (s->at[2 * i + a] - middle[a]) * scale[a];
            s->at[2 * i + a] =
                centre[a] + (a ? -offset : offset); /* y grows downwards in SVG */
        }
}

/* ---- drawing ----------------------------------------------------------------------- */

static const char style[] =
    "<style>.pool{stroke:currentColor;stroke-width:4;stroke-linecap:round;opacity:.5}"
    ".pick circle{fill:#1f2733;stroke:#fff;stroke-width:1.2}"
    ".beside{stroke:#fff;stroke-width:3;paint-order:stroke}"
    "@media(prefers-color-scheme:dark){.pick circle{fill:#e8edf4;stroke:#171c23}"
    ".beside{stroke:#171c23}}</style>\n";

/* Draws points (n,2) as lines of length 0 with round ends. */
static void draw_background(const scene *s, const double *at, size_t n) {
    scant__text_add(s->c.out, "<path class=\"pool k0\" d=\"");
    for (size_t i = 0; i < n; i++)
        report_addf(s->c.out, "M%f %fh0", at[2 * i], at[2 * i + 1]);
    scant__text_add(s->c.out, "\"/>\n");
}

/* Draws marks (n,2) of one class. */
static void draw_class(const scene *s, int64_t class_id, const double *at, size_t n) {
    chart_style look = chart_style_number((size_t)class_id);
    report_addf(s->c.out, "<path class=\"mark k%u\" d=\"", look.colour);
    for (size_t i = 0; i < n; i++)
        report_addf(s->c.out, "M%f %f%s", at[2 * i], at[2 * i + 1], chart_shape(look));
    scant__text_add(s->c.out, "\"/>\n");
}

/* Returns the end of the range of equal classes that starts at i. */
static size_t same_end(const scene *s, size_t i) {
    size_t end = i + 1;
    while (end < s->marks && s->classes[end] == s->classes[i]) end++;
    return end;
}

static double radius(const scene *s, double weight) {
    if (s->weighted)
        return 3 + 7 * sqrt(s->top_weight > 0 ? fmax(0, weight) / s->top_weight : 0);
    return s->picks->count <= NUMBERED ? 7.5 : s->stars <= 300 ? 4.5 : 3.5;
}

static void draw_pick(const scene *s, size_t i) {
    const double *at = s->at + 2 * (s->background + s->marks + i);
    const scant_pick *pick = &s->picks->items[s->ranks[i]];
    bool explained = s->picks->count <= EXPLAINED, inside = !s->weighted;
    double r = radius(s, pick->weight);
    if (explained)
        report_addf(s->c.out, "<g><title>pick %zu: row %zu, score %g", s->ranks[i] + 1,
                    pick->index, pick->score);
    if (explained && s->weighted) report_addf(s->c.out, ", weight %g", pick->weight);
    scant__text_add(s->c.out, explained ? "</title>" : "");
    report_addf(s->c.out, "<circle cx=\"%f\" cy=\"%f\" r=\"%f\"/>", at[0], at[1], r);
    if (s->picks->count <= NUMBERED) {
        chart_text_begin(&s->c, at[0] + (inside ? 0 : r + 2), at[1] + 3,
                         inside ? "middle" : "start",
                         inside ? "tiny strong onto" : "tiny strong beside");
        report_addf(s->c.out, "%zu</text>", s->ranks[i] + 1);
    }
    scant__text_add(s->c.out, explained ? "</g>\n" : "\n");
}

static void draw_points(const scene *s) {
    if (s->background) draw_background(s, s->at, s->background);
    for (size_t i = 0, end; i < s->marks; i = end) {
        end = same_end(s, i);
        draw_class(s, s->classes[i], s->at + 2 * (s->background + i), end - i);
    }
    scant__text_add(s->c.out, "<g class=\"pick\">\n");
    for (size_t i = s->stars; i-- > 0;) draw_pick(s, i); /* the best last, on top */
    scant__text_add(s->c.out, "</g>\n");
}

/* ---- axes, title and legend -------------------------------------------------------- */

static void draw_axis(const scene *s, size_t axis) {
    const char *scale = s->own_scales ? ", to its own scale" : "";
    char words[96];
    if (s->axes.components)
        snprintf(words, sizeof words, "principal component %zu (%d%% of the variance)%s",
                 axis + 1, (int)lround(100 * s->axes.share[axis]), scale);
    else
        snprintf(words, sizeof words, "feature %zu%s", axis, scale);
    if (axis)
        chart_text_up(&s->c, LEFT - 14, (TOP + BOTTOM) / 2.0, words);
    else
        chart_text(&s->c, (LEFT + RIGHT) / 2.0, BOTTOM + 22, "middle", "soft", words, 80);
}

static scant_status draw_head(scant__arena *arena, const scene *s, const select_pool *p) {
    const char *strategy = s->picks->strategy ? s->picks->strategy : "";
    const char *name = scant__arena_format(arena, "%s%s%zu of %zu rows picked", strategy,
                                           *strategy ? ": " : "", s->picks->count, p->n);
    const char *about =
        scant__arena_format(arena, "%zu labelled before, %zu left, %zu feature%s",
                            p->labelled, s->others, p->d, p->d == 1 ? "" : "s");
    if (!name || !about) return SCANT_ENOMEM;
    chart_begin(&s->c, "plot", name, name, about);
    scant__text_add(s->c.out, style);
    chart_text(&s->c, 20, 50, "start", "soft", about, 80);
    chart_line(&s->c, "axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    chart_line(&s->c, "axis", LEFT, TOP, LEFT, BOTTOM);
    for (size_t axis = 0; axis < size_min(p->d, 2); axis++) draw_axis(s, axis);
    return SCANT_OK;
}

/* Adds the text of a line of the legend; returns y of the next line. */
SCANT__PRINTF(4, 5)
static double legend_words(const scene *s, double y, const char *class_name,
                           const char *format, ...) {
    char words[80];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    chart_text(&s->c, LEGEND + 14, y + 4, "start", class_name, words, 80);
    return y + LINE;
}

static double legend_picks(const scene *s, double y) {
    if (!s->stars) return y;
    report_addf(s->c.out, "<g class=\"pick\"><circle cx=\"%d\" cy=\"%f\" r=\"5\"/></g>\n",
                LEGEND, y);
    y = legend_words(s, y, "", "picked (%zu)", s->picks->count);
    if (s->stars < s->picks->count)
        y = legend_words(s, y - 4, "soft", "%zu of them drawn", s->stars);
    if (s->picks->count <= NUMBERED)
        y = legend_words(s, y - 4, "soft", "with their ranks");
    if (s->weighted) y = legend_words(s, y - 4, "soft", "size: weight");
    return y;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Adds the classes to the legend; returns y of the next line. Sorts s->classes. */
static double legend_classes(const scene *s, double y) {
    size_t shown = 0, more = 0;
    qsort(s->classes, s->marks, sizeof *s->classes, by_value);
    for (size_t i = 0, end; i < s->marks; i = end) {
        end = same_end(s, i);
        if (shown++ < CLASSES) {
            draw_class(s, s->classes[i], (double[]){LEGEND, y}, 1);
            y = legend_words(s, y, "", "labelled as %" PRId64 " (%zu)", s->classes[i],
                             end - i);
        } else {
            more++;
        }
    }
    if (more) y = legend_words(s, y - 4, "soft", "and %zu more classes", more);
    if (s->marks < s->known)
        y = legend_words(s, y - 4, "soft", "%zu of them drawn", s->marks);
    return y;
}

static void draw_legend(const scene *s) {
    double y = legend_classes(s, legend_picks(s, TOP + 10));
    if (!s->background) return;
    draw_background(s, (double[]){LEGEND, y}, 1);
    y = legend_words(s, y, "", "unlabelled (%zu)", s->others);
    if (s->background < s->others)
        legend_words(s, y - 4, "soft", "%zu of them drawn", s->background);
}

/* ---- memory and public functions --------------------------------------------------- */

/* Returns an upper bound on the bytes of a plot's text. */
static size_t text_bytes(size_t n, size_t picks) {
    size_t stars = size_min(picks, PICKS), explained = picks <= EXPLAINED ? stars : 0;
    return (16 << 10) + size_min(n, BACKGROUND) * 16 + size_min(n, LABELLED) * 128 +
           stars * 64 + explained * 256;
}

static size_t plot_memory(const scant_ctx *ctx, const select_pool *pool, size_t picks) {
    size_t most = most_rows(pool->n, picks) + 1, words = pool->n / 64 + 1;
    size_t lists = size_mul(most, 3 * sizeof(size_t) + 2 * sizeof(double));
    lists = size_add(lists, 5 * scant__alloc_cost(64) + 1024);
    lists = size_add(lists, size_mul(words, sizeof(uint64_t)));
    size_t drawing = report_text_memory(text_bytes(pool->n, picks));
    size_t finding = report_project_memory(pool, most, ctx->threads);
    if (pool->d > 2) lists = size_add(lists, scant__blas_memory(ctx));
    return size_add(lists, finding > drawing ? finding : drawing);
}

static scant_status check_memory(scant_ctx *ctx, const select_pool *pool, size_t need) {
    if (need <= ctx->cap) return SCANT_OK;
    return scant__fail(ctx, SCANT_ENOMEM,
                       "a plot of %zu rows of %zu features needs %zu bytes (%zu MB), but "
                       "only %zu (%zu MB) are allowed",
                       pool->n, pool->d, need, (need >> 20) + 1, ctx->cap,
                       ctx->cap >> 20);
}

static scant_status open_pool(scant_ctx *ctx, const scant_evidence *evidence,
                              select_pool *pool) {
    scant_evidence used = {.features = evidence->features, .labels = evidence->labels};
    return select_pool_open(ctx, &used, SCANT_FEATURES, "a plot", pool);
}

scant_status scant_plot_plan(scant_ctx *ctx, const scant_evidence *evidence, size_t picks,
                             size_t *memory) {
    NEED(ctx);
    select_pool pool;
    *memory = 0;
    TRY(open_pool(ctx, evidence, &pool));
    picks = size_min(picks, pool.n);
    *memory = size_add(ctx->used, plot_memory(ctx, &pool, picks));
    *memory = size_add(*memory, size_mul(picks, sizeof(scant_pick)));
    *memory = size_add(*memory, 16 << 10); /* other memory of picks */
    return check_memory(ctx, &pool, *memory);
}

scant_status scant_plot_picks(scant_ctx *ctx, const scant_evidence *evidence,
                              const scant_picks *picks, void **bytes, size_t *size) {
    NEED(ctx);
    AUTO(scant__text_end) scant__text out = {.ctx = ctx};
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    scene s = {.c = {&out, CHART_FILE, WIDTH, HEIGHT}, .picks = picks};
    select_pool pool;
    char *text = NULL;
    *bytes = NULL;
    *size = 0;
    TRY(open_pool(ctx, evidence, &pool));
    if (pool.n != picks->rows)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: has %zu rows, but the picks are of a pool of %zu",
                           scant_array_name(pool.features), pool.n, picks->rows);
    size_t need = size_add(ctx->used, plot_memory(ctx, &pool, picks->count));
    TRY(check_memory(ctx, &pool, need));
    if (pool.d > 2) TRY(scant__blas_begin_planned(ctx));
    TRY(select_pool_read(&arena, &pool));
    TRY(scene_rows(&arena, &pool, &s));
    TRY(report_project(&arena, &pool, s.rows, s.background + s.marks + s.stars, s.at,
                       &s.axes));
    to_pixels(&s);
    TRY(draw_head(&arena, &s, &pool));
    draw_points(&s);
    draw_legend(&s);
    chart_end(&s.c);
    TRY(scant__text_take(&out, &text, size));
    *bytes = text;
    return SCANT_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A scatter plot of the pool as SVG: every row is a point in two dimensions
 * (report/projection.h), labelled rows have the colours of their classes, picks are on
 * top. The file needs no script, font or other file, and is readable on light and on dark
 * backgrounds.
 *
 * Of many rows an even sample is drawn (at most BACKGROUND, LABELLED, PICKS), as the
 * legend says, so a file has less than half a megabyte for any pool. Colours are Okabe
 * and Ito's, for any kind of colour vision; after seven classes the shape of marks
 * changes. Both axes have the same scale, unless one range is FLAT times the other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/array.h"
#include "linalg/products.h"
#include "report/markup.h"
#include "report/projection.h"

enum {
    BACKGROUND = 3000,
    LABELLED = 2000,
    PICKS = 4000,
    NUMBERED = 30,   /* up to so many picks show their rank */
    EXPLAINED = 400, /* up to so many picks have a title */
    CLASSES = 14,    /* in the legend */
    COLOURS = 7,
    SHAPES = 4,
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
static const double FLAT = 5; /* ratio of ranges from which axes have own scales */

/* The rows to draw, in drawing order: background, labelled, picks. */
typedef struct scene {
    const scant_picks *picks;
    size_t n, labelled, others; /* of the pool; others: neither labelled nor picked */
    size_t known;               /* labelled and not picked */
    size_t *rows;
    int64_t *classes;                /* of drawn labelled rows */
    size_t *ranks;                   /* of drawn picks, from 0 */
    size_t background, marks, stars; /* drawn rows of each kind */
    double *at;                      /* (rows,2), then pixels */
    report_axes axes;
    bool apart; /* axes have own scales */
    double top_weight;
    bool weighted; /* weights differ */
} scene;

/* ---- which rows -------------------------------------------------------------------- */

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
    const scant_picks *picks = s->picks;
    size_t most = most_rows(pool->n, picks->count) + 1;
    uint64_t *picked = scant__arena_zalloc(arena, pool->n / 64 + 1, sizeof *picked);
    s->rows = scant__arena_alloc(arena, most, sizeof *s->rows);
    s->classes = scant__arena_alloc(arena, most, sizeof *s->classes);
    s->ranks = scant__arena_alloc(arena, most, sizeof *s->ranks);
    s->at = scant__arena_alloc(arena, most, 2 * sizeof *s->at);
    if (!picked || !s->rows || !s->classes || !s->ranks || !s->at) return SCANT_ENOMEM;
    TRY(mark_picks(arena->ctx, picks, pool->n, picked));
    s->n = pool->n;
    s->labelled = pool->labelled;
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

typedef struct range {
    double low, high;
} range;

static range range_of(const double *at, size_t count, size_t axis) {
    range r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        r.low = fmin(r.low, at[2 * i + axis]);
        r.high = fmax(r.high, at[2 * i + axis]);
    }
    return r;
}

/* Pixels per unit; 0 if all points are equal. Halves, since a range may overflow. */
static double scale_for(range r, double room) {
    double half = r.high / 2 - r.low / 2;
    return half > 0 ? room / 2 / half : 0;
}

static void to_pixels(scene *s) {
    size_t count = s->background + s->marks + s->stars;
    double room[2] = {RIGHT - LEFT - 2 * INSIDE, BOTTOM - TOP - 2 * INSIDE};
    double centre[2] = {(RIGHT + LEFT) / 2.0, (BOTTOM + TOP) / 2.0}, scale[2], middle[2];
    for (size_t a = 0; a < 2; a++) {
        range r = range_of(s->at, count, a);
        scale[a] = scale_for(r, room[a]);
        middle[a] = r.low / 2 + r.high / 2;
    }
    double least = fmin(scale[0], scale[1]), most = fmax(scale[0], scale[1]);
    s->apart = least > 0 && most > FLAT * least;
    if (!s->apart) scale[0] = scale[1] = least > 0 ? least : most;
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < 2; a++) {
            double offset = (s->at[2 * i + a] - middle[a]) * scale[a];
            s->at[2 * i + a] =
                centre[a] + (a ? -offset : offset); /* y grows downwards in SVG */
        }
}

/* ---- drawing ----------------------------------------------------------------------- */

static const char style[] =
    "<style>"
    "text{font-family:system-ui,sans-serif;font-size:12px;fill:#1b1f24}"
    ".name{font-size:16px;font-weight:bold}"
    ".soft{fill:#57606a}"
    ".paper{fill:#fff}"
    ".frame{fill:none;stroke:#d0d7de}"
    ".pool{fill:none;stroke:#a3adb8;stroke-width:4;stroke-linecap:round;"
    "stroke-opacity:.75}"
    ".mark{stroke:#1b1f24;stroke-width:.8}"
    ".pick circle{fill:#1b1f24;stroke:#fff;stroke-width:1.2}"
    ".pick text{font-size:9px;font-weight:bold;text-anchor:middle;fill:#fff}"
    ".pick .beside{text-anchor:start;fill:#1b1f24;stroke:#fff;stroke-width:3;"
    "paint-order:stroke}"
    "@media(prefers-color-scheme:dark){"
    "text{fill:#e6edf3}.soft{fill:#9aa4af}.paper{fill:#14171c}.frame{stroke:#3a424c}"
    ".pool{stroke:#66707c}.mark{stroke:#e6edf3}"
    ".pick circle{fill:#f6f8fa;stroke:#14171c}.pick text{fill:#14171c}"
    ".pick .beside{fill:#f6f8fa;stroke:#14171c}}"
    "</style>\n";

static const char *const colours[COLOURS] = {"#e69f00", "#56b4e9", "#009e73", "#f0e442",
                                             "#0072b2", "#d55e00", "#cc79a7"};

/* Relative to the centre: a circle, a square, a triangle, a diamond. */
static const char *const shapes[SHAPES] = {"m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
                                           "m-4-4h8v8h-8z", "m0-5.5l5 9h-10z",
                                           "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z"};

static void add_point(scant__text *out, double x, double y) {
    report_addf(out, "M%f %f", x, y);
}

static void add_words(scant__text *out, double x, double y, const char *class_name) {
    report_addf(out, "<text x=\"%f\" y=\"%f\"", x, y);
    if (class_name) report_addf(out, " class=\"%s\"", class_name);
    scant__text_add(out, ">");
}

static void draw_background(scant__text *out, const scene *s) {
    if (!s->background) return;
    scant__text_add(out, "<path class=\"pool\" d=\"");
    for (size_t i = 0; i < s->background; i++) {
        add_point(out, s->at[2 * i], s->at[2 * i + 1]);
        scant__text_add(out, "h0");
    }
    scant__text_add(out, "\"/>\n");
}

static void begin_mark(scant__text *out, int64_t class_id) {
    scant__text_addf(out, "<path class=\"mark\" fill=\"%s\" d=\"",
                     colours[class_id % COLOURS]);
}

static const char *shape_of(int64_t class_id) {
    return shapes[class_id / COLOURS % SHAPES];
}

/* Consecutive marks of one class share an element. */
static void draw_marks(scant__text *out, const scene *s) {
    const double *at = s->at + 2 * s->background;
    for (size_t i = 0; i < s->marks; i++) {
        bool same = i > 0 && s->classes[i] == s->classes[i - 1];
        if (!same && i > 0) scant__text_add(out, "\"/>\n");
        if (!same) begin_mark(out, s->classes[i]);
        add_point(out, at[2 * i], at[2 * i + 1]);
        scant__text_add(out, shape_of(s->classes[i]));
    }
    if (s->marks) scant__text_add(out, "\"/>\n");
}

static double radius(const scene *s, double weight) {
    bool numbered = s->picks->count <= NUMBERED;
    if (s->weighted)
        return 3 + 7 * sqrt(s->top_weight > 0 ? fmax(0, weight) / s->top_weight : 0);
    return numbered ? 7.5 : s->stars <= 300 ? 4.5 : 3.5;
}

static void draw_pick(scant__text *out, const scene *s, size_t i) {
    const double *at = s->at + 2 * (s->background + s->marks + i);
    const scant_pick *pick = &s->picks->items[s->ranks[i]];
    bool numbered = s->picks->count <= NUMBERED;
    bool explained = s->picks->count <= EXPLAINED;
    double r = radius(s, pick->weight);
    if (explained)
        report_addf(out, "<g><title>pick %zu: row %zu, score %g", s->ranks[i] + 1,
                    pick->index, pick->score);
    if (explained && s->weighted) report_addf(out, ", weight %g", pick->weight);
    scant__text_add(out, explained ? "</title>" : "");
    report_addf(out, "<circle cx=\"%f\" cy=\"%f\" r=\"%f\"/>", at[0], at[1], r);
    if (numbered) {
        bool inside = !s->weighted;
        add_words(out, at[0] + (inside ? 0 : r + 2), at[1] + 3, inside ? NULL : "beside");
        scant__text_addf(out, "%zu</text>", s->ranks[i] + 1);
    }
    scant__text_add(out, explained ? "</g>\n" : "\n");
}

/* The best last, on top. */
static void draw_picks(scant__text *out, const scene *s) {
    scant__text_add(out, "<g class=\"pick\">\n");
    for (size_t i = s->stars; i-- > 0;) draw_pick(out, s, i);
    scant__text_add(out, "</g>\n");
}

/* ---- words ------------------------------------------------------------------------- */

static void draw_axis(scant__text *out, const scene *s, size_t d, size_t axis) {
    if (d == 1 && axis == 1) return;
    if (axis == 0)
        scant__text_addf(out,
                         "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                         (LEFT + RIGHT) / 2, BOTTOM + 22);
    else
        scant__text_addf(
            out,
            "<text class=\"soft\" transform=\"translate(%d %d) rotate(-90)\" "
            "text-anchor=\"middle\">",
            LEFT - 14, (TOP + BOTTOM) / 2);
    if (s->axes.components)
        scant__text_addf(out, "principal component %zu (%d%% of the variance)", axis + 1,
                         (int)lround(100 * s->axes.share[axis]));
    else
        scant__text_addf(out, "feature %zu", axis);
    if (s->apart) scant__text_add(out, ", to its own scale");
    scant__text_add(out, "</text>\n");
}

static void add_name(scant__text *out, const scene *s) {
    if (s->picks->strategy) report_add_escaped(out, s->picks->strategy);
    scant__text_addf(out, "%s%zu of %zu rows picked", s->picks->strategy ? ": " : "",
                     s->picks->count, s->n);
}

static void draw_head(scant__text *out, const scene *s, size_t d) {
    scant__text_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    add_name(out, s);
    scant__text_add(out, "</title>\n");
    scant__text_add(out, style);
    scant__text_addf(
        out,
        "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n"
        "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
        WIDTH, HEIGHT, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
    add_words(out, LEFT, 28, "name");
    add_name(out, s);
    scant__text_add(out, "</text>\n");
    add_words(out, LEFT, 50, "soft");
    scant__text_addf(out, "%zu labelled before, %zu left, %zu feature%s</text>\n",
                     s->labelled, s->others, d, d == 1 ? "" : "s");
    draw_axis(out, s, d, 0);
    draw_axis(out, s, d, 1);
}

/* The text of a line of the legend; returns the height of the next one. */
SCANT__PRINTF(4, 5)
static double legend_words(scant__text *out, double y, const char *class_name,
                           const char *format, ...) {
    char words[80];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    add_words(out, LEGEND + 14, y + 4, class_name);
    report_add_escaped(out, words);
    scant__text_add(out, "</text>\n");
    return y + LINE;
}

static double legend_picks(scant__text *out, const scene *s, double y) {
    if (!s->stars) return y;
    scant__text_addf(out, "<g class=\"pick\"><circle cx=\"%d\" cy=\"%d\" r=\"5\"/></g>\n",
                     LEGEND, (int)y);
    y = legend_words(out, y, NULL, "picked (%zu)", s->picks->count);
    if (s->stars < s->picks->count)
        y = legend_words(out, y - 4, "soft", "%zu of them drawn", s->stars);
    if (s->picks->count <= NUMBERED)
        y = legend_words(out, y - 4, "soft", "with their ranks");
    if (s->weighted) y = legend_words(out, y - 4, "soft", "size: weight");
    return y;
}

static double legend_class(scant__text *out, double y, int64_t class_id, size_t count) {
    begin_mark(out, class_id);
    add_point(out, LEGEND, y);
    scant__text_add(out, shape_of(class_id));
    scant__text_add(out, "\"/>\n");
    add_words(out, LEGEND + 14, y + 4, NULL);
    scant__text_addf(out, "labelled as %" PRId64 " (%zu)</text>\n", class_id, count);
    return y + LINE;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts s->classes. */
static double legend_classes(scant__text *out, scene *s, double y) {
    size_t shown = 0, more = 0;
    qsort(s->classes, s->marks, sizeof *s->classes, by_value);
    for (size_t i = 0, end; i < s->marks; i = end) {
        for (end = i + 1; end < s->marks && s->classes[end] == s->classes[i];) end++;
        if (shown++ < CLASSES)
            y = legend_class(out, y, s->classes[i], end - i);
        else
            more++;
    }
    if (more) y = legend_words(out, y - 4, "soft", "and %zu more classes", more);
    if (s->marks < s->known)
        y = legend_words(out, y - 4, "soft", "%zu of them drawn", s->marks);
    return y;
}

static void draw_legend(scant__text *out, scene *s) {
    double y = legend_picks(out, s, TOP + 10);
    y = legend_classes(out, s, y);
    if (!s->background) return;
    scant__text_add(out, "<path class=\"pool\" d=\"");
    add_point(out, LEGEND, y);
    scant__text_add(out, "h0\"/>\n");
    y = legend_words(out, y, NULL, "unlabelled (%zu)", s->others);
    if (s->background < s->others)
        legend_words(out, y - 4, "soft", "%zu of them drawn", s->background);
}

/* ---- all together ------------------------------------------------------------------ */

/* The most bytes of a plot's text: points, marks, picks. */
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
    select_pool pool;
    *memory = 0;
    TRY(open_pool(ctx, evidence, &pool));
    picks = size_min(picks, pool.n);
    *memory = size_add(ctx->used, plot_memory(ctx, &pool, picks));
    *memory = size_add(*memory, size_mul(picks, sizeof(scant_pick)));
    *memory = size_add(*memory, 16 << 10); /* other memory of picks */
    return check_memory(ctx, &pool, *memory);
}

static scant_status plot(scant__arena *arena, const scant_evidence *evidence,
                         const scant_picks *picks, scant__text *out) {
    scant_ctx *ctx = arena->ctx;
    select_pool pool;
    scene s = {.picks = picks};
    TRY(open_pool(ctx, evidence, &pool));
    if (pool.n != picks->rows)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: has %zu rows, but the picks are of a pool of %zu",
                           scant_array_name(pool.features), pool.n, picks->rows);
    size_t need = size_add(ctx->used, plot_memory(ctx, &pool, picks->count));
    TRY(check_memory(ctx, &pool, need));
    TRY(select_pool_read(arena, &pool));
    TRY(scene_rows(arena, &pool, &s));
    size_t count = s.background + s.marks + s.stars;
    TRY(report_project(arena, &pool, s.rows, count, s.at, &s.axes));
    to_pixels(&s);
    draw_head(out, &s, pool.d);
    draw_background(out, &s);
    draw_marks(out, &s);
    draw_picks(out, &s);
    draw_legend(out, &s);
    scant__text_add(out, "</svg>\n");
    return SCANT_OK;
}

scant_status scant_plot_picks(scant_ctx *ctx, const scant_evidence *evidence,
                              const scant_picks *picks, void **bytes, size_t *size) {
    scant__arena arena;
    scant__text out;
    *bytes = NULL;
    *size = 0;
    scant__arena_init(&arena, ctx);
    scant__text_init(&out, ctx);
    scant_status status = plot(&arena, evidence, picks, &out);
    scant__arena_end(&arena);
    char *text = NULL;
    if (status == SCANT_OK) status = scant__text_take(&out, &text, size);
    scant__text_end(&out);
    *bytes = text;
    return status;
}

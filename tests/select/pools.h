/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls scant_select() on arrays of double in one line.
 */
#ifndef SCANT_TESTS_SELECT_POOLS_H
#define SCANT_TESTS_SELECT_POOLS_H

#include "support.h"

/* The evidence of a test; NULL or 0: not given. c is the number of classes of probs,
 * logits, calibrated and samples. */
typedef struct given {
    size_t n, d, c, k, m;
    const double *features, *probs, *logits, *calibrated, *gradients, *samples;
    const double *slopes, *lengths;
    const int64_t *labels;
    const int64_t *calibrate_on;
    size_t n_calibrate;
    double temperature;
} given;

typedef struct opened {
    scant_evidence evidence;
    scant_array *array[10];
    size_t count;
} opened;

static inline const scant_array *given_array(scant_ctx *ctx, opened *o, const char *name,
                                             const void *data, scant_dtype dtype,
                                             size_t ndim, const size_t *shape) {
    if (!data) return NULL;
    assert_int_equal(
        scant_array_wrap(ctx, name, data, dtype, ndim, shape, &o->array[o->count]),
        SCANT_OK);
    return o->array[o->count++];
}

static inline void given_open(scant_ctx *ctx, const given *g, opened *o) {
    *o = (opened){0};
    size_t nd[] = {g->n, g->d}, nc[] = {g->n, g->c}, nk[] = {g->n, g->k};
    size_t mnc[] = {g->m, g->n, g->c}, n2[] = {g->n, 2};
    scant_evidence *e = &o->evidence;
    e->features = given_array(ctx, o, "features", g->features, SCANT_F64, 2, nd);
    e->probs = given_array(ctx, o, "probs", g->probs, SCANT_F64, 2, nc);
    e->logits = given_array(ctx, o, "logits", g->logits, SCANT_F64, 2, nc);
    e->calibrated = given_array(ctx, o, "calibrated", g->calibrated, SCANT_F64, 2, nc);
    e->gradients = given_array(ctx, o, "gradients", g->gradients, SCANT_F64, 2, nk);
    e->draws = given_array(ctx, o, "samples", g->samples, SCANT_F64, 3, mnc);
    e->slopes = given_array(ctx, o, "slopes", g->slopes, SCANT_F64, 2, n2);
    e->lengths = given_array(ctx, o, "lengths", g->lengths, SCANT_F64, 1, &g->n);
    e->labels = given_array(ctx, o, "labels", g->labels, SCANT_I64, 1, &g->n);
    e->calibrate_on = given_array(ctx, o, "calibrate_on", g->calibrate_on, SCANT_I64, 1,
                                  &g->n_calibrate);
    e->temperature = g->temperature;
}

static inline void given_close(opened *o) {
    for (size_t i = 0; i < o->count; i++) scant_array_free(o->array[i]);
}

/* settings: "key=value key=value" or NULL. The caller frees the picks. */
static inline scant_status given_try(scant_ctx *ctx, const char *strategy, const given *g,
                                     size_t batch, uint64_t seed, const char *settings,
                                     scant_picks **out) {
    enum { MOST = 8 };
    char text[256] = "";
    scant_setting list[MOST];
    scant_select_opts opts = {.seed = seed, .settings = list};
    opened o;
    if (settings) strncpy(text, settings, sizeof text - 1);
    for (char *at = text; *at;) {
        char *value = strchr(at, '='), *end = strchr(at, ' ');
        assert_true(value && opts.n_settings < MOST);
        *value = 0;
        if (end) *end = 0;
        list[opts.n_settings++] = (scant_setting){at, value + 1};
        at = end ? end + 1 : value + 1 + strlen(value + 1);
    }
    given_open(ctx, g, &o);
    scant_status s = scant_select(ctx, strategy, &o.evidence, batch, &opts, out);
    given_close(&o);
    return s;
}

static inline scant_picks *given_select(scant_ctx *ctx, const char *strategy,
                                        const given *g, size_t batch, uint64_t seed,
                                        const char *settings) {
    scant_picks *picks;
    scant_status s = given_try(ctx, strategy, g, batch, seed, settings, &picks);
    if (s != SCANT_OK) fail_msg("%s: %s", strategy, scant_ctx_errmsg(ctx));
    return picks;
}

static inline void given_refused(scant_ctx *ctx, const char *strategy, const given *g,
                                 size_t batch, const char *settings, scant_status status,
                                 const char *says) {
    scant_picks *picks;
    assert_int_equal(given_try(ctx, strategy, g, batch, 0, settings, &picks), status);
    assert_null(picks);
    if (!strstr(scant_ctx_errmsg(ctx), says))
        fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx), says);
}

static inline double figure_of(const scant_picks *picks, const char *name) {
    for (size_t i = 0; i < picks->n_info; i++)
        if (!strcmp(picks->info[i].name, name)) return picks->info[i].value;
    fail_msg("there is no figure '%s'", name);
    return 0;
}

/* The fixture of the specification: six rows to choose from, then two labelled ones. */
static const double fixture_h[] = {1, 0, 0, 1, 1, 1, 2, -1, -1, .5, .5, .5, 1, 2, -2, 1};
static const double fixture_z[] = {2, 0, -1, .5, .4,  .3, 1, 1, -2, -1, 2, .5,
                                   0, 0, 3,  .2, -.3, .1, 1, 0, 0,  0,  1, -1};
static const int64_t fixture_y[] = {-1, -1, -1, -1, -1, -1, 0, 1};
static const given fixture_pool = {.n = 8,
                                   .d = 2,
                                   .c = 3,
                                   .features = fixture_h,
                                   .logits = fixture_z,
                                   .labels = fixture_y};

#endif

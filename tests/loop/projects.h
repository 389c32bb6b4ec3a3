/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects for tests: clouds of points with known classes, and an annotator who answers
 * correctly.
 */
#ifndef SCANT_TESTS_LOOP_PROJECTS_H
#define SCANT_TESTS_LOOP_PROJECTS_H

#include "../data/support.h"
#include "scant/project.h"

#include <math.h>

#define OK(call)                                                                         \
    do {                                                                                 \
        scant_status ok_status_ = (call);                                                \
        if (ok_status_ != SCANT_OK)                                                      \
            fail_msg("%s: %s: %s", #call, scant_status_name(ok_status_),                 \
                     scant_ctx_errmsg(lab_ctx));                                         \
    } while (0)

static scant_ctx *lab_ctx; /* of the last lab opened, for messages */

typedef struct lab {
    scant_ctx *ctx;
    scant_project *project;
    char dir[400];
    size_t n, d, classes;
    float *x;       /* n x d */
    int32_t *truth; /* n */
} lab;

typedef struct lab_opts {
    size_t n, d, classes;
    double noise; /* a cloud's standard deviation; centres are about 1 apart per column */
    uint64_t seed;
    const scant_setting *settings;
    size_t n_settings;
} lab_opts;

static inline void draw_point(const lab_opts *o, size_t i, float *x, int32_t *truth) {
    *truth = (int32_t)(unit_at(o->seed, 2 * i) * (double)o->classes);
    for (size_t j = 0; j < o->d; j++) {
        double centre = unit_at(o->seed + 1000, (size_t)*truth * o->d + j) * 2 - 1;
        x[j] = (float)(centre + o->noise * normal_at(o->seed + 2000, i * o->d + j));
    }
}

static inline void write_features(scant_ctx *ctx, const char *path, const float *x,
                                  size_t n, size_t d) {
    scant_array *array;
    void *bytes;
    size_t size, shape[] = {n, d};
    OK(scant_array_wrap(ctx, "x", x, SCANT_F32, 2, shape, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    OK(scant_file_write(ctx, path, bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
}

static inline const char *const *class_names(size_t n) {
    static char text[26][2];
    static const char *names[26];
    for (size_t i = 0; i < n; i++) {
        text[i][0] = (char)('a' + i);
        names[i] = text[i];
    }
    return names;
}

/* Creates a project from the rows of l->x. The caller keeps x and truth. */
static inline void lab_open(lab *l, const char *name, const lab_opts *o) {
    char features[420];
    lab_ctx = l->ctx;
    snprintf(l->dir, sizeof l->dir, "%s/%s", dir, name);
    snprintf(features, sizeof features, "%s.npy", l->dir);
    write_features(l->ctx, features, l->x, l->n, l->d);
    scant_project_opts opts = {.source = {.features = features},
                               .classes = class_names(l->classes),
                               .n_classes = l->classes,
                               .seed = o->seed,
                               .settings = o->settings,
                               .n_settings = o->n_settings};
    OK(scant_project_create(l->ctx, l->dir, &opts, &l->project));
}

static inline void lab_make(lab *l, scant_ctx *ctx, const char *name, lab_opts o) {
    *l = (lab){.ctx = ctx, .n = o.n, .d = o.d, .classes = o.classes};
    l->x = malloc(o.n * o.d * sizeof *l->x);
    l->truth = malloc(o.n * sizeof *l->truth);
    for (size_t i = 0; i < o.n; i++) draw_point(&o, i, l->x + i * o.d, &l->truth[i]);
    lab_open(l, name, &o);
}

static inline void lab_close(lab *l) {
    scant_project_free(l->project);
    free(l->x);
    free(l->truth);
}

/* Also frees the context. */
static inline void lab_end(lab *l) {
    lab_close(l);
    scant_ctx_free(l->ctx);
}

static inline void lab_reopen(lab *l) {
    scant_project_free(l->project);
    OK(scant_project_open(l->ctx, l->dir, &l->project));
}

/* Answers up to `count` items as they are handed out; returns how many. wrong: audit
 * items get a wrong label. */
static inline size_t lab_answer(lab *l, size_t count, bool wrong) {
    enum { AT_ONCE = 20 };
    scant_lease leases[AT_ONCE];
    scant_answer answers[AT_ONCE];
    size_t person, n, done = 0;
    OK(scant_project_person(l->project, "ann", &person));
    while (done < count) {
        size_t want = count - done < AT_ONCE ? count - done : AT_ONCE;
        OK(scant_project_next(l->project, person, want, leases, &n));
        if (!n) break;
        for (size_t i = 0; i < n; i++) {
            size_t label = (size_t)l->truth[leases[i].item];
            if (wrong && leases[i].role == SCANT_ROLE_AUDIT)
                label = (label + 1) % l->classes;
            answers[i] = (scant_answer){.item = leases[i].item,
                                        .kind = SCANT_ANSWER_LABEL,
                                        .label = label,
                                        .spent = 1000,
                                        .lease = leases[i].key};
        }
        OK(scant_project_answer(l->project, person, answers, n, NULL));
        done += n;
    }
    return done;
}

static inline void lab_query(lab *l, const char *strategy, size_t batch) {
    scant_picks *picks;
    OK(scant_project_query(
        l->project, &(scant_project_query_opts){.strategy = strategy, .batch = batch},
        &picks, NULL));
    scant_picks_free(l->ctx, picks);
}

/* Reads a file of the project and appends a zero byte. The caller frees it. */
static inline char *lab_read(const lab *l, const char *name, size_t *size) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", l->dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    bytes[*size] = 0;
    fclose(f);
    return bytes;
}

static inline void lab_remove(const lab *l, const char *name) {
    char command[700];
    snprintf(command, sizeof command, "rm -rf '%s'/%s", l->dir, name);
    assert_int_equal(system(command), 0);
}

#endif

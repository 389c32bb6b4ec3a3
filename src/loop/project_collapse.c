/* SPDX-License-Identifier: Apache-2.0
 *
 * Trainings that collapsed, and whose repetition with another seed did so too. They give
 * no model: the last one stays. The event "collapsed" records them, with hashes of the
 * labels and of the settings: the same training would collapse again. It counts until
 * there is a newer model.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "core/json.h"
#include "core/text.h"
#include "loop/project.h"
#include "scant/project.h"

enum { DIGEST = 17 };

static uint64_t add_word(uint64_t hash, const char *word) {
    return scant__hash(hash, word ? word : "", word ? strlen(word) + 1 : 1);
}

/* Hashes of what a training depends on, except its seed. */
typedef struct digests {
    char labels[DIGEST], settings[DIGEST];
} digests;

/* A semi-supervised method also learns from the pool. Answers take items from it, so the
 * number of items stands for it. */
static digests digests_of(const project_settings *set, size_t n_items,
                          const size_t *items, const int32_t *labels, size_t n) {
    const size_t sizes[] = {set->side, set->classes, set->epochs, set->draws,
                            set->method ? n_items : 0};
    digests out;
    uint64_t hash = scant__hash(SCANT__HASH_FIRST, sizes, sizeof sizes);
    hash = scant__hash(hash, &set->lr, sizeof set->lr);
    hash = add_word(add_word(add_word(hash, set->model), set->method), set->bayes);
    snprintf(out.settings, DIGEST, "%016" PRIx64, hash);
    hash = scant__hash(SCANT__HASH_FIRST, items, n * sizeof *items);
    hash = scant__hash(hash, labels, n * sizeof *labels);
    snprintf(out.labels, DIGEST, "%016" PRIx64, hash);
    return out;
}

/* What failed, which model is used, and what may help. */
static void describe(size_t labels, const char *found, size_t model,
                     char out[SCANT_COLLAPSE_TEXT]) {
    char used[48] = "there is still no model";
    if (model) snprintf(used, sizeof used, "model %zu is still used", model);
    snprintf(
        out, SCANT_COLLAPSE_TEXT,
        "the training on %zu labels collapsed, and so did its repetition with another "
        "seed (%s); %s; more labels, a smaller lr, another network (model) or another "
        "seed (scant train --seed) may help",
        labels, found, used);
}

static scant_status add_event(scant_project *project, const project_settings *set,
                              const project_training *training,
                              const project_signs *signs, size_t last) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = store_ctx(project)};
    char names[SCANT_SIGNS_SIZE];
    digests hashed =
        digests_of(set, training->n_items, training->rows, training->labels, training->n);
    JSON_OBJECT(&json, NULL, MEMBER("used", last), MEMBER("labels", training->n),
                MEMBER("signs", scant_train_sign_names(signs->signs, names)),
                MEMBER("found", (const char *)signs->found),
                MEMBER("digest", (const char *)hashed.labels),
                MEMBER("settings", (const char *)hashed.settings));
    return json.text.failed ? SCANT_ENOMEM
                            : scant_project_event(project, "collapsed", json.text.data);
}

scant_status project_collapse_fail(scant_project *project, const project_settings *set,
                                   const project_training *training,
                                   const project_signs *signs, size_t last) {
    char text[SCANT_COLLAPSE_TEXT];
    TRY(add_event(project, set, training, signs, last));
    describe(training->n, signs->found, last, text);
    return scant__fail(store_ctx(project), SCANT_ENOTREADY, "%s: %s", store_dir(project),
                       text);
}

/* Compares labels and settings with those of the collapsed training. */
static scant_status compare(scant_project *project, scant__arena *arena,
                            const store_collapse *last, scant_collapse *out) {
    project_settings settings;
    size_t *items, n, n_items;
    int32_t *labels;
    int64_t entry;
    TRY(project_settings_read(project, &settings));
    TRY(store_items(project, &n_items));
    TRY(store_training(project, arena, &items, &labels, &n, &entry));
    digests now = digests_of(&settings, n_items, items, labels, n);
    out->same_settings = strcmp(now.settings, last->settings) == 0;
    out->same = out->same_settings && strcmp(now.labels, last->digest) == 0;
    return SCANT_OK;
}

scant_status scant_project_collapse(scant_project *project, scant_collapse *out) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = store_ctx(project)};
    store_collapse last;
    store_model model;
    *out = (scant_collapse){0};
    TRY(store_collapse_last(project, &arena, &last));
    if (!last.at) return SCANT_OK;
    TRY(store_model_last(project, &arena, &model));
    if (model.number != last.used) return SCANT_OK;
    out->at = last.at;
    out->labels = last.labels;
    out->model = last.used;
    out->signs = scant_train_signs_of(last.signs);
    snprintf(out->found, sizeof out->found, "%s", last.found);
    describe(last.labels, out->found, last.used, out->text);
    return compare(project, &arena, &last, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/experiment_ini.h"

#include <string.h>

#include "core/text.h"
#include "data/ini.h"

enum { MOST_SETTINGS = 1000 }; /* of a folder; an experiment has about a hundred */

typedef struct reader {
    scant__arena *arena;
    report_folder *folder;
} reader;

static scant_status on_value(void *user, const char *section, const char *key,
                             const char *value, size_t line) {
    const reader *r = user;
    report_folder *f = r->folder;
    report_setting *s = &f->settings[f->n_settings];
    (void)line;
    if (f->n_settings == MOST_SETTINGS) return SCANT_OK;
    s->section = scant__arena_strdup(r->arena, section);
    s->key = scant__arena_strdup(r->arena, key);
    s->value = scant__arena_strdup(r->arena, value);
    if (!s->section || !s->key || !s->value) return SCANT_ENOMEM;
    f->n_settings++;
    return SCANT_OK;
}

scant_status report_experiment_read(scant__arena *arena, report_folder *folder) {
    reader r = {arena, folder};
    scant__ini ini = {.on_value = on_value, .user = &r};
    folder->settings = scant__arena_alloc(arena, MOST_SETTINGS, sizeof *folder->settings);
    if (!folder->settings) return SCANT_ENOMEM;
    scant_status status = scant__ini_read(arena->ctx, folder->path, folder->experiment,
                                          strlen(folder->experiment), &ini);
    return status == SCANT_EINPUT ? SCANT_OK : status;
}

const char *report_experiment_value(const report_folder *folder, const char *section,
                                    const char *key) {
    for (size_t i = 0; i < folder->n_settings; i++)
        if (strcmp(folder->settings[i].section, section) == 0 &&
            strcmp(folder->settings[i].key, key) == 0)
            return folder->settings[i].value;
    return NULL;
}

/* ---- differences ------------------------------------------------------------------- */

static bool may_differ(const report_setting *s) {
    return strcmp(s->section, "loop") == 0 &&
           (strcmp(s->key, "strategies") == 0 || strcmp(s->key, "seeds") == 0);
}

/* Whether a setting is not in any folder before this one, and has another value in a
 * later one. */
static bool differs(const report_results *r, size_t folder, const report_setting *s) {
    bool other = false;
    if (may_differ(s)) return false;
    for (size_t i = 0; i < r->n_folders; i++) {
        const char *value =
            i == folder ? NULL
                        : report_experiment_value(&r->folders[i], s->section, s->key);
        if (i < folder && value) return false;
        other = other || (value && strcmp(value, s->value) != 0);
    }
    return other;
}

scant_status report_experiments_differ(report_results *r, const char **keys) {
    scant__text text;
    char *bytes;
    size_t size;
    *keys = NULL;
    scant__text_init(&text, r->arena.ctx);
    for (size_t i = 0; i < r->n_folders; i++)
        for (size_t k = 0; k < r->folders[i].n_settings; k++) {
            const report_setting *s = &r->folders[i].settings[k];
            if (differs(r, i, s))
                scant__text_addf(&text, "%s%s.%s", text.size ? ", " : "", s->section,
                                 s->key);
        }
    TRY(scant__text_take(&text, &bytes, &size));
    if (size) *keys = scant__arena_strdup(&r->arena, bytes);
    scant__free(r->arena.ctx, bytes);
    return size && !*keys ? SCANT_ENOMEM : SCANT_OK;
}

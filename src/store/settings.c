/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be set, in one table: its default, what it may be, what it is for. Only what
 * was set is stored.
 */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/near.h"
#include "core/number.h"
#include "core/option.h"
#include "scant/project.h"
#include "store/store_int.h"

static const char *strategy_name(size_t i) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    return i < count ? list[i]->name : NULL;
}

static const char *model_name(size_t i) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    return i < count ? list[i]->name : NULL;
}

static const char *method_name(size_t i) {
    size_t count;
    const scant_method_info *const *list = scant_methods(&count);
    return i < count ? list[i]->name : NULL;
}

/* Values are stored as text in the database, not in a struct. */
#define ROW(key, kind, value, help, ...)                                                 \
    OPT_ROW(key, kind, NULL, value, 0, NULL, help, __VA_ARGS__)

static const scant_option options[] = {
    ROW("name", TEXT, "", "the project's name (default: the folder's)", ),
    ROW("strategy", NAME, "badge", "how items to label are picked",
        .names = strategy_name),
    ROW("batch", COUNT, "20", "items per round", .min = 1, .max = 100000),
    ROW("audit_every", COUNT, "10",
        "one item in so many comes from the audit set; 0: no audit (fixed by the first "
        "answer)",
        .max = 1000),
    ROW("audit_most", COUNT, "auto",
        "size of the audit set; auto: a fifth of all items, at most 1000 (fixed by the "
        "first answer)",
        .max = 1e9, .choices = "auto"),
    ROW("overlap", COUNT, "1", "people who answer each item", .min = 1, .max = 100),
    ROW("lease_minutes", NUMBER, "5", "how long an item is reserved for one person",
        .min = 0.1, .max = 10080),
    ROW("auto_train", SWITCH, "yes", "whether the server trains by itself", ),
    ROW("model", NAME, "auto", "the network that is trained", .names = model_name,
        .choices = "auto"),
    ROW("side", COUNT, "auto", "side in pixels that images are scaled to", .min = 8,
        .max = 1024, .choices = "auto"),
    ROW("epochs", COUNT, "auto", "passes over the labels", .min = 1, .max = 100000,
        .choices = "auto"),
    ROW("lr", NUMBER, "auto", "learning rate", .max = 10, .open = SCANT_OPEN_MIN,
        .choices = "auto"),
    ROW("method", NAME, "supervised", "training method", .names = method_name),
    ROW("bayes", CHOICE, "none", "source of posterior draws",
        .choices = "none|dropout|variational"),
    ROW("samples", COUNT, "50", "posterior draws", .min = 2, .max = 1000),
    ROW("stop_width", NUMBER, "0.15", "stop rule: the interval is narrower than this",
        .max = 1),
    ROW("stop_gain", NUMBER, "0.005",
        "stop rule: ten labels gain less accuracy than this", .max = 1),
    ROW("stop_agreement", NUMBER, "0.98",
        "stop rule: successive models agree on this share of items", .max = 1),
    ROW("stop_labels", COUNT, "50", "stop rule: labels over which the gain is measured",
        .min = 1, .max = 100000),
};
enum { N_KEYS = sizeof options / sizeof *options };
_Static_assert((int)N_KEYS <= (int)STORE_KEYS, "a handle has room for every setting");

const scant_option *scant_project_options(size_t *count) {
    *count = N_KEYS;
    return options;
}

static const scant_option *find_key(const char *key) {
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(options[i].key, key) == 0) return &options[i];
    return NULL;
}

static bool is_name(const scant_option *row) { return row == options; }

/* ---- values ------------------------------------------------------------------------ */

/* Names are shown on pages and in terminals. */
static scant_status check_name(scant_ctx *ctx, const char *value) {
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "name has a control character, which it must not");
    if (strlen(value) > 200)
        return scant__fail(ctx, SCANT_EUSAGE, "name is longer than 200 bytes");
    return SCANT_OK;
}

static scant_status check_value(scant_ctx *ctx, const scant_option *row,
                                const char *value) {
    char expected[SCANT__EXPECTED];
    scant__value read;
    if (is_name(row)) return check_name(ctx, value);
    if (scant__option_read(row, value, &read)) return SCANT_OK;
    return scant__fail(ctx, SCANT_EUSAGE, "%s is '%s', expected %s", row->key, value,
                       scant__option_expected(row, value, expected));
}

static const char *key_name(const void *list, size_t i) {
    return ((const scant_option *)list)[i].key;
}

scant_status store_setting_check(scant_ctx *ctx, const char *key, const char *value) {
    const scant_option *row = find_key(key);
    if (row) return check_value(ctx, row, value);
    return scant__fail(ctx, SCANT_EUSAGE, "there is no setting '%s'; the nearest is '%s'",
                       key, scant__nearest(key, options, N_KEYS, key_name));
}

/* ---- reading and writing ----------------------------------------------------------- */

scant_status store_setting_put(scant_project *project, const char *key,
                               const char *value) {
    TRY(store_setting_check(project->ctx, key, value));
    return store_do(project,
                    "INSERT INTO settings (key, value) VALUES (?1, ?2)"
                    " ON CONFLICT (key) DO UPDATE SET value = ?2",
                    STORE_VALUES(store_text(key), store_text(value)));
}

/* Second opinions that are due follow from the setting. */
static scant_status requeue(scant_project *project) {
    sqlite3_stmt *rows;
    bool row = true;
    scant_status status = SCANT_OK;
    TRY(store_open_rows(project, "SELECT DISTINCT item FROM answers", STORE_NONE, &rows));
    while (status == SCANT_OK && row) {
        status = store_row(project, rows, &row);
        if (status == SCANT_OK && row)
            status = store_refresh(project, store_count(rows, 0), 0);
    }
    store_close_rows(rows);
    return status;
}

/* What the settings say of which items are withheld. How often they come up is no part of
 * it. */
typedef struct withholding {
    double most;
    bool automatic, some;
} withholding;

static scant_status read_withholding(scant_project *project, withholding *out) {
    double every;
    TRY(store_setting(project, "audit_every", &every, NULL));
    out->some = every >= 1;
    return store_setting(project, "audit_most", &out->most, &out->automatic);
}

/* An item that was learned from, or picked for what a model did not know, is no part of a
 * fair sample any more. */
static scant_status rewithhold(scant_project *project, const scant_setting *s,
                               const withholding *before) {
    withholding now;
    int64_t answered;
    TRY(read_withholding(project, &now));
    if (now.some == before->some && now.automatic == before->automatic &&
        now.most == before->most)
        return SCANT_OK;
    TRY(store_one(project, "SELECT EXISTS (SELECT 1 FROM labels)", STORE_NONE, 0,
                  &answered));
    if (answered)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "%s is to be '%s', but which items are withheld for the audit "
                           "is decided before the first answer; a new project may have "
                           "it otherwise, and import the labels of this one",
                           s->key, s->value);
    return store_audit_apply(project);
}

static scant_status put_setting(scant_project *project, const scant_setting *s) {
    scant__text text;
    char *json;
    size_t size;
    withholding before;
    TRY(read_withholding(project, &before));
    TRY(store_setting_put(project, s->key, s->value));
    TRY(rewithhold(project, s, &before));
    if (strcmp(s->key, "overlap") == 0) TRY(requeue(project));
    scant__text_init(&text, project->ctx);
    scant__text_add(&text, "{\"key\": ");
    scant__text_json(&text, s->key);
    scant__text_add(&text, ", \"value\": ");
    scant__text_json(&text, s->value);
    scant__text_add(&text, "}");
    TRY(scant__text_take(&text, &json, &size));
    scant_status status = store_event_add(project, "set", json);
    scant__free(project->ctx, json);
    return status;
}

scant_status store_settings_fit(scant_project *project, const scant_setting *changed,
                                size_t n) {
    bool concerned = false;
    for (size_t i = 0; i < n; i++)
        concerned |= strcmp(changed[i].key, "strategy") == 0 ||
                     strcmp(changed[i].key, "bayes") == 0;
    if (!concerned) return SCANT_OK;
    const char *strategy = scant_project_get(project, "strategy");
    const char *bayes = scant_project_get(project, "bayes");
    const scant_strategy_info *info = strategy ? scant_strategy_find(strategy) : NULL;
    if (!info || !bayes || strcmp(bayes, "none") != 0) return SCANT_OK;
    bool draws = info->needs & SCANT_SAMPLES;
    if (!draws || (info->or_needs && !(info->or_needs & SCANT_SAMPLES))) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_EUSAGE,
                       "strategy %s asks where draws of a model disagree, and bayes is "
                       "none: set bayes to dropout or variational with it",
                       strategy);
}

typedef struct several {
    const scant_setting *settings;
    size_t n;
} several;

static scant_status put_settings(scant_project *project, void *arg) {
    const several *all = arg;
    for (size_t i = 0; i < all->n; i++) TRY(put_setting(project, &all->settings[i]));
    return store_settings_fit(project, all->settings, all->n);
}

scant_status scant_project_set_all(scant_project *project, const scant_setting *settings,
                                   size_t n) {
    return store_write(project, put_settings, &(several){settings, n});
}

scant_status scant_project_set(scant_project *project, const char *key,
                               const char *value) {
    return scant_project_set_all(project, &(scant_setting){key, value}, 1);
}

static const char *default_of(const scant_project *project, const scant_option *k) {
    const char *slash = strrchr(project->dir, '/');
    if (!is_name(k)) return k->value;
    return slash && slash[1] ? slash + 1 : project->dir;
}

/* What is stored, where it is good for something: another version may have put it there.
 * The handle's copy is changed only where the value has, so that it stays borrowed. */
static scant_status look_up(scant_project *project, const scant_option *k,
                            const char **out) {
    char **slot = &project->values[k - options];
    sqlite3_stmt *statement;
    bool row;
    *out = NULL;
    TRY(store_ask(project, "SELECT value FROM settings WHERE key = ?1",
                  STORE_VALUES(store_text(k->key)), &statement));
    TRY(store_row(project, statement, &row));
    const char *value = row ? store_string(statement, 0) : NULL;
    if (!value || check_value(project->ctx, k, value) != SCANT_OK ||
        (is_name(k) && !*value))
        value = default_of(project, k);
    if (!*slot || strcmp(*slot, value) != 0) {
        char *copy = store_strdup(project->ctx, value);
        if (copy) scant__free(project->ctx, *slot);
        *slot = copy ? copy : *slot;
    }
    if (row) store_end(statement);
    *out = *slot;
    return *slot ? SCANT_OK : SCANT_ENOMEM;
}

const char *scant_project_get(scant_project *project, const char *key) {
    const scant_option *k = find_key(key);
    const char *value;
    if (!k) return NULL;
    return look_up(project, k, &value) == SCANT_OK ? value : default_of(project, k);
}

static double number_of(const char *value) {
    double number;
    if (strcmp(value, "yes") == 0) return 1;
    return scant__number_parse(value, &number) ? number : 0;
}

scant_status store_setting(scant_project *project, const char *key, double *number,
                           bool *automatic) {
    const scant_option *k = find_key(key);
    sqlite3_stmt *statement;
    bool row;
    *number = 0;
    if (automatic) *automatic = false;
    if (!k) return SCANT_OK;
    TRY(store_ask(project, "SELECT value FROM settings WHERE key = ?1",
                  STORE_VALUES(store_text(key)), &statement));
    TRY(store_row(project, statement, &row));
    const char *value = row ? store_string(statement, 0) : NULL;
    if (!value || check_value(project->ctx, k, value) != SCANT_OK) value = k->value;
    *number = number_of(value);
    if (automatic) *automatic = strcmp(value, "auto") == 0;
    if (row) store_end(statement);
    return SCANT_OK;
}

double store_number(scant_project *project, const char *key) {
    double number;
    return store_setting(project, key, &number, NULL) == SCANT_OK ? number : 0;
}

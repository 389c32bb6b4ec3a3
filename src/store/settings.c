/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a project: one table of defaults, ranges and help. Only values that
 * were set are stored.
 */
#include <math.h>
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
        "one item in this many comes from the audit set; 0: no audit (fixed by the first "
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

/* Names are shown on web pages and in terminals. */
static scant_status check_name(scant_ctx *ctx, const char *value) {
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "name must not contain a control character");
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
    bool yes;
    TRY(store_setting_check(project->ctx, key, value));
    if (find_key(key)->kind == SCANT_OPTION_SWITCH && scant__switch_read(value, &yes))
        value = yes ? "yes" : "no"; /* the two words that readers expect */
    return store_do(project,
                    "INSERT INTO settings (key, value) VALUES (?1, ?2)"
                    " ON CONFLICT (key) DO UPDATE SET value = ?2",
                    store_text(key), store_text(value));
}

/* The settings that decide which items are in the audit set: audit_most, and whether
 * audit_every is not 0 (`some`). */
typedef struct audit_size {
    double most; /* NaN: auto */
    bool some;
} audit_size;

static scant_status read_audit_size(scant_project *project, audit_size *out) {
    double every;
    TRY(store_setting(project, "audit_every", &every));
    out->some = every >= 1;
    return store_setting(project, "audit_most", &out->most);
}

/* Redraws the audit set. Fails once there are answers: items that were trained on or
 * picked by a model must not join it, or it would not be a random sample. */
static scant_status redraw_audit(scant_project *project, const scant_setting *s,
                                 const audit_size *before) {
    audit_size now;
    TRY(read_audit_size(project, &now));
    if (now.some == before->some &&
        (now.most == before->most || (isnan(now.most) && isnan(before->most))))
        return SCANT_OK;
    if (TRY_ONE(project, 0, "SELECT EXISTS (SELECT 1 FROM labels)"))
        return scant__fail(project->ctx, SCANT_ECONFLICT,
                           "%s cannot be set to '%s': the audit set is drawn before the "
                           "first answer; create a new project with this value and "
                           "import the labels of this one",
                           s->key, s->value);
    return store_audit_apply(project);
}

static scant_status put_setting(scant_project *project, const scant_setting *s) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = project->ctx};
    audit_size before;
    TRY(read_audit_size(project, &before));
    TRY(store_setting_put(project, s->key, s->value));
    TRY(redraw_audit(project, s, &before));
    if (strcmp(s->key, "overlap") == 0) /* updates which items need second opinions */
        STORE_EACH(row, project, "SELECT DISTINCT item FROM answers")
            TRY(store_refresh(project, store_count(row, 0), 0));
    const char *stored = scant_project_get(project, s->key);
    JSON_OBJECT(&json, NULL, MEMBER("key", s->key), MEMBER("value", stored));
    return store_event_add(project, "set", &json.text);
}

scant_status store_settings_check(scant_project *project, const scant_setting *changed,
                                  size_t n, scant_status failure) {
    bool concerned = false;
    for (size_t i = 0; i < n; i++)
        concerned |= strcmp(changed[i].key, "strategy") == 0 ||
                     strcmp(changed[i].key, "bayes") == 0;
    if (!concerned) return SCANT_OK;
    const char *strategy = scant_project_get(project, "strategy");
    const char *bayes = scant_project_get(project, "bayes");
    const scant_strategy_info *info = strategy ? scant_strategy_find(strategy) : NULL;
    if (!info || !bayes || strcmp(bayes, "none") != 0) return SCANT_OK;
    bool draws = info->needs & SCANT_DRAWS;
    if (!draws || (info->or_needs && !(info->or_needs & SCANT_DRAWS))) return SCANT_OK;
    return scant__fail(project->ctx, failure,
                       "strategy %s needs posterior draws, and bayes is none: set bayes "
                       "to dropout or variational as well",
                       strategy);
}

scant_status scant_project_set_all(scant_project *project, const scant_setting *settings,
                                   size_t n) {
    NEED(project);
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    for (size_t i = 0; i < n; i++) TRY(put_setting(project, &settings[i]));
    TRY(store_settings_check(project, settings, n, SCANT_ECONFLICT));
    return store_commit(&tx);
}

scant_status scant_project_set(scant_project *project, const char *key,
                               const char *value) {
    NEED(project);
    return scant_project_set_all(project, &(scant_setting){key, value}, 1);
}

static const char *default_of(const scant_project *project, const scant_option *k) {
    const char *slash = strrchr(project->dir, '/');
    if (!is_name(k)) return k->value;
    return slash && slash[1] ? slash + 1 : project->dir;
}

/* *out: the value, owned by the handle and valid until the setting changes. A stored
 * value that is invalid (from another version) counts as not set. */
static scant_status look_up(scant_project *project, const scant_option *k,
                            const char **out) {
    char **slot = &project->values[k - options];
    AUTO(store_end)
    store_cursor row = TRY_QUERY(project, "SELECT value FROM settings WHERE key = ?1",
                                 store_text(k->key));
    const char *value = TRY_ROW(row) ? store_string(row, 0) : NULL;
    if (!value || check_value(project->ctx, k, value) != SCANT_OK ||
        (is_name(k) && !*value))
        value = default_of(project, k);
    if (!*slot || strcmp(*slot, value) != 0) {
        char *copy = store_strdup(project->ctx, value);
        if (!copy) return SCANT_ENOMEM;
        scant__free(project->ctx, *slot);
        *slot = copy;
    }
    *out = *slot;
    return SCANT_OK;
}

const char *scant_project_get(scant_project *project, const char *key) {
    const scant_option *k = find_key(key);
    const char *value;
    if (!k) return NULL;
    return look_up(project, k, &value) == SCANT_OK ? value : default_of(project, k);
}

scant_status store_setting(scant_project *project, const char *key, double *number) {
    const scant_option *k = find_key(key);
    const char *value;
    *number = 0;
    if (!k) return SCANT_OK;
    TRY(look_up(project, k, &value));
    if (strcmp(value, "auto") == 0)
        *number = NAN;
    else if (strcmp(value, "yes") == 0)
        *number = 1;
    else if (!scant__number_parse(value, number))
        *number = 0;
    return SCANT_OK;
}

double store_number(scant_project *project, const char *key) {
    double number;
    return store_setting(project, key, &number) == SCANT_OK && !isnan(number) ? number
                                                                              : 0;
}

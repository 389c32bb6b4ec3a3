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
#include "scant/project.h"
#include "store/store_int.h"

typedef enum value_kind {
    NAME,
    WHOLE,     /* a whole number from low to high */
    REAL,      /* a number from low to high */
    YES_OR_NO, /* */
    STRATEGY,
    MODEL,
    METHOD,
    BAYES
} value_kind;

typedef struct key_info {
    scant_project_key key; /* first: a caller's pointer is to this */
    value_kind kind;
    bool automatic; /* may be "auto" */
    double low, high;
} key_info;

static const key_info keys[] = {
    {{"name", "", "text", "what the project is called (the folder's name)"},
     NAME,
     false,
     0,
     0},
    {{"strategy", "badge", "a strategy", "how items to label are picked"},
     STRATEGY,
     false,
     0,
     0},
    {{"batch", "20", "1 to 100000", "items of a round"}, WHOLE, false, 1, 100000},
    {{"audit_every", "10", "0 to 1000",
      "one in so many is of the audit; 0: no audit (decided before the first answer)"},
     WHOLE,
     false,
     0,
     1000},
    {{"audit_most", "auto", "auto, 0 and more",
      "items that are withheld for the audit; auto: a fifth of all, at most 1000 "
      "(decided "
      "before the first answer)"},
     WHOLE,
     true,
     0,
     1e9},
    {{"overlap", "1", "1 to 100", "people who are to answer each item"},
     WHOLE,
     false,
     1,
     100},
    {{"lease_minutes", "5", "0.1 to 10080", "how long an item is a person's to answer"},
     REAL,
     false,
     0.1,
     10080},
    {{"auto_train", "yes", "yes, no", "whether the server trains by itself"},
     YES_OR_NO,
     false,
     0,
     0},
    {{"model", "auto", "auto, a model", "the network that is trained"},
     MODEL,
     true,
     0,
     0},
    {{"side", "auto", "auto, 8 to 1024", "pixels that pictures are brought to"},
     WHOLE,
     true,
     8,
     1024},
    {{"epochs", "auto", "auto, 1 to 100000", "passes over the labels"},
     WHOLE,
     true,
     1,
     100000},
    {{"lr", "auto", "auto, above 0 to 10", "the learning rate"}, REAL, true, 1e-9, 10},
    {{"method", "supervised", "a method", "how a network is trained"},
     METHOD,
     false,
     0,
     0},
    {{"bayes", "none", "none, dropout, variational", "what a posterior is drawn by"},
     BAYES,
     false,
     0,
     0},
    {{"samples", "50", "2 to 1000", "draws of that posterior"}, WHOLE, false, 2, 1000},
    {{"stop_width", "0.15", "0 to 1", "the interval is narrow at this width"},
     REAL,
     false,
     0,
     1},
    {{"stop_gain", "0.005", "0 to 1",
      "labels bring little where ten bring less accuracy than this"},
     REAL,
     false,
     0,
     1},
    {{"stop_agreement", "0.98", "0 to 1", "models agree from this part of items on"},
     REAL,
     false,
     0,
     1},
    {{"stop_labels", "50", "1 to 100000", "labels that the gain is looked at over"},
     WHOLE,
     false,
     1,
     100000},
};
enum { N_KEYS = sizeof keys / sizeof *keys };
_Static_assert((int)N_KEYS <= (int)STORE_KEYS, "a handle has room for every setting");

const scant_project_key *scant_project_key_at(size_t i) {
    return i < N_KEYS ? &keys[i].key : NULL;
}

static const key_info *find_key(const char *key) {
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].key.key, key) == 0) return &keys[i];
    return NULL;
}

/* ---- values ------------------------------------------------------------------------ */

static scant_status wrong(scant_ctx *ctx, const key_info *k, const char *value) {
    return scant__fail(ctx, SCANT_EUSAGE, "%s is to be '%s', but must be %s%s",
                       k->key.key, value,
                       k->kind == WHOLE  ? "a whole number: "
                       : k->kind == REAL ? "a number: "
                                         : "one of: ",
                       k->key.choices);
}

static scant_status wrong_name(scant_ctx *ctx, const char *value, const char *what,
                               const char *nearest) {
    return scant__fail(ctx, SCANT_EUSAGE, "'%s' is no %s; the nearest is '%s'", value,
                       what, nearest ? nearest : "");
}

static const char *strategy_name(const void *list, size_t i) {
    return ((const scant_strategy_info *const *)list)[i]->name;
}

static const char *model_name(const void *list, size_t i) {
    return ((const scant_model_info *const *)list)[i]->name;
}

static const char *method_name(const void *list, size_t i) {
    return ((const scant_method_info *const *)list)[i]->name;
}

static scant_status check_strategy(scant_ctx *ctx, const char *value) {
    size_t count;
    if (scant_strategy_find(value)) return SCANT_OK;
    const void *list = scant_strategies(&count);
    return wrong_name(ctx, value, "strategy",
                      scant__nearest(value, list, count, strategy_name));
}

static scant_status check_model(scant_ctx *ctx, const char *value) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i]->name, value) == 0) return SCANT_OK;
    return wrong_name(ctx, value, "model",
                      scant__nearest(value, list, count, model_name));
}

static scant_status check_method(scant_ctx *ctx, const char *value) {
    size_t count;
    if (scant_method_find(value)) return SCANT_OK;
    const void *list = scant_methods(&count);
    return wrong_name(ctx, value, "method",
                      scant__nearest(value, list, count, method_name));
}

static scant_status check_number(scant_ctx *ctx, const key_info *k, const char *value) {
    double number;
    if (!scant__number_parse(value, &number) || !(number >= k->low) ||
        !(number <= k->high))
        return wrong(ctx, k, value);
    if (k->kind == WHOLE && number != (double)(int64_t)number)
        return wrong(ctx, k, value);
    return SCANT_OK;
}

static bool one_of(const char *value, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], value) == 0) return true;
    return false;
}

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

static scant_status check_value(scant_ctx *ctx, const key_info *k, const char *value) {
    static const char *const yes_no[] = {"yes", "no"};
    static const char *const bayes[] = {"none", "dropout", "variational"};
    if (k->automatic && strcmp(value, "auto") == 0) return SCANT_OK;
    switch (k->kind) {
    case NAME:
        return check_name(ctx, value);
    case STRATEGY:
        return check_strategy(ctx, value);
    case MODEL:
        return check_model(ctx, value);
    case METHOD:
        return check_method(ctx, value);
    case YES_OR_NO:
        return one_of(value, yes_no, 2) ? SCANT_OK : wrong(ctx, k, value);
    case BAYES:
        return one_of(value, bayes, 3) ? SCANT_OK : wrong(ctx, k, value);
    default:
        return check_number(ctx, k, value);
    }
}

static const char *key_name(const void *list, size_t i) {
    return ((const key_info *)list)[i].key.key;
}

scant_status store_setting_check(scant_ctx *ctx, const char *key, const char *value) {
    const key_info *k = find_key(key);
    if (!k)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "there is no setting '%s'; the nearest is '%s'", key,
                           scant__nearest(key, keys, N_KEYS, key_name));
    return check_value(ctx, k, value);
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

static const char *default_of(const scant_project *project, const key_info *k) {
    const char *slash = strrchr(project->dir, '/');
    if (k->kind != NAME) return k->key.value;
    return slash && slash[1] ? slash + 1 : project->dir;
}

/* What is stored, where it is good for something: another version may have put it there.
 * The handle's copy is changed only where the value has, so that it stays borrowed. */
static scant_status look_up(scant_project *project, const key_info *k, const char **out) {
    char **slot = &project->values[k - keys];
    sqlite3_stmt *statement;
    bool row;
    *out = NULL;
    TRY(store_ask(project, "SELECT value FROM settings WHERE key = ?1",
                  STORE_VALUES(store_text(k->key.key)), &statement));
    TRY(store_row(project, statement, &row));
    const char *value = row ? store_string(statement, 0) : NULL;
    if (!value || check_value(project->ctx, k, value) != SCANT_OK ||
        (k->kind == NAME && !*value))
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
    const key_info *k = find_key(key);
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
    const key_info *k = find_key(key);
    sqlite3_stmt *statement;
    bool row;
    *number = 0;
    if (automatic) *automatic = false;
    if (!k) return SCANT_OK;
    TRY(store_ask(project, "SELECT value FROM settings WHERE key = ?1",
                  STORE_VALUES(store_text(key)), &statement));
    TRY(store_row(project, statement, &row));
    const char *value = row ? store_string(statement, 0) : NULL;
    if (!value || check_value(project->ctx, k, value) != SCANT_OK) value = k->key.value;
    *number = number_of(value);
    if (automatic) *automatic = strcmp(value, "auto") == 0;
    if (row) store_end(statement);
    return SCANT_OK;
}

double store_number(scant_project *project, const char *key) {
    double number;
    return store_setting(project, key, &number, NULL) == SCANT_OK ? number : 0;
}

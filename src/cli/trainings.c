/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trainings.h"

#include <inttypes.h>

enum { NAMED = 5 }; /* most trainings that the line names */

const char *trainings_text(const scant_trainings *t, const char *where) {
    scant__text text = CLI_TEXT;
    char signs[SCANT_SIGNS_SIZE];
    if (!t->collapsed) return NULL;
    if (t->count == 1)
        scant__text_add(&text, "the only training collapsed");
    else
        scant__text_addf(&text, "%zu of %zu trainings collapsed", t->collapsed, t->count);
    for (size_t i = 0; i < t->collapsed && i < NAMED; i++) {
        const scant_training *one = &t->listed[i];
        scant__text_addf(&text, "%s %s seed %" PRIu64 " round %zu (%s)", i ? "," : ":",
                         one->strategy, one->seed, one->round,
                         scant_train_sign_names(one->signs, signs));
    }
    if (t->collapsed > NAMED)
        scant__text_addf(&text, " and %zu more", t->collapsed - NAMED);
    if (t->collapsed == 1)
        scant__text_addf(&text, "; its %s is in %s", t->regression ? "error" : "accuracy",
                         where);
    else
        scant__text_addf(&text, "; their %s are in %s",
                         t->regression ? "errors" : "accuracies", where);
    for (char *c = text.data; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
    return text.data;
}

static void training_json(scant__json *json, const scant_training *t, bool regression) {
    char signs[SCANT_SIGNS_SIZE];
    bool collapsed = (t->signs & SCANT_SIGNS_COLLAPSED) != 0;
    JSON_OBJECT(json, NULL, MEMBER("strategy", t->strategy),
                MEMBER("seed", cli_format("%" PRIu64, t->seed)),
                MEMBER("round", t->round), MEMBER("labels", (size_t)t->labels),
                MEMBER(regression ? "error" : "accuracy", t->value),
                MEMBER("trainings", t->trainings),
                MEMBER("signs", scant_train_sign_names(t->signs, signs)),
                MEMBER("collapsed", collapsed), MEMBER("dead", t->dead),
                MEMBER("gradient_norm", t->gradient_norm));
}

void trainings_json(scant__json *json, const scant_trainings *t) {
    char name[SCANT_SIGNS_SIZE];
    scant__json_open(json, "trainings", '{');
    JSON_MEMBERS(json, MEMBER("count", t->count), MEMBER("repeated", t->repeated),
                 MEMBER("collapsed", t->collapsed));
    scant__json_open(json, "signs", '{');
    for (uint64_t sign = 1; *scant_train_sign_names(sign, name); sign <<= 1)
        scant__json_size(json, name, scant_trainings_count(t, sign));
    scant__json_close(json, '}');
    scant__json_open(json, "listed", '[');
    for (size_t i = 0; i < t->n_listed; i++)
        training_json(json, &t->listed[i], t->regression);
    scant__json_close(json, ']');
    scant__json_close(json, '}');
}

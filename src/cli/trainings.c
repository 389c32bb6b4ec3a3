/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trainings.h"

#include <inttypes.h>

enum { NAMED = 5 }; /* most trainings that the line names */

const char *trainings_text(const scant_trainings *t, const char *where) {
    scant__text text = CLI_TEXT;
    char signs[SCANT_SIGNS_SIZE];
    if (!t->collapsed) return NULL;
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

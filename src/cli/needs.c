/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence in words: which flags a strategy wants, for messages and for every page that
 * lists them. A strategy may have two ways: one set of inputs, or another instead.
 */
#include "cli/select.h"

typedef struct evidence_word {
    const char *flag;
    unsigned kind;         /* scant_evidence_kind */
    const char *otherwise; /* what stands in for the flag */
    const char *file;      /* in an example */
} evidence_word;

static const evidence_word words[] = {
    {"features", SCANT_FEATURES, NULL, "features.npy"},
    {"probs", SCANT_PROBS, "--logits", "probs.npy"},
    {"calibrated", SCANT_CALIBRATED, "--logits with --temperature", "calibrated.npy"},
    {"gradients", SCANT_GRADIENTS, NULL, "gradients.npy"},
    {"samples", SCANT_SAMPLES, NULL, "samples.npy"},
    {"labels", SCANT_LABELS, NULL, "labels.npy"},
    {"state", SCANT_STATE, NULL, "state.json"},
};

void select_evidence_flags(scant__text *text, unsigned kinds) {
    size_t count = 0, done = 0;
    if (kinds & SCANT_ROWS) {
        scant__text_add(text, "any input");
        return;
    }
    for (size_t i = 0; i < CLI_COUNT_OF(words); i++) count += (words[i].kind & kinds) > 0;
    for (size_t i = 0; i < CLI_COUNT_OF(words); i++) {
        if (!(words[i].kind & kinds)) continue;
        if (done > 0) scant__text_add(text, done + 1 == count ? " and " : ", ");
        scant__text_addf(text, "--%s", words[i].flag);
        if (words[i].otherwise) scant__text_addf(text, " (or %s)", words[i].otherwise);
        done++;
    }
}

void select_evidence_ways(scant__text *text, unsigned kinds, unsigned or_kinds) {
    select_evidence_flags(text, kinds);
    if (!or_kinds) return;
    scant__text_add(text, kinds & (kinds - 1) ? ", or " : " or "); /* a list has commas */
    select_evidence_flags(text, or_kinds);
}

void select_evidence_names(scant__text *text, unsigned kinds) {
    bool first = true;
    if (kinds & SCANT_ROWS) {
        scant__text_add(text, "any input");
        return;
    }
    for (size_t i = 0; i < CLI_COUNT_OF(words); i++) {
        if (!(words[i].kind & kinds)) continue;
        scant__text_addf(text, "%s%s", first ? "" : ", ", words[i].flag);
        first = false;
    }
}

void select_evidence_example(scant__text *text, unsigned kinds) {
    if (kinds & SCANT_ROWS) kinds = SCANT_LABELS;
    for (size_t i = 0; i < CLI_COUNT_OF(words); i++)
        if (words[i].kind & kinds)
            scant__text_addf(text, " --%s %s", words[i].flag, words[i].file);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence that a strategy needs, in words: for messages, help, man page and JSON. A
 * strategy may work from either of two sets of inputs.
 */
#include "cli/select.h"

/* The inputs of some kinds, one for each kind; returns how many. */
static size_t inputs_of(unsigned kinds, const scant_input *out[]) {
    size_t count, n = 0;
    const scant_input *inputs = scant_inputs(&count);
    for (size_t i = 0; i < count; i++) {
        if (!(inputs[i].kind & kinds)) continue;
        out[n++] = &inputs[i];
        kinds &= ~inputs[i].kind;
    }
    return n;
}

enum { MOST = 16 }; /* kinds */

void select_evidence_flags(scant__text *text, unsigned kinds) {
    const scant_input *list[MOST];
    size_t count = inputs_of(kinds, list);
    if (kinds & SCANT_ROWS) {
        scant__text_add(text, "any input");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const char *const *instead = list[i]->instead;
        if (i > 0) scant__text_add(text, i + 1 == count ? " and " : ", ");
        scant__text_addf(text, "--%s", list[i]->name);
        if (instead[0]) scant__text_addf(text, " (or --%s", instead[0]);
        if (instead[1]) scant__text_addf(text, " with --%s", instead[1]);
        if (instead[0]) scant__text_add(text, ")");
    }
}

void select_evidence_ways(scant__text *text, unsigned kinds, unsigned or_kinds) {
    select_evidence_flags(text, kinds);
    if (!or_kinds) return;
    scant__text_add(text, kinds & (kinds - 1) ? ", or " : " or "); /* a list has commas */
    select_evidence_flags(text, or_kinds);
}

static void add_names(scant__text *text, unsigned kinds, const char *quote) {
    const scant_input *list[MOST];
    size_t count = kinds & SCANT_ROWS ? 0 : inputs_of(kinds, list);
    if (kinds & SCANT_ROWS) scant__text_addf(text, "%sany input%s", quote, quote);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(text, "%s%s%s%s", i ? ", " : "", quote, list[i]->name, quote);
}

void select_evidence_names(scant__text *text, unsigned kinds) {
    add_names(text, kinds, "");
}

void select_evidence_json(scant__text *text, unsigned kinds) {
    scant__text_add(text, "[");
    add_names(text, kinds, "\"");
    scant__text_add(text, "]");
}

void select_evidence_example(scant__text *text, unsigned kinds) {
    const scant_input *list[MOST];
    size_t count = inputs_of(kinds & SCANT_ROWS ? SCANT_LABELS : kinds, list);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(text, " --%s %s.%s", list[i]->name, list[i]->name,
                         list[i]->shape ? "npy" : "json");
}

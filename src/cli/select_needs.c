/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence that a strategy needs, in words: for messages, help and man page. A
 * strategy may work from either of two sets of inputs.
 */
#include "cli/select.h"

size_t select_inputs_of(unsigned kinds, const scant_input *out[SELECT_KINDS]) {
    size_t count, n = 0;
    const scant_input *inputs = scant_inputs(&count);
    for (size_t i = 0; i < count; i++) {
        if (!(inputs[i].kind & kinds)) continue;
        out[n++] = &inputs[i];
        kinds &= ~inputs[i].kind;
    }
    return n;
}

static void add_flags(scant__text *text, unsigned kinds) {
    const scant_input *list[SELECT_KINDS];
    size_t count = select_inputs_of(kinds, list);
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

const char *select_kinds_text(unsigned kinds, unsigned or_kinds) {
    scant__text text = CLI_TEXT;
    add_flags(&text, kinds);
    if (or_kinds) {
        bool several = kinds & (kinds - 1);
        scant__text_add(&text, several ? ", or " : " or "); /* a list needs a comma */
        add_flags(&text, or_kinds);
    }
    return text.data;
}

const char *select_names(unsigned kinds) {
    const scant_input *list[SELECT_KINDS];
    size_t count = select_inputs_of(kinds, list);
    scant__text text = CLI_TEXT;
    if (kinds & SCANT_ROWS) return "any input";
    for (size_t i = 0; i < count; i++)
        scant__text_addf(&text, "%s%s", i ? ", " : "", list[i]->name);
    return text.data;
}

const char *select_example(unsigned kinds) {
    const scant_input *list[SELECT_KINDS];
    size_t count = select_inputs_of(kinds & SCANT_ROWS ? SCANT_LABELS : kinds, list);
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < count; i++)
        scant__text_addf(&text, " --%s %s.%s", list[i]->name, list[i]->name,
                         list[i]->shape ? "npy" : "json");
    return text.data;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a selection: which a strategy needs, which are given for nothing, and
 * opening the rest. An input that is not used is not even opened. Labels, candidates and
 * ids serve every strategy. A strategy that only wants to know how many rows there are
 * takes any input, so none of them is too much.
 */
#include <string.h>

#include "cli/select.h"

typedef struct input_row {
    const char *flag;
    unsigned
        kind;    /* scant_evidence_kind; two rows with one kind stand in for each other */
    bool always; /* serves every strategy */
    bool tells_rows; /* its shape says how many rows there are */
} input_row;

static const input_row table[N_INPUTS] = {
    [IN_FEATURES] = {"features", SCANT_FEATURES, false, true},
    [IN_PROBS] = {"probs", SCANT_PROBS, false, true},
    [IN_LOGITS] = {"logits", SCANT_PROBS, false, true},
    [IN_CALIBRATED] = {"calibrated", SCANT_CALIBRATED, false, true},
    [IN_GRADIENTS] = {"gradients", SCANT_GRADIENTS, false, true},
    [IN_SAMPLES] = {"samples", SCANT_SAMPLES, false, true},
    [IN_LABELS] = {"labels", SCANT_LABELS, true, true},
    [IN_CANDIDATES] = {"candidates", 0, true, false},
};

const char *select_input_flag(input which) { return table[which].flag; }

/* The first row of each kind that is wanted, in order. */
static bool leads(input which, unsigned kinds) {
    if (!(table[which].kind & kinds)) return false;
    for (unsigned i = 0; i < which; i++)
        if (table[i].kind & table[which].kind) return false;
    return true;
}

static void add_flag(cli_text *text, input which) {
    cli_text_addf(text, "--%s", table[which].flag);
    for (unsigned i = which + 1; i < N_INPUTS; i++)
        if (table[i].kind & table[which].kind)
            cli_text_addf(text, " (or --%s)", table[i].flag);
}

void select_evidence_flags(cli_text *text, unsigned kinds, const char *before_last) {
    size_t count = 0, done = 0;
    if (kinds & SCANT_ROWS) {
        cli_text_add(text, "any input");
        return;
    }
    for (input i = 0; i < N_INPUTS; i++) count += leads(i, kinds);
    for (input i = 0; i < N_INPUTS; i++) {
        if (!leads(i, kinds)) continue;
        if (done > 0) cli_text_add(text, done + 1 == count ? before_last : ", ");
        add_flag(text, i);
        done++;
    }
}

void select_evidence_names(cli_text *text, unsigned kinds) {
    bool first = true;
    if (kinds & SCANT_ROWS) {
        cli_text_add(text, "any input");
        return;
    }
    for (input i = 0; i < N_INPUTS; i++) {
        if (!leads(i, kinds)) continue;
        cli_text_addf(text, "%s%s", first ? "" : ", ", table[i].flag);
        first = false;
    }
}

void select_evidence_example(cli_text *text, unsigned kinds) {
    if (kinds & SCANT_ROWS) kinds = SCANT_LABELS;
    for (input i = 0; i < N_INPUTS; i++)
        if (leads(i, kinds))
            cli_text_addf(text, " --%s %s.npy", table[i].flag, table[i].flag);
}

static unsigned given_kinds(const select_args *args) {
    unsigned kinds = 0;
    for (input i = 0; i < N_INPUTS; i++) {
        if (!args->inputs[i]) continue;
        kinds |= table[i].kind;
        if (table[i].tells_rows) kinds |= SCANT_ROWS;
    }
    if (args->ids) kinds |= SCANT_ROWS;
    return kinds;
}

static int missing_inputs(const select_job *job, unsigned missing) {
    cli_text text = {0};
    if (missing & SCANT_ROWS) {
        cli_text_add(&text, "any one input to know how many rows there are: ");
        for (input i = 0; i < N_INPUTS; i++)
            if (table[i].tells_rows) cli_text_addf(&text, "--%s, ", table[i].flag);
        cli_text_add(&text, "or --ids");
    } else {
        select_evidence_flags(&text, missing, " and ");
    }
    cli_usage(job->command, "%s needs %.*s", job->strategy->name, (int)text.size,
              text.data);
    cli_text_end(&text);
    return CLI_USAGE;
}

int select_check_inputs(select_job *job) {
    const scant_strategy_info *s = job->strategy;
    select_args *args = &job->args;
    if (args->inputs[IN_PROBS] && args->inputs[IN_LOGITS])
        return cli_usage(
            job->command,
            "give --probs or --logits, not both: one is made from the other");
    unsigned missing = s->needs & ~given_kinds(args);
    if (missing) return missing_inputs(job, missing);
    for (input i = 0; i < N_INPUTS; i++) {
        bool used =
            table[i].always || ((s->needs | s->uses) & (table[i].kind | SCANT_ROWS));
        if (!args->inputs[i] || used) continue;
        args->inputs[i] = NULL;
        if (!args->quiet)
            cli_warning("%s does not use --%s: ignored", s->name, table[i].flag);
    }
    return CLI_DONE;
}

static bool rows_told(const select_job *job) {
    for (input i = 0; i < N_INPUTS; i++)
        if (job->arrays[i] && table[i].tells_rows) return true;
    return false;
}

scant_status select_open_inputs(select_job *job) {
    scant_status status = SCANT_OK;
    for (input i = 0; i < N_INPUTS && status == SCANT_OK; i++)
        if (job->args.inputs[i])
            status = scant_array_open(job->ctx, job->args.inputs[i], &job->arrays[i]);
    if (status == SCANT_OK && job->args.ids)
        status = scant_ids_open(job->ctx, job->args.ids, &job->ids);
    if (status != SCANT_OK) return status;
    job->evidence = (scant_evidence){
        .features = job->arrays[IN_FEATURES],
        .probs = job->arrays[IN_PROBS],
        .logits = job->arrays[IN_LOGITS],
        .calibrated = job->arrays[IN_CALIBRATED],
        .gradients = job->arrays[IN_GRADIENTS],
        .samples = job->arrays[IN_SAMPLES],
        .labels = job->arrays[IN_LABELS],
        .candidates = job->arrays[IN_CANDIDATES],
    };
    if (!rows_told(job) && job->ids) job->evidence.rows = scant_ids_count(job->ids);
    return SCANT_OK;
}

int select_check_ids(const select_job *job) {
    if (!job->ids || scant_ids_count(job->ids) == job->plan.rows) return CLI_DONE;
    cli_error("%s has %zu ids, but the inputs have %zu rows", job->args.ids,
              scant_ids_count(job->ids), job->plan.rows);
    return CLI_BAD_INPUT;
}

void select_close_inputs(select_job *job) {
    for (input i = 0; i < N_INPUTS; i++) scant_array_close(job->arrays[i]);
    scant_ids_close(job->ids);
}

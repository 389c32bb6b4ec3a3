/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a selection. The library decides which of the given inputs a call uses
 * and which are missing. Opens the used ones, and the features that --plot draws.
 * Labels, candidates and ids are used with every strategy. A strategy that only needs
 * the row count uses any input.
 */
#include <string.h>

#include "cli/select.h"

const scant_input *select_input(input which) {
    size_t count;
    return &scant_inputs(&count)[which];
}

static bool has_rows(input which) {
    return strchr(select_input(which)->shape, 'n') != NULL;
}

/* ---- given inputs ------------------------------------------------------------------ */

static bool fits_temperature(const select_args *args) {
    return args->temperature && strcmp(args->temperature, "fit") == 0;
}

/* A temperature counts as calibrated probabilities even without logits, so that the
 * message names the missing logits. */
static unsigned given_kinds(const select_args *args) {
    unsigned kinds = 0;
    for (input i = 0; i < N_INPUTS; i++) {
        if (!args->inputs[i]) continue;
        kinds |= select_input(i)->kind;
        if (has_rows(i)) kinds |= SCANT_ROWS;
    }
    if (args->ids) kinds |= SCANT_ROWS;
    if (args->temperature) kinds |= SCANT_CALIBRATED;
    if (args->state) kinds |= SCANT_STATE;
    return kinds;
}

/* Checks flags that exclude or require each other, whatever the strategy is. */
static void check_flags(select_job *job) {
    const cli_command *command = job->net.command;
    const select_args *args = job->args;
    bool fit = fits_temperature(args);
    if (args->inputs[IN_PROBS] && args->inputs[IN_LOGITS])
        cli_usage(command, "--probs cannot be combined with --logits: give one of them");
    if (args->temperature && !fit &&
        !cli_read_positive(args->temperature, &job->temperature))
        cli_usage(command, "--temperature is '%s', expected a number above 0, or fit",
                  args->temperature);
    if (args->temperature && args->inputs[IN_CALIBRATED])
        cli_usage(command, "--temperature cannot be combined with --calibrated: it "
                           "computes calibrated probabilities from --logits");
    if (args->inputs[IN_CALIBRATE_ON] && !fit)
        cli_usage(command, "--calibrate-on needs --temperature fit");
}

/* ---- missing inputs ---------------------------------------------------------------- */

/* Returns what is missing from the strategy's other set of inputs; 0: there is no other
 * set, or an option rules it out. */
static unsigned missing_otherwise(const select_job *job, unsigned given,
                                  unsigned missing) {
    const scant_strategy_info *s = job->strategy;
    unsigned other = missing & ~s->needs ? s->needs : s->or_needs, used, still;
    if (!s->or_needs || scant_select_inputs(job->net.ctx, s->name, &job->opts,
                                            given | other, &used, &still) != SCANT_OK)
        return 0;
    return still ? 0 : other & ~given;
}

static _Noreturn void missing_inputs(const select_job *job, unsigned given,
                                     unsigned missing) {
    const char *name = job->strategy->name;
    scant__text text = CLI_TEXT;
    if (!(missing & SCANT_ROWS))
        cli_usage(job->net.command, "%s needs %s", name,
                  select_kinds_text(missing, missing_otherwise(job, given, missing)));
    for (input i = 0; i < N_INPUTS; i++)
        if (has_rows(i)) scant__text_addf(&text, "--%s, ", select_input(i)->name);
    cli_usage(job->net.command,
              "%s needs an input that gives the number of rows: %sor --ids", name,
              text.data);
}

/* Checks that the inputs that a temperature needs are given. */
static void check_temperature(const select_job *job) {
    const cli_command *command = job->net.command;
    const select_args *args = job->args;
    bool fit = fits_temperature(args);
    if (!args->temperature) return;
    if (args->inputs[IN_PROBS])
        cli_usage(command, "--temperature needs --logits instead of --probs");
    if (!args->inputs[IN_LOGITS]) cli_usage(command, "--temperature needs --logits");
    if (fit && !args->inputs[IN_CALIBRATE_ON])
        cli_usage(
            command,
            "--temperature fit needs --calibrate-on%s: labelled rows that the model "
            "was not trained on",
            args->inputs[IN_LABELS] ? "" : " and --labels");
    if (fit && !args->inputs[IN_LABELS])
        cli_usage(command, "--temperature fit needs --labels");
}

/* ---- unused inputs ----------------------------------------------------------------- */

static bool is_used(const select_job *job, input which) {
    bool heat = job->used & SCANT_CALIBRATED && job->args->temperature;
    if (which == IN_LABELS || which == IN_CANDIDATES) return true;
    if (job->used & select_input(which)->kind) return true;
    if (job->used & SCANT_ROWS && has_rows(which)) return true;
    return heat && (which == IN_LOGITS || which == IN_CALIBRATE_ON);
}

/* Warns that a flag is ignored, and sets its value to NULL. */
static void ignore(const select_job *job, const char **value, const char *flag,
                   unsigned kind) {
    const scant_strategy_info *s = job->strategy;
    bool sometimes = (s->needs | s->or_needs | s->uses) & kind;
    if (!*value) return;
    *value = NULL;
    if (!job->net.ui.quiet)
        cli_warning("%s does not use --%s%s: ignored", s->name, flag,
                    sometimes ? " in this call" : "");
}

static void drop_unused(select_job *job) {
    select_args *args = job->args;
    for (input i = 0; i < N_INPUTS; i++) {
        bool drawn = args->plot && i == IN_FEATURES;
        const scant_input *in = select_input(i);
        if (!is_used(job, i) && !drawn) ignore(job, &args->inputs[i], in->name, in->kind);
    }
    if (!(job->used & SCANT_CALIBRATED))
        ignore(job, &args->temperature, "temperature", SCANT_CALIBRATED);
    if (!(job->used & SCANT_STATE)) ignore(job, &args->state, "state", SCANT_STATE);
}

void select_check_inputs(select_job *job) {
    unsigned given = given_kinds(job->args), missing;
    check_flags(job);
    scant_status asked = scant_select_inputs(job->net.ctx, job->strategy->name,
                                             &job->opts, given, &job->used, &missing);
    if (asked == SCANT_EUSAGE)
        cli_usage(job->net.command, "%s", scant_ctx_errmsg(job->net.ctx));
    select_try(job, asked);
    if (missing) missing_inputs(job, given, missing);
    if (job->used & SCANT_CALIBRATED) check_temperature(job);
    drop_unused(job);
}

/* ---- opening ----------------------------------------------------------------------- */

void select_open_inputs(select_job *job) {
    const select_args *args = job->args;
    bool counted = false; /* some array has given the number of rows */
    for (input i = 0; i < N_INPUTS; i++) {
        if (!args->inputs[i]) continue;
        select_try(job, scant_array_open(job->net.ctx, args->inputs[i], &job->arrays[i]));
        counted = counted || has_rows(i);
        if (is_used(job, i)) /* not an array that only --plot reads */
            memcpy((char *)&job->evidence + select_input(i)->offset, &job->arrays[i],
                   sizeof job->arrays[i]);
    }
    if (args->ids) select_try(job, scant_ids_open(job->net.ctx, args->ids, &job->ids));
    if (args->temperature) job->evidence.temperature = job->temperature;
    if (!counted && job->ids) job->evidence.rows = scant_ids_count(job->ids);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a selection: finds which of the given ones a call uses and which are
 * missing, and opens the used ones. The library decides; an unused input is not opened.
 * Labels, candidates and ids serve every strategy. A strategy that only needs the row
 * count uses any input.
 */
#include <string.h>

#include "cli/select.h"

const scant_input *select_input(input which) {
    size_t count;
    return &scant_inputs(&count)[which];
}

/* Labels and candidates serve every strategy. */
static bool always_used(input which) {
    return which == IN_LABELS || which == IN_CANDIDATES;
}

static bool has_rows(input which) {
    return strchr(select_input(which)->shape, 'n') != NULL;
}

/* ---- what is given ----------------------------------------------------------------- */

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

/* Flags that exclude or require each other, for any strategy. */
static int check_flags(select_job *job) {
    const select_args *args = &job->args;
    bool fit = fits_temperature(args);
    if (args->inputs[IN_PROBS] && args->inputs[IN_LOGITS])
        return cli_usage(
            job->command,
            "give --probs or --logits, not both: one is made from the other");
    if (args->temperature && !fit &&
        !cli_read_positive(args->temperature, &job->temperature))
        return cli_usage(job->command,
                         "--temperature wants a number above 0, or fit, not '%s'",
                         args->temperature);
    if (args->temperature && args->inputs[IN_CALIBRATED])
        return cli_usage(job->command,
                         "give --calibrated or --temperature, not both: --temperature "
                         "makes them from --logits");
    if (args->inputs[IN_CALIBRATE_ON] && !fit)
        return cli_usage(job->command,
                         "--calibrate-on lists the rows for --temperature fit, which is "
                         "not given");
    return CLI_DONE;
}

/* ---- what is missing --------------------------------------------------------------- */

static int needs_rows(const select_job *job) {
    scant__text text = CLI_TEXT;
    for (input i = 0; i < N_INPUTS; i++)
        if (has_rows(i)) scant__text_addf(&text, "--%s, ", select_input(i)->name);
    cli_usage(job->command,
              "%s needs any one input to know how many rows there are: %.*sor --ids",
              job->strategy->name, (int)text.size, text.data);
    scant__text_end(&text);
    return CLI_USAGE;
}

/* The inputs missing for the strategy's other set of inputs; 0 if there is none, or an
 * option rules it out. */
static unsigned missing_otherwise(const select_job *job, unsigned given,
                                  unsigned missing) {
    const scant_strategy_info *s = job->strategy;
    unsigned other = missing & ~s->needs ? s->needs : s->or_needs, used, still;
    if (!s->or_needs || scant_select_inputs(job->ctx, s->name, &job->opts, given | other,
                                            &used, &still) != SCANT_OK)
        return 0;
    return still ? 0 : other & ~given;
}

static int missing_inputs(const select_job *job, unsigned given, unsigned missing) {
    scant__text text = CLI_TEXT;
    if (missing & SCANT_ROWS) return needs_rows(job);
    select_evidence_ways(&text, missing, missing_otherwise(job, given, missing));
    cli_usage(job->command, "%s needs %.*s", job->strategy->name, (int)text.size,
              text.data);
    scant__text_end(&text);
    return CLI_USAGE;
}

/* The inputs that a temperature needs. */
static int check_temperature(const select_job *job) {
    const select_args *args = &job->args;
    bool fit = fits_temperature(args);
    if (!args->temperature) return CLI_DONE;
    if (args->inputs[IN_PROBS])
        return cli_usage(job->command,
                         "--temperature works on --logits: give them instead of --probs");
    if (!args->inputs[IN_LOGITS])
        return cli_usage(job->command, "--temperature needs --logits");
    if (fit && !args->inputs[IN_CALIBRATE_ON])
        return cli_usage(job->command,
                         "--temperature fit needs --calibrate-on%s: labelled rows that "
                         "the model was not trained on",
                         args->inputs[IN_LABELS] ? "" : " and --labels");
    if (fit && !args->inputs[IN_LABELS])
        return cli_usage(job->command, "--temperature fit needs --labels");
    return CLI_DONE;
}

/* ---- what is not used -------------------------------------------------------------- */

static void ignore(const select_job *job, const char *flag, unsigned kind) {
    const scant_strategy_info *s = job->strategy;
    bool sometimes = (s->needs | s->or_needs | s->uses) & kind;
    if (!job->args.quiet)
        cli_warning("%s does not use --%s%s: ignored", s->name, flag,
                    sometimes ? " in this call" : "");
}

static bool is_used(const select_job *job, input which) {
    bool heat = job->used & SCANT_CALIBRATED && job->args.temperature;
    if (always_used(which) || job->used & select_input(which)->kind) return true;
    if (job->used & SCANT_ROWS && has_rows(which)) return true;
    return heat && (which == IN_LOGITS || which == IN_CALIBRATE_ON);
}

static void drop_unused(select_job *job) {
    select_args *args = &job->args;
    for (input i = 0; i < N_INPUTS; i++) {
        bool drawn = args->plot && i == IN_FEATURES;
        if (!args->inputs[i] || is_used(job, i) || drawn) continue;
        ignore(job, select_input(i)->name, select_input(i)->kind);
        args->inputs[i] = NULL;
    }
    if (args->temperature && !(job->used & SCANT_CALIBRATED)) {
        ignore(job, "temperature", SCANT_CALIBRATED);
        args->temperature = NULL;
    }
    if (args->state && !(job->used & SCANT_STATE)) {
        ignore(job, "state", SCANT_STATE);
        args->state = NULL;
    }
}

int select_check_inputs(select_job *job) {
    unsigned given = given_kinds(&job->args), missing;
    int status = check_flags(job);
    if (status != CLI_DONE) return status;
    scant_status asked = scant_select_inputs(job->ctx, job->strategy->name, &job->opts,
                                             given, &job->used, &missing);
    if (asked == SCANT_EUSAGE)
        return cli_usage(job->command, "%s", scant_ctx_errmsg(job->ctx));
    if (asked != SCANT_OK) return select_failed(job, asked);
    if (missing) return missing_inputs(job, given, missing);
    if (job->used & SCANT_CALIBRATED) status = check_temperature(job);
    if (status == CLI_DONE) drop_unused(job);
    return status;
}

/* ---- opening ----------------------------------------------------------------------- */

static bool rows_told(const select_job *job) {
    for (input i = 0; i < N_INPUTS; i++)
        if (job->arrays[i] && has_rows(i)) return true;
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
    for (input i = 0; i < N_INPUTS; i++) {
        bool drawn_only = i == IN_FEATURES && !is_used(job, i); /* of --plot */
        const scant_array *array = drawn_only ? NULL : job->arrays[i];
        memcpy((char *)&job->evidence + select_input(i)->offset, &array, sizeof array);
    }
    if (job->args.temperature) job->evidence.temperature = job->temperature;
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
    for (input i = 0; i < N_INPUTS; i++) scant_array_free(job->arrays[i]);
    scant_ids_free(job->ids);
}

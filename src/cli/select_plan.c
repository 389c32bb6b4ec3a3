/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans a selection with its plot; `--dry-run` prints its inputs, passes and memory.
 */
#include <string.h>

#include "cli/select.h"

enum { LABEL = 11, INPUT = LABEL + 16 }; /* columns of values and of inputs' values */

static const char *dtype_name(scant_dtype dtype) {
    static const char *const names[] = {
        [SCANT_F16] = "float16", [SCANT_F32] = "float32", [SCANT_F64] = "float64",
        [SCANT_U8] = "uint8",    [SCANT_I8] = "int8",     [SCANT_U16] = "uint16",
        [SCANT_I16] = "int16",   [SCANT_U32] = "uint32",  [SCANT_I32] = "int32",
        [SCANT_U64] = "uint64",  [SCANT_I64] = "int64",
    };
    return names[dtype];
}

static const char *bytes_text(size_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) return cli_format("%zu bytes", bytes);
    for (; value >= 1023.95 && unit + 1 < CLI_COUNT_OF(units); unit++) value /= 1024;
    return cli_format("%.1f %s", value, units[unit]);
}

static void add_line(scant__text *text, const char *label, const char *value) {
    if (!value) return;
    scant__text_add(text, label);
    cli_text_pad(text, LABEL);
    scant__text_addf(text, "%s\n", value);
}

static void add_input(scant__text *text, const char *flag, const char *value) {
    cli_text_pad(text, LABEL);
    scant__text_addf(text, "--%s", flag);
    cli_text_pad(text, INPUT);
    scant__text_addf(text, "%s\n", value);
}

static const char *array_text(const scant_array *array) {
    const size_t *shape = scant_array_shape(array);
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < scant_array_ndim(array); i++)
        scant__text_addf(&text, "%s%zu", i ? " x " : "", shape[i]);
    scant__text_addf(&text, " %s  %s", dtype_name(scant_array_dtype(array)),
                     scant_array_name(array));
    return text.data;
}

static void add_inputs(scant__text *text, const select_job *job) {
    const select_args *args = job->args;
    scant__text_add(text, "inputs");
    for (input i = 0; i < N_INPUTS; i++)
        if (job->arrays[i])
            add_input(text, select_input(i)->name, array_text(job->arrays[i]));
    if (args->temperature) add_input(text, "temperature", args->temperature);
    if (args->state)
        add_input(text, "state",
                  job->opts.state
                      ? cli_format("%zu bytes  %s", job->opts.state_size, args->state)
                      : cli_format("new  %s", args->state));
    if (job->ids)
        add_input(text, "ids",
                  cli_format("%zu ids  %s", scant_ids_count(job->ids), args->ids));
}

/* Returns options as "bias=1 group (B/10)"; NULL if the strategy has none. */
static const char *options_text(const select_job *job) {
    const scant_strategy_info *s = job->strategy;
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < s->n_options; i++) {
        const scant_option *o = &s->options[i];
        const char *value =
            job->args->kernel && o->kernel_value ? o->kernel_value : o->value;
        for (size_t j = 0; j < job->opts.n_settings; j++)
            if (strcmp(job->opts.settings[j].key, o->key) == 0)
                value = job->opts.settings[j].value;
        scant__text_addf(&text, value ? "%s%s=%s" : "%s%s (%s)", i ? " " : "", o->key,
                         value ? value : o->otherwise);
    }
    return text.data;
}

void select_print_plan(const select_job *job) {
    const scant_plan *plan = &job->plan;
    scant__text text = CLI_TEXT;
    add_line(&text, "strategy", job->strategy->name);
    add_line(&text, "kernel", job->args->kernel);
    add_line(&text, "options", options_text(job));
    add_line(&text, "seed",
             cli_format("%llu", (unsigned long long)job->args->common.seed));
    add_line(&text, "rows", cli_format("%zu", plan->rows));
    add_line(&text, "batch", cli_format("%zu", plan->batch));
    add_inputs(&text, job);
    add_line(&text, "reads", bytes_text(plan->input_bytes));
    add_line(&text, "blocks",
             cli_format("%zu of %zu rows", plan->blocks, plan->block_rows));
    add_line(&text, "passes", cli_format("%zu at least", plan->passes));
    add_line(&text, "memory",
             cli_format("%s (%zu bytes) at most, of %s allowed", bytes_text(plan->memory),
                        plan->memory, bytes_text(scant_ctx_memory(job->net.ctx))));
    if (plan->blas)
        add_line(&text, "blas",
                 cli_format("%s of it are OpenBLAS' buffers, 128 MiB for "
                            "each thread",
                            bytes_text(plan->blas)));
    add_line(&text, "plot", job->args->plot);
    add_line(&text, "threads", cli_format("%u", plan->threads));
    cli_print(&text);
}

/* If both the plot and the selection need too much memory, the message names the larger
 * number. The plot is planned before the selection holds memory. */
void select_plan(select_job *job) {
    const scant_array *features = job->args->plot ? job->arrays[IN_FEATURES] : NULL;
    scant_ctx *ctx = job->net.ctx;
    scant_evidence evidence = select_plot_evidence(job);
    size_t memory = 0;
    scant_status drawn =
        features ? scant_plot_plan(ctx, &evidence, job->args->batch, &memory) : SCANT_OK;
    const char *why = cli_format("%s", scant_ctx_errmsg(ctx));
    select_try(job, scant_selection_open(ctx, job->strategy->name, &job->evidence,
                                         job->args->batch, &job->opts, &job->selection));
    scant_status planned = scant_selection_plan(job->selection, &job->plan);
    if (drawn != SCANT_OK && (drawn != SCANT_ENOMEM || memory > job->plan.memory))
        cli_die(cli_exit_of(drawn), "%s", why);
    select_try(job, planned);
    if (memory > job->plan.memory) job->plan.memory = memory;
    if (features && scant_array_shape(features)[0] != job->plan.rows)
        cli_die(CLI_BAD_INPUT, "%s: has %zu rows, but the other inputs have %zu",
                scant_array_name(features), scant_array_shape(features)[0],
                job->plan.rows);
    if (job->ids && scant_ids_count(job->ids) != job->plan.rows)
        cli_die(CLI_BAD_INPUT, "%s has %zu ids, but the inputs have %zu rows",
                job->args->ids, scant_ids_count(job->ids), job->plan.rows);
}

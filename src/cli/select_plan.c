/* SPDX-License-Identifier: Apache-2.0
 *
 * `--dry-run`: prints the inputs, passes and memory of a selection.
 */
#include <string.h>

#include "cli/select.h"

enum { LABEL = 11 }; /* column where values start */

static const char *dtype_name(scant_dtype dtype) {
    static const char *const names[] = {
        [SCANT_F16] = "float16", [SCANT_F32] = "float32", [SCANT_F64] = "float64",
        [SCANT_U8] = "uint8",    [SCANT_I8] = "int8",     [SCANT_U16] = "uint16",
        [SCANT_I16] = "int16",   [SCANT_U32] = "uint32",  [SCANT_I32] = "int32",
        [SCANT_U64] = "uint64",  [SCANT_I64] = "int64",
    };
    size_t i = (size_t)dtype;
    return i < CLI_COUNT_OF(names) && names[i] ? names[i] : "?";
}

static void add_bytes(scant__text *text, size_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    if (bytes < 1024) {
        scant__text_addf(text, "%zu bytes", bytes);
        return;
    }
    for (value /= 1024; value >= 1023.95 && unit + 1 < CLI_COUNT_OF(units); unit++)
        value /= 1024;
    scant__text_addf(text, "%.1f %s", value, units[unit]);
}

static void label(scant__text *text, const char *name) {
    scant__text_add(text, name);
    cli_text_pad(text, LABEL);
}

static void add_input(scant__text *text, const char *flag) {
    cli_text_pad(text, LABEL);
    scant__text_addf(text, "--%s", flag);
    cli_text_pad(text, LABEL + 16);
}

static void add_array(scant__text *text, const char *flag, const scant_array *array) {
    const size_t *shape = scant_array_shape(array);
    add_input(text, flag);
    for (size_t i = 0; i < scant_array_ndim(array); i++)
        scant__text_addf(text, "%s%zu", i ? " x " : "", shape[i]);
    scant__text_addf(text, " %s  %s\n", dtype_name(scant_array_dtype(array)),
                     scant_array_name(array));
}

static void add_inputs(scant__text *text, const select_job *job) {
    scant__text_add(text, "inputs");
    for (input i = 0; i < N_INPUTS; i++)
        if (job->arrays[i]) add_array(text, select_input(i)->name, job->arrays[i]);
    if (job->args.temperature) {
        add_input(text, "temperature");
        scant__text_addf(text, "%s\n", job->args.temperature);
    }
    if (job->args.state) {
        add_input(text, "state");
        if (job->opts.state)
            scant__text_addf(text, "%zu bytes  %s\n", job->state.size, job->args.state);
        else
            scant__text_addf(text, "new  %s\n", job->args.state);
    }
    if (job->ids) {
        add_input(text, "ids");
        scant__text_addf(text, "%zu ids  %s\n", scant_ids_count(job->ids), job->args.ids);
    }
}

static void add_options(scant__text *text, const select_job *job) {
    const scant_strategy_info *s = job->strategy;
    if (s->n_options == 0) return;
    label(text, "options");
    for (size_t i = 0; i < s->n_options; i++) {
        const scant_option *o = &s->options[i];
        const char *value =
            job->args.kernel && o->kernel_value ? o->kernel_value : o->value;
        for (size_t j = 0; j < job->opts.n_settings; j++)
            if (strcmp(job->opts.settings[j].key, s->options[i].key) == 0)
                value = job->opts.settings[j].value;
        if (value)
            scant__text_addf(text, "%s%s=%s", i ? " " : "", s->options[i].key, value);
        else
            scant__text_addf(text, "%s%s (%s)", i ? " " : "", s->options[i].key,
                             s->options[i].otherwise);
    }
    scant__text_add(text, "\n");
}

static void add_text(scant__text *text, const char *name, const char *value) {
    if (!value) return;
    label(text, name);
    scant__text_addf(text, "%s\n", value);
}

static void add_number(scant__text *text, const char *name, uint64_t value,
                       const char *after) {
    label(text, name);
    scant__text_addf(text, "%llu%s\n", (unsigned long long)value, after);
}

int select_print_plan(const select_job *job) {
    const scant_plan *plan = &job->plan;
    scant__text text = CLI_TEXT;
    add_text(&text, "strategy", job->strategy->name);
    add_text(&text, "kernel", job->args.kernel);
    add_options(&text, job);
    add_number(&text, "seed", job->args.seed, "");
    add_number(&text, "rows", plan->rows, "");
    add_number(&text, "batch", plan->batch, "");
    add_inputs(&text, job);
    label(&text, "reads");
    add_bytes(&text, plan->input_bytes);
    scant__text_add(&text, "\n");
    label(&text, "blocks");
    scant__text_addf(&text, "%zu of %zu rows\n", plan->blocks, plan->block_rows);
    add_number(&text, "passes", plan->passes, " at least");
    label(&text, "memory");
    add_bytes(&text, plan->memory);
    scant__text_addf(&text, " (%zu bytes) at most, of ", plan->memory);
    add_bytes(&text, scant_ctx_memory(job->ctx));
    scant__text_add(&text, " allowed\n");
    add_text(&text, "plot", job->args.plot);
    add_number(&text, "threads", scant_ctx_threads(job->ctx), "");
    return cli_print(&text);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a selection writes: --out as CSV, JSON or .npy, --state and --plot.
 * Checks before the work that each can be written, and is neither an input nor another
 * output. They are written atomically in the order --out, --state, --plot: a state that
 * is written before the picks could count a batch that nobody saw.
 */
#include <math.h>
#include <string.h>

#include "cli/project_args.h"
#include "cli/select.h"

enum { MOST_STATE = 64 << 20 }; /* limit in bytes; a state has a few numbers per label */

/* ---- checks ------------------------------------------------------------------------ */

enum { TARGETS = 3 };

/* Lists the outputs that are files; returns their number. */
static size_t list_targets(const select_args *args, cli_path out[TARGETS]) {
    size_t count = 0;
    if (!project_to_stdout(args->out)) out[count++] = (cli_path){"out", args->out};
    if (args->state) out[count++] = (cli_path){"state", args->state};
    if (args->plot) out[count++] = (cli_path){"plot", args->plot};
    return count;
}

void select_check_overwrites(const select_job *job) {
    cli_path outs[TARGETS], ins[N_INPUTS + 1];
    for (unsigned i = 0; i < N_INPUTS; i++)
        ins[i] = (cli_path){select_input(i)->name, job->args->inputs[i]};
    ins[N_INPUTS] = (cli_path){"ids", job->args->ids};
    cli_check_overwrites(job->net.command, outs, list_targets(job->args, outs), ins,
                         N_INPUTS + 1);
}

void select_check_targets(const select_job *job) {
    cli_path list[TARGETS];
    size_t count = list_targets(job->args, list);
    if (project_to_stdout(job->args->out)) cli_check_stdout();
    for (size_t i = 0; i < count; i++) cli_check_file(list[i].path);
}

void select_read_state(select_job *job) {
    const char *path = job->args->state;
    if (!path || !cli_exists(path)) return; /* there is no state before the first call */
    scant__text state = CLI_TEXT;
    cli_read_file(path, MOST_STATE, &state);
    job->opts.state = state.data ? state.data : "";
    job->opts.state_size = state.size;
    job->opts.state_name = path;
}

/* ---- the picks --------------------------------------------------------------------- */

static const char *id_of(const select_job *job, const scant_pick *pick, size_t *size) {
    return scant_ids_get(job->ids, pick->index, size);
}

static scant__text csv_table(const select_job *job) {
    scant__text text = CLI_TEXT;
    scant__text_add(&text, job->ids ? "rank,index,id,weight,score\n"
                                    : "rank,index,weight,score\n");
    for (size_t i = 0; i < job->picks->count; i++) {
        const scant_pick *pick = &job->picks->items[i];
        size_t size;
        scant__text_addf(&text, "%zu,%zu,", i + 1, pick->index);
        if (job->ids) {
            const char *id = id_of(job, pick, &size);
            scant__text_csv_bytes(&text, id, size);
            scant__text_add(&text, ",");
        }
        scant__text_addf(&text, "%.9g,%.9g\n", pick->weight, pick->score);
    }
    return text;
}

static scant__text json_object(const select_job *job) {
    const scant_picks *picks = job->picks;
    const scant_option *options = job->strategy->options;
    scant__json json = CLI_JSON;
    scant__json_open(&json, NULL, '{');
    scant__json_string(&json, "strategy", job->strategy->name);
    scant__json_string(&json, "seed",
                       cli_format("%llu", (unsigned long long)job->args->common.seed));
    scant__json_size(&json, "n", picks->rows);
    scant__json_size(&json, "requested", job->args->batch);
    scant__json_size(&json, "batch", picks->count);
    if (picks->kernel) scant__json_string(&json, "kernel", picks->kernel);
    scant__json_number(&json, "seconds", round(job->seconds * 1e6) / 1e6);
    scant__json_open(&json, "options", '{');
    for (size_t i = 0; i < picks->n_settings; i++) /* in the order of the options */
        cli_json_setting(&json, options[i].key, options[i].kind,
                         picks->settings[i].value);
    scant__json_close(&json, '}');
    scant__json_open(&json, "info", '{');
    for (size_t i = 0; i < picks->n_info; i++)
        scant__json_number(&json, picks->info[i].name, picks->info[i].value);
    scant__json_close(&json, '}');
    scant__json_open(&json, "picks", '[');
    for (size_t i = 0; i < picks->count; i++) {
        const scant_pick *pick = &picks->items[i];
        size_t size;
        scant__json_open(&json, NULL, '{');
        scant__json_size(&json, "index", pick->index);
        if (job->ids) {
            const char *id = id_of(job, pick, &size);
            scant__json_bytes(&json, "id", id, size);
        }
        scant__json_number(&json, "weight", pick->weight);
        scant__json_number(&json, "score", pick->score);
        scant__json_close(&json, '}');
    }
    scant__json_close(&json, ']');
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    return json.text;
}

static scant__text npy_array(select_job *job) {
    size_t count = job->picks->count, size;
    scant__text text = CLI_TEXT;
    void *bytes;
    int64_t *rows = cli_calloc(count, sizeof *rows);
    for (size_t i = 0; i < count; i++) rows[i] = (int64_t)job->picks->items[i].index;
    scant_array *array;
    select_try(
        job, scant_array_wrap(job->net.ctx, "picks", rows, SCANT_I64, 1, &count, &array));
    select_try(job, scant_array_encode(job->net.ctx, array, &bytes, &size));
    scant__text_bytes(&text, bytes, size);
    scant_bytes_free(job->net.ctx, bytes);
    scant_array_free(array);
    return text;
}

/* ---- writing ----------------------------------------------------------------------- */

static void write_picks(select_job *job) {
    static const project_format formats[] = {
        {"csv", ".csv"}, {"json", ".json"}, {"npy", ".npy"}};
    const char *out = job->args->out;
    const char *format =
        project_format_of(formats, CLI_COUNT_OF(formats), job->args->format, out);
    scant__text text = strcmp(format, "json") == 0  ? json_object(job)
                       : strcmp(format, "npy") == 0 ? npy_array(job)
                                                    : csv_table(job);
    if (project_to_stdout(out))
        cli_print(&text);
    else
        select_try(job, scant_file_write(job->net.ctx, out, text.data, text.size));
}

/* Writes a file after the picks; an error message says that the picks were written. */
static void write_after(select_job *job, const char *path, const void *bytes,
                        size_t size) {
    scant_status status = scant_file_write(job->net.ctx, path, bytes, size);
    if (status != SCANT_OK)
        cli_die(cli_exit_of(status), "%s; the picks are already written",
                scant_ctx_errmsg(job->net.ctx));
}

void select_write(select_job *job) {
    const scant_picks *picks = job->picks;
    write_picks(job);
    if (job->args->state && picks->state)
        write_after(job, job->args->state, picks->state, picks->state_size);
    if (job->plot) write_after(job, job->args->plot, job->plot, job->plot_size);
}

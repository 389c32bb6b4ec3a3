/* SPDX-License-Identifier: Apache-2.0
 *
 * The picks as CSV, JSON or .npy. The whole output is made in memory first: a file then
 * appears whole or not at all.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/select.h"

bool select_to_stdout(const select_args *args) {
    return !args->out || strcmp(args->out, "-") == 0;
}

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

typedef enum select_format { FORMAT_CSV, FORMAT_JSON, FORMAT_NPY } select_format;

static select_format format_of(const select_args *args) {
    if (args->format) {
        if (strcmp(args->format, "json") == 0) return FORMAT_JSON;
        return strcmp(args->format, "npy") == 0 ? FORMAT_NPY : FORMAT_CSV;
    }
    if (select_to_stdout(args)) return FORMAT_CSV;
    if (ends_with(args->out, ".json")) return FORMAT_JSON;
    return ends_with(args->out, ".npy") ? FORMAT_NPY : FORMAT_CSV;
}

static void csv_table(scant__text *text, const select_job *job) {
    scant__text_add(text, job->ids ? "rank,index,id,weight,score\n"
                                   : "rank,index,weight,score\n");
    for (size_t i = 0; i < job->picks->count; i++) {
        const scant_pick *pick = &job->picks->items[i];
        scant__text_addf(text, "%zu,%zu,", i + 1, pick->index);
        if (job->ids) {
            size_t size;
            const char *id = scant_ids_get(job->ids, pick->index, &size);
            scant__text_csv_bytes(text, id, size);
            scant__text_add(text, ",");
        }
        scant__text_addf(text, "%.9g,%.9g\n", pick->weight, pick->score);
    }
}

static scant_option_kind kind_of(const scant_strategy_info *strategy, const char *key) {
    for (size_t i = 0; i < strategy->n_options; i++)
        if (strcmp(strategy->options[i].key, key) == 0) return strategy->options[i].kind;
    return SCANT_OPTION_CHOICE;
}

static void json_picks(scant__text *text, const select_job *job) {
    for (size_t i = 0; i < job->picks->count; i++) {
        const scant_pick *pick = &job->picks->items[i];
        scant__text_addf(text, "%s{\"index\": %zu", i ? ", " : "", pick->index);
        if (job->ids) {
            size_t size;
            const char *id = scant_ids_get(job->ids, pick->index, &size);
            scant__text_add(text, ", \"id\": ");
            scant__text_json_bytes(text, id, size);
        }
        scant__text_add(text, ", \"weight\": ");
        scant__text_json_number(text, pick->weight);
        scant__text_add(text, ", \"score\": ");
        scant__text_json_number(text, pick->score);
        scant__text_add(text, "}");
    }
}

static void json_object(scant__text *text, const select_job *job) {
    const scant_picks *picks = job->picks;
    scant__text_add(text, "{\"strategy\": ");
    scant__text_json(text, job->strategy->name);
    scant__text_addf(text, ", \"seed\": \"%llu\"", (unsigned long long)job->args.seed);
    scant__text_addf(text, ", \"n\": %zu, \"requested\": %zu, \"batch\": %zu",
                     picks->rows, job->args.batch, picks->count);
    if (picks->kernel) {
        scant__text_add(text, ", \"kernel\": ");
        scant__text_json(text, picks->kernel);
    }
    scant__text_addf(text, ", \"seconds\": %.6f, \"options\": {", job->seconds);
    for (size_t i = 0; i < picks->n_settings; i++) {
        const scant_setting *s = &picks->settings[i];
        if (i) scant__text_add(text, ", ");
        scant__text_json(text, s->key);
        scant__text_add(text, ": ");
        if (s->value)
            cli_json_setting(text, kind_of(job->strategy, s->key), s->value);
        else
            scant__text_add(text, "null");
    }
    scant__text_add(text, "}, \"info\": {");
    for (size_t i = 0; i < picks->n_info; i++) {
        if (i) scant__text_add(text, ", ");
        scant__text_json(text, picks->info[i].name);
        scant__text_add(text, ": ");
        scant__text_json_number(text, picks->info[i].value);
    }
    scant__text_add(text, "}, \"picks\": [");
    json_picks(text, job);
    scant__text_add(text, "]}\n");
}

static scant_status npy_bytes(scant__text *text, const select_job *job) {
    size_t count = job->picks->count, size;
    int64_t *rows = cli_calloc(count, sizeof *rows);
    for (size_t i = 0; i < count; i++) rows[i] = (int64_t)job->picks->items[i].index;
    scant_array *array = NULL;
    void *bytes = NULL;
    scant_status status =
        scant_array_wrap(job->ctx, "picks", rows, SCANT_I64, 1, &count, &array);
    if (status == SCANT_OK) status = scant_array_encode(job->ctx, array, &bytes, &size);
    if (status == SCANT_OK) scant__text_bytes(text, bytes, size);
    scant_bytes_free(job->ctx, bytes);
    scant_array_free(array);
    free(rows);
    return status;
}

int select_write_picks(select_job *job) {
    scant__text text = CLI_TEXT;
    scant_status status = SCANT_OK;
    switch (format_of(&job->args)) {
    case FORMAT_CSV:
        csv_table(&text, job);
        break;
    case FORMAT_JSON:
        json_object(&text, job);
        break;
    case FORMAT_NPY:
        status = npy_bytes(&text, job);
        break;
    }
    if (status == SCANT_OK && select_to_stdout(&job->args)) return cli_print(&text);
    if (status == SCANT_OK)
        status = scant_file_write(job->ctx, job->args.out, text.data, text.size);
    scant__text_end(&text);
    return status == SCANT_OK ? CLI_DONE : select_failed(job, status);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of the training samples: an array, or the table that `scant select` writes
 * (rank, index, perhaps id, weight, score; other columns are ignored).
 */
#include <math.h>

#include "cli/train.h"

enum { MOST_PICKS = 1 << 30 };

/* ---- picks ------------------------------------------------------------------------- */

typedef struct table {
    const char *path, *at, *end;
    size_t line;
    scant__text cell; /* last cell read */
    bool last;        /* the cell is the last of its row */
} table;

/* Reads a cell. RFC 4180: cells may be quoted, with quotes inside doubled. */
static void next_cell(table *t) {
    bool quoted = t->at < t->end && *t->at == '"';
    t->cell.size = 0;
    for (t->at += quoted; t->at < t->end; t->at++) {
        if (quoted && *t->at == '\n') t->line++;
        if (quoted && *t->at == '"') {
            if (t->at + 1 == t->end || t->at[1] != '"') {
                quoted = false;
                continue;
            }
            t->at++;
        } else if (!quoted && (*t->at == ',' || *t->at == '\n')) {
            break;
        }
        if (quoted || *t->at != '\r') scant__text_bytes(&t->cell, t->at, 1);
    }
    t->last = t->at == t->end || *t->at == '\n';
    if (t->at < t->end) t->at++;
    scant__text_bytes(&t->cell, "", 1); /* an empty cell needs its zero byte */
}

static _Noreturn void wrong(const table *t, const char *what) {
    cli_die(CLI_BAD_INPUT, "%s: line %zu: '%s' is no %s", t->path, t->line, t->cell.data,
            what);
}

static void read_row(train_job *job, table *t, size_t index, size_t weight) {
    size_t all = scant_data_count(job->data), *n = &job->args.train.n_rows;
    double value = 0;
    unsigned found = 0;
    t->last = false;
    for (size_t i = 0; !t->last; i++) {
        next_cell(t);
        if (i == index && !cli_read_number(t->cell.data, 0, all - 1, &job->rows[*n]))
            wrong(t, "sample of --data");
        if (i == weight && !cli_read_real(t->cell.data, &value)) wrong(t, "weight");
        found += i == index || i == weight;
    }
    if (found < 2)
        cli_die(CLI_BAD_INPUT, "%s: line %zu ends before its index and weight", t->path,
                t->line);
    job->weights[(*n)++] = (float)value;
}

static void read_picks(train_job *job, const char *path) {
    scant__text text = CLI_TEXT;
    size_t index = SIZE_MAX, weight = SIZE_MAX, most = 1;
    cli_read_file(path, MOST_PICKS, &text);
    if (!text.size) cli_die(CLI_BAD_INPUT, "%s: is empty", path);
    table t = {path, text.data, text.data + text.size, .line = 1, .cell = CLI_TEXT};
    for (const char *at = t.at; at < t.end; at++) most += *at == '\n';
    job->rows = cli_calloc(most, sizeof *job->rows);
    job->weights = cli_calloc(most, sizeof *job->weights);
    for (size_t i = 0; !t.last; i++) {
        next_cell(&t);
        if (strcmp(t.cell.data, "index") == 0) index = i;
        if (strcmp(t.cell.data, "weight") == 0) weight = i;
    }
    if (index == SIZE_MAX || weight == SIZE_MAX)
        cli_die(CLI_BAD_INPUT,
                "%s: was not written by 'scant select': it has no column %s", path,
                index == SIZE_MAX ? "index" : "weight");
    for (t.line++; t.at < t.end; t.line++) {
        if (*t.at == '\n')
            t.at++; /* skip an empty line */
        else
            read_row(job, &t, index, weight);
    }
    if (!job->args.train.n_rows) cli_die(CLI_BAD_INPUT, "%s: has no picks", path);
}

/* ---- reading weights --------------------------------------------------------------- */

void train_read_weights(train_job *job) {
    const train_args *a = &job->args;
    const char *path = a->sample_weights ? a->sample_weights : a->picks;
    bool any = false;
    if (!path) return;
    if (a->picks) read_picks(job, path);
    size_t n = job->rows ? a->train.n_rows : scant_data_count(job->data);
    if (!a->picks)
        job->weights = net_read_floats(
            &job->net, path, n, job->rows ? "row of --indices" : "sample of --data");
    for (size_t i = 0; i < n; i++) {
        any = any || job->weights[i] > 0;
        if (!(job->weights[i] >= 0) || !isfinite(job->weights[i]))
            cli_die(CLI_BAD_INPUT,
                    "%s: the weight of sample %zu is %g, expected a finite number from 0",
                    path, job->rows ? job->rows[i] : i, (double)job->weights[i]);
    }
    if (!any) cli_die(CLI_BAD_INPUT, "%s: all weights are 0", path);
}

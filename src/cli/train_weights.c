/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of the training samples: an array, or the table that `scant select` writes
 * (rank, index, perhaps id, weight, score; other columns are ignored).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/train.h"
#include "scant/train.h"

enum { MOST_PICKS = 1 << 30 };

/* ---- an array ---------------------------------------------------------------------- */

static int read_array(train_job *job, const scant_array *array, const char *path) {
    size_t want = job->rows ? job->n_rows : scant_data_count(job->data);
    size_t n = scant_array_ndim(array) == 1 ? scant_array_shape(array)[0] : 0;
    if (n != want) {
        cli_error("%s: is no list of %zu weights, one for each %s", path, want,
                  job->rows ? "row of --indices" : "sample of --data");
        return CLI_BAD_INPUT;
    }
    job->weights = cli_calloc(n, sizeof *job->weights);
    scant_status status = scant_array_floats(job->net.ctx, array, 0, n, job->weights);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

/* ---- picks ------------------------------------------------------------------------- */

/* A table that is being read. */
typedef struct table {
    const char *path, *at, *end;
    size_t line;
    scant__text cell; /* the last one read, ended by a zero */
    bool last;        /* of its row */
} table;

/* RFC 4180: a cell may be in quotes, and a quote in it is doubled. */
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
        } else if (!quoted && strchr(",\n", *t->at) && *t->at) {
            break;
        }
        if (quoted || *t->at != '\r') scant__text_bytes(&t->cell, t->at, 1);
    }
    t->last = t->at == t->end || *t->at == '\n';
    if (t->at < t->end) t->at++;
    scant__text_bytes(&t->cell, "", 1);
}

static int wrong(const table *t, const char *what) {
    cli_error("%s: line %zu: '%s' is no %s", t->path, t->line, t->cell.data, what);
    return CLI_BAD_INPUT;
}

/* Which columns are index and weight; SIZE_MAX: none. */
static void find_columns(table *t, size_t *index, size_t *weight) {
    *index = *weight = SIZE_MAX;
    for (size_t i = 0;; i++) {
        next_cell(t);
        if (strcmp(t->cell.data, "index") == 0) *index = i;
        if (strcmp(t->cell.data, "weight") == 0) *weight = i;
        if (t->last) return;
    }
}

static int read_row(train_job *job, table *t, size_t index, size_t weight) {
    size_t all = scant_data_count(job->data), *row = &job->rows[job->n_rows];
    double value = 0;
    unsigned found = 0;
    t->last = false;
    for (size_t i = 0; !t->last; i++) {
        next_cell(t);
        if (i == index) {
            if (!cli_read_number(t->cell.data, 0, all - 1, row))
                return wrong(t, "sample of --data");
            found++;
        } else if (i == weight) {
            if (!cli_read_real(t->cell.data, &value)) return wrong(t, "weight");
            found++;
        }
    }
    if (found < 2) {
        cli_error("%s: line %zu ends before its index and weight", t->path, t->line);
        return CLI_BAD_INPUT;
    }
    job->weights[job->n_rows++] = (float)value;
    return CLI_DONE;
}

static int read_table(train_job *job, table *t) {
    size_t index, weight, most = 0;
    int status = CLI_DONE;
    for (const char *at = t->at; at < t->end; at++) most += *at == '\n';
    job->rows = cli_calloc(most + 1, sizeof *job->rows);
    job->weights = cli_calloc(most + 1, sizeof *job->weights);
    find_columns(t, &index, &weight);
    t->line++;
    if (index == SIZE_MAX || weight == SIZE_MAX) {
        cli_error("%s: is not what 'scant select' writes: it has no column %s", t->path,
                  index == SIZE_MAX ? "index" : "weight");
        return CLI_BAD_INPUT;
    }
    for (; t->at < t->end && status == CLI_DONE; t->line++) {
        if (*t->at == '\n')
            t->at++; /* an empty line */
        else
            status = read_row(job, t, index, weight);
    }
    if (status != CLI_DONE || job->n_rows) return status;
    cli_error("%s: has no picks", t->path);
    return CLI_BAD_INPUT;
}

static int read_picks(train_job *job, const char *path) {
    scant__text text = CLI_TEXT;
    int status = cli_read_file(path, MOST_PICKS, &text);
    if (status != CLI_DONE) return status;
    table t = {.path = path, .at = text.data, .line = 1, .cell = CLI_TEXT};
    if (text.size) {
        t.end = text.data + text.size;
        status = read_table(job, &t);
    } else {
        cli_error("%s: is empty", path);
        status = CLI_BAD_INPUT;
    }
    scant__text_end(&t.cell);
    scant__text_end(&text);
    return status;
}

/* ---- both -------------------------------------------------------------------------- */

static int check(const train_job *job, const char *path) {
    size_t n = job->rows ? job->n_rows : scant_data_count(job->data);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        any = any || job->weights[i] > 0;
        if (job->weights[i] >= 0 && isfinite(job->weights[i])) continue;
        cli_error("%s: the weight of sample %zu is %g; weights are finite, 0 or more",
                  path, job->rows ? job->rows[i] : i, (double)job->weights[i]);
        return CLI_BAD_INPUT;
    }
    if (any) return CLI_DONE;
    cli_error("%s: all weights are 0", path);
    return CLI_BAD_INPUT;
}

int train_read_weights(train_job *job) {
    const char *path =
        job->args.sample_weights ? job->args.sample_weights : job->args.picks;
    scant_array *array;
    int status;
    if (!path) return CLI_DONE;
    if (job->args.picks) {
        status = read_picks(job, path);
    } else {
        scant_status opened = scant_array_open(job->net.ctx, path, &array);
        if (opened != SCANT_OK) return net_failed(&job->net, opened);
        status = read_array(job, array, path);
        scant_array_free(array);
    }
    return status == CLI_DONE ? check(job, path) : status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of the training samples: an array, or the table that `scant select` writes
 * (rank, index, perhaps id, weight, score; other columns are ignored). The weights of a
 * table are scaled to mean 1, as experiments do: those of bss sum to about 1, whatever
 * the batch, and would make the learning rate as many times smaller as there are picks.
 */
#include <math.h>

#include "cli/train.h"
#include "core/csv.h"

enum { MOST_PICKS = 1 << 30 };

/* ---- picks ------------------------------------------------------------------------- */

typedef struct picks {
    train_job *job;
    const char *path;
    scant__cells cells;
    scant__cell cell;     /* last cell read */
    scant__text text;     /* its text, with a zero at the end */
    size_t index, weight; /* columns; SIZE_MAX: missing */
} picks;

static const char *next_cell(picks *p) {
    net_try(&p->job->net, scant__cells_next(&p->cells, &p->cell));
    p->text.size = 0;
    scant__text_bytes(&p->text, p->cell.text, p->cell.length);
    scant__text_bytes(&p->text, "", 1); /* ends the text, also of an empty cell */
    return p->text.data;
}

static void read_header(picks *p) {
    if (!scant__cells_row(&p->cells))
        cli_die(CLI_BAD_INPUT,
                "%s: has no header, expected CSV with the columns index and weight",
                p->path);
    for (size_t i = 0; !p->cell.last; i++) {
        const char *name = next_cell(p);
        if (strcmp(name, "index") == 0) p->index = i;
        if (strcmp(name, "weight") == 0) p->weight = i;
    }
    if (p->index == SIZE_MAX || p->weight == SIZE_MAX)
        cli_die(CLI_BAD_INPUT,
                "%s: was not written by 'scant select': it has no column %s", p->path,
                p->index == SIZE_MAX ? "index" : "weight");
}

static void read_row(picks *p) {
    train_job *job = p->job;
    size_t last = scant_data_count(job->data) - 1, *n = &job->args.train.n_rows;
    double value = 0;
    unsigned found = 0;
    p->cell.last = false;
    for (size_t i = 0; !p->cell.last; i++) {
        const char *text = next_cell(p);
        if (i == p->index && !cli_read_number(text, 0, last, &job->rows[*n]))
            cli_die(CLI_BAD_INPUT,
                    "%s: line %zu: index is '%s', expected a sample of --data (0 to %zu)",
                    p->path, p->cell.line, text, last);
        if (i == p->weight && !cli_read_real(text, &value))
            cli_die(CLI_BAD_INPUT, "%s: line %zu: weight is '%s', expected a number",
                    p->path, p->cell.line, text);
        found += i == p->index || i == p->weight;
    }
    if (found < 2)
        cli_die(CLI_BAD_INPUT,
                "%s: line %zu has too few columns: index or weight is missing", p->path,
                p->cell.line);
    job->weights[(*n)++] = (float)value;
}

static void read_picks(train_job *job, const char *path) {
    picks p = {job, path, .text = CLI_TEXT, .index = SIZE_MAX, .weight = SIZE_MAX};
    scant__text file = CLI_TEXT;
    size_t most = 1;
    cli_read_file(path, MOST_PICKS, &file);
    net_try(&job->net, scant__cells_begin(&p.cells, job->net.ctx, path,
                                          file.size ? file.data : "", file.size));
    for (size_t i = 0; i < file.size; i++) most += file.data[i] == '\n';
    job->rows = cli_calloc(most, sizeof *job->rows);
    job->weights = cli_calloc(most, sizeof *job->weights);
    read_header(&p);
    while (scant__cells_row(&p.cells)) read_row(&p);
    scant__cells_end(&p.cells);
    if (!job->args.train.n_rows) cli_die(CLI_BAD_INPUT, "%s: has no picks", path);
}

/* ---- reading weights --------------------------------------------------------------- */

static void scale_to_mean_1(float *weights, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)weights[i];
    for (size_t i = 0; i < n; i++)
        weights[i] = (float)((double)weights[i] * (double)n / sum);
}

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
                    "%s: the weight of sample %zu is %g, expected a finite number of at "
                    "least 0",
                    path, job->rows ? job->rows[i] : i, (double)job->weights[i]);
    }
    if (!any)
        cli_die(CLI_BAD_INPUT, "%s: all weights are 0, expected at least one above 0",
                path);
    if (a->picks) scale_to_mean_1(job->weights, n);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The display of an experiment. On a terminal each active run has a live line, which
 * stays on the screen when the run ends. If stderr is not a terminal, each round has a
 * line. At the end there is a table.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/run.h"

enum { BAR = 20, LEAST = 5, NARROW = 80 };
static const double redraw = 0.1;

/* ---- lines ------------------------------------------------------------------------- */

static void add_result(scant__text *line, const run_progress *run, bool narrow) {
    if (!run->n_points) return;
    if (run->accuracy >= 0)
        scant__text_addf(line, "  %s %.4f", narrow ? "acc" : "accuracy", run->accuracy);
    else
        scant__text_addf(line, "  error %.4g", run->loss);
}

/* Adds the figures of semi-supervised training. */
static void add_training(scant__text *line, const scant_run_event *e) {
    if (e->unlabelled_loss < 0) return;
    scant__text_addf(line, "  loss %.3g + %.3g  kept %.0f%%", e->train_loss,
                     e->unlabelled_loss, 100 * e->kept);
    if (e->balance >= 0) scant__text_addf(line, "  balance %.2f", e->balance);
}

/* Adds the signs that a training fails, and whether it was repeated. */
static void add_signs(scant__text *line, const scant_run_event *e) {
    char names[SCANT_SIGNS_SIZE];
    if (e->trainings > 1) scant__text_add(line, "  trained again");
    if (e->signs)
        scant__text_addf(line, "  %s: %s",
                         e->signs & SCANT_SIGNS_COLLAPSED ? "COLLAPSED"
                                                          : "MAY BE FAILING",
                         scant_train_sign_names(e->signs, names));
}

/* Adds the part of the line that is shown at any width. */
static void add_numbers(scant__text *line, const run_progress *run, bool narrow) {
    const scant_run_event *e = &run->last;
    char clock[32];
    scant__text_addf(line, "  round %zu/%zu  labels %zu", e->round, e->rounds, e->labels);
    add_result(line, run, narrow);
    if (run->over)
        scant__text_addf(line, "  took %s", cli_clock(e->seconds, clock, sizeof clock));
    else if (e->left >= 0)
        scant__text_addf(line, "  %s left", cli_clock(e->left, clock, sizeof clock));
}

static void add_bar(scant__text *line, double fraction, size_t room) {
    enum { AROUND = 4 };
    if (room < LEAST + AROUND) return;
    int width = room < BAR + AROUND ? (int)room - AROUND : BAR;
    scant__text_add(line, "  [");
    for (int i = 0; i < width; i++)
        scant__text_add(line, i < (int)(fraction * width + 0.5) ? "#" : ".");
    scant__text_add(line, "]");
}

/* Prints a run's line. Numbers have priority, then the bar, then the training, as far as
 * there is room. Called often, so it frees its memory. */
static void put_line(const run_progress *run) {
    AUTO(scant__text_end) scant__text line = {0}, numbers = {0}, training = {0};
    size_t room = cli_ui_room();
    add_numbers(&numbers, run, room < NARROW);
    if (!run->over) add_training(&training, &run->last);
    add_signs(&training, &run->last);
    scant__text_add(&line, run->last.strategy);
    cli_text_pad(&line, 15);
    scant__text_addf(&line, "seed %llu", (unsigned long long)run->last.seed);
    size_t taken = line.size + numbers.size;
    add_bar(&line, run->last.fraction, room > taken ? room - taken : 0);
    scant__text_bytes(&line, numbers.data, numbers.size);
    if (line.size + training.size <= room)
        scant__text_bytes(&line, training.data, training.size);
    fprintf(stderr, "%.*s\n", (int)room, line.failed ? "" : line.data);
}

void run_show_clear(run_job *job) {
    cli_ui_clear(&job->net.ui);
    for (; job->lines > 0; job->lines--) fprintf(stderr, "\033[A\r\033[K");
    fflush(stderr);
}

static void draw(run_job *job) {
    /* The message about Ctrl-C is below the lines: they stay on the screen. */
    if (cli_interrupted() && !job->interrupted) {
        job->interrupted = true;
        job->lines = 0;
    }
    run_show_clear(job);
    for (size_t i = 0; i < job->n_runs; i++) {
        if (!job->runs[i].active) continue;
        put_line(&job->runs[i]);
        job->lines++;
    }
    fflush(stderr);
    job->drawn = cli_now();
}

static void print_round(const run_progress *run) {
    const scant_run_event *e = &run->last;
    scant__text line = CLI_TEXT;
    char clock[32];
    scant__text_addf(&line, "%s, seed %llu: round %zu/%zu  labels %zu", e->strategy,
                     (unsigned long long)e->seed, e->round, e->rounds, e->labels);
    add_result(&line, run, false);
    if (e->left > 0)
        scant__text_addf(&line, "  %s left", cli_clock(e->left, clock, sizeof clock));
    add_training(&line, e);
    add_signs(&line, e);
    fprintf(stderr, "scant: %s\n", line.data);
}

/* Prints a run's error, also with --quiet; with one run, run.c prints it. */
static void print_failed(run_job *job, const scant_run_event *event) {
    run_show_clear(job);
    if (event->runs > 1)
        cli_error("%s, seed %llu, round %zu: %s; the run ends there", event->strategy,
                  (unsigned long long)event->seed, event->round, event->text);
    if (job->net.ui.terminal && !job->net.ui.quiet) draw(job);
}

bool run_all_ended(const run_job *job) {
    bool over = true, points = false;
    for (size_t i = 0; i < job->n_runs; i++) {
        over = over && job->runs[i].over;
        points = points || job->runs[i].n_points;
    }
    return over && points;
}

/* ---- events ------------------------------------------------------------------------ */

static run_progress *update(run_job *job, const scant_run_event *event) {
    if (!job->runs) {
        job->runs = cli_calloc(event->runs, sizeof *job->runs);
        job->n_runs = event->runs;
    }
    run_progress *run = &job->runs[event->run];
    run->last = *event;
    if (event->accuracy >= 0) run->accuracy = event->accuracy;
    if (event->loss >= 0) run->loss = event->loss;
    run->over = event->kind == SCANT_RUN_END || event->kind == SCANT_RUN_FAILED;
    run->active = !run->over && !event->before;
    if (event->kind != SCANT_RUN_ROUND) return run;
    run->accuracy = event->accuracy;
    job->errors = event->accuracy < 0;
    if (!run->points) run->points = cli_calloc(event->rounds + 1, sizeof *run->points);
    if (run->n_points <= event->rounds)
        run->points[run->n_points++] = (run_point){
            (double)event->labels, job->errors ? event->loss : event->accuracy};
    return run;
}

void run_on_event(void *user, const scant_run_event *event) {
    run_job *job = user;
    const run_progress *run = update(job, event);
    if (event->kind == SCANT_RUN_FAILED) {
        print_failed(job, event);
        return;
    }
    if (job->net.ui.quiet || event->before) return;
    if (!job->net.ui.terminal) {
        if (event->kind == SCANT_RUN_ROUND) print_round(run);
        return;
    }
    if (run->over) {
        run_show_clear(job);
        put_line(run);
    }
    if (event->kind != SCANT_RUN_PROGRESS || cli_now() - job->drawn > redraw) draw(job);
}

/* ---- the table --------------------------------------------------------------------- */

/* Returns the area under the curve (trapezium rule), divided by the span of labels. */
static double area(const run_progress *run) {
    const run_point *p = run->points, *end = p + run->n_points - 1;
    double sum = 0, span = end->labels - p->labels;
    for (; p < end; p++) sum += (p[1].labels - p->labels) * (p->value + p[1].value) / 2;
    return span > 0 ? sum / span : end->value;
}

typedef struct spread {
    size_t n;
    double sum, squares;
} spread;

static void spread_add(spread *s, double value) {
    s->n++;
    s->sum += value;
    s->squares += value * value;
}

static void spread_print(scant__text *text, const spread *s, const char *format) {
    double mean = s->sum / (double)s->n, n = (double)s->n;
    double variance = s->n > 1 ? (s->squares - n * mean * mean) / (n - 1) : 0;
    char number[64];
    snprintf(number, sizeof number, format, mean);
    scant__text_add(text, number);
    if (s->n < 2) return;
    snprintf(number, sizeof number, format, sqrt(variance > 0 ? variance : 0));
    scant__text_addf(text, " +- %s", number);
}

static void table_row(scant__text *text, const run_job *job, size_t first) {
    const char *strategy = job->runs[first].last.strategy;
    spread areas = {0}, lasts = {0};
    for (size_t i = first; i < job->n_runs; i++) {
        const run_progress *run = &job->runs[i];
        if (!run->n_points || strcmp(run->last.strategy, strategy) != 0) continue;
        spread_add(&areas, area(run) * (job->errors ? 1 : 100));
        spread_add(&lasts, run->points[run->n_points - 1].value);
    }
    if (!areas.n) return;
    scant__text_add(text, strategy);
    cli_text_pad(text, 16);
    spread_print(text, &areas, job->errors ? "%.4g" : "%.2f");
    cli_text_pad(text, 34);
    spread_print(text, &lasts, job->errors ? "%.4g" : "%.4f");
    cli_text_pad(text, 54);
    scant__text_addf(text, "%zu\n", areas.n);
}

void run_print_table(const run_job *job) {
    const char *report = cli_format("%s/report.html", job->args->out);
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "%-16s%-18s%-20sruns\n", "strategy",
                     job->errors ? "mean error" : "AUC (%)",
                     job->errors ? "final error" : "final accuracy");
    for (size_t i = 0; i < job->n_runs; i++) {
        const char *name = job->runs[i].last.strategy;
        bool first = name != NULL;
        for (size_t k = 0; k < i && first; k++)
            first = !job->runs[k].last.strategy ||
                    strcmp(job->runs[k].last.strategy, name) != 0;
        if (first) table_row(&text, job, i);
    }
    scant__text_addf(&text, "results in %s", job->args->out);
    if (cli_exists(report)) scant__text_addf(&text, "; the report is %s", report);
    scant__text_add(&text, "\n");
    cli_print(&text);
}

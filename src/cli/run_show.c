/* SPDX-License-Identifier: Apache-2.0
 *
 * What people see of an experiment: on a terminal a live line a run at work, which stays
 * when it ends; elsewhere a line a round. In the end a table.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "scant/train.h"

enum { BAR = 20, LEAST = 5, NARROW = 80 };
static const double redraw = 0.1;

/* ---- what was heard ---------------------------------------------------------------- */

static run_seen *seen_of(run_job *job, const scant_run_event *event) {
    if (!job->runs) {
        job->runs = cli_calloc(event->runs, sizeof *job->runs);
        job->n_runs = event->runs;
    }
    run_seen *run = &job->runs[event->run];
    run->strategy = event->strategy;
    run->seed = event->seed;
    run->rounds = event->rounds;
    return run;
}

static void add_point(run_job *job, run_seen *run, const scant_run_event *event) {
    if (run->n_points == run->room) {
        run->room = run->room ? 2 * run->room : 32;
        run->points = cli_grow(run->points, 2 * run->room, sizeof *run->points);
    }
    job->errors = event->accuracy < 0;
    run->points[2 * run->n_points] = (double)event->labels;
    run->points[2 * run->n_points + 1] = job->errors ? event->loss : event->accuracy;
    run->n_points++;
}

/* ---- lines ------------------------------------------------------------------------- */

static void add_result(scant__text *line, const run_seen *run, bool narrow) {
    if (!run->n_points) return;
    if (run->accuracy >= 0)
        scant__text_addf(line, "  %s %.4f", narrow ? "acc" : "accuracy", run->accuracy);
    else
        scant__text_addf(line, "  error %.4g", run->loss);
}

/* Of a training that learns from samples without labels, too. */
static void add_training(scant__text *line, const run_seen *run) {
    if (run->unlabelled_loss < 0) return;
    scant__text_addf(line, "  loss %.3g + %.3g  kept %.0f%%", run->train_loss,
                     run->unlabelled_loss, 100 * run->kept);
    if (run->balance >= 0) scant__text_addf(line, "  balance %.2f", run->balance);
}

/* What is to be read in any case. */
static void add_numbers(scant__text *line, const run_seen *run, bool narrow) {
    char clock[32];
    scant__text_addf(line, "  round %zu/%zu  labels %zu", run->round, run->rounds,
                     run->labels);
    add_result(line, run, narrow);
    if (run->over)
        scant__text_addf(line, "  took %s", cli_clock(run->seconds, clock, sizeof clock));
    else if (run->left >= 0)
        scant__text_addf(line, "  %s left", cli_clock(run->left, clock, sizeof clock));
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

/* The bar has the room that numbers leave, and what a training tells that of both. */
static void live_line(scant__text *line, const run_seen *run, size_t room) {
    scant__text numbers = CLI_TEXT, training = CLI_TEXT;
    add_numbers(&numbers, run, room < NARROW);
    if (!run->over) add_training(&training, run);
    scant__text_addf(line, "%s", run->strategy);
    cli_text_pad(line, 15);
    scant__text_addf(line, "seed %llu", (unsigned long long)run->seed);
    size_t taken = line->size + numbers.size;
    add_bar(line, run->fraction, room > taken ? room - taken : 0);
    scant__text_bytes(line, numbers.data, numbers.size);
    if (line->size + training.size <= room)
        scant__text_bytes(line, training.data, training.size);
    scant__text_bytes(line, "", 1);
    scant__text_end(&numbers);
    scant__text_end(&training);
}

void run_show_clear(run_job *job) {
    cli_ui_clear(&job->net.ui);
    for (; job->lines > 0; job->lines--) fprintf(stderr, "\033[A\r\033[K");
    fflush(stderr);
}

static void put_line(const run_seen *run) {
    scant__text line = CLI_TEXT;
    size_t room = cli_ui_room();
    live_line(&line, run, room);
    fprintf(stderr, "%.*s\n", (int)room, line.data);
    scant__text_end(&line);
}

static void draw(run_job *job) {
    if (cli_interrupted() && !job->interrupted) { /* what was said stands below */
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

static void say_round(const run_seen *run) {
    scant__text line = CLI_TEXT;
    char clock[32];
    scant__text_addf(&line, "%s, seed %llu: round %zu/%zu  labels %zu", run->strategy,
                     (unsigned long long)run->seed, run->round, run->rounds, run->labels);
    add_result(&line, run, false);
    if (run->left > 0)
        scant__text_addf(&line, "  %s left", cli_clock(run->left, clock, sizeof clock));
    add_training(&line, run);
    fprintf(stderr, "scant: %.*s\n", (int)line.size, line.data);
    scant__text_end(&line);
}

/* Also where only errors are told. A lone run's is told by the end of the experiment. */
static void say_failed(run_job *job, const scant_run_event *event) {
    run_show_clear(job);
    if (event->runs > 1)
        cli_error("%s, seed %llu, round %zu: %s; the run ends there", event->strategy,
                  (unsigned long long)event->seed, event->round, event->text);
    if (job->net.ui.terminal && !job->net.ui.quiet) draw(job);
}

bool run_all_over(const run_job *job) {
    bool over = true, points = false;
    for (size_t i = 0; i < job->n_runs; i++) {
        over = over && job->runs[i].over;
        points = points || job->runs[i].n_points;
    }
    return over && points;
}

void run_hear(void *user, const scant_run_event *event) {
    run_job *job = user;
    run_seen *run = seen_of(job, event);
    run->round = event->round;
    run->labels = event->labels;
    run->fraction = event->fraction;
    run->seconds = event->seconds;
    run->left = event->left;
    run->phase = event->phase;
    run->train_loss = event->train_loss;
    run->unlabelled_loss = event->unlabelled_loss;
    run->kept = event->kept;
    run->balance = event->balance;
    if (event->accuracy >= 0) run->accuracy = event->accuracy;
    if (event->loss >= 0) run->loss = event->loss;
    if (event->kind == SCANT_RUN_ROUND) {
        if (event->accuracy < 0) run->accuracy = -1;
        add_point(job, run, event);
    }
    run->over = event->kind == SCANT_RUN_END || event->kind == SCANT_RUN_FAILED;
    run->active = !run->over && !event->before;
    if (event->kind == SCANT_RUN_FAILED) {
        say_failed(job, event);
        return;
    }
    if (job->net.ui.quiet || event->before) return;
    if (!job->net.ui.terminal) {
        if (event->kind == SCANT_RUN_ROUND) say_round(run);
        return;
    }
    if (run->over) {
        run_show_clear(job);
        put_line(run);
        draw(job);
    } else if (cli_now() - job->drawn > redraw || event->kind != SCANT_RUN_PROGRESS) {
        draw(job);
    }
}

/* ---- the table --------------------------------------------------------------------- */

/* Area under the curve by the trapezium rule, divided by its span. */
static double area(const run_seen *run) {
    double sum = 0, span = run->points[2 * run->n_points - 2] - run->points[0];
    for (size_t i = 1; i < run->n_points; i++) {
        const double *a = &run->points[2 * i - 2], *b = &run->points[2 * i];
        sum += (b[0] - a[0]) * (a[1] + b[1]) / 2;
    }
    return span > 0 ? sum / span : run->points[2 * run->n_points - 1];
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
    const char *strategy = job->runs[first].strategy;
    spread areas = {0}, lasts = {0};
    for (size_t i = first; i < job->n_runs; i++) {
        const run_seen *run = &job->runs[i];
        if (!run->strategy || strcmp(run->strategy, strategy) || !run->n_points) continue;
        spread_add(&areas, area(run) * (job->errors ? 1 : 100));
        spread_add(&lasts, run->points[2 * run->n_points - 1]);
    }
    if (!areas.n) return;
    scant__text_addf(text, "%s", strategy);
    cli_text_pad(text, 16);
    spread_print(text, &areas, job->errors ? "%.4g" : "%.2f");
    cli_text_pad(text, 34);
    spread_print(text, &lasts, job->errors ? "%.4g" : "%.4f");
    cli_text_pad(text, 54);
    scant__text_addf(text, "%zu\n", areas.n);
}

int run_print_table(run_job *job) {
    scant__text text = CLI_TEXT;
    scant__text_add(&text, "strategy");
    cli_text_pad(&text, 16);
    scant__text_add(&text, job->errors ? "mean error" : "AUC (%)");
    cli_text_pad(&text, 34);
    scant__text_add(&text, job->errors ? "final error" : "final accuracy");
    cli_text_pad(&text, 54);
    scant__text_add(&text, "runs\n");
    for (size_t i = 0; i < job->n_runs; i++) {
        bool first = job->runs[i].strategy != NULL;
        for (size_t k = 0; k < i && first; k++)
            first = !job->runs[k].strategy ||
                    strcmp(job->runs[k].strategy, job->runs[i].strategy) != 0;
        if (first) table_row(&text, job, i);
    }
    scant__text_addf(&text, "results in %s", job->args.out);
    scant__text report = CLI_TEXT;
    scant__text_addf(&report, "%s/report.html", job->args.out);
    scant__text_bytes(&report, "", 1);
    if (cli_exists(report.data))
        scant__text_addf(&text, "; the report is %s", report.data);
    scant__text_end(&report);
    scant__text_add(&text, "\n");
    return cli_print(&text);
}

void run_show_end(run_job *job) {
    for (size_t i = 0; i < job->n_runs; i++) free(job->runs[i].points);
    free(job->runs);
}

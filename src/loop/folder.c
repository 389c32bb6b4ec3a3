/* SPDX-License-Identifier: Apache-2.0
 *
 * The results folder of an experiment. runs/ has the state of each run. curve.csv,
 * picks.csv, trainings.csv, calibration.csv and theory.csv list all runs in the order of
 * the experiment, and are replaced atomically. Lines are formatted once and kept in
 * memory.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/file.h"
#include "data/source.h"
#include "data/timestamp.h"
#include "loop/loop.h"
#include "scant/train.h"

char *loop_path(loop_job *job, const char *name) {
    return scant__arena_format(&job->arena, "%s/%s", job->opts.out, name);
}

static scant_status cannot(loop_job *job, const char *path, const char *what) {
    char why[SCANT__ERRNO_TEXT];
    int number = errno;
    return scant__fail(job->ctx, SCANT_EIO, "%s: %s: %s", path, what,
                       scant__errno_text(number, why));
}

/* ---- the log ----------------------------------------------------------------------- */

/* Fails if the file is not our log. Every line of a log begins with a time and an event.
 * If the process was killed, the first line may be incomplete; after a power failure, the
 * file may begin with zeros. */
static scant_status check_log(loop_job *job, const char *path) {
    static const char begin[] = "{\"time\":\"", next[] = "\",\"event\":\"";
    enum { TIME = 24, BEGIN = sizeof begin - 1, NEXT = BEGIN + TIME };
    char head[NEXT + sizeof next - 1];
    ssize_t got = pread(job->log, head, sizeof head, 0);
    if (got < 0) return cannot(job, path, "cannot be read");
    size_t n = (size_t)got;
    if (n == 0 || head[0] == 0 ||
        (memcmp(head, begin, size_min(n, BEGIN)) == 0 &&
         (n <= NEXT || memcmp(head + NEXT, next, n - NEXT) == 0)))
        return SCANT_OK;
    return scant__fail(
        job->ctx, SCANT_EUSAGE,
        "%s: is not the log of an experiment of this version of scant; use "
        "another folder",
        path);
}

/* Removes an incomplete last line, left by a killed process. */
static scant_status cut_half_line(loop_job *job, const char *path) {
    off_t end = lseek(job->log, 0, SEEK_END), whole = end;
    char block[512];
    while (whole > 0) {
        size_t want = whole < (off_t)sizeof block ? (size_t)whole : sizeof block;
        ssize_t got = pread(job->log, block, want, whole - (off_t)want);
        if (got != (ssize_t)want) return cannot(job, path, "cannot be read");
        while (want && block[want - 1] != '\n') want--, whole--;
        if (want) break;
    }
    if (whole < end && ftruncate(job->log, whole) != 0)
        return cannot(job, path, "cannot be truncated");
    return SCANT_OK;
}

/* Opens the log and locks it, so that only one experiment uses the folder. */
static scant_status open_log(loop_job *job) {
    const char *path = loop_path(job, "log.jsonl");
    if (!path) return SCANT_ENOMEM;
    job->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (job->log < 0) return cannot(job, path, "cannot be written");
    if (flock(job->log, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return scant__fail(job->ctx, SCANT_EUSAGE,
                           "%s: another experiment is running in this folder",
                           job->opts.out);
    TRY(check_log(job, path));
    return cut_half_line(job, path);
}

unsigned loop_folder_threads(loop_job *job) {
    /* not found inside strings, where quotes are escaped */
    static const char key[] = "\"threads\":";
    enum { KEY = sizeof key - 1, MOST = 4096 };
    const char *path = loop_path(job, "log.jsonl");
    scant__source log;
    unsigned threads = 0;
    if (!job->opts.resume || !path || scant__source_map(job->ctx, path, &log) != SCANT_OK)
        return 0;
    size_t at = log.size >= KEY ? log.size - KEY + 1 : 0;
    while (at && memcmp(log.bytes + at - 1, key, KEY) != 0) at--;
    at = at ? at + KEY - 1 : log.size;
    for (; at < log.size && isdigit(log.bytes[at]); at++)
        threads =
            (unsigned)size_min(threads, MOST) * 10 + (unsigned)(log.bytes[at] - '0');
    scant__source_close(&log);
    return threads <= MOST ? threads : 0;
}

scant__json loop_log_begin(loop_job *job, const char *event) {
    struct timespec now = {0};
    char time[SCANT__TIMESTAMP];
    scant__json line = {.text.ctx = job->ctx};
    clock_gettime(CLOCK_REALTIME, &now);
    scant__timestamp_format((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, time);
    scant__json_open(&line, NULL, '{');
    JSON_MEMBERS(&line, MEMBER("time", time), MEMBER("event", event));
    return line;
}

scant__json loop_log_run(const loop_run *run, const char *event) {
    scant__json line = loop_log_begin(run->job, event);
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, run->seed);
    JSON_MEMBERS(&line, MEMBER("strategy", run->strategy->info->name),
                 MEMBER("seed", seed));
    return line;
}

void loop_log_end(loop_job *job, scant__json *line) {
    scant__json_close(line, '}');
    scant__text_add(&line->text, "\n");
    /* one write() per line; errors of the log are ignored */
    if (job->log >= 0 && !line->text.failed) {
        ssize_t ignored = write(job->log, line->text.data, line->text.size);
        (void)ignored;
    }
    scant__json_end(line);
}

/* ---- opening the folder ------------------------------------------------------------ */

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* Finds the first lines in which two texts differ. */
static void first_difference(const char *a, const char *b, char left[80],
                             char right[80]) {
    for (;;) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || memcmp(a, b, n) != 0 || !a[n] || !b[m]) {
            snprintf(left, 80, "%.*s", (int)size_min(n, 79), a);
            snprintf(right, 80, "%.*s", (int)size_min(m, 79), b);
            return;
        }
        a += n + 1;
        b += m + 1;
    }
}

/* Checks that the folder holds results of the same experiment. Its file is parsed before
 * the comparison, so that missing keys have their defaults. */
static scant_status compare_experiment(loop_job *job, const char *path,
                                       const char *mine) {
    AUTO(scant_experiment_auto) scant_experiment *e = NULL;
    AUTO(scant__text_end) scant__text theirs = {.ctx = job->ctx};
    char left[80] = "", right[80] = "";
    TRY(scant_experiment_open(job->ctx, path, NULL, 0, &e));
    loop_print(e, &theirs);
    if (theirs.failed) return SCANT_ENOMEM;
    if (strcmp(theirs.data, mine) == 0) return SCANT_OK;
    first_difference(theirs.data, mine, left, right);
    return scant__fail(job->ctx, SCANT_EUSAGE,
                       "%s holds the results of another experiment: its experiment.ini "
                       "has '%s', this experiment '%s'",
                       job->opts.out, left, right);
}

static bool holds(loop_job *job, const char *path, const void *bytes, size_t size) {
    AUTO(scant__source_close) scant__source source = {0};
    return scant__source_map(job->ctx, path, &source) == SCANT_OK &&
           source.size == size && memcmp(source.bytes, bytes, size) == 0;
}

static scant_status write_experiment(loop_job *job) {
    AUTO(scant__text_end) scant__text text = {.ctx = job->ctx};
    const char *path = loop_path(job, "experiment.ini");
    loop_print(job->e, &text);
    if (!path || text.failed) return SCANT_ENOMEM;
    bool there = exists(path);
    if (there && holds(job, path, text.data, text.size)) return SCANT_OK;
    if (there) TRY(compare_experiment(job, path, text.data));
    return scant_file_write(job->ctx, path, text.data, text.size);
}

/* Deletes leftover temporary files. */
static void sweep(loop_job *job, const char *folder) {
    const char *path = loop_path(job, folder);
    if (path) scant__folder_sweep(path, 0, true);
}

static scant_status read_state(loop_job *job, loop_run *run) {
    char *path = scant__arena_format(&job->arena, "%s.json", run->path);
    if (!path) return SCANT_ENOMEM;
    if (!exists(path)) return SCANT_OK;
    return loop_state_read(job->ctx, path,
                           (loop_run_name){run->strategy->info->name, run->seed},
                           job->e->set.rounds, scant_data_count(job->samples.train),
                           &job->arena, &run->state);
}

/* Fails if the folder has results and resume is not set; *old: it has results. */
static scant_status check_results(loop_job *job, bool *old) {
    const char *const results[] = {"experiment.ini", "curve.csv", "picks.csv", "runs"};
    *old = false;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const char *path = loop_path(job, results[i]);
        if (!path) return SCANT_ENOMEM;
        *old = *old || exists(path);
    }
    if (!*old || job->opts.resume) return SCANT_OK;
    return scant__fail(job->ctx, SCANT_EUSAGE,
                       "%s holds results: continue them with --resume, or use another "
                       "folder",
                       job->opts.out);
}

scant_status loop_folder_begin(loop_job *job) {
    bool old;
    TRY(check_results(job, &old)); /* before any change */
    TRY(scant__folder_make(job->ctx, job->opts.out));
    TRY(open_log(job));
    TRY(check_results(job, &old)); /* again: another process may have been faster */
    sweep(job, "");
    sweep(job, "runs");
    sweep(job, "charts");
    TRY(write_experiment(job));
    const char *runs = loop_path(job, "runs");
    if (!runs) return SCANT_ENOMEM;
    TRY(scant__folder_make(job->ctx, runs));
    for (size_t i = 0; old && i < job->n_runs; i++) TRY(read_state(job, &job->runs[i]));
    return SCANT_OK;
}

/* ---- the tables -------------------------------------------------------------------- */

/* Begins a line of a table: strategy, seed and round. */
static scant__text *begin_line(loop_run *run, enum loop_table table, size_t round) {
    scant__text *text = &run->tables[table];
    scant__text_csv(text, run->strategy->info->name);
    scant__text_addf(text, ",%llu,%zu", (unsigned long long)run->seed, round);
    return text;
}

static void add_number(scant__text *text, double value) {
    scant__text_add(text, ",");
    scant__text_number(text, value, 9);
}

/* Three decimals, in any locale. */
static void add_seconds(scant__text *text, double seconds) {
    unsigned long long ms = seconds > 0 ? (unsigned long long)(seconds * 1000 + 0.5) : 0;
    scant__text_addf(text, ",%llu.%03llu", ms / 1000, ms % 1000);
}

static void add_point(loop_run *run, size_t round) {
    const loop_point *p = &run->state.points[round];
    bool regression = run->job->samples.regression;
    scant__text *text = begin_line(run, LOOP_CURVE, round);
    scant__text_addf(text, ",%zu", p->labels);
    add_number(text, regression ? (double)NAN : p->accuracy);
    add_number(text, p->loss);
    add_seconds(text, p->train_seconds);
    add_seconds(text, p->select_seconds);
    add_number(text, regression ? p->loss : p->best);
    scant__text_add(text, "\n");
}

static void add_picks(loop_run *run, size_t round) {
    const loop_state *s = &run->state;
    const scant_data *train = run->job->samples.train;
    const int32_t *labels = scant_data_labels(train);
    const float *targets = scant_data_targets(train);
    size_t first = round ? s->ends[round - 1] : 0;
    for (size_t i = first; i < s->ends[round]; i++) {
        const loop_pick *p = &s->picks[i];
        scant__text *text = begin_line(run, LOOP_PICKS, round);
        scant__text_addf(text, ",%zu,%zu", i - first + 1, p->index);
        add_number(text, p->weight);
        add_number(text, p->score);
        if (labels)
            scant__text_addf(text, ",%d", (int)labels[p->index]);
        else
            add_number(text, targets ? (double)targets[p->index] : 0);
        scant__text_add(text, "\n");
    }
}

/* Adds a line for each non-empty bin; bins are numbered from 1. */
static void add_calibration(loop_run *run, size_t round) {
    static const char *const names[LOOP_WHENS] = {"before", "after"};
    for (size_t i = 0; i < LOOP_WHENS * SCANT_CALIBRATION_BINS; i++) {
        size_t when = i / SCANT_CALIBRATION_BINS, b = i % SCANT_CALIBRATION_BINS;
        const scant_calibration *c = &run->state.calibrations[round].when[when];
        if (!c->bins[b].count) continue;
        scant__text *text = begin_line(run, LOOP_CALIBRATION, round);
        scant__text_addf(text, ",%s", names[when]);
        add_number(text, c->temperature);
        scant__text_addf(text, ",%zu,%zu", b + 1, c->bins[b].count);
        add_number(text, c->bins[b].confidence);
        add_number(text, c->bins[b].accuracy);
        scant__text_add(text, "\n");
    }
}

static void add_theory(loop_run *run, size_t round) {
    const double *figures = run->state.theories[round].figures;
    scant__text *text = begin_line(run, LOOP_THEORIES, round);
    scant__text_addf(text, ",%zu,%s", run->state.points[round].labels,
                     run->job->e->set.theory);
    for (size_t i = 0; i < LOOP_FIGURES; i++)
        if (isfinite(figures[i]))
            add_number(text, figures[i]);
        else
            scant__text_add(text, ",");
    scant__text_add(text, "\n");
}

static void add_known(scant__text *text, double value) {
    if (value >= 0)
        add_number(text, value);
    else
        scant__text_add(text, ",");
}

/* Rounds without a training have no line. */
static void add_training(loop_run *run, size_t round) {
    const loop_health *h = &run->state.healths[round];
    char names[SCANT_SIGNS_SIZE];
    if (!h->trainings) return;
    scant__text *text = begin_line(run, LOOP_TRAININGS, round);
    scant__text_addf(text, ",%zu,%s", h->trainings,
                     scant_train_sign_names(h->signs, names));
    add_known(text, h->dead);
    add_known(text, h->gradient_norm);
    scant__text_add(text, "\n");
}

void loop_folder_add(loop_run *run) {
    for (; run->shown_points < run->state.n_points; run->shown_points++) {
        add_point(run, run->shown_points);
        add_picks(run, run->shown_points);
        add_calibration(run, run->shown_points);
        add_theory(run, run->shown_points);
        add_training(run, run->shown_points);
        run->job->stale = true;
    }
}

static scant_status write_table(loop_job *job, enum loop_table table, const char *name,
                                const char *columns) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = job->ctx};
    const char *path = loop_path(job, name);
    const char *header = scant__arena_format(&arena, "strategy,seed,round,%s\n", columns);
    if (!path || !header) return SCANT_ENOMEM;
    scant__piece *pieces = TRY_NEW(&arena, scant__piece, job->n_runs + 1);
    pieces[0] = (scant__piece){header, strlen(header)};
    for (size_t i = 0; i < job->n_runs; i++) {
        const scant__text *text = &job->runs[i].tables[table];
        pieces[i + 1] = (scant__piece){text->data, text->size};
        if (text->failed) return SCANT_ENOMEM;
    }
    return scant__file_write_pieces(job->ctx, path, pieces, job->n_runs + 1);
}

scant_status loop_folder_write(loop_job *job) {
    bool regression = job->samples.regression;
    TRY(write_table(
        job, LOOP_CURVE, "curve.csv",
        regression ? "labels,accuracy,loss,train_seconds,select_seconds,error"
                   : "labels,accuracy,loss,train_seconds,select_seconds,best_accuracy"));
    TRY(write_table(job, LOOP_PICKS, "picks.csv", "rank,index,weight,score,label"));
    TRY(write_table(job, LOOP_TRAININGS, "trainings.csv",
                    "trainings,signs,dead,gradient_norm"));
    if (strcmp(job->e->set.theory, "none") != 0)
        TRY(write_table(job, LOOP_THEORIES, "theory.csv",
                        "labels,layers,lambda,largest,rank,dynamics,ratio,alignment,"
                        "bound,mmd,epochs,horizon,lr_advice"));
    if (regression) return SCANT_OK;
    return write_table(job, LOOP_CALIBRATION, "calibration.csv",
                       "when,temperature,bin,count,confidence,accuracy");
}

scant_status loop_folder_report(loop_job *job) {
    const char *const folders[] = {job->opts.out};
    TRY(loop_sheet_write(job));
    TRY(scant_report(job->ctx, folders, 1, job->opts.out));
    job->stale = false;
    return SCANT_OK;
}

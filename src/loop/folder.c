/* SPDX-License-Identifier: Apache-2.0
 *
 * The results folder of an experiment. runs/ has the state of each run. curve.csv,
 * picks.csv, calibration.csv and theory.csv list all runs in the order of the experiment,
 * and are replaced atomically. Lines are formatted once and kept in memory.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/file.h"
#include "data/source.h"
#include "loop/loop.h"
#include "scant/train.h"

char *loop_path(loop_job *job, const char *name) {
    size_t size = strlen(job->opts.out) + strlen(name) + 2;
    char *path = scant__arena_alloc(&job->arena, size, 1);
    if (path) snprintf(path, size, "%s/%s", job->opts.out, name);
    return path;
}

static scant_status cannot(loop_job *job, const char *path, const char *what) {
    char why[SCANT__ERRNO_TEXT];
    int number = errno;
    return scant__fail(job->ctx, SCANT_EIO, "%s: %s: %s", path, what,
                       scant__errno_text(number, why));
}

/* ---- the log ----------------------------------------------------------------------- */

/* Refuses to change a file that is not our log, whose lines all begin alike. A power cut
 * may leave zeros in it. */
static scant_status check_log(loop_job *job, const char *path) {
    static const char ours[] = "{\"time\": \"";
    char head[sizeof ours - 1];
    ssize_t got = pread(job->log, head, sizeof head, 0);
    if (got < 0) return cannot(job, path, "cannot be read");
    if (got == 0 || head[0] == 0 || memcmp(head, ours, (size_t)got) == 0) return SCANT_OK;
    return scant__fail(job->ctx, SCANT_EUSAGE,
                       "%s: is not the log of an experiment; use another folder", path);
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
        return cannot(job, path, "cannot be cut");
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
    static const char key[] = "\"threads\": "; /* inside strings, quotes are escaped */
    enum { KEY = sizeof key - 1, MOST = 4096 };
    const char *path = loop_path(job, "log.jsonl");
    scant__source log;
    unsigned threads = 0;
    if (!job->opts.resume || !path || scant__source_map(job->ctx, path, &log) != SCANT_OK)
        return 0;
    size_t at = log.size >= KEY ? log.size - KEY + 1 : 0;
    while (at && memcmp(log.bytes + at - 1, key, KEY) != 0) at--;
    for (at += KEY - 1; at >= KEY && at < log.size && isdigit(log.bytes[at]); at++)
        threads =
            (unsigned)size_min(threads, MOST) * 10 + (unsigned)(log.bytes[at] - '0');
    scant__source_close(job->ctx, &log);
    return threads <= MOST ? threads : 0;
}

void loop_log(loop_job *job, const char *event, scant__text *rest) {
    struct timespec now = {0};
    struct tm parts;
    char date[64] = "", *line, *more;
    size_t size, more_size;
    scant__text text;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    scant__text_init(&text, job->ctx);
    scant__text_addf(&text, "{\"time\": \"%s.%03ldZ\", \"event\": \"%s\"", date,
                     now.tv_nsec / 1000000, event);
    if (rest && scant__text_take(rest, &more, &more_size) == SCANT_OK) {
        scant__text_addf(&text, ", %s", more);
        scant__free(job->ctx, more);
    }
    scant__text_add(&text, "}\n");
    if (scant__text_take(&text, &line, &size) != SCANT_OK) return;
    /* one write() per line; errors of the log are ignored */
    if (job->log >= 0) {
        ssize_t ignored = write(job->log, line, size);
        (void)ignored;
    }
    scant__free(job->ctx, line);
}

/* ---- beginning --------------------------------------------------------------------- */

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
    scant_experiment *e;
    void *theirs;
    size_t size;
    char left[80] = "", right[80] = "";
    TRY(scant_experiment_open(job->ctx, path, NULL, 0, &e));
    scant_status status = scant_experiment_print(e, &theirs, &size);
    if (status == SCANT_OK && strcmp(theirs, mine) != 0) {
        first_difference(theirs, mine, left, right);
        status = scant__fail(job->ctx, SCANT_EUSAGE,
                             "%s holds the results of another experiment: it has '%s', "
                             "this one '%s'",
                             job->opts.out, left, right);
    }
    scant_bytes_free(job->ctx, theirs);
    scant_experiment_free(e);
    return status;
}

static bool holds(loop_job *job, const char *path, const void *bytes, size_t size) {
    scant__source source;
    if (scant__source_map(job->ctx, path, &source) != SCANT_OK) return false;
    bool same = source.size == size && memcmp(source.bytes, bytes, size) == 0;
    scant__source_close(job->ctx, &source);
    return same;
}

static scant_status keep_experiment(loop_job *job) {
    const char *path = loop_path(job, "experiment.ini");
    void *bytes;
    size_t size;
    scant_status status = SCANT_OK;
    if (!path) return SCANT_ENOMEM;
    TRY(scant_experiment_print(job->e, &bytes, &size));
    bool there = exists(path);
    if (!there || !holds(job, path, bytes, size)) {
        if (there) status = compare_experiment(job, path, bytes);
        if (status == SCANT_OK) status = scant_file_write(job->ctx, path, bytes, size);
    }
    scant_bytes_free(job->ctx, bytes);
    return status;
}

/* Whether a file is a temporary one, ".scant-PID-N.tmp", of a process that has ended. A
 * running one may belong to `scant report`, which takes no lock. */
static bool is_litter(const char *name) {
    static const char prefix[] = ".scant-";
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    name += sizeof prefix - 1;
    long pid = isdigit((unsigned char)*name) ? strtol(name, &end, 10) : 0;
    if (pid <= 0 || *end != '-' || !isdigit((unsigned char)end[1])) return false;
    strtol(end + 1, &end, 10);
    if (strcmp(end, ".tmp") != 0) return false;
    return pid == (long)getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

/* Errors are ignored. */
static void sweep(loop_job *job, const char *folder) {
    const char *path = loop_path(job, folder);
    DIR *list = path ? opendir(path) : NULL;
    if (!list) return;
    for (const struct dirent *one; (one = readdir(list));)
        if (is_litter(one->d_name)) unlinkat(dirfd(list), one->d_name, 0);
    closedir(list);
}

static scant_status recall(loop_job *job, loop_run *run) {
    scant__text text;
    char *path;
    size_t size;
    scant__text_init(&text, job->ctx);
    scant__text_addf(&text, "%s.json", run->path);
    TRY(scant__text_take(&text, &path, &size));
    scant_status status = SCANT_OK;
    if (exists(path))
        status = loop_state_read(job->ctx, path,
                                 (loop_run_name){run->arm->info->name, run->seed},
                                 job->e->set.rounds, scant_data_count(job->samples.train),
                                 &job->arena, &run->state);
    scant__free(job->ctx, path);
    return status;
}

static scant_status recall_all(loop_job *job) {
    for (size_t i = 0; i < job->n_runs; i++) TRY(recall(job, &job->runs[i]));
    return SCANT_OK;
}

/* Refuses to overwrite results. */
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
    TRY(keep_experiment(job));
    const char *runs = loop_path(job, "runs");
    if (!runs) return SCANT_ENOMEM;
    TRY(scant__folder_make(job->ctx, runs));
    if (old) TRY(recall_all(job));
    return SCANT_OK;
}

void loop_folder_end(loop_job *job) {
    if (job->log >= 0) close(job->log);
    job->log = -1;
}

/* ---- the tables -------------------------------------------------------------------- */

void loop_folder_name(const loop_run *run, size_t round, scant__text *text) {
    scant__text_csv(text, run->arm->info->name);
    scant__text_addf(text, ",%llu,%zu,", (unsigned long long)run->seed, round);
}

/* With three decimals, in any locale. */
static void add_seconds(scant__text *text, double seconds) {
    unsigned long long ms = seconds > 0 ? (unsigned long long)(seconds * 1000 + 0.5) : 0;
    scant__text_addf(text, "%llu.%03llu", ms / 1000, ms % 1000);
}

static void add_point(loop_run *run, size_t round) {
    const loop_point *p = &run->state.points[round];
    bool regression = run->job->samples.regression;
    scant__text *text = &run->curve;
    loop_folder_name(run, round, text);
    scant__text_addf(text, "%zu,", p->labels);
    if (regression)
        scant__text_add(text, "nan");
    else
        scant__text_number(text, p->accuracy, 9);
    scant__text_add(text, ",");
    scant__text_number(text, p->loss, 9);
    scant__text_add(text, ",");
    add_seconds(text, p->train_seconds);
    scant__text_add(text, ",");
    add_seconds(text, p->select_seconds);
    scant__text_add(text, ",");
    scant__text_number(text, regression ? p->loss : p->best, 9);
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
        scant__text *text = &run->picks;
        loop_folder_name(run, round, text);
        scant__text_addf(text, "%zu,%zu,", i - first + 1, p->index);
        scant__text_number(text, p->weight, 9);
        scant__text_add(text, ",");
        scant__text_number(text, p->score, 9);
        if (labels)
            scant__text_addf(text, ",%d\n", (int)labels[p->index]);
        else {
            scant__text_add(text, ",");
            scant__text_number(text, targets ? (double)targets[p->index] : 0, 9);
            scant__text_add(text, "\n");
        }
    }
}

static scant_status write_table(loop_job *job, const char *name, const char *header,
                                size_t text_at) {
    const char *path = loop_path(job, name);
    scant__piece *pieces = scant__alloc(job->ctx, job->n_runs + 1, sizeof *pieces);
    if (!path || !pieces) {
        scant__free(job->ctx, pieces);
        return SCANT_ENOMEM;
    }
    bool failed = false;
    pieces[0] = (scant__piece){header, strlen(header)};
    for (size_t i = 0; i < job->n_runs; i++) {
        const scant__text *text =
            (const scant__text *)((const char *)&job->runs[i] + text_at);
        pieces[i + 1] = (scant__piece){text->data, text->size};
        failed = failed || text->failed;
    }
    scant_status status =
        failed ? SCANT_ENOMEM
               : scant__file_write_pieces(job->ctx, path, pieces, job->n_runs + 1);
    scant__free(job->ctx, pieces);
    return status;
}

void loop_folder_add(loop_run *run) {
    for (; run->shown_points < run->state.n_points; run->shown_points++) {
        add_point(run, run->shown_points);
        add_picks(run, run->shown_points);
        loop_calibration_lines(run, run->shown_points);
        loop_theory_lines(run, run->shown_points);
        run->job->stale = true;
    }
}

scant_status loop_folder_write(loop_job *job) {
    static const char picks[] = "strategy,seed,round,rank,index,weight,score,label\n";
    const char *curve = job->samples.regression
                            ? "strategy,seed,round,labels,accuracy,loss,train_seconds,"
                              "select_seconds,error\n"
                            : "strategy,seed,round,labels,accuracy,loss,train_seconds,"
                              "select_seconds,best_accuracy\n";
    TRY(write_table(job, "curve.csv", curve, offsetof(loop_run, curve)));
    TRY(write_table(job, "picks.csv", picks, offsetof(loop_run, picks)));
    if (strcmp(job->e->set.theory, "none") != 0)
        TRY(write_table(job, "theory.csv", loop_theory_header,
                        offsetof(loop_run, theories)));
    if (job->samples.regression) return SCANT_OK;
    return write_table(job, "calibration.csv",
                       "strategy,seed,round,when,temperature,bin,count,confidence,"
                       "accuracy\n",
                       offsetof(loop_run, calibrations));
}

scant_status loop_folder_report(loop_job *job) {
    const char *const folders[] = {job->opts.out};
    TRY(loop_sheet_write(job));
    TRY(scant_report(job->ctx, folders, 1, job->opts.out));
    job->stale = false;
    return SCANT_OK;
}

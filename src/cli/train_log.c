/* SPDX-License-Identifier: Apache-2.0
 *
 * log.jsonl: an event per line, "epoch" or "end". If epochs are short and many, only
 * about 200 are logged, and each epoch that is the best so far on the validation set.
 */
#include <errno.h>
#include <math.h>

#include "cli/train.h"
#include "core/json_read.h"

const char *train_stop_name(scant_stop stop) {
    static const char *const names[] = {[SCANT_STOP_EPOCHS] = "epochs",
                                        [SCANT_STOP_UNTIL] = "until",
                                        [SCANT_STOP_PATIENCE] = "patience",
                                        [SCANT_STOP_CANCELLED] = "cancelled"};
    return stop ? names[stop] : "failed";
}

/* Returns whether an epoch is the best so far on the validation set, and stores it. */
static bool is_best(train_job *job, size_t epoch, double loss, double accuracy) {
    bool better =
        train_has_accuracy(job) ? accuracy > job->best.accuracy : loss < job->best.loss;
    if (job->best.epoch && !better) return false;
    job->best.epoch = epoch;
    job->best.loss = loss;
    job->best.accuracy = accuracy;
    return true;
}

/* Whether a line of the old log is valid and from before `epoch`. Updates job->best. */
static bool is_valid(train_job *job, const char *line, size_t size, size_t epoch) {
    AUTO(scant__json_tree_end) scant__json_tree tree = {0};
    if (scant__json_read(job->net.ctx, line, size, 0, NULL, &tree) != SCANT_OK)
        return false;
    const json_t *event = tree.root;
    json_int_t number = json_integer_value(json_object_get(event, "epoch"));
    const json_t *loss = json_object_get(event, "valid_loss");
    bool keep = number < (json_int_t)epoch;
    if (keep && loss)
        is_best(job, (size_t)number, json_number_value(loss),
                json_number_value(json_object_get(event, "valid_accuracy")));
    return keep;
}

void train_open_log(train_job *job, size_t epoch) {
    const char *path = train_path(job, "log.jsonl");
    scant__text kept = CLI_TEXT;
    const scant__text *old = &job->old_log;
    for (size_t at = 0; at < old->size;) {
        const char *end = memchr(old->data + at, '\n', old->size - at);
        size_t size = end ? (size_t)(end - old->data) - at + 1 : old->size - at;
        if (end && is_valid(job, old->data + at, size, epoch))
            scant__text_bytes(&kept, old->data + at, size);
        at += size;
    }
    scant_status status = scant_file_write(job->net.ctx, path, kept.data, kept.size);
    if (status == SCANT_OK)
        job->log = fopen(path, "ae");
    else
        net_failed(&job->net, status);
}

static void write_event(train_job *job, scant__json *event) {
    scant__json_close(event, '}');
    scant__text_add(&event->text, "\n");
    if (!job->log) return;
    fwrite(event->text.data, 1, event->text.size, job->log);
    if (fflush(job->log) != 0)
        cli_warning("%s/log.jsonl: cannot be written: %s", job->args.out,
                    strerror(errno));
}

static void write_epoch(train_job *job, const scant_train_state *s) {
    AUTO(scant__json_end) scant__json event = {0};
    bool accuracy = train_has_accuracy(job), valid = job->args.train.valid_rows;
    scant__json_open(&event, NULL, '{');
    scant__json_string(&event, "event", "epoch");
    scant__json_size(&event, "epoch", s->epoch);
    scant__json_size(&event, "step", s->step);
    scant__json_number(&event, "loss", s->loss);
    if (accuracy) scant__json_number(&event, "accuracy", s->accuracy);
    scant__json_number(&event, "lr", s->lr);
    if (s->unlabelled_loss >= 0) {
        scant__json_number(&event, "unlabelled_loss", s->unlabelled_loss);
        scant__json_number(&event, "kept", s->kept);
        scant__json_number(&event, "balance", s->balance >= 0 ? s->balance : (double)NAN);
    }
    train_json_signs(&event, s);
    if (valid) scant__json_number(&event, "valid_loss", s->valid_loss);
    if (valid && accuracy)
        scant__json_number(&event, "valid_accuracy", s->valid_accuracy);
    scant__json_number(&event, "seconds", s->seconds);
    scant__json_number(&event, "samples_per_second", s->samples_per_second);
    write_event(job, &event);
}

/* Returns the epochs between log lines. It does not depend on time, so that the same call
 * logs the same epochs. */
static size_t spacing(const scant_train_state *s) {
    enum { LINES = 200, SHORT = 50 };
    return s->steps / s->epochs < SHORT ? (s->epochs + LINES - 1) / LINES : 1;
}

bool train_log_epoch(train_job *job, const scant_train_state *s) {
    bool best = job->args.train.valid_rows &&
                is_best(job, s->epoch, s->valid_loss, s->valid_accuracy);
    bool logged = best || s->stopped || s->epoch % spacing(s) == 0;
    job->unlogged = logged ? (scant_train_state){0} : *s;
    if (logged) write_epoch(job, s);
    return logged;
}

void train_log_end(train_job *job, const char *error) {
    const scant_train_state *s = &job->state;
    AUTO(scant__json_end) scant__json event = {0};
    /* no step was done: the whole old log is valid */
    if (!job->reported && s->epoch) train_open_log(job, SIZE_MAX / 2);
    if (job->unlogged.epoch) write_epoch(job, &job->unlogged);
    job->unlogged.epoch = 0;
    scant__json_open(&event, NULL, '{');
    scant__json_string(&event, "event", "end");
    scant__json_string(&event, "stopped", error ? "failed" : train_stop_name(s->stopped));
    scant__json_size(&event, "step", s->step);
    if (error) scant__json_string(&event, "error", error);
    if (job->evaluated && train_has_accuracy(job))
        scant__json_number(&event, "test_accuracy", job->evaluation.accuracy);
    if (job->evaluated) scant__json_number(&event, "test_loss", job->evaluation.loss);
    write_event(job, &event);
}

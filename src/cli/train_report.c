/* SPDX-License-Identifier: Apache-2.0
 *
 * What people and programs are told of a training.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/train.h"
#include "scant/train.h"

const char *train_stop_name(scant_stop stop) {
    switch (stop) {
    case SCANT_STOP_UNTIL:
        return "until";
    case SCANT_STOP_PATIENCE:
        return "patience";
    case SCANT_STOP_CANCELLED:
        return "cancelled";
    case SCANT_STOP_EPOCHS:
        return "epochs";
    }
    return "failed";
}

static bool has_accuracy(const train_job *job) {
    return !job->args.samples.opts.regression;
}

/* Seconds until the last step, at the pace so far. */
static double time_left(const train_job *job, const scant_train_state *s) {
    double done = (double)(s->step - job->first_step);
    return s->seconds / done * (double)(s->steps - s->step);
}

void train_show(train_job *job, const scant_train_state *s, bool told) {
    scant__text line = CLI_TEXT;
    char left[32];
    scant__text_addf(&line, "epoch %zu/%zu  loss %.4f", s->epoch, s->epochs, s->loss);
    if (has_accuracy(job)) scant__text_addf(&line, "  accuracy %.4f", s->accuracy);
    if (s->unlabelled_loss >= 0)
        scant__text_addf(&line, "  unlabelled %.4f, %.0f%% count", s->unlabelled_loss,
                         100 * s->kept);
    if (s->balance >= 0) scant__text_addf(&line, ", balance %.3f", s->balance);
    if (job->valid && s->valid_loss >= 0) {
        if (has_accuracy(job))
            scant__text_addf(&line, "  validation %.4f", s->valid_accuracy);
        else
            scant__text_addf(&line, "  validation loss %.4f", s->valid_loss);
    }
    scant__text_addf(&line, "  %.0f samples/s", s->samples_per_second);
    if (s->step < s->steps && !s->stopped)
        scant__text_addf(&line, "  %s left",
                         cli_clock(time_left(job, s), left, sizeof left));
    scant__text_bytes(&line, "", 1);
    cli_ui_line(&job->net.ui, line.data, told);
    scant__text_end(&line);
}

/* ---- the result -------------------------------------------------------------------- */

static void json_number(scant__text *text, const char *key, double value, bool known) {
    scant__text_addf(text, ", \"%s\": ", key);
    scant__text_json_number(text, known ? value : (double)NAN);
}

static void json_test(scant__text *text, const train_job *job) {
    scant__text_add(text, ", \"test\": ");
    if (!job->has_judged) {
        scant__text_add(text, "null");
        return;
    }
    scant__text_add(text, "{");
    net_evaluation_json(text, &job->judged, job->has_scaled ? &job->scaled : NULL,
                        !has_accuracy(job));
    scant__text_add(text, "}");
}

/* Whether loss and accuracy are known: where only the test was left to do, no step is
 * reported, and the figures come from the state that was kept. */
static bool has_figures(const train_job *job) {
    return job->reported || job->state.epoch > 0;
}

/* What a method's training says of itself. */
static void add_method(scant__text *text, const train_job *job,
                       const scant_train_state *s) {
    bool known = has_figures(job) && s->unlabelled_loss >= 0;
    scant__text_addf(text, ", \"method\": \"%s\", \"unlabelled\": %zu",
                     job->args.train.method, job->n_unlabelled);
    json_number(text, "unlabelled_loss", s->unlabelled_loss, known);
    json_number(text, "kept", s->kept, known);
    json_number(text, "balance", s->balance, known && s->balance >= 0);
}

static void result_json(scant__text *text, const train_job *job, const char *weights) {
    const scant_train_state *s = &job->state;
    bool known = has_figures(job), timed = job->reported,
         valid = job->valid && s->valid_loss >= 0;
    scant__text_addf(text, "{\"model\": \"%s\", \"parameters\": %zu, \"seed\": \"%llu\"",
                     job->args.model.name, scant_net_parameters(job->network),
                     (unsigned long long)job->args.means.seed);
    scant__text_addf(text, ", \"samples\": %zu, \"epochs\": %zu, \"steps\": %zu",
                     job->rows ? job->n_rows : scant_data_count(job->data),
                     known ? s->epoch : s->epochs, s->step);
    scant__text_addf(text, ", \"stopped\": \"%s\"", train_stop_name(s->stopped));
    json_number(text, "loss", s->loss, known);
    json_number(text, "accuracy", s->accuracy, known && has_accuracy(job));
    if (train_by_method(job)) add_method(text, job, s);
    json_number(text, "valid_loss", s->valid_loss, valid);
    json_number(text, "valid_accuracy", s->valid_accuracy, valid && has_accuracy(job));
    if (job->args.train.patience && job->best.epoch) {
        scant__text_addf(text, ", \"best_epoch\": %zu", job->best.epoch);
        json_number(text, "best_valid_loss", job->best.loss, true);
        json_number(text, "best_valid_accuracy", job->best.accuracy, has_accuracy(job));
    }
    json_number(text, "seconds", s->seconds, timed);
    json_number(text, "samples_per_second", s->samples_per_second, timed);
    json_test(text, job);
    scant__text_add(text, ", \"classes\": ");
    net_names_json(text, job->network);
    scant__text_add(text, ", \"weights\": ");
    scant__text_json(text, weights);
    scant__text_add(text, "}\n");
}

static void add_figures(scant__text *text, const train_job *job, const char *name,
                        double accuracy, double loss) {
    scant__text_addf(text, "%s", name);
    cli_text_pad(text, 12);
    if (has_accuracy(job)) scant__text_addf(text, "accuracy %.4f, ", accuracy);
    scant__text_addf(text, "loss %.4f", loss);
}

static void add_unlabelled(scant__text *text, const train_job *job) {
    const scant_train_state *s = &job->state;
    scant__text_addf(text, "unlabelled  loss %.4f, %.1f%% of %zu samples count",
                     s->unlabelled_loss, 100 * s->kept, job->n_unlabelled);
    if (s->balance >= 0)
        scant__text_addf(text, ", balance of their classes %.4f", s->balance);
    scant__text_add(text, "\n");
}

static void result_text(scant__text *text, const train_job *job, const char *weights) {
    const scant_train_state *s = &job->state;
    const scant_evaluation *e = &job->judged;
    if (has_figures(job)) {
        scant__text_addf(text, "epochs      %zu of %zu", s->epoch, s->epochs);
        if (s->stopped == SCANT_STOP_UNTIL) scant__text_add(text, " (--until)");
        if (s->stopped == SCANT_STOP_PATIENCE) scant__text_add(text, " (--patience)");
        scant__text_add(text, "\n");
        add_figures(text, job, "training", s->accuracy, s->loss);
        scant__text_add(text, "\n");
        if (s->unlabelled_loss >= 0) add_unlabelled(text, job);
    }
    if (job->valid && s->valid_loss >= 0) {
        add_figures(text, job, "validation", s->valid_accuracy, s->valid_loss);
        scant__text_addf(text, " (%zu samples)\n", job->n_valid);
    }
    if (job->args.train.patience && job->best.epoch) {
        add_figures(text, job, "best", job->best.accuracy, job->best.loss);
        scant__text_addf(text, " (validation after epoch %zu: these weights are kept)\n",
                         job->best.epoch);
    }
    if (job->has_judged) {
        add_figures(text, job, "test", e->accuracy, e->loss);
        if (has_accuracy(job))
            scant__text_addf(text, ", calibration error %.4f", e->calibration);
        if (job->has_scaled)
            scant__text_addf(text, ", %.4f at temperature %.4g", job->scaled.error,
                             job->scaled.temperature);
        scant__text_addf(text, " (%zu samples)\n", e->samples);
    }
    scant__text_addf(text, "weights     %s\n", weights);
}

int train_print_result(train_job *job) {
    scant__text json = CLI_TEXT, text = CLI_TEXT;
    char *weights = train_path(job, "weights.safetensors");
    result_json(&json, job, weights);
    result_text(&text, job, weights);
    free(weights);
    int status = train_write(job, "result.json", &json);
    bool wants_json = job->args.format && strcmp(job->args.format, "json") == 0;
    if (status == CLI_DONE)
        status = cli_write_stdout(wants_json ? json.data : text.data,
                                  wants_json ? json.size : text.size);
    scant__text_end(&json);
    scant__text_end(&text);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The live line and the result of a training.
 */
#include <math.h>

#include "cli/train.h"

void train_show(train_job *job, const scant_train_state *s, bool due) {
    AUTO(scant__text_end) scant__text line = {0}; /* freed here: made at every step */
    bool accuracy = train_has_accuracy(job);
    char left[32], names[SCANT_SIGNS_SIZE];
    scant_train_sign_names(s->signs, names);
    scant__text_addf(&line, "epoch %zu/%zu  loss %.4f", s->epoch, s->epochs, s->loss);
    if (accuracy) scant__text_addf(&line, "  accuracy %.4f", s->accuracy);
    if (s->unlabelled_loss >= 0)
        scant__text_addf(&line, "  unlabelled %.4f, %.0f%% count", s->unlabelled_loss,
                         100 * s->kept);
    if (s->balance >= 0) scant__text_addf(&line, ", balance %.3f", s->balance);
    if (job->args.train.valid_rows && s->valid_loss >= 0)
        scant__text_addf(&line, "  validation %s%.4f", accuracy ? "" : "loss ",
                         accuracy ? s->valid_accuracy : s->valid_loss);
    scant__text_addf(&line, "  %.0f samples/s", s->samples_per_second);
    if (s->signs) scant__text_addf(&line, "  MAY BE FAILING: %s", names);
    if (s->step < s->steps && !s->stopped) {
        double done = (double)(s->step - job->first_step);
        double seconds = s->seconds / done * (double)(s->steps - s->step);
        scant__text_addf(&line, "  %s left", cli_clock(seconds, left, sizeof left));
    }
    if (line.data) cli_ui_line(&job->net.ui, line.data, due);
}

/* ---- the result -------------------------------------------------------------------- */

static double if_known(bool known, double value) { return known ? value : (double)NAN; }

/* Whether the loss and accuracy of the training are known. If only the evaluation was
 * left to do, no step was reported, and they come from the checkpoint. */
static bool has_figures(const train_job *job) {
    return job->reported || job->state.epoch > 0;
}

void train_json_signs(scant__json *json, const scant_train_state *s) {
    char names[SCANT_SIGNS_SIZE];
    bool known = s->gradient_norm >= 0;
    scant__json_number(json, "gradient_norm", if_known(known, s->gradient_norm));
    scant__json_number(json, "dead", if_known(known && s->dead >= 0, s->dead));
    if (s->dead_layer)
        scant__json_string(json, "dead_layer", s->dead_layer);
    else
        scant__json_null(json, "dead_layer");
    scant__json_string(json, "signs", scant_train_sign_names(s->signs, names));
}

static void json_method(scant__json *json, const train_job *job) {
    const scant_train_state *s = &job->state;
    const scant_train_opts *o = &job->args.train;
    bool known = has_figures(job) && s->unlabelled_loss >= 0;
    scant__json_string(json, "method", o->method);
    scant__json_size(json, "unlabelled", o->n_unlabelled);
    scant__json_number(json, "unlabelled_loss", if_known(known, s->unlabelled_loss));
    scant__json_number(json, "kept", if_known(known, s->kept));
    scant__json_number(json, "balance", if_known(known && s->balance >= 0, s->balance));
}

static void json_classes(scant__json *json, const scant_net *network) {
    size_t n;
    const char **names = net_class_names(network, NULL, &n);
    if (!names) {
        scant__json_null(json, "classes");
        return;
    }
    scant__json_open(json, "classes", '[');
    for (size_t i = 0; i < n; i++)
        scant__json_string(json, NULL, names[i] ? names[i] : "");
    scant__json_close(json, ']');
}

/* The law that the initial weights were drawn by; null if they are from a file. */
static void json_init(scant__json *json, const train_job *job) {
    const net_args *net = &job->args.net;
    const char *init = net->net.init ? net->net.init : scant_model_find(net->model)->init;
    if (!init || net->weights || job->args.train.warm)
        scant__json_null(json, "init");
    else
        scant__json_string(json, "init", init);
}

static void result_json(scant__json *json, const train_job *job, const char *weights) {
    const scant_train_state *s = &job->state;
    const scant_train_opts *o = &job->args.train;
    const net_args *net = &job->args.net;
    bool known = has_figures(job), accuracy = train_has_accuracy(job);
    bool valid = o->valid_rows && s->valid_loss >= 0;
    scant__json_open(json, NULL, '{');
    scant__json_string(json, "model", net->model);
    scant__json_size(json, "parameters", scant_net_parameters(job->network));
    scant__json_string(json, "seed",
                       cli_format("%llu", (unsigned long long)net->common.seed));
    json_init(json, job);
    scant__json_size(json, "samples", o->n_rows);
    scant__json_size(json, "epochs", known ? s->epoch : s->epochs);
    scant__json_size(json, "steps", s->step);
    scant__json_size(json, "warmup", s->warmup);
    scant__json_string(json, "stopped", train_stop_name(s->stopped));
    scant__json_number(json, "loss", if_known(known, s->loss));
    scant__json_number(json, "accuracy", if_known(known && accuracy, s->accuracy));
    train_json_signs(json, s);
    if (train_by_method(job)) json_method(json, job);
    scant__json_number(json, "valid_loss", if_known(valid, s->valid_loss));
    scant__json_number(json, "valid_accuracy",
                       if_known(valid && accuracy, s->valid_accuracy));
    if (o->patience && job->best.epoch) {
        scant__json_size(json, "best_epoch", job->best.epoch);
        scant__json_number(json, "best_valid_loss", job->best.loss);
        scant__json_number(json, "best_valid_accuracy",
                           if_known(accuracy, job->best.accuracy));
    }
    scant__json_number(json, "seconds", if_known(job->reported, s->seconds));
    scant__json_number(json, "samples_per_second",
                       if_known(job->reported, s->samples_per_second));
    if (job->evaluated)
        net_json_evaluation(json, "test", &job->evaluation,
                            job->calibrated ? &job->scaled : NULL, !accuracy);
    else
        scant__json_null(json, "test");
    json_classes(json, job->network);
    scant__json_string(json, "weights", weights);
    scant__json_close(json, '}');
    scant__text_add(&json->text, "\n");
}

static void add_figures(scant__text *text, const train_job *job, const char *name,
                        double accuracy, double loss) {
    scant__text_addf(text, "%-12s", name);
    if (train_has_accuracy(job)) scant__text_addf(text, "accuracy %.4f, ", accuracy);
    scant__text_addf(text, "loss %.4f", loss);
}

static void add_training(scant__text *text, const train_job *job) {
    const scant_train_state *s = &job->state;
    const char *stop = s->stopped == SCANT_STOP_UNTIL      ? " (--until)"
                       : s->stopped == SCANT_STOP_PATIENCE ? " (--patience)"
                                                           : "";
    char signs[SCANT_SIGNS_TEXT];
    scant__text_addf(text, "epochs      %zu of %zu%s\n", s->epoch, s->epochs, stop);
    add_figures(text, job, "training", s->accuracy, s->loss);
    scant__text_add(text, "\n");
    if (s->signs)
        scant__text_addf(text, "signs       %s\n", scant_train_signs_text(s, signs));
    if (s->unlabelled_loss < 0) return;
    scant__text_addf(text, "unlabelled  loss %.4f, %.1f%% of %zu samples count",
                     s->unlabelled_loss, 100 * s->kept, job->args.train.n_unlabelled);
    if (s->balance >= 0)
        scant__text_addf(text, ", balance of their classes %.4f", s->balance);
    scant__text_add(text, "\n");
}

static void result_text(scant__text *text, const train_job *job, const char *weights) {
    const scant_train_state *s = &job->state;
    const scant_evaluation *e = &job->evaluation;
    const scant_train_opts *o = &job->args.train;
    if (has_figures(job)) add_training(text, job);
    if (o->valid_rows && s->valid_loss >= 0) {
        add_figures(text, job, "validation", s->valid_accuracy, s->valid_loss);
        scant__text_addf(text, " (%zu samples)\n", o->n_valid_rows);
    }
    if (o->patience && job->best.epoch) {
        add_figures(text, job, "best", job->best.accuracy, job->best.loss);
        scant__text_addf(text, " (validation after epoch %zu: these weights are kept)\n",
                         job->best.epoch);
    }
    if (job->evaluated) {
        add_figures(text, job, "test", e->accuracy, e->loss);
        if (train_has_accuracy(job))
            scant__text_addf(text, ", calibration error %.4f", e->calibration);
        if (job->calibrated)
            scant__text_addf(text, ", %.4f at temperature %.4g", job->scaled.error,
                             job->scaled.temperature);
        scant__text_addf(text, " (%zu samples)\n", e->samples);
    }
    scant__text_addf(text, "weights     %s\n", weights);
}

void train_print_result(train_job *job) {
    const char *weights = train_path(job, "weights.safetensors");
    scant__json json = CLI_JSON;
    scant__text text = CLI_TEXT;
    result_json(&json, job, weights);
    result_text(&text, job, weights);
    train_write(job, "result.json", &json.text);
    cli_print(net_is(job->args.format, "json") ? &json.text : &text);
}

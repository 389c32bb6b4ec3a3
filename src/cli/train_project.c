/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train DIR`: trains a model on a project's labels. The network and its training
 * are settings of the project; most flags of other trainings are refused.
 */
#include "cli/project_args.h"
#include "cli/train.h"

static void check_flags(const cli_call *call, const char *dir) {
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(call->command, i, &flag); i++)
        if (call->given[i] &&
            !scant__has_word("seed threads memory quiet progress format", flag.name))
            cli_usage(call->command,
                      "--%s is for a training without a project: '%s' has its own items, "
                      "labels and settings ('scant set %s')",
                      flag.name, dir, dir);
}

/* Reports training; the library reports other phases (features, predictions). */
static void report(void *user, const scant_train_state *state) {
    if (state->steps)
        cli_ui_progress(user, "training", (double)state->step / (double)state->steps);
}

static void print_json(const scant_meter *meter) {
    scant__json json = CLI_JSON;
    scant__json_open(&json, NULL, '{');
    project_json_model(&json, &meter->last);
    project_json_meter(&json, meter);
    scant__json_bool(&json, "stop", meter->stop != 0);
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    cli_print(&json.text);
}

static void print_text(const scant_meter *meter) {
    const scant_model_point *last = &meter->last;
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "model %zu: %zu label%s, %.1f s\naccuracy: ", last->model,
                     last->labels, last->labels == 1 ? "" : "s", last->seconds);
    project_add_accuracy(&text, last);
    scant__text_add(&text, "\n");
    cli_print(&text);
}

void train_project(const cli_call *call) {
    const train_args *args = call->args;
    check_flags(call, call->operand);
    project_job *job = project_open(call, &args->net.common);
    const scant_project_train_opts opts = {
        .seed = args->net.common.seed, .user = &job->net.ui, .report = report};
    scant_meter meter;
    project_try_long(job, scant_project_train(job->project, &opts, NULL),
                     "no new model was stored; the previous one is still used");
    project_try(job, scant_project_meter(job->project, &meter));
    (project_is_json(args->format) ? print_json : print_text)(&meter);
    project_stop(job, &meter);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant train DIR`: trains a model on a project's labels. The network and its training
 * are settings of the project; most flags of other trainings are refused.
 */
#include <math.h>
#include <string.h>

#include "cli/project.h"
#include "cli/train.h"
#include "scant/project.h"

static bool is_allowed(const char *flag) {
    static const char *const allowed[] = {"seed",  "threads",  "memory",
                                          "quiet", "progress", "format"};
    for (size_t i = 0; i < CLI_COUNT_OF(allowed); i++)
        if (strcmp(allowed[i], flag) == 0) return true;
    return false;
}

static int check_flags(const cli_command *command, const bool *seen, const char *dir) {
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++) {
        if (!seen[i] || is_allowed(flag.name)) continue;
        return cli_usage(
            command,
            "--%s is for a training without a project: '%s' has its own items, "
            "labels and settings ('scant set %s')",
            flag.name, dir, dir);
    }
    return CLI_DONE;
}

/* Other phases (features, predictions) are reported by the library. */
static void report(void *user, const scant_train_state *state) {
    if (state->steps)
        cli_ui_progress(user, "training", (double)state->step / (double)state->steps);
}

static int print_json(const scant_meter *meter) {
    scant__json json = {.text = CLI_TEXT};
    scant__json_open(&json, NULL, '{');
    project_json_model(&json, &meter->last);
    project_json_meter(&json, meter);
    scant__json_bool(&json, "stop", meter->stop != 0);
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    return cli_print(&json.text);
}

static int print_text(const scant_meter *meter) {
    const scant_model_point *last = &meter->last;
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "model %zu: %zu label%s, %.1f s\naccuracy: ", last->model,
                     last->labels, last->labels == 1 ? "" : "s", last->seconds);
    project_add_accuracy(&text, last);
    scant__text_add(&text, "\n");
    return cli_print(&text);
}

static int work(project_job *job, const train_args *args) {
    const scant_project_train_opts opts = {
        .seed = args->means.seed, .user = &job->net.ui, .report = report};
    scant_meter meter;
    scant_status done = scant_project_train(job->project, &opts, NULL);
    if (done == SCANT_OK) done = scant_project_meter(job->project, &meter);
    cli_ui_clear(&job->net.ui);
    if (done == SCANT_ECANCELLED) {
        cli_error("interrupted; the previous model is still the last");
        return CLI_INTERRUPTED;
    }
    if (done != SCANT_OK) return project_failed(job, done);
    bool json = args->format && strcmp(args->format, "json") == 0;
    int status = json ? print_json(&meter) : print_text(&meter);
    return status == CLI_DONE ? project_stop(job, &meter) : status;
}

int train_project(const cli_command *command, const train_args *args, const bool *seen,
                  const char *dir) {
    project_job job = {0};
    int status = check_flags(command, seen, dir);
    if (status == CLI_DONE) status = project_open(&job, command, dir, &args->means);
    if (status == CLI_DONE) status = work(&job, args);
    project_end(&job);
    return status;
}

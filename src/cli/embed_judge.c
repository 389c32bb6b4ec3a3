/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed` with labels and classes: names of classes, a fitted temperature, the
 * evaluation of the network.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/embed.h"
#include "scant/train.h"

/* ---- classes by name --------------------------------------------------------------- */

/* Where class names differ, results computed from labels would be wrong: an error. Labels
 * that are only copied keep the data's numbers, with a warning. */
int embed_match(embed_job *job) {
    const embed_args *a = &job->args;
    bool reads = a->labelled || a->evaluate || a->calibrate_on;
    size_t n;
    if (!reads && !a->labels_out) return CLI_DONE;
    const char **names = net_names(job->network, &n);
    scant_status status = names ? scant_data_renumber(job->data, names, n) : SCANT_OK;
    free(names);
    if (status == SCANT_EINPUT && !reads) {
        if (!job->net.ui.quiet)
            cli_warning("%s; --labels-out has the data's own numbers",
                        scant_ctx_errmsg(job->net.ctx));
        return CLI_DONE;
    }
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

bool embed_has_names(const embed_job *job) {
    size_t n;
    const char **names = net_names(job->network, &n);
    bool any = names;
    free(names);
    if (!any)
        cli_error("the network's classes have no names for --classes-out: the samples it "
                  "was trained on had none");
    return any;
}

int embed_write_classes(embed_job *job) {
    size_t n;
    const char **names = net_names(job->network, &n);
    scant__text text = CLI_TEXT;
    scant__text_add(&text, "label,name\n");
    for (size_t i = 0; names && i < n; i++) {
        scant__text_addf(&text, "%zu,", i);
        scant__text_csv(&text, names[i] ? names[i] : "");
        scant__text_add(&text, "\n");
    }
    free(names);
    scant_status status =
        scant_file_write(job->net.ctx, job->args.classes_out, text.data, text.size);
    scant__text_end(&text);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

void embed_tell_classes(const embed_job *job) {
    const embed_args *a = &job->args;
    const size_t most = 12;
    size_t n;
    if (job->net.ui.quiet || a->classes_out) return;
    if (!a->arrays[EMBED_PROBS] && !a->arrays[EMBED_LOGITS] &&
        !a->arrays[EMBED_CALIBRATED])
        return;
    const char **names = net_names(job->network, &n);
    if (!names) return;
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < n && i < most; i++)
        scant__text_addf(&text, "%s%zu %s", i ? ", " : "", i, names[i] ? names[i] : "?");
    if (n > most) scant__text_addf(&text, ", ... (--classes-out FILE lists all %zu)", n);
    cli_note("columns are classes: %.*s", (int)text.size, text.data);
    scant__text_end(&text);
    free(names);
}

/* ---- labels ------------------------------------------------------------------------ */

int embed_fit(embed_job *job) {
    const embed_args *a = &job->args;
    const int32_t *labels = scant_data_labels(job->data);
    size_t *rows, count = 0;
    scant_evaluation e;
    if (!a->calibrate_on) {
        if (cli_read_positive(a->temperature, &job->temperature)) return CLI_DONE;
        return cli_usage(job->net.command,
                         "--temperature wants a number above 0, or fit, not '%s'",
                         a->temperature);
    }
    int status = net_read_rows(&job->net, a->calibrate_on, job->data, &rows, &count);
    for (size_t i = 0; status == CLI_DONE && i < count; i++)
        if (labels[rows[i]] < 0) {
            cli_error("%s: row %zu names sample %zu, which has no label", a->calibrate_on,
                      i, rows[i]);
            status = CLI_BAD_INPUT;
        }
    if (status == CLI_DONE)
        status =
            net_check_labels(&job->args.samples, job->network, job->data, rows, count);
    if (status == CLI_DONE) {
        scant_status fitted =
            scant_net_evaluate(job->network, job->data, rows, count, &e);
        if (fitted != SCANT_OK) status = net_failed(&job->net, fitted);
    }
    job->fitted = rows;
    job->n_fitted = count;
    if (status != CLI_DONE) return status;
    job->temperature = e.temperature;
    cli_ui_clear(&job->net.ui);
    if (!job->net.ui.quiet)
        cli_note("temperature %.4g, fitted to %zu samples", e.temperature, count);
    return CLI_DONE;
}

/* A temperature looks better than it is on samples that it was fitted to. */
static void warn_of_fitted(const embed_job *job, const size_t *rows, size_t count) {
    bool *fitted = cli_calloc(scant_data_count(job->data), sizeof *fitted);
    size_t both = 0;
    for (size_t i = 0; i < job->n_fitted; i++) fitted[job->fitted[i]] = true;
    for (size_t i = 0; i < count; i++) both += fitted[rows[i]];
    free(fitted);
    if (both)
        cli_warning(
            "%zu of the %zu samples of --evaluate are in --calibrate-on, too: the "
            "calibration error with that temperature is too low",
            both, count);
}

static int print_judgement(const embed_job *job, const scant_evaluation *e,
                           const scant_calibration *scaled) {
    bool json = job->args.format && strcmp(job->args.format, "json") == 0;
    bool numbers = scant_data_targets(job->data) != NULL;
    scant__text text = CLI_TEXT;
    if (json) {
        scant__text_add(&text, "{");
        net_evaluation_json(&text, e, scaled, numbers);
        scant__text_add(&text, "}\n");
        return cli_print(&text);
    }
    scant__text_addf(&text, "samples      %zu\n", e->samples);
    if (!numbers) scant__text_addf(&text, "accuracy     %.4f\n", e->accuracy);
    scant__text_addf(&text, "loss         %.4f\n", e->loss);
    if (!numbers) {
        scant__text_addf(&text, "calibration  %.4f (expected calibration error)\n",
                         e->calibration);
        if (scaled)
            scant__text_addf(&text, "calibrated   %.4f (the same at temperature %.4g)\n",
                             scaled->error, scaled->temperature);
        scant__text_addf(&text, "temperature  %.4f (fits these samples best)\n",
                         e->temperature);
    }
    return cli_print(&text);
}

int embed_judge(embed_job *job) {
    size_t count, *rows = net_labelled_rows(job->data, job->rows, job->n, &count);
    scant_evaluation e;
    scant_calibration scaled;
    bool scales = job->args.temperature && !scant_data_targets(job->data);
    if (!count) {
        free(rows);
        cli_error("%s: none of %zu samples has a label (-1 is none)",
                  job->args.samples.spec, job->n);
        return CLI_BAD_INPUT;
    }
    int status =
        net_check_labels(&job->args.samples, job->network, job->data, rows, count);
    if (status == CLI_DONE) {
        scant_status judged =
            scales ? scant_net_evaluate_at(job->network, job->data, rows, count,
                                           job->temperature, &e, &scaled)
                   : scant_net_evaluate(job->network, job->data, rows, count, &e);
        cli_ui_clear(&job->net.ui);
        if (judged == SCANT_OK && scales) warn_of_fitted(job, rows, count);
        status = judged == SCANT_OK ? print_judgement(job, &e, scales ? &scaled : NULL)
                                    : net_failed(&job->net, judged);
    }
    free(rows);
    return status;
}

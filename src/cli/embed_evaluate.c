/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant embed` with labels and classes: class names, a fitted temperature, the
 * evaluation of the network.
 */
#include "cli/embed.h"

/* ---- matching classes by name ------------------------------------------------------ */

/* Differing class names are an error if results are computed from labels: the results
 * would be wrong. Labels that are only copied (--labels-out) keep the data's numbers, and
 * a warning is printed. */
void embed_match(embed_job *job) {
    const embed_args *a = &job->args;
    bool reads = a->labelled || a->evaluate || a->calibrate_on;
    if (!reads && !a->labels_out) return;
    scant_status status = net_match(job->network, NULL, job->data);
    if (status != SCANT_EINPUT || reads)
        net_try(&job->net, status);
    else if (!job->net.ui.quiet)
        cli_warning("%s; --labels-out keeps the data's own class numbers",
                    scant_ctx_errmsg(job->net.ctx));
}

void embed_write_classes(embed_job *job) {
    size_t n;
    const char **names = net_class_names(job->network, NULL, &n);
    scant__text text = CLI_TEXT;
    scant__text_add(&text, "label,name\n");
    for (size_t i = 0; names && i < n; i++) {
        scant__text_addf(&text, "%zu,", i);
        scant__text_csv(&text, names[i] ? names[i] : "");
        scant__text_add(&text, "\n");
    }
    net_try(&job->net,
            scant_file_write(job->net.ctx, job->args.classes_out, text.data, text.size));
}

void embed_note_classes(const embed_job *job) {
    const embed_args *a = &job->args;
    const size_t most = 12;
    size_t n;
    const char **names = net_class_names(job->network, NULL, &n);
    if (!names || job->net.ui.quiet || a->classes_out) return;
    if (!a->arrays[EMBED_PROBS] && !a->arrays[EMBED_LOGITS] &&
        !a->arrays[EMBED_CALIBRATED])
        return;
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < n && i < most; i++)
        scant__text_addf(&text, "%s%zu %s", i ? ", " : "", i, names[i] ? names[i] : "?");
    if (n > most) scant__text_addf(&text, ", ... (--classes-out FILE lists all %zu)", n);
    cli_note("columns are classes: %s", text.data);
}

/* ---- the temperature --------------------------------------------------------------- */

void embed_fit(embed_job *job) {
    const embed_args *a = &job->args;
    const int32_t *labels = scant_data_labels(job->data);
    size_t n;
    scant_evaluation e;
    if (!a->calibrate_on) {
        if (!cli_read_positive(a->temperature, &job->temperature))
            cli_usage(job->net.command,
                      "--temperature is '%s', expected a number above 0, or fit",
                      a->temperature);
        return;
    }
    size_t *rows = net_read_rows(&job->net, a->calibrate_on, job->data, &n);
    for (size_t i = 0; i < n; i++)
        if (labels[rows[i]] < 0)
            cli_die(CLI_BAD_INPUT, "%s: row %zu names sample %zu, which has no label",
                    a->calibrate_on, i, rows[i]);
    net_check_labels(net_labels_file(&a->net), "the network has",
                     scant_net_classes(job->network), job->data, rows, n);
    net_try(&job->net, scant_net_evaluate(job->network, job->data, rows, n, &e));
    job->fitted = rows;
    job->n_fitted = n;
    job->temperature = e.temperature;
    cli_ui_clear(&job->net.ui);
    if (!job->net.ui.quiet)
        cli_note("temperature %.4g, fitted to %zu samples", e.temperature, n);
}

/* ---- the evaluation ---------------------------------------------------------------- */

/* Calibration looks too good on the samples that the temperature was fitted to. */
static void warn_of_fitted(const embed_job *job, const size_t *rows, size_t count) {
    bool *fitted = cli_calloc(scant_data_count(job->data), sizeof *fitted);
    size_t both = 0;
    for (size_t i = 0; i < job->n_fitted; i++) fitted[job->fitted[i]] = true;
    for (size_t i = 0; i < count; i++) both += fitted[rows[i]];
    if (both)
        cli_warning("%zu of the %zu samples of --evaluate are also in --calibrate-on: "
                    "the calibration error with that temperature is too low",
                    both, count);
}

static void print_json(const scant_evaluation *e, const scant_calibration *scaled,
                       bool numbers) {
    scant__json json = CLI_JSON;
    net_json_evaluation(&json, NULL, e, scaled, numbers);
    scant__text_add(&json.text, "\n");
    cli_print(&json.text);
}

static void print_text(const scant_evaluation *e, const scant_calibration *scaled,
                       bool numbers) {
    scant__text text = CLI_TEXT;
    scant__text_addf(&text, "samples      %zu\n", e->samples);
    if (!numbers) scant__text_addf(&text, "accuracy     %.4f\n", e->accuracy);
    scant__text_addf(&text, "loss         %.4f\n", e->loss);
    if (!numbers)
        scant__text_addf(&text, "calibration  %.4f (expected calibration error)\n",
                         e->calibration);
    if (scaled)
        scant__text_addf(&text, "calibrated   %.4f (the same at temperature %.4g)\n",
                         scaled->error, scaled->temperature);
    if (!numbers)
        scant__text_addf(&text, "temperature  %.4f (fits these samples best)\n",
                         e->temperature);
    cli_print(&text);
}

void embed_evaluate(embed_job *job) {
    const embed_args *a = &job->args;
    bool numbers = scant_data_targets(job->data) != NULL;
    bool scales = a->temperature && !numbers;
    size_t count, *rows = net_labelled_rows(job->data, job->rows, job->n, &count);
    scant_evaluation e;
    scant_calibration scaled;
    if (!count)
        cli_die(CLI_BAD_INPUT, "%s: none of %zu samples has a label (-1 is none)",
                a->net.data, job->n);
    net_check_labels(net_labels_file(&a->net), "the network has",
                     scant_net_classes(job->network), job->data, rows, count);
    net_try(&job->net,
            scales ? scant_net_evaluate_at(job->network, job->data, rows, count,
                                           job->temperature, &e, &scaled)
                   : scant_net_evaluate(job->network, job->data, rows, count, &e));
    cli_ui_clear(&job->net.ui);
    if (scales) warn_of_fitted(job, rows, count);
    (net_is(a->format, "json") ? print_json : print_text)(&e, scales ? &scaled : NULL,
                                                          numbers);
}

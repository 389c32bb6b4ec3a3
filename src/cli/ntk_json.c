/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of `scant ntk`: a JSON object, the page, the matrix. Unknown and infinite
 * numbers are null.
 */
#include <math.h>

#include "cli/ntk.h"

typedef struct member {
    const char *key;
    double value;
} member;

/* Adds the members; key not NULL: as an object with that key. */
static void add_members(scant__json *json, const char *key, const member *members,
                        size_t n) {
    if (key) scant__json_open(json, key, '{');
    for (size_t i = 0; i < n; i++)
        scant__json_number(json, members[i].key, members[i].value);
    if (key) scant__json_close(json, '}');
}

static void add_list(scant__json *json, const char *key, const double *values, size_t n) {
    scant__json_open(json, key, '[');
    for (size_t i = 0; i < n; i++) scant__json_number(json, NULL, values[i]);
    scant__json_close(json, ']');
}

/* Returns the network's name on the command line; NULL: none is given. */
static const char *network_name(const net_args *a) {
    return a->from ? a->from : a->model ? a->model : a->weights;
}

static void add_kernel(scant__json *json, const ntk_job *job) {
    const ntk_args *a = &job->args;
    const scant_lab_opts *lab = &a->lab;
    scant__json_string(json, "version", scant_version());
    scant__json_string(json, "data", a->net.data);
    scant__json_size(json, "seed", a->net.common.seed);
    scant__json_size(json, "samples", lab->n);
    scant__json_size(json, "labelled", job->lab->study->labelled);
    scant__json_size(json, "classes", lab->classes);
    scant__json_string(json, "network", network_name(&a->net));
    scant__json_number(json, "parameters",
                       lab->net ? (double)scant_net_parameters(lab->net) : (double)NAN);
    scant__json_string(json, "layers",
                       lab->depth        ? NULL
                       : lab->last_layer ? "last"
                                         : "all");
    scant__json_string(json, "kernel",
                       lab->depth  ? cli_format("ntk:depth=%zu", lab->depth)
                       : lab->full ? "full"
                                   : "reduced");
    if (lab->depth) scant__json_bool(json, "bias", lab->bias);
    scant__json_bool(json, "exact", !lab->sketch);
    const scant_sketch_error *error = job->lab->sketch;
    if (!error) {
        scant__json_null(json, "sketch");
    } else {
        const member rows[] = {{"numbers", (double)lab->sketch},
                               {"judged_on", (double)error->samples},
                               {"error", error->error},
                               {"error_of_another", error->second},
                               {"expected_at_most", error->expected}};
        add_members(json, "sketch", rows, CLI_COUNT_OF(rows));
    }
    scant__json_number(json, "seconds", job->lab->seconds);
}

static void add_spectrum(scant__json *json, const scant_study *s) {
    const member rows[] = {{"largest", s->largest},
                           {"smallest", s->smallest},
                           {"smallest_positive", s->positive},
                           {"rank", (double)s->rank},
                           {"tolerance", s->tolerance},
                           {"condition", s->condition},
                           {"condition_positive", s->positive_condition},
                           {"trace", s->trace},
                           {"effective_dimension", s->dimension},
                           {"alignment", s->alignment},
                           {"alignment_part", s->alignment_part},
                           {"bound", s->bound},
                           {"jitter", s->jitter}};
    add_members(json, NULL, rows, CLI_COUNT_OF(rows));
}

/* Adds E_t^2 (scant_descent), the squared error after t steps, and its bounds. */
static void add_theorem1(scant__json *json, const scant_study *s) {
    static const double times[] = {1, 2, 5, 10, 20, 50, 100, 1000, 10000};
    if (!s->energy || !(s->largest > 0)) {
        scant__json_null(json, "theorem1");
        return;
    }
    scant__json_open(json, "theorem1", '{');
    scant__json_number(json, "rate", s->rate);
    scant__json_bool(json, "applies", s->rate * s->largest <= 1 + 1e-12);
    scant__json_open(json, "points", '[');
    for (size_t i = 0; i < CLI_COUNT_OF(times); i++) {
        scant_descent d = scant_study_descent(s, s->rate, times[i]);
        const member rows[] = {
            {"t", times[i]}, {"left", d.left}, {"low", d.low}, {"high", d.high}};
        scant__json_open(json, NULL, '{');
        add_members(json, NULL, rows, CLI_COUNT_OF(rows));
        scant__json_close(json, '}');
    }
    scant__json_close(json, ']');
    scant__json_close(json, '}');
}

static void add_theorem2(scant__json *json, const scant_study *s) {
    const member rows[] = {
        {"value", s->half_square},    {"low", s->low},
        {"high", s->low * s->factor}, {"high_kantorovich", s->low * s->sharp_factor},
        {"factor", s->factor},        {"factor_kantorovich", s->sharp_factor}};
    if (s->energy && isfinite(s->half_square))
        add_members(json, "theorem2", rows, CLI_COUNT_OF(rows));
    else
        scant__json_null(json, "theorem2");
}

static void add_training(scant__json *json, const scant_study *s) {
    const member rows[] = {{"rate", s->rate},
                           {"stable_rate", s->stable_rate},
                           {"stable_rate_mean_loss", s->mean_rate},
                           {"sufficient_rate", s->sufficient_rate},
                           {"contraction", s->contraction},
                           {"steps_to_tenth", s->tenth},
                           {"steps_to_hundredth", s->hundredth},
                           {"loss_now", scant_study_loss(s, s->rate, 0)},
                           {"loss_steps_to_tenth", s->start_tenth},
                           {"loss_steps_to_hundredth", s->start_hundredth},
                           {"dynamics", s->dynamics}};
    add_members(json, "training", rows, CLI_COUNT_OF(rows));
}

static void add_agreement(scant__json *json, const scant_agreement *g) {
    const member rows[] = {{"sets", (double)g->sets},
                           {"start", (double)g->start},
                           {"draw", (double)g->draw},
                           {"tau", g->tau},
                           {"p", g->p}};
    scant__json_open(json, "agreement", '{');
    add_members(json, NULL, rows, CLI_COUNT_OF(rows));
    add_list(json, "dynamics", g->dynamics, g->sets);
    add_list(json, "alignment", g->alignment, g->sets);
    scant__json_close(json, '}');
}

static void add_infinite(scant__json *json, const scant_infinite *g) {
    const member rows[] = {{"depth", (double)g->depth},
                           {"difference", g->frobenius},
                           {"spectral_difference", g->spectral},
                           {"largest_difference", g->entry}};
    add_members(json, "infinite", rows, CLI_COUNT_OF(rows));
}

static void add_descent(scant__json *json, const scant_lab *lab) {
    const member rows[] = {{"steps", (double)lab->steps},
                           {"rate", lab->rate},
                           {"smallest", lab->smallest},
                           {"theorem_factor", lab->factor},
                           {"steps_above", (double)lab->steps_above},
                           {"eigenvalues_moved", lab->eigenvalues_moved},
                           {"kernel_moved", lab->kernel_moved}};
    scant__json_open(json, "descent", '{');
    add_members(json, NULL, rows, CLI_COUNT_OF(rows));
    add_list(json, "losses", lab->losses, lab->steps + 1);
    add_list(json, "predicted", lab->predicted, lab->steps + 1);
    scant__json_close(json, '}');
}

static void add_regression(scant__json *json, const ntk_job *job) {
    const scant_regression *r = job->lab->regression;
    const member rows[] = {
        {"ridge", r->ridge},
        {"jitter", r->jitter},
        {"train_accuracy", r->train_accuracy},
        {"train_error", r->train_error},
        {"test_samples", (double)r->tests},
        {"test_accuracy", r->test_accuracy},
        {"test_error", r->test_error},
    };
    scant__json_open(json, "regression", '{');
    scant__json_string(json, "start", job->args.lab.net ? "network" : "zero");
    add_members(json, NULL, rows, CLI_COUNT_OF(rows));
    scant__json_close(json, '}');
}

void ntk_write(ntk_job *job) {
    const scant_lab *lab = job->lab;
    scant__json json = {.text = CLI_TEXT, .lines = 1};
    scant__json_open(&json, NULL, '{');
    add_kernel(&json, job);
    add_spectrum(&json, lab->study);
    add_theorem1(&json, lab->study);
    add_theorem2(&json, lab->study);
    add_training(&json, lab->study);
    if (job->args.against) {
        scant__json_size(&json, "against", job->args.lab.n_against);
        scant__json_number(&json, "mmd", lab->mmd);
    }
    if (lab->agreement) add_agreement(&json, lab->agreement);
    if (lab->infinite) add_infinite(&json, lab->infinite);
    if (lab->losses) add_descent(&json, lab);
    if (lab->regression) add_regression(&json, job);
    add_list(&json, "eigenvalues", lab->study->values, lab->study->n_values);
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    if (job->args.out)
        net_try(&job->net, scant_file_write(job->net.ctx, job->args.out, json.text.data,
                                            json.text.size));
    else
        cli_print(&json.text);
}

static const char *title(const ntk_args *a) {
    const char *slash = strrchr(a->net.data, '/'), *network = network_name(&a->net);
    scant__text text = CLI_TEXT;
    scant__text_add(&text, "The kernel ");
    if (a->lab.depth) scant__text_addf(&text, "ntk:depth=%zu ", a->lab.depth);
    if (network)
        scant__text_addf(&text, "of %s%s ", a->lab.depth ? "the features of " : "",
                         network);
    scant__text_addf(&text, "on %s", slash && slash[1] ? slash + 1 : a->net.data);
    return text.data;
}

void ntk_write_page(ntk_job *job) {
    scant_ctx *ctx = job->net.ctx;
    void *bytes;
    size_t size;
    net_try(&job->net, scant_lab_page(ctx, job->lab, title(&job->args), &bytes, &size));
    net_try(&job->net, scant_file_write(ctx, job->args.page, bytes, size));
    scant_bytes_free(ctx, bytes);
}

static scant_status write_kernel(const ntk_job *job) {
    size_t side = job->lab->study->samples * job->lab->study->outputs;
    scant_writer *writer;
    TRY(scant_writer_open(job->net.ctx, job->args.kernel_out, SCANT_F64, 2,
                          (size_t[]){side, side}, &writer));
    scant_status status =
        scant_writer_append(writer, job->lab->kernel, side * side * sizeof(double));
    if (status == SCANT_OK) return scant_writer_finish(writer);
    scant_writer_free(writer);
    return status;
}

void ntk_write_kernel(ntk_job *job) { net_try(&job->net, write_kernel(job)); }

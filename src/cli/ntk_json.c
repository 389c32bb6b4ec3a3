/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of `scant ntk`: a JSON object, the page, the matrix. Unknown and infinite
 * numbers are null.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/ntk.h"

static void add_number(scant__text *text, const char *key, double value) {
    scant__text_addf(text, "\"%s\": ", key);
    scant__text_json_number(text, value);
}

static void add_line(scant__text *text, const char *key, double value) {
    scant__text_add(text, ",\n  ");
    add_number(text, key, value);
}

typedef struct member {
    const char *key;
    double value;
} member;

/* Without braces. */
static void add_members(scant__text *text, const member *members, size_t n,
                        const char *between) {
    for (size_t i = 0; i < n; i++) {
        scant__text_add(text, i ? between : "");
        add_number(text, members[i].key, members[i].value);
    }
}

static void add_list(scant__text *text, const char *key, const double *values, size_t n) {
    scant__text_addf(text, "\"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        scant__text_add(text, i ? ", " : "");
        scant__text_json_number(text, values[i]);
    }
    scant__text_add(text, "]");
}

/* What the call names it by; NULL: it names none. */
static const char *network_name(const ntk_job *job) {
    const ntk_args *a = &job->args;
    return a->from ? a->from : a->model.name ? a->model.name : a->model.weights;
}

static void add_network(scant__text *text, const ntk_job *job) {
    const char *name = network_name(job);
    scant__text_add(text, "  \"network\": ");
    if (name) {
        scant__text_json(text, name);
        scant__text_addf(text, ",\n  \"parameters\": %zu,\n",
                         scant_net_parameters(job->network));
    } else {
        scant__text_add(text, "null,\n  \"parameters\": null,\n");
    }
    if (job->opts.depth)
        scant__text_addf(text,
                         "  \"layers\": null,\n  \"kernel\": \"ntk:depth=%zu\",\n"
                         "  \"bias\": %s",
                         job->opts.depth, job->args.bias ? "true" : "false");
    else
        scant__text_addf(text, "  \"layers\": \"%s\",\n  \"kernel\": \"%s\"",
                         job->opts.last_layer ? "last" : "all",
                         job->args.full ? "full" : "reduced");
}

static void add_kernel(scant__text *text, const ntk_job *job) {
    const ntk_args *a = &job->args;
    scant__text_addf(text, "{\n  \"version\": \"%s\",\n  \"data\": ", scant_version());
    scant__text_json(text, a->samples.spec);
    scant__text_addf(text, ",\n  \"seed\": %" PRIu64 ",\n  \"samples\": %zu,\n",
                     a->means.seed, job->n);
    scant__text_addf(text, "  \"labelled\": %zu,\n  \"classes\": %zu,\n",
                     job->lab->study->labelled, job->classes);
    add_network(text, job);
    scant__text_addf(text,
                     ",\n  \"exact\": %s,\n  \"sketch\": ", a->sketch ? "false" : "true");
    if (!a->sketch) {
        scant__text_add(text, "null");
    } else {
        scant__text_addf(text, "{\"numbers\": %zu, \"judged_on\": %zu, ", a->sketch,
                         job->lab->sketch->samples);
        add_number(text, "error", job->lab->sketch->error);
        scant__text_add(text, ", ");
        add_number(text, "error_of_another", job->lab->sketch->second);
        scant__text_add(text, ", ");
        add_number(text, "expected_at_most", job->lab->sketch->expected);
        scant__text_add(text, "}");
    }
    add_line(text, "seconds", job->lab->seconds);
}

static void add_spectrum(scant__text *text, const scant_study *s) {
    add_line(text, "largest", s->largest);
    add_line(text, "smallest", s->smallest);
    add_line(text, "smallest_positive", s->positive);
    scant__text_addf(text, ",\n  \"rank\": %zu", s->rank);
    add_line(text, "tolerance", s->tolerance);
    add_line(text, "condition", s->condition);
    add_line(text, "condition_positive", s->positive_condition);
    add_line(text, "trace", s->trace);
    add_line(text, "effective_dimension", s->dimension);
}

/* E_t^2 at a few t, as far as it takes to a hundredth. */
static void add_theorem1(scant__text *text, const scant_study *s) {
    static const double times[] = {1, 2, 5, 10, 20, 50, 100, 1000, 10000};
    scant__text_add(text, ",\n  \"theorem1\": ");
    if (!s->energy || !(s->largest > 0)) {
        scant__text_add(text, "null");
        return;
    }
    scant__text_add(text, "{");
    add_number(text, "rate", s->rate);
    scant__text_addf(text, ", \"applies\": %s, \"points\": [",
                     s->rate * s->largest <= 1 + 1e-12 ? "true" : "false");
    for (size_t i = 0; i < CLI_COUNT_OF(times); i++) {
        scant_descent d = scant_study_descent(s, s->rate, times[i]);
        scant__text_addf(text, "%s\n    {\"t\": %.0f, ", i ? "," : "", times[i]);
        add_number(text, "left", d.left);
        scant__text_add(text, ", ");
        add_number(text, "low", d.low);
        scant__text_add(text, ", ");
        add_number(text, "high", d.high);
        scant__text_add(text, "}");
    }
    scant__text_add(text, "\n  ]}");
}

static void add_theorem2(scant__text *text, const scant_study *s) {
    scant__text_add(text, ",\n  \"theorem2\": ");
    if (!s->energy || !isfinite(s->half_square)) {
        scant__text_add(text, "null");
        return;
    }
    const member rows[] = {
        {"value", s->half_square},    {"low", s->low},
        {"high", s->low * s->factor}, {"high_kantorovich", s->low * s->sharp_factor},
        {"factor", s->factor},        {"factor_kantorovich", s->sharp_factor}};
    scant__text_add(text, "{");
    add_members(text, rows, CLI_COUNT_OF(rows), ", ");
    scant__text_add(text, "}");
}

static void add_training(scant__text *text, const scant_study *s) {
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
    scant__text_add(text, ",\n  \"training\": {\n    ");
    add_members(text, rows, CLI_COUNT_OF(rows), ",\n    ");
    scant__text_add(text, "\n  }");
}

static void add_measurements(scant__text *text, const ntk_job *job) {
    if (job->args.against) {
        scant__text_addf(text, ",\n  \"against\": %zu", job->n_against);
        add_line(text, "mmd", job->lab->mmd);
    }
    if (job->lab->agreement) {
        const scant_agreement *g = job->lab->agreement;
        scant__text_addf(text,
                         ",\n  \"agreement\": {\"sets\": %zu, \"start\": %zu, \"draw\": "
                         "%zu, ",
                         g->sets, g->start, g->draw);
        add_number(text, "tau", g->tau);
        scant__text_add(text, ", ");
        add_number(text, "p", g->p);
        scant__text_add(text, ",\n    ");
        add_list(text, "dynamics", g->dynamics, g->sets);
        scant__text_add(text, ",\n    ");
        add_list(text, "alignment", g->alignment, g->sets);
        scant__text_add(text, "}");
    }
    if (job->lab->losses) {
        size_t n = job->args.descend;
        scant__text_addf(text, ",\n  \"descent\": {\"steps\": %zu, ", n);
        add_number(text, "rate", job->lab->rate);
        scant__text_add(text, ", ");
        add_number(text, "smallest", job->lab->smallest);
        scant__text_add(text, ", ");
        add_number(text, "theorem_factor", job->lab->factor);
        scant__text_addf(text, ", \"steps_above\": %zu,\n    ", job->lab->steps_above);
        add_list(text, "losses", job->lab->losses, n + 1);
        scant__text_add(text, ",\n    ");
        add_list(text, "predicted", job->lab->predicted, n + 1);
        scant__text_add(text, ",\n    ");
        add_number(text, "eigenvalues_moved", job->lab->eigenvalues_moved);
        scant__text_add(text, ", ");
        add_number(text, "kernel_moved", job->lab->kernel_moved);
        scant__text_add(text, "}");
    }
}

static void add_regression(scant__text *text, const ntk_job *job) {
    const scant_regression *r = job->lab->regression;
    if (!r) return;
    const member rows[] = {
        {"ridge", r->ridge},
        {"jitter", r->jitter},
        {"train_accuracy", r->train_accuracy},
        {"train_error", r->train_error},
        {"test_samples", (double)r->tests},
        {"test_accuracy", r->test_accuracy},
        {"test_error", r->test_error},
    };
    scant__text_addf(text, ",\n  \"regression\": {\"start\": \"%s\", ",
                     job->network ? "network" : "zero");
    add_members(text, rows, CLI_COUNT_OF(rows), ", ");
    scant__text_add(text, "}");
}

int ntk_write(ntk_job *job) {
    const scant_study *s = job->lab->study;
    scant__text text = CLI_TEXT;
    add_kernel(&text, job);
    add_spectrum(&text, s);
    add_line(&text, "alignment", s->alignment);
    add_line(&text, "alignment_part", s->alignment_part);
    add_line(&text, "bound", s->bound);
    add_line(&text, "jitter", s->jitter);
    add_theorem1(&text, s);
    add_theorem2(&text, s);
    add_training(&text, s);
    add_measurements(&text, job);
    add_regression(&text, job);
    scant__text_add(&text, ",\n  ");
    add_list(&text, "eigenvalues", s->values, s->n_values);
    scant__text_add(&text, "\n}\n");
    if (!job->args.out) return cli_print(&text);
    scant_status status =
        scant_file_write(job->net.ctx, job->args.out, text.data, text.size);
    scant__text_end(&text);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

static void add_title(scant__text *title, const ntk_job *job) {
    const char *slash = strrchr(job->args.samples.spec, '/');
    const char *data = slash && slash[1] ? slash + 1 : job->args.samples.spec;
    const char *network = network_name(job);
    scant__text_add(title, "The kernel ");
    if (job->opts.depth) scant__text_addf(title, "ntk:depth=%zu ", job->opts.depth);
    if (network)
        scant__text_addf(title, "of %s%s ", job->opts.depth ? "the features of " : "",
                         network);
    scant__text_addf(title, "on %s", data);
    scant__text_bytes(title, "", 1);
}

int ntk_write_page(ntk_job *job) {
    scant__text title = CLI_TEXT;
    void *bytes;
    size_t size;
    add_title(&title, job);
    scant_status status =
        scant_lab_page(job->net.ctx, job->lab, title.data, &bytes, &size);
    if (status == SCANT_OK)
        status = scant_file_write(job->net.ctx, job->args.page, bytes, size);
    scant_bytes_free(job->net.ctx, bytes);
    scant__text_end(&title);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

int ntk_write_kernel(ntk_job *job) {
    size_t side = job->lab->study->samples * job->lab->study->outputs;
    size_t shape[] = {side, side};
    scant_writer *writer;
    scant_status status = scant_writer_open(job->net.ctx, job->args.kernel_out, SCANT_F64,
                                            2, shape, &writer);
    if (status != SCANT_OK) return net_failed(&job->net, status);
    status = scant_writer_append(writer, job->lab->kernel, side * side * sizeof(double));
    if (status == SCANT_OK)
        status = scant_writer_finish(writer);
    else
        scant_writer_free(writer);
    return status == SCANT_OK ? CLI_DONE : net_failed(&job->net, status);
}

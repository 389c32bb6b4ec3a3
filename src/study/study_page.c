/* SPDX-License-Identifier: Apache-2.0
 *
 * A page about a kernel: charts, and every number with its meaning. No script.
 */
#include <math.h>

#include "core/size.h"
#include "report/page.h"
#include "study/study_charts.h"

static void add_value(scant__text *out, double value) {
    if (isnan(value))
        scant__text_add(out, "\xe2\x80\x93"); /* a dash */
    else if (isinf(value))
        scant__text_add(out, "\xe2\x88\x9e");
    else
        scant__text_number(out, value, 4);
}

static void add_figure(scant__text *out, const char *name, double value,
                       const char *what) {
    report_addf(out, "<div class=\"figure\"><span>%s</span><b>", name);
    add_value(out, value);
    report_addf(out, "</b><span>%s</span></div>\n", what);
}

static void add_figures(scant__text *out, const scant_study *s) {
    scant__text_add(out, "<div class=\"figures\">\n");
    add_figure(out, "Smallest eigenvalue", s->positive,
               "above 0: the speed of the slowest direction");
    add_figure(out, "Condition", s->condition, "largest over smallest eigenvalue");
    if (s->energy) {
        add_figure(out, "Alignment", s->alignment_part,
                   "of labels with the kernel, 0 to 1");
        add_figure(out, "Bound B", s->bound, "of the test error: less is better");
    }
    add_figure(out, "Stable rate", s->stable_rate, "above it gradient descent diverges");
    scant__text_add(out, "</div>\n");
}

typedef struct row {
    const char *name;
    double value;
    const char *what;
} row;

/* Rows whose value is NaN are left out. */
static void add_table(scant__text *out, const row *rows, size_t n) {
    scant__text_add(out, "<div class=\"scroll\" tabindex=\"0\"><table><tbody>\n");
    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].value)) continue;
        report_addf(out, "<tr><th scope=\"row\">%s</th><td>", rows[i].name);
        add_value(out, rows[i].value);
        report_addf(out, "</td><td class=\"says\">%s</td></tr>\n", rows[i].what);
    }
    scant__text_add(out, "</tbody></table></div></section>\n");
}

static void add_numbers(scant__text *out, const scant_lab *v) {
    const scant_study *s = v->study;
    double t1 = scant_study_descent(s, s->rate, 1).left;
    const row rows[] = {
        {"samples", (double)s->samples, "of the kernel"},
        {"rows per sample", (double)s->outputs,
         "1: the mean over outputs; otherwise one for each output"},
        {"rank", (double)s->rank, "eigenvalues that are not 0 up to rounding"},
        {"effective dimension", s->dimension, "directions that hold most of the trace"},
        {"trace", s->trace, "sum of eigenvalues: the gradients' squared lengths"},
        {"largest eigenvalue", s->largest, "of the direction that is learnt first"},
        {"smallest eigenvalue", s->smallest,
         "as computed; rounding error if the kernel is singular"},
        {"condition above 0", s->positive_condition,
         "largest over smallest eigenvalue above 0"},
        {"alignment A", s->alignment, "sum of the kernel over pairs of the same class"},
        {"jitter", s->jitter, "added to the diagonal, since B needs a definite kernel"},
        {"(n/2) B\xc2\xb2", s->half_square, "bounded by theorem 2"},
        {"theorem 2, low", s->low, "n\xc2\xb2/A, the lower bound"},
        {"theorem 2, high", s->low * s->factor, "low times the condition"},
        {"theorem 2, sharper", s->low * s->sharp_factor,
         "low times Kantorovich's factor"},
        {"rate", s->rate, "of gradient descent in the rows below"},
        {"sufficient rate", s->sufficient_rate,
         "smallest over largest squared, as proofs require"},
        {"contraction", s->contraction,
         "of the error in one step, in its slowest direction"},
        {"error after one step", t1, "|f \xe2\x88\x92 Y|\xc2\xb2, from outputs of 0"},
        {"steps to a tenth", s->tenth, "of the error, from outputs of 0"},
        {"steps to a hundredth", s->hundredth, "of the error, from outputs of 0"},
        {"steps to a tenth of the loss", s->start_tenth,
         "from the network's present outputs"},
        {"steps to a hundredth of the loss", s->start_hundredth,
         "from the network's present outputs"},
        {"training dynamics G", s->dynamics,
         "decrease of the loss now, per unit of rate"},
        {"distance (MMD)", v->against ? v->mmd : (double)NAN,
         "between the samples and those of --against"},
        {"distance to infinite width", v->infinite ? v->infinite->frobenius : (double)NAN,
         "relative Frobenius norm of the kernels' difference (CRC's theorem 1)"},
    };
    page_section_begin(out, "numbers", "Numbers", NULL);
    add_table(out, rows, sizeof rows / sizeof *rows);
}

/* ---- sections ---------------------------------------------------------------------- */

typedef void (*study_chart)(scant__text *out, const scant_lab *v, chart_form form);

static void add_section(scant__text *out, const scant_lab *v, const char *id,
                        const char *title, const char *note, study_chart draw) {
    page_section_begin(out, id, title, NULL);
    report_addf(out, "<p class=\"note\">%s</p>\n", note);
    draw(out, v, CHART_WIDE);
    draw(out, v, CHART_NARROW);
    scant__text_add(out, "</section>\n");
}

static scant_status add_heat(scant__text *out, const scant_lab *v) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = out->ctx};
    study_heat *heat = TRY_NEW(&arena, study_heat, 1);
    size_t *order = TRY_NEW(&arena, size_t, v->study->samples);
    study_heat_of(v, order, heat);
    page_section_begin(out, "kernel", "The kernel", NULL);
    scant__text_add(
        out, "<p class=\"note\">Cosines between the gradients of samples, sorted by "
             "class; lines separate the classes. Dark blocks on the diagonal: "
             "samples of one class have similar gradients. ");
    if (heat->cells < v->study->samples)
        report_addf(
            out,
            "Each square is the mean over about %zu by %zu samples, without pairs "
            "of a sample with itself.",
            v->study->samples / heat->cells, v->study->samples / heat->cells);
    scant__text_add(out, "</p>\n");
    study_chart_heat(out, heat, CHART_WIDE);
    study_chart_heat(out, heat, CHART_NARROW);
    scant__text_add(out, "</section>\n");
    return SCANT_OK;
}

static void add_alerts(scant__text *out, const scant_lab *v) {
    const scant_study *s = v->study;
    size_t rows = s->samples * s->outputs;
    if (s->rank < rows)
        report_addf(
            out,
            "<p class=\"alert\"><b>The kernel is singular</b>: %zu of its %zu "
            "eigenvalues are 0 up to rounding. Either samples occur twice, or there are "
            "more samples than the layers can tell apart. Part of the labels cannot be "
            "learnt with this kernel.</p>\n",
            rows - s->rank, rows);
    if (v->sketch)
        report_addf(out,
                    "<p class=\"alert\"><b>From a sketch</b>: its error, measured on %zu "
                    "samples, "
                    "is %.1f %% of the kernel (%.1f %% with an independent sketch; "
                    "theory expects "
                    "at most %.1f %%).</p>\n",
                    v->sketch->samples, 100 * v->sketch->error, 100 * v->sketch->second,
                    100 * v->sketch->expected);
}

static void add_agreement(scant__text *out, const scant_lab *v) {
    const scant_agreement *g = v->agreement;
    add_section(out, v, "agreement", "Alignment and dynamics",
                "A dot for each random set of samples. If the dots rise together, the "
                "alignment of a set predicts how fast it trains.",
                study_chart_agreement);
    report_addf(out, "<p class=\"soft\">%zu sets of %zu + %zu samples: Kendall's tau ",
                g->sets, g->start, g->draw);
    add_value(out, g->tau);
    scant__text_add(out, ", p ");
    add_value(out, g->p);
    scant__text_add(out, ".</p>\n");
}

static void add_descent(scant__text *out, const scant_lab *v) {
    add_section(
        out, v, "descent", "Descent",
        "Gradient descent on the squared loss, summed over all samples, and the "
        "prediction of the kernel before the first step. Where the curves differ, the "
        "kernel has changed during training.",
        study_chart_descent);
    scant__text_add(out, "<p class=\"soft\">At a rate of ");
    add_value(out, v->rate);
    scant__text_add(out, " no eigenvalue moved by more than ");
    add_value(out, v->eigenvalues_moved);
    scant__text_add(out, ". The bound on that is the kernel's change in the spectral "
                         "norm, ");
    add_value(out, v->kernel_moved);
    scant__text_add(out, ".</p>\n");
}

/* Accuracies are NaN for regression targets, and have no row then. */
static void add_regression(scant__text *out, const scant_regression *r) {
    const row rows[] = {
        {"training accuracy", r->train_accuracy, "on the fitted samples"},
        {"training error", r->train_error, "mean squared error over samples and outputs"},
        {"test samples", (double)r->tests, "not used in the fit"},
        {"test accuracy", r->test_accuracy, "of the fit's predictions"},
        {"test error", r->test_error, "mean squared error over samples and outputs"},
        {"ridge", r->ridge, "added to the kernel's diagonal; 0 fits every label"},
        {"jitter", r->jitter, "added as well if the kernel has no inverse"},
    };
    page_section_begin(out, "regression", "Regression", NULL);
    scant__text_add(out,
                    "<p class=\"note\">The labels fitted with the kernel: the limit of "
                    "training if the kernel does not change.</p>\n");
    add_table(out, rows, sizeof rows / sizeof *rows);
}

static scant_status add_page(scant__text *out, const scant_lab *v, const char *title) {
    const scant_study *s = v->study;
    page_begin(out, title, false);
    scant__text_add(out, "td.says{text-align:left;white-space:normal;color:var(--soft)}");
    page_begin_body(out, title);
    report_addf(out,
                "<p class=\"lead\">What the tangent kernel of %zu samples predicts about "
                "training.</p></header>\n<main>\n",
                s->samples);
    add_alerts(out, v);
    add_figures(out, s);
    add_section(
        out, v, "spectrum", "Spectrum",
        "An eigenvalue is the speed at which its direction is learnt. If the curve "
        "falls steeply, few directions are learnt fast and the others slowly.",
        study_chart_spectrum);
    if (s->energy && s->labelled)
        add_section(out, v, "labels", "Labels along the eigenvectors",
                    "The share of the labels along the eigenvectors of the largest "
                    "eigenvalues. The sooner it rises, the fewer steps training takes.",
                    study_chart_labels);
    if (v->k) TRY(add_heat(out, v));
    if (v->losses) add_descent(out, v);
    if (v->agreement) add_agreement(out, v);
    if (v->regression) add_regression(out, v->regression);
    add_numbers(out, v);
    report_addf(out, "</main>\n<footer>Made by scant %s.</footer>\n</body>\n</html>\n",
                scant_version());
    return SCANT_OK;
}

scant_status scant_lab_page(scant_ctx *ctx, const scant_lab *lab, const char *title,
                            void **bytes, size_t *size) {
    NEED(ctx && lab);
    AUTO(scant__text_end) scant__text out = {.ctx = ctx};
    char *text = NULL;
    *bytes = NULL;
    *size = 0;
    TRY(add_page(&out, lab, title));
    TRY(scant__text_take(&out, &text, size));
    *bytes = text;
    return SCANT_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A page about a kernel: charts, and every number with what it means. No script.
 */
#include <math.h>

#include "core/size.h"
#include "report/page.h"
#include "scant/study.h"
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
    scant__text_addf(out, "<div class=\"figure\"><span>%s</span><b>", name);
    add_value(out, value);
    scant__text_addf(out, "</b><span>%s</span></div>\n", what);
}

static void add_figures(scant__text *out, const scant_study *s) {
    scant__text_add(out, "<div class=\"figures\">\n");
    add_figure(out, "Smallest eigenvalue", s->positive,
               "of those above 0: how fast the slowest direction is learnt");
    add_figure(out, "Condition", s->condition, "largest over smallest eigenvalue");
    if (s->energy)
        add_figure(out, "Alignment", s->alignment_part,
                   "of labels with the kernel, 0 to 1");
    if (s->energy)
        add_figure(out, "Bound B", s->bound,
                   "of the error on other samples: less is "
                   "better");
    add_figure(out, "Stable rate", s->stable_rate, "above it gradient descent diverges");
    scant__text_add(out, "</div>\n");
}

typedef struct row {
    const char *name;
    double value;
    const char *what;
} row;

static void add_rows(scant__text *out, const row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].value)) continue;
        scant__text_addf(out, "<tr><th scope=\"row\">%s</th><td>", rows[i].name);
        add_value(out, rows[i].value);
        scant__text_addf(out, "</td><td class=\"says\">%s</td></tr>\n", rows[i].what);
    }
}

static void add_numbers(scant__text *out, const scant_study_view *v) {
    const scant_study *s = v->study;
    double t1 = scant_study_descent(s, s->rate, 1).left;
    const row rows[] = {
        {"samples", (double)s->samples, "that the kernel is between"},
        {"rows a sample", (double)s->outputs,
         "1: the mean over outputs; else one for each output"},
        {"rank", (double)s->rank, "eigenvalues that are not 0 but for rounding"},
        {"effective dimension", s->dimension, "directions that hold most of the trace"},
        {"trace", s->trace, "sum of eigenvalues: the gradients' squared lengths"},
        {"largest eigenvalue", s->largest, "the direction that is learnt first"},
        {"smallest eigenvalue", s->smallest,
         "of all, as computed: of a singular kernel rounding"},
        {"condition of what is above 0", s->positive_condition,
         "how unequal the speeds are at which directions are learnt"},
        {"alignment A", s->alignment, "sum of the kernel over pairs of one class"},
        {"jitter", s->jitter, "added to the diagonal, as B needs a definite kernel"},
        {"(n/2) B\xc2\xb2", s->half_square, "what theorem 2 bounds"},
        {"theorem 2, low", s->low, "n\xc2\xb2/A: below what that can never be"},
        {"theorem 2, high", s->low * s->factor, "low times the condition"},
        {"theorem 2, sharper", s->low * s->sharp_factor,
         "low times Kantorovich's factor"},
        {"rate", s->rate, "that the following is of"},
        {"sufficient rate", s->sufficient_rate,
         "smallest over largest squared: what proofs ask for"},
        {"contraction", s->contraction, "of the error, a step, in its slowest direction"},
        {"error after a step", t1, "|f \xe2\x88\x92 Y|\xc2\xb2, from outputs of 0"},
        {"steps to a tenth", s->tenth, "of the error, from outputs of 0"},
        {"steps to a hundredth", s->hundredth, "likewise"},
        {"steps to a tenth of the loss", s->start_tenth,
         "from what the network says now"},
        {"steps to a hundredth", s->start_hundredth, "likewise"},
        {"training dynamics G", s->dynamics,
         "how fast the loss falls now, a unit of rate"},
        {"distance (MMD)", v->against ? v->mmd : (double)NAN,
         "of the samples from those that they are compared with"},
    };
    scant__text_add(out, "<section id=\"numbers\"><div class=\"head\"><h2>Numbers</h2>"
                         "</div>\n<div class=\"scroll\" tabindex=\"0\"><table><tbody>\n");
    add_rows(out, rows, sizeof rows / sizeof *rows);
    scant__text_add(out, "</tbody></table></div></section>\n");
}

/* ---- sections ---------------------------------------------------------------------- */

typedef void (*kernel_chart)(scant__text *out, const scant_study_view *v,
                             chart_form form);

static void add_section(scant__text *out, const scant_study_view *v, const char *id,
                        const char *title, const char *note, kernel_chart draw) {
    scant__text_addf(out,
                     "<section id=\"%s\"><div class=\"head\"><h2>%s</h2></div>\n"
                     "<p class=\"note\">%s</p>\n",
                     id, title, note);
    draw(out, v, CHART_WIDE);
    draw(out, v, CHART_NARROW);
    scant__text_add(out, "</section>\n");
}

static scant_status add_heat(scant__text *out, const scant_study_view *v) {
    scant__arena arena;
    scant__arena_init(&arena, out->ctx);
    kernel_heat *heat = scant__arena_alloc(&arena, 1, sizeof *heat);
    size_t *order = scant__arena_alloc(&arena, v->study->samples, sizeof *order);
    if (!heat || !order) {
        scant__arena_end(&arena);
        return SCANT_ENOMEM;
    }
    kernel_heat_of(v, order, heat);
    scant__text_add(out,
                    "<section id=\"kernel\"><div class=\"head\"><h2>The kernel</h2></div>"
                    "\n<p class=\"note\">Cosines between the gradients of samples, which "
                    "are sorted by class; lines part the classes. Dark blocks along the "
                    "diagonal: samples of a class teach the network the same thing. ");
    if (heat->cells < v->study->samples)
        scant__text_addf(out,
                         "Each square is a mean over about %zu samples a side, a sample "
                         "with itself left out.",
                         v->study->samples / heat->cells);
    scant__text_add(out, "</p>\n");
    kernel_chart_heat(out, heat, CHART_WIDE);
    kernel_chart_heat(out, heat, CHART_NARROW);
    scant__text_add(out, "</section>\n");
    scant__arena_end(&arena);
    return SCANT_OK;
}

static void add_alerts(scant__text *out, const scant_study_view *v) {
    const scant_study *s = v->study;
    size_t rows = s->samples * s->outputs;
    if (s->rank < rows)
        scant__text_addf(
            out,
            "<p class=\"alert\"><b>The kernel is singular</b>: %zu of its %zu "
            "eigenvalues "
            "are 0 but for rounding. Samples come twice, or there are more of them than "
            "the layers can tell apart: part of the labels cannot be learnt along "
            "it.</p>\n",
            rows - s->rank, rows);
    if (!v->sketch) return;
    scant__text_add(out, "<p class=\"alert\"><b>From a sketch</b>: on ");
    scant__text_addf(out, "%zu samples it is off by ", v->sketch->samples);
    report_add_fixed(out, 100 * v->sketch->error, 1);
    scant__text_add(out, " % of the kernel (an independent one by ");
    report_add_fixed(out, 100 * v->sketch->second, 1);
    scant__text_add(out, " %; theory expects at most ");
    report_add_fixed(out, 100 * v->sketch->expected, 1);
    scant__text_add(out, " %).</p>\n");
}

static void add_agreement(scant__text *out, const scant_study_view *v) {
    const scant_agreement *g = v->agreement;
    add_section(out, v, "agreement", "Alignment and dynamics",
                "A dot a random set of samples. Where dots rise together, the alignment "
                "of a set tells how fast it trains.",
                kernel_chart_agreement);
    scant__text_addf(out,
                     "<p class=\"soft\">%zu sets of %zu + %zu samples: Kendall's tau ",
                     g->sets, g->start, g->draw);
    add_value(out, g->tau);
    scant__text_add(out, ", p ");
    add_value(out, g->p);
    scant__text_add(out, ".</p>\n");
}

static void add_descent(scant__text *out, const scant_study_view *v) {
    add_section(
        out, v, "descent", "Descent",
        "Gradient descent on the summed squared loss over all samples, beside the "
        "kernel's prediction from before the first step. Where they part, the "
        "kernel has changed on the way.",
        kernel_chart_descent);
    scant__text_add(out, "<p class=\"soft\">At a rate of ");
    add_value(out, v->rate);
    scant__text_add(out, " no eigenvalue moved by more than ");
    add_value(out, v->eigenvalues_moved);
    scant__text_add(out, "; the kernel's move, ");
    add_value(out, v->kernel_moved);
    scant__text_add(out, " in the spectral norm, bounds that.</p>\n");
}

/* An accuracy of numbers to predict is none, and has no row. */
static void add_regression(scant__text *out, const scant_regression *r) {
    const row rows[] = {
        {"accuracy on its own samples", r->train_accuracy, "of those it was fitted to"},
        {"mean squared error there", r->train_error, "over samples and outputs"},
        {"other samples", (double)r->tests, "that it was not fitted to"},
        {"accuracy on them", r->test_accuracy, "what the fit is worth"},
        {"mean squared error there", r->test_error, "over samples and outputs"},
        {"ridge", r->ridge, "added to the kernel's diagonal: 0 meets every label"},
        {"jitter", r->jitter, "added, too, where the kernel has no inverse"},
    };
    scant__text_add(out,
                    "<section id=\"regression\"><div class=\"head\"><h2>Regression</h2>"
                    "</div>\n<p class=\"note\">The labels fitted with the kernel: where "
                    "training ends if it goes on for ever and the kernel stays.</p>\n"
                    "<div class=\"scroll\" tabindex=\"0\"><table><tbody>\n");
    add_rows(out, rows, sizeof rows / sizeof *rows);
    scant__text_add(out, "</tbody></table></div></section>\n");
}

static scant_status add_page(scant__text *out, const scant_study_view *v) {
    const scant_study *s = v->study;
    page_begin_head(out, false);
    report_add_escaped(out, v->title);
    page_add_style(out);
    scant__text_add(out, "td.says{text-align:left;white-space:normal;color:var(--soft)}"
                         "\n</style>\n</head>\n<body>\n<header><h1>");
    report_add_escaped(out, v->title);
    scant__text_addf(out,
                     "</h1>\n<p class=\"lead\">What the tangent kernel of %zu samples "
                     "says of training.</p></header>\n<main>\n",
                     s->samples);
    add_alerts(out, v);
    add_figures(out, s);
    add_section(out, v, "spectrum", "Spectrum",
                "How fast each direction is learnt. A curve that falls steeply: a few "
                "things are learnt at once, and the rest takes long.",
                kernel_chart_spectrum);
    if (s->energy && s->labelled)
        add_section(out, v, "labels", "Labels in the kernel's directions",
                    "How much of the labels lies in the directions of the largest "
                    "eigenvalues. The sooner it rises, the fewer steps training takes.",
                    kernel_chart_labels);
    if (v->k) TRY(add_heat(out, v));
    if (v->losses) add_descent(out, v);
    if (v->agreement) add_agreement(out, v);
    if (v->regression) add_regression(out, v->regression);
    add_numbers(out, v);
    scant__text_addf(out,
                     "</main>\n<footer>Made by scant %s.</footer>\n</body>\n</html>\n",
                     scant_version());
    return SCANT_OK;
}

scant_status scant_study_page(scant_ctx *ctx, const scant_study_view *view, void **bytes,
                              size_t *size) {
    scant__text out;
    char *text = NULL;
    *bytes = NULL;
    *size = 0;
    scant__text_init(&out, ctx);
    scant_status status = add_page(&out, view);
    if (status == SCANT_OK) status = scant__text_take(&out, &text, size);
    scant__text_end(&out);
    *bytes = text;
    return status;
}

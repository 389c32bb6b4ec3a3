/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter in words, for the program and the page: one paragraph each on accuracy, on
 * the gain over random picks, and on the stop rule; before them one on the last training,
 * if it collapsed. docs/projects.md explains them.
 */
#include <math.h>

#include "core/text.h"
#include "loop/project.h"
#include "scant/project.h"

enum { FEW = 10 }; /* audited items: with fewer the interval is very wide */

/* ---- numbers ----------------------------------------------------------------------- */

/* A share in percent without decimals; only 0 is "0 %" and only 1 is "100 %". */
static void add_percent(scant__text *t, double part) {
    long percent = lround(100 * part);
    if (percent == 0 && part > 0)
        scant__text_add(t, "less than 1 %");
    else if (percent == 100 && part < 1)
        scant__text_add(t, "more than 99 %");
    else
        scant__text_addf(t, "%ld %%", percent);
}

/* A difference of shares in percentage points, with a decimal point in every locale. */
static void add_decimals(scant__text *t, double part, int decimals) {
    long unit = 1;
    for (int i = 0; i < decimals; i++) unit *= 10;
    long n = lround(fabs(100 * part) * (double)unit);
    scant__text_addf(t, "%s%ld.%0*ld", part < 0 && n ? "-" : "", n / unit, decimals,
                     n % unit);
}

static void add_points(scant__text *t, double part) { add_decimals(t, part, 1); }

static void add_items(scant__text *t, size_t n) {
    scant__text_addf(t, "%zu item%s", n, n == 1 ? "" : "s");
}

/* ---- accuracy ---------------------------------------------------------------------- */

static void add_audit_share(scant__text *t, size_t every) {
    if (every > 1)
        scant__text_addf(t, "They are mixed in with the others, about one in %zu.",
                         every);
    else if (every == 1)
        scant__text_add(t, "All items shown are of this kind: audit_every is 1.");
    else
        scant__text_add(t, "None are shown while the setting audit_every is 0.");
}

/* Items that the accuracy leaves out. */
static void add_left_out(scant__text *t, const scant_meter *m) {
    const scant_model_point *p = &m->last;
    if (m->left_out) {
        scant__text_addf(
            t,
            " %zu more item%s of the audit set %s skipped, unsure or disputed; "
            "counted as wrong, the accuracy would be ",
            m->left_out, m->left_out == 1 ? "" : "s", m->left_out == 1 ? "is" : "are");
        add_percent(t, (double)p->right / (double)(p->audited + m->left_out));
        scant__text_add(t, ".");
    }
    if (!m->added) return;
    scant__text_add(t, " ");
    add_items(t, m->added);
    scant__text_addf(t,
                     " %s added after this model was trained; it is evaluated on the "
                     "earlier ones. The next model is evaluated on all of them, and its "
                     "interval will be wide until the new audit items are labelled.",
                     m->added == 1 ? "was" : "were");
}

/* Labels of the audit set count in the audit order. Names the first item without an
 * answer, which the labels of later items wait for. */
static scant_status add_waiting(scant_project *project, scant__text *t) {
    size_t n, before;
    scant_item item;
    TRY(store_audit_waiting(project, &n, &before));
    if (!n) {
        scant__text_add(t, "no item of the audit set has a label. ");
        return SCANT_OK;
    }
    TRY(scant_project_item(project, before, &item));
    scant__text_addf(t,
                     "%zu item%s of the audit set ha%s a label, but item '%s' comes "
                     "earlier in the audit order and nobody has answered it: a label, "
                     "unsure or skip is enough. ",
                     n, n == 1 ? "" : "s", n == 1 ? "s" : "ve", item.id);
    return SCANT_OK;
}

static scant_status add_accuracy(scant_project *project, scant__text *t,
                                 const scant_meter *m, size_t every) {
    const scant_model_point *p = &m->last;
    if (!p->model) {
        scant_project_info info;
        TRY(scant_project_info_get(project, &info));
        scant__text_add(t,
                        info.learnable
                            ? "There is no model yet, but there are labels to train one."
                            : "There is no model yet: it needs labels of at least two "
                              "classes.");
        return SCANT_OK;
    }
    if (!p->audited) {
        scant__text_add(t, "The accuracy is not known yet: ");
        TRY(add_waiting(project, t));
        add_audit_share(t, every);
        return SCANT_OK;
    }
    scant__text_add(t, "The model is right on ");
    add_percent(t, p->accuracy);
    scant__text_add(t, " of the items (95 % interval: ");
    add_percent(t, p->low);
    scant__text_add(t, " to ");
    add_percent(t, p->high);
    scant__text_add(t, "), evaluated on ");
    add_items(t, p->audited);
    scant__text_addf(t, " drawn at random that it was never trained on.");
    add_left_out(t, m);
    if (p->audited >= FEW) return SCANT_OK;
    scant__text_add(t, " With so few the interval is wide. ");
    add_audit_share(t, every);
    return SCANT_OK;
}

/* ---- the gain over random ---------------------------------------------------------- */

static void add_over_random(scant__text *t, const scant_meter *m, bool features) {
    if (!m->over_random_labels) {
        scant__text_add(t, "The gain over random picks is not known yet: it needs twenty "
                           "audited items, and nearly as many other labels of which a "
                           "strategy has picked at least half");
        scant__text_add(t, features
                               ? "."
                               : "; for images in colour, or larger than 32 x 32, "
                                 "it is not measured, as six more networks would have "
                                 "to be trained.");
        return;
    }
    if (isnan(m->over_random)) {
        scant__text_add(t, "The gain over random picks is unknown: a training of the "
                           "comparison collapsed.");
        return;
    }
    bool less = m->over_random < 0;
    scant__text_addf(
        t,
        "The gain over random picks: a model trained on the first %zu labels, "
        "at least half of them picked, is right on ",
        m->over_random_labels);
    add_points(t, fabs(m->over_random));
    scant__text_addf(t,
                     " percentage points %s items than models trained on as many random "
                     "ones (95 %% interval of the difference: ",
                     less ? "fewer" : "more");
    add_points(t, m->over_random_low);
    scant__text_add(t, " to ");
    add_points(t, m->over_random_high);
    scant__text_add(t, " points).");
    if (m->over_random_low > 0)
        scant__text_add(t, " So picking seems to help; the interval does not cover how "
                           "results vary between draws of labels.");
    else if (m->over_random_high < 0)
        scant__text_add(t, " So random items may have been the better choice, and "
                           "another strategy may suit this project better; the interval "
                           "does not cover how results vary between draws of labels.");
    else
        scant__text_add(t, " That may be chance.");
}

/* ---- the stop rule ------------------------------------------------------------------
 */

/* The number of decimals that show a value and its limit as different, to avoid "0.5,
 * below 0.5". */
static int decimals(double value, double limit) {
    int n = 1;
    if (value == limit) return n;
    for (double scale = 1000; n < 4; n++, scale *= 10)
        if (round(value * scale) != round(limit * scale)) break;
    return n;
}

typedef struct limits {
    double width, gain, agreement;
} limits;

static void add_width(scant__text *t, const scant_meter *m, const limits *l) {
    if (!m->last.audited) {
        scant__text_add(t, "there is no interval yet");
        return;
    }
    scant__text_add(t, "the interval is ");
    const double width = m->last.high - m->last.low;
    const int n = decimals(width, l->width);
    add_decimals(t, width, n);
    scant__text_addf(t, " points wide%s", m->narrow ? "" : "; needed: at most ");
    if (m->narrow) return;
    add_decimals(t, l->width, n);
}

static void add_gain(scant__text *t, const scant_meter *m, const limits *l) {
    if (isnan(m->per_ten)) {
        scant__text_add(t, "the gain per ten labels is not known: it needs two models at "
                           "least ten labels apart");
        return;
    }
    const int n = decimals(m->per_ten, l->gain);
    scant__text_add(t, "ten more labels have lately gained ");
    add_decimals(t, m->per_ten, n);
    scant__text_add(t, " points of accuracy (at most ");
    add_points(t, m->per_ten_high);
    scant__text_addf(t, ", the upper end of a 95 %% interval)%s",
                     m->fading ? ", below " : ", not below ");
    add_decimals(t, l->gain, n);
}

static void add_agreement(scant__text *t, const scant_meter *m, const limits *l) {
    if (isnan(m->last.agreement)) {
        scant__text_add(t, "the last two models were not compared");
        return;
    }
    scant__text_add(t, "the last two models agree on ");
    add_percent(t, m->last.agreement);
    scant__text_add(t, " of the unlabelled items");
    if (m->agreeing) {
        scant__text_add(t, ", and so did the two before");
        return;
    }
    scant__text_add(t, "; needed, twice in a row: ");
    add_percent(t, l->agreement);
}

static void add_stop_rule(scant__text *t, const scant_meter *m, const limits *l) {
    if (!m->last.model) {
        scant__text_add(t, "Go on labelling.");
        return;
    }
    scant__text_add(t, m->stop ? "You can stop: more labels are unlikely to help. "
                               : "Go on labelling. ");
    scant__text_add(t, "Three conditions must hold at once: ");
    scant__text_add(t, m->narrow ? "(yes) " : "(not yet) ");
    add_width(t, m, l);
    scant__text_add(t, m->fading ? "; (yes) " : "; (not yet) ");
    add_gain(t, m, l);
    scant__text_add(t, m->agreeing ? "; (yes) " : "; (not yet) ");
    add_agreement(t, m, l);
    scant__text_add(t, ".");
    if (m->narrow && m->fading && m->agreeing && m->added)
        scant__text_add(
            t, " They hold for the earlier items: train again to include the new ones.");
    if (m->stop)
        scant__text_add(t,
                        " The rule is checked after every training, so it may hold once "
                        "by chance: if much depends on it, see whether it also holds "
                        "for the next model.");
}

scant_status scant_project_advice(scant_project *project, const scant_meter *meter,
                                  char **text) {
    NEED(project);
    AUTO(scant__text_end) scant__text t = {.ctx = store_ctx(project)};
    scant_collapse collapse;
    bool features;
    size_t size;
    const limits l = {store_number(project, "stop_width"),
                      store_number(project, "stop_gain"),
                      store_number(project, "stop_agreement")};
    *text = NULL;
    TRY(project_has_features(project, &features));
    TRY(scant_project_collapse(project, &collapse));
    if (collapse.at)
        scant__text_addf(&t, "The last training failed: %s.\n\n", collapse.text);
    if (meter->last.model || !collapse.at) {
        TRY(add_accuracy(project, &t, meter,
                         (size_t)store_number(project, "audit_every")));
        scant__text_add(&t, "\n\n");
    }
    if (meter->last.model) {
        add_over_random(&t, meter, features);
        scant__text_add(&t, "\n\n");
    }
    add_stop_rule(&t, meter, &l);
    scant__text_add(&t, "\n");
    return scant__text_take(&t, text, &size);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter in words, as the program and the page show it: a paragraph each of how good
 * the model is, what picking is worth, and whether to go on. docs/projects.md has what
 * stands behind them.
 */
#include <math.h>

#include "core/text.h"
#include "loop/project.h"
#include "scant/project.h"

enum { FEW = 10 }; /* audited items: fewer tell next to nothing */

/* ---- numbers ----------------------------------------------------------------------- */

/* A part as percent, without decimals; "below 1 %" is not 0 and "above 99 %" not 100. */
static void add_percent(scant__text *t, double part) {
    long percent = lround(100 * part);
    if (percent == 0 && part > 0)
        scant__text_add(t, "less than 1 %");
    else if (percent == 100 && part < 1)
        scant__text_add(t, "more than 99 %");
    else
        scant__text_addf(t, "%ld %%", percent);
}

/* A difference of parts in percentage points, with a point in every locale. */
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

/* ---- how good ---------------------------------------------------------------------- */

static void say_where_they_are(scant__text *t, size_t every) {
    if (every > 1)
        scant__text_addf(t, "They come up among the others, about one in %zu.", every);
    else if (every == 1)
        scant__text_add(t, "They are all that comes up: audit_every is 1.");
    else
        scant__text_add(t, "None come up while the setting audit_every is 0.");
}

/* What the figure is not about. */
static void say_without(scant__text *t, const scant_meter *m) {
    const scant_model_point *p = &m->last;
    if (m->left_out) {
        scant__text_addf(t,
                         " %zu more %s drawn that people passed over, could not tell or "
                         "disagree on; counted as wrong, the accuracy would be ",
                         m->left_out, m->left_out == 1 ? "was" : "were");
        add_percent(t, (double)p->right / (double)(p->audited + m->left_out));
        scant__text_add(t, ".");
    }
    if (!m->added) return;
    scant__text_add(t, " ");
    add_items(t, m->added);
    scant__text_addf(t,
                     " came after this model, which is judged on those before. The next "
                     "one is judged on all of them, and the audit catches up with the "
                     "new first: its interval will be wide again for a while.");
}

/* Labels of withheld items count in the audit order: those that wait for an earlier one
 * are said to do so. */
static scant_status say_none_counts(scant_project *project, scant__text *t) {
    size_t n, before;
    scant_item item;
    TRY(store_audit_waiting(project, &n, &before));
    if (!n) {
        scant__text_add(t, "none of the items that are withheld from it has a label. ");
        return SCANT_OK;
    }
    TRY(scant_project_item(project, before, &item));
    scant__text_addf(t,
                     "%zu of the items that are withheld from it ha%s a label, and "
                     "wait%s for item '%s', which comes before %s in the audit order and "
                     "nobody has answered: a label, unsure or skip will do. ",
                     n, n == 1 ? "s" : "ve", n == 1 ? "s" : "", item.id,
                     n == 1 ? "it" : "them");
    return SCANT_OK;
}

static scant_status say_how_good(scant_project *project, scant__text *t,
                                 const scant_meter *m, size_t every) {
    const scant_model_point *p = &m->last;
    if (!p->model) {
        scant_project_info info;
        TRY(scant_project_info_get(project, &info));
        scant__text_add(
            t, info.learnable ? "There is no model yet; there are labels to train one on."
                              : "There is no model yet: that takes labels of two classes "
                                "at least.");
        return SCANT_OK;
    }
    if (!p->audited) {
        scant__text_add(t, "How good the model is nobody knows yet: ");
        TRY(say_none_counts(project, t));
        say_where_they_are(t, every);
        return SCANT_OK;
    }
    scant__text_add(t, "The model is right on ");
    add_percent(t, p->accuracy);
    scant__text_add(t, " of the items (95 % interval: ");
    add_percent(t, p->low);
    scant__text_add(t, " to ");
    add_percent(t, p->high);
    scant__text_add(t, "), judged on ");
    add_items(t, p->audited);
    scant__text_addf(t, " drawn at random, which it has never learned from.");
    say_without(t, m);
    if (p->audited >= FEW) return SCANT_OK;
    scant__text_add(t, " So few tell little: the interval is wide. ");
    say_where_they_are(t, every);
    return SCANT_OK;
}

/* ---- what picking is worth --------------------------------------------------------- */

static void say_worth(scant__text *t, const scant_meter *m, bool features) {
    if (!m->over_random_labels) {
        scant__text_add(t, "What picking is worth is not known yet: that takes twenty "
                           "audited items, and nearly as many other labels of which a "
                           "strategy has picked at least half");
        scant__text_add(t, features
                               ? "."
                               : "; of pictures in colour, or larger than 32 x 32, "
                                 "it is not told, as six more networks would have to "
                                 "be trained.");
        return;
    }
    bool less = m->over_random < 0;
    scant__text_addf(t,
                     "What picking is worth: a model that learns from the first %zu "
                     "labels, half of them picked or more, is right on ",
                     m->over_random_labels);
    add_points(t, fabs(m->over_random));
    scant__text_addf(t,
                     " points %s of the items than models that learn from as many "
                     "drawn at random (95 %% interval of the difference: ",
                     less ? "less" : "more");
    add_points(t, m->over_random_low);
    scant__text_add(t, " to ");
    add_points(t, m->over_random_high);
    scant__text_add(t, " points).");
    if (m->over_random_low > 0)
        scant__text_add(t, " So picking seems to help; other draws of as many labels, "
                           "which the interval does not count, might say otherwise.");
    else if (m->over_random_high < 0)
        scant__text_add(t, " So random items may have been the better choice, and "
                           "another strategy may suit this project better; the interval "
                           "does not count what other draws of labels would have given.");
    else
        scant__text_add(t, " That may be chance.");
}

/* ---- whether to go on -------------------------------------------------------------- */

/* How many decimals tell a figure from its limit: "0.5, below 0.5" would say nothing. */
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

static void say_width(scant__text *t, const scant_meter *m, const limits *l) {
    if (!m->last.audited) {
        scant__text_add(t, "there is no interval yet");
        return;
    }
    scant__text_add(t, "the interval is ");
    const double width = m->last.high - m->last.low;
    const int n = decimals(width, l->width);
    add_decimals(t, width, n);
    scant__text_addf(t, " points wide%s", m->narrow ? "" : " and is to be ");
    if (m->narrow) return;
    add_decimals(t, l->width, n);
    scant__text_add(t, " at most");
}

static void say_gain(scant__text *t, const scant_meter *m, const limits *l) {
    if (isnan(m->per_ten)) {
        scant__text_add(t, "what labels bring is not known before there are two models "
                           "that are ten labels apart");
        return;
    }
    const int n = decimals(m->per_ten, l->gain);
    scant__text_add(t, "ten labels have lately brought ");
    add_decimals(t, m->per_ten, n);
    scant__text_add(t, " points of accuracy (at most ");
    add_points(t, m->per_ten_high);
    scant__text_addf(t, " by a 95 %% interval)%s",
                     m->fading ? ", below " : ", not below ");
    add_decimals(t, l->gain, n);
}

static void say_agreement(scant__text *t, const scant_meter *m, const limits *l) {
    if (isnan(m->last.agreement)) {
        scant__text_add(t, "the last two models were not compared");
        return;
    }
    scant__text_add(t, "the last two models agree on ");
    add_percent(t, m->last.agreement);
    scant__text_add(t, " of the unlabelled items");
    if (m->agreeing) {
        scant__text_add(t, ", and the two before did so, too");
        return;
    }
    scant__text_add(t, "; wanted, twice in a row: ");
    add_percent(t, l->agreement);
}

static void say_whether(scant__text *t, const scant_meter *m, const limits *l) {
    if (!m->last.model) {
        scant__text_add(t, "Go on labelling.");
        return;
    }
    scant__text_add(t, m->stop ? "You can stop: more labels would bring little. "
                               : "Go on labelling. ");
    scant__text_add(t, "Three things are to hold at once: ");
    scant__text_add(t, m->narrow ? "(yes) " : "(not yet) ");
    say_width(t, m, l);
    scant__text_add(t, m->fading ? "; (yes) " : "; (not yet) ");
    say_gain(t, m, l);
    scant__text_add(t, m->agreeing ? "; (yes) " : "; (not yet) ");
    say_agreement(t, m, l);
    scant__text_add(t, ".");
    if (m->narrow && m->fading && m->agreeing && m->added)
        scant__text_add(t, " They do, of the items before: train on those that came.");
    if (m->stop)
        scant__text_add(t, " The rule is looked at after every training, and the more "
                           "often one looks, the likelier it holds by chance once: where "
                           "much depends on it, see whether the next model says the "
                           "same.");
}

scant_status scant_project_advice(scant_project *project, const scant_meter *meter,
                                  char **text) {
    scant__text t;
    bool features;
    size_t size;
    const limits l = {store_number(project, "stop_width"),
                      store_number(project, "stop_gain"),
                      store_number(project, "stop_agreement")};
    *text = NULL;
    TRY(project_has_features(project, &features));
    scant__text_init(&t, store_ctx(project));
    scant_status status =
        say_how_good(project, &t, meter, (size_t)store_number(project, "audit_every"));
    if (status != SCANT_OK) {
        scant__text_end(&t);
        return status;
    }
    scant__text_add(&t, "\n\n");
    if (meter->last.model) {
        say_worth(&t, meter, features);
        scant__text_add(&t, "\n\n");
    }
    say_whether(&t, meter, &l);
    scant__text_add(&t, "\n");
    return scant__text_take(&t, text, &size);
}

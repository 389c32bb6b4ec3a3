/* SPDX-License-Identifier: Apache-2.0
 *
 * Signs that a training fails: from the watch to the state, its warning, and words.
 */
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "nn/train.h"
#include "scant/train.h"

/* ---- words ------------------------------------------------------------------------- */

static const char *const names[] = {"dead-units", "loss", "few-pseudo-labels",
                                    "few-classes", "diverged"};
enum { SIGNS = sizeof names / sizeof *names };

const char *scant_train_sign_names(uint64_t signs, char out[SCANT_SIGNS_SIZE]) {
    size_t used = 0;
    *out = 0;
    for (size_t i = 0; i < SIGNS; i++)
        if (signs & (uint64_t)1 << i)
            used += (size_t)snprintf(out + used, SCANT_SIGNS_SIZE - used, "%s%s",
                                     used ? " " : "", names[i]);
    return out;
}

uint64_t scant_train_signs_of(const char *text) {
    uint64_t signs = 0;
    for (size_t i = 0; i < SIGNS; i++)
        if (scant__has_word(text, names[i])) signs |= (uint64_t)1 << i;
    return signs;
}

static void describe(const scant_train_state *s, size_t sign, char *out, size_t size) {
    switch (1 << sign) {
    case SCANT_SIGN_DEAD:
        snprintf(out, size, "%.0f%% of the units of %s are always 0", 100 * s->dead,
                 s->dead_layer ? s->dead_layer : "a layer");
        break;
    case SCANT_SIGN_LOSS:
        snprintf(out, size,
                 "the loss is %.4g, and predicting the same for all samples gives %.4g",
                 s->window_loss, s->constant_loss);
        break;
    case SCANT_SIGN_MASK:
        snprintf(out, size, "%.2g%% of the pseudo-labels are used",
                 100 * (double)s->window_kept);
        break;
    case SCANT_SIGN_CLASSES:
        snprintf(out, size,
                 "the pseudo-labels are mostly of %.1f classes, the labels of %.1f",
                 (double)s->pseudo_classes, (double)s->label_classes);
        break;
    default:
        snprintf(out, size, "the loss was not a finite number");
    }
}

const char *scant_train_signs_text(const scant_train_state *s,
                                   char out[SCANT_SIGNS_TEXT]) {
    char one[SCANT_SIGNS_TEXT];
    *out = 0;
    for (size_t i = 0; i < SIGNS; i++) {
        if (!(s->signs & (uint64_t)1 << i)) continue;
        describe(s, i, one, sizeof one);
        size_t used = strlen(out);
        snprintf(out + used, SCANT_SIGNS_TEXT - used, "%s%s", used ? "; " : "", one);
    }
    return out;
}

/* ---- the watch --------------------------------------------------------------------- */

void nn_train_show_signs(nn_trainer *t) {
    const nn_watch *w = &t->watch;
    scant_train_state *s = &t->state;
    s->warmup = (uint32_t)size_min(t->warmup, UINT32_MAX);
    s->signs = w->signs;
    s->window_loss = w->last.end ? w->last.loss : -1;
    s->window_kept = w->last.unlabelled ? (float)w->last.kept : -1;
    s->gradient_norm = w->last.gradient_norm;
    s->dead = w->n_layers ? w->last.dead : -1;
    s->dead_layer = NULL;
    if (w->last.dead_layer)
        s->dead_layer = t->net->net->nodes[w->layers[w->last.dead_layer - 1].node].name;
    s->label_classes = (float)w->diversity;
    s->pseudo_classes = (float)w->last.pseudo_classes;
    s->constant_loss = w->constant;
}

/* Writes what may help against the gravest of the signs. */
static void advise(const nn_trainer *t, uint64_t signs, char *out, size_t size) {
    if (signs & SCANT_SIGNS_COLLAPSED)
        snprintf(out, size,
                 "a warmup longer than %zu steps, a smaller lr than %g or another seed "
                 "may help",
                 t->warmup, t->opts.lr);
    else if (signs & SCANT_SIGN_MASK)
        snprintf(out, size, "a lower threshold, more steps or more labels may help");
    else
        snprintf(out, size,
                 "unless the samples are as unequal, align or more labels may help");
}

/* Warns once for each sign; `step` steps are done. */
static void warn(nn_trainer *t, size_t step) {
    char text[SCANT_SIGNS_TEXT], advice[128];
    scant_train_state s = t->state;
    s.signs &= ~t->warned;
    t->warned |= s.signs;
    if (!s.signs) return;
    advise(t, s.signs, advice, sizeof advice);
    scant__warn(t->ctx, "the training may be failing at step %zu of %zu: %s; %s", step,
                t->state.steps, scant_train_signs_text(&s, text), advice);
}

void nn_train_watch(nn_trainer *t, const nn_batch *b, const float *outputs, double loss) {
    nn_watched_step step = {.step = t->state.step + 1,
                            .steps = t->state.steps,
                            .warmup = t->warmup,
                            .loss = loss,
                            .outputs = outputs,
                            .samples = b->count};
    if (t->method) {
        step.kept = t->result.kept;
        step.unlabelled = t->unlabelled.n;
        step.counts = t->result.counts;
    }
    if (!nn_watch_step(&t->watch, t->net->weights, &step)) return;
    nn_train_show_signs(t);
    warn(t, step.step);
}

void nn_train_watch_stop(nn_trainer *t) {
    const scant_train_state *s = &t->state;
    if (s->step == s->steps) return;
    nn_watched_window now = nn_watch_now(&t->watch, s->step);
    nn_watch_stop(&t->watch, &now, s->step, t->warmup);
    nn_train_show_signs(t);
    warn(t, s->step);
}

void nn_train_watch_best(nn_trainer *t) {
    const scant_train_state *s = &t->state;
    if (!nn_watch_is_late(&t->best_window, s->step, t->warmup)) return;
    nn_watch_stop(&t->watch, &t->best_window, s->step, t->warmup);
    nn_train_show_signs(t);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Mean Teacher (Tarvainen and Valpola 2017) and the Pi-model (Laine and Aila 2017): the
 * prediction for one view of a sample should match a target prediction for another,
 *     mean CE(labelled) + w(t) mean_i |softmax(z_i) - target_i|^2 / classes,
 * where the target comes from the averaged weights (the teacher, which is the final
 * network) or from the same network with other noise. w ramps up over the first 0.4 of
 * the steps.
 *
 * The noise is dropout and a different weak view for each prediction. Only unlabelled
 * samples have the consistency loss. The pass that computes the target normalises with
 * the statistics of its own views; running statistics come from the other pass. The
 * teacher's average starts as a plain mean: its decay is min(1 - 1/(t+1), ema).
 */

#include "core/argmax.h"
#include "ssl/ssl.h"

typedef struct consistency {
    const ssl_setup *setup;
    float *predicted, *target; /* predicted and target probabilities of a batch */
} consistency;

static void view(void *arg, uint64_t draw, const float *in, float *const *out,
                 void *scratch) {
    const consistency *c = arg;
    (void)scratch;
    ssl_weak(c->setup, 2 * draw, in, out[0]);
    ssl_weak(c->setup, 2 * draw + 1, in, out[1]);
}

/* Returns the loss |p - t|^2 / classes of one row of probabilities. Sets `by` to `scale`
 * times the gradient of the loss with respect to the logits,
 * 2 p_k (p_k - t_k - sum_j p_j (p_j - t_j)) / classes. */
static double difference(const float *p, const float *t, size_t classes, double scale,
                         float *by) {
    double sum = 0, mean = 0, part = 1 / (double)classes;
    for (size_t k = 0; k < classes; k++) {
        double off = (double)p[k] - (double)t[k];
        sum += off * off;
        mean += (double)p[k] * off;
    }
    for (size_t k = 0; k < classes; k++)
        by[k] = (float)(scale * 2 * part * (double)p[k] *
                        ((double)p[k] - (double)t[k] - mean));
    return sum * part;
}

static void evaluate(void *arg, const nn_unlabelled *u, nn_method_result *result) {
    consistency *c = arg;
    size_t n = u->n, classes = u->classes;
    double scale = ssl_weight(c->setup, u) / (double)n;
    nn_softmax(n, classes, u->logits, 1, c->predicted);
    nn_softmax(n, classes, u->nograd_logits, 1, c->target);
    for (size_t i = 0; i < n; i++) {
        size_t at = i * classes;
        result->loss +=
            difference(c->predicted + at, c->target + at, classes, scale, u->d + at) /
            (double)n;
        result->counts[scant__argmax(c->target + at, classes)]++;
    }
    result->kept = (double)n;
}

static scant_status begin(ssl_setup *s) {
    nn_method *m = &s->method;
    consistency *c = m->arg = TRY_NEW(s->arena, consistency, 1);
    c->setup = s;
    c->predicted = TRY_NEW(s->arena, float, size_mul(m->batch, s->classes));
    c->target = TRY_NEW(s->arena, float, size_mul(m->batch, s->classes));
    m->grad_views = 1;
    m->nograd_views = 1;
    m->view = view;
    m->evaluate = evaluate;
    return SCANT_OK;
}

static scant_status begin_teacher(ssl_setup *s) {
    if (!(s->o.ema > 0))
        return scant__fail(s->ctx, SCANT_EUSAGE,
                           "method=mean-teacher needs ema: its teacher is the average");
    s->method.teacher = true;
    s->method.grows = true;
    return begin(s);
}

static const scant_setting teacher_defaults[] = {
    {"optimizer", "adam"}, {"lr", "4e-4"},   {"schedule", "late"},
    {"ema", "0.95"},       {"batch", "100"}, {"unlabelled_weight", "8"}};

const ssl_kind ssl_mean_teacher = {
    .info = {.name = "mean-teacher",
             .summary = "predictions must match those of the averaged network",
             .paper = "Tarvainen and Valpola 2017",
             .takes = "mu unlabelled_weight ramp noise",
             .defaults = teacher_defaults,
             .n_defaults = sizeof teacher_defaults / sizeof *teacher_defaults},
    .begin = begin_teacher,
};

static const scant_setting pi_defaults[] = {{"optimizer", "adam"},
                                            {"lr", "3e-4"},
                                            {"schedule", "late"},
                                            {"batch", "100"},
                                            {"unlabelled_weight", "20"}};

const ssl_kind ssl_pi = {
    .info = {.name = "pi",
             .summary = "predictions for two noisy views of a sample must agree",
             .paper = "Laine and Aila 2017",
             .takes = "mu unlabelled_weight ramp noise",
             .defaults = pi_defaults,
             .n_defaults = sizeof pi_defaults / sizeof *pi_defaults},
    .begin = begin,
};

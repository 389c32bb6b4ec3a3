/* SPDX-License-Identifier: Apache-2.0
 *
 * Theoretical quantities from the papers, for every round. They describe the network that
 * supplies the evidence, the labelled set S and the picked batch Q.
 *
 *   K          the kernel of S. With loop.theory = last: inner products of the last
 *              layer's inputs, with a 1 appended to each row. With all: the empirical
 *              tangent kernel of the whole network, its mean over outputs
 *   lambda     the smallest eigenvalue of K that does not count as 0. Eigenvalues up to
 *              1e-10 times the largest count as 0 (with all: 1e-6, because products are
 *              in float there). The larger lambda is, the faster training converges
 *              (NPC, CRC; CRC's figure 3 has it for S and each candidate group)
 *   dynamics   G(S) = |g_S|^2, where g_S is the sum of the loss gradients of S for its
 *              labels: the speed at which the loss falls (dynamicAL)
 *   ratio      R(Q|S): the increase of G by each row of Q alone, summed over Q, divided
 *              by the increase by all of Q; Q is labelled by the predicted classes. The
 *              paper's figure is its expectation over random Q: strategy random
 *   horizon    the evaluated epoch with the smallest test loss (CRC's figure 3)
 *   alignment, bound, mmd   of K (study/quantities.h); mmd between the initial set and S
 *
 * The suggested learning rate is also computed. NPC's sufficient rate is O(lambda), CRC's
 * O(lambda / n^2), with unknown constants, and lambda grows with the number of rows n,
 * while the loss is a mean over rows. So the suggested rate is the default of the
 * optimizer or method, times lambda/n of S under the round's initial weights, divided by
 * lambda/n of the first labelled set under the initial weights of its round; the factor
 * is limited to 0.1 to 10. A resumed run makes the latter weights again: they depend on
 * seeds only.
 *
 * Cost: two forward passes over S and one over Q. Two eigendecompositions of a matrix
 * whose size is the smaller of n and d + 1, if that is at most MOST_EVERY_ROUND. An n x n
 * matrix and its factorization for alignment, bound and mmd, if n is at most MOST. For
 * all layers, see scant_net_kernel() and scant_net_gradients().
 *
 * For regression only the spectrum and the rate are computed. Nothing here changes
 * training or picks, except the rate with train.lr = auto.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/kron.h"
#include "loop/loop.h"
#include "scant/study.h"
#include "study/quantities.h"

/* MOST: maximum rows of a kernel. MOST_EVERY_ROUND: maximum rows of a matrix whose
 * eigenvalues are computed although the learning rate does not depend on them. */
enum { MOST = 4000, MOST_EVERY_ROUND = 1500 };
#define WHOLE_TOLERANCE 1e-6

const char *const loop_theory_names[LOOP_FIGURES] = {
    "lambda", "largest", "rank",   "dynamics", "ratio",    "alignment",
    "bound",  "mmd",     "epochs", "horizon",  "lr_advice"};

loop_theory loop_theory_unknown(void) {
    loop_theory t;
    for (size_t i = 0; i < LOOP_FIGURES; i++) t.figures[i] = (double)NAN;
    return t;
}

static bool is_wanted(const loop_settings *set) {
    return strcmp(set->theory, "none") != 0;
}

/* ---- rows and outputs -------------------------------------------------------------- */

/* Rows and the network's outputs for them, S before Q. */
typedef struct view {
    loop_run *run;
    scant_net *net;
    scant__arena arena;
    size_t *rows, n, n_batch; /* S, Q */
    float *features, *logits;
    double *residuals; /* p - e_y */
    int32_t *labels;   /* labels of S; predicted classes of Q */
    la_rows h, a;
    la_work work;
    double *kernel; /* (n, n); NULL: not computed */
    loop_theory *out;
} view;

static scant_status view_open(view *v, loop_run *run, scant_net *net, const size_t *rows,
                              size_t n) {
    *v = (view){.run = run, .net = net, .arena = {.ctx = run->ctx}, .n = n};
    v->rows = TRY_NEW(&v->arena, size_t, n + run->job->e->set.query);
    memcpy(v->rows, rows, n * sizeof *rows);
    return SCANT_OK;
}

static void view_close(view *v) { scant__arena_end(&v->arena); }

static scant_status predict(view *v, bool classes) {
    const loop_samples *s = &v->run->job->samples;
    size_t all = v->n + v->n_batch, d = scant_net_features(v->net);
    v->features = TRY_NEW(&v->arena, float, size_mul(all, d));
    if (classes) v->logits = TRY_NEW(&v->arena, float, size_mul(all, s->classes));
    v->h = (la_rows){.n = all, .d = d, .type = LA_F32, .base = v->features};
    return scant_net_predict(
        v->net, s->train, v->rows, all,
        &(scant_outputs){.features = v->features, .logits = v->logits});
}

/* ---- the kernel -------------------------------------------------------------------- */

static la_view view_of(const view *v) {
    return (la_view){.h = &v->h, .bias = 1, .m = v->n};
}

static scant_status take_room(view *v, size_t memory) {
    return la_work_init(&v->work, &v->arena, memory);
}

/* The largest n, up to MOST, for which three n x n matrices fit in a quarter of the
 * memory cap. */
static size_t most_rows(const scant_ctx *ctx) {
    double fit = floor(sqrt((double)ctx->cap / 4 / (3 * sizeof(double))));
    return size_min(MOST, (size_t)fit);
}

static scant_status make_kernel(view *v, bool whole) {
    const loop_samples *s = &v->run->job->samples;
    size_t n = v->n;
    la_view h = view_of(v);
    v->kernel = TRY_NEW(&v->arena, double, size_mul(n, n));
    if (whole)
        return scant_net_kernel(v->net, s->train, v->rows, n, s->train, v->rows, n, false,
                                false, v->kernel);
    TRY(take_room(v, la_kron_pairs_memory(&h, n, v->run->ctx->threads)));
    return la_kron_pairs(&h, NULL, n, v->kernel, &v->work);
}

static double tolerance_of(const view *v) {
    return v->features ? STUDY_RANK_TOLERANCE : WHOLE_TOLERANCE;
}

static scant_status eigenvalues(view *v, size_t n, const double *matrix,
                                study_spectrum *out) {
    double *copy = TRY_NEW(&v->arena, double, size_mul(n, n));
    double *values = TRY_NEW(&v->arena, double, n);
    double *room = TRY_NEW(&v->arena, double, la_eigh_room(n, false));
    memcpy(copy, matrix, n * n * sizeof *copy);
    TRY(la_eigh_alone(v->run->ctx, n, copy, false, values, room));
    study_spectrum_of(values, n, tolerance_of(v), out);
    return SCANT_OK;
}

/* Computes the spectrum from the kernel or the Gram matrix, whichever is smaller: they
 * have the same positive eigenvalues. Sets *known to false if both are too large. */
static scant_status spectrum(view *v, study_spectrum *out, bool *known) {
    la_view h = view_of(v);
    size_t width = la_view_width(&h), most = most_rows(v->run->ctx);
    *known = false;
    if (v->features) {
        if (!v->run->job->e->set.lr_auto) most = size_min(most, MOST_EVERY_ROUND);
        if (size_min(v->n, width) > most) return SCANT_OK;
    }
    if (!v->kernel && v->n <= width) TRY(make_kernel(v, false));
    if (v->kernel && (v->n <= width || !v->features)) {
        *known = true;
        return eigenvalues(v, v->n, v->kernel, out);
    }
    double *gram = TRY_NEW(&v->arena, double, size_mul(width, width));
    TRY(take_room(v, la_gram_memory(&h, v->run->ctx->threads)));
    TRY(la_gram(&h, NULL, gram, &v->work));
    *known = true;
    return eigenvalues(v, width, gram, out);
}

/* ---- training dynamics ------------------------------------------------------------- */

static double dot(const float *a, const float *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

double loop_theory_ratio(double norms, double products, double square, double product) {
    double together = square + 2 * product;
    if (!(fabs(together) >= 1e-12 * (norms + 1e-300))) return (double)NAN;
    return (norms + 2 * products) / together;
}

static double sum_of(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

/* Computes p - e_y in double; for Q, y is the predicted class. */
static scant_status make_residuals(view *v) {
    size_t classes = v->run->job->samples.classes, all = v->n + v->n_batch;
    v->residuals = TRY_NEW(&v->arena, double, size_mul(all, classes));
    for (size_t i = 0; i < all; i++) {
        const float *z = v->logits + i * classes;
        double *a = v->residuals + i * classes, sum = 0;
        size_t top = 0;
        for (size_t c = 1; c < classes; c++)
            if (z[c] > z[top]) top = c;
        for (size_t c = 0; c < classes; c++)
            sum += a[c] = exp((double)z[c] - (double)z[top]);
        for (size_t c = 0; c < classes; c++) a[c] /= sum;
        if (i >= v->n) v->labels[i] = (int32_t)top;
        a[v->labels[i]] -= 1;
    }
    v->a = (la_rows){.n = all, .d = classes, .type = LA_F64, .base = v->residuals};
    return SCANT_OK;
}

/* Computes dynamics and ratio for the last layer. */
static scant_status last_dynamics(view *v) {
    unsigned threads = v->run->ctx->threads;
    size_t n = v->n, b = v->n_batch;
    TRY(make_residuals(v));
    la_view s = view_of(v), q;
    s.a = &v->a;
    q = s;
    size_t size = size_mul(la_view_width(&s), v->a.d);
    double *sum = TRY_ZERO(&v->arena, double, size);
    double *both = TRY_ZERO(&v->arena, double, size);
    double *each = TRY_NEW(&v->arena, double, 2 * b + 1);
    size_t *list = TRY_NEW(&v->arena, size_t, b + 1);
    for (size_t i = 0; i < b; i++) list[i] = n + i;
    q.rows = list, q.m = b;
    size_t memory = size_max(
        la_kron_sum_memory(&s, threads),
        size_max(la_kron_norms_memory(&q, threads), la_kron_dots_memory(&q, threads)));
    TRY(take_room(v, size_max(memory, la_kron_sum_memory(&q, threads))));
    TRY(la_kron_sum(&s, NULL, sum, &v->work));
    double square = 0, product = 0, speed = 0;
    for (size_t k = 0; k < size; k++) speed += sum[k] * sum[k];
    v->out->figures[LOOP_DYNAMICS] = speed;
    if (!b) return SCANT_OK;
    TRY(la_kron_norms(&q, each, &v->work));
    TRY(la_kron_dots(&q, sum, each + b, &v->work));
    TRY(la_kron_sum(&q, NULL, both, &v->work));
    for (size_t k = 0; k < size; k++) {
        square += both[k] * both[k];
        product += both[k] * sum[k];
    }
    v->out->figures[LOOP_RATIO] =
        loop_theory_ratio(sum_of(each, b), sum_of(each + b, b), square, product);
    return SCANT_OK;
}

/* Computes dynamics and ratio for all layers; stores only sums of gradients. */
static scant_status whole_dynamics(view *v) {
    const scant_data *train = v->run->job->samples.train;
    size_t size = scant_net_parameters(v->net), b = v->n_batch;
    float *sum = TRY_NEW(&v->arena, float, size);
    float *both = TRY_NEW(&v->arena, float, size);
    double *each = TRY_NEW(&v->arena, double, 2 * b + 1);
    TRY(scant_net_gradients(v->net, train, v->rows, v->n,
                            &(scant_gradient_opts){.labels = v->labels},
                            &(scant_gradients){.sum = sum}));
    v->out->figures[LOOP_DYNAMICS] = dot(sum, sum, size);
    if (!b) return SCANT_OK;
    TRY(scant_net_gradients(
        v->net, train, v->rows + v->n, b, &(scant_gradient_opts){.direction = sum},
        &(scant_gradients){.norms = each, .products = each + b, .sum = both}));
    v->out->figures[LOOP_RATIO] =
        loop_theory_ratio(sum_of(each, b), sum_of(each + b, b), dot(both, both, size),
                          dot(both, sum, size));
    return SCANT_OK;
}

/* ---- a round's figures ------------------------------------------------------------- */

/* Computes the figures from K and the labels. S begins with the initial set. */
static scant_status kernel_figures(view *v, double zero) {
    double *f = v->out->figures, jitter, bound;
    size_t n = v->n, first = v->run->split.n_initial;
    size_t *places = TRY_NEW(&v->arena, size_t, n);
    for (size_t i = 0; i < n; i++) places[i] = i;
    if (first >= 2) f[LOOP_MMD] = study_mmd(v->kernel, n, places, first, places, n);
    f[LOOP_ALIGNMENT] = study_alignment(v->kernel, n, v->labels);
    TRY(study_bound(v->run->ctx, v->kernel, n, v->labels, v->run->job->samples.classes,
                    zero, &jitter, &bound));
    if (isfinite(bound)) f[LOOP_BOUND] = bound;
    return SCANT_OK;
}

static scant_status measure(view *v) {
    const loop_samples *s = &v->run->job->samples;
    bool whole = strcmp(v->run->job->e->set.theory, "all") == 0, known;
    double *f = v->out->figures, zero = 0;
    study_spectrum k;
    v->labels = TRY_NEW(&v->arena, int32_t, v->n + v->n_batch);
    for (size_t i = 0; i < v->n && !s->regression; i++)
        v->labels[i] = scant_data_labels(s->train)[v->rows[i]];
    if (!whole) TRY(predict(v, !s->regression));
    if (whole || (!s->regression && v->n <= most_rows(v->run->ctx)))
        TRY(make_kernel(v, whole));
    TRY(spectrum(v, &k, &known));
    if (known) {
        f[LOOP_LAMBDA] = k.positive;
        f[LOOP_LARGEST] = k.largest;
        f[LOOP_RANK] = (double)k.rank;
        if (k.rank < v->n) zero = tolerance_of(v) * k.largest;
    }
    if (s->regression) return SCANT_OK;
    TRY(whole ? whole_dynamics(v) : last_dynamics(v));
    return v->kernel ? kernel_figures(v, zero) : SCANT_OK;
}

scant_status loop_theory_measure(loop_run *run, const scant_picks *picks) {
    const loop_labelled *labelled = &run->round.labelled;
    scant_net *net = run->query_net ? run->query_net : run->net;
    const loop_partial *p = &run->state.partial;
    size_t epochs = p->epochs[run->round.chosen * run->recipe.members];
    size_t horizon = p->results[run->round.chosen].horizon;
    loop_theory *out = &run->state.theories[run->round.number];
    *out = loop_theory_unknown();
    if (!is_wanted(&run->job->e->set) || !labelled->n) return SCANT_OK;
    AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(run, LOOP_THEORY);
    AUTO(view_close) view v = {0};
    TRY(view_open(&v, run, net, labelled->rows, labelled->n));
    for (size_t i = 0; picks && i < picks->count; i++)
        v.rows[v.n + v.n_batch++] = run->split.pool[picks->items[i].index];
    v.out = out;
    if (epochs) out->figures[LOOP_EPOCHS] = (double)epochs;
    if (horizon) out->figures[LOOP_HORIZON] = (double)horizon;
    out->figures[LOOP_LR_ADVICE] = run->round.lr_advice;
    return measure(&v);
}

scant_status loop_theory_check(loop_job *job, size_t n_pool) {
    const loop_settings *set = &job->e->set;
    size_t most = most_rows(job->ctx);
    size_t labels = size_add(set->initial, size_mul(set->rounds, set->query));
    if (strcmp(set->initial_how, "none") == 0) labels = size_mul(set->rounds, set->query);
    labels = size_min(labels, n_pool);
    if (strcmp(set->theory, "all") != 0 || labels <= most) return SCANT_OK;
    return scant__fail(
        job->ctx, SCANT_EUSAGE,
        "loop.theory = all needs a kernel of all labelled samples, and there "
        "will be %zu: %sat most %zu are possible; loop.theory = last has no limit",
        labels, most < MOST ? "with the allowed memory, " : "", most);
}

/* ---- learning rate ----------------------------------------------------------------- */

/* *out: lambda / n. *stable: n C / largest eigenvalue, which is the largest rate at which
 * gradient descent on the mean squared error over n samples and C outputs is stable. NaN:
 * unknown. */
static scant_status measure_start(loop_run *run, scant_net *net, const size_t *rows,
                                  size_t n, double *out, double *stable) {
    study_spectrum k;
    bool known;
    AUTO(view_close) view v = {0};
    *out = *stable = (double)NAN;
    TRY(view_open(&v, run, net, rows, n));
    TRY(predict(&v, false));
    TRY(spectrum(&v, &k, &known));
    if (!known || !(k.positive > 0)) return SCANT_OK;
    *out = k.positive / (double)n;
    *stable = (double)n * (double)run->job->samples.classes / k.largest;
    return SCANT_OK;
}

/* measure_start() for a new network with the initial weights of a round. */
static scant_status measure_seed(loop_run *run, size_t round, const size_t *rows,
                                 size_t n, double *out, double *stable) {
    AUTO(scant_net_auto) scant_net *net = NULL;
    AUTO(learn_unmute) learn_mute mute = learn_mute_log(run->ctx); /* already logged */
    TRY(loop_net_make(run, loop_net_seed(run, round, 0, LOOP_SEED_WEIGHTS), 1, &net));
    return measure_start(run, net, rows, n, out, stable);
}

/* Sets the suggested rate. The first labelled set is measured once; with reinit = no,
 * under the weights of round 0. */
static scant_status advise(loop_run *run, const loop_labelled *labelled) {
    const loop_settings *set = &run->job->e->set;
    size_t first = run->split.n_initial ? 0 : 1;
    double here, unused;
    if (run->net) /* this round continues its training */
        TRY(measure_start(run, scant_net_member(run->net, 0), labelled->rows, labelled->n,
                          &here, &run->round.lr_stable));
    else
        TRY(measure_seed(run, run->round.number, labelled->rows, labelled->n, &here,
                         &run->round.lr_stable));
    if (run->round.number == first)
        run->lr_base = here;
    else if (!(run->lr_base > 0))
        TRY(measure_seed(run, set->reinit ? first : 0, labelled->rows,
                         loop_state_labels(&run->state, first), &run->lr_base, &unused));
    double ratio = here / run->lr_base;
    if (isfinite(ratio))
        run->round.lr_advice = set->usual_lr * fmin(fmax(ratio, 0.1), 10);
    return SCANT_OK;
}

scant_status loop_theory_rate(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    const loop_labelled *labelled = &run->round.labelled;
    run->round.lr = set->training.lr;
    run->round.lr_advice = run->round.lr_stable = (double)NAN;
    if (!labelled->n || (!set->lr_auto && !is_wanted(set))) return SCANT_OK;
    AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(run, LOOP_THEORY);
    TRY(advise(run, labelled));
    if (set->lr_auto && isfinite(run->round.lr_advice))
        run->round.lr = run->round.lr_advice;
    else if (set->lr_auto)
        scant__warn(run->ctx, "train.lr = auto: the kernel is too large to compute its "
                              "eigenvalues; the default rate is used");
    return SCANT_OK;
}

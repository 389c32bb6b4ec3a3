/* SPDX-License-Identifier: Apache-2.0
 *
 * A checkpoint is refused if an option that affects the steps differs from the one it was
 * written with.
 */
#include <stddef.h>

#include "fixture.h"
#include "scant/train.h"
#include "train_opts.h"

typedef struct change {
    const char *name;
    size_t at, size; /* in the options */
    const void *value;
} change;

#define CHANGE(field, ...)                                                               \
    {                                                                                    \
        .name = #field, .at = offsetof(scant_train_opts, field),                         \
        .size = sizeof(((scant_train_opts *)0)->field), .value = &__VA_ARGS__            \
    }
#define NUMBER(field, value) CHANGE(field, (const double){value})
#define COUNT(field, value) CHANGE(field, (const size_t){value})
#define SWITCH(field, value) CHANGE(field, (const bool){value})
#define WORD(field, value) CHANGE(field, (const char *const){value})

enum { LABELLED = 6 };
static const size_t rows[LABELLED] = {0, 1, 2, 3, 4, 5};
static const size_t others[LABELLED] = {0, 1, 2, 3, 4, 6};
static const int32_t labels[LABELLED] = {0, 1, 2, 0, 1, 2};
static const int32_t other_labels[LABELLED] = {0, 1, 2, 0, 1, 1};
static const float weights[LABELLED] = {1, 1, 1, 1, 1, 2};
static const float other_weights[LABELLED] = {1, 1, 1, 1, 1, 3};
static const double target[] = {1, 1, 2}, other_target[] = {1, 2, 1};

static scant_train_opts base(const char *method) {
    return TRAIN_OPTS(method, NULL, with.rows = rows, with.n_rows = LABELLED,
                      with.labels = labels, with.weights = weights, with.batch = 3,
                      with.steps = 2, with.checkpoint = path_of("state.safetensors"));
}

static void assert_each_change_is_refused(scant_train_opts o, const change *changes,
                                          size_t n) {
    fixture b = fixture_of("blobs", 30, "linear", (scant_net_opts){0});
    unlink(o.checkpoint);
    train(&b, o);
    o.resume = true;
    float *before = weights_of(&b);
    for (size_t i = 0; i < n; i++) {
        scant_train_opts other = o;
        memcpy((char *)&other + changes[i].at, changes[i].value, changes[i].size);
        scant_status s = scant_net_train(b.net, b.data, &other, NULL);
        if (s != SCANT_EINPUT || !strstr(scant_ctx_errmsg(b.ctx), "another training"))
            fail_msg("%s: %d, %s", changes[i].name, (int)s, scant_ctx_errmsg(b.ctx));
    }
    float *after = weights_of(&b);
    assert_memory_equal(before, after, b.net->net->n_floats * sizeof *before);
    free(before), free(after);
    o.steps = 3; /* the number of steps may differ */
    assert_int_equal(train(&b, o).step, 3);
    fixture_free(&b);
}

#define ASSERT_EACH_CHANGE_IS_REFUSED(o, changes)                                        \
    assert_each_change_is_refused(o, changes, sizeof changes / sizeof *changes)

static void a_checkpoint_with_other_training_options_is_refused(void **state) {
    (void)state;
    const change changes[] = {
        NUMBER(lr, 0.02),
        NUMBER(momentum, 0.8),
        NUMBER(momentum, 0),
        SWITCH(nesterov, 1),
        NUMBER(beta2, 0.9),
        NUMBER(weight_decay, 1e-3),
        SWITCH(decay_weights_only, 1),
        NUMBER(clip, 1),
        NUMBER(norm_momentum, 0.2),
        NUMBER(ema, 0.5),
        COUNT(batch, 2),
        COUNT(warmup, 1),
        COUNT(n_rows, LABELLED - 1),
        SWITCH(draw, 1),
        CHANGE(seed, (const uint64_t){1}),
        WORD(optimizer, "adam"),
        WORD(schedule, "cosine"),
        WORD(loss, "mse"),
        WORD(method, "fixmatch"),
        CHANGE(rows, (const size_t *const){others}),
        CHANGE(labels, (const int32_t *const){other_labels}),
        CHANGE(weights, (const float *const){other_weights}),
    };
    ASSERT_EACH_CHANGE_IS_REFUSED(base(NULL), changes);
}

static void a_checkpoint_with_other_method_options_is_refused(void **state) {
    (void)state;
    scant_train_opts o = base("fixmatch");
    const change changes[] = {
        WORD(method, "pi"),
        WORD(augment, "none"),
        NUMBER(ema, 0),
        NUMBER(weight_decay, 0),
        SWITCH(decay_weights_only, false),
        SWITCH(nesterov, false),
        NUMBER(norm_momentum, 0.2),
        COUNT(n_unlabelled, LABELLED - 1),
        CHANGE(unlabelled, (const size_t *const){rows}),
        COUNT(ssl.mu, 3),
        NUMBER(ssl.weight, 0.5),
        NUMBER(ssl.threshold, 0.9),
        NUMBER(ssl.noise, 0.1),
        NUMBER(ssl.drop, 0.1),
        SWITCH(ssl.darp, 0),
        NUMBER(ssl.darp_alpha, 1),
        COUNT(ssl.darp_every, 7),
        NUMBER(ssl.darp_warmup, 0.5),
        CHANGE(ssl.darp_target, (const double *const){other_target}),
        CHANGE(ssl.darp_target, (const double *const){NULL}),
    };
    o.unlabelled = others;
    o.n_unlabelled = LABELLED;
    o.ssl.darp = true;
    o.ssl.darp_target = target;
    ASSERT_EACH_CHANGE_IS_REFUSED(o, changes);
    const change ramp[] = {COUNT(ssl.ramp, 5)};
    o.method = "pi";
    ASSERT_EACH_CHANGE_IS_REFUSED(o, ramp);
    const change adaptive[] = {
        WORD(method, "softmatch"),
        SWITCH(ssl.align, 0),
        NUMBER(ssl.prediction_ema, 0.5),
        NUMBER(ssl.fairness, 0.5),
        CHANGE(ssl.darp_target, (const double *const){other_target}),
        CHANGE(ssl.darp_target, (const double *const){NULL}),
        SWITCH(ssl.labelled_target, 1),
    };
    o = base("freematch");
    o.ssl.align = true;
    o.ssl.darp_target = target;
    ASSERT_EACH_CHANGE_IS_REFUSED(o, adaptive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_with_other_training_options_is_refused),
        cmocka_unit_test(a_checkpoint_with_other_method_options_is_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

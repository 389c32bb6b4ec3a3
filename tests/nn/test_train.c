/* SPDX-License-Identifier: Apache-2.0
 *
 * Training: that it learns, when it ends, that it is reproducible to the bit, and that a
 * resumed training equals an uninterrupted one.
 */
#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../data/support.h"

#include "nn/network.h"
#include "scant/train.h"
#include "train_opts.h"

static int stop_after; /* cancel at this check; 0: never */

static int cancelled(void *user) {
    (void)user;
    return stop_after && --stop_after == 0;
}

static scant_ctx *ctx_with(unsigned threads) {
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = threads, .cancel = cancelled};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    return ctx;
}

typedef struct fixture {
    scant_ctx *ctx;
    scant_data *data, *test;
    scant_net *net;
} fixture;

static fixture fixture_of(const char *data, size_t count, const char *model,
                          scant_net_opts o) {
    fixture b = {.ctx = ctx_with(2)};
    scant_data_opts d = {.count = count, .seed = 3};
    assert_int_equal(scant_data_open(b.ctx, data, &d, &b.data), SCANT_OK);
    d.test = 1;
    assert_int_equal(scant_data_open(b.ctx, data, &d, &b.test), SCANT_OK);
    scant_data_shape(b.data, o.shape);
    if (!o.classes) o.classes = scant_data_classes(b.data);
    assert_int_equal(scant_net_create(b.ctx, model, &o, &b.net), SCANT_OK);
    return b;
}

static void fixture_free(fixture *b) {
    scant_net_free(b->net);
    scant_data_free(b->data);
    scant_data_free(b->test);
    scant_ctx_free(b->ctx);
}

static scant_train_state train(fixture *b, scant_train_opts o) {
    scant_train_state state;
    if (scant_net_train(b->net, b->data, &o, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(b->ctx));
    return state;
}

static float *weights_of(fixture *b) {
    float *w = malloc(b->net->net->n_floats * sizeof *w);
    assert_int_equal(nn_weights_get(b->net->weights, w), SCANT_OK);
    return w;
}

static void assert_same_weights(fixture *a, fixture *b) {
    float *x = weights_of(a), *y = weights_of(b);
    assert_memory_equal(x, y, a->net->net->n_floats * sizeof *x);
    free(x), free(y);
}

static double accuracy(fixture *b) {
    scant_evaluation e;
    assert_int_equal(scant_net_evaluate(b->net, b->test, NULL, 0, &e), SCANT_OK);
    return e.accuracy;
}

/* ---- learning ---- */

static void mlp_learns_moons_and_linear_cannot(void **state) {
    (void)state;
    scant_train_opts o =
        TRAIN_OPTS(NULL, NULL, with.epochs = 120, with.lr = 0.1, with.batch = 50);
    fixture deep =
        fixture_of("moons", 600, "mlp", (scant_net_opts){.width = 32, .depth = 2});
    fixture line = fixture_of("moons", 600, "linear", (scant_net_opts){0});
    train(&deep, o);
    train(&line, o);
    assert_true(accuracy(&deep) > 0.97);
    assert_true(accuracy(&line) < 0.95); /* the moons are not linearly separable */
    fixture_free(&deep), fixture_free(&line);
}

static void all_optimisers_and_losses_learn_blobs(void **state) {
    (void)state;
    const scant_train_opts all[] = {
        TRAIN_OPTS(NULL, NULL, with.lr = 0.05),
        TRAIN_OPTS(NULL, NULL, with.lr = 0.05, with.nesterov = true,
                   with.schedule = "cosine", with.warmup = 5),
        TRAIN_OPTS(NULL, NULL, with.lr = 0.2, with.momentum = 0, with.schedule = "step"),
        TRAIN_OPTS(NULL, "adam", with.lr = 0.02, with.weight_decay = 1e-4),
        TRAIN_OPTS(NULL, "adam", with.lr = 0.02, with.loss = "mse"),
        TRAIN_OPTS(NULL, NULL, with.lr = 0.05, with.ema = 0.9, with.clip = 1,
                   with.schedule = "fixmatch"),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fixture b = fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 16});
        scant_train_opts o = all[i];
        o.epochs = 15;
        o.batch = 32;
        scant_train_state s = train(&b, o);
        assert_int_equal(s.stopped, SCANT_STOP_EPOCHS);
        assert_int_equal(s.epoch, 15);
        assert_int_equal(s.step,
                         15 * 10); /* 300 samples: nine mini-batches and a smaller one */
        if (!(accuracy(&b) > 0.97)) fail_msg("case %zu: %g", i, accuracy(&b));
        fixture_free(&b);
    }
}

/* ---- when training ends ---- */

static void training_ends_at_the_given_accuracy(void **state) {
    (void)state;
    fixture b = fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 16});
    scant_train_state s =
        train(&b, TRAIN_OPTS(NULL, NULL, with.epochs = 200, with.until = 0.98));
    assert_int_equal(s.stopped, SCANT_STOP_UNTIL);
    assert_true(s.accuracy >= 0.98);
    assert_true(s.epoch < 200);
    fixture_free(&b);
}

/* A rate at which the accuracy still moves up and down at the end. */
static scant_train_opts until(size_t extra) {
    return TRAIN_OPTS(NULL, NULL, with.epochs = 200, with.lr = 0.3, with.batch = 20,
                      with.warmup = 0, with.until = 0.9, with.until_extra = extra,
                      with.seed = 4);
}

static void training_continues_for_extra_epochs_after_the_accuracy(void **state) {
    (void)state;
    size_t first = 0;
    bool fell = false;
    for (size_t extra = 0; extra < 7; extra += 2) {
        fixture b = fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8});
        scant_train_state s = train(&b, until(extra));
        if (!extra) first = s.epoch;
        assert_int_equal(s.stopped, SCANT_STOP_UNTIL);
        assert_int_equal(s.epoch, first + extra);
        fell = fell || s.accuracy < 0.9; /* it is not counted from the last such epoch */
        fixture_free(&b);
    }
    assert_true(fell);
    fixture b = fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8});
    scant_train_opts o = until(3);
    o.epochs = first + 2;
    assert_int_equal(train(&b, o).stopped, SCANT_STOP_EPOCHS);
    fixture_free(&b);
}

static void training_ends_when_validation_stops_improving(void **state) {
    (void)state;
    fixture b = fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 16});
    scant_train_state s =
        train(&b, TRAIN_OPTS(NULL, NULL, with.epochs = 400, with.lr = 0.05,
                             with.valid = b.test, with.patience = 6));
    assert_int_equal(s.stopped, SCANT_STOP_PATIENCE);
    assert_true(s.epoch < 400);
    /* the network has the weights of the best epoch */
    assert_true(accuracy(&b) >= s.valid_accuracy);
    fixture_free(&b);
}

static void training_ends_after_the_given_steps(void **state) {
    (void)state;
    fixture b = fixture_of("blobs", 300, "linear", (scant_net_opts){0});
    scant_train_state s =
        train(&b, TRAIN_OPTS(NULL, NULL, with.steps = 7, with.batch = 100));
    assert_int_equal(s.step, 7);
    assert_int_equal(s.epoch, 3);
    fixture_free(&b);
}

static void assert_finite_outputs(fixture *b) {
    size_t n = scant_data_count(b->data), c = scant_net_classes(b->net);
    float *z = malloc(n * c * sizeof *z);
    assert_int_equal(
        scant_net_predict(b->net, b->data, NULL, 0, &(scant_outputs){.logits = z}),
        SCANT_OK);
    for (size_t i = 0; i < n * c; i++) assert_true(isfinite(z[i]));
    free(z);
}

static void a_non_finite_loss_keeps_the_last_good_weights(void **state) {
    (void)state;
    /* one or several mini-batches per epoch; the loss is spoiled at once or by the last
     * step */
    const size_t batches[] = {300, 64}, steps[] = {0, 1, 3};
    for (int i = 0; i < 6; i++) {
        fixture b =
            fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 16, .depth = 6});
        scant_train_state s;
        scant_train_opts o =
            TRAIN_OPTS(NULL, NULL, with.epochs = 50, with.lr = 1e30,
                       with.batch = batches[i % 2], with.steps = steps[i / 2]);
        float *before = weights_of(&b);
        assert_int_equal(scant_net_train(b.net, b.data, &o, &s), SCANT_EINPUT);
        assert_non_null(strstr(scant_ctx_errmsg(b.ctx), "not a finite number at step"));
        assert_non_null(strstr(scant_ctx_errmsg(b.ctx), "the end of epoch 0"));
        assert_finite_outputs(&b);
        float *after = weights_of(&b);
        assert_memory_equal(before, after, b.net->net->n_floats * sizeof *before);
        free(before), free(after);
        fixture_free(&b);
    }
}

static void the_last_good_weights_are_those_of_the_epoch_in_the_message(void **state) {
    (void)state;
    /* The loss diverges after some good epochs, the same in every run. The weights are
     * those of a training that ends with the epoch in the message. */
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.epochs = 200, with.batch = 100,
                                    with.lr = 2.0, with.momentum = 0, with.loss = "mse");
    fixture b = fixture_of("blobs", 300, "linear", (scant_net_opts){0});
    fixture same = fixture_of("blobs", 300, "linear", (scant_net_opts){0});
    scant_train_state s;
    assert_int_equal(scant_net_train(b.net, b.data, &o, &s), SCANT_EINPUT);
    const char *says = strstr(scant_ctx_errmsg(b.ctx), "the end of epoch ");
    assert_non_null(says);
    o.epochs = strtoul(says + strlen("the end of epoch "), NULL, 10);
    assert_finite_outputs(&b);
    assert_true(o.epochs >= 1);
    train(&same, o);
    assert_same_weights(&b, &same);
    fixture_free(&b), fixture_free(&same);
}

static void validation_samples_are_checked_before_the_first_epoch(void **state) {
    (void)state;
    fixture b = fixture_of("moons", 300, "mlp", (scant_net_opts){0});
    fixture three = fixture_of("blobs", 300, "mlp", (scant_net_opts){0});
    const size_t far[] = {300};
    scant_train_state s;
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.epochs = 1, with.valid = three.data);
    assert_int_equal(scant_net_train(b.net, b.data, &o, &s), SCANT_EINPUT);
    assert_non_null(
        strstr(scant_ctx_errmsg(b.ctx), "has label 2, but the network has 2"));
    assert_int_equal(s.step, 0);
    o = TRAIN_OPTS(NULL, NULL, with.epochs = 1, with.valid = b.test,
                   with.valid_rows = far, with.n_valid_rows = 1);
    assert_int_equal(scant_net_train(b.net, b.data, &o, &s), SCANT_EINPUT);
    assert_int_equal(s.step, 0);
    fixture_free(&b), fixture_free(&three);
}

/* ---- reproducible and resumed ---- */

static scant_train_opts long_run(void) {
    return TRAIN_OPTS(NULL, NULL, with.epochs = 12, with.lr = 0.03, with.batch = 32,
                      with.ema = 0.95, with.schedule = "cosine", with.weight_decay = 1e-3,
                      with.decay_weights_only = true, with.seed = 11);
}

static void the_same_seed_gives_the_same_bits(void **state) {
    (void)state;
    fixture a = fixture_of("blobs", 300, "mlp", (scant_net_opts){.dropout = 0.2});
    fixture b = fixture_of("blobs", 300, "mlp", (scant_net_opts){.dropout = 0.2});
    fixture c = fixture_of("blobs", 300, "mlp", (scant_net_opts){.dropout = 0.2});
    scant_train_opts other = long_run();
    other.seed++;
    train(&a, long_run()), train(&b, long_run()), train(&c, other);
    assert_same_weights(&a, &b);
    float *x = weights_of(&a), *y = weights_of(&c);
    assert_memory_not_equal(x, y, a.net->net->n_floats * sizeof *x);
    free(x), free(y);
    fixture_free(&a), fixture_free(&b), fixture_free(&c);
}

/* Images of 12x12 bytes with labels computed from them. */
static void put_images(char images[512], char labels[512]) {
    enum { N = 40, PIXELS = 12 * 12 };
    unsigned char bytes[N * PIXELS], classes[N];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(255 * unit_at(2, i));
    for (size_t i = 0; i < N; i++) classes[i] = bytes[i * PIXELS] % 3;
    buffer x = npy(1, NPY("|u1", "(40, 12, 12)"), bytes, sizeof bytes);
    buffer y = npy(1, NPY("|u1", "(40,)"), classes, sizeof classes);
    snprintf(images, 512, "%s", put_buffer("x.npy", &x));
    snprintf(labels, 512, "%s", put_buffer("y.npy", &y));
}

#ifdef SCANT_SANITIZED /* most time is in oneDNN, which is not instrumented */
enum { REPEATED = 10 };
#else
enum { REPEATED = 100 };
#endif

static void deep_networks_are_reproducible_to_the_bit(void **state) {
    (void)state;
    const char *models[] = {"lenet5", "wrn-28-2"};
    char images[512], labels[512];
    put_images(images, labels);
    for (int m = 0; m < 2; m++) {
        float *weights[2];
        size_t floats = 0;
        for (int twice = 0; twice < 2; twice++) {
            fixture b = {.ctx = ctx_with(2)};
            scant_net_opts o = {.shape = {1, 12, 12}, .classes = 3};
            scant_data_opts d = {.labels = labels};
            assert_int_equal(scant_data_open(b.ctx, images, &d, &b.data), SCANT_OK);
            assert_int_equal(scant_net_create(b.ctx, models[m], &o, &b.net), SCANT_OK);
            train(&b, TRAIN_OPTS(NULL, NULL, with.steps = REPEATED, with.batch = 5,
                                 with.augment = "flip-crop"));
            weights[twice] = weights_of(&b);
            floats = b.net->net->n_floats;
            fixture_free(&b);
        }
        assert_memory_equal(weights[0], weights[1], floats * sizeof **weights);
        free(weights[0]), free(weights[1]);
    }
}

static void a_resumed_training_ends_with_the_same_bits(void **state) {
    (void)state;
    /* Patience is short, so validation decides when training ends. It is cancelled at
     * every check: within epochs and during validation. */
    fixture whole =
        fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8, .dropout = 0.2});
    scant_train_opts o = long_run();
    o.batch = 100;
    o.patience = 2;
    o.valid = whole.test;
    scant_train_state want = train(&whole, o), s = {0};
    for (int every = 1; every < 12; every++) {
        fixture broken =
            fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8, .dropout = 0.2});
        char name[32];
        snprintf(name, sizeof name, "state-%d.safetensors", every);
        o.valid = broken.test;
        o.checkpoint = path_of(name);
        o.resume = true;
        int breaks = 0;
        for (;; breaks++) {
            stop_after = every + breaks; /* later each time, so that it ends */
            scant_status status = scant_net_train(broken.net, broken.data, &o, &s);
            stop_after = 0;
            if (status == SCANT_OK) break;
            assert_int_equal(status, SCANT_ECANCELLED);
            assert_int_equal(s.stopped, SCANT_STOP_CANCELLED);
            /* as a new process: other initial weights */
            assert_int_equal(scant_net_reset(broken.net, 99 + (uint64_t)breaks),
                             SCANT_OK);
            assert_true(breaks < 200);
        }
        assert_true(breaks >= 2);
        assert_same_weights(&whole, &broken);
        assert_int_equal(s.stopped, want.stopped);
        assert_int_equal(s.epoch, want.epoch);
        assert_true(s.loss == want.loss && s.accuracy == want.accuracy);
        /* called again, it has already ended */
        assert_int_equal(scant_net_train(broken.net, broken.data, &o, &s), SCANT_OK);
        assert_int_equal(s.stopped, want.stopped);
        assert_int_equal(s.epoch, want.epoch);
        assert_same_weights(&whole, &broken);
        fixture_free(&broken);
    }
    fixture_free(&whole);
}

/* Counts how often a checkpoint is replaced, and links to the one of epoch 150. */
typedef struct checkpoint_log {
    const char *path, *copy;
    ino_t last;
    size_t writes;
} checkpoint_log;

static void log_checkpoint(void *user, const scant_train_state *s) {
    checkpoint_log *l = user;
    struct stat info;
    bool there = stat(l->path, &info) == 0;
    l->writes += there && info.st_ino != l->last;
    if (there) l->last = info.st_ino;
    if (s->epoch == 150)
        nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 20000000}, NULL);
    if (s->epoch == 152)
        assert_int_equal(link(l->path, l->copy), 0); /* written after 150 */
}

/* Resumes from the checkpoint that a process killed in epoch 152 would have left. */
static void checkpoints_are_written_at_most_once_a_second(void **state) {
    (void)state;
    struct timespec begun, ended;
    fixture a = fixture_of("moons", 30, "mlp", (scant_net_opts){.width = 8});
    fixture b = fixture_of("moons", 30, "mlp", (scant_net_opts){.width = 8});
    checkpoint_log l = {.path = path_of("often.safetensors")};
    l.copy = path_of("killed.safetensors");
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.epochs = 300, with.batch = 30,
                                    with.ema = 0.9, with.checkpoint = l.path);
    o.user = &l, o.report = log_checkpoint;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    train(&a, o);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds = difftime(ended.tv_sec, begun.tv_sec) + 1;
    if ((double)l.writes > seconds) fail_msg("%zu files in %g s", l.writes, seconds);
    assert_true(l.writes >= 1);
    o.report = NULL, o.resume = true, o.resume_from = l.copy;
    train(&b, o);
    assert_same_weights(&a, &b);
    /* the last checkpoint is of the end: nothing is left to train */
    scant_train_state s;
    fixture c = fixture_of("moons", 30, "mlp", (scant_net_opts){.width = 8});
    o.resume_from = NULL;
    stop_after = 1;
    assert_int_equal(scant_net_train(c.net, c.data, &o, &s), SCANT_OK);
    stop_after = 0;
    assert_int_equal(s.step, 300);
    assert_same_weights(&a, &c);
    fixture_free(&a), fixture_free(&b), fixture_free(&c);
}

/* Reads one checkpoint and writes another; the first is not modified. */
static void resume_from_does_not_modify_its_file(void **state) {
    (void)state;
    fixture whole = fixture_of("moons", 100, "mlp", (scant_net_opts){.width = 8});
    fixture broken = fixture_of("moons", 100, "mlp", (scant_net_opts){.width = 8});
    scant_train_opts o =
        TRAIN_OPTS(NULL, NULL, with.epochs = 20, with.batch = 10, with.only_cancelled = 1,
                   with.checkpoint = path_of("first.safetensors"));
    train(&whole, o);
    stop_after = 60;
    assert_int_equal(scant_net_train(broken.net, broken.data, &o, NULL),
                     SCANT_ECANCELLED);
    o.resume = true;
    o.resume_from = o.checkpoint;
    o.checkpoint = path_of("second.safetensors");
    for (int twice = 0; twice < 2; twice++) { /* both start from the first file */
        scant_train_state s;
        stop_after = 30;
        assert_int_equal(scant_net_train(broken.net, broken.data, &o, &s),
                         SCANT_ECANCELLED);
        assert_int_equal(s.step, 90);
    }
    stop_after = 0;
    o.resume_from = NULL;
    assert_int_equal(scant_net_train(broken.net, broken.data, &o, NULL), SCANT_OK);
    assert_same_weights(&whole, &broken);
    fixture_free(&whole);
    fixture_free(&broken);
}

static void extra_epochs_are_counted_across_a_resume(void **state) {
    (void)state;
    fixture whole = fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8});
    scant_train_opts o = until(6);
    scant_train_state want = train(&whole, o), s;
    o.resume = true;
    for (size_t left = 0; left <= 8;
         left++) { /* 15 steps an epoch: cancelled within one */
        fixture b = fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8});
        char name[32];
        snprintf(name, sizeof name, "extra-%zu.safetensors", left);
        o.checkpoint = path_of(name);
        stop_after = (int)(15 * (want.epoch - left) - 7);
        assert_int_equal(scant_net_train(b.net, b.data, &o, &s), SCANT_ECANCELLED);
        stop_after = 0;
        assert_true(s.epoch <= want.epoch);
        assert_int_equal(scant_net_reset(b.net, 99), SCANT_OK);
        assert_int_equal(train(&b, o).epoch, want.epoch);
        assert_same_weights(&whole, &b);
        /* ended, but more extra epochs or a higher accuracy continue it */
        assert_int_equal(train(&b, o).epoch, want.epoch);
        o.until_extra = 8;
        assert_int_equal(train(&b, o).epoch, want.epoch + 2);
        o.until = 1, o.epochs = want.epoch + 5;
        assert_int_equal(train(&b, o).epoch, want.epoch + 5);
        o.until = 0.9, o.until_extra = 6, o.epochs = 200;
        fixture_free(&b);
    }
    fixture_free(&whole);
}

static void a_checkpoint_of_another_training_is_refused(void **state) {
    (void)state;
    fixture b = fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8});
    fixture tanh_ = fixture_of("moons", 300, "mlp",
                               (scant_net_opts){.width = 8, .activation = "tanh"});
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.epochs = 1,
                                    with.checkpoint = path_of("one.safetensors"));
    train(&b, o);
    o.resume = true;
    float *before = weights_of(&tanh_);
    assert_int_equal(scant_net_train(tanh_.net, tanh_.data, &o, NULL), SCANT_EINPUT);
    assert_says(tanh_.ctx, o.checkpoint, "another training");
    float *after = weights_of(&tanh_);
    assert_memory_equal(before, after, b.net->net->n_floats * sizeof *before);
    free(before), free(after);
    o.seed = 5;
    assert_int_equal(scant_net_train(b.net, b.data, &o, NULL), SCANT_EINPUT);
    o.seed = 0, o.epochs = 3;
    scant_train_state s = train(&b, o); /* more epochs are allowed */
    assert_int_equal(s.epoch, 3);
    fixture_free(&b), fixture_free(&tanh_);
}

/* A bit in the numbers, in the metadata or in the names. */
static void a_checkpoint_with_a_changed_bit_is_refused(void **state) {
    (void)state;
    static unsigned char bytes[60000];
    fixture b = fixture_of("moons", 300, "mlp", (scant_net_opts){.width = 8});
    scant_train_opts o = TRAIN_OPTS(NULL, NULL, with.epochs = 1,
                                    with.checkpoint = path_of("bit.safetensors"));
    train(&b, o);
    o.resume = true;
    o.epochs = 2;
    FILE *file = fopen(o.checkpoint, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 1000 && size < sizeof bytes);
    for (size_t i = 0; i < size; i += size / 150) {
        bytes[i] ^= 1;
        put("bit.safetensors", bytes, size);
        if (scant_net_train(b.net, b.data, &o, NULL) != SCANT_EINPUT)
            fail_msg("byte %zu of %zu was changed", i, size);
        bytes[i] ^= 1;
    }
    put("bit.safetensors", bytes, size);
    assert_int_equal(train(&b, o).epoch, 2);
    fixture_free(&b);
}

/* ---- sample weights ---- */

static void a_weight_of_two_equals_a_repeated_sample(void **state) {
    (void)state;
    /* 4 samples, the last with weight 2, and 5 samples, the last twice, in one
     * mini-batch: the weighted mean over 4 is 5/4 of the mean over 5, so lr differs */
    const size_t rows4[] = {0, 1, 2, 3}, rows5[] = {0, 1, 2, 3, 3};
    const float weights[] = {1, 1, 1, 2};
    fixture a = fixture_of("blobs", 300, "linear", (scant_net_opts){0});
    fixture b = fixture_of("blobs", 300, "linear", (scant_net_opts){0});
    scant_train_opts o =
        TRAIN_OPTS(NULL, NULL, with.steps = 1, with.lr = 0.04, with.momentum = 0);
    o.rows = rows4, o.n_rows = 4, o.weights = weights;
    train(&a, o);
    o.rows = rows5, o.n_rows = 5, o.weights = NULL, o.lr = 0.05;
    train(&b, o);
    float *x = weights_of(&a), *y = weights_of(&b);
    for (size_t i = 0; i < a.net->net->n_floats; i++)
        assert_true(fabs((double)x[i] - (double)y[i]) < 1e-6);
    free(x), free(y);
    fixture_free(&a), fixture_free(&b);
}

static void samples_are_drawn_in_proportion_to_their_weights(void **state) {
    (void)state;
    /* All samples have the same input, so P(1) converges to the share of label 1 among
     * the drawn samples. Samples of weight 0 are never drawn. */
    fixture b = fixture_of("blobs", 300, "linear", (scant_net_opts){.classes = 2});
    size_t rows[100];
    int32_t labels[100];
    float weights[100];
    for (size_t i = 0; i < 100; i++) {
        rows[i] = 0; /* the same input */
        labels[i] = i % 2;
        weights[i] = i % 2 ? 3.0f : 1.0f;
    }
    scant_train_state s =
        train(&b, TRAIN_OPTS(NULL, NULL, with.rows = rows, with.n_rows = 100,
                             with.labels = labels, with.weights = weights,
                             with.draw = true, with.epochs = 400, with.batch = 100,
                             with.lr = 0.3, with.schedule = "cosine", with.seed = 5));
    /* expected: P(1) = 3/4 */
    float probs[2];
    assert_int_equal(
        scant_net_predict(b.net, b.data, rows, 1, &(scant_outputs){.probs = probs}),
        SCANT_OK);
    /* 40,000 draws have a standard deviation of 0.0022; the last steps count most */
    if (fabs((double)probs[1] - 0.75) > 0.03) fail_msg("%g", (double)probs[1]);
    assert_true(s.accuracy > 0.7);
    for (size_t i = 0; i < 100; i++) weights[i] = i % 2 ? 1.0f : 0.0f;
    /* the network predicts class 1, and no sample of class 0 is drawn */
    s = train(&b, TRAIN_OPTS(NULL, NULL, with.rows = rows, with.n_rows = 100,
                             with.labels = labels, with.weights = weights,
                             with.draw = true, with.epochs = 3, with.lr = 1e-9));
    assert_true(s.accuracy == 1);
    fixture_free(&b);
}

/* ---- errors ---- */

static void wrong_calls_are_refused(void **state) {
    (void)state;
    fixture b = fixture_of("blobs", 300, "linear", (scant_net_opts){.classes = 2});
    const size_t rows[] = {0, 300}, two[] = {0, 1};
    const int32_t two_labels[] = {0, 1};
    const float negative[] = {1, -1}, zero[] = {0, 0};
    const struct {
        scant_train_opts opts;
        const char *says;
    } cases[] = {
        {TRAIN_OPTS(NULL, NULL, with.epochs = 1),
         "label 2, but the network has 2 classes"},
        {TRAIN_OPTS(NULL, NULL, with.rows = rows, with.n_rows = 2),
         "has 300 samples, so there is no sample 300"},
        {TRAIN_OPTS(NULL, NULL, with.optimizer = "lbfgs"),
         "optimizer is lbfgs, expected one of sgd|adam"},
        {TRAIN_OPTS(NULL, NULL, with.schedule = "linear"),
         "schedule is linear, expected one of constant"},
        {TRAIN_OPTS(NULL, NULL, with.loss = "hinge"),
         "loss is hinge, expected one of ce|mse"},
        {TRAIN_OPTS(NULL, NULL, with.augment = "mixup"), "augment is"},
        {TRAIN_OPTS(NULL, NULL, with.augment = "flip-crop"), "changes images"},
        {TRAIN_OPTS(NULL, NULL, with.lr = -1), "lr is -1"},
        {TRAIN_OPTS(NULL, NULL, with.momentum = 1), "momentum is 1"},
        {TRAIN_OPTS(NULL, NULL, with.ema = 1.5), "ema is 1.5"},
        {TRAIN_OPTS(NULL, NULL, with.ema = (double)NAN), "ema is nan"},
        {TRAIN_OPTS(NULL, NULL, with.weight_decay = (double)NAN), "weight_decay is nan"},
        {TRAIN_OPTS(NULL, NULL, with.until = 2), "until is 2"},
        {TRAIN_OPTS(NULL, NULL, with.until_extra = 2), "until_extra needs until"},
        {TRAIN_OPTS(NULL, NULL, with.patience = 3), "patience needs"},
        {TRAIN_OPTS(NULL, NULL, with.resume = true), "resume needs"},
        {TRAIN_OPTS(NULL, NULL, with.draw = true), "needs weights"},
        {TRAIN_OPTS(NULL, "adam", with.nesterov = 1), "nesterov needs"},
        {TRAIN_OPTS(NULL, NULL, with.rows = rows, with.n_rows = 1, with.weights = zero),
         "weight 0"},
        {TRAIN_OPTS(NULL, NULL, with.rows = two, with.n_rows = 2, with.weights = negative,
                    with.labels = two_labels),
         "weight -1"},
        {TRAIN_OPTS(NULL, NULL, with.rows = rows, with.n_rows = 0),
         "no labelled samples"},
    };
    float *before = weights_of(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scant_status s = scant_net_train(b.net, b.data, &cases[i].opts, NULL);
        assert_true(s == SCANT_EUSAGE || s == SCANT_EINPUT);
        if (!strstr(scant_ctx_errmsg(b.ctx), cases[i].says))
            fail_msg("message '%s' does not contain '%s'", scant_ctx_errmsg(b.ctx),
                     cases[i].says);
    }
    float *after = weights_of(&b);
    assert_memory_equal(before, after, b.net->net->n_floats * sizeof *before);
    free(before), free(after);
    fixture_free(&b);
}

/* ---- weights in files ---- */

static void saved_weights_are_read_back_to_the_bit(void **state) {
    (void)state;
    fixture b =
        fixture_of("blobs", 300, "mlp",
                   (scant_net_opts){.width = 13, .depth = 2, .activation = "tanh"});
    train(&b, TRAIN_OPTS(NULL, NULL, with.epochs = 2));
    const char *path = path_of("weights.safetensors");
    assert_int_equal(scant_net_save(b.net, path), SCANT_OK);
    fixture again = b;
    assert_int_equal(scant_net_open(b.ctx, path, NULL, NULL, &again.net), SCANT_OK);
    assert_same_weights(&b, &again);
    float a[3 * 300], c[3 * 300];
    assert_int_equal(
        scant_net_predict(b.net, b.data, NULL, 0, &(scant_outputs){.logits = a}),
        SCANT_OK);
    assert_int_equal(
        scant_net_predict(again.net, b.data, NULL, 0, &(scant_outputs){.logits = c}),
        SCANT_OK);
    assert_memory_equal(a, c, sizeof a);
    scant_net_free(again.net);
    fixture_free(&b);
}

static void messages_name_the_tensors_that_do_not_fit(void **state) {
    (void)state;
    fixture b = fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 13});
    fixture other =
        fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 13, .classes = 7});
    fixture linear = fixture_of("blobs", 300, "linear", (scant_net_opts){0});
    const char *path = path_of("mlp.safetensors");
    assert_int_equal(scant_net_save(b.net, path), SCANT_OK);
    float *before = weights_of(&other);
    assert_int_equal(scant_net_load(other.net, path, false), SCANT_EINPUT);
    assert_says(other.ctx, path,
                "fc2.weight is 3 x 13, not 7 x 13; fc2.bias is 3, not 7");
    float *after = weights_of(&other);
    size_t n = other.net->net->n_floats;
    assert_memory_equal(before, after, n * sizeof *before);
    free(after);
    /* with another head allowed, all but the head is read */
    assert_int_equal(scant_net_load(other.net, path, true), SCANT_OK);
    after = weights_of(&other);
    float *source = weights_of(&b);
    for (size_t i = 0; i < other.net->net->n_params; i++) {
        const nn_param *p = &other.net->net->params[i];
        const nn_param *q = nn_net_find(b.net->net, p->name);
        bool head = strncmp(p->name, "fc2", 3) == 0;
        assert_memory_equal(after + p->offset,
                            head ? before + p->offset : source + q->offset,
                            p->count * sizeof *after);
    }
    free(before), free(after), free(source);
    assert_int_equal(scant_net_load(linear.net, path, false), SCANT_EINPUT);
    assert_says(linear.ctx, path, "fc.weight is missing");
    assert_says(linear.ctx, path, "fc1.weight is not in the network");
    fixture_free(&b), fixture_free(&other), fixture_free(&linear);
}

/* ---- predictions ---- */

static void the_last_smaller_batch_is_predicted_too(void **state) {
    (void)state;
    fixture b = fixture_of("blobs", 300, "mlp", (scant_net_opts){.width = 5});
    size_t d = scant_net_features(b.net);
    assert_int_equal(d, 5);
    float features[300 * 5], logits[300 * 3], probs[300 * 3], one[3];
    assert_int_equal(
        scant_net_predict(
            b.net, b.data, NULL, 0,
            &(scant_outputs){.features = features, .logits = logits, .probs = probs}),
        SCANT_OK);
    float *w = weights_of(&b);
    const float *v = w + nn_net_find(b.net->net, "fc2.weight")->offset;
    const float *bias = w + nn_net_find(b.net->net, "fc2.bias")->offset;
    for (size_t i = 0; i < 300; i++) {
        double sum = 0;
        for (size_t c = 0; c < 3; c++) {
            double z = (double)bias[c];
            for (size_t k = 0; k < d; k++)
                z += (double)v[c * d + k] * (double)features[i * d + k];
            assert_true(fabs(z - (double)logits[3 * i + c]) < 1e-5 * (1 + fabs(z)));
            sum += (double)probs[3 * i + c];
        }
        assert_true(fabs(sum - 1) < 1e-6);
    }
    /* a prediction does not depend on the other samples */
    for (size_t i = 0; i < 300; i += 299) {
        assert_int_equal(
            scant_net_predict(b.net, b.data, &i, 1, &(scant_outputs){.logits = one}),
            SCANT_OK);
        for (int c = 0; c < 3; c++)
            assert_true(fabs((double)one[c] - (double)logits[3 * i + (size_t)c]) < 1e-5);
    }
    free(w);
    fixture_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mlp_learns_moons_and_linear_cannot),
        cmocka_unit_test(all_optimisers_and_losses_learn_blobs),
        cmocka_unit_test(training_ends_at_the_given_accuracy),
        cmocka_unit_test(training_ends_when_validation_stops_improving),
        cmocka_unit_test(training_ends_after_the_given_steps),
        cmocka_unit_test(a_non_finite_loss_keeps_the_last_good_weights),
        cmocka_unit_test(the_last_good_weights_are_those_of_the_epoch_in_the_message),
        cmocka_unit_test(validation_samples_are_checked_before_the_first_epoch),
        cmocka_unit_test(resume_from_does_not_modify_its_file),
        cmocka_unit_test(checkpoints_are_written_at_most_once_a_second),
        cmocka_unit_test(a_checkpoint_of_another_training_is_refused),
        cmocka_unit_test(a_checkpoint_with_a_changed_bit_is_refused),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(deep_networks_are_reproducible_to_the_bit),
        cmocka_unit_test(a_resumed_training_ends_with_the_same_bits),
        cmocka_unit_test(extra_epochs_are_counted_across_a_resume),
        cmocka_unit_test(training_continues_for_extra_epochs_after_the_accuracy),
        cmocka_unit_test(a_weight_of_two_equals_a_repeated_sample),
        cmocka_unit_test(samples_are_drawn_in_proportion_to_their_weights),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(saved_weights_are_read_back_to_the_bit),
        cmocka_unit_test(messages_name_the_tensors_that_do_not_fit),
        cmocka_unit_test(the_last_smaller_batch_is_predicted_too),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

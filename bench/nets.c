/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-nets train MODEL IMAGES.npy LABELS.npy STEPS THREADS
 * bench-nets norms|delta MODEL IMAGES.npy LABELS.npy RUNS THREADS
 * bench-nets fixmatch|views MODEL IMAGES.npy LABELS.npy STEPS THREADS BATCH
 *
 * Our side of the benchmark of networks, through the public interface only. Prints a JSON
 * object with the results and the seconds of
 * - train: each step of training (mini-batch 128, SGD with momentum);
 * - norms: each run over all samples;
 * - delta: in turn, a run that only sums the gradients (forward and backward pass) and a
 *   run that computes norms and products with that sum;
 * - fixmatch, views: each step of FixMatch (BATCH labelled and 7 * BATCH unlabelled
 *   samples; every pseudo-label counts), without and with augmented views.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <scant/train.h>

enum { MOST = 10000 };

static double seconds[MOST];
static size_t count;
static double last;
static scant_ctx *ctx;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(scant_status status) {
    if (status == SCANT_OK) return;
    fprintf(stderr, "bench-nets: %s\n", scant_ctx_errmsg(ctx));
    exit(1);
}

static void report(void *user, const scant_train_state *state) {
    (void)user, (void)state;
    double t = now();
    if (count < MOST) seconds[count++] = t - last;
    last = t;
}

static void print(const char *name, double value) {
    printf("{\"seconds\": [");
    for (size_t i = 0; i < count; i++) printf("%s%.9f", i ? ", " : "", seconds[i]);
    printf("], \"%s\": %.9g}\n", name, value);
}

static void train(scant_net *net, const scant_data *data, const char *how, size_t steps,
                  size_t batch) {
    scant_train_state state;
    scant_train_opts opts;
    bool supervised = strcmp(how, "train") == 0;
    scant_train_defaults(supervised ? NULL : "fixmatch", NULL, &opts);
    opts.steps = steps;
    opts.lr = 0.001;
    opts.report = report;
    size_t rows[1024];
    if (!supervised) {
        for (size_t i = 0; i < batch; i++) rows[i] = i;
        opts.rows = rows;
        opts.n_rows = opts.batch = batch;
        opts.augment = strcmp(how, "views") == 0 ? "crop" : "none";
        opts.ssl.threshold = 1e-9;
    }
    last = now();
    need(scant_net_train(net, data, &opts, &state));
    print("loss", state.loss);
}

/* Times passes that only sum gradients, and passes for every sample's dynamicAL terms. */
static void delta(scant_net *net, const scant_data *data, size_t runs) {
    size_t n = scant_data_count(data);
    float *sum = malloc(scant_net_parameters(net) * sizeof *sum);
    double *norms = malloc((n ? n : 1) * 2 * sizeof *norms), total = 0;
    if (!sum || !norms) exit(1);
    for (size_t r = 0; r < runs + 1; r++) {
        last = now();
        need(scant_net_gradients(
            net, data, NULL, n, &(scant_gradient_opts){.labels = scant_data_labels(data)},
            &(scant_gradients){.sum = sum}));
        if (r && count < MOST) seconds[count++] = now() - last;
        last = now();
        need(scant_net_gradients(
            net, data, NULL, n, &(scant_gradient_opts){.direction = sum},
            &(scant_gradients){.norms = norms, .products = norms + n}));
        if (r && count < MOST) seconds[count++] = now() - last;
    }
    for (size_t i = 0; i < n; i++) total += norms[i] + 2 * norms[n + i];
    print("delta", total);
    free(sum);
    free(norms);
}

int main(int argc, char **argv) {
    size_t batch = argc == 8 ? strtoul(argv[7], NULL, 10) : 0;
    if (argc < 7 || argc > 8 || batch > 1024) return 2;
    size_t runs = strtoul(argv[5], NULL, 10);
    scant_ctx_opts opts = {.threads = (unsigned)strtoul(argv[6], NULL, 10)};
    scant_data *data;
    scant_net *net;
    scant_net_opts net_opts = {.classes = 10};
    if (scant_ctx_create(&opts, &ctx) != SCANT_OK) return 1;
    need(scant_data_open(ctx, argv[3], &(scant_data_opts){.labels = argv[4]}, &data));
    scant_data_shape(data, net_opts.shape);
    need(scant_net_create(ctx, argv[2], &net_opts, &net));
    size_t n = scant_data_count(data);
    if (strcmp(argv[1], "delta") == 0) {
        delta(net, data, runs);
    } else if (strcmp(argv[1], "norms") != 0) {
        train(net, data, argv[1], runs, batch);
    } else {
        double *norms = malloc((n ? n : 1) * sizeof *norms), sum = 0;
        if (!norms) return 1;
        for (size_t r = 0; r < runs + 1; r++) { /* the first run warms up */
            last = now();
            need(scant_net_gradients(
                net, data, NULL, n,
                &(scant_gradient_opts){.labels = scant_data_labels(data)},
                &(scant_gradients){.norms = norms}));
            if (r && count < MOST) seconds[count++] = now() - last;
        }
        for (size_t i = 0; i < n; i++) sum += norms[i];
        print("norms", sum);
        free(norms);
    }
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
    return 0;
}

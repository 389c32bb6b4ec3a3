/* SPDX-License-Identifier: Apache-2.0
 *
 * pick_seeds STRATEGY BATCH SEEDS [--INPUT FILE.npy]... [--opt KEY=VALUE]...
 *
 * Prints the rows that a strategy picks with seeds 0, 1, ..., one line for each seed.
 * Replaces thousands of calls of the program in tests that measure how often rows are
 * picked. strategycase.py compares some lines with the program's picks.
 */
#include <scant/scant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static scant_ctx *ctx;

static void need(scant_status status) {
    if (status == SCANT_OK) return;
    fprintf(stderr, "pick_seeds: %s\n", scant_ctx_errmsg(ctx));
    exit(1);
}

static const scant_array **input(scant_evidence *e, const char *name) {
    if (strcmp(name, "--features") == 0) return &e->features;
    if (strcmp(name, "--probs") == 0) return &e->probs;
    if (strcmp(name, "--logits") == 0) return &e->logits;
    if (strcmp(name, "--labels") == 0) return &e->labels;
    if (strcmp(name, "--candidates") == 0) return &e->candidates;
    return NULL;
}

int main(int argc, char **argv) {
    scant_evidence e = {0};
    scant_setting settings[MOST];
    scant_select_opts opts = {.settings = settings};
    if (argc < 4 || argc % 2) return 2;
    if (scant_ctx_create(&(scant_ctx_opts){.threads = 1}, &ctx) != SCANT_OK) return 1;
    for (int i = 4; i < argc; i += 2) {
        const scant_array **place = input(&e, argv[i]);
        if (place) {
            scant_array *array;
            need(scant_array_open(ctx, argv[i + 1], &array));
            *place = array; /* kept until the program ends */
            continue;
        }
        char *value = strchr(argv[i + 1], '=');
        if (strcmp(argv[i], "--opt") != 0 || !value || opts.n_settings == MOST) return 2;
        *value++ = 0;
        settings[opts.n_settings++] = (scant_setting){argv[i + 1], value};
    }
    size_t batch = strtoul(argv[2], NULL, 10), seeds = strtoul(argv[3], NULL, 10);
    for (; opts.seed < seeds; opts.seed++) {
        scant_picks *picks;
        need(scant_select(ctx, argv[1], &e, batch, &opts, &picks));
        for (size_t i = 0; i < picks->count; i++)
            printf("%s%zu", i ? " " : "", picks->items[i].index);
        putchar('\n');
        scant_picks_free(ctx, picks);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the limits of this machine as JSON: reading memory (GB/s) and multiply-adds
 * (GFLOPS), with one thread and with all. Each figure is the best of several tries.
 *
 *     cc -O3 -march=native -fopenmp -o limits limits.c && ./limits
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 7, READ_BYTES = 1 << 29, FMA_ROUNDS = 1 << 24, CHAINS = 12, LANES = 8 };

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));

static uint64_t sum(const uint64_t *from, size_t count) {
    uint64_t s = 0;
    for (size_t i = 0; i < count; i++) s += from[i];
    return s;
}

/* Bytes per second; *sink keeps the compiler from removing the sums. */
static double read_speed(const uint64_t *memory, int threads, uint64_t *sink) {
    const size_t share = READ_BYTES / sizeof *memory / (size_t)threads;
    double best = 0;
    for (int t = 0; t < TRIES; t++) {
        uint64_t total = 0;
        double start = omp_get_wtime();
#pragma omp parallel num_threads(threads) reduction(+ : total)
        total += sum(memory + share * (size_t)omp_get_thread_num(), share);
        double speed = READ_BYTES / (omp_get_wtime() - start);
        *sink += total;
        if (speed > best) best = speed;
    }
    return best;
}

/* Enough independent chains to hide the latency of a multiply-add on two ports. */
static float multiply_add(float seed) {
    vec chain[CHAINS], factor, term;
    for (int l = 0; l < LANES; l++) {
        factor[l] = 1.0f - 1e-7f * seed;
        term[l] = 1e-7f;
        for (int c = 0; c < CHAINS; c++) chain[c][l] = seed + (float)(c + l);
    }
    for (int r = 0; r < FMA_ROUNDS; r++)
        for (int c = 0; c < CHAINS; c++) chain[c] = chain[c] * factor + term;
    float s = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int l = 0; l < LANES; l++) s += chain[c][l];
    return s;
}

static double fma_speed(int threads, float *sink) {
    double best = 0;
    for (int t = 0; t < TRIES; t++) {
        float total = 0;
        double start = omp_get_wtime();
#pragma omp parallel num_threads(threads) reduction(+ : total)
        total += multiply_add((float)omp_get_thread_num() + 1.0f);
        double flops = 2.0 * LANES * CHAINS * FMA_ROUNDS * threads;
        double speed = flops / (omp_get_wtime() - start);
        *sink += total;
        if (speed > best) best = speed;
    }
    return best;
}

int main(void) {
    uint64_t *memory = malloc(READ_BYTES), bytes = 0;
    float sums = 0;
    if (!memory) {
        fputs("limits: out of memory\n", stderr);
        return 1;
    }
    const int all = omp_get_max_threads();
#pragma omp parallel for schedule(static) num_threads(all)
    for (size_t i = 0; i < READ_BYTES / sizeof *memory; i++) memory[i] = i;
    double read_one = read_speed(memory, 1, &bytes),
           read_all = read_speed(memory, all, &bytes);
    double fma_one = fma_speed(1, &sums), fma_all = fma_speed(all, &sums);
    printf("{\"threads\": %d, \"read_1\": %.2f, \"read_all\": %.2f, \"fma_1\": %.1f, "
           "\"fma_all\": %.1f}\n",
           all, read_one / 1e9, read_all / 1e9, fma_one / 1e9, fma_all / 1e9);
    fprintf(stderr, "limits: checksums %llu %g\n", (unsigned long long)bytes,
            (double)sums);
    free(memory);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The fuzzer's bytes as samples. The reader is chosen by file name, so a link of that
 * name to the file in memory is put into a temporary folder.
 */
#ifndef SCANT_TESTS_FUZZ_DATA_SAMPLES_H
#define SCANT_TESTS_FUZZ_DATA_SAMPLES_H

#include "fuzz_data_memfile.h"

#include <math.h>
#include <string.h>

#include "data/dataset.h"
#include "scant/train.h"

static char fuzz_folder[64], fuzz_path[128];

static void fuzz_remove_folder(void) { rmdir(fuzz_folder); }

/* Puts the bytes at fuzz_path, called name. */
static inline memfile fuzz_put(const char *name, const uint8_t *data, size_t size) {
    memfile f = memfile_open(data, size);
    if (!fuzz_folder[0]) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/scant-fuzz-XXXXXX");
        if (!mkdtemp(fuzz_folder)) abort();
        atexit(fuzz_remove_folder);
    }
    snprintf(fuzz_path, sizeof fuzz_path, "%s/%s", fuzz_folder, name);
    if (symlink(f.path, fuzz_path) != 0) abort();
    return f;
}

static inline void fuzz_remove(memfile *f) {
    unlink(fuzz_path);
    close(f->fd);
}

/* Labels are classes or -1 (none), numbers are finite, a failed read has a message. */
static inline void fuzz_check(const scant_data *data) {
    size_t n = scant_data_count(data), width = scant__data_width(data);
    const int32_t *labels = scant_data_labels(data);
    const float *targets = scant_data_targets(data);
    if (!n || !width) abort();
    for (size_t i = 0; labels && i < n; i++)
        if (labels[i] < -1 || labels[i] >= (int64_t)scant_data_classes(data)) abort();
    for (size_t i = 0; targets && i < n; i++)
        if (!isfinite(targets[i])) abort();
    float *out = malloc(width * sizeof *out);
    if (!out) return;
    for (size_t i = 0; i < n; i += 1 + n / 64) {
        scant__fault fault = {{0}};
        scant_status status = scant__data_read(data, i, out, &fault);
        if (status != SCANT_OK && !fault.text[0]) abort();
        for (size_t j = 0; status == SCANT_OK && j < width; j++)
            if (!isfinite(out[j])) abort();
    }
    free(out);
}

/* Opens spec and checks its samples. */
static inline void fuzz_samples(const char *spec, const scant_data_opts *opts) {
    scant_ctx *ctx = fuzz_ctx();
    scant_data *data;
    scant_status status = scant_data_open(ctx, spec, opts, &data);
    if (status == SCANT_OK)
        fuzz_check(data);
    else
        check_failure(ctx, status, data);
    scant_data_free(data);
    if (ctx->used) abort();
    scant_ctx_free(ctx);
}

#endif

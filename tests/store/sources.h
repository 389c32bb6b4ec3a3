/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources of items for the tests of projects: images, arrays, and projects of them.
 */
#ifndef SCANT_TESTS_STORE_SOURCES_H
#define SCANT_TESTS_STORE_SOURCES_H

#include "support.h"

#include "data/images.h"

/* Writes an image of one colour. */
static inline void put_image(const char *name, unsigned char level, size_t width,
                             size_t height, bool jpeg) {
    unsigned char *rgb = malloc(3 * width * height);
    void *bytes;
    size_t size;
    assert_non_null(rgb);
    memset(rgb, level, 3 * width * height);
    OK(jpeg ? scant__encode_jpeg(ctx, rgb, width, height, 90, &bytes, &size)
            : scant__encode_png(ctx, rgb, width, height, false, &bytes, &size));
    put(name, bytes, size);
    scant__free(ctx, bytes);
    free(rgb);
}

static inline const char *put_array(const char *name, const void *data, scant_dtype dtype,
                                    size_t ndim, const size_t *shape) {
    const char *path = path_of(name);
    scant_array *array;
    void *bytes;
    size_t size;
    OK(scant_array_wrap(ctx, name, data, dtype, ndim, shape, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    OK(scant_file_write(ctx, path, bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    return path;
}

static inline scant_project *created(const char *name, scant_source source) {
    scant_project *project;
    scant_project_opts opts = {.source = source, .classes = abc, .n_classes = 3};
    OK(scant_project_create(ctx, path_of(name), &opts, &project));
    return project;
}

#endif

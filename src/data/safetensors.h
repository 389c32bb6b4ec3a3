/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of networks in the safetensors format: the header's length (eight bytes, little
 * endian), the header (a JSON object: a name to dtype, shape and data_offsets; under
 * "__metadata__" strings to strings), then the tensors' elements, little endian, without
 * holes.
 */
#ifndef SCANT_DATA_SAFETENSORS_H
#define SCANT_DATA_SAFETENSORS_H

#include <stddef.h>

#include "core/ctx.h"

enum {
    SCANT__TENSOR_DIMS = 8,
    /* The format allows 100 MB. The JSON reader's memory, up to some thirty times the
     * header, is outside the context's cap: what is enough for 40000 tensors will do. */
    SCANT__TENSOR_HEADER = 4 << 20
};

/* Types of tensors that arrays do not have, beside scant_dtype's. */
enum { SCANT__BF16 = 64, SCANT__BOOL };

typedef struct scant__tensor {
    const char *name;
    scant_dtype dtype; /* or SCANT__BF16, SCANT__BOOL */
    size_t ndim, shape[SCANT__TENSOR_DIMS];
    size_t count;               /* elements: product of shape */
    const unsigned char *bytes; /* elements as the file has them: little endian, perhaps
                                 * not aligned */
} scant__tensor;

typedef struct scant__tensors scant__tensors;

/* Maps the file and checks all but the numbers: on SCANT_OK the names differ, every
 * tensor's bytes lie inside the file, as many as its shape and dtype say, and together
 * they are the file's data, each byte once. *out is a new handle that
 * scant__tensors_close() ends; on failure (SCANT_EINPUT or SCANT_ENOMEM; the message
 * starts with path) NULL. The file must not shrink meanwhile. */
scant_status scant__tensors_open(scant_ctx *ctx, const char *path, scant__tensors **out);
void scant__tensors_close(scant__tensors *tensors); /* NULL is fine */

/* What follows is borrowed: valid until close. */
size_t scant__tensors_count(const scant__tensors *tensors);
/* The i-th in the order of the bytes in the file; i < count. */
const scant__tensor *scant__tensors_get(const scant__tensors *tensors, size_t i);
const scant__tensor *scant__tensors_find(const scant__tensors *tensors,
                                         const char *name); /* or NULL */
const char *scant__tensors_meta(const scant__tensors *tensors,
                                const char *key); /* or NULL */

/* All elements, of any dtype, as floats. Allocates nothing; any thread may call it. */
void scant__tensor_floats(const scant__tensor *tensor, float *out);

/* Writes a file, whole or not at all, with the tensors in the order given; item.count is
 * not looked at. The data starts at a multiple of eight bytes. SCANT_EINPUT where open
 * would not read the file: a name given twice or not UTF-8, a shape too large; SCANT_EIO
 * where the file cannot be written. */
scant_status scant__tensors_write(scant_ctx *ctx, const char *path,
                                  const scant__tensor *items, size_t count,
                                  const scant_setting *meta, size_t n_meta);

/* What open refuses of a header that data_size bytes of data follow. */
scant_status scant__tensors_check(scant_ctx *ctx, const char *path, const char *header,
                                  size_t size, size_t data_size);

const char *scant__tensor_dtype_name(scant_dtype dtype); /* "BF16"; NULL: no dtype */
size_t scant__tensor_item(scant_dtype dtype); /* bytes an element; 0: no dtype */

#endif

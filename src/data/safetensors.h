/* SPDX-License-Identifier: Apache-2.0
 *
 * The safetensors format: the header's length (eight bytes, little endian), the header (a
 * JSON object: each name maps to dtype, shape and data_offsets, "__metadata__" maps
 * strings to strings), then the tensors' elements, little endian, without gaps.
 */
#ifndef SCANT_DATA_SAFETENSORS_H
#define SCANT_DATA_SAFETENSORS_H

#include "core/ctx.h"

enum {
    SCANT__TENSOR_DIMS = 8,
    /* The format allows 100 MB. The JSON parser's memory, up to thirty times the header,
     * is not counted by the context, so the header is limited to about 40000 tensors. */
    SCANT__TENSOR_HEADER = 4 << 20
};

/* Tensor types that scant_dtype lacks. */
enum { SCANT__BF16 = 64, SCANT__BOOL };

typedef struct scant__tensor {
    const char *name;
    scant_dtype dtype; /* or SCANT__BF16, SCANT__BOOL */
    size_t ndim, shape[SCANT__TENSOR_DIMS];
    size_t count;               /* number of elements: product of shape */
    const unsigned char *bytes; /* as in the file: little endian, possibly unaligned */
} scant__tensor;

typedef struct scant__tensors scant__tensors;

/* Maps the file and checks everything but the values: on SCANT_OK names are unique, every
 * tensor has as many bytes as its shape and dtype need, and the tensors cover the data
 * exactly once. On failure (SCANT_EINPUT or SCANT_ENOMEM; the message starts with path)
 * *out is NULL. The file must not shrink while open. */
scant_status scant__tensors_open(scant_ctx *ctx, const char *path, scant__tensors **out);
void scant__tensors_close(scant__tensors *tensors); /* NULL is fine */
static inline void scant__tensors_auto(scant__tensors **p) { scant__tensors_close(*p); }

/* The functions below return borrowed pointers, valid until the file is closed. */
size_t scant__tensors_count(const scant__tensors *tensors);
/* The i-th tensor in file order; i < count. */
const scant__tensor *scant__tensors_get(const scant__tensors *tensors, size_t i);
const scant__tensor *scant__tensors_find(const scant__tensors *tensors,
                                         const char *name); /* or NULL */
const char *scant__tensors_meta(const scant__tensors *tensors,
                                const char *key); /* or NULL */

/* Converts all elements of any dtype to floats. Thread-safe, allocates nothing. */
void scant__tensor_floats(const scant__tensor *tensor, float *out);

/* Writes a file atomically, with the tensors in the given order; ignores their members
 * `count`. The data starts at a multiple of eight bytes. SCANT_EUSAGE if a dtype or shape
 * is invalid; SCANT_EINPUT if open would refuse the file (a repeated or non-UTF-8 name, a
 * header too large); SCANT_EIO if it cannot be written. */
scant_status scant__tensors_write(scant_ctx *ctx, const char *path,
                                  const scant__tensor *items, size_t count,
                                  const scant_setting *meta, size_t n_meta);

const char *scant__tensor_dtype_name(scant_dtype dtype); /* "BF16"; NULL: unknown */
size_t scant__tensor_item(scant_dtype dtype); /* bytes per element; 0: unknown */

#endif

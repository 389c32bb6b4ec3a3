/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of layers, whoever brings them. onednn2.c does it with oneDNN 2.x; a file
 * for another library or version would implement the same few functions.
 *
 * An operation is one layer at one batch size: a forward pass and, where asked for, the
 * backward passes. Each pass reads and writes slots. The operation says how it wants each
 * slot to lie in memory (a layout); whoever plans brings memory that lies so, binds it
 * once, and then runs passes without further ado. Memory beyond a tensor's own numbers (a
 * blocked layout's padding) is zero, and stays so.
 */
#ifndef SCANT_NN_BACKEND_H
#define SCANT_NN_BACKEND_H

#include "nn/net.h"

typedef struct nn_backend nn_backend;
typedef struct nn_layout nn_layout;
typedef struct nn_op nn_op;

typedef enum nn_pass { NN_FORWARD, NN_BACK_DATA, NN_BACK_WEIGHTS, NN_PASSES } nn_pass;

typedef enum nn_slot {
    NN_SRC,
    NN_DST,
    NN_W, /* of NN_NORM gamma */
    NN_B, /* of NN_NORM beta */
    NN_STAT_MEAN,
    NN_STAT_VAR,
    NN_WORK, /* what forward leaves for backward */
    NN_D_SRC,
    NN_D_DST,
    NN_D_W,
    NN_D_B,
    NN_SCRATCH,
    NN_SLOTS
} nn_slot;

typedef struct nn_op_spec {
    nn_kind kind; /* conv, dense, norm, act, maxpool, avgpool */
    size_t batch;
    nn_shape in, out;
    size_t kernel[2], stride[2], pad[2], groups;
    bool bias;
    nn_act act; /* of NN_ACT itself; of others one that follows and is fused */
    float slope;
    float scale;          /* dense: of the output */
    bool batch_stats;     /* norm: by the batch's own mean and variance */
    bool backward;        /* the backward passes too */
    bool no_data;         /* ... but not by the input */
    const nn_layout *src; /* NULL: as the kernel likes best */
} nn_op_spec;

scant_status nn_backend_open(scant_ctx *ctx, nn_backend **out);
void nn_backend_close(nn_backend *backend); /* ops are gone before; NULL is fine */

/* Whether an activation can be a part of the layer before it. */
bool nn_backend_fuses(nn_kind kind, nn_act act);

/* On SCANT_OK *out is new: nn_op_destroy() ends it. */
scant_status nn_op_create(nn_backend *backend, const nn_op_spec *spec, nn_op **out);
/* Copies one layout to another: slots NN_SRC and NN_DST of NN_FORWARD. */
scant_status nn_op_reorder(nn_backend *backend, const nn_layout *from,
                           const nn_layout *to, nn_op **out);
void nn_op_destroy(nn_op *op); /* NULL is fine */

/* NULL: the pass has no such slot (or the operation no such pass). Borrowed from op. */
const nn_layout *nn_op_layout(const nn_op *op, nn_pass pass, nn_slot slot);
bool nn_op_has(const nn_op *op, nn_pass pass);
size_t nn_op_scratch(const nn_op *op, nn_pass pass); /* bytes of NN_SCRATCH */
/* Fixes where a slot is. data stays the caller's and must outlive op. */
scant_status nn_op_bind(nn_op *op, nn_pass pass, nn_slot slot, void *data);
/* Runs a pass, every slot of which is bound. */
scant_status nn_op_run(nn_op *op, nn_pass pass);
/* A layout in plain order: n planes of shape. New: nn_layout_destroy() ends it. */
scant_status nn_layout_plain(nn_backend *backend, size_t ndim, const size_t *dims,
                             nn_layout **out);
/* Another order: order[0] is the dimension whose steps are longest. */
scant_status nn_layout_ordered(nn_backend *backend, size_t ndim, const size_t *dims,
                               const int *order, nn_layout **out);
scant_status nn_layout_copy(nn_backend *backend, const nn_layout *layout,
                            nn_layout **out);
void nn_layout_destroy(nn_backend *backend, nn_layout *layout); /* NULL is fine */
bool nn_layout_same(const nn_layout *a, const nn_layout *b);
/* Whether channels lie in blocks of eight: planes (n, c/8, h, w, 8), or a convolution's
 * weights (oc/8, ic/8, kernel, 8 of ic, 8 of oc). */
bool nn_layout_planes_by_8(const nn_layout *layout);
bool nn_layout_weights_by_8(const nn_layout *layout);
size_t nn_layout_bytes(const nn_layout *layout);

#endif

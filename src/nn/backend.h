/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface to a library of layer kernels. onednn2.c implements it with oneDNN 2.x;
 * another library or version would implement the same functions.
 *
 * An operation is one layer at one batch size: a forward pass and optionally the backward
 * passes. Each pass reads and writes slots, and the operation states the memory layout of
 * each slot; the planner provides memory in that layout, binds it once, and then runs
 * passes. Padding of a blocked layout is zero and stays zero.
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
    NN_W, /* gamma for NN_NORM */
    NN_B, /* beta for NN_NORM */
    NN_STAT_MEAN,
    NN_STAT_VAR,
    NN_WORK, /* data that backward needs from forward */
    NN_D_SRC,
    NN_D_DST,
    NN_D_W,
    NN_D_B,
    NN_SCRATCH,
    NN_SLOTS
} nn_slot;

typedef struct nn_op_spec {
    const nn_node *node; /* conv, dense, norm, act, maxpool or avgpool; outlives the op */
    size_t batch;
    nn_act act; /* the activation of NN_ACT, or the one fused into another kind */
    float slope;
    bool batch_stats;     /* for NN_NORM: use the batch's own mean and variance */
    bool backward;        /* with backward passes */
    bool no_data;         /* without the gradient by the input */
    const nn_layout *src; /* layout of the input; NULL for the kernel's preferred one */
} nn_op_spec;

scant_status nn_backend_open(scant_ctx *ctx, nn_backend **out);
void nn_backend_close(nn_backend *backend); /* after all ops; NULL is fine */

/* Returns whether an activation can be fused into the layer before it. */
bool nn_backend_fuses(nn_kind kind, nn_act act);

/* On SCANT_OK *out is new; free it with nn_op_free(). */
scant_status nn_op_create(nn_backend *backend, const nn_op_spec *spec, nn_op **out);
/* Creates an operation that copies between layouts: pass NN_FORWARD, slots NN_SRC and
 * NN_DST. */
scant_status nn_op_reorder(nn_backend *backend, const nn_layout *from,
                           const nn_layout *to, nn_op **out);
/* The same with slots bound to src and dst; arena owns its scratch memory. */
scant_status nn_op_move(nn_backend *backend, scant__arena *arena, const nn_layout *from,
                        float *src, const nn_layout *to, float *dst, nn_op **out);
void nn_op_free(nn_op *op); /* NULL is fine */
DEFINE_AUTO(nn_op, nn_op)

/* Returns the layout of a slot, owned by op; NULL if there is no such pass or slot. */
const nn_layout *nn_op_layout(const nn_op *op, nn_pass pass, nn_slot slot);
bool nn_op_has(const nn_op *op, nn_pass pass);
size_t nn_op_scratch(const nn_op *op, nn_pass pass); /* bytes of NN_SCRATCH */
/* Sets the memory of a slot. The caller owns data, which must outlive op. */
scant_status nn_op_bind(nn_op *op, nn_pass pass, nn_slot slot, void *data);
/* Runs a pass; all its slots must be bound. */
scant_status nn_op_run(nn_op *op, nn_pass pass);
/* Creates a plain layout in arena. */
scant_status nn_layout_plain(nn_backend *backend, scant__arena *arena, size_t ndim,
                             const size_t *dims, nn_layout **out);
/* Creates a permuted layout: order[0] is the dimension with the longest stride. */
scant_status nn_layout_ordered(nn_backend *backend, scant__arena *arena, size_t ndim,
                               const size_t *dims, const int *order, nn_layout **out);
scant_status nn_layout_copy(scant__arena *arena, const nn_layout *layout,
                            nn_layout **out);
bool nn_layout_same(const nn_layout *a, const nn_layout *b);
/* Returns whether channels are in blocks of eight: planes (n, c/8, h, w, 8). */
bool nn_layout_planes_by_8(const nn_layout *layout);
/* The same for convolution weights: (oc/8, ic/8, kernel, 8 of ic, 8 of oc). */
bool nn_layout_weights_by_8(const nn_layout *layout);
size_t nn_layout_bytes(const nn_layout *layout);

#endif

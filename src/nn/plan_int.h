/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of plans. plan.c plans the steps (plan_back.c: backward pass; plan_front.c:
 * front of a small network); plan_run.c runs them.
 */
#ifndef SCANT_NN_PLAN_INT_H
#define SCANT_NN_PLAN_INT_H

#include "nn/plan.h"
#include "nn/pointwise.h"

typedef struct nn_tensor {
    const nn_layout *layout; /* borrowed */
    size_t bytes;
    size_t first, last; /* steps between which it is live */
    size_t at;          /* offset in the block */
    int waiting;        /* while planning gradients: number of nodes that still read it */
} nn_tensor;

typedef enum nn_step_kind {
    NN_STEP_APPLY = NN_APPLY, /* operations of pointwise.h; dropout: b is the mask */
    NN_STEP_SUM = NN_SUM,
    NN_STEP_MASK = NN_MASK,
    NN_STEP_SCALE = NN_SCALE,
    NN_STEP_DROP = NN_DROP,
    NN_STEP_DROP_BACK = NN_DROP_BACK,
    NN_STEP_OP,
    NN_STEP_TAPS,         /* c = weight gradient of input a and output gradient b */
    NN_STEP_STRIPS,       /* like NN_STEP_TAPS; c may be a parameter's gradient */
    NN_STEP_TAPS_FORWARD, /* c = convolution of a with weights b */
    NN_STEP_TAPS_DATA,    /* c = input gradient, from output gradient a and weights b */
    NN_STEP_NOISE,        /* c = a plus noise that depends on input b; sets work */
    /* c = gradient by input b, from output gradient a; also sets the gradient by rho */
    NN_STEP_NOISE_BACK,
    NN_STEP_FRONT,     /* c = front(a) */
    NN_STEP_FRONT_BACK /* sets weight gradients; a: gradient by the front's output */
} nn_step_kind;

typedef struct nn_step {
    nn_step_kind kind;
    int node;
    nn_op *op; /* NN_STEP_OP: the operation */
    nn_pass pass;
    int slot[NN_SLOTS]; /* references (see nn_ref_value), or NN_NONE */
    int a, b, c;        /* tensors, for the other kinds */
    const nn_node *act; /* or NULL */
    bool of_weights;    /* computes only weights->grads */
} nn_step;

/* A reference is a tensor (0 and up), or a parameter's values or gradients. */
static inline int nn_ref_value(int param) { return -2 - 2 * param; }
static inline int nn_ref_grad(int param) { return -3 - 2 * param; }
static inline bool nn_ref_is_param(int ref) { return ref <= -2; }

/* A plan's data for a node. */
typedef struct nn_place {
    int owner;    /* the node that computes this one's output: itself, the node that
                     absorbed it, or for skipped dropout and noise the input's owner */
    int absorbed; /* the activation node this one computes as well, or NN_NONE */
    int uses;     /* number of nodes that read its output */
    int value;    /* tensor of the output */
    int grad;     /* tensor of the gradient by the output */
    int src;      /* the input of its forward pass */
    int mean, var, work; /* tensors of normalisation, pooling, dropout and noise */
    nn_op *op;
    nn_layout *plain;   /* plain layout of its output; made on demand in the arena */
    nn_layout *taps[3]; /* conv_taps.h: input, output, weights with channels last */
    int trace[2];       /* tensors that a trace keeps: input, gradient by output */
    nn_op *unfold[2];   /* reorders of trace[] to plain order, if needed */
} nn_place;

struct nn_plan {
    nn_weights *weights;
    const nn_net *net;
    scant_ctx *ctx;
    size_t batch;
    nn_mode mode;
    scant__arena arena; /* owns the following, except what operations own */
    size_t room;        /* capacity of steps, tensors and ops */
    nn_step *steps;
    size_t n_steps, n_forward;
    nn_tensor *tensors;
    size_t n_tensors;
    nn_place *places; /* per node */
    nn_op **ops;      /* all operations */
    size_t n_ops;
    int scratch, input, logits, d_logits, features; /* tensors */
    unsigned char *block;
    size_t block_bytes;
    bool traces_all; /* NN_TRACE was requested; NN_TRACE_REST also has mode NN_TRACE */
    int front;       /* last node of the front (plan_front.c), or NN_NONE */
    int front_grad;  /* trace: tensor of the gradient by the front's output */
    nn_stack *stack; /* runs the front; if NULL, the usual kernels run it */
    float *copy[2];  /* buffers that nn_plan_trace() reorders into */
};

/* ---- planning steps (plan.c) ---- */

/* Creates a tensor with a layout (which must outlive the plan), or of a number of bytes.
 */
int nn_plan_tensor(nn_plan *plan, const nn_layout *layout, size_t bytes);
/* Marks a tensor as live at the next step. */
void nn_plan_touch(nn_plan *plan, int ref);
/* Marks a tensor as live from the next step to the end. */
void nn_plan_keep(nn_plan *plan, int tensor);
nn_step nn_op_step(int node, nn_op *op, nn_pass pass); /* with empty slots */
void nn_plan_emit(nn_plan *plan, nn_step step);
void nn_plan_emit_simple(nn_plan *plan, nn_step_kind kind, int node, int a, int b, int c,
                         const nn_node *act);
/* Sets *out to the plain layout of a node's output. */
scant_status nn_plan_plain(nn_plan *plan, int node, const nn_layout **out);
scant_status nn_plan_reorder(nn_plan *plan, int node, const nn_layout *from, int ref,
                             const nn_layout *to, int into);
/* Makes the layouts of a convolution run by conv_taps.h, with channels last. */
scant_status nn_plan_taps(nn_plan *plan, int i);
/* Replaces *ref by a reordered copy if it does not have the wanted layout. */
scant_status nn_plan_reordered(nn_plan *plan, int node, const nn_layout *want, int *ref);
/* Returns the activation that node i absorbed, or NULL. */
const nn_node *nn_plan_absorbed(const nn_plan *plan, int i);
/* Returns whether i's kernel computes the activation that i absorbed. */
bool nn_plan_act_inside(const nn_plan *plan, int i);
bool nn_plan_has_front(const nn_plan *plan); /* a front that the stack runs */

/* Plans the backward pass (plan_back.c), after the forward one. */
scant_status nn_plan_write_backward(nn_plan *plan);

/* ---- the front (plan_front.c) ---- */

/* Returns the last node of the network's front, or NN_NONE. */
int nn_plan_front(const nn_plan *plan);
/* Requests the front's weights in plain order; before packing. */
scant_status nn_plan_front_weights(nn_plan *plan);
/* Creates the front's stack; after packing. */
scant_status nn_plan_front_make(nn_plan *plan);

static inline float *nn_tensor_data(const nn_plan *plan, int tensor) {
    return (float *)(void *)(plan->block + plan->tensors[tensor].at);
}

/* Returns the memory of a reference; NULL for NN_NONE. */
static inline float *nn_ref_data(const nn_plan *plan, int ref) {
    int param = (-2 - ref) / 2;
    if (ref == NN_NONE) return NULL;
    if (!nn_ref_is_param(ref)) return nn_tensor_data(plan, ref);
    return (-ref) % 2 ? nn_grads_at(plan->weights, param)
                      : nn_weights_at(plan->weights, param);
}

#endif

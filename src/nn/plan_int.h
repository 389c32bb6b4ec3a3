/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of plans: plan.c plans the steps (plan_back.c the backward pass, plan_front.c
 * a small network's front), plan_memory.c assigns memory, plan_run.c runs.
 */
#ifndef SCANT_NN_PLAN_INT_H
#define SCANT_NN_PLAN_INT_H

#include "nn/plan.h"

typedef struct nn_tensor {
    const nn_layout *layout; /* borrowed */
    size_t bytes;
    size_t first, last; /* steps between which it is live */
    size_t at;          /* offset in the block */
    int waiting;        /* while planning gradients: nodes yet to read it */
} nn_tensor;

typedef enum nn_step_kind {
    NN_STEP_OP,
    NN_STEP_APPLY,        /* c = act(a) */
    NN_STEP_SUM,          /* c = act(a + b) */
    NN_STEP_MASK,         /* c = b * act'(result a) */
    NN_STEP_SCALE,        /* c = scale * a */
    NN_STEP_DROP,         /* c = dropout of a; b: the mask */
    NN_STEP_DROP_BACK,    /* c = a masked by b */
    NN_STEP_TAPS,         /* c = weight gradient of input a and output gradient b */
    NN_STEP_STRIPS,       /* the same; c may be a parameter's gradient */
    NN_STEP_TAPS_FORWARD, /* c = convolution of a with weights b */
    NN_STEP_TAPS_DATA,  /* c = gradient by the input, from output gradient a and weights b
                         */
    NN_STEP_NOISE,      /* c = a plus the noise of input b; sets work */
    NN_STEP_NOISE_BACK, /* c = gradient by input b, from output gradient a; and by rho */
    NN_STEP_FRONT,      /* c = front(a) */
    NN_STEP_FRONT_BACK  /* a: gradient by the front's output */
} nn_step_kind;

typedef struct nn_step {
    nn_step_kind kind;
    int node;
    nn_op *op; /* for NN_STEP_OP */
    nn_pass pass;
    int slot[NN_SLOTS]; /* references (below); NN_NONE */
    int a, b, c;        /* tensors, for the other kinds */
    nn_act act;
    float slope, scale;
    bool of_weights; /* only computes weights->grads */
} nn_step;

/* A reference is a tensor (0 and up), or a parameter's values or gradients. */
static inline int nn_ref_value(int param) { return -2 - 2 * param; }
static inline int nn_ref_grad(int param) { return -3 - 2 * param; }
static inline bool nn_ref_is_param(int ref) { return ref <= -2; }

/* A plan's data for a node. */
typedef struct nn_place {
    int owner;       /* the node that computes this one's output: itself, or the one that
                        absorbed its activation */
    int absorbed;    /* the activation node this one computes as well; NN_NONE */
    int uses;        /* nodes that read its output */
    int value, grad; /* tensors */
    int src;         /* the input of its forward pass */
    int mean, var, work; /* normalisation, pooling, dropout and noise */
    nn_op *op;
    nn_layout *plain;   /* of its output; made on demand */
    nn_layout *taps[3]; /* conv_taps.h: input, output, weights with channels last */
    int trace[2];       /* input and gradient by output: tensors kept */
    nn_op *unfold[2];   /* reorders of those to plain order, if needed */
} nn_place;

struct nn_plan {
    nn_weights *weights;
    const nn_net *net;
    scant_ctx *ctx;
    size_t batch;
    nn_mode mode;
    scant__arena arena; /* owns the following, except what operations own */
    nn_step *steps;
    size_t n_steps, room_steps, n_forward;
    nn_tensor *tensors;
    size_t n_tensors, room_tensors;
    nn_place *places; /* per node */
    nn_op **reorders;
    size_t n_reorders, room_reorders;
    int scratch, input, logits, d_logits, features; /* tensors */
    unsigned char *block;
    size_t block_bytes;
    bool traces_all; /* NN_TRACE as requested; NN_TRACE_REST is stored as mode NN_TRACE */
    int front;       /* last node of the front (plan_front.c); NN_NONE */
    int front_grad;  /* in a trace, the gradient by its output */
    nn_stack *stack; /* runs the front; NULL: the usual kernels do */
    float *copy[2];  /* buffers that nn_plan_trace() reorders into */
};

/* ---- planning steps (plan.c) ---- */

/* A new tensor of a layout (borrowed for the plan's life) or of a number of bytes. */
int nn_plan_tensor(nn_plan *plan, const nn_layout *layout, size_t bytes);
/* Marks a tensor as live at the next step; or from then on to the end. */
void nn_plan_touch(nn_plan *plan, int ref);
void nn_plan_keep(nn_plan *plan, int tensor);
nn_step nn_op_step(int node, nn_op *op, nn_pass pass); /* with empty slots */
void nn_plan_emit(nn_plan *plan, nn_step step);
void nn_plan_emit_simple(nn_plan *plan, nn_step_kind kind, int node, int a, int b, int c,
                         const nn_node *act, float scale);
/* The plain layout of a node's output. */
scant_status nn_plan_plain(nn_plan *plan, int node, const nn_layout **out);
scant_status nn_plan_reorder(nn_plan *plan, int node, const nn_layout *from, int ref,
                             const nn_layout *to, int into);
/* For a convolution run by conv_taps.h: layouts with channels last, made on demand. */
scant_status nn_plan_taps(nn_plan *plan, int i);
/* Makes *ref available in the wanted layout: itself, or a reordered copy. */
scant_status nn_plan_reordered(nn_plan *plan, int node, const nn_layout *want, int *ref);
/* The activation that node i absorbed; NULL: none. And whether its kernel computes it. */
const nn_node *nn_plan_absorbed(const nn_plan *plan, int i);
bool nn_plan_act_inside(const nn_plan *plan, int i);
bool nn_plan_has_front(const nn_plan *plan); /* run by the stack */

/* Plans the backward pass (plan_back.c), after the forward one. */
scant_status nn_plan_write_backward(nn_plan *plan);

/* ---- the front (plan_front.c) ---- */

/* The last node of the network's front; NN_NONE: it has none. */
int nn_plan_front(const nn_plan *plan);
/* Requests its weights in plain order; before packing. */
scant_status nn_plan_front_weights(nn_plan *plan);
/* Creates its stack; after packing. */
scant_status nn_plan_front_make(nn_plan *plan);

/* Assigns every tensor's offset and the block's size. */
scant_status nn_plan_place(nn_plan *plan);

static inline float *nn_tensor_data(const nn_plan *plan, int tensor) {
    return (float *)(void *)(plan->block + plan->tensors[tensor].at);
}

#endif

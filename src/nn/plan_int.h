/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside plans: plan.c writes the steps down (plan_back.c those of the backward
 * pass, plan_front.c a small network's front), plan_memory.c gives tensors their places,
 * plan_run.c runs.
 */
#ifndef SCANT_NN_PLAN_INT_H
#define SCANT_NN_PLAN_INT_H

#include "nn/plan.h"

typedef struct nn_tensor {
    const nn_layout *layout; /* borrowed */
    size_t bytes;
    size_t first, last; /* steps between which it holds something */
    size_t at;          /* place in the block */
    int waiting;        /* while gradients are planned: nodes yet to read it */
} nn_tensor;

typedef enum nn_step_kind {
    NN_STEP_OP,
    NN_STEP_APPLY,        /* c = act(a) */
    NN_STEP_SUM,          /* c = act(a + b) */
    NN_STEP_MASK,         /* c = b * act'(result a) */
    NN_STEP_SCALE,        /* c = scale * a */
    NN_STEP_DROP,         /* c = dropped a; b: which stayed */
    NN_STEP_DROP_BACK,    /* c = a where b stayed */
    NN_STEP_TAPS,         /* c = weights' gradient of input a and output's gradient b */
    NN_STEP_STRIPS,       /* the same; c may be a parameter's gradients */
    NN_STEP_TAPS_FORWARD, /* c = convolution of a with weights b */
    NN_STEP_TAPS_DATA,    /* c = gradient by input, of output's a and weights b */
    NN_STEP_NOISE,        /* c = a, noisy: the noise of input b; leaves work */
    NN_STEP_NOISE_BACK,   /* c = gradient by input b, of output's a; and by rho */
    NN_STEP_FRONT,        /* c = front(a) */
    NN_STEP_FRONT_BACK    /* a: the gradient by what the front gives */
} nn_step_kind;

typedef struct nn_step {
    nn_step_kind kind;
    int node;
    nn_op *op; /* of NN_STEP_OP */
    nn_pass pass;
    int slot[NN_SLOTS]; /* references (below); NN_NONE */
    int a, b, c;        /* tensors of the other kinds */
    nn_act act;
    float slope, scale;
    bool of_weights; /* serves weights->grads alone */
} nn_step;

/* A reference is a tensor (0 and up), or a parameter's values or gradients. */
static inline int nn_ref_value(int param) { return -2 - 2 * param; }
static inline int nn_ref_grad(int param) { return -3 - 2 * param; }
static inline bool nn_ref_is_param(int ref) { return ref <= -2; }

/* What a plan knows of a node. */
typedef struct nn_place {
    int owner;           /* the node that computes this one's output: itself, or the
                          * one that does an activation as well */
    int absorbed;        /* the activation node this one does as well; NN_NONE */
    int uses;            /* nodes that read its output */
    int value, grad;     /* tensors */
    int src;             /* what its forward pass read */
    int mean, var, work; /* of normalisation, pooling, dropout and noise */
    nn_op *op;
    nn_layout *plain;   /* of its output; made when asked for */
    nn_layout *taps[3]; /* of taps.h: input, output, weights with channels last */
    int trace[2];       /* input and gradient by output: tensors kept */
    nn_op *unfold[2];   /* reorders of those to plain order, where they need it */
} nn_place;

struct nn_plan {
    nn_weights *weights;
    const nn_net *net;
    scant_ctx *ctx;
    size_t batch;
    nn_mode mode;
    scant__arena arena; /* holds what follows, but not what operations hold */
    nn_step *steps;
    size_t n_steps, room_steps, n_forward;
    nn_tensor *tensors;
    size_t n_tensors, room_tensors;
    nn_place *places; /* a node each */
    nn_op **reorders;
    size_t n_reorders, room_reorders;
    int scratch, input, logits, d_logits, features; /* tensors */
    unsigned char *block;
    size_t block_bytes;
    bool traces_all; /* NN_TRACE as asked for; NN_TRACE_REST has mode NN_TRACE here */
    int front;       /* last node of the front (plan_front.c); NN_NONE */
    int front_grad;  /* in a trace, the gradient by what it gives */
    nn_stack *stack; /* runs it; NULL: the usual kernels do */
    float *copy[2];  /* what nn_plan_trace() hands out where it had to reorder */
};

/* ---- writing steps down (plan.c) ---- */

/* A new tensor: of a layout (borrowed for the plan's life), or of so many bytes. */
int nn_plan_tensor(nn_plan *plan, const nn_layout *layout, size_t bytes);
/* The tensor is in use at the step to come; or from then on to the end. */
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
/* Of a convolution that taps.h runs: layouts with channels last, made when asked for. */
scant_status nn_plan_taps(nn_plan *plan, int i);
/* What *ref holds, in the layout that is wanted: itself, or a reordered copy. */
scant_status nn_plan_bring(nn_plan *plan, int node, const nn_layout *want, int *ref);
/* The activation that node i does as well; NULL: none. And whether its kernel does. */
const nn_node *nn_plan_absorbed(const nn_plan *plan, int i);
bool nn_plan_act_inside(const nn_plan *plan, int i);
bool nn_plan_has_front(const nn_plan *plan); /* run by the stack */

/* The backward pass (plan_back.c), after the forward one. */
scant_status nn_plan_write_backward(nn_plan *plan);

/* ---- the front (plan_front.c) ---- */

/* The last node of the network's front; NN_NONE: it has none. */
int nn_plan_front(const nn_plan *plan);
/* Asks for its weights in plain order; before they are packed. */
scant_status nn_plan_front_weights(nn_plan *plan);
/* Makes what runs it; after they are packed. */
scant_status nn_plan_front_make(nn_plan *plan);

/* Gives every tensor its place and the block its size. */
scant_status nn_plan_place(nn_plan *plan);

static inline float *nn_tensor_data(const nn_plan *plan, int tensor) {
    return (float *)(void *)(plan->block + plan->tensors[tensor].at);
}

#endif

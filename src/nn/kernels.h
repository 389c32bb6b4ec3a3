/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops of nn/stack.h, conv_strips.h and draws.h, chosen for the machine.
 * Kernels allocate nothing, cannot fail and have no state. An item of a plane is a vector
 * of eight samples.
 */
#ifndef SCANT_NN_KERNELS_H
#define SCANT_NN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "nn/stack.h"

/* Item (c, y, x) is 8 floats that begin at (at + c*plane + y*row + x*col). */
typedef struct nn_view {
    float *at;
    size_t plane, row, col;
} nn_view;

/* y(o, r, c) = act(bias_o + sum of w x(i, r*stride + ky - lead, c*stride + kx - lead)). x
 * outside (0..ih-1, 0..iw-1) counts as zero: rows must be padded left and right with
 * zeros as far as taps reach; rows above and below the input are not read. */
typedef struct nn_conv {
    size_t ic, ih, iw, oc, oh, ow;
    size_t kernel[2], stride[2];
    ptrdiff_t lead[2];
    nn_view x, y;      /* col = 8 */
    const float *w;    /* packed by nn_conv_pack() */
    const float *bias; /* oc floats, or NULL */
    nn_act act;
    float slope;
} nn_conv;

/* Weight gradients: out (oc, taps, 8) = sum over r, c of g(o, r, c) times the item of x
 * that is offset[tap] floats after x(r, c). */
typedef struct nn_wgrad {
    size_t oc, taps, oh, ow;
    const size_t *offset;
    nn_view g, x; /* x.row and x.col: input floats from one output to the next */
    float *out;
} nn_wgrad;

/* Weight gradients of one tap and eight input channels over some pixels: adds the sum
 * over pixels of d (vectors, rows, cols, 8 output channels) times x (rows, cols, 8) to dw
 * (vectors, 8 input channels, 8). */
typedef struct nn_strip {
    size_t rows, cols;
    size_t vectors; /* vectors of output channels: 4 or 2 */
    const float *x, *d;
    size_t x_row, x_col, d_row; /* floats between pixels; 8 between columns of d */
    size_t d_block, dw_block;   /* floats between vectors */
    float *dw;
} nn_strip;

enum { NN_DRAWS_MOST = 128, NN_PANEL = 24 };

typedef struct nn_kernels {
    void (*conv)(const nn_conv *c);
    void (*wgrad)(const nn_wgrad *g);
    void (*strip)(const nn_strip *s);
    /* out (c, 8) = sums of planes. */
    void (*plane_sums)(const nn_view *x, size_t c, size_t h, size_t w, float *out);
    /* y = act(maximum of each window of x); index (oc, oh, ow, 8): argmax, or NULL. */
    void (*maxpool)(const nn_stage *s, const nn_view *x, const nn_view *y, int32_t *index,
                    nn_act act, float slope);
    /* Computes dx, the gradient by x, from dy. */
    void (*maxpool_back)(const nn_stage *s, const nn_view *dy, const nn_view *y,
                         const int32_t *index, nn_act act, float slope,
                         const nn_view *dx);
    /* dx = dy act'(x), given y = act(x). (c, h, w) items. */
    void (*act_back)(const nn_view *dy, const nn_view *y, nn_act act, float slope,
                     size_t c, size_t h, size_t w, const nn_view *dx);
    /* Converts `lanes` rows of c*h*w floats to items; unused lanes become 0. */
    void (*pack)(const float *rows, size_t lanes, size_t c, size_t h, size_t w,
                 const nn_view *y);
    /* Converts items back to rows. */
    void (*unpack)(const nn_view *x, size_t lanes, size_t c, size_t h, size_t w,
                   float *rows);
    /* For vectors x (count, 8): adds the sum of vector i's lanes to out[i]. */
    void (*lane_sums)(const float *x, size_t count, float *out);
    /* Adds each lane's sum of squares to out[lane]. */
    void (*lane_squares)(const float *x, size_t count, double *out);
    /* Adds each lane's sum of products with v (count) to out[lane]. */
    void (*lane_products)(const float *x, const float *v, size_t count, double *out);
    /* out (count) = sum of `parts` rows `pitch` apart, in order. */
    void (*add_parts)(const float *x, size_t parts, size_t pitch, size_t count,
                      float *out);
    /* z (n, columns) = h (n, d) times w. The columns of w, a multiple of 8, are stored in
     * panels of NN_PANEL (the last may be smaller): (d, columns of the panel). An entry
     * of z depends only on its row of h and its column of w. */
    void (*panels)(const float *h, size_t n, size_t d, const float *w, size_t columns,
                   float *z);
    /* z (c, draws): one sample's logits for each draw, c >= 2. Adds the bias, converts to
     * probabilities (over c) and adds those of the first `live` draws to sums (c); the
     * others become 0. draws is a multiple of 8, at most NN_DRAWS_MOST. Relative error: a
     * few millionths; values below 1e-37 are not accurate. */
    void (*draws)(float *z, size_t c, size_t draws, size_t live, const float *bias,
                  double *sums);
} nn_kernels;

const nn_kernels *nn_kernels_best(void);
/* Returns the portable kernels. */
const nn_kernels *nn_kernels_plain(void);

/* Output channels are processed in groups of nearly equal size. Weights are stored group
 * after group: (taps, channels of the group). */
enum { NN_GROUP = 4 };
static inline size_t nn_group_size(size_t first, size_t oc) {
    size_t groups = (oc - first + NN_GROUP - 1) / NN_GROUP;
    return (oc - first + groups - 1) / groups;
}
/* Packs w, where tap t of input channel i and output channel o is w[o*by_o + i*by_i +
 * t*by_t]. */
void nn_conv_pack(size_t oc, size_t ic, size_t taps, const float *w, size_t by_o,
                  size_t by_i, ptrdiff_t by_t, float *packed);

/* The names of all kernels. Each has one function per instruction set. */
#define NN_KERNEL_NAMES(X, isa)                                                          \
    X(conv, isa)                                                                         \
    X(wgrad, isa)                                                                        \
    X(strip, isa)                                                                        \
    X(plane_sums, isa)                                                                   \
    X(maxpool, isa)                                                                      \
    X(maxpool_back, isa)                                                                 \
    X(act_back, isa)                                                                     \
    X(pack, isa)                                                                         \
    X(unpack, isa)                                                                       \
    X(lane_sums, isa)                                                                    \
    X(lane_squares, isa)                                                                 \
    X(lane_products, isa) X(add_parts, isa) X(panels, isa) X(draws, isa)
#define NN_KERNEL_DECLARE(name, isa)                                                     \
    extern __typeof__(*((const nn_kernels *)0)->name) nn_##name##_f32_##isa;
NN_KERNEL_NAMES(NN_KERNEL_DECLARE, base)
NN_KERNEL_NAMES(NN_KERNEL_DECLARE, avx2)

#endif

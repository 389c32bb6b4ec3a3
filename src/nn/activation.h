/* SPDX-License-Identifier: Apache-2.0
 *
 * Activation functions.
 */
#ifndef SCANT_NN_ACTIVATION_H
#define SCANT_NN_ACTIVATION_H

typedef enum nn_act {
    NN_ACT_NONE,
    NN_ACT_RELU,
    NN_ACT_LEAKY,
    NN_ACT_RELU6,
    NN_ACT_TANH,
    NN_ACT_SIGMOID,
    NN_ACT_SWISH,
    NN_ACT_SQUARE
} nn_act;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of model options: what scant_net_opts may hold, a row each.
 */
#include <math.h>

#include "core/option.h"
#include "scant/train.h"

#define AT(field) offsetof(scant_net_opts, field)

static const char network[] = "Network ('scant models' lists them)";

static const scant_option rows[] = {
    OPT_COUNT("width", "N", "0", AT(width), 0, 1 << 20, network,
              "width of mlp, onehidden and gapcnn; 0: the model's own"),
    OPT_COUNT("depth", "N", "0", AT(depth), 0, 100, network,
              "hidden layers of mlp; 0: the model's own"),
    OPT_ROW("activation", CHOICE, NULL, NULL, AT(activation), network,
            "activation function", .choices = "relu|leaky|tanh|sigmoid|swish|relu6",
            .otherwise = "the model's own"),
    OPT_ROW("norm", CHOICE, NULL, NULL, AT(norm), network,
            "normalisation of vgg, resnet18 and mobilenetv2: by the batch, folded into "
            "the weights, or none",
            .choices = "batch|folded|none", .otherwise = "batch"),
    OPT_ROW("stem", CHOICE, NULL, NULL, AT(stem), network, "first layers of resnet18",
            .choices = "small|original", .otherwise = "small up to 64 pixels"),
    OPT_ROW("head", CHOICE, NULL, NULL, AT(head), network, "last layers of vgg",
            .choices = "small|full", .otherwise = "small"),
    OPT_ROW("bayes", CHOICE, NULL, NULL, AT(bayes), network,
            "posterior of the last layer's weights: none; dropout masks (rate 0.5 "
            "unless dropout says otherwise); a normal distribution that is trained",
            .choices = "none|dropout|variational",
            .otherwise = "none, or what weights were saved with"),
    OPT_COUNT("samples", "M", "0", AT(samples), 0, 1 << 20, network,
              "posterior draws that predictions are averaged over; 0: 100"),
    OPT_ROW("prior", NUMBER, "V", NULL, AT(prior), network,
            "variance of the weights' prior, for bayes = variational", .otherwise = "1",
            .max = INFINITY, .open = SCANT_OPEN_BOTH),
    OPT_ROW("hidden", COUNT, "N", NULL, AT(hidden), network,
            "width of a dense layer before the last one",
            .otherwise = "none; 256 with bayes = variational where features come from "
                         "convolutions",
            .min = 1, .max = 1 << 20),
    OPT_NUMBER("dropout", "P", "0", AT(dropout), 0, 1, SCANT_OPEN_MAX, network,
               "dropout rate before the last layer (wrn: within blocks, unless bayes = "
               "dropout); 0 with bayes = dropout: the rate that weights were saved with, "
               "else 0.5"),
};

const scant_option *scant_model_options(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

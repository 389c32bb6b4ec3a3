/* SPDX-License-Identifier: Apache-2.0
 *
 * The architectures, one function per family, and the table of their options (members of
 * scant_net_opts). Parameter names of resnet18, vgg and mobilenetv2 are torchvision's, so
 * pretrained files fit.
 *
 * Choices where the sources differ:
 *  - lenet5 has rectifiers and max pooling, as in today's benchmarks; the original of
 *    1998 had tanh and trained averages.
 *  - vgg ends in one dense layer (head = small); torchvision's three (head = full) need
 *    7x7 planes, that is images of 224x224 pixels.
 *  - resnet18 keeps the resolution in its first layer for images of up to 64 pixels on
 *    the larger side (stem = small); for larger ones it is torchvision's (stem =
 *    original), which dynamicAL's text names for all images.
 *  - with bayes = dropout, every network has dropout before its last layer; wrn then has
 *    none within blocks.
 *  - wrn-* has leaky rectifiers (0.1), as in the semi-supervised literature; CRC's text
 *    has them for SVHN only.
 *  - gapcnn pools after its first two convolutions. The network of dynamicAL's theory has
 *    three convolutions and averaged planes, too; its authors' public program has 32, 64
 *    and 128 channels and no pooling between them: gapcnn-nopool.
 *  - norm = folded replaces batch normalisation by a bias in each convolution, for files
 *    whose normalisation was folded into the weights.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "data/source.h"
#include "nn/net.h"

/* ---- options ---- */

#define AT(field) offsetof(scant_net_opts, field)

static const char network[] = "Network ('scant models' lists them)";

static const scant_option options[] = {
    OPT_COUNT("width", "N", "0", AT(width), 0, 1 << 20, network,
              "width of mlp, onehidden, gapcnn and gapcnn-nopool; 0: the model's own"),
    OPT_COUNT("depth", "N", "0", AT(depth), 0, 100, network,
              "hidden layers of mlp; 0: the model's own"),
    OPT_ROW("activation", CHOICE, NULL, NULL, AT(activation), network,
            "activation function",
            .choices = "relu|leaky|tanh|sigmoid|swish|relu6|square",
            .otherwise = "the model's own"),
    OPT_ROW("norm", CHOICE, NULL, NULL, AT(norm), network,
            "normalisation of vgg, resnet18 and mobilenetv2: by the batch, folded into "
            "the weights, or none",
            .choices = "batch|folded|none", .otherwise = "batch"),
    OPT_ROW("stem", CHOICE, NULL, NULL, AT(stem), network, "first layers of resnet18",
            .choices = "small|original", .otherwise = "small up to 64 pixels"),
    OPT_ROW("head", CHOICE, NULL, NULL, AT(head), network, "last layers of vgg",
            .choices = "small|full", .otherwise = "small"),
    OPT_ROW("init", CHOICE, NULL, NULL, AT(init), network,
            "initial weights: torch, uniform within 1/sqrt(fan-in), biases too; he, "
            "normal with variance 2/fan-in; he-out, the same with fan-out; glorot, "
            "uniform with variance 2/(fan-in + fan-out)",
            .choices = "torch|he|he-out|glorot", .otherwise = "the model's own"),
    OPT_ROW("bayes", CHOICE, NULL, NULL, AT(bayes), network,
            "posterior of the last layer's weights: none; dropout masks (rate 0.5 "
            "unless dropout says otherwise); a normal distribution that is trained",
            .choices = "none|dropout|variational",
            .otherwise = "none, or what weights were saved with"),
    OPT_COUNT("samples", "M", "0", AT(draws), 0, 1 << 20, network,
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
enum { OPTIONS = sizeof options / sizeof *options };

const scant_option *scant_model_options(size_t *count) {
    *count = OPTIONS;
    return options;
}

/* The index of the chosen word of an option; -1: none. */
static int choice(const scant_net_opts *o, const char *key) {
    const scant_option *row = scant__option_find(options, OPTIONS, key);
    char room[SCANT__NUMBER];
    scant__value value;
    return scant__option_read(row, scant__option_text(row, o, room), &value)
               ? (int)value.number
               : -1;
}

static nn_bayes bayes_of(const scant_net_opts *o) {
    return o->bayes ? (nn_bayes)choice(o, "bayes") : NN_BAYES_NONE;
}

/* A model under construction. */
typedef struct model_builder {
    nn_builder b;
    const scant_net_opts *opts;
    nn_shape input;
    nn_act act;         /* opts.activation, or the model's own */
    bool folded, plain; /* norm = folded, none */
    int features;
} model_builder;

typedef struct model {
    scant_model_info info;
    void (*build)(model_builder *s, size_t variant);
    size_t variant; /* argument of build: depth, width, ... */
    nn_act act;
    nn_dense_init dense; /* dense layers of init = he-out */
} model;

static scant_ctx *ctx_of(const model_builder *s) { return s->b.net->ctx; }

static bool is_ok(const model_builder *s) { return s->b.status == SCANT_OK; }

static int act(model_builder *s, int in) { return nn_add_act(&s->b, in, s->act); }

static bool draws_by_dropout(const model_builder *s) {
    return s->b.net->bayes == NN_BAYES_DROPOUT;
}

/* The dropout rate before the last layer. */
static float last_rate(const model_builder *s) {
    float otherwise = draws_by_dropout(s) ? 0.5f : 0;
    return s->opts->dropout > 0 ? (float)s->opts->dropout : otherwise;
}

/* The width of the hidden layer before the last; 0: none. A variational layer is linear
 * in its features. By default it gets a hidden layer if the features come from planes. */
static size_t hidden_width(const model_builder *s, int in) {
    const nn_net *net = s->b.net;
    if (s->opts->hidden || s->opts->no_hidden) return s->opts->hidden;
    while (net->nodes[in].kind == NN_ACT || net->nodes[in].kind == NN_DROPOUT)
        in = net->nodes[in].in[0];
    nn_kind kind = net->nodes[in].kind;
    bool planes = kind != NN_DENSE && kind != NN_INPUT;
    return net->bayes == NN_BAYES_VARIATIONAL && planes ? 256 : 0;
}

/* Adds the last dense layer, one row per class, with its hidden, dropout and noise
 * layers. */
static void finish_with(model_builder *s, int in, const char *name, float rate) {
    nn_net *net = s->b.net;
    if (!is_ok(s)) return;
    net->hidden = hidden_width(s, in);
    if (net->hidden) {
        in = nn_add_dense(&s->b, in, "hidden", net->hidden, true);
        in = nn_add_act(&s->b, in, NN_ACT_RELU);
    }
    s->features = in = nn_add_dropout(&s->b, in, rate);
    in = nn_add_dense(&s->b, in, name, s->opts->classes, true);
    if (net->bayes == NN_BAYES_VARIATIONAL) nn_add_noise(&s->b, in);
}

static void finish(model_builder *s, int in, const char *name) {
    finish_with(s, in, name, last_rate(s));
}

static const char *numbered(char out[NN_NAME], const char *format, size_t a, size_t b) {
    snprintf(out, NN_NAME, format, a, b);
    return out;
}

/* ---- small models ---- */

static void build_linear(model_builder *s, size_t variant) {
    (void)variant;
    finish(s, 0, "fc");
}

static void build_mlp(model_builder *s, size_t usual) {
    size_t width = s->opts->width ? s->opts->width : usual;
    size_t depth = s->opts->depth ? s->opts->depth : 1;
    char name[NN_NAME];
    int at = 0;
    for (size_t i = 1; i <= depth && is_ok(s); i++)
        at = act(s, nn_add_dense(&s->b, at, numbered(name, "fc%zu", i, 0), width, true));
    finish(s, at, numbered(name, "fc%zu", depth + 1, 0));
}

/* f(x) = A act(W x) / sqrt(m), where A has fixed random signs and W is initially standard
 * normal: the network of the importance sampling theory. */
static void build_onehidden(model_builder *s, size_t usual) {
    size_t width = s->opts->width ? s->opts->width : usual;
    if (s->opts->init) {
        s->b.status = scant__fail(ctx_of(s), SCANT_EUSAGE,
                                  "onehidden: its initial weights are those of the "
                                  "theory, so it has no option init");
        return;
    }
    if (s->b.net->bayes == NN_BAYES_VARIATIONAL || s->opts->hidden) {
        s->b.status =
            scant__fail(ctx_of(s), SCANT_EUSAGE,
                        "onehidden: its last layer is not trained, so %s cannot be used",
                        s->opts->hidden ? "hidden" : "bayes = variational");
        return;
    }
    int hidden = nn_add_dense(&s->b, 0, "fc1", width, false), at = act(s, hidden);
    if (draws_by_dropout(s)) at = nn_add_dropout(&s->b, at, last_rate(s));
    s->features = at;
    at = nn_add_dense(&s->b, at, "out", s->opts->classes, false);
    if (!is_ok(s)) return;
    nn_node *out = &s->b.net->nodes[at];
    s->b.net->nodes[hidden].deviation = 1;
    out->frozen = true;
    out->scale = (float)(1 / sqrt((double)width));
}

static void build_lenet(model_builder *s, size_t first_pad) {
    nn_window window = {5, 1, first_pad}, half = {2, 2, 0};
    int at = act(s, nn_add_conv(&s->b, 0, "conv1", 6, window, 1, true));
    at = nn_add_maxpool(&s->b, at, half);
    window.pad = 0;
    at = act(s, nn_add_conv(&s->b, at, "conv2", 16, window, 1, true));
    at = nn_add_maxpool(&s->b, at, half);
    at = act(s, nn_add_dense(&s->b, at, "fc1", 120, true));
    at = act(s, nn_add_dense(&s->b, at, "fc2", 84, true));
    finish(s, at, "fc3");
}

/* Three convolutions, whose last one is `last` times as wide as the first. */
static void averaged_cnn(model_builder *s, size_t usual, size_t last, bool pools) {
    size_t width = s->opts->width ? s->opts->width : usual;
    nn_window window = {3, 1, 1}, half = {2, 2, 0};
    int at = act(s, nn_add_conv(&s->b, 0, "conv1", width, window, 1, true));
    if (pools) at = nn_add_maxpool(&s->b, at, half);
    at = act(s, nn_add_conv(&s->b, at, "conv2", size_mul(2, width), window, 1, true));
    if (pools) at = nn_add_maxpool(&s->b, at, half);
    at = act(s, nn_add_conv(&s->b, at, "conv3", size_mul(last, width), window, 1, true));
    finish(s, nn_add_mean(&s->b, at), "fc");
}

static void build_gapcnn(model_builder *s, size_t usual) {
    averaged_cnn(s, usual, 2, true);
}

static void build_gapcnn_nopool(model_builder *s, size_t usual) {
    averaged_cnn(s, usual, 4, false);
}

/* ---- vgg ---- */

static void vgg_full_head(model_builder *s, int at) {
    nn_shape shape = s->b.net->nodes[at].shape;
    if (is_ok(s) && (shape.h != 7 || shape.w != 7)) {
        s->b.status = scant__fail(ctx_of(s), SCANT_EINPUT,
                                  "%s with head=full takes images of 224x224 pixels, "
                                  "not %zux%zu: use head=small",
                                  s->b.net->model, s->input.h, s->input.w);
        return;
    }
    float rate = s->opts->dropout > 0 ? (float)s->opts->dropout : 0.5f;
    at = act(s, nn_add_dense(&s->b, at, "classifier.0", 4096, true));
    at = nn_add_dropout(&s->b, at, rate);
    at = act(s, nn_add_dense(&s->b, at, "classifier.3", 4096, true));
    finish_with(s, at, "classifier.6", rate);
}

/* widths: channels of each convolution, 0 for pooling. The numbers in names count every
 * layer of torchvision's list, including normalisation and rectifiers. */
static void build_vgg(model_builder *s, size_t depth) {
    static const size_t vgg11[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
    static const size_t vgg16[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                                   0,  512, 512, 512, 0,   512, 512, 512, 0};
    const size_t *widths = depth == 11 ? vgg11 : vgg16;
    size_t n = depth == 11 ? sizeof vgg11 / sizeof *vgg11 : sizeof vgg16 / sizeof *vgg16;
    char name[NN_NAME];
    int at = 0;
    for (size_t i = 0, number = 0; i < n && is_ok(s); i++, number++) {
        if (widths[i] == 0) {
            at = nn_add_maxpool(&s->b, at, (nn_window){2, 2, 0});
            continue;
        }
        at = nn_add_conv(&s->b, at, numbered(name, "features.%zu", number++, 0),
                         widths[i], (nn_window){3, 1, 1}, 1, true);
        if (!s->plain) {
            numbered(name, "features.%zu", number++, 0);
            if (!s->folded) at = nn_add_norm(&s->b, at, name);
        }
        at = act(s, at);
    }
    if (s->opts->head && strcmp(s->opts->head, "full") == 0)
        vgg_full_head(s, at);
    else
        finish(s, at, "classifier");
}

/* ---- residual networks ---- */

/* The convolution base.part. */
static int conv(model_builder *s, int in, const char *base, const char *part,
                size_t channels, nn_window w, size_t groups, bool bias) {
    char name[2 * NN_NAME];
    snprintf(name, sizeof name, "%s%s", base, part);
    return nn_add_conv(&s->b, in, name, channels, w, groups, bias);
}

static int norm(model_builder *s, int in, const char *base, const char *part) {
    char name[2 * NN_NAME];
    snprintf(name, sizeof name, "%s%s", base, part);
    return nn_add_norm(&s->b, in, name);
}

/* Convolution and, if the model has it, normalisation. */
static int conv_norm(model_builder *s, int in, const char *base, const char *first,
                     const char *second, size_t channels, nn_window w, size_t groups) {
    bool bare = s->folded || s->plain;
    int at = conv(s, in, base, first, channels, w, groups, bare);
    return bare ? at : norm(s, at, base, second);
}

static bool changes_shape(const model_builder *s, int in, size_t channels,
                          size_t stride) {
    return stride != 1 || s->b.net->nodes[in].shape.c != channels;
}

static int resnet_block(model_builder *s, int in, size_t layer, size_t block,
                        size_t channels, size_t stride) {
    char base[NN_NAME];
    nn_window wide = {3, stride, 1}, same = {3, 1, 1}, skip = {1, stride, 0};
    numbered(base, "layer%zu.%zu.", layer, block);
    int at = act(s, conv_norm(s, in, base, "conv1", "bn1", channels, wide, 1));
    at = conv_norm(s, at, base, "conv2", "bn2", channels, same, 1);
    if (changes_shape(s, in, channels, stride))
        in = conv_norm(s, in, base, "downsample.0", "downsample.1", channels, skip, 1);
    return act(s, nn_add_sum(&s->b, at, in));
}

static void build_resnet18(model_builder *s, size_t variant) {
    bool small = s->opts->stem ? strcmp(s->opts->stem, "small") == 0
                               : size_max(s->input.h, s->input.w) <= 64;
    nn_window first = small ? (nn_window){3, 1, 1} : (nn_window){7, 2, 3};
    (void)variant;
    int at = act(s, conv_norm(s, 0, "", "conv1", "bn1", 64, first, 1));
    if (!small) at = nn_add_maxpool(&s->b, at, (nn_window){3, 2, 1});
    for (size_t layer = 1; layer <= 4; layer++)
        for (size_t block = 0; block < 2 && is_ok(s); block++)
            at = resnet_block(s, at, layer, block, (size_t)32 << layer,
                              layer > 1 && block == 0 ? 2 : 1);
    finish(s, nn_add_mean(&s->b, at), "fc");
}

static int wrn_block(model_builder *s, int in, const char *base, size_t channels,
                     size_t stride) {
    nn_window wide = {3, stride, 1}, same = {3, 1, 1}, skip = {1, stride, 0};
    float rate = draws_by_dropout(s) ? 0 : (float)s->opts->dropout;
    int open = act(s, norm(s, in, base, "bn1"));
    int at = conv(s, open, base, "conv1", channels, wide, 1, false);
    at = nn_add_dropout(&s->b, act(s, norm(s, at, base, "bn2")), rate);
    at = conv(s, at, base, "conv2", channels, same, 1, false);
    if (changes_shape(s, in, channels, stride))
        in = conv(s, open, base, "shortcut", channels, skip, 1, false);
    return nn_add_sum(&s->b, at, in);
}

static void build_wrn(model_builder *s, size_t widen) {
    char base[NN_NAME];
    int at = nn_add_conv(&s->b, 0, "conv1", 16, (nn_window){3, 1, 1}, 1, false);
    for (size_t group = 1; group <= 3; group++)
        for (size_t i = 0; i < 4 && is_ok(s); i++)
            at = wrn_block(s, at, numbered(base, "block%zu.%zu.", group, i),
                           (size_t)8 * widen << group, group > 1 && i == 0 ? 2 : 1);
    at = nn_add_mean(&s->b, act(s, nn_add_norm(&s->b, at, "bn1")));
    finish_with(s, at, "fc", draws_by_dropout(s) ? last_rate(s) : 0);
}

/* ---- mobilenetv2 ---- */

static int inverted_residual(model_builder *s, int in, size_t number, size_t expand,
                             size_t channels, size_t stride) {
    static const char *const parts[] = {"0.0", "0.1", "1.0", "1.1", "1", "2", "3"};
    char base[NN_NAME];
    size_t inner = s->b.net->nodes[in].shape.c * expand;
    const char *const *part = parts; /* with expand, numbers in names are one higher */
    nn_window single = {1, 1, 0}, wide = {3, stride, 1};
    int at = in;
    numbered(base, "features.%zu.conv.", number, 0);
    if (expand != 1) {
        at = act(s, conv_norm(s, at, base, part[0], part[1], inner, single, 1));
        part += 2;
    }
    at = act(s, conv_norm(s, at, base, part[0], part[1], inner, wide, inner));
    part = parts + (expand != 1 ? 5 : 4);
    at = conv_norm(s, at, base, part[0], part[1], channels, single, 1);
    return changes_shape(s, in, channels, stride) ? at : nn_add_sum(&s->b, at, in);
}

static void build_mobilenetv2(model_builder *s, size_t variant) {
    static const size_t rows[][4] = {/* expand, channels, repeats, first stride */
                                     {1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2},
                                     {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
                                     {6, 320, 1, 1}};
    nn_window first = {3, 2, 1}, last = {1, 1, 0};
    size_t number = 1;
    (void)variant;
    int at = act(s, conv_norm(s, 0, "features.0.", "0", "1", 32, first, 1));
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t i = 0; i < rows[r][2] && is_ok(s); i++)
            at = inverted_residual(s, at, number++, rows[r][0], rows[r][1],
                                   i == 0 ? rows[r][3] : 1);
    at = act(s, conv_norm(s, at, "features.18.", "0", "1", 1280, last, 1));
    finish(s, nn_add_mean(&s->b, at), "classifier.1");
}

/* ---- table of models ---- */

#define MODEL(name, summary, c, side, classes, init, has, build, variant, act, dense)    \
    {                                                                                    \
        {name, summary, {c, side, side}, classes, init, has}, build, variant,            \
            NN_ACT_##act, NN_DENSE_##dense                                               \
    }
enum {
    WIDE = SCANT_MODEL_WIDTH,
    DEEP = SCANT_MODEL_DEPTH,
    NORM = SCANT_MODEL_NORM,
    STEM = SCANT_MODEL_STEM,
    HEAD = SCANT_MODEL_HEAD
};

static const model models[] = {
    MODEL("linear", "one dense layer", 1, 28, 10, "torch", 0, build_linear, 0, NONE,
          TORCH),
    MODEL("mlp", "dense layers: depth hidden ones (1) of width (256)", 1, 28, 10, "torch",
          WIDE | DEEP, build_mlp, 256, RELU, TORCH),
    MODEL("onehidden",
          "one hidden layer of width (1024), fixed signs behind it, 1/sqrt(m)", 1, 28, 10,
          NULL, WIDE, build_onehidden, 1024, RELU, TORCH),
    MODEL("lenet5", "two convolutions, three dense layers; for digits", 1, 28, 10,
          "torch", 0, build_lenet, 2, RELU, TORCH),
    MODEL("cnn", "the PyTorch tutorial's: two convolutions, three dense layers", 3, 32,
          10, "torch", 0, build_lenet, 0, RELU, TORCH),
    MODEL("gapcnn", "three convolutions of width (64) and doubled, planes averaged", 3,
          32, 10, "torch", WIDE, build_gapcnn, 64, RELU, TORCH),
    MODEL("gapcnn-nopool",
          "dynamicAL's: three convolutions of width (32), twice and four times that, "
          "planes averaged",
          3, 32, 10, "torch", WIDE, build_gapcnn_nopool, 32, RELU, TORCH),
    MODEL("vgg11", "eight convolutions with normalisation", 3, 32, 10, "he-out",
          NORM | HEAD, build_vgg, 11, RELU, SMALL),
    MODEL("vgg16", "thirteen convolutions with normalisation", 3, 32, 10, "he-out",
          NORM | HEAD, build_vgg, 16, RELU, SMALL),
    MODEL("resnet18", "residual network of 18 layers", 3, 32, 10, "he-out", NORM | STEM,
          build_resnet18, 18, RELU, TORCH),
    MODEL("wrn-28-2", "wide residual network, twice as wide", 3, 32, 10, "he-out", 0,
          build_wrn, 2, LEAKY, GLOROT),
    MODEL("wrn-28-8", "wide residual network, eight times as wide", 3, 32, 10, "he-out",
          0, build_wrn, 8, LEAKY, GLOROT),
    MODEL("wrn-28-10", "wide residual network, ten times as wide", 3, 32, 10, "he-out", 0,
          build_wrn, 10, LEAKY, GLOROT),
    MODEL("mobilenetv2", "for photographs: depthwise convolutions, pretrained files fit",
          3, 224, 1000, "he-out", NORM, build_mobilenetv2, 2, RELU6, SMALL),
};

enum { MODELS = sizeof models / sizeof *models };

const scant_model_info *const *scant_models(size_t *count) {
    _Static_assert(MODELS == 14, "the list below has one for each of the table");
    static const scant_model_info *const list[MODELS] = {
        &models[0].info,  &models[1].info, &models[2].info,  &models[3].info,
        &models[4].info,  &models[5].info, &models[6].info,  &models[7].info,
        &models[8].info,  &models[9].info, &models[10].info, &models[11].info,
        &models[12].info, &models[13].info};
    *count = MODELS;
    return list;
}

static const model *find_model(const char *name) {
    for (size_t i = 0; i < MODELS; i++)
        if (strcmp(models[i].info.name, name) == 0) return &models[i];
    return NULL;
}

const scant_model_info *scant_model_find(const char *name) {
    const model *m = find_model(name);
    return m ? &m->info : NULL;
}

/* Refuses options that the model does not have, and values out of range. */
static scant_status check_options(scant_ctx *ctx, const model *m,
                                  const scant_net_opts *given) {
    static const char *const own[] = {"width", "depth", "norm", "stem", "head"};
    const char *name = m->info.name;
    scant_net_opts o = *given;
    char room[SCANT__NUMBER], why[SCANT__ERR_SIZE / 2];
    for (int i = 0; i < 5; i++) {
        const scant_option *row = scant__option_find(options, OPTIONS, own[i]);
        const char *text = scant__option_text(row, given, room);
        if (*text && strcmp(text, "0") != 0 && !(m->info.options & 1u << i))
            return scant__fail(ctx, SCANT_EUSAGE, "%s has no option %s", name, own[i]);
    }
    if (!o.hidden) o.hidden = 1; /* 0: not given */
    if (o.prior == 0) o.prior = 1;
    if (scant__options_check(ctx, options, OPTIONS, &o) != SCANT_OK) {
        const char *text = scant_ctx_errmsg(ctx); /* it may quote a file */
        scant__printable((const unsigned char *)text, strlen(text), why, sizeof why);
        return scant__fail(ctx, SCANT_EUSAGE, "%s: %s", name, why);
    }
    if (!((float)o.dropout < 1)) /* layers store it as a float */
        return scant__fail(ctx, SCANT_EUSAGE, "%s: dropout is in [0, 1), not %.9g", name,
                           o.dropout);
    if (o.classes < 1 || o.classes > 1 << 20)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: has %zu classes, expected 1 to 1048576", name, o.classes);
    for (int i = 0; i < 3; i++)
        if (o.shape[i] < 1 || o.shape[i] > 1 << 24)
            return scant__fail(ctx, SCANT_EINPUT, "%s cannot take samples of %zux%zux%zu",
                               name, o.shape[0], o.shape[1], o.shape[2]);
    return SCANT_OK;
}

static scant_status check_bayes(scant_ctx *ctx, const char *name,
                                const scant_net_opts *o) {
    nn_bayes bayes = bayes_of(o);
    if (o->draws && bayes == NN_BAYES_NONE)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: samples needs a posterior: bayes=dropout or variational",
                           name);
    if (o->prior != 0 && bayes != NN_BAYES_VARIATIONAL)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: prior needs bayes=variational", name);
    if (o->prior != 0 && !(o->prior >= 1e-12 && o->prior <= 1e12))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: prior is %g, expected a variance within [1e-12, 1e12]",
                           name, o->prior);
    if (o->hidden && o->no_hidden)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: hidden is a width or none, not both",
                           name);
    return SCANT_OK;
}

/* In the order of the choices of option activation. */
static const nn_act activations[] = {NN_ACT_RELU,    NN_ACT_LEAKY, NN_ACT_TANH,
                                     NN_ACT_SIGMOID, NN_ACT_SWISH, NN_ACT_RELU6,
                                     NN_ACT_SQUARE};

static scant_status build(scant_ctx *ctx, const model *m, const scant_net_opts *o,
                          nn_net **out) {
    int word = choice(o, "activation");
    nn_bayes bayes = bayes_of(o);
    model_builder s = {.opts = o,
                       .input = {o->shape[0], o->shape[1], o->shape[2]},
                       .act = word < 0 ? m->act : activations[word],
                       .folded = choice(o, "norm") == 1,
                       .plain = choice(o, "norm") == 2};
    AUTO(nn_net_auto) nn_net *net = NULL;
    TRY(nn_net_create(ctx, m->info.name, s.input, &net));
    int init = choice(o->init ? o : &(scant_net_opts){.init = m->info.init}, "init");
    net->init = init < 0 ? NN_INIT_TORCH : (nn_init)init; /* onehidden has no init */
    net->dense_init = m->dense;
    net->bayes = bayes;
    net->draws = bayes == NN_BAYES_NONE ? 1 : o->draws ? o->draws : 100;
    net->prior = o->prior > 0 ? o->prior : 1;
    net->draw_seed = o->draw_seed;
    s.b.net = net;
    m->build(&s, m->variant);
    TRY(nn_net_end(&s.b, s.features));
    *out = net;
    net = NULL;
    return SCANT_OK;
}

/* Reports that the sample size does not fit. If samples are too small, names the smallest
 * square size that fits. */
static scant_status refuse_size(scant_ctx *ctx, const model *m, const scant_net_opts *o) {
    enum { LARGEST = 512 };
    char why[SCANT__ERR_SIZE / 2];
    snprintf(why, sizeof why, "%s", scant_ctx_errmsg(ctx));
    if (o->shape[1] == 1 && o->shape[2] == 1)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s takes images, but these samples are rows of %zu numbers: "
                           "use mlp or linear",
                           m->info.name, o->shape[0]);
    for (size_t side = 1; side <= LARGEST; side++) {
        scant_net_opts square = *o;
        AUTO(nn_net_auto) nn_net *net = NULL;
        square.shape[1] = square.shape[2] = side;
        scant_status status = build(ctx, m, &square, &net);
        if (status == SCANT_EINPUT) continue;
        if (status != SCANT_OK) return status;
        if (side <= size_min(o->shape[1], o->shape[2]))
            break; /* the sample is not too small */
        return scant__fail(ctx, SCANT_EINPUT, "%s; %zux%zu would work", why, side, side);
    }
    return scant__fail(ctx, SCANT_EINPUT, "%s", why);
}

scant_status nn_model_build(scant_ctx *ctx, const char *name, const scant_net_opts *opts,
                            nn_net **out) {
    *out = NULL;
    const model *m = find_model(name);
    char shown[41]; /* the name may come from a file */
    if (!m)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "there is no model '%s'; `scant models` lists them",
                           scant__printable((const unsigned char *)name, strlen(name),
                                            shown, sizeof shown));
    scant_net_opts o = opts ? *opts : (scant_net_opts){0};
    if (!o.shape[0] && !o.shape[1] && !o.shape[2])
        memcpy(o.shape, m->info.shape, sizeof o.shape);
    if (!o.classes) o.classes = m->info.classes;
    TRY(check_options(ctx, m, &o));
    TRY(check_bayes(ctx, m->info.name, &o));
    scant_status status = build(ctx, m, &o, out);
    return status == SCANT_EINPUT ? refuse_size(ctx, m, &o) : status;
}

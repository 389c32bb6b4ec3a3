/* SPDX-License-Identifier: Apache-2.0
 *
 * The architectures, one function each. Parameter names of resnet18, vgg and mobilenetv2
 * are torchvision's, so pretrained files fit.
 *
 * Choices where the sources differ:
 *  - lenet5 has rectifiers and max pooling, as in today's benchmarks; the original of
 * 1998
 *    had tanh and trained averages.
 *  - vgg on small images ends in one dense layer (head = small); torchvision's three
 *    (head = full) need the 7x7 planes of 224 pixels.
 *  - resnet18 keeps the resolution in its first layer for images of up to 64 pixels on
 * the
 *    larger side (stem = small), and is torchvision's above (stem = original).
 *  - a network with bayes = dropout has dropout before its last layer, wrn only there.
 *  - wrn-* has leaky rectifiers (0.1), as in the semi-supervised literature.
 *  - norm = folded replaces batch normalisation by a bias in each convolution, for files
 *    whose normalisation was folded into the weights.
 */
#include "nn/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/filetype.h"
#include "scant/train.h"

/* A model under construction. */
typedef struct sketch {
    nn_builder b;
    const scant_net_opts *opts;
    nn_shape input;
    nn_act act; /* opts.activation, or the model's own */
    float slope;
    bool folded, plain; /* norm = folded, none */
    int features;
} sketch;

typedef void (*build_fn)(sketch *s);

typedef struct model {
    scant_model_info info;
    build_fn build;
    nn_act act;
    float slope;
} model;

static scant_ctx *ctx_of(const sketch *s) { return s->b.net->ctx; }

static bool going(const sketch *s) { return s->b.status == SCANT_OK; }

static int act(sketch *s, int in) { return nn_add_act(&s->b, in, s->act, s->slope); }

static bool draws_by_dropout(const sketch *s) {
    return s->b.net->bayes == NN_BAYES_DROPOUT;
}

/* The rate of dropout before the last layer. */
static float last_rate(const sketch *s) {
    float otherwise = draws_by_dropout(s) ? 0.5f : 0;
    return s->opts->dropout > 0 ? (float)s->opts->dropout : otherwise;
}

/* A variational layer is linear in its features, so a trainable layer goes before it
 * where the features are averages of planes. */
static size_t hidden_width(const sketch *s, int in) {
    const nn_net *net = s->b.net;
    if (s->opts->hidden || s->opts->no_hidden) return s->opts->hidden;
    while (net->nodes[in].kind == NN_ACT || net->nodes[in].kind == NN_DROPOUT)
        in = net->nodes[in].in[0];
    nn_kind kind = net->nodes[in].kind;
    bool planes = kind != NN_DENSE && kind != NN_INPUT;
    return net->bayes == NN_BAYES_VARIATIONAL && planes ? 256 : 0;
}

/* The last dense layer, one row per class, and the layers that belong to it. */
static void finish_with(sketch *s, int in, const char *name, float rate) {
    nn_net *net = s->b.net;
    if (!going(s)) return;
    net->hidden = hidden_width(s, in);
    if (net->hidden) {
        in = nn_add_dense(&s->b, in, "hidden", net->hidden, true);
        in = nn_add_act(&s->b, in, NN_ACT_RELU, 0);
    }
    s->features = in = nn_add_dropout(&s->b, in, rate);
    in = nn_add_dense(&s->b, in, name, s->opts->classes, true);
    if (net->bayes == NN_BAYES_VARIATIONAL) nn_add_noise(&s->b, in);
}

static void finish(sketch *s, int in, const char *name) {
    finish_with(s, in, name, last_rate(s));
}

static const char *numbered(char out[NN_NAME], const char *format, size_t a, size_t b) {
    snprintf(out, NN_NAME, format, a, b);
    return out;
}

/* ---- small ones ---- */

static void build_linear(sketch *s) { finish(s, 0, "fc"); }

static void build_mlp(sketch *s) {
    size_t width = s->opts->width ? s->opts->width : 256;
    size_t depth = s->opts->depth ? s->opts->depth : 1;
    char name[NN_NAME];
    int at = 0;
    for (size_t i = 1; i <= depth && going(s); i++)
        at = act(s, nn_add_dense(&s->b, at, numbered(name, "fc%zu", i, 0), width, true));
    finish(s, at, numbered(name, "fc%zu", depth + 1, 0));
}

/* f(x) = A act(W x) / sqrt(m) with A of fixed signs: the network of the importance
 * sampling theory. W starts as standard normal numbers. */
static void build_onehidden(sketch *s) {
    size_t width = s->opts->width ? s->opts->width : 1024;
    if (s->b.net->bayes == NN_BAYES_VARIATIONAL || s->opts->hidden) {
        s->b.status = scant__fail(
            ctx_of(s), SCANT_EUSAGE,
            "onehidden: its last layer is not trained, so it cannot have a %s",
            s->opts->hidden ? "hidden layer before it" : "variational law");
        return;
    }
    int hidden = nn_add_dense(&s->b, 0, "fc1", width, false), at = act(s, hidden);
    if (draws_by_dropout(s)) at = nn_add_dropout(&s->b, at, last_rate(s));
    s->features = at;
    at = nn_add_dense(&s->b, at, "out", s->opts->classes, false);
    if (!going(s)) return;
    nn_node *out = &s->b.net->nodes[at];
    s->b.net->nodes[hidden].deviation = 1;
    out->frozen = true;
    out->scale = (float)(1 / sqrt((double)width));
}

static void build_lenet(sketch *s, size_t first_pad) {
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

static void build_lenet5(sketch *s) { build_lenet(s, 2); }
static void build_cnn(sketch *s) { build_lenet(s, 0); }

static void build_gapcnn(sketch *s) {
    size_t width = s->opts->width ? s->opts->width : 64;
    nn_window window = {3, 1, 1}, half = {2, 2, 0};
    int at = act(s, nn_add_conv(&s->b, 0, "conv1", width, window, 1, true));
    at = nn_add_maxpool(&s->b, at, half);
    at = act(s, nn_add_conv(&s->b, at, "conv2", size_mul(2, width), window, 1, true));
    at = nn_add_maxpool(&s->b, at, half);
    at = act(s, nn_add_conv(&s->b, at, "conv3", size_mul(2, width), window, 1, true));
    finish(s, nn_add_mean(&s->b, at), "fc");
}

/* ---- vgg ---- */

static void vgg_full_head(sketch *s, int at) {
    nn_shape shape = s->b.net->nodes[at].shape;
    if (going(s) && (shape.h != 7 || shape.w != 7)) {
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
static void build_vgg(sketch *s, const size_t *widths, size_t n) {
    char name[NN_NAME];
    int at = 0;
    size_t number = 0;
    for (size_t i = 0; i < n && going(s); i++) {
        if (widths[i] == 0) {
            at = nn_add_maxpool(&s->b, at, (nn_window){2, 2, 0});
            number++;
            continue;
        }
        at = nn_add_conv(&s->b, at, numbered(name, "features.%zu", number, 0), widths[i],
                         (nn_window){3, 1, 1}, 1, true);
        number++;
        if (!s->plain) {
            numbered(name, "features.%zu", number, 0);
            if (!s->folded) at = nn_add_norm(&s->b, at, name);
            number++;
        }
        at = act(s, at);
        number++;
    }
    const char *head = s->opts->head ? s->opts->head : "small";
    if (strcmp(head, "full") == 0)
        vgg_full_head(s, at);
    else
        finish(s, at, "classifier");
}

static void build_vgg11(sketch *s) {
    static const size_t widths[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
    build_vgg(s, widths, sizeof widths / sizeof *widths);
}

static void build_vgg16(sketch *s) {
    static const size_t widths[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                                    0,  512, 512, 512, 0,   512, 512, 512, 0};
    build_vgg(s, widths, sizeof widths / sizeof *widths);
}

/* ---- residual networks ---- */

/* Convolution and, if the model has it, normalisation. */
static int conv_norm(sketch *s, int in, const char *conv, const char *norm,
                     size_t channels, nn_window w, size_t groups) {
    bool bare = s->folded || s->plain;
    int at = nn_add_conv(&s->b, in, conv, channels, w, groups, bare);
    return bare ? at : nn_add_norm(&s->b, at, norm);
}

static int resnet_block(sketch *s, int in, size_t layer, size_t block, size_t channels,
                        size_t stride) {
    char base[NN_NAME], conv[2 * NN_NAME], norm[2 * NN_NAME];
    numbered(base, "layer%zu.%zu", layer, block);
    snprintf(conv, sizeof conv, "%s.conv1", base);
    snprintf(norm, sizeof norm, "%s.bn1", base);
    int at = act(s, conv_norm(s, in, conv, norm, channels, (nn_window){3, stride, 1}, 1));
    snprintf(conv, sizeof conv, "%s.conv2", base);
    snprintf(norm, sizeof norm, "%s.bn2", base);
    at = conv_norm(s, at, conv, norm, channels, (nn_window){3, 1, 1}, 1);
    int shortcut = in;
    if (stride != 1 || s->b.net->nodes[in].shape.c != channels) {
        snprintf(conv, sizeof conv, "%s.downsample.0", base);
        snprintf(norm, sizeof norm, "%s.downsample.1", base);
        shortcut = conv_norm(s, in, conv, norm, channels, (nn_window){1, stride, 0}, 1);
    }
    return act(s, nn_add_sum(&s->b, at, shortcut));
}

static void build_resnet18(sketch *s) {
    bool small = s->opts->stem ? strcmp(s->opts->stem, "small") == 0
                               : size_max(s->input.h, s->input.w) <= 64;
    nn_window first = small ? (nn_window){3, 1, 1} : (nn_window){7, 2, 3};
    int at = act(s, conv_norm(s, 0, "conv1", "bn1", 64, first, 1));
    if (!small) at = nn_add_maxpool(&s->b, at, (nn_window){3, 2, 1});
    for (size_t layer = 1; layer <= 4; layer++)
        for (size_t block = 0; block < 2 && going(s); block++)
            at = resnet_block(s, at, layer, block, (size_t)32 << layer,
                              layer > 1 && block == 0 ? 2 : 1);
    finish(s, nn_add_mean(&s->b, at), "fc");
}

static int wrn_block(sketch *s, int in, const char *base, size_t channels,
                     size_t stride) {
    char name[2 * NN_NAME];
    snprintf(name, sizeof name, "%s.bn1", base);
    int open = act(s, nn_add_norm(&s->b, in, name));
    snprintf(name, sizeof name, "%s.conv1", base);
    int at =
        nn_add_conv(&s->b, open, name, channels, (nn_window){3, stride, 1}, 1, false);
    snprintf(name, sizeof name, "%s.bn2", base);
    float rate = draws_by_dropout(s) ? 0 : (float)s->opts->dropout;
    at = nn_add_dropout(&s->b, act(s, nn_add_norm(&s->b, at, name)), rate);
    snprintf(name, sizeof name, "%s.conv2", base);
    at = nn_add_conv(&s->b, at, name, channels, (nn_window){3, 1, 1}, 1, false);
    int shortcut = in;
    if (stride != 1 || s->b.net->nodes[in].shape.c != channels) {
        snprintf(name, sizeof name, "%s.shortcut", base);
        shortcut =
            nn_add_conv(&s->b, open, name, channels, (nn_window){1, stride, 0}, 1, false);
    }
    return nn_add_sum(&s->b, at, shortcut);
}

static void build_wrn(sketch *s, size_t widen) {
    char base[NN_NAME];
    int at = nn_add_conv(&s->b, 0, "conv1", 16, (nn_window){3, 1, 1}, 1, false);
    for (size_t group = 1; group <= 3; group++)
        for (size_t i = 0; i < 4 && going(s); i++)
            at = wrn_block(s, at, numbered(base, "block%zu.%zu", group, i),
                           (size_t)8 * widen << group, group > 1 && i == 0 ? 2 : 1);
    at = nn_add_mean(&s->b, act(s, nn_add_norm(&s->b, at, "bn1")));
    finish_with(s, at, "fc", draws_by_dropout(s) ? last_rate(s) : 0);
}

static void build_wrn2(sketch *s) { build_wrn(s, 2); }
static void build_wrn8(sketch *s) { build_wrn(s, 8); }
static void build_wrn10(sketch *s) { build_wrn(s, 10); }

/* ---- mobilenetv2 ---- */

static int inverted_residual(sketch *s, int in, size_t number, size_t expand,
                             size_t channels, size_t stride) {
    char conv[NN_NAME], norm[NN_NAME];
    size_t inner = s->b.net->nodes[in].shape.c * expand, i = 0;
    int at = in;
    if (expand != 1) {
        numbered(conv, "features.%zu.conv.0.0", number, 0);
        numbered(norm, "features.%zu.conv.0.1", number, 0);
        at = act(s, conv_norm(s, at, conv, norm, inner, (nn_window){1, 1, 0}, 1));
        i = 1;
    }
    numbered(conv, "features.%zu.conv.%zu.0", number, i);
    numbered(norm, "features.%zu.conv.%zu.1", number, i);
    at = act(s, conv_norm(s, at, conv, norm, inner, (nn_window){3, stride, 1}, inner));
    numbered(conv, "features.%zu.conv.%zu", number, i + 1);
    numbered(norm, "features.%zu.conv.%zu", number, i + 2);
    at = conv_norm(s, at, conv, norm, channels, (nn_window){1, 1, 0}, 1);
    bool same = stride == 1 && s->b.net->nodes[in].shape.c == channels;
    return same ? nn_add_sum(&s->b, at, in) : at;
}

static void build_mobilenetv2(sketch *s) {
    static const size_t rows[][4] = {/* expand, channels, repeats, first stride */
                                     {1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2},
                                     {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
                                     {6, 320, 1, 1}};
    int at = act(
        s, conv_norm(s, 0, "features.0.0", "features.0.1", 32, (nn_window){3, 2, 1}, 1));
    size_t number = 1;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t i = 0; i < rows[r][2] && going(s); i++)
            at = inverted_residual(s, at, number++, rows[r][0], rows[r][1],
                                   i == 0 ? rows[r][3] : 1);
    at = act(s, conv_norm(s, at, "features.18.0", "features.18.1", 1280,
                          (nn_window){1, 1, 0}, 1));
    finish(s, nn_add_mean(&s->b, at), "classifier.1");
}

/* ---- the table ---- */

#define IMAGE(c, side)                                                                   \
    { c, side, side }
enum {
    WIDE = SCANT_MODEL_WIDTH,
    DEEP = SCANT_MODEL_DEPTH,
    NORM = SCANT_MODEL_NORM,
    STEM = SCANT_MODEL_STEM,
    HEAD = SCANT_MODEL_HEAD
};

static const model models[] = {
    {{"linear", "one dense layer", IMAGE(1, 28), 10, 0}, build_linear, NN_ACT_NONE, 0},
    {{"mlp", "dense layers: depth hidden ones (1) of width (256)", IMAGE(1, 28), 10,
      WIDE | DEEP},
     build_mlp,
     NN_ACT_RELU,
     0},
    {{"onehidden", "one hidden layer of width (1024), fixed signs behind it, 1/sqrt(m)",
      IMAGE(1, 28), 10, WIDE},
     build_onehidden,
     NN_ACT_RELU,
     0},
    {{"lenet5", "two convolutions, three dense layers; for digits", IMAGE(1, 28), 10, 0},
     build_lenet5,
     NN_ACT_RELU,
     0},
    {{"cnn", "the PyTorch tutorial's: two convolutions, three dense layers", IMAGE(3, 32),
      10, 0},
     build_cnn,
     NN_ACT_RELU,
     0},
    {{"gapcnn", "three convolutions of width (64) and doubled, planes averaged",
      IMAGE(3, 32), 10, WIDE},
     build_gapcnn,
     NN_ACT_RELU,
     0},
    {{"vgg11", "eight convolutions with normalisation", IMAGE(3, 32), 10, NORM | HEAD},
     build_vgg11,
     NN_ACT_RELU,
     0},
    {{"vgg16", "thirteen convolutions with normalisation", IMAGE(3, 32), 10, NORM | HEAD},
     build_vgg16,
     NN_ACT_RELU,
     0},
    {{"resnet18", "residual network of 18 layers", IMAGE(3, 32), 10, NORM | STEM},
     build_resnet18,
     NN_ACT_RELU,
     0},
    {{"wrn-28-2", "wide residual network, twice as wide", IMAGE(3, 32), 10, 0},
     build_wrn2,
     NN_ACT_LEAKY,
     0.1f},
    {{"wrn-28-8", "wide residual network, eight times as wide", IMAGE(3, 32), 10, 0},
     build_wrn8,
     NN_ACT_LEAKY,
     0.1f},
    {{"wrn-28-10", "wide residual network, ten times as wide", IMAGE(3, 32), 10, 0},
     build_wrn10,
     NN_ACT_LEAKY,
     0.1f},
    {{"mobilenetv2", "for photographs: depthwise convolutions, pretrained files fit",
      IMAGE(3, 224), 1000, NORM},
     build_mobilenetv2,
     NN_ACT_RELU6,
     0},
};

enum { MODELS = sizeof models / sizeof *models };

const scant_model_info *const *scant_models(size_t *count) {
    _Static_assert(MODELS == 13, "the list below has one for each of the table");
    static const scant_model_info *const list[MODELS] = {
        &models[0].info, &models[1].info, &models[2].info,  &models[3].info,
        &models[4].info, &models[5].info, &models[6].info,  &models[7].info,
        &models[8].info, &models[9].info, &models[10].info, &models[11].info,
        &models[12].info};
    *count = MODELS;
    return list;
}

static const model *find(const char *name) {
    for (size_t i = 0; i < MODELS; i++)
        if (strcmp(models[i].info.name, name) == 0) return &models[i];
    return NULL;
}

/* ---- options ---- */

static const struct {
    const char *name;
    nn_act act;
    float slope;
} activations[] = {{"relu", NN_ACT_RELU, 0},   {"leaky", NN_ACT_LEAKY, 0.1f},
                   {"tanh", NN_ACT_TANH, 0},   {"sigmoid", NN_ACT_SIGMOID, 0},
                   {"swish", NN_ACT_SWISH, 0}, {"relu6", NN_ACT_RELU6, 0}};

/* Words may come from a file. */
enum { SHOWN = 41 };
static const char *shown(const char *word, char out[SHOWN]) {
    return scant__printable((const unsigned char *)word, strlen(word), out, SHOWN);
}

static scant_status pick_activation(sketch *s, const char *name) {
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(activations[i].name, name) == 0) {
            s->act = activations[i].act;
            s->slope = activations[i].slope;
            return SCANT_OK;
        }
    char text[SHOWN];
    return scant__fail(ctx_of(s), SCANT_EUSAGE,
                       "%s: activation is relu, leaky, tanh, sigmoid, swish or relu6, "
                       "not '%s'",
                       s->b.net->model, shown(name, text));
}

/* Checks one of two or three words, if the model has this option. */
static scant_status check_word(scant_ctx *ctx, const model *m, unsigned bit,
                               const char *what, const char *given, const char *a,
                               const char *b, const char *c) {
    if (!given) return SCANT_OK;
    if (!(m->info.options & bit))
        return scant__fail(ctx, SCANT_EUSAGE, "%s has no option %s", m->info.name, what);
    if (strcmp(given, a) == 0 || strcmp(given, b) == 0 || (c && strcmp(given, c) == 0))
        return SCANT_OK;
    return scant__fail(ctx, SCANT_EUSAGE, "%s: %s is %s%s%s or %s, not '%s'",
                       m->info.name, what, a, c ? ", " : "", c ? b : "", c ? c : b,
                       given);
}

/* Values of opts.bayes, in the order of nn_bayes. */
static const char *const posteriors[] = {"none", "dropout", "variational"};

static scant_status check_bayes(scant_ctx *ctx, const char *name, const scant_net_opts *o,
                                nn_bayes *out) {
    char text[SHOWN];
    int at = 0;
    while (o->bayes && at < 3 && strcmp(o->bayes, posteriors[at]) != 0) at++;
    if (at == 3)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: bayes is none, dropout or variational, not '%s'", name,
                           shown(o->bayes, text));
    *out = (nn_bayes)at;
    if (o->samples && *out == NN_BAYES_NONE)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: samples needs a posterior: bayes=dropout or variational",
                           name);
    if (o->samples > 1 << 20)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: samples is at most 1048576", name);
    if (o->prior != 0 && *out != NN_BAYES_VARIATIONAL)
        return scant__fail(ctx, SCANT_EUSAGE, "%s: prior needs bayes=variational", name);
    if (o->prior != 0 && !(o->prior >= 1e-12 && o->prior <= 1e12))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: prior is %g, expected a variance within [1e-12, 1e12]",
                           name, o->prior);
    if (o->hidden > 1 << 20 || (o->hidden && o->no_hidden))
        return scant__fail(ctx, SCANT_EUSAGE, "%s: hidden is %s", name,
                           o->no_hidden ? "a width or none, not both"
                                        : "at most 1048576");
    return SCANT_OK;
}

static scant_status check_options(scant_ctx *ctx, const model *m,
                                  const scant_net_opts *o) {
    const char *name = m->info.name;
    TRY(check_word(ctx, m, NORM, "norm", o->norm, "batch", "folded", "none"));
    TRY(check_word(ctx, m, STEM, "stem", o->stem, "small", "original", NULL));
    TRY(check_word(ctx, m, HEAD, "head", o->head, "small", "full", NULL));
    if (o->width && !(m->info.options & WIDE))
        return scant__fail(ctx, SCANT_EUSAGE, "%s has no option width", name);
    if (o->depth && !(m->info.options & DEEP))
        return scant__fail(ctx, SCANT_EUSAGE, "%s has no option depth", name);
    if (o->width > 1 << 20 || o->depth > 100)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: width is at most 1048576, depth at most 100", name);
    if (!(o->dropout >= 0 && (float)o->dropout < 1)) /* layers store it as a float */
        return scant__fail(ctx, SCANT_EUSAGE, "%s: dropout is in [0, 1), not %.9g", name,
                           o->dropout);
    if (o->classes < 1 || o->classes > 1 << 20)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "%s: has %zu classes, expected 1 to 1048576", name,
                           o->classes);
    for (int i = 0; i < 3; i++)
        if (o->shape[i] < 1 || o->shape[i] > 1 << 24)
            return scant__fail(ctx, SCANT_EINPUT, "%s cannot take samples of %zux%zux%zu",
                               name, o->shape[0], o->shape[1], o->shape[2]);
    return SCANT_OK;
}

static scant_status build(scant_ctx *ctx, const model *m, const scant_net_opts *o,
                          nn_net **out) {
    nn_shape input = {o->shape[0], o->shape[1], o->shape[2]};
    nn_bayes bayes = NN_BAYES_NONE;
    TRY(check_bayes(ctx, m->info.name, o, &bayes));
    sketch s = {.opts = o, .input = input, .act = m->act, .slope = m->slope};
    s.folded = o->norm && strcmp(o->norm, "folded") == 0;
    s.plain = o->norm && strcmp(o->norm, "none") == 0;
    TRY(nn_net_create(ctx, m->info.name, input, &s.b.net));
    s.b.net->bayes = bayes;
    s.b.net->draws = bayes == NN_BAYES_NONE ? 1 : o->samples ? o->samples : 100;
    s.b.net->prior = o->prior > 0 ? o->prior : 1;
    s.b.net->draw_seed = o->draw_seed;
    s.b.status = o->activation ? pick_activation(&s, o->activation) : SCANT_OK;
    if (going(&s)) m->build(&s);
    scant_status status = nn_net_end(&s.b, s.features);
    if (status != SCANT_OK) {
        nn_net_destroy(s.b.net);
        return status;
    }
    *out = s.b.net;
    return SCANT_OK;
}

/* Refuses a sample size: the model's text and a size that works. */
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
        nn_net *net;
        square.shape[1] = square.shape[2] = side;
        scant_status status = build(ctx, m, &square, &net);
        if (status == SCANT_EINPUT) continue;
        if (status != SCANT_OK) return status;
        nn_net_destroy(net);
        if (side <= size_min(o->shape[1], o->shape[2]))
            break; /* too small is not the reason */
        return scant__fail(ctx, SCANT_EINPUT, "%s; %zux%zu would work", why, side, side);
    }
    return scant__fail(ctx, SCANT_EINPUT, "%s", why);
}

scant_status nn_model_build(scant_ctx *ctx, const char *name, const scant_net_opts *opts,
                            nn_net **out) {
    *out = NULL;
    const model *m = find(name);
    char text[SHOWN];
    if (!m)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "there is no model '%s'; `scant models` lists them",
                           shown(name, text));
    scant_net_opts o = opts ? *opts : (scant_net_opts){0};
    if (!o.shape[0] && !o.shape[1] && !o.shape[2])
        memcpy(o.shape, m->info.shape, sizeof o.shape);
    if (!o.classes) o.classes = m->info.classes;
    TRY(check_options(ctx, m, &o));
    scant_status status = build(ctx, m, &o, out);
    return status == SCANT_EINPUT ? refuse_size(ctx, m, &o) : status;
}

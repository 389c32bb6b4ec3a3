/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights in safetensors files. Other programs' files fit if names and shapes match; the
 * variant of the network (folded normalisation, stem, head) is found by trying which one
 * the file fits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "data/filetype.h"
#include "data/safetensors.h"
#include "nn/class_names.h"
#include "nn/models.h"
#include "nn/network.h"
#include "scant/train.h"

/* ---- writing ---- */

enum { META = 20, VALUE = 96 };

typedef struct meta {
    scant_setting items[META];
    char values[META][VALUE];
    size_t n;
} meta;

static void say(meta *m, const char *key, const char *value) {
    char *room = m->values[m->n];
    snprintf(room, VALUE, "%s", value);
    m->items[m->n++] = (scant_setting){key, room};
}

static void say_number(meta *m, const char *key, double value) {
    char text[SCANT__NUMBER];
    if (value != 0) say(m, key, scant__number_format(value, text));
}

/* One number per channel, printed to arena. Writing refuses lists too long for the file's
 * header. */
static scant_status say_numbers(meta *m, scant__arena *arena, const char *key,
                                const float *values, size_t n) {
    char number[SCANT__NUMBER];
    char *text = scant__arena_alloc(arena, n, SCANT__NUMBER), *at = text;
    if (!text) return SCANT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (i) *at++ = ',';
        size_t length = strlen(scant__number_format((double)values[i], number));
        memcpy(at, number, length + 1); /* a comma fits in place of the last zero */
        at += length;
    }
    m->items[m->n++] = (scant_setting){key, text};
    return SCANT_OK;
}

/* Writes every value explicitly, so that later defaults do not change it. */
static void describe_posterior(const nn_net *net, meta *m) {
    static const char *const words[] = {"none", "dropout", "variational"};
    char number[VALUE];
    snprintf(number, sizeof number, "%zu", net->hidden);
    if (net->hidden || net->bayes == NN_BAYES_VARIATIONAL) say(m, "scant.hidden", number);
    if (net->bayes == NN_BAYES_NONE) return;
    say(m, "scant.bayes", words[net->bayes]);
    say_number(m, "scant.samples", (double)net->draws);
    snprintf(number, sizeof number, "%llu", (unsigned long long)net->draw_seed);
    say(m, "scant.draw_seed", number);
    if (net->bayes == NN_BAYES_VARIATIONAL) say_number(m, "scant.prior", net->prior);
}

static scant_status describe(const scant_net *n, scant__arena *arena, meta *m) {
    nn_shape s = nn_net_input(n->net);
    char shape[VALUE];
    snprintf(shape, sizeof shape, "%zu,%zu,%zu", s.c, s.h, s.w);
    say(m, "scant.model", n->net->model);
    say(m, "scant.shape", shape);
    say_number(m, "scant.classes", (double)n->net->classes);
    say_number(m, "scant.width", (double)n->opts.width);
    say_number(m, "scant.depth", (double)n->opts.depth);
    double rate = n->opts.dropout;
    if (rate == 0 && n->net->bayes == NN_BAYES_DROPOUT)
        rate = (double)n->net->nodes[n->net->features].rate;
    say_number(m, "scant.dropout", rate);
    if (n->opts.activation) say(m, "scant.activation", n->opts.activation);
    describe_posterior(n->net, m);
    const char *names;
    TRY(nn_class_names_text(n, arena, &names));
    if (names) m->items[m->n++] = (scant_setting){"scant.class_names", names};
    if (!n->mean) return SCANT_OK;
    TRY(say_numbers(m, arena, "scant.mean", n->mean, s.c));
    return say_numbers(m, arena, "scant.deviation", n->deviation, s.c);
}

scant_status scant_net_save(scant_net *n, const char *path) {
    const nn_net *net = n->net;
    scant__arena arena;
    scant__arena_init(&arena, n->ctx);
    float *plain = scant__arena_alloc(&arena, net->n_floats, sizeof *plain);
    scant__tensor *items = scant__arena_zalloc(&arena, net->n_params, sizeof *items);
    meta *m = scant__arena_zalloc(&arena, 1, sizeof *m);
    scant_status s =
        plain && items && m ? nn_weights_get(n->weights, plain) : SCANT_ENOMEM;
    if (s == SCANT_OK) s = describe(n, &arena, m);
    if (s == SCANT_OK) {
        for (size_t i = 0; i < net->n_params; i++) {
            const nn_param *p = &net->params[i];
            items[i] = (scant__tensor){.name = p->name,
                                       .dtype = SCANT_F32,
                                       .ndim = p->ndim,
                                       .count = p->count,
                                       .bytes = (unsigned char *)(plain + p->offset)};
            memcpy(items[i].shape, p->dims, p->ndim * sizeof *p->dims);
        }
        s = scant__tensors_write(n->ctx, path, items, net->n_params, m->items, m->n);
    }
    scant__arena_end(&arena);
    return s;
}

/* ---- differences ---- */

enum { DIFFERENCES = 6 }; /* listed at most */

typedef struct differences {
    char text[SCANT__ERR_SIZE / 2];
    size_t at, n;
} differences;

static void differ(differences *d, const char *fmt, ...) SCANT__PRINTF(2, 3);

static void differ(differences *d, const char *fmt, ...) {
    va_list args;
    if (d->n++ >= DIFFERENCES || d->at + 2 >= sizeof d->text) return;
    va_start(args, fmt);
    int n = vsnprintf(d->text + d->at, sizeof d->text - d->at, fmt, args);
    va_end(args);
    d->at = size_min(d->at + (n > 0 ? (size_t)n : 0), sizeof d->text - 1);
}

static void shape_text(char *out, size_t size, size_t ndim, const size_t *dims) {
    size_t at = 0;
    *out = 0;
    for (size_t i = 0; i < ndim && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%zu", i ? "x" : "", dims[i]);
}

static bool same_shape(const nn_param *p, const scant__tensor *t) {
    return p->ndim == t->ndim &&
           memcmp(p->dims, t->shape, p->ndim * sizeof *p->dims) == 0;
}

static bool holds_floats(const scant__tensor *t) {
    return t->dtype == SCANT_F16 || t->dtype == SCANT_F32 || t->dtype == SCANT_F64 ||
           (int)t->dtype == SCANT__BF16;
}

static bool ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* Whether a tensor's name belongs to a node. */
static bool is_of(const char *name, const nn_node *node) {
    size_t length = strlen(node->name);
    return strncmp(name, node->name, length) == 0 && name[length] == '.';
}

/* The last layer, and the one that opts.hidden adds before it. */
static bool of_head(const char *name, const nn_net *net) {
    return is_of(name, &net->nodes[net->head]) || strncmp(name, "hidden.", 7) == 0;
}

/* any_head: does not compare the head's parameters. */
static void compare(const nn_net *net, const scant__tensors *file, bool any_head,
                    differences *d) {
    char has[64], wants[64], shown[61];
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        if (any_head && of_head(p->name, net)) continue;
        const scant__tensor *t = scant__tensors_find(file, p->name);
        if (!t) {
            differ(d, "; %s is missing", p->name);
        } else if (!holds_floats(t)) {
            differ(d, "; %s has %s, not floats", p->name,
                   scant__tensor_dtype_name(t->dtype));
        } else if (!same_shape(p, t)) {
            shape_text(has, sizeof has, t->ndim, t->shape);
            shape_text(wants, sizeof wants, p->ndim, p->dims);
            differ(d, "; %s is %s, not %s", p->name, has, wants);
        }
    }
    for (size_t i = 0; i < scant__tensors_count(file); i++) {
        const char *name = scant__tensors_get(file, i)->name;
        bool counter = ends_with(name, "num_batches_tracked"); /* torch counts batches */
        bool free = any_head && of_head(name, net);
        if (!counter && !free && !nn_net_find(net, name))
            differ(d, "; %s is not in the network",
                   scant__printable((const unsigned char *)name, strlen(name), shown,
                                    sizeof shown));
    }
}

static scant_status refuse(scant_ctx *ctx, const char *path, const char *model,
                           const differences *d) {
    char more[48] = "";
    if (d->n > DIFFERENCES)
        snprintf(more, sizeof more, "; and %zu more", d->n - DIFFERENCES);
    return scant__fail(ctx, SCANT_EINPUT, "%s does not fit %s: %s%s", path, model,
                       d->text + 2, more); /* skips the first "; " */
}

/* ---- reading ---- */

/* Whether the file's last layer fits the network's, weights included. */
static bool last_fits(const nn_net *net, const scant__tensors *file) {
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        if (p->node != net->head) continue;
        const scant__tensor *t = scant__tensors_find(file, p->name);
        if (!t || !holds_floats(t) || !same_shape(p, t)) return false;
    }
    return true;
}

static scant_status take(scant_net *n, const char *path, const scant__tensors *file,
                         float *plain) {
    bool last = last_fits(n->net, file);
    for (size_t i = 0; i < n->net->n_params; i++) {
        const nn_param *p = &n->net->params[i];
        const scant__tensor *t = scant__tensors_find(file, p->name);
        if (!t || !holds_floats(t) || !same_shape(p, t) ||
            (!last && p->node >= n->net->head))
            continue; /* an allowed difference of the head */
        float *w = plain + p->offset;
        scant__tensor_floats(t, w);
        for (size_t k = 0; k < p->count; k++)
            if (!isfinite(w[k]) || (p->role == NN_VAR && w[k] < 0))
                return scant__fail(n->ctx, SCANT_EINPUT,
                                   "%s: %s has %g at %zu, which is not a valid weight",
                                   path, p->name, (double)w[k], k);
    }
    return SCANT_OK;
}

/* "0.1,0.2": true if there are n numbers. */
static bool read_numbers(const char *text, float *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char number[SCANT__NUMBER];
        double value;
        size_t length = strcspn(text, ",");
        if (length >= sizeof number || (text[length] == ',') != (i + 1 < n)) return false;
        memcpy(number, text, length);
        number[length] = 0;
        if (!scant__number_parse(number, &value)) return false;
        out[i] = (float)value;
        text += length + 1;
    }
    return true;
}

/* Input scaling read from a file. */
typedef struct scaling {
    bool known;              /* the file states it, or states that there is none */
    float *mean, *deviation; /* new; NULL: none */
} scaling;

static void scaling_free(scant_ctx *ctx, scaling *s) {
    scant__free(ctx, s->mean);
    scant__free(ctx, s->deviation);
}

static void swap_floats(float **a, float **b) {
    float *swap = *a;
    *a = *b;
    *b = swap;
}

/* The usual scaling for photographs. */
static void usual_scaling(scaling *s) {
    static const float mean[] = {.485f, .456f, .406f},
                       deviation[] = {.229f, .224f, .225f};
    memcpy(s->mean, mean, sizeof mean);
    memcpy(s->deviation, deviation, sizeof deviation);
}

/* The file's scaling, or the usual one for photographs in another program's file. Call
 * scaling_free() also on failure. */
static scant_status read_scaling(const scant_net *n, const char *path,
                                 const scant__tensors *file, scaling *out) {
    const char *m = scant__tensors_meta(file, "scant.mean");
    const char *d = scant__tensors_meta(file, "scant.deviation");
    nn_shape shape = nn_net_input(n->net);
    bool photographs = shape.c == 3 && (shape.h > 1 || shape.w > 1);
    bool ours = scant__tensors_meta(file, "scant.model") != NULL, told = m || d;
    *out = (scaling){.known = ours || told || photographs};
    if (!told && (ours || !photographs)) return SCANT_OK;
    out->mean = scant__alloc(n->ctx, shape.c, sizeof *out->mean);
    out->deviation = scant__alloc(n->ctx, shape.c, sizeof *out->deviation);
    if (!out->mean || !out->deviation) return SCANT_ENOMEM;
    if (!told)
        usual_scaling(out);
    else if (!m || !d || !read_numbers(m, out->mean, shape.c) ||
             !read_numbers(d, out->deviation, shape.c))
        return scant__fail(n->ctx, SCANT_EINPUT,
                           "%s: scant.mean and scant.deviation are not %zu numbers each, "
                           "one per channel",
                           path, shape.c);
    return nn_network_check_scaling(n, out->mean, out->deviation);
}

/* The file's class names, if its last layer is the network's. Nothing to free on failure.
 * */
static scant_status read_class_names(const scant_net *n, const char *path,
                                     const scant__tensors *file, scant__names *out) {
    const char *text = scant__tensors_meta(file, "scant.class_names");
    *out = (scant__names){0};
    if (!text) return SCANT_OK;
    if (!last_fits(n->net, file)) return SCANT_OK;
    return nn_class_names_read(n->ctx, path, text, n->net->classes, out);
}

/* Reads and checks everything before changing the network. */
static scant_status load(scant_net *n, const char *path, const scant__tensors *file,
                         bool any_head) {
    differences d = {.n = 0};
    compare(n->net, file, any_head, &d);
    if (d.n) return refuse(n->ctx, path, n->net->model, &d);
    float *plain = scant__alloc(n->ctx, n->net->n_floats, sizeof *plain);
    if (!plain) return SCANT_ENOMEM;
    scaling scale = {.known = false};
    scant__names names = {0};
    scant_status s = nn_weights_get(n->weights, plain);
    if (s == SCANT_OK) s = take(n, path, file, plain);
    if (s == SCANT_OK) s = read_scaling(n, path, file, &scale);
    if (s == SCANT_OK) s = read_class_names(n, path, file, &names);
    if (s == SCANT_OK) s = nn_weights_set(n->weights, plain);
    if (s == SCANT_OK) {
        scant__names old = n->class_names;
        n->class_names = names;
        names = old;
    }
    if (s == SCANT_OK && scale.known) {
        swap_floats(&n->mean, &scale.mean);
        swap_floats(&n->deviation, &scale.deviation);
    }
    scaling_free(n->ctx, &scale);
    scant__names_end(n->ctx, &names);
    scant__free(n->ctx, plain);
    return s;
}

/* Turns errors about a file into SCANT_EINPUT with the path. */
static scant_status blame_file(scant_ctx *ctx, const char *path, scant_status s) {
    char text[SCANT__ERR_SIZE];
    bool fault = s == SCANT_EUSAGE || s == SCANT_EINPUT;
    snprintf(text, sizeof text, "%s", scant_ctx_errmsg(ctx));
    if (!fault || strncmp(text, path, strlen(path)) == 0) return s;
    return scant__fail(ctx, SCANT_EINPUT, "%s: %s", path, text);
}

scant_status scant_net_load(scant_net *n, const char *path, int any_head) {
    scant__tensors *file;
    TRY(scant__tensors_open(n->ctx, path, &file));
    scant_status s = blame_file(n->ctx, path, load(n, path, file, any_head != 0));
    scant__tensors_close(file);
    return s;
}

/* ---- finding the network of a file ---- */

static size_t meta_size(const scant__tensors *file, const char *key, size_t otherwise) {
    const char *text = scant__tensors_meta(file, key);
    double value;
    if (!text || !scant__number_parse(text, &value)) return otherwise;
    return value >= 1 && value < 1e9 ? (size_t)value : otherwise;
}

static uint64_t meta_seed(const scant__tensors *file, const char *key) {
    const char *text = scant__tensors_meta(file, key);
    uint64_t value = 0;
    for (; text && *text >= '0' && *text <= '9'; text++)
        value = 10 * value + (uint64_t)(*text - '0');
    return value;
}

/* The posterior stated by the file. Draws and prior of another kind are ignored. */
static void complete_posterior(const scant__tensors *file, scant_net_opts *o) {
    const char *bayes = scant__tensors_meta(file, "scant.bayes");
    const char *hidden = scant__tensors_meta(file, "scant.hidden");
    const char *prior = scant__tensors_meta(file, "scant.prior");
    double variance;
    if (!o->hidden && !o->no_hidden && hidden) {
        o->hidden = meta_size(file, "scant.hidden", 0);
        o->no_hidden = !o->hidden;
    }
    if (!bayes || strcmp(bayes, "none") == 0) return;
    if (!o->bayes) o->bayes = bayes;
    if (strcmp(o->bayes, bayes) != 0) return;
    if (!o->samples) o->samples = meta_size(file, "scant.samples", 0);
    if (!o->draw_seed) o->draw_seed = meta_seed(file, "scant.draw_seed");
    if (o->prior == 0 && prior && scant__number_parse(prior, &variance))
        o->prior = variance;
}

/* Completes opts from the file's metadata; strings point into the file. Metadata of
 * another model is ignored. */
static scant_net_opts complete_opts(const scant__tensors *file, const char *model,
                                    const scant_net_opts *given) {
    scant_net_opts o = given ? *given : (scant_net_opts){0};
    const char *written = scant__tensors_meta(file, "scant.model");
    if (model && written && strcmp(model, written) != 0) return o;
    const char *shape = scant__tensors_meta(file, "scant.shape");
    const char *dropout = scant__tensors_meta(file, "scant.dropout");
    float sides[3];
    if (!o.shape[0] && shape && read_numbers(shape, sides, 3))
        for (int i = 0; i < 3; i++)
            o.shape[i] = sides[i] >= 1 && sides[i] < 1e9f ? (size_t)sides[i] : 1;
    if (!o.width) o.width = meta_size(file, "scant.width", 0);
    if (!o.depth) o.depth = meta_size(file, "scant.depth", 0);
    if (!o.activation) o.activation = scant__tensors_meta(file, "scant.activation");
    double rate;
    if (o.dropout == 0 && dropout && scant__number_parse(dropout, &rate) && rate < 1)
        o.dropout = fmax(rate, 0);
    complete_posterior(file, &o);
    return o;
}

/* The number of classes: rows of the last layer's weights. */
static scant_status count_classes(scant_ctx *ctx, const char *model,
                                  const scant__tensors *file, scant_net_opts *o) {
    nn_net *net;
    TRY(nn_model_build(ctx, model, o, &net));
    char name[NN_NAME + 16];
    snprintf(name, sizeof name, "%s.weight", net->nodes[net->head].name);
    const scant__tensor *t = scant__tensors_find(file, name);
    if (t && t->ndim == 2 && t->shape[0]) o->classes = t->shape[0];
    nn_net_destroy(net);
    return SCANT_OK;
}

/* Tries one variant and keeps it in *best if it has fewer differences. Fails if it cannot
 * be built. */
static scant_status try_variant(scant_ctx *ctx, const char *model,
                                const scant__tensors *file, bool any_head,
                                scant_net_opts o, scant_net_opts *best,
                                differences *least) {
    nn_net *net;
    if (!any_head) TRY(count_classes(ctx, model, file, &o));
    TRY(nn_model_build(ctx, model, &o, &net));
    differences d = {.n = 0};
    compare(net, file, any_head, &d);
    nn_net_destroy(net);
    if (d.n >= least->n) return SCANT_OK;
    *least = d;
    *best = o;
    return SCANT_OK;
}

static scant_status find_variant(scant_ctx *ctx, const char *path, const char *model,
                                 const scant__tensors *file, bool any_head,
                                 scant_net_opts *o) {
    static const char *const norms[] = {NULL, "folded", "none"};
    static const char *const stems[] = {NULL, "small", "original"};
    static const char *const heads[] = {NULL, "full"};
    differences least = {.n = SIZE_MAX};
    scant_net_opts best = *o;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) {
                scant_net_opts variant = *o;
                if (!o->norm) variant.norm = norms[i];
                if (!o->stem) variant.stem = stems[j];
                if (!o->head) variant.head = heads[k];
                scant_status s =
                    try_variant(ctx, model, file, any_head, variant, &best, &least);
                if (s == SCANT_ENOMEM) return s; /* not the file's fault */
            }
    if (least.n == SIZE_MAX) /* none could be built: report the plain one's error */
        return try_variant(ctx, model, file, any_head, *o, &best, &least);
    if (least.n) return refuse(ctx, path, model, &least);
    *o = best;
    return SCANT_OK;
}

/* Warns that another program's file does not state its scaling. */
static void warn_scaling(const scant_net *n, const char *path, bool train) {
    nn_shape s = nn_net_input(n->net);
    if (s.h * s.w > 1 && (s.c == 3 || !train)) /* otherwise training measures its data */
        scant__warn(n->ctx, "%s: does not say how images were scaled: %s", path,
                    s.c == 3 ? "ImageNet's mean and deviation are assumed"
                             : "values from 0 to 1 without scaling are assumed");
}

/* Checks the call itself, so that later failures are the file's fault. */
static scant_status check_call(scant_ctx *ctx, const char *path, const char *model,
                               const char *written, const scant_net_opts *opts) {
    nn_net *net;
    if (!model && !written)
        return scant__fail(
            ctx, SCANT_EUSAGE,
            "%s does not name its model: choose one (`scant models` lists them)", path);
    if (!model) {
        scant_status s = nn_model_build(ctx, written, NULL, &net);
        if (s != SCANT_OK) return blame_file(ctx, path, s);
        nn_net_destroy(net);
        model = written;
    }
    scant_net_opts o = opts ? *opts : (scant_net_opts){0};
    if (!o.bayes) o.samples = 0, o.prior = 0; /* the file states their kind */
    TRY(nn_model_build(ctx, model, &o, &net));
    nn_net_destroy(net);
    return SCANT_OK;
}

/* Warns if a network trained without dropout is to draw by dropout. */
static void warn_dropout(const scant_net *n, const char *path, const scant__tensors *file,
                         const scant_net_opts *o) {
    scant_net_opts plain = *o;
    nn_net *net;
    bool known =
        scant__tensors_meta(file, "scant.model"); /* unknown for other programs' files */
    if (n->net->bayes != NN_BAYES_DROPOUT || o->dropout != 0 || !known) return;
    plain.bayes = NULL;
    plain.samples = 0;
    if (nn_model_build(n->ctx, n->net->model, &plain, &net) != SCANT_OK) return;
    if (net->nodes[net->features].rate == 0) /* some models always have dropout */
        scant__warn(n->ctx,
                    "%s: was trained without dropout; its posterior draws drop features "
                    "with probability 0.5, which it was not trained for",
                    path);
    nn_net_destroy(net);
}

static scant_status open_file(scant_ctx *ctx, const char *path, const char *model,
                              const scant_net_opts *opts, bool any_head,
                              scant_net **out) {
    *out = NULL;
    scant__tensors *file;
    TRY(scant__tensors_open(ctx, path, &file));
    const char *written = scant__tensors_meta(file, "scant.model");
    scant_net_opts o = complete_opts(file, model, opts);
    const char *drawn = scant__tensors_meta(file, "scant.bayes");
    bool by_dropout = drawn && o.bayes && strcmp(drawn, "dropout") == 0 &&
                      strcmp(o.bayes, "dropout") == 0;
    if (any_head && !by_dropout)
        o.dropout = opts ? opts->dropout
                         : 0; /* a training option, not a property of the weights */
    scant_status s = check_call(ctx, path, model, written, opts);
    bool right = s == SCANT_OK;
    if (!model) model = written;
    if (s == SCANT_OK) s = find_variant(ctx, path, model, file, any_head, &o);
    if (s == SCANT_OK) s = scant_net_create(ctx, model, &o, out);
    if (s == SCANT_OK) s = load(*out, path, file, any_head);
    if (s == SCANT_OK && !any_head) warn_dropout(*out, path, file, &o);
    if (s != SCANT_OK && right) s = blame_file(ctx, path, s);
    if (s == SCANT_OK && !written && !scant__tensors_meta(file, "scant.mean"))
        warn_scaling(*out, path, any_head);
    if (s != SCANT_OK) {
        scant_net_free(*out);
        *out = NULL;
    }
    scant__tensors_close(file);
    return s;
}

scant_status scant_net_open(scant_ctx *ctx, const char *path, const char *model,
                            const scant_net_opts *opts, scant_net **out) {
    return open_file(ctx, path, model, opts, false, out);
}

scant_status scant_net_start(scant_ctx *ctx, const char *path, const char *model,
                             const scant_net_opts *opts, scant_net **out) {
    return open_file(ctx, path, model, opts, true, out);
}

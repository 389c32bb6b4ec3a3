/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights in safetensors files. Other programs' files fit if names and shapes match. The
 * variant of the network (folded normalisation, stem, head) is found by comparing the
 * file with each variant.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "data/safetensors.h"
#include "data/source.h"
#include "nn/network.h"

/* ---- writing ---- */

typedef struct meta {
    scant__arena arena; /* owns the values */
    scant_setting items[20];
    size_t n;
} meta;

/* Adds an entry. value NULL: the caller's allocation failed. */
static scant_status add_meta(meta *m, const char *key, const char *value) {
    if (!value) return SCANT_ENOMEM;
    m->items[m->n++] = (scant_setting){key, value};
    return SCANT_OK;
}

static scant_status add_meta_number(meta *m, const char *key, double value) {
    if (value == 0) return SCANT_OK;
    char *text = TRY_NEW(&m->arena, char, SCANT__NUMBER);
    return add_meta(m, key, scant__number_format(value, text));
}

/* Adds a list of numbers. The writer refuses lists too long for the file's header. */
static scant_status add_meta_numbers(meta *m, const char *key, const float *values,
                                     size_t n) {
    char number[SCANT__NUMBER];
    char *text = TRY_NEW(&m->arena, char, size_mul(n, SCANT__NUMBER)), *at = text;
    for (size_t i = 0; i < n; i++) {
        if (i) *at++ = ',';
        size_t length = strlen(scant__number_format((double)values[i], number));
        memcpy(at, number, length + 1); /* the next comma replaces the final 0 */
        at += length;
    }
    return add_meta(m, key, text);
}

/* Writes every value explicitly: defaults may change in later versions. */
static scant_status describe_posterior(const nn_net *net, meta *m) {
    static const char *const words[] = {"none", "dropout", "variational"};
    if (net->hidden || net->bayes == NN_BAYES_VARIATIONAL)
        TRY(add_meta(m, "scant.hidden",
                     scant__arena_format(&m->arena, "%zu", net->hidden)));
    if (net->bayes == NN_BAYES_NONE) return SCANT_OK;
    TRY(add_meta(m, "scant.bayes", words[net->bayes]));
    TRY(add_meta_number(m, "scant.samples", (double)net->draws));
    TRY(add_meta(
        m, "scant.draw_seed",
        scant__arena_format(&m->arena, "%llu", (unsigned long long)net->draw_seed)));
    return net->bayes == NN_BAYES_VARIATIONAL
               ? add_meta_number(m, "scant.prior", net->prior)
               : SCANT_OK;
}

static scant_status describe(const scant_net *n, meta *m) {
    nn_shape s = nn_net_input(n->net);
    TRY(add_meta(m, "scant.model", n->net->model));
    TRY(add_meta(m, "scant.shape",
                 scant__arena_format(&m->arena, "%zu,%zu,%zu", s.c, s.h, s.w)));
    TRY(add_meta_number(m, "scant.classes", (double)n->net->classes));
    TRY(add_meta_number(m, "scant.width", (double)n->opts.width));
    TRY(add_meta_number(m, "scant.depth", (double)n->opts.depth));
    double rate = n->opts.dropout;
    if (rate == 0 && n->net->bayes == NN_BAYES_DROPOUT)
        rate = (double)n->net->nodes[n->net->features].rate;
    TRY(add_meta_number(m, "scant.dropout", rate));
    if (n->opts.init) TRY(add_meta(m, "scant.init", n->opts.init));
    if (!n->trained) TRY(add_meta(m, "scant.initial", "yes"));
    if (n->opts.activation) TRY(add_meta(m, "scant.activation", n->opts.activation));
    TRY(describe_posterior(n->net, m));
    const char *names;
    TRY(nn_class_names_text(n, &m->arena, &names));
    if (names) TRY(add_meta(m, "scant.class_names", names));
    if (!n->scaled) return SCANT_OK;
    TRY(add_meta_numbers(m, "scant.mean", n->mean, s.c));
    return add_meta_numbers(m, "scant.deviation", n->deviation, s.c);
}

static void end_meta(meta *m) { scant__arena_end(&m->arena); }

scant_status scant_net_save(scant_net *n, const char *path) {
    NEED(n);
    const nn_net *net = n->net;
    AUTO(end_meta) meta m = {.arena = {.ctx = n->ctx}};
    float *plain = TRY_NEW(&m.arena, float, net->n_floats);
    scant__tensor *items = TRY_ZERO(&m.arena, scant__tensor, net->n_params);
    TRY(nn_weights_get(n->weights, plain));
    TRY(describe(n, &m));
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        items[i] = (scant__tensor){.name = p->name,
                                   .dtype = SCANT_F32,
                                   .ndim = p->ndim,
                                   .count = p->count,
                                   .bytes = (unsigned char *)(plain + p->offset)};
        memcpy(items[i].shape, p->dims, p->ndim * sizeof *p->dims);
    }
    return scant__tensors_write(n->ctx, path, items, net->n_params, m.items, m.n);
}

/* ---- differences between file and network ---- */

enum { DIFFERENCES = 6 }; /* maximum number listed */

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
static bool is_param_of(const char *name, const nn_node *node) {
    size_t length = strlen(node->name);
    return strncmp(name, node->name, length) == 0 && name[length] == '.';
}

/* Whether a tensor belongs to the last layer or the one that opts.hidden adds. */
static bool is_in_head(const char *name, const nn_net *net) {
    return is_param_of(name, &net->nodes[net->head]) || strncmp(name, "hidden.", 7) == 0;
}

/* Lists tensors that are missing, surplus or of another type or shape; with any_head,
 * those of the head are not compared. */
static void compare(const nn_net *net, const scant__tensors *file, bool any_head,
                    differences *d) {
    char has[64], wants[64], shown[61];
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        if (any_head && is_in_head(p->name, net)) continue;
        const scant__tensor *t = scant__tensors_find(file, p->name);
        if (!t) {
            differ(d, "; %s is missing", p->name);
        } else if (!holds_floats(t)) {
            differ(d, "; %s has %s, not floats", p->name,
                   scant__tensor_dtype_name(t->dtype));
        } else if (!same_shape(p, t)) {
            scant__shape_format(t->shape, t->ndim, has, sizeof has);
            scant__shape_format(p->dims, p->ndim, wants, sizeof wants);
            differ(d, "; %s is %s, not %s", p->name, has, wants);
        }
    }
    for (size_t i = 0; i < scant__tensors_count(file); i++) {
        const char *name = scant__tensors_get(file, i)->name;
        bool counter = ends_with(name, "num_batches_tracked"); /* torch counts batches */
        bool free = any_head && is_in_head(name, net);
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

/* The file's tensor for a parameter; NULL: none, or it does not fit. */
static const scant__tensor *find_fitting(const scant__tensors *file, const nn_param *p) {
    const scant__tensor *t = scant__tensors_find(file, p->name);
    return t && holds_floats(t) && same_shape(p, t) ? t : NULL;
}

/* Whether all tensors of the network's last layer are in the file and fit. */
static bool last_fits(const nn_net *net, const scant__tensors *file) {
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        if (p->node == net->head && !find_fitting(file, p)) return false;
    }
    return true;
}

static scant_status take(scant_net *n, const char *path, const scant__tensors *file,
                         float *plain) {
    bool last = last_fits(n->net, file);
    for (size_t i = 0; i < n->net->n_params; i++) {
        const nn_param *p = &n->net->params[i];
        const scant__tensor *t = find_fitting(file, p);
        if (!t || (!last && p->node >= n->net->head))
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

/* Reads n numbers separated by commas, "0.1,0.2". False: malformed. */
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

/* Sets mean (followed by the deviations) and *scaled from the file. If another program's
 * file has no scaling, photographs get the usual one; for other input, *known becomes
 * false. */
static scant_status read_scaling(const scant_net *n, const char *path,
                                 const scant__tensors *file, float *mean, bool *known,
                                 bool *scaled) {
    static const float photographs[] = {.485f, .456f, .406f, .229f, .224f, .225f};
    const char *m = scant__tensors_meta(file, "scant.mean");
    const char *d = scant__tensors_meta(file, "scant.deviation");
    nn_shape shape = nn_net_input(n->net);
    bool usual = shape.c == 3 && (shape.h > 1 || shape.w > 1);
    bool ours = scant__tensors_meta(file, "scant.model") != NULL, has_own = m || d;
    *known = ours || has_own || usual;
    *scaled = has_own || (usual && !ours);
    if (!*scaled) return SCANT_OK;
    if (!has_own)
        memcpy(mean, photographs, sizeof photographs);
    else if (!m || !d || !read_numbers(m, mean, shape.c) ||
             !read_numbers(d, mean + shape.c, shape.c))
        return scant__fail(n->ctx, SCANT_EINPUT,
                           "%s: scant.mean and scant.deviation are not %zu numbers each, "
                           "one per channel",
                           path, shape.c);
    return nn_network_check_scaling(n, mean, mean + shape.c);
}

/* Reads and checks everything before changing the network. */
static scant_status load(scant_net *n, const char *path, const scant__tensors *file,
                         bool any_head) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = n->ctx};
    size_t channels = nn_net_input(n->net).c;
    const char *text = scant__tensors_meta(file, "scant.class_names");
    differences d = {.n = 0};
    AUTO(scant__names_end) scant__names names = {0};
    bool known, scaled;
    compare(n->net, file, any_head, &d);
    if (d.n) return refuse(n->ctx, path, n->net->model, &d);
    float *plain = TRY_NEW(&arena, float, n->net->n_floats);
    float *mean = TRY_NEW(&arena, float, 2 * channels);
    TRY(nn_weights_get(n->weights, plain));
    TRY(take(n, path, file, plain));
    TRY(read_scaling(n, path, file, mean, &known, &scaled));
    if (text && last_fits(n->net, file)) /* else the names are another head's */
        TRY(nn_class_names_read(n->ctx, path, text, n->net->classes, &names));
    TRY(nn_weights_set(n->weights, plain));
    scant__names old = n->class_names;
    n->class_names = names;
    names = old; /* freed now */
    n->trained = !scant__tensors_meta(file, "scant.initial");
    if (known) n->scaled = scaled;
    if (scaled) memcpy(n->mean, mean, 2 * channels * sizeof *mean);
    return SCANT_OK;
}

/* Turns SCANT_EUSAGE and SCANT_EINPUT into SCANT_EINPUT with the path in the message. */
static scant_status prefix_path(scant_ctx *ctx, const char *path, scant_status s) {
    char text[SCANT__ERR_SIZE];
    bool fault = s == SCANT_EUSAGE || s == SCANT_EINPUT;
    snprintf(text, sizeof text, "%s", scant_ctx_errmsg(ctx));
    if (!fault || strncmp(text, path, strlen(path)) == 0) return s;
    return scant__fail(ctx, SCANT_EINPUT, "%s: %s", path, text);
}

scant_status scant_net_load(scant_net *n, const char *path, bool any_head) {
    NEED(n);
    AUTO(scant__tensors_auto) scant__tensors *file = NULL;
    TRY(scant__tensors_open(n->ctx, path, &file));
    return prefix_path(n->ctx, path, load(n, path, file, any_head));
}

/* ---- finding the network of a file ---- */

static scant_status refuse_meta(scant_ctx *ctx, const char *path, const char *name,
                                const char *text, const char *expected) {
    char shown[80];
    scant__printable(text, strlen(text), shown, sizeof shown);
    return scant__fail(ctx, SCANT_EINPUT, "%s: %s is %s, expected %s", path, name, shown,
                       expected);
}

/* Takes an option from the file's metadata if it is not given ("" or 0). Strings point
 * into the file. */
static scant_status complete(scant_ctx *ctx, const char *path, const scant__tensors *file,
                             scant_net_opts *o, const char *key) {
    size_t count;
    const scant_option *rows = scant_model_options(&count);
    const scant_option *row = scant__option_find(rows, count, key);
    char name[32], room[SCANT__NUMBER], expected[SCANT__EXPECTED];
    snprintf(name, sizeof name, "scant.%s", key);
    const char *given = scant__option_text(row, o, room);
    const char *text = scant__tensors_meta(file, name);
    scant__value value = {0};
    if (!text || strcmp(text, "0") == 0) return SCANT_OK;
    if (*given && strcmp(given, "0") != 0) return SCANT_OK;
    if (!scant__option_read(row, text, &value))
        return refuse_meta(ctx, path, name, text,
                           scant__option_expected(row, NULL, expected));
    scant__option_store(row, text, &value, o);
    return SCANT_OK;
}

/* Completes o with the file's posterior. Draws and prior of another kind are ignored. */
static scant_status complete_posterior(scant_ctx *ctx, const char *path,
                                       const scant__tensors *file, scant_net_opts *o) {
    const char *bayes = scant__tensors_meta(file, "scant.bayes");
    const char *seed = scant__tensors_meta(file, "scant.draw_seed");
    if (!o->hidden && !o->no_hidden && scant__tensors_meta(file, "scant.hidden")) {
        TRY(complete(ctx, path, file, o, "hidden"));
        o->no_hidden = !o->hidden;
    }
    if (!bayes || strcmp(bayes, "none") == 0) return SCANT_OK;
    TRY(complete(ctx, path, file, o, "bayes"));
    if (strcmp(o->bayes, bayes) != 0) return SCANT_OK;
    TRY(complete(ctx, path, file, o, "samples"));
    TRY(complete(ctx, path, file, o, "prior"));
    if (!o->draw_seed && seed && !scant__uint_read(seed, &o->draw_seed))
        return refuse_meta(ctx, path, "scant.draw_seed", seed, "a whole number");
    return SCANT_OK;
}

/* Completes o from the file's metadata. Metadata of another model is ignored. */
static scant_status complete_opts(scant_ctx *ctx, const char *path,
                                  const scant__tensors *file, const char *model,
                                  scant_net_opts *o) {
    static const char *const keys[] = {"width", "depth", "activation", "init", "dropout"};
    const char *written = scant__tensors_meta(file, "scant.model");
    if (model && written && strcmp(model, written) != 0) return SCANT_OK;
    const char *shape = scant__tensors_meta(file, "scant.shape");
    float sides[3];
    if (!o->shape[0] && shape && read_numbers(shape, sides, 3))
        for (int i = 0; i < 3; i++)
            o->shape[i] = sides[i] >= 1 && sides[i] < 1e9f ? (size_t)sides[i] : 1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        TRY(complete(ctx, path, file, o, keys[i]));
    return complete_posterior(ctx, path, file, o);
}

/* Sets the number of classes: rows of the last layer's weights. */
static scant_status count_classes(scant_ctx *ctx, const char *model,
                                  const scant__tensors *file, scant_net_opts *o) {
    AUTO(nn_net_auto) nn_net *net = NULL;
    TRY(nn_model_build(ctx, model, o, &net));
    char name[NN_NAME + 16];
    snprintf(name, sizeof name, "%s.weight", net->nodes[net->head].name);
    const scant__tensor *t = scant__tensors_find(file, name);
    if (t && t->ndim == 2 && t->shape[0]) o->classes = t->shape[0];
    return SCANT_OK;
}

/* Tries one variant and keeps it in *best if it has fewer differences. Fails if it cannot
 * be built. */
static scant_status try_variant(scant_ctx *ctx, const char *model,
                                const scant__tensors *file, bool any_head,
                                scant_net_opts o, scant_net_opts *best,
                                differences *least) {
    AUTO(nn_net_auto) nn_net *net = NULL;
    if (!any_head) TRY(count_classes(ctx, model, file, &o));
    TRY(nn_model_build(ctx, model, &o, &net));
    differences d = {.n = 0};
    compare(net, file, any_head, &d);
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
    if (least.n == SIZE_MAX) /* none could be built: report the first error */
        return try_variant(ctx, model, file, any_head, *o, &best, &least);
    if (least.n) return refuse(ctx, path, model, &least);
    *o = best;
    return SCANT_OK;
}

/* Warns that another program's file does not state its scaling. */
static void warn_scaling(const scant_net *n, const char *path, bool train) {
    nn_shape s = nn_net_input(n->net);
    if (s.h * s.w > 1 && (s.c == 3 || !train)) /* else training fits the scaling */
        scant__warn(n->ctx, "%s: does not say how images were scaled: %s", path,
                    s.c == 3 ? "ImageNet's mean and deviation are assumed"
                             : "values from 0 to 1 without scaling are assumed");
}

/* Checks the call itself, so that later failures are the file's fault. */
static scant_status check_call(scant_ctx *ctx, const char *path, const char *model,
                               const char *written, const scant_net_opts *opts) {
    AUTO(nn_net_auto) nn_net *net = NULL;
    if (!model && !written)
        return scant__fail(
            ctx, SCANT_EUSAGE,
            "%s does not name its model: choose one (`scant models` lists them)", path);
    if (!model) {
        AUTO(nn_net_auto) nn_net *usual = NULL;
        TRY(prefix_path(ctx, path, nn_model_build(ctx, written, NULL, &usual)));
        model = written;
    }
    scant_net_opts o = opts ? *opts : (scant_net_opts){0};
    if (!o.bayes) o.draws = 0, o.prior = 0; /* the file decides whether they apply */
    return nn_model_build(ctx, model, &o, &net);
}

/* Warns if a network trained without dropout makes draws by dropout. */
static void warn_dropout(const scant_net *n, const char *path, const scant__tensors *file,
                         const scant_net_opts *o) {
    scant_net_opts plain = *o;
    AUTO(nn_net_auto) nn_net *net = NULL;
    bool known =
        scant__tensors_meta(file, "scant.model"); /* unknown for other programs' files */
    if (n->net->bayes != NN_BAYES_DROPOUT || o->dropout != 0 || !known) return;
    plain.bayes = NULL;
    plain.draws = 0;
    if (nn_model_build(n->ctx, n->net->model, &plain, &net) != SCANT_OK) return;
    if (net->nodes[net->features].rate == 0) /* some models always have dropout */
        scant__warn(n->ctx,
                    "%s: was trained without dropout; its posterior draws drop features "
                    "with probability 0.5, which it was not trained for",
                    path);
}

static scant_status open_fitting(scant_ctx *ctx, const char *path, const char *model,
                                 const scant__tensors *file, bool any_head,
                                 scant_net_opts *o, scant_net **out) {
    TRY(find_variant(ctx, path, model, file, any_head, o));
    TRY(scant_net_create(ctx, model, o, out));
    return load(*out, path, file, any_head);
}

static scant_status open_file(scant_ctx *ctx, const char *path, const char *model,
                              const scant_net_opts *opts, bool any_head,
                              scant_net **out) {
    AUTO(scant__tensors_auto) scant__tensors *file = NULL;
    AUTO(scant_net_auto) scant_net *net = NULL;
    *out = NULL;
    TRY(scant__tensors_open(ctx, path, &file));
    const char *written = scant__tensors_meta(file, "scant.model");
    scant_net_opts o = opts ? *opts : (scant_net_opts){0};
    TRY(complete_opts(ctx, path, file, model, &o));
    const char *drawn = scant__tensors_meta(file, "scant.bayes");
    bool by_dropout = drawn && o.bayes && strcmp(drawn, "dropout") == 0 &&
                      strcmp(o.bayes, "dropout") == 0;
    if (any_head && !by_dropout) /* a training option, not a property of the weights */
        o.dropout = opts ? opts->dropout : 0;
    TRY(check_call(ctx, path, model, written, opts));
    if (!model) model = written;
    TRY(prefix_path(ctx, path, open_fitting(ctx, path, model, file, any_head, &o, &net)));
    if (opts && opts->init)
        scant__warn(ctx, "%s: init=%s applies only to layers that the file does not have",
                    path, opts->init);
    if (!any_head) warn_dropout(net, path, file, &o);
    if (!written && !scant__tensors_meta(file, "scant.mean"))
        warn_scaling(net, path, any_head);
    *out = net;
    net = NULL;
    return SCANT_OK;
}

scant_status scant_net_open(scant_ctx *ctx, const char *path, const char *model,
                            const scant_net_opts *opts, scant_net **out) {
    *out = NULL;
    NEED(ctx);
    return open_file(ctx, path, model, opts, false, out);
}

scant_status scant_net_start(scant_ctx *ctx, const char *path, const char *model,
                             const scant_net_opts *opts, scant_net **out) {
    *out = NULL;
    NEED(ctx);
    return open_file(ctx, path, model, opts, true, out);
}

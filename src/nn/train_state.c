/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: every vector in plain order (independent of a machine's layouts) and a few
 * numbers in the metadata, with a checksum of all. A resumed training gives the same bits
 * as an uninterrupted one.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "core/number.h"
#include "data/safetensors.h"
#include "nn/train.h"
#include "scant/train.h"

enum { OWN = 6, VECTORS = OWN + 3 + NN_VECTORS };

typedef enum vector_kind { ALL, TRAINED, PLAIN } vector_kind;

typedef struct vector {
    const char *name;
    float *numbers;
    vector_kind kind; /* packed (all parameters or only trained ones) or plain */
    size_t count;     /* number of floats in the file */
} vector;

static size_t vectors_of(nn_trainer *t, vector out[VECTORS]) {
    const nn_net *net = t->net->net;
    const vector own[OWN] = {{"values", t->net->weights->values, ALL, net->n_floats},
                             {"first", t->first, TRAINED, net->n_trained},
                             {"second", t->second, TRAINED, net->n_trained},
                             {"average", t->average, TRAINED, net->n_trained},
                             {"good", t->good, ALL, net->n_floats},
                             {"best", t->best, ALL, net->n_floats}};
    size_t n = 0;
    for (int i = 0; i < OWN; i++)
        if (own[i].numbers) out[n++] = own[i];
    const nn_watch *w = &t->watch;
    if (w->n_units) out[n++] = (vector){"alive", w->alive, PLAIN, w->n_units};
    if (!t->method) return n;
    out[n++] = (vector){"window_counts", w->counts, PLAIN, w->n_classes};
    out[n++] = (vector){"label_counts", t->counts, PLAIN, nn_trainer_classes(t)};
    for (size_t i = 0; i < t->method->n_vectors; i++) {
        const nn_method_vector *k = &t->method->vectors[i];
        out[n++] = (vector){k->name, k->numbers, PLAIN, k->count};
    }
    return n;
}

static uint64_t mix_word(uint64_t hash, const char *word) {
    return scant__hash(hash, word, strlen(word) + 1);
}

static uint64_t mix_network(uint64_t hash, const nn_net *net) {
    hash = mix_word(hash, net->model);
    for (size_t i = 0; i < net->n_nodes; i++) {
        const nn_node *v = &net->nodes[i];
        const size_t sizes[] = {v->shape.c, v->shape.h, v->shape.w, (size_t)v->kind,
                                (size_t)v->act};
        const float numbers[] = {v->slope, v->rate, v->scale};
        hash = scant__hash(hash, sizes, sizeof sizes);
        hash = scant__hash(hash, numbers, sizeof numbers);
    }
    if (net->bayes == NN_BAYES_VARIATIONAL)
        hash = scant__hash(hash, &net->prior, sizeof net->prior);
    return hash;
}

/* Hashes what must match on resuming: the network, the samples and how steps are made;
 * not the number of steps or the end conditions. */
static uint64_t fingerprint(const nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
    const uint64_t counts[] = {t->n, t->batch, o->seed, (uint64_t)o->draw};
    uint64_t hash = mix_network(SCANT__HASH_FIRST, t->net->net);
    hash = scant__hash(hash, counts, sizeof counts);
    hash = nn_train_hash(hash, o);
    hash = scant__hash(hash, t->rows, t->n * sizeof *t->rows);
    if (t->labels) hash = scant__hash(hash, t->labels, t->n * sizeof *t->labels);
    for (size_t i = 0; t->targets && i < t->n; i++)
        hash = scant__hash(hash, &t->targets[t->rows[i]], sizeof *t->targets);
    if (o->weights) hash = scant__hash(hash, o->weights, t->n * sizeof *o->weights);
    if (!t->method) return hash;
    const uint64_t more[] = {t->method->n, t->method->batch, t->method->hash};
    hash = scant__hash(mix_word(hash, t->method->name), more, sizeof more);
    return scant__hash(hash, t->method->rows, t->method->n * sizeof *t->method->rows);
}

/* Hashes the unlabelled samples that a method's vectors refer to. */
static uint64_t mix_unlabelled(const nn_method *m) {
    uint64_t hash = mix_word(SCANT__HASH_FIRST, m->name);
    return scant__hash(hash, m->rows, m->n * sizeof *m->rows);
}

static const char FORMAT[] = "6";

/* The numbers in the metadata; the last OF_METHOD only if there is a method. Counts are
 * below 2^53, so a double holds them exactly. */
#define AT(member) offsetof(nn_trainer, member)
#define WINDOW(name, at)                                                                 \
    {name "end", AT(at.end), true}, {name "seen", AT(at.unlabelled), true},              \
        {name "window_loss", AT(at.loss), false}, {name "noise", AT(at.noise), false},   \
        {name "kept", AT(at.kept), false}, {name "spread", AT(at.spread), false},        \
        {name "dead", AT(at.dead), false}, {name "dead_layer", AT(at.dead_layer), true}, \
        {name "gradient_norm", AT(at.gradient_norm), false}, {                           \
        name "pseudo_classes", AT(at.pseudo_classes), false                              \
    }
static const struct {
    const char *key;
    size_t at; /* offset of a size_t if it is a count, else of a double */
    bool count;
} fields[] = {
    {"step", AT(state.step), true},
    {"before", AT(before), true},
    {"sum_loss", AT(sum_loss), false},
    {"sum_correct", AT(sum_correct), true},
    {"sum_samples", AT(sum_samples), true},
    {"best_score", AT(best_score), false},
    {"best_epoch", AT(best_epoch), true},
    {"until", AT(until), false},
    {"until_epoch", AT(until_epoch), true},
    {"good_epoch", AT(good_epoch), true},
    {"valid_loss", AT(state.valid_loss), false},
    {"valid_accuracy", AT(state.valid_accuracy), false},
    {"loss", AT(state.loss), false},
    {"accuracy", AT(state.accuracy), false},
    {"warmup", AT(warmup), true},
    {"window_loss", AT(watch.loss), false},
    {"window_squares", AT(watch.squares), false},
    {"window_samples", AT(watch.samples), true},
    {"window_norm", AT(watch.norm), false},
    {"window_norms", AT(watch.norms), true},
    {"window_kept", AT(watch.kept), false},
    {"window_seen", AT(watch.unlabelled), true},
    {"window_spread", AT(watch.spread), false},
    {"window_compared", AT(watch.compared), true},
    {"first_loss", AT(watch.start_loss), false},
    {"first_spread", AT(watch.start_spread), false},
    {"window_begin", AT(watch.begin), true},
    {"signs", AT(watch.signs), true},
    WINDOW("last_", watch.last),
    WINDOW("best_", best_window),
    {"sum_other", AT(sum_unlabelled_loss), false},
    {"sum_kept", AT(sum_kept), false},
    {"sum_seen", AT(sum_unlabelled), true},
    {"unlabelled_loss", AT(state.unlabelled_loss), false},
    {"kept", AT(state.kept), false},
    {"balance", AT(state.balance), false},
};
enum { FIELDS = sizeof fields / sizeof *fields, OF_METHOD = 6, METADATA = FIELDS + 6 };

static size_t n_fields(const nn_trainer *t) {
    return t->method ? FIELDS : FIELDS - OF_METHOD;
}

typedef struct metadata {
    scant_setting items[METADATA];
    char text[METADATA][SCANT__NUMBER];
    size_t n;
} metadata;

static void put(metadata *m, const char *key, double value) {
    m->items[m->n] = (scant_setting){key, scant__number_format(value, m->text[m->n])};
    m->n++;
}

static const char *print_hash(uint64_t hash, char out[SCANT__NUMBER]) {
    snprintf(out, SCANT__NUMBER, "%016llx", (unsigned long long)hash);
    return out;
}

static void put_hash(metadata *m, const char *key, uint64_t hash) {
    m->items[m->n] = (scant_setting){key, print_hash(hash, m->text[m->n])};
    m->n++;
}

static void put_all(metadata *m, const nn_trainer *t) {
    m->items[m->n++] = (scant_setting){"format", FORMAT};
    put_hash(m, "training", fingerprint(t));
    put_hash(m, "network", mix_network(SCANT__HASH_FIRST, t->net->net));
    put(m, "per_epoch", (double)t->per_epoch); /* informative only */
    if (t->method) put_hash(m, "others", mix_unlabelled(t->method));
    for (size_t i = 0; i < n_fields(t); i++) {
        const char *at = (const char *)t + fields[i].at;
        put(m, fields[i].key,
            fields[i].count ? (double)*(const size_t *)at : *(const double *)at);
    }
}

/* ---- the checksum ---- */

static bool same_hash(const scant__tensors *file, const char *key, uint64_t hash) {
    const char *text = scant__tensors_meta(file, key);
    char own[SCANT__NUMBER];
    return text && strcmp(text, print_hash(hash, own)) == 0;
}

static uint64_t mix_tensor(uint64_t hash, const scant__tensor *t) {
    const size_t sizes[] = {(size_t)t->dtype, t->ndim, t->count};
    hash = scant__hash(mix_word(hash, t->name), sizes, sizeof sizes);
    return scant__hash(hash, t->bytes, t->count * scant__tensor_item(t->dtype));
}

static uint64_t mix_setting(uint64_t hash, const char *key, const char *value) {
    return value ? mix_word(mix_word(hash, key), value) : hash;
}

static const char CHECKSUM[] = "checksum";

static void put_checksum(metadata *m, const scant__tensor *items, size_t n) {
    uint64_t hash = SCANT__HASH_FIRST;
    for (size_t i = 0; i < m->n; i++)
        hash = mix_setting(hash, m->items[i].key, m->items[i].value);
    for (size_t i = 0; i < n; i++) hash = mix_tensor(hash, &items[i]);
    put_hash(m, CHECKSUM, hash);
}

/* Reads the metadata in the order of put_all(): the file may be of another method. */
uint64_t nn_train_checksum(const scant__tensors *file) {
    static const char *const first[] = {"format", "training", "network", "per_epoch",
                                        "others"};
    uint64_t hash = SCANT__HASH_FIRST;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        hash = mix_setting(hash, first[i], scant__tensors_meta(file, first[i]));
    for (size_t i = 0; i < FIELDS; i++)
        hash = mix_setting(hash, fields[i].key, scant__tensors_meta(file, fields[i].key));
    for (size_t i = 0; i < scant__tensors_count(file); i++)
        hash = mix_tensor(hash, scant__tensors_get(file, i));
    return hash;
}

static scant_status check_checksum(scant_ctx *ctx, const char *path,
                                   const scant__tensors *file) {
    if (same_hash(file, CHECKSUM, nn_train_checksum(file))) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: was changed or damaged: its checksum is wrong", path);
}

/* ---- writing and reading ---- */

static bool get_count(const scant__tensors *file, const char *key, size_t *out) {
    const char *text = scant__tensors_meta(file, key);
    double value;
    if (!text || !scant__number_parse(text, &value)) return false;
    if (!(value >= 0 && value <= (double)((size_t)1 << 50))) return false;
    *out = (size_t)value;
    return true;
}

static bool get_all(const scant__tensors *file, nn_trainer *t) {
    for (size_t i = 0; i < n_fields(t); i++) {
        const char *text = scant__tensors_meta(file, fields[i].key);
        char *at = (char *)t + fields[i].at;
        if (fields[i].count ? !get_count(file, fields[i].key, (size_t *)at)
                            : !text || !scant__number_parse(text, (double *)at))
            return false;
    }
    size_t most = t->state.step / t->per_epoch + 1;
    size_t layers = t->watch.n_layers;
    return t->best_epoch <= most && t->good_epoch <= most && t->until_epoch <= most &&
           t->watch.last.dead_layer <= layers && t->best_window.dead_layer <= layers &&
           t->watch.begin <= t->state.step;
}

static scant_status check_format(scant_ctx *ctx, const char *path,
                                 const scant__tensors *file) {
    const char *format = scant__tensors_meta(file, "format");
    if (format && strcmp(format, FORMAT) == 0) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: is a checkpoint of another version of scant: delete it and "
                       "start the training anew",
                       path);
}

static scant_status to_plain(nn_trainer *t, const vector *v, float *plain) {
    if (v->kind != PLAIN)
        return nn_weights_unpack(t->net->weights, v->numbers, v->kind == TRAINED, plain);
    memcpy(plain, v->numbers, v->count * sizeof *plain);
    return SCANT_OK;
}

static scant_status from_plain(nn_trainer *t, const float *plain, const vector *v) {
    if (v->kind != PLAIN)
        return nn_weights_repack(t->net->weights, plain, v->kind == TRAINED, v->numbers);
    memcpy(v->numbers, plain, v->count * sizeof *plain);
    return SCANT_OK;
}

scant_status nn_train_save(nn_trainer *t, const char *path) {
    if (!path) return SCANT_OK;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = t->ctx};
    vector vectors[VECTORS];
    scant__tensor items[VECTORS];
    metadata m = {.n = 0};
    size_t n = vectors_of(t, vectors);
    for (size_t i = 0; i < n; i++) {
        size_t floats = vectors[i].count;
        float *plain = TRY_NEW(&arena, float, floats);
        TRY(to_plain(t, &vectors[i], plain));
        items[i] = (scant__tensor){.name = vectors[i].name,
                                   .dtype = SCANT_F32,
                                   .ndim = 1,
                                   .shape = {floats},
                                   .count = floats,
                                   .bytes = (unsigned char *)plain};
    }
    put_all(&m, t);
    put_checksum(&m, items, n);
    return scant__tensors_write(t->ctx, path, items, n, m.items, m.n);
}

/* Copies the vectors found: the plain (method's) ones, or the packed (network's) ones. */
static scant_status take(nn_trainer *t, const vector *vectors,
                         const scant__tensor *const *found, size_t n, bool plain_ones) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = t->ctx};
    size_t most = 0;
    for (size_t i = 0; i < n; i++) most = size_max(most, vectors[i].count);
    float *plain = TRY_NEW(&arena, float, most);
    for (size_t i = 0; i < n; i++) {
        if (!found[i] || (vectors[i].kind == PLAIN) != plain_ones) continue;
        scant__tensor_floats(found[i], plain);
        TRY(from_plain(t, plain, &vectors[i]));
    }
    return SCANT_OK;
}

static bool fits(const scant__tensor *found, const vector *v) {
    return found && found->ndim == 1 && found->count == v->count;
}

static scant_status wrong_metadata(nn_trainer *t, const char *path) {
    return scant__fail(t->ctx, SCANT_EINPUT, "%s: its metadata is missing or wrong",
                       path);
}

/* Copies the network's vectors last: if the method's vectors are refused, the network is
 * unchanged and training can start anew. */
static scant_status take_checked(nn_trainer *t, const char *path, const vector *vectors,
                                 const scant__tensor *const *found, size_t n) {
    TRY(take(t, vectors, found, n, true));
    if (t->method && t->method->check && !t->method->check(t->method->arg))
        return wrong_metadata(t, path);
    return take(t, vectors, found, n, false);
}

static scant_status load_vectors(nn_trainer *t, const char *path,
                                 const scant__tensors *file) {
    vector vectors[VECTORS];
    const scant__tensor *found[VECTORS];
    size_t n = vectors_of(t, vectors);
    for (size_t i = 0; i < n; i++) {
        found[i] = scant__tensors_find(file, vectors[i].name);
        if (!found[i] && vectors[i].numbers == t->best)
            found[i] = found[0]; /* saved without patience: best = weights */
        if (!fits(found[i], &vectors[i]))
            return scant__fail(t->ctx, SCANT_EINPUT,
                               "%s: '%s' is missing or has another size, expected a "
                               "checkpoint of this network and training",
                               path, vectors[i].name);
    }
    return take_checked(t, path, vectors, found, n);
}

scant_status nn_train_load(nn_trainer *t, const char *path) {
    AUTO(scant__tensors_auto) scant__tensors *file = NULL;
    nn_trainer loaded = *t; /* copied back once everything is valid */
    TRY(scant__tensors_open(t->ctx, path, &file));
    TRY(check_format(t->ctx, path, file));
    TRY(check_checksum(t->ctx, path, file));
    if (!same_hash(file, "training", fingerprint(t)))
        return scant__fail(
            t->ctx, SCANT_EINPUT,
            "%s belongs to another training: samples, model or options differ", path);
    if (!get_all(file, &loaded)) return wrong_metadata(t, path);
    TRY(load_vectors(t, path, file));
    if (!scant__tensors_find(file, "best")) {
        loaded.best_epoch = loaded.state.step / t->per_epoch;
        loaded.best_window = loaded.watch.last;
    }
    if (loaded.until != t->until) loaded.until_epoch = 0; /* resumed with another one */
    loaded.until = t->until;
    *t = loaded;
    nn_train_show_signs(t);
    return SCANT_OK;
}

scant_status scant_train_progress(scant_ctx *ctx, const char *checkpoint, size_t *steps,
                                  size_t *epochs) {
    NEED(ctx);
    AUTO(scant__tensors_auto) scant__tensors *file = NULL;
    size_t per_epoch = 0;
    *steps = *epochs = 0;
    TRY(scant__tensors_open(ctx, checkpoint, &file));
    TRY(check_checksum(ctx, checkpoint, file));
    get_count(file, "step", steps);
    if (get_count(file, "per_epoch", &per_epoch) && per_epoch)
        *epochs = *steps / per_epoch;
    return SCANT_OK;
}

/* ---- warm start from another training ---- */

/* Chooses the vectors that a warm start takes from the file: all but the progress. The
 * method's vectors need the same unlabelled samples, the optimiser's state the same
 * optimiser: Adam would ruin the weights if it started from SGD's momentum without
 * squares. */
static void find_warm(nn_trainer *t, const scant__tensors *file, const vector *vectors,
                      size_t n, const scant__tensor **found) {
    bool others = t->method && same_hash(file, "others", mix_unlabelled(t->method));
    bool squares = scant__tensors_find(file, "second") != NULL;
    for (size_t i = 0; i < n; i++) {
        const vector *v = &vectors[i];
        bool stands = v->numbers == t->good || v->numbers == t->best ||
                      v->numbers == t->counts || v->numbers == t->watch.alive ||
                      v->numbers == t->watch.counts;
        bool moment = v->numbers == t->first || v->numbers == t->second;
        found[i] = scant__tensors_find(file, v->name);
        if (stands || !fits(found[i], v) || (v->kind == PLAIN && !others) ||
            (moment && squares != (t->second != NULL)))
            found[i] = NULL;
    }
}

static bool was_found(const vector *vectors, const scant__tensor *const *found, size_t n,
                      const float *own) {
    for (size_t i = 0; i < n; i++)
        if (vectors[i].numbers == own) return found[i] != NULL;
    return true; /* this training has no such vector */
}

scant_status nn_train_warm(nn_trainer *t) {
    const char *path = t->opts.warm;
    AUTO(scant__tensors_auto) scant__tensors *file = NULL;
    size_t step, before;
    vector vectors[VECTORS];
    const scant__tensor *found[VECTORS];
    size_t n = vectors_of(t, vectors);
    const nn_weights *w = t->net->weights;
    TRY(scant__tensors_open(t->ctx, path, &file));
    TRY(check_format(t->ctx, path, file));
    TRY(check_checksum(t->ctx, path, file));
    if (!same_hash(file, "network", mix_network(SCANT__HASH_FIRST, t->net->net)))
        return scant__fail(t->ctx, SCANT_EINPUT,
                           "%s belongs to another network: a warm start needs a training "
                           "of the same model and shape",
                           path);
    if (!get_count(file, "step", &step) || !get_count(file, "before", &before))
        return wrong_metadata(t, path);
    find_warm(t, file, vectors, n, found);
    if (!found[0])
        return scant__fail(t->ctx, SCANT_EINPUT, "%s: has no weights to start from",
                           path);
    TRY(take_checked(t, path, vectors, found, n));
    if (t->average && !was_found(vectors, found, n, t->average))
        memcpy(t->average, w->values, w->n_trained * sizeof *t->average);
    memcpy(t->good, w->values, w->n_floats * sizeof *t->good);
    if (t->best) memcpy(t->best, w->values, w->n_floats * sizeof *t->best);
    if (was_found(vectors, found, n, t->first) && was_found(vectors, found, n, t->second))
        t->before = step + before;
    return SCANT_OK;
}

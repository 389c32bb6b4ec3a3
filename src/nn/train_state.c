/* SPDX-License-Identifier: Apache-2.0
 *
 * A training in a file: every vector in plain order (so that another machine's layouts do
 * not matter) and a few numbers in the metadata. Going on from it gives the bits that an
 * unbroken training would have given.
 */
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "data/safetensors.h"
#include "nn/train.h"

enum { VECTORS = 6, NUMBERS = 16 };

typedef struct vector {
    const char *name;
    float *packed;
    bool trained; /* of trained parameters alone */
} vector;

static size_t vectors_of(nn_trainer *t, vector out[VECTORS]) {
    const vector all[VECTORS] = {{"values", t->net->weights->values, false},
                                 {"first", t->first, true},
                                 {"second", t->second, true},
                                 {"average", t->average, true},
                                 {"good", t->good, false},
                                 {"best", t->best, false}};
    size_t n = 0;
    for (int i = 0; i < VECTORS; i++)
        if (all[i].packed) out[n++] = all[i];
    return n;
}

static size_t floats_of(const nn_trainer *t, const vector *v) {
    const nn_net *net = t->net->net;
    return v->trained ? net->n_trained : net->n_floats;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size) { /* FNV-1a */
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static uint64_t mix_word(uint64_t hash, const char *word) {
    return mix(hash, word, strlen(word) + 1);
}

static uint64_t mix_network(uint64_t hash, const nn_net *net) {
    hash = mix_word(hash, net->model);
    for (size_t i = 0; i < net->n_nodes; i++) {
        const nn_node *v = &net->nodes[i];
        const size_t sizes[] = {v->shape.c, v->shape.h, v->shape.w, (size_t)v->kind,
                                (size_t)v->act};
        const float numbers[] = {v->slope, v->rate, v->scale};
        hash = mix(hash, sizes, sizeof sizes);
        hash = mix(hash, numbers, sizeof numbers);
    }
    return hash;
}

/* What must be the same for the rest to be the rest of this training: the network, the
 * samples and how steps are made. Not how many, nor what ends it. */
static uint64_t fingerprint(const nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
    const double numbers[] = {o->lr, o->momentum, o->weight_decay, o->clip, o->ema};
    const uint64_t counts[] = {t->n,
                               t->batch,
                               o->seed,
                               o->warmup,
                               (uint64_t)o->nesterov,
                               (uint64_t)o->decay_weights_only,
                               (uint64_t)o->draw};
    uint64_t hash = mix_network(1469598103934665603u, t->net->net);
    hash = mix(hash, numbers, sizeof numbers);
    hash = mix(hash, counts, sizeof counts);
    hash = mix_word(mix_word(hash, o->optimizer), o->schedule);
    hash = mix_word(mix_word(hash, o->loss), o->augment);
    hash = mix(hash, t->rows, t->n * sizeof *t->rows);
    if (t->labels) hash = mix(hash, t->labels, t->n * sizeof *t->labels);
    if (o->weights) hash = mix(hash, o->weights, t->n * sizeof *o->weights);
    return hash;
}

typedef struct numbers {
    scant_setting items[NUMBERS];
    char text[NUMBERS][SCANT__NUMBER];
    size_t n;
} numbers;

static void put(numbers *m, const char *key, double value) {
    m->items[m->n] = (scant_setting){key, scant__number_format(value, m->text[m->n])};
    m->n++;
}

static void put_hash(numbers *m, uint64_t hash) {
    snprintf(m->text[m->n], sizeof m->text[m->n], "%016llx", (unsigned long long)hash);
    m->items[m->n] = (scant_setting){"training", m->text[m->n]};
    m->n++;
}

scant_status nn_train_keep(nn_trainer *t) {
    if (!t->opts.checkpoint) return SCANT_OK;
    vector vectors[VECTORS];
    size_t n = vectors_of(t, vectors), total = 0, at = 0;
    for (size_t i = 0; i < n; i++) total += floats_of(t, &vectors[i]);
    float *plain = scant__alloc(t->ctx, total, sizeof *plain);
    if (!plain) return SCANT_ENOMEM;
    scant__tensor items[VECTORS];
    scant_status s = SCANT_OK;
    for (size_t i = 0; i < n && s == SCANT_OK; i++) {
        size_t floats = floats_of(t, &vectors[i]);
        items[i] = (scant__tensor){.name = vectors[i].name,
                                   .dtype = SCANT_F32,
                                   .ndim = 1,
                                   .shape = {floats},
                                   .count = floats,
                                   .bytes = (unsigned char *)(plain + at)};
        s = nn_weights_unpack(t->net->weights, vectors[i].packed, vectors[i].trained,
                              plain + at);
        at += floats;
    }
    numbers m = {.n = 0};
    put_hash(&m, fingerprint(t));
    put(&m, "step", (double)t->state.step);
    put(&m, "sum_loss", t->sum_loss);
    put(&m, "sum_correct", (double)t->sum_correct);
    put(&m, "sum_samples", (double)t->sum_samples);
    put(&m, "best_score", t->best_score);
    put(&m, "best_epoch", (double)t->best_epoch);
    put(&m, "valid_loss", t->state.valid_loss);
    put(&m, "valid_accuracy", t->state.valid_accuracy);
    put(&m, "loss", t->state.loss);
    put(&m, "accuracy", t->state.accuracy);
    put(&m, "good_epoch", (double)t->good_epoch);
    if (s == SCANT_OK)
        s = scant__tensors_write(t->ctx, t->opts.checkpoint, items, n, m.items, m.n);
    scant__free(t->ctx, plain);
    return s;
}

static bool get(const scant__tensors *file, const char *key, double *out) {
    const char *text = scant__tensors_meta(file, key);
    return text && scant__number_parse(text, out);
}

static scant_status recall_vectors(nn_trainer *t, const scant__tensors *file) {
    vector vectors[VECTORS];
    const scant__tensor *found[VECTORS];
    size_t n = vectors_of(t, vectors);
    for (size_t i = 0; i < n; i++) {
        found[i] = scant__tensors_find(file, vectors[i].name);
        if (!found[i] &&
            vectors[i].packed == t->best) { /* it was begun without patience */
            found[i] = found[0];
            continue;
        }
        if (!found[i] || found[i]->ndim != 1 ||
            found[i]->count != floats_of(t, &vectors[i]))
            return scant__fail(t->ctx, SCANT_EINPUT,
                               "%s: '%s' is missing or of another size",
                               t->opts.checkpoint, vectors[i].name);
    }
    float *plain = scant__alloc(t->ctx, t->net->net->n_floats, sizeof *plain);
    if (!plain) return SCANT_ENOMEM;
    scant_status s = SCANT_OK;
    for (size_t i = 0; i < n && s == SCANT_OK; i++) {
        scant__tensor_floats(found[i], plain);
        s = nn_weights_repack(t->net->weights, plain, vectors[i].trained,
                              vectors[i].packed);
    }
    scant__free(t->ctx, plain);
    return s;
}

/* Whole numbers below 2^53 come back as they were. */
static bool get_count(const scant__tensors *file, const char *key, size_t most,
                      size_t *out) {
    double value;
    if (!get(file, key, &value) || !(value >= 0 && value <= (double)most)) return false;
    *out = (size_t)value;
    return true;
}

static scant_status recall(nn_trainer *t, const scant__tensors *file) {
    const char *path = t->opts.checkpoint;
    const char *hash = scant__tensors_meta(file, "training");
    char own[32];
    snprintf(own, sizeof own, "%016llx", (unsigned long long)fingerprint(t));
    if (!hash || strcmp(hash, own) != 0)
        return scant__fail(t->ctx, SCANT_EINPUT,
                           "%s is of another training: other samples, model or options",
                           path);
    nn_trainer n = *t; /* taken over once all is there */
    const size_t most = (size_t)1 << 50;
    bool all =
        get_count(file, "step", most, &n.state.step) &&
        get(file, "sum_loss", &n.sum_loss) &&
        get_count(file, "sum_correct", most, &n.sum_correct) &&
        get_count(file, "sum_samples", most, &n.sum_samples) &&
        get(file, "best_score", &n.best_score) &&
        get_count(file, "best_epoch", n.state.step / t->per_epoch + 1, &n.best_epoch) &&
        get_count(file, "good_epoch", n.state.step / t->per_epoch + 1, &n.good_epoch) &&
        get(file, "loss", &n.state.loss) && get(file, "accuracy", &n.state.accuracy) &&
        get(file, "valid_loss", &n.state.valid_loss) &&
        get(file, "valid_accuracy", &n.state.valid_accuracy);
    if (!all)
        return scant__fail(t->ctx, SCANT_EINPUT, "%s: its numbers are missing or wrong",
                           path);
    TRY(recall_vectors(t, file));
    if (!scant__tensors_find(file, "best")) n.best_epoch = n.state.step / t->per_epoch;
    *t = n;
    return SCANT_OK;
}

scant_status nn_train_recall(nn_trainer *t) {
    scant__tensors *file;
    TRY(scant__tensors_open(t->ctx, t->opts.checkpoint, &file));
    scant_status s = recall(t, file);
    scant__tensors_close(file);
    return s;
}

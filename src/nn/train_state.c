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

enum { VECTORS = 6, NUMBERS = 12 };

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

/* What must be the same for the rest to be the rest of this training. */
static uint64_t fingerprint(const nn_trainer *t) {
    uint64_t hash = 1469598103934665603u; /* FNV-1a over what follows */
    const scant_train_opts *o = &t->opts;
    char text[512];
    int length = snprintf(
        text, sizeof text,
        "%s|%zu|%zu|%llu|%s|%.17g|%.17g|%d|%.17g|%d|%s|%zu|%.17g|%.17g|%s|%s|%d",
        t->net->net->model, t->n, t->batch, (unsigned long long)o->seed, o->optimizer,
        o->lr, o->momentum, o->nesterov, o->weight_decay, o->decay_weights_only,
        o->schedule, o->warmup, o->clip, o->ema, o->loss, o->augment, o->draw);
    for (int i = 0; i < length && i < (int)sizeof text; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    for (size_t i = 0; i < t->n; i++) {
        hash = (hash ^ t->rows[i]) * 1099511628211u;
        if (t->labels) hash = (hash ^ (uint64_t)t->labels[i]) * 1099511628211u;
    }
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
    size_t n = vectors_of(t, vectors);
    float *plain = scant__alloc(t->ctx, t->net->net->n_floats, sizeof *plain);
    if (!plain) return SCANT_ENOMEM;
    scant_status s = SCANT_OK;
    for (size_t i = 0; i < n && s == SCANT_OK; i++) {
        const scant__tensor *v = scant__tensors_find(file, vectors[i].name);
        if (!v || v->ndim != 1 || v->count != floats_of(t, &vectors[i])) {
            s = scant__fail(t->ctx, SCANT_EINPUT,
                            "%s: '%s' is missing or of another size", t->opts.checkpoint,
                            vectors[i].name);
            break;
        }
        scant__tensor_floats(v, plain);
        s = nn_weights_repack(t->net->weights, plain, vectors[i].trained,
                              vectors[i].packed);
    }
    scant__free(t->ctx, plain);
    return s;
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
    double step, loss, correct, samples, score, epoch, valid_loss, valid_accuracy;
    bool all = get(file, "step", &step) && get(file, "sum_loss", &loss) &&
               get(file, "sum_correct", &correct) && get(file, "sum_samples", &samples) &&
               get(file, "best_score", &score) && get(file, "best_epoch", &epoch) &&
               get(file, "valid_loss", &valid_loss) &&
               get(file, "valid_accuracy", &valid_accuracy);
    if (!all || !(step >= 0 && step < 1e15) || !(correct >= 0 && correct < 1e15) ||
        !(samples >= 0 && samples < 1e15) || !(epoch >= 0 && epoch < 1e15))
        return scant__fail(t->ctx, SCANT_EINPUT, "%s: its numbers are missing or wrong",
                           path);
    TRY(recall_vectors(t, file));
    t->state.step = (size_t)step;
    t->sum_loss = loss;
    t->sum_correct = (size_t)correct;
    t->sum_samples = (size_t)samples;
    t->best_score = score;
    t->best_epoch = (size_t)epoch;
    t->state.valid_loss = valid_loss;
    t->state.valid_accuracy = valid_accuracy;
    return SCANT_OK;
}

scant_status nn_train_recall(nn_trainer *t) {
    scant__tensors *file;
    TRY(scant__tensors_open(t->ctx, t->opts.checkpoint, &file));
    scant_status s = recall(t, file);
    scant__tensors_close(file);
    return s;
}

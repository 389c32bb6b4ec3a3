/* SPDX-License-Identifier: Apache-2.0
 *
 * What a training is to be: the only place where its defaults live.
 */
#include <math.h>
#include <string.h>

#include "nn/train.h"
#include "scant/train.h"

scant_status nn_train_wrong(scant_ctx *ctx, const char *what, double value,
                            const char *wants) {
    return scant__fail(ctx, SCANT_EUSAGE, "%s is %g: it must be %s", what, value, wants);
}

static scant_status settle_optimizer(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    if (!o->optimizer) o->optimizer = "sgd";
    bool adam = strcmp(o->optimizer, "adam") == 0;
    if (!adam && strcmp(o->optimizer, "sgd") != 0)
        return scant__fail(t->ctx, SCANT_EUSAGE, "optimizer is sgd or adam, not '%s'",
                           o->optimizer);
    if (o->lr == 0) o->lr = adam ? 0.001 : 0.01;
    if (o->momentum == 0) o->momentum = 0.9;
    if (o->momentum < 0) o->momentum = 0;
    if (o->weight_decay < 0) o->weight_decay = 0;
    if (o->ema < 0) o->ema = 0;
    if (o->nesterov < 0) o->nesterov = 0;
    if (o->decay_weights_only < 0) o->decay_weights_only = 0;
    if (!(o->lr > 0) || !isfinite(o->lr))
        return nn_train_wrong(t->ctx, "lr", o->lr, "positive");
    if (!(o->momentum < 1))
        return nn_train_wrong(t->ctx, "momentum", o->momentum, "below 1");
    if (!(o->weight_decay >= 0) || !isfinite(o->weight_decay))
        return nn_train_wrong(t->ctx, "weight_decay", o->weight_decay, "0 or more");
    if (o->norm_momentum == 0) o->norm_momentum = 0.1;
    if (!(o->norm_momentum > 0 && o->norm_momentum <= 1))
        return nn_train_wrong(t->ctx, "norm_momentum", o->norm_momentum, "in (0, 1]");
    if (!(o->clip >= 0))
        return nn_train_wrong(t->ctx, "clip", o->clip, "0 (any) or more");
    if (!(o->ema >= 0 && o->ema < 1))
        return nn_train_wrong(t->ctx, "ema", o->ema, "in [0, 1)");
    if (o->nesterov && (adam || o->momentum == 0))
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "nesterov needs the sgd optimizer with momentum");
    t->optim = (nn_optim_opts){.kind = adam ? NN_ADAM : NN_SGD,
                               .momentum = o->momentum,
                               .nesterov = o->nesterov != 0,
                               .weight_decay = o->weight_decay,
                               .clip = o->clip};
    return SCANT_OK;
}

/* A method says itself how its samples are changed. */
static scant_status settle_views(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    nn_shape s = nn_net_input(t->net->net);
    if (!o->augment) o->augment = "none";
    if (t->method) {
        t->changed = t->method->views != NULL;
        if (t->changed) t->views = *t->method->views;
        return SCANT_OK;
    }
    bool flip = strcmp(o->augment, "flip-crop") == 0;
    t->changed = flip || strcmp(o->augment, "crop") == 0;
    t->views = (scant__views){.c = s.c, .h = s.h, .w = s.w, .images = true, .flip = flip};
    if (!t->changed && strcmp(o->augment, "none") != 0)
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "augment is none, flip-crop or crop, not '%s'", o->augment);
    if (t->changed && !scant__data_is_image(t->data))
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "augment=%s changes images, and %s has none", o->augment,
                           scant_data_name(t->data));
    return SCANT_OK;
}

static scant_status settle_words(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    if (!o->schedule) o->schedule = "constant";
    if (!nn_schedule_find(o->schedule, &t->schedule))
        return scant__fail(
            t->ctx, SCANT_EUSAGE,
            "schedule is constant, cosine, step, fixmatch or late, not '%s'",
            o->schedule);
    if (!o->loss) o->loss = scant_data_targets(t->data) ? "mse" : "ce";
    t->squared = strcmp(o->loss, "mse") == 0;
    if (!t->squared && strcmp(o->loss, "ce") != 0)
        return scant__fail(t->ctx, SCANT_EUSAGE, "loss is ce or mse, not '%s'", o->loss);
    return settle_views(t);
}

static scant_status settle_ends(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    if (!o->batch) o->batch = 128;
    if (!o->epochs) o->epochs = 10;
    if (o->batch > 1 << 20)
        return nn_train_wrong(t->ctx, "batch", (double)o->batch, "at most 1048576");
    if (o->epochs > 1 << 30 || o->steps > (size_t)1 << 40)
        return scant__fail(t->ctx, SCANT_EUSAGE, "so many epochs or steps never end");
    if (!(o->until >= 0 && o->until <= 1))
        return nn_train_wrong(t->ctx, "until", o->until, "in [0, 1]");
    if (o->until > 0 && t->squared && scant_data_targets(t->data))
        return scant__fail(t->ctx, SCANT_EUSAGE,
                           "until is an accuracy, and numbers to predict have none");
    if (o->patience && !o->valid)
        return scant__fail(t->ctx, SCANT_EUSAGE, "patience needs samples to validate on");
    if (o->draw && !o->weights)
        return scant__fail(t->ctx, SCANT_EUSAGE, "drawing by weight needs weights");
    if (o->resume && !o->checkpoint)
        return scant__fail(t->ctx, SCANT_EUSAGE, "resume needs a checkpoint");
    return SCANT_OK;
}

scant_status nn_train_settle(nn_trainer *t, const scant_train_opts *opts) {
    t->opts = opts ? *opts : (scant_train_opts){0};
    TRY(settle_optimizer(t));
    TRY(settle_words(t));
    TRY(settle_ends(t));
    TRY(nn_input_check(t->net, t->data));
    return SCANT_OK;
}

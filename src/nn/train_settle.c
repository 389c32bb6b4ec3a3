/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks what depends on several options or on the data, and settles what they leave
 * open. Single options are checked by their table (train_options.c).
 */
#include <string.h>

#include "nn/train.h"
#include "scant/train.h"

static scant_status settle_optimizer(nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
    bool adam = strcmp(o->optimizer, "adam") == 0;
    if (o->nesterov && adam)
        return scant__fail(t->ctx, SCANT_EUSAGE, "nesterov needs the sgd optimizer");
    t->optim = (nn_optim_opts){.kind = adam ? NN_ADAM : NN_SGD,
                               .momentum = o->momentum,
                               .beta2 = o->beta2,
                               .nesterov = o->nesterov && o->momentum > 0,
                               .weight_decay = o->weight_decay,
                               .clip = o->clip};
    return SCANT_OK;
}

/* A method says itself how its samples are changed. */
static scant_status settle_views(nn_trainer *t) {
    scant_train_opts *o = &t->opts;
    nn_shape s = nn_net_input(t->net->net);
    if (!o->augment || strcmp(o->augment, "auto") == 0) o->augment = "none";
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
    nn_schedule_find(o->schedule, &t->schedule);
    if (!o->loss) o->loss = scant_data_targets(t->data) ? "mse" : "ce";
    t->squared = strcmp(o->loss, "mse") == 0;
    return settle_views(t);
}

static scant_status settle_ends(nn_trainer *t) {
    const scant_train_opts *o = &t->opts;
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
    t->opts = *opts;
    TRY(settle_optimizer(t));
    TRY(settle_words(t));
    TRY(settle_ends(t));
    TRY(nn_input_check(t->net, t->data));
    return SCANT_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_gradients MODEL OPTIONS MODE WEIGHTS INPUTS LABELS OUT: writes the loss,
 * logits, embedding, gradients and statistics of one batch. gradients.py calls it and
 * describes the arguments.
 */
#include <stdio.h>

#include "../nn/pass.h"
#include "data/array.h"
#include "data/safetensors.h"
#include "scant/train.h"

enum { NAME = 128 };

static scant_ctx *ctx;

static int fail(const char *what) {
    fprintf(stderr, "dump_gradients: %s: %s\n", what, scant_ctx_errmsg(ctx));
    return 1;
}

/* Reads all parameters and buffers. False: one is missing or has another size. */
static bool load(const nn_net *net, const scant__tensors *file, float *plain) {
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *param = &net->params[i];
        const scant__tensor *tensor = scant__tensors_find(file, param->name);
        if (!tensor || tensor->count != param->count) {
            fprintf(stderr, "dump_gradients: %s is missing or has another size\n",
                    param->name);
            return false;
        }
        scant__tensor_floats(tensor, plain + param->offset);
    }
    return true;
}

static bool set_weights(scant_net *net, const char *path) {
    scant__tensors *file;
    float *plain = floats(net->net->n_floats);
    if (!plain || scant__tensors_open(ctx, path, &file) != SCANT_OK) return false;
    bool ok =
        load(net->net, file, plain) && nn_weights_set(net->weights, plain) == SCANT_OK;
    scant__tensors_close(file);
    free(plain);
    return ok;
}

static scant__tensor tensor_of(char name[NAME], const char *prefix, const nn_param *param,
                               const float *values) {
    scant__tensor t = {.name = name,
                       .dtype = SCANT_F32,
                       .ndim = param->ndim,
                       .bytes = (const unsigned char *)values};
    snprintf(name, NAME, "%s%s", prefix, param->name);
    for (size_t i = 0; i < param->ndim; i++) t.shape[i] = param->dims[i];
    return t;
}

static scant_status write_out(const nn_net *net, const pass *p, bool stats,
                              const char *path) {
    size_t count = 0, most = net->n_params + 3;
    scant__tensor *items = calloc(most, sizeof *items);
    char(*names)[NAME] = calloc(most, NAME);
    if (!items || !names) return SCANT_ENOMEM;
    items[count++] = (scant__tensor){
        .name = "loss", .dtype = SCANT_F64, .bytes = (const unsigned char *)&p->loss};
    items[count++] = (scant__tensor){.name = "logits",
                                     .dtype = SCANT_F32,
                                     .ndim = 2,
                                     .shape = {p->rows, p->classes},
                                     .bytes = (const unsigned char *)p->logits};
    items[count++] = (scant__tensor){.name = "embedding",
                                     .dtype = SCANT_F32,
                                     .ndim = 2,
                                     .shape = {p->rows, p->width},
                                     .bytes = (const unsigned char *)p->embedding};
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *param = &net->params[i];
        if (param->trained)
            items[count] =
                tensor_of(names[count], "grad.", param, p->grads + param->offset);
        else if (stats && (param->role == NN_MEAN || param->role == NN_VAR))
            items[count] =
                tensor_of(names[count], "stat.", param, p->state + param->offset);
        else
            continue;
        count++;
    }
    scant_status status = scant__tensors_write(ctx, path, items, count, NULL, 0);
    free(items);
    free(names);
    return status;
}

/* False: the shapes do not match. */
static bool read_batch(const scant_array *x, const scant_array *y, float *rows,
                       int32_t *labels) {
    for (size_t i = 0; i < y->count; i++) {
        int64_t label;
        scant__array_read_i64(y, i, 1, &label);
        labels[i] = (int32_t)label;
    }
    scant__array_read_f32(x, 0, x->count, rows);
    return x->ndim == 4 && x->shape[0] == y->count;
}

int main(int argc, char **argv) {
    scant_array *x, *y;
    scant_net *net;
    scant_net_opts opts = {.classes = 0};
    pass p;
    if (argc != 8 || scant_ctx_create(NULL, &ctx) != SCANT_OK) {
        fprintf(stderr, "dump_gradients MODEL OPTIONS MODE WEIGHTS INPUTS LABELS OUT\n");
        return 2;
    }
    nn_mode mode = strcmp(argv[3], "train") == 0 ? NN_TRAIN : NN_TRACE;
    if (!options_read(argv[2], &opts)) return fail(argv[2]);
    if (scant_array_open(ctx, argv[5], &x) != SCANT_OK) return fail(argv[5]);
    if (scant_array_open(ctx, argv[6], &y) != SCANT_OK) return fail(argv[6]);
    float *rows = floats(x->count);
    int32_t *labels = malloc((y->count + 1) * sizeof *labels);
    if (!rows || !labels || !read_batch(x, y, rows, labels)) return fail("the batch");
    memcpy(opts.shape, x->shape + 1, sizeof opts.shape);
    if (scant_net_create(ctx, argv[1], &opts, &net) != SCANT_OK) return fail(argv[1]);
    if (!set_weights(net, argv[4])) return fail(argv[4]);
    if (pass_run(net, mode, y->count, rows, labels, &p) != SCANT_OK) return fail("run");
    if (write_out(net->net, &p, mode == NN_TRAIN, argv[7]) != SCANT_OK)
        return fail(argv[7]);
    pass_end(&p);
    free(rows);
    free(labels);
    scant_net_free(net);
    scant_array_free(x);
    scant_array_free(y);
    scant_ctx_free(ctx);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Every model has exactly PyTorch's parameters and buffers, with the same names and
 * shapes. make_golden.py writes shapes.txt.
 */
#include <stdbool.h>
#include <stdio.h>

#define CTX_THREADS 1
#include "context.h"

#include "pass.h"
#include "scant/train.h"

enum { LINE = 300, DIMS = 4 };

static nn_net *net;
static char model[LINE]; /* its line in the file */
static size_t listed, models;

static void end_model(void) {
    if (net && net->n_params != listed)
        fail_msg("%s: %zu parameters, expected %zu", model, net->n_params, listed);
    nn_net_free(net);
    net = NULL;
    listed = 0;
}

/* "= MODEL C H W CLASSES OPTIONS" */
static void begin_model(const char *line) {
    char name[LINE] = "", options[LINE] = "";
    scant_net_opts opts = {.classes = 0};
    end_model();
    snprintf(model, sizeof model, "%s", line);
    int read = sscanf(line, "= %299s %zu %zu %zu %zu %299s", name, &opts.shape[0],
                      &opts.shape[1], &opts.shape[2], &opts.classes, options);
    assert_true(read >= 5);
    assert_true(options_read(options, &opts));
    if (nn_model_build(ctx, name, &opts, &net) != SCANT_OK)
        fail_msg("%s: %s", line, scant_ctx_errmsg(ctx));
    models++;
}

/* "NAME DIMENSIONS" */
static void check_parameter(const char *line) {
    char name[LINE];
    size_t dims[DIMS], count = 1;
    int read = sscanf(line, "%299s %zu %zu %zu %zu", name, &dims[0], &dims[1], &dims[2],
                      &dims[3]);
    assert_true(read >= 2);
    const nn_param *param = nn_net_find(net, name);
    if (!param) fail_msg("%s: no parameter %s", model, name);
    bool same = param->ndim == (size_t)read - 1;
    for (size_t i = 0; same && i < param->ndim; i++) {
        same = param->dims[i] == dims[i];
        count *= dims[i];
    }
    if (!same || param->count != count)
        fail_msg("%s: %s has another shape than %s", model, name, line);
    listed++;
}

static void parameters_are_named_and_shaped_as_in_pytorch(void **state) {
    char line[LINE];
    (void)state;
    FILE *f = fopen(SCANT_GOLDEN "/shapes.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '=')
            begin_model(line);
        else
            check_parameter(line);
    }
    end_model();
    fclose(f);
    assert_true(models >= 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_named_and_shaped_as_in_pytorch),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

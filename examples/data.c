/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what a file, a folder or a named data set holds. docs/data.md lists the formats.
 *
 *   cc data.c $(pkg-config --cflags --libs scant) -o data && ./data photos/ [LABELS]
 */
#include <scant/train.h>
#include <stdio.h>

static void describe(const scant_data *data) {
    size_t shape[3], classes = scant_data_classes(data);
    scant_data_shape(data, shape);
    printf("%s: %zu samples of %zu x %zu x %zu, ", scant_data_name(data),
           scant_data_count(data), shape[0], shape[1], shape[2]);
    if (classes)
        printf("%zu classes\n", classes);
    else
        printf("no labels\n");
}

int main(int argc, char **argv) {
    const char *spec = argc > 1 ? argv[1] : "moons";
    scant_data_opts opts = {.labels = argc > 2 ? argv[2] : NULL};
    scant_ctx *ctx = NULL;
    scant_data *data = NULL;
    scant_status status = scant_ctx_create(NULL, &ctx);
    if (status != SCANT_OK) {
        fprintf(stderr, "%s\n", scant_status_text(status));
        return 1;
    }
    status = scant_data_open(ctx, spec, &opts, &data);
    if (status == SCANT_OK)
        describe(data);
    else
        fprintf(stderr, "%s\n", scant_ctx_errmsg(ctx));
    scant_data_free(data);
    scant_ctx_free(ctx);
    return status == SCANT_OK ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A complete program that uses the library: picks five rows of a small pool to label
 * next, with badge.
 *
 *   cc select.c $(pkg-config --cflags --libs scant) -lm -o select && ./select
 */
#include <math.h>
#include <scant/scant.h>
#include <stdio.h>

enum { ROWS = 60, WIDTH = 2, CLASSES = 3 };

int main(void) {
    /* Three groups around a centre; the model is less confident of rows far from it. */
    float features[ROWS][WIDTH], probs[ROWS][CLASSES];
    for (int i = 0; i < ROWS; i++) {
        double angle = 2.1 * (i % 3) + 0.02 * i, reach = 1 + 0.05 * i;
        features[i][0] = (float)(reach * cos(angle));
        features[i][1] = (float)(reach * sin(angle));
        for (int c = 0; c < CLASSES; c++)
            probs[i][c] = (float)(c == i % 3 ? 1 - 0.01 * i : 0.005 * i);
    }

    scant_ctx *ctx = NULL;
    scant_array *h = NULL, *p = NULL;
    scant_picks *picks = NULL;
    scant_status status = scant_ctx_create(NULL, &ctx);
    if (status != SCANT_OK) {
        fprintf(stderr, "%s\n", scant_status_text(status));
        return 1;
    }
    if ((status = scant_array_wrap(ctx, "features", features, SCANT_F32, 2,
                                   (size_t[]){ROWS, WIDTH}, &h)) == SCANT_OK &&
        (status = scant_array_wrap(ctx, "probs", probs, SCANT_F32, 2,
                                   (size_t[]){ROWS, CLASSES}, &p)) == SCANT_OK)
        status = scant_select(ctx, "badge", &(scant_evidence){.features = h, .probs = p},
                              5, &(scant_select_opts){.seed = 1}, &picks);
    if (status == SCANT_OK)
        for (size_t i = 0; i < picks->count; i++)
            printf("label row %zu (score %.3g)\n", picks->items[i].index,
                   picks->items[i].score);
    else
        fprintf(stderr, "%s\n", scant_ctx_errmsg(ctx));
    scant_picks_free(ctx, picks);
    scant_array_free(p);
    scant_array_free(h);
    scant_ctx_free(ctx);
    return status == SCANT_OK ? 0 : 1;
}

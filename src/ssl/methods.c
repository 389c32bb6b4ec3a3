/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways of training, and what they share.
 */
#include <math.h>
#include <string.h>

#include "ssl/ssl.h"

const ssl_kind ssl_supervised = {
    .info = {.name = "supervised", .summary = "labelled samples alone", .paper = ""},
};

static const ssl_kind *const kinds[] = {&ssl_supervised, &ssl_fixmatch, &ssl_mean_teacher,
                                        &ssl_pi, &ssl_pseudo_label};
enum { KINDS = sizeof kinds / sizeof *kinds };

const scant_method_info *const *scant_methods(size_t *count) {
    static const scant_method_info *const infos[KINDS] = {
        &ssl_supervised.info, &ssl_fixmatch.info, &ssl_mean_teacher.info, &ssl_pi.info,
        &ssl_pseudo_label.info};
    *count = KINDS;
    return infos;
}

const ssl_kind *ssl_find(const char *name) {
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->info.name, name) == 0) return kinds[i];
    return NULL;
}

double ssl_ramp(size_t step, size_t ramp, size_t steps) {
    double last = ramp ? (double)ramp : 0.4 * (double)steps;
    double left = last > 0 ? 1 - fmin((double)step / last, 1) : 0;
    return exp(-5 * left * left);
}

size_t ssl_largest(const float *x, size_t n) {
    size_t at = 0;
    for (size_t k = 1; k < n; k++)
        if (x[k] > x[at]) at = k;
    return at;
}

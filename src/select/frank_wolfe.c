/* SPDX-License-Identifier: Apache-2.0 */
#include "select/frank_wolfe.h"

#include <math.h>
#include <string.h>

double select_walk_difference(double a, double b) {
    static const double ROUNDING = 1e-15;
    return fabs(a - b) > ROUNDING * fmax(fabs(a), fabs(b)) ? a - b : 0;
}

void select_walk_begin(select_walk *w) {
    memcpy(w->rest, w->goal, w->width * sizeof *w->rest);
}

double select_walk_stride(const select_walk *w, size_t place, const double *v) {
    double vertex = w->all / w->size[place], along = 0, square = 0;
    for (size_t s = 0; s < w->width; s++) {
        double way = vertex * v[s] - w->fit[s];
        along += way * w->rest[s];
        square += way * way;
    }
    return along > 0 && square > 0 ? fmin(along / square, 1) : 0;
}

void select_walk_step(select_walk *w, size_t place, const double *v, double stride) {
    double add = stride * (w->all / w->size[place]);
    if (stride == 1) { /* all earlier weights become 0 */
        for (size_t k = 0; k < w->n_held; k++) w->weight[w->held[k]] = 0;
        w->n_held = 0;
    }
    for (size_t k = 0; k < w->n_held; k++) w->weight[w->held[k]] *= 1 - stride;
    if (w->weight[place] == 0 && stride > 0) w->held[w->n_held++] = place;
    w->weight[place] += add;
    for (size_t s = 0; s < w->width; s++) {
        w->fit[s] = (1 - stride) * w->fit[s] + add * v[s];
        w->rest[s] = select_walk_difference(w->goal[s], w->fit[s]);
    }
}

double select_walk_length(const select_walk *w, const double *x) {
    double sum = 0;
    for (size_t s = 0; s < w->width; s++) sum += x[s] * x[s];
    return sqrt(sum);
}

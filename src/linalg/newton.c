/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops at a step below 1e-12 times the argument, at slope 0, or after STEPS steps.
 */
#include "linalg/newton.h"

#include <math.h>

scant_status la_convex_minimum(la_slope_fn fn, void *arg, double low, double high,
                               double start, double *out) {
    enum { STEPS = 200 };
    double s = start;
    la_slope at;
    *out = low;
    TRY(fn(arg, low, &at));
    if (at.first >= 0) return SCANT_OK;
    *out = high;
    TRY(fn(arg, high, &at));
    if (at.first <= 0) return SCANT_OK;
    for (int i = 0; i < STEPS; i++) {
        TRY(fn(arg, s, &at));
        *(at.first > 0 ? &high : &low) = s;
        double next = at.second > 0 ? s - at.first / at.second : low;
        if (!(next > low && next < high)) next = (low + high) / 2;
        double step = fabs(next - s);
        s = next;
        if (at.first == 0 || step < 1e-12 * s) break;
    }
    *out = s;
    return SCANT_OK;
}

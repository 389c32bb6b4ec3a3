/* SPDX-License-Identifier: Apache-2.0 */
#include "ssl/align.h"

#include "ssl/running.h"

static const double TINY = 1e-6;

void ssl_align_average(size_t n, size_t c, const float *probs, double decay, bool first,
                       float *mean) {
    for (size_t k = 0; k < c; k++)
        mean[k] = ssl_running(first ? 0 : decay, mean[k], ssl_mean(n, c, probs + k));
}

void ssl_align(size_t n, size_t c, const double *target, const float *mean,
               float *probs) {
    double all = 0;
    for (size_t k = 0; k < c; k++) all += target ? target[k] : 1;
    for (size_t i = 0; i < n; i++) {
        float *q = probs + i * c;
        double sum = 0;
        for (size_t k = 0; k < c; k++) {
            double wanted = (target ? target[k] : 1) / all;
            q[k] = (float)((double)q[k] * (wanted + TINY) / ((double)mean[k] + TINY));
            sum += (double)q[k];
        }
        for (size_t k = 0; k < c; k++) q[k] = (float)((double)q[k] / sum);
    }
}

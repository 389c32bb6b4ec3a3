/* SPDX-License-Identifier: Apache-2.0
 *
 * The test set: what --test names, or the data's own test part.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/net.h"
#include "scant/train.h"

size_t *net_labelled_rows(const scant_data *data, const size_t *rows, size_t n,
                          size_t *count) {
    const int32_t *labels = scant_data_labels(data);
    size_t *kept = cli_calloc(n, sizeof *kept);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = rows ? rows[i] : i;
        if (!labels || labels[row] >= 0) kept[(*count)++] = row;
    }
    return kept;
}

/* Numbers the classes of the test set as those of the training set. */
static int match_classes(net_job *job, const scant_data *data, scant_data *test) {
    size_t n;
    const char **names = net_data_names(data, &n);
    scant_status status = names ? scant_data_renumber(test, names, n) : SCANT_OK;
    free(names);
    return status == SCANT_OK ? CLI_DONE : net_failed(job, status);
}

int net_open_test(net_job *job, const net_samples *samples, const net_means *means,
                  const scant_data *data, net_test *test) {
    net_samples own = *samples;
    if (!test->spec && !scant_data_has_test(data)) return CLI_DONE;
    own.opts.labels = test->labels; /* --labels are those of --data */
    if (test->spec) own.spec = test->spec;
    int status = net_open_data(job, &own, means, true, &test->data);
    if (status == CLI_DONE) status = match_classes(job, data, test->data);
    if (status != CLI_DONE) return status;
    if (scant_data_labels(test->data) || scant_data_targets(test->data)) {
        test->rows =
            net_labelled_rows(test->data, NULL, scant_data_count(test->data), &test->n);
        if (test->n) return CLI_DONE;
    }
    cli_error("%s has no labels to evaluate with: give --test-labels FILE", own.spec);
    return CLI_BAD_INPUT;
}

int net_check_test(const net_test *test, const scant_net *network, size_t classes) {
    const int32_t *labels = scant_data_labels(test->data);
    size_t shape[3], wanted[3];
    scant_data_shape(test->data, shape);
    scant_net_shape(network, wanted);
    if (memcmp(shape, wanted, sizeof shape) != 0) {
        cli_error("%s: samples of %zux%zux%zu (channels, height, width), the network "
                  "takes %zux%zux%zu",
                  scant_data_name(test->data), shape[0], shape[1], shape[2], wanted[0],
                  wanted[1], wanted[2]);
        return CLI_BAD_INPUT;
    }
    for (size_t i = 0; labels && i < test->n; i++) {
        size_t row = test->rows[i];
        if ((size_t)labels[row] < classes) continue;
        cli_error("%s: sample %zu has label %d, but the samples to train on have %zu "
                  "classes (0 to %zu)",
                  test->labels ? test->labels : scant_data_name(test->data), row,
                  (int)labels[row], classes, classes - 1);
        return CLI_BAD_INPUT;
    }
    return CLI_DONE;
}

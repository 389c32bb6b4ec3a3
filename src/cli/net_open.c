/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens samples, and trained networks for them.
 */
#include "cli/net_args.h"
#include "core/number.h"

/* ---- samples ----------------------------------------------------------------------- */

scant_data *net_open_data(net_job *job, const net_args *a, bool test) {
    scant_data_opts opts = a->data_opts;
    scant_data *data;
    opts.test = test;
    opts.seed = a->common.seed;
    net_try(job, scant_data_open(job->ctx, a->data, &opts, &data));
    return data;
}

scant_data *net_open_part(net_job *job, const net_args *a) {
    bool test = net_is(a->part, "test");
    scant_data *data = net_open_data(job, a, test);
    if (test && !scant_data_has_test(data))
        cli_die(CLI_BAD_INPUT, "%s has no test part", a->data);
    net_check_samples(job, a, NULL, data, NULL);
    return data;
}

/* Opens a one-dimensional array; *n is 0 if it has another shape. */
static scant_array *open_list(net_job *job, const char *path, size_t *n) {
    scant_array *array;
    net_try(job, scant_array_open(job->ctx, path, &array));
    *n = scant_array_ndim(array) == 1 ? scant_array_shape(array)[0] : 0;
    return array;
}

static const char *shape_of(const scant_array *array) {
    enum { SIZE = 200 };
    return scant__shape_format(scant_array_shape(array), scant_array_ndim(array),
                               cli_calloc(SIZE, 1), SIZE);
}

size_t *net_read_rows(net_job *job, const char *path, const scant_data *data,
                      size_t *count) {
    size_t n, all = scant_data_count(data);
    *count = 0;
    if (!path) return NULL;
    scant_array *array = open_list(job, path, &n);
    if (!n)
        cli_die(CLI_BAD_INPUT,
                "%s: has shape %s, expected a list of one or more row numbers", path,
                shape_of(array));
    int64_t *read = cli_calloc(n, sizeof *read);
    size_t *rows = cli_calloc(n, sizeof *rows);
    net_try(job, scant_array_integers(job->ctx, array, 0, n, read));
    scant_array_free(array);
    for (size_t i = 0; i < n; i++) {
        if (read[i] < 0 || (uint64_t)read[i] >= all)
            cli_die(CLI_BAD_INPUT,
                    "%s: row %zu names sample %lld, but %s has %zu (0 to %zu)", path, i,
                    (long long)read[i], scant_data_name(data), all, all - 1);
        rows[i] = (size_t)read[i];
    }
    *count = n;
    return rows;
}

float *net_read_floats(net_job *job, const char *path, size_t n, const char *each) {
    size_t count;
    scant_array *array = open_list(job, path, &count);
    float *numbers = cli_calloc(n, sizeof *numbers);
    if (count != n)
        cli_die(CLI_BAD_INPUT, "%s: has shape %s, expected %zu numbers, one for each %s",
                path, shape_of(array), n, each);
    net_try(job, scant_array_floats(job->ctx, array, 0, n, numbers));
    scant_array_free(array);
    return numbers;
}

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

const char *net_labels_file(const net_args *a) {
    return a->data_opts.labels ? a->data_opts.labels : a->data;
}

void net_check_labels(const char *file, const char *owner, size_t classes,
                      const scant_data *data, const size_t *rows, size_t count) {
    const int32_t *labels = scant_data_labels(data);
    for (size_t i = 0; labels && i < count; i++) {
        size_t row = rows ? rows[i] : i;
        if (labels[row] >= 0 && (size_t)labels[row] >= classes)
            cli_die(CLI_BAD_INPUT,
                    "%s: sample %zu has label %d, but %s %zu classes (0 to %zu)", file,
                    row, (int)labels[row], owner, classes, classes - 1);
    }
}

/* ---- trained networks -------------------------------------------------------------- */

void net_open_both(net_job *job, net_args *a, scant_net **network, scant_data **data) {
    const char *path =
        a->from ? cli_format("%s/weights.safetensors", a->from) : a->weights;
    size_t shape[3];
    if (a->model) {
        *data = net_open_part(job, a);
        *network = net_open(job, a, path, *data);
        return;
    }
    *network = net_open(job, a, path, NULL);
    scant_net_shape(*network, shape);
    if (!a->data_opts.side && shape[1] == shape[2] && shape[1] > 1) {
        a->data_opts.side = shape[1];
        a->fitted = true;
    }
    if (scant_net_classes(*network) == 1) a->data_opts.regression = true;
    *data = net_open_part(job, a);
}

/* ---- the test set ------------------------------------------------------------------ */

void net_open_test(net_job *job, const net_args *a, const scant_data *data,
                   net_test *test) {
    net_args own = *a;
    if (!test->spec && !scant_data_has_test(data)) return;
    own.data_opts.labels = test->labels; /* --labels belongs to --data */
    if (test->spec) own.data = test->spec;
    test->data = net_open_data(job, &own, true);
    net_try(job, net_match(NULL, data, test->data));
    if (scant_data_labels(test->data) || scant_data_targets(test->data))
        test->rows =
            net_labelled_rows(test->data, NULL, scant_data_count(test->data), &test->n);
    if (!test->n)
        cli_die(CLI_BAD_INPUT,
                "%s has no labels to evaluate with: give --test-labels FILE", own.data);
}

void net_check_test(const net_test *test, const scant_net *network, size_t classes) {
    size_t shape[3], wanted[3];
    scant_data_shape(test->data, shape);
    scant_net_shape(network, wanted);
    if (memcmp(shape, wanted, sizeof shape) != 0)
        cli_die(CLI_BAD_INPUT,
                "%s: samples of %zux%zux%zu (channels, height, width), but the network "
                "reads %zux%zux%zu",
                scant_data_name(test->data), shape[0], shape[1], shape[2], wanted[0],
                wanted[1], wanted[2]);
    net_check_labels(test->labels ? test->labels : scant_data_name(test->data),
                     "the samples to train on have", classes, test->data, test->rows,
                     test->n);
}

/* ---- matching classes by name ------------------------------------------------------ */

const char **net_class_names(const scant_net *network, const scant_data *data,
                             size_t *n) {
    bool any = false;
    *n = network ? scant_net_classes(network) : scant_data_classes(data);
    const char **names = cli_calloc(*n, sizeof *names);
    for (size_t i = 0; i < *n; i++) {
        names[i] =
            network ? scant_net_class_name(network, i) : scant_data_class_name(data, i);
        any = any || names[i];
    }
    return any ? names : NULL;
}

scant_status net_match(const scant_net *network, const scant_data *like,
                       scant_data *data) {
    size_t n;
    const char **names = net_class_names(network, like, &n);
    return names ? scant_data_renumber(data, names, n) : SCANT_OK;
}

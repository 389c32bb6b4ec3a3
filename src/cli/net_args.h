/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and steps that the commands with a network share: train, embed and ntk. Other
 * commands use the context (net_job) and its errors. Errors end the program.
 */
#ifndef SCANT_CLI_NET_ARGS_H
#define SCANT_CLI_NET_ARGS_H

#include <string.h>

#include "cli/cli.h"
#include "cli/ui.h"
#include "scant/train.h"

typedef struct net_common {
    uint64_t seed;
    size_t threads, memory;
    bool quiet, progress;
} net_common;

typedef struct net_args {
    const char *data, *indices;
    scant_data_opts data_opts;
    const char *model, *weights;
    scant_net_opts net;
    const char *mean, *deviation; /* "0.5" or "0.5,0.4,0.4" */
    const char *from, *part;      /* not used by train */
    net_common common;
    bool fitted; /* --size is not given: data_opts.side is the network's */
} net_args;

#define NET_SAMPLES "Samples"
#define NET_NETWORK "Network ('scant models' lists them)"
#define NET_OUTPUT "Output"
#define NET_COMMON "General"

/* Tables of flags for the member `field`, a net_args, of the command's struct `type`. */
extern const scant_option net_data_rows[2], net_open_rows[3], net_model_rows[3],
    net_common_rows[5];
#define NET_DATA_FLAGS(type, field)                                                      \
    CLI_FLAGS_AT(net_data_rows, offsetof(type, field)),                                  \
        CLI_SHARED(scant_data_options, offsetof(type, field.data_opts))
#define NET_OPEN_FLAGS(type, field) CLI_FLAGS_AT(net_open_rows, offsetof(type, field))
#define NET_MODEL_FLAGS(type, field)                                                     \
    CLI_SHARED(scant_model_options, offsetof(type, field.net)),                          \
        CLI_FLAGS_AT(net_model_rows, offsetof(type, field))
/* The same for a net_common. */
#define NET_COMMON_FLAGS(type, field) CLI_FLAGS_AT(net_common_rows, offsetof(type, field))

/* The first member of a command's job: the context's callbacks get a pointer to it. */
typedef struct net_job {
    cli_ui ui;
    const cli_command *command;
    scant_ctx *ctx;
} net_job;

/* Whether text equals word; false if text is NULL. */
static inline bool net_is(const char *text, const char *word) {
    return text && strcmp(text, word) == 0;
}

/* ---- context and errors ---- */

/* Starts signal handling, messages and a context that is freed when the program ends.
 * progress NULL: the usual bar. */
void net_begin(net_job *job, const cli_command *command, const net_common *common,
               void (*progress)(void *user, const char *phase, double fraction));
/* Prints the error of a failed library call and returns the exit status. */
int net_failed(net_job *job, scant_status status);
/* Ends the program with that error unless status is SCANT_OK. */
void net_try(net_job *job, scant_status status);

/* ---- checking flags ---- */

/* Checks --from, --mean and --deviation. */
void net_check_args(const cli_command *command, const net_args *args);
/* Returns the first given flag that sets how a network is made; NULL: none. */
const char *net_option_of(const net_args *args);
/* Checks that the outputs can be written and do not overwrite another output, an input
 * (ins: inputs that are not in net_args) or a file of the training in --from. */
void net_check_outputs(const cli_command *command, const net_args *args,
                       const cli_path *outs, size_t n_outs, const cli_path *ins,
                       size_t n_ins);
/* Checks that --size and --count apply to the data or to the test set (other is its
 * spec; both may be NULL). */
void net_check_samples(const net_job *job, const net_args *args, const char *other,
                       const scant_data *data, const scant_data *other_data);

/* ---- samples and networks (net_open.c) ---- */

scant_data *net_open_data(net_job *job, const net_args *args, bool test);
/* Opens the part of the data that --part names. */
scant_data *net_open_part(net_job *job, const net_args *args);
/* Reads the row numbers in a file; NULL if path is NULL. */
size_t *net_read_rows(net_job *job, const char *path, const scant_data *data,
                      size_t *count);
/* Reads n numbers from a file. each: what one number belongs to, for messages. */
float *net_read_floats(net_job *job, const char *path, size_t n, const char *each);
/* Returns those of n rows of data (rows NULL: the first n) that have a label. */
size_t *net_labelled_rows(const scant_data *data, const size_t *rows, size_t n,
                          size_t *count);
/* Checks that the labels of n rows (rows NULL: the first n) are below classes. For
 * messages: file, the labels' file; owner, such as "the network has". */
void net_check_labels(const char *file, const char *owner, size_t classes,
                      const scant_data *data, const size_t *rows, size_t count);
/* Returns the file with the labels of --data. */
const char *net_labels_file(const net_args *args);

/* Makes a network to train on data: from --weights, or with random weights. */
scant_net *net_make(net_job *job, const net_args *args, const char *model,
                    const scant_data *data, size_t classes);
/* Opens a trained network. data (may be NULL) determines its input shape. */
scant_net *net_open(net_job *job, const net_args *args, const char *path,
                    const scant_data *data);
/* Opens the network of --from or --weights, and the data. Without --model, images are
 * resized for the network, and labels are numbers if it has one output. */
void net_open_both(net_job *job, net_args *args, scant_net **network, scant_data **data);

typedef struct net_test {
    const char *spec, *labels; /* as given; NULL: the data's own test part */
    scant_data *data;          /* NULL: no test set */
    size_t *rows, n;           /* samples that have a label */
} net_test;

/* Opens the test set of data, with the same class numbers. */
void net_open_test(net_job *job, const net_args *args, const scant_data *data,
                   net_test *test);
/* Checks that the network can read the test set and its labels are below classes. */
void net_check_test(const net_test *test, const scant_net *network, size_t classes);

/* ---- classes and evaluations ---- */

/* Returns the class names of network or, if it is NULL, of data; NULL: no names. The
 * names are borrowed. */
const char **net_class_names(const scant_net *network, const scant_data *data, size_t *n);
/* Renumbers the classes of data to match network or, if it is NULL, like; only if both
 * have class names. */
scant_status net_match(const scant_net *network, const scant_data *like,
                       scant_data *data);

/* Writes an evaluation as an object. numbers: regression; scaled: the calibration at a
 * given temperature, or one fitted to other samples; may be NULL. */
void net_json_evaluation(scant__json *json, const char *key, const scant_evaluation *e,
                         const scant_calibration *scaled, bool numbers);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands that run a network share (net.c): the flags that name samples, a network
 * and the means to work with, and opening what they name.
 */
#ifndef SCANT_CLI_NET_H
#define SCANT_CLI_NET_H

#include "cli/cli.h"
#include "cli/ui.h"
#include "scant/train.h"

/* Which samples. */
typedef struct net_samples {
    const char *spec, *indices;
    scant_data_opts opts;
} net_samples;

/* Which network. */
typedef struct net_model {
    const char *name, *weights;
    scant_net_opts opts;
    const char *mean, *deviation; /* "0.5" or "0.5,0.4,0.4" */
} net_model;

/* With what means. */
typedef struct net_means {
    uint64_t seed;
    size_t threads, memory;
    bool quiet, progress;
} net_means;

#define NET_SAMPLES "Samples"
#define NET_NETWORK "Network ('scant models' lists them)"
#define NET_OUTPUT "Output"
#define NET_MEANS "Means"

/* Tables of flags for these structs, field of a command's type. */
extern const scant_option net_sample_rows[2], net_model_rows[3], net_means_rows[5];
#define NET_SAMPLES_FLAGS(type, field)                                                   \
    CLI_FLAGS_AT(net_sample_rows, offsetof(type, field)),                                \
        CLI_SHARED(scant_data_options, offsetof(type, field.opts))
#define NET_MODEL_FLAGS(type, field)                                                     \
    CLI_SHARED(scant_model_options, offsetof(type, field.opts)),                         \
        CLI_FLAGS_AT(net_model_rows, offsetof(type, field))
#define NET_MEANS_FLAGS(type, field) CLI_FLAGS_AT(net_means_rows, offsetof(type, field))

/* What a job of such a command starts with, so that it can be the callbacks' user. */
typedef struct net_job {
    cli_ui ui;
    const cli_command *command;
    scant_ctx *ctx;
} net_job;

/* These return an exit status; what is not CLI_DONE has been said. */

/* Signals, messages, a context whose user is the job. progress NULL: the usual bar. */
int net_begin(net_job *job, const cli_command *command, const net_means *means,
              void (*progress)(void *user, const char *phase, double fraction));
/* Says why a call of the library failed. */
int net_failed(net_job *job, scant_status status);
int net_open_data(net_job *job, const net_samples *samples, const net_means *means,
                  bool test, scant_data **out);
/* The rows that --indices names, or none: *rows NULL. *rows is new: free(). */
int net_read_rows(net_job *job, const char *path, const scant_data *data, size_t **rows,
                  size_t *count);

/* Whether --mean and --deviation can be read, both or neither; CLI_USAGE. */
int net_check_scaling(const cli_command *command, const net_model *model);
/* Opens a file of weights, to train or as it is, and sets them where they are given:
 * what the library would assume is then of no interest. */
int net_open_weights(net_job *job, const net_model *model, const char *path,
                     const scant_net_opts *opts, bool train, scant_net **out);
/* Sets them, where they are given. */
int net_set_scaling(net_job *job, const net_model *model, scant_net *network);

/* ---- a network that is there, and samples for it (net_open.c) ---- */

/* What names them, of a command's own. */
typedef struct net_call {
    net_samples *samples;     /* side and regression follow the network */
    const net_samples *given; /* as in the call */
    const net_model *model;
    const net_means *means;
    const char *from, *part;
} net_call;

/* The first flag given that says how a network is made; NULL: none. */
const char *net_option_of(const net_model *model);
/* Whether --from says something against --weights, --model and the rest; CLI_USAGE. */
int net_check_from(const cli_command *command, const net_call *call);
/* Opens samples, and a network from a file or folder of weights for them (data NULL: they
 * do not matter). */
int net_open_part(net_job *job, const net_call *call, scant_data **out);
int net_open_network(net_job *job, const net_call *call, const char *path,
                     const scant_data *data, scant_net **out);
/* The network that --from or --weights name, and the samples. */
int net_open_both(net_job *job, const net_call *call, scant_net **network,
                  scant_data **data);
/* The file of weights that a folder of a training has, or the file itself; new. */
char *net_weights_of(const char *path);
/* Whether the labels of these samples (rows NULL: of all), where they have one, are
 * classes of the network; CLI_BAD_INPUT. */
int net_check_labels(const net_samples *samples, const scant_net *network,
                     const scant_data *data, const size_t *rows, size_t count);
/* That none of the outputs is a file of the training that --from names; CLI_USAGE. */
int net_check_training(const cli_command *command, const char *from, const cli_path *outs,
                       size_t n_outs);

/* ---- the test set (net_test.c) ---- */

/* Which of n rows of data (rows NULL: of the first n) have a label; new: free(). */
size_t *net_labelled_rows(const scant_data *data, const size_t *rows, size_t n,
                          size_t *count);

typedef struct net_test {
    const char *spec,
        *labels;      /* as in the call; NULL: the data's own part to test with */
    scant_data *data; /* NULL: there is none */
    size_t *rows, n;  /* those that have a label */
} net_test;

/* Opens them beside data, whose numbers of classes they get; what has no label at all is
 * an error. The caller ends data and rows, on failure, too. */
int net_open_test(net_job *job, const net_samples *samples, const net_means *means,
                  const scant_data *data, net_test *test);
/* Whether the network takes them and their labels are some of so many classes;
 * CLI_BAD_INPUT. */
int net_check_test(const net_test *test, const scant_net *network, size_t classes);

/* The names of a data's or a network's classes, n of them; NULL: none has a name. The
 * list is new, what it lists borrowed. */
const char **net_data_names(const scant_data *data, size_t *n);
const char **net_names(const scant_net *network, size_t *n);
/* As a JSON list, or null. */
void net_names_json(scant__text *text, const scant_net *network);

/* A judgement's members, "samples" to "bins", without braces; and "scaled", what
 * calibration is with a temperature of other samples, where it is not NULL. */
void net_evaluation_json(scant__text *text, const scant_evaluation *e,
                         const scant_calibration *scaled, bool numbers);

/* Whether flags of samples say something of these: --size of pictures in folders, --count
 * of what is drawn. other may be NULL. CLI_USAGE. */
int net_check_samples(const net_job *job, const net_samples *samples, const char *other,
                      const scant_data *data, const scant_data *other_data);

void net_end(net_job *job);

/* What a network is made with, of samples of that shape and so many classes. */
scant_net_opts net_options(const net_model *model, const scant_data *data, size_t classes,
                           uint64_t seed);

#endif

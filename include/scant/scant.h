/* SPDX-License-Identifier: Apache-2.0
 *
 * scant: which of your unlabelled samples are worth labelling?
 *
 * The public interface of libscant. What is not in this file is not API.
 *
 * A call that can fail returns a scant_status; the sentence that goes with a failure is
 * on the context: scant_ctx_errmsg(). Threads: a context, and what was made with it,
 * serves one thread at a time; two contexts in two threads do not meet. The library has
 * no global state, never prints and never exits. Callbacks run on the thread that made
 * the call.
 *
 * Zero in an options struct means "the default"; a NULL options pointer means all
 * defaults.
 */
#ifndef SCANT_H
#define SCANT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SCANT_API __attribute__((visibility("default")))
#else
#define SCANT_API
#endif

#define SCANT_VERSION_MAJOR 0
#define SCANT_VERSION_MINOR 1
#define SCANT_VERSION_PATCH 0

/* The version of the library that is running, as "0.1.0". */
SCANT_API const char *scant_version(void);

/* ---- status codes ------------------------------------------------------------------ */

/* name, what it means */
#define SCANT_STATUS_MAP(X)                                                              \
    X(OK, "success")                                                                     \
    X(EUSAGE, "the call is wrong")                                                       \
    X(EINPUT, "an input is wrong")                                                       \
    X(ENOMEM, "out of memory")                                                           \
    X(EIO, "a file cannot be written")                                                   \
    X(ECANCELLED, "cancelled")                                                           \
    X(EINTERNAL, "internal error")

typedef enum scant_status {
#define SCANT_STATUS_ENUM(name, text) SCANT_##name,
    SCANT_STATUS_MAP(SCANT_STATUS_ENUM)
#undef SCANT_STATUS_ENUM
} scant_status;

/* "EINPUT", and "an input is wrong". Static strings. */
SCANT_API const char *scant_status_name(scant_status status);
SCANT_API const char *scant_status_text(scant_status status);

/* Which of count names, that name_at() gives, a mistyped word was probably meant to be;
 * NULL: none is near. */
SCANT_API const char *scant_nearest(const char *word, const void *names, size_t count,
                                    const char *(*name_at)(const void *names, size_t i));

/* ---- context ----------------------------------------------------------------------- */

typedef struct scant_ctx scant_ctx;

typedef enum scant_log_level { SCANT_LOG_INFO = 1, SCANT_LOG_WARNING } scant_log_level;

typedef struct scant_ctx_opts {
    unsigned threads; /* 0: all cores that the process may use, or fewer where
                       * OMP_NUM_THREADS says so */
    /* Cap in bytes on what is allocated at once; 0: half of the machine's memory. */
    size_t memory;
    void *user; /* handed to every callback */
    void (*log)(void *user, scant_log_level level, const char *text);
    /* Called now and then with how much of phase is done (0 to 1). */
    void (*progress)(void *user, const char *phase, double fraction);
    /* Polled; non-zero ends the call under way with SCANT_ECANCELLED. */
    int (*cancel)(void *user);
    /* Both or neither. May return NULL; must align as malloc does. Unlike the other
     * callbacks these may be called by a thread of the library's; never two at once. */
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *block);
} scant_ctx_opts;

/* On SCANT_OK *out is a new context the caller ends with scant_ctx_destroy(); else NULL.
 */
SCANT_API scant_status scant_ctx_create(const scant_ctx_opts *opts, scant_ctx **out);
/* Everything made with ctx must be gone before. NULL is fine. */
SCANT_API void scant_ctx_destroy(scant_ctx *ctx);
/* What went wrong in the last call that failed. Borrowed: valid until the next call. */
SCANT_API const char *scant_ctx_errmsg(const scant_ctx *ctx);
SCANT_API unsigned scant_ctx_threads(const scant_ctx *ctx);
SCANT_API size_t scant_ctx_memory(const scant_ctx *ctx);      /* the cap, in bytes */
SCANT_API size_t scant_ctx_memory_peak(const scant_ctx *ctx); /* most ever held at once */

/* ---- arrays ------------------------------------------------------------------------ */

/* An n-dimensional array in C order, read-only. Memory-mapped where the file allows it.
 */
typedef struct scant_array scant_array;

typedef enum scant_dtype {
    SCANT_F16 = 1,
    SCANT_F32,
    SCANT_F64,
    SCANT_U8,
    SCANT_I8,
    SCANT_U16,
    SCANT_I16,
    SCANT_U32,
    SCANT_I32,
    SCANT_U64,
    SCANT_I64
} scant_dtype;

enum { SCANT_MAX_DIMS = 32 };

/* Opens "FILE.npy" or "FILE.npz:KEY" (":KEY" may be left out where the archive has one
 * member). The header is checked, the numbers are not. On SCANT_OK *out is a new handle
 * the caller ends with scant_array_close(); else NULL. The file must not shrink
 * meanwhile. */
SCANT_API scant_status scant_array_open(scant_ctx *ctx, const char *spec,
                                        scant_array **out);
/* Wraps the caller's memory (native byte order, C order), which must outlive the array.
 * name is copied; messages use it. */
SCANT_API scant_status scant_array_wrap(scant_ctx *ctx, const char *name,
                                        const void *data, scant_dtype dtype, size_t ndim,
                                        const size_t *shape, scant_array **out);
SCANT_API void scant_array_close(scant_array *array); /* NULL is fine */

SCANT_API const char *scant_array_name(const scant_array *array); /* borrowed */
SCANT_API scant_dtype scant_array_dtype(const scant_array *array);
SCANT_API size_t scant_array_ndim(const scant_array *array);
SCANT_API const size_t *scant_array_shape(const scant_array *array); /* borrowed */
/* Elements first to first + count - 1, in C order, of an array of integers; a number that
 * out cannot hold is an error. */
SCANT_API scant_status scant_array_integers(scant_ctx *ctx, const scant_array *array,
                                            size_t first, size_t count, int64_t *out);
/* The same of an array of any numbers, as floats; one that is not finite is an error. */
SCANT_API scant_status scant_array_floats(scant_ctx *ctx, const scant_array *array,
                                          size_t first, size_t count, float *out);

/* The array as the bytes of a .npy file. *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_array_encode(scant_ctx *ctx, const scant_array *array,
                                          void **bytes, size_t *size);
SCANT_API void scant_bytes_free(scant_ctx *ctx, void *bytes); /* NULL is fine */

/* Writes a file whole or not at all: a failure leaves what was at path untouched. A path
 * that is no regular file (a pipe, a device) is written straight. */
SCANT_API scant_status scant_file_write(scant_ctx *ctx, const char *path,
                                        const void *bytes, size_t size);

/* A .npy file that is written piece by piece, so that it need never be in memory whole.
 * It appears when it is closed, as scant_file_write() lets one appear. */
typedef struct scant_writer scant_writer;

/* On SCANT_OK *out is a new file of that shape, without its elements:
 * scant_writer_close() or scant_writer_abandon() ends it; else NULL. */
SCANT_API scant_status scant_writer_open(scant_ctx *ctx, const char *path,
                                         scant_dtype dtype, size_t ndim,
                                         const size_t *shape, scant_writer **out);
/* The next elements, native byte order, C order; no more in all than the shape has. */
SCANT_API scant_status scant_writer_append(scant_writer *writer, const void *data,
                                           size_t bytes);
/* Elements from byte `at` of all on, in any order, instead of append: each must come
 * once. A file that is no regular one cannot be written so: SCANT_EIO. */
SCANT_API scant_status scant_writer_put(scant_writer *writer, size_t at, const void *data,
                                        size_t bytes);
/* Puts the file in place, if all its elements have come and can be written; where not,
 * what was at path stays. The writer is gone in any case. */
SCANT_API scant_status scant_writer_close(scant_writer *writer);
SCANT_API void scant_writer_abandon(scant_writer *writer); /* NULL is fine */

/* The user's own names of rows: a text file with one a line, or a .npy (or .npz:KEY) of
 * strings, one-dimensional. Strings of .npy come out as UTF-8. */
typedef struct scant_ids scant_ids;
SCANT_API scant_status scant_ids_open(scant_ctx *ctx, const char *spec, scant_ids **out);
SCANT_API void scant_ids_close(scant_ids *ids); /* NULL is fine */
SCANT_API size_t scant_ids_count(const scant_ids *ids);
/* Borrowed until close, not terminated by a zero: *length says how long. */
SCANT_API const char *scant_ids_get(const scant_ids *ids, size_t row, size_t *length);

/* ---- samples ----------------------------------------------------------------------- */

/* What a network reads: n images or rows of features, with their labels where they are
 * known. Read-only. Pixels stay as bytes until they are used; pictures of a folder stay
 * in their files. */
typedef struct scant_data scant_data;

typedef struct scant_data_opts {
    /* A file of labels (.npy, .npz:KEY or IDX), of data that does not carry its own. */
    const char *labels;
    int test;       /* of data that has two parts, the one to test with */
    int regression; /* labels are numbers to predict, not classes */
    /* the data's own labels are not looked at; all columns of CSV are numbers */
    int unlabelled;
    size_t side;   /* of a picture of a folder, in pixels; 0: 224 */
    size_t count;  /* of moons, blobs, waves and heavy; 0: 1000 */
    uint64_t seed; /* likewise */
} scant_data_opts;

/* Opens what spec names: an array (.npy, .npz:KEY: n x d, n x h x w or n x h x w x c, u1
 * or f4), IDX or CIFAR-10/100 records (plain, .gz or .xz) or a folder of such records, a
 * CSV file of numbers with a column of labels, a folder of class folders or of pictures
 * (PNG, JPEG), or one of the names fashion-mnist, moons, blobs and, of numbers to
 * predict, waves, heavy. On SCANT_OK *out is new: scant_data_close() ends it; else NULL.
 */
SCANT_API scant_status scant_data_open(scant_ctx *ctx, const char *spec,
                                       const scant_data_opts *opts, scant_data **out);
SCANT_API void scant_data_close(scant_data *data); /* NULL is fine */

SCANT_API const char *scant_data_name(const scant_data *data); /* borrowed */
SCANT_API size_t scant_data_count(const scant_data *data);     /* n */
/* Channels, height, width; rows of d features are d, 1, 1. */
SCANT_API void scant_data_shape(const scant_data *data, size_t shape[3]);
/* The class of each sample, -1 where it is not labelled, or NULL where none is.
 * Borrowed. */
SCANT_API const int32_t *scant_data_labels(const scant_data *data);
/* What each sample's number is (regression), or NULL. Borrowed. */
SCANT_API const float *scant_data_targets(const scant_data *data);
/* One more than the largest label, or what the data says of itself; 0: no labels. */
SCANT_API size_t scant_data_classes(const scant_data *data);
/* Whether it has a part to test with, which scant_data_opts.test opens. */
SCANT_API int scant_data_has_test(const scant_data *data);
/* What a class or a sample is called (a folder's, a file's name, below spec); NULL where
 * it has no name. Borrowed. */
SCANT_API const char *scant_data_class_name(const scant_data *data, size_t label);
SCANT_API const char *scant_data_sample_name(const scant_data *data, size_t sample);
/* Folders and tables number the classes they hold, each for itself. Numbers them as in
 * names (n of them; NULL: one without a name), where data has names for its classes; else
 * it stays as it is. A sample of a class that is none of names: SCANT_EINPUT, and nothing
 * is changed. Not while another thread reads data. */
SCANT_API scant_status scant_data_renumber(scant_data *data, const char *const *names,
                                           size_t n);

/* ---- networks ---------------------------------------------------------------------- */

/* Bits: which options a model has beside those that all have. */
enum scant_model_option {
    SCANT_MODEL_WIDTH = 1 << 0,
    SCANT_MODEL_DEPTH = 1 << 1,
    SCANT_MODEL_NORM = 1 << 2,
    SCANT_MODEL_STEM = 1 << 3,
    SCANT_MODEL_HEAD = 1 << 4
};

typedef struct scant_model_info {
    const char *name;
    const char *summary; /* one line */
    size_t shape[3];     /* of a sample, where nothing else is said */
    size_t classes;      /* likewise */
    unsigned options;    /* scant_model_option bits */
} scant_model_info;

/* All models, in the order they are listed to people. Static. */
SCANT_API const scant_model_info *const *scant_models(size_t *count);

typedef struct scant_net_opts {
    size_t shape[3];        /* channels, height, width; all 0: the model's usual ones */
    size_t classes;         /* or numbers to predict */
    size_t width, depth;    /* of models that have them */
    const char *activation; /* relu, leaky, tanh, sigmoid, swish, relu6; NULL: its own */
    double dropout;         /* before the last layer (wrn: within blocks) */
    const char *norm;       /* batch (the default), folded or none */
    const char *stem;       /* small or original; NULL: by the size of the images */
    const char *head;       /* small (the default) or full */
    uint64_t seed;          /* of the weights that a network starts with */
    /* What is known of the last layer's weights (docs/bayesian.md). none (the default);
     * dropout: there is dropout before that layer, of rate 0.5 where dropout is 0, and
     * each way to drop is a draw of its weights; variational: they have a normal law,
     * whose deviations are trained, too. */
    const char *bayes;
    size_t samples;     /* draws that predictions are averaged over (100) */
    uint64_t draw_seed; /* of those draws */
    double prior;       /* variance of the weights' prior, of variational (1) */
    /* Width of a dense layer with rectifiers before the last one. The default is none;
     * with variational 256, where a model's features come straight from planes. */
    size_t hidden;
    int no_hidden; /* none, whatever the default */
} scant_net_opts;

/* How many numbers training such a network would change; none is made. */
SCANT_API scant_status scant_model_parameters(scant_ctx *ctx, const char *model,
                                              const scant_net_opts *opts, size_t *count);

/* A network and its weights. */
typedef struct scant_net scant_net;

/* On SCANT_OK *out is a new network with weights drawn from the seed (He et al., 2015):
 * scant_net_destroy() ends it; else NULL. */
SCANT_API scant_status scant_net_create(scant_ctx *ctx, const char *model,
                                        const scant_net_opts *opts, scant_net **out);
SCANT_API void scant_net_destroy(scant_net *net); /* NULL is fine */
/* How many numbers training changes. */
SCANT_API size_t scant_net_parameters(const scant_net *net);
SCANT_API void scant_net_shape(const scant_net *net, size_t shape[3]);
SCANT_API size_t scant_net_classes(const scant_net *net);
SCANT_API size_t scant_net_features(const scant_net *net); /* their width */

/* Weights as a safetensors file: names and shapes as torch has them, and in the file's
 * metadata what scant_net_open() needs. Whole or not at all. */
SCANT_API scant_status scant_net_save(scant_net *net, const char *path);
/* Takes weights from a file whose tensors have the network's names and shapes (of any
 * float type). Where they differ nothing is taken and the text lists the first
 * differences; with any_head the last layer may differ and is left as it is. */
SCANT_API scant_status scant_net_load(scant_net *net, const char *path, int any_head);
/* The network that a file of weights is of. model may be NULL where scant wrote the file;
 * else opts says what the file cannot (the images' size). Classes, norm, stem and head
 * follow from the file. */
SCANT_API scant_status scant_net_open(scant_ctx *ctx, const char *path, const char *model,
                                      const scant_net_opts *opts, scant_net **out);
/* A network to train, with opts->classes, that starts from a file's weights: width,
 * depth, activation, norm, stem and head follow from the file where opts does not say.
 * The last layer may be of other classes, and is then drawn anew. */
SCANT_API scant_status scant_net_start(scant_ctx *ctx, const char *path,
                                       const char *model, const scant_net_opts *opts,
                                       scant_net **out);
/* Weights drawn anew. */
SCANT_API scant_status scant_net_reset(scant_net *net, uint64_t seed);

/* Makes net an ensemble, or a larger one: predictions, evaluations and samples are then
 * of all its members, and all else that is done with net (training, saving, gradients) is
 * of it alone, the first. Members take the same samples and know the same classes; each
 * is trained by itself, before or after. On SCANT_OK net owns member; else it is still
 * the caller's. */
SCANT_API scant_status scant_net_join(scant_net *net, scant_net *member);
SCANT_API size_t scant_net_members(const scant_net *net); /* of no ensemble: 1 */
/* The first is net itself. Borrowed; NULL: there are not so many. */
SCANT_API scant_net *scant_net_member(scant_net *net, size_t i);

/* What is taken off each channel of a picture (whose values are 0 to 1) and what the rest
 * is divided by, before the network sees it: as many numbers as channels. Saved with the
 * weights. A new network has none; training sets the data's own mean and deviation where
 * nothing was said. */
SCANT_API scant_status scant_net_set_scaling(scant_net *net, const float *mean,
                                             const float *deviation);

/* Sets the data's own (of at most 10,000 samples), where nothing was said and samples are
 * pictures: what training does first, for networks that are looked at before. */
SCANT_API scant_status scant_net_fit_scaling(scant_net *net, const scant_data *data);

/* What a class is called, borrowed until names are set again; NULL: it has no name. */
SCANT_API const char *scant_net_class_name(const scant_net *net, size_t label);
/* names: scant_net_classes() of them, NULL for a class without one. Saved with the
 * weights, unless they take more than a megabyte. Training sets those that the data has,
 * where it has as many classes as the network. */
SCANT_API scant_status scant_net_set_class_names(scant_net *net,
                                                 const char *const *names);

typedef enum scant_stop {
    SCANT_STOP_EPOCHS = 1, /* as many epochs or steps as asked for */
    SCANT_STOP_UNTIL,      /* the training accuracy asked for */
    SCANT_STOP_PATIENCE,   /* no gain on the validation set */
    SCANT_STOP_CANCELLED
} scant_stop;

/* Where training stands: handed to the callback after every step, and the result. */
typedef struct scant_train_state {
    size_t epoch, epochs;  /* the one under way or just ended, from 1; how many at most */
    size_t step, steps;    /* done; how many at most */
    int epoch_ended;       /* this step was its epoch's last */
    double loss, accuracy; /* mean over the epoch so far */
    double lr;             /* of the last step */
    double valid_loss, valid_accuracy; /* of the last epoch; negative: none */
    /* of samples without labels, mean over the epoch so far; negative: there are none */
    double unlabelled_loss; /* before it is weighed */
    double kept;            /* the part of them that counted, 0 to 1 */
    double balance; /* entropy of their pseudo-labels, as a part of the largest: 1 is as
                     * many of each class */
    double seconds, samples_per_second;
    scant_stop stopped; /* 0: going on */
} scant_train_state;

/* How a method learns from samples without labels. Zero is the default; where methods
 * differ it is the method's (scant_methods()). */
typedef struct scant_ssl_opts {
    size_t mu;        /* samples without labels for each labelled one of a batch */
    double weight;    /* of their loss; negative: 0 */
    double threshold; /* pseudo-labels count where they are as sure as that */
    size_t ramp;      /* steps over which the weight grows (0.4 of them all) */
    int darp; /* FixMatch: pseudo-labels are refined to a distribution of classes */
    const double *darp_target; /* that: a part each, in the order of classes (uniform) */
    double
        darp_alpha; /* entries a class keeps, in parts of its count (2); negative: all */
    size_t darp_every;  /* steps between two refinements (10) */
    double darp_warmup; /* the part of all steps before the first (0.4); negative: 0 */
    size_t cut;         /* pixels a side of the square that a strong view hides (half) */
    double noise; /* of rows of features, in their deviations (0.3); negative: none */
    double drop;  /* the part of features a strong view loses (0.2); negative: none */
} scant_ssl_opts;

/* Zero is the default, which stands in brackets; with a method, what the method usually
 * has (scant_method_fill()). */
typedef struct scant_train_opts {
    const size_t *rows; /* samples to train on (all that have a label) */
    size_t n_rows;
    const int32_t *labels;    /* theirs, in the order of rows (the data's own) */
    const float *weights;     /* theirs: the loss of each is multiplied by its own (1) */
    int draw;                 /* instead of that, samples are drawn with P ~ weights */
    const scant_data *valid;  /* watched after every epoch (none) */
    const size_t *valid_rows; /* of it (all) */
    size_t n_valid_rows;
    const char *optimizer;  /* (sgd), adam */
    double lr;              /* (0.01; adam 0.001) */
    double momentum;        /* (0.9); negative: none */
    int nesterov;           /* negative: not, whatever the method has */
    double weight_decay;    /* (0); negative: none, whatever the method has */
    int decay_weights_only; /* not on biases and normalisation; negative: likewise */
    const char *schedule;   /* (constant), cosine, step (a tenth at 1/2 and at 3/4),
                             * fixmatch (7 pi / 16), late (a fifth at 4/5) */
    size_t warmup;          /* steps over which lr grows to its full (0) */
    double clip;            /* norm of the gradient at most (0: any) */
    double norm_momentum;   /* of a batch's statistics in the running ones, where the
                             * network normalises (0.1) */
    double ema;          /* decay of an average of the weights, which the network has in
                          * the end (0: none); negative: none, whatever the method has */
    size_t batch;        /* (128) */
    size_t epochs;       /* (10) */
    size_t steps;        /* instead of epochs */
    double until;        /* training accuracy of an epoch that ends it (0: none) */
    size_t patience;     /* epochs without gain on valid that end it (0: none) */
    const char *loss;    /* (ce), mse */
    const char *augment; /* (none), flip-crop, crop */
    uint64_t seed;
    /* a file written at the end and when cancelled, and after the report of an epoch
     * where a second has passed since it was (none) */
    const char *checkpoint;
    int only_cancelled;      /* that file is written when cancelled alone */
    int resume;              /* go on from that file where it is there */
    const char *resume_from; /* resume: from this one instead, which is left as it is */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
    /* learning from samples without labels, too */
    const char *method;       /* (supervised), and others: scant_methods() */
    const size_t *unlabelled; /* samples whose labels are not looked at (fixmatch: all of
                               * the data, the labelled too; other methods: all that are
                               * not trained on with a label; none of valid_rows, where
                               * these are of the same data) */
    size_t n_unlabelled;
    scant_ssl_opts ssl;
    /* the checkpoint of a training of the same network, perhaps with other labels, whose
     * weights, average, moments and stored pseudo-labels this one begins with (none) */
    const char *warm;
    const char *leave; /* a file for the warm of another: this training's end (none) */
} scant_train_opts;

typedef struct scant_method_info {
    const char *name;
    const char *summary; /* one line */
    const char *paper;
    scant_train_opts usual; /* what it uses where a training's options are zero; weight
                             * decay, ema and ssl.weight may be negative then: none */
} scant_method_info;

/* All methods of training, in the order they are listed to people. Static. */
SCANT_API const scant_method_info *const *scant_methods(size_t *count);
SCANT_API const scant_method_info *scant_method_find(const char *name); /* or NULL */
/* What scant_net_train() makes of options that are zero because they are the method's:
 * they get its usual values, of which a negative one is none. A rate and Nesterov's
 * momentum are an optimizer's: next to another than the usual one they stay as they are.
 * To be called twice changes nothing. */
SCANT_API void scant_method_fill(const scant_method_info *method, scant_train_opts *opts);
/* 0 itself, for an option whose zero is its default: 0 and less become -1. NaN stays, to
 * be refused. */
static inline double scant_or_none(double value) { return value <= 0 ? -1 : value; }

/* Trains net on data. Same seed, data and thread count: the same weights to the bit. A
 * cancelled call returns SCANT_ECANCELLED with the weights of the last step in net and in
 * the checkpoint. A loss that is not finite ends it with SCANT_EINPUT: net has the
 * weights of the last epoch that went well. state (may be NULL) is set in any case. */
SCANT_API scant_status scant_net_train(scant_net *net, const scant_data *data,
                                       const scant_train_opts *opts,
                                       scant_train_state *state);

/* What a network says of samples: arrays of the caller, NULL where not wanted. */
typedef struct scant_outputs {
    float *features;    /* n x scant_net_features() */
    float *logits;      /* n x classes */
    float *probs;       /* n x classes */
    float *calibrated;  /* n x classes: softmax(logits / temperature) */
    double temperature; /* above 0, where calibrated is wanted */
    float *samples;     /* scant_net_draws() x n x classes: what each draw says */
} scant_outputs;

/* rows: n samples of data, in any order; NULL: all (n is then their number). Evaluation
 * mode: running statistics, no dropout.
 *
 * Of a network with draws (scant_net_opts.bayes) and of an ensemble probs are the mean
 * over draws and members, and logits their logarithm, so that probs are softmax(logits)
 * and may be scaled by a temperature as others are. Where there is one output, a number,
 * logits are its mean. features are what goes into the (first member's) last layer. */
SCANT_API scant_status scant_net_predict(scant_net *net, const scant_data *data,
                                         const size_t *rows, size_t n,
                                         const scant_outputs *outputs);

/* How many draws: of a plain network 1, of an ensemble those of all members. */
SCANT_API size_t scant_net_draws(const scant_net *net);
/* Writes what each draw says, m x n x classes probabilities as float32, to a .npy file
 * (whole or not at all), block by block: it need not fit in memory. Draws are the same
 * for all samples: equal features give equal rows. Fails where there is one draw only, as
 * nothing can disagree, and where the network has one output, a number. */
SCANT_API scant_status scant_net_samples(scant_net *net, const scant_data *data,
                                         const size_t *rows, size_t n, const char *path);

/* Samples whose confidence, the largest probability, is in ((b - 1)/15, b/15]: bin b of
 * 15, b from 1 (Guo et al., 2017). What is a rounding error above a border is on it. */
enum { SCANT_CALIBRATION_BINS = 15 };
typedef struct scant_calibration_bin {
    size_t count;
    double confidence; /* mean of those in it; 0 of none */
    double accuracy;   /* likewise */
} scant_calibration_bin;

/* A reliability diagram, where probabilities are softmax(z / temperature). */
typedef struct scant_calibration {
    double temperature;
    double error; /* expected calibration error: |accuracy - confidence| of the bins, mean
                   * over samples */
    scant_calibration_bin bins[SCANT_CALIBRATION_BINS];
} scant_calibration;

typedef struct scant_evaluation {
    size_t samples;
    double loss;        /* cross-entropy; of numbers, mean squared error */
    double accuracy;    /* 0 to 1 */
    double calibration; /* expected calibration error, 15 bins (Guo et al., 2017) */
    double temperature; /* that softmax(z / T) is best with, fitted to these samples */
    scant_calibration_bin bins[SCANT_CALIBRATION_BINS]; /* that calibration is of */
} scant_evaluation;

SCANT_API scant_status scant_net_evaluate(scant_net *net, const scant_data *data,
                                          const size_t *rows, size_t n,
                                          scant_evaluation *out);
/* The same, and in the same pass what calibration is with a temperature (above 0). To
 * tell what scaling is worth it must have been fitted to other samples than these. Of
 * numbers scaled is all 0, but for the temperature. */
SCANT_API scant_status scant_net_evaluate_at(scant_net *net, const scant_data *data,
                                             const size_t *rows, size_t n,
                                             double temperature, scant_evaluation *out,
                                             scant_calibration *scaled);

/* Gradients of single samples by the network's trained parameters, in evaluation mode.
 * The loss is the cross-entropy of one sample, not divided by anything. */
typedef struct scant_gradient_opts {
    int last_layer;         /* by the last layer's parameters alone, not by all */
    const int32_t *labels;  /* of each sample, in the order of rows, for its loss (the
                             * class predicted) */
    const float *direction; /* of scant_net_parameters() numbers, for products, in the
                             * order that weights are saved in, what is not trained left
                             * out; last_layer: of that layer's alone, weights before
                             * bias */
    size_t sketch;          /* numbers of a sketch, below 2^31 */
    int outputs;   /* sketch the outputs' Jacobian (classes x sketch a sample) and
                    * not the loss's gradient; the rest is of the loss all the same */
    uint64_t seed; /* of the sketch: equal for all that are to be compared */
} scant_gradient_opts;

/* Arrays of the caller, NULL where not wanted. */
typedef struct scant_gradients {
    double *norms;    /* n squared norms */
    double *products; /* n inner products with the direction */
    float *sketches;  /* n x sketch, or n x classes x sketch: the mean over seeds of
                       * inner products of sketches is that of the gradients, their
                       * variance at most 2 |x|^2 |y|^2 / sketch */
    float *sum;       /* the gradients' sum: as many numbers as direction has */
    double *lengths;  /* n expected lengths: sum over classes y of p_y |gradient at y|,
                       * whatever labels are. A backward pass a class. */
} scant_gradients;

/* rows NULL: all of data (n is then their number). What is not asked for costs nothing;
 * norms and products together cost little more than either. opts may be NULL. Another
 * thread count may change the last bits (the network's own passes do), nothing else. On
 * failure the arrays are unspecified. Fails where a network's last layer is not trained
 * and last_layer is asked for, and where an output is not finite. */
SCANT_API scant_status scant_net_gradients(scant_net *net, const scant_data *data,
                                           const size_t *rows, size_t n,
                                           const scant_gradient_opts *opts,
                                           const scant_gradients *out);

/* The empirical neural tangent kernel between samples a (n rows of data) and b (m rows of
 * other): <df_c(a)/dw, df_c'(b)/dw> by the trained parameters w, or the last layer's. f
 * are the outputs before softmax. full: n x C by m x C, row a*C + c; else the mean over
 * c = c' (the trace of a block, divided by C), n x m. rows NULL: all. Symmetric to the
 * bit where both sides name the same samples. Memory stays below the cap for any n and m:
 * they are worked on in blocks. Thread counts and failures as above. */
SCANT_API scant_status scant_net_kernel(scant_net *net, const scant_data *data,
                                        const size_t *rows, size_t n,
                                        const scant_data *other, const size_t *other_rows,
                                        size_t m, int last_layer, int full, double *out);

/* ---- kernels: what they say of training -------------------------------------------- */

/* A kernel K of n samples, as scant_net_kernel() gives it for samples with themselves, in
 * the light of labels: its spectrum, and the quantities that theorems about training are
 * about (docs/kernels.md). Y is n x classes: a one where a sample has its class, else 0.
 * The loss is L = 1/2 |f - Y|^2, summed over samples and outputs, and descent is by the
 * whole of it: f moves by -rate K (f - Y) while the kernel stays as it is. */
typedef struct scant_study_opts {
    /* Rows of the kernel a sample: of a full one its classes, row sample * classes + c
     * (1: the mean over classes, which stands for every class). */
    size_t outputs;
    const float *start; /* n x classes: what a network says before training (all 0) */
    double rate;        /* of descent (1 / largest) */
    double tolerance; /* eigenvalues up to this part of the largest count as 0 (1e-10) */
    /* How far the kernel's numbers may be off, as a part of its mean diagonal entry:
     * eigenvalues that n^2 such errors explain count as 0, too (0: they are exact). */
    double noise;
} scant_study_opts;

/* That of scant_net_kernel(), whose products are taken in float. */
#define SCANT_KERNEL_NOISE 5e-7

/* Numbers that need labels are NaN where there are none. */
typedef struct scant_study {
    size_t samples, outputs; /* a kernel of samples * outputs rows */
    size_t labelled;         /* samples that have a class: Tr(Y^T Y) */
    /* The spectrum. */
    size_t n_values;
    const double *values; /* eigenvalues, largest first; negative ones are rounding */
    double trace, largest, smallest;
    double positive;  /* the least above tolerance times the largest; 0: K is 0 */
    double tolerance; /* that, as it was used */
    size_t rank;      /* how many are above it */
    double condition; /* largest / smallest; infinite where rank is below n_values */
    double positive_condition; /* largest / positive */
    double dimension; /* trace^2 / |K|^2: directions that hold most of the trace */
    /* Labels. energy: of Y in the direction of each eigenvector, sum over classes of
     * (v_i . Y^k)^2; start_energy: of start - Y, where all samples have a class. NULL:
     * there is none. */
    const double *energy, *start_energy;
    double rest, start_rest; /* energy in no direction listed (sketches); else 0 */
    double alignment;        /* A = Tr(Y^T K Y) */
    double alignment_part;   /* A / (labelled largest): 0 to 1 */
    double jitter;           /* what is added to K's diagonal for B; 0: it is definite */
    double bound;            /* B = sqrt(2 Tr(Y^T (K + jitter I)^-1 Y) / n) */
    /* Theorem 2 of dynamicAL, of K + jitter I: (n/2) B^2 is between low and low times a
     * factor, the paper's or Kantorovich's, which is never more. */
    double half_square, low;
    double factor, sharp_factor;
    /* Descent. */
    double rate;
    double stable_rate;     /* 2 / largest: above it the loss grows */
    double mean_rate;       /* the same for the loss |f - Y|^2 / (n classes) */
    double sufficient_rate; /* positive / largest^2: of the theorems' kind */
    double contraction;     /* 1 - rate positive: what |f - Y| shrinks by at least, a
                             * step, in directions that count */
    /* Steps until E_t^2 is a tenth, a hundredth of |Y|^2, and L (from start) of L at the
     * start; infinite: never, as part of Y is where K is 0, or the rate is too high. */
    double tenth, hundredth, start_tenth, start_hundredth;
    double dynamics; /* G = Tr((start - Y)^T K (start - Y)): how fast L falls; NaN without
                      * start */
} scant_study;

enum { SCANT_STUDY_ROWS = 30000 }; /* of a kernel, at most */

/* k: samples * outputs squared, symmetric; read, not changed. labels: -1 is none; NULL:
 * there are none, and classes is of no matter. On SCANT_OK *out is new:
 * scant_study_free() ends it; else NULL. SCANT_EINPUT where k is not finite or a label
 * is none of classes. The same bits at any thread count. About 10 n^3 operations. */
SCANT_API scant_status scant_study_kernel(scant_ctx *ctx, const double *k, size_t samples,
                                          const int32_t *labels, size_t classes,
                                          const scant_study_opts *opts,
                                          scant_study **out);
SCANT_API void scant_study_free(scant_ctx *ctx, scant_study *study); /* NULL is fine */
/* Bytes that it takes at most, k itself not counted. classes 0: without labels. */
SCANT_API size_t scant_study_memory(size_t samples, size_t classes, size_t outputs);

/* E_t^2 = |f_t - Y|^2 after t steps from f = 0, and theorem 1's ends of it, which hold
 * for t >= 1 and rates up to 1 / largest. NaN without labels. */
typedef struct scant_descent {
    double left, low, high;
} scant_descent;
SCANT_API scant_descent scant_study_descent(const scant_study *study, double rate,
                                            double t);
/* L after t steps from start, as the kernel predicts it; NaN where start is not known. */
SCANT_API double scant_study_loss(const scant_study *study, double rate, double t);

/* How far apart two sets of rows of a kernel (n, n) are, as distributions: sqrt(max(0,
 * MMD^2)) by the unbiased statistic. Rows that are in both sets are not compared with
 * themselves; a set with itself is 0. Of sets of fewer than two rows it is not known:
 * NaN. */
SCANT_API scant_status scant_kernel_mmd(scant_ctx *ctx, const double *k, size_t n,
                                        const size_t *s0, size_t m, const size_t *s,
                                        size_t count, double *out);

/* Whether alignment stands for the speed of training: both for S and a random Q together,
 * many times. S is the first rows of the kernel, Q is drawn from the others. */
typedef struct scant_agreement_opts {
    size_t sets;  /* how many Q (150) */
    size_t start; /* rows of S (500) */
    size_t draw;  /* rows of each Q (250) */
    uint64_t seed;
} scant_agreement_opts;

typedef struct scant_agreement {
    size_t sets, start, draw;
    double tau; /* Kendall's tau-b of the two; NaN: one of them never changes */
    double p;   /* of tau, two-sided, by the normal approximation; NaN likewise */
    const double *dynamics, *alignment; /* sets each */
} scant_agreement;

/* k (n, n), with a label each; f: n x classes outputs. On SCANT_OK *out is new:
 * scant_agreement_free() ends it; else NULL. */
SCANT_API scant_status scant_kernel_agreement(scant_ctx *ctx, const double *k, size_t n,
                                              const int32_t *labels, size_t classes,
                                              const float *f,
                                              const scant_agreement_opts *opts,
                                              scant_agreement **out);
SCANT_API void scant_agreement_free(scant_ctx *ctx, scant_agreement *agreement);

/* A study of a network's kernel that is never formed: of the K x K matrix of sketched
 * gradients, which has the same eigenvalues where it is not 0, up to the sketch's error.
 * For samples by the ten thousand. */
typedef struct scant_sketch_opts {
    size_t numbers; /* of a sketch: K */
    int last_layer; /* as of scant_net_kernel() */
    int full;       /* likewise */
    uint64_t seed;  /* of the sketch */
    double rate;    /* as of a study */
    double tolerance;
} scant_sketch_opts;

/* How far inner products are off, in the Frobenius norm, as a part of the kernel's own.
 */
typedef struct scant_sketch_error {
    size_t samples;       /* spread evenly, whose kernel was computed exactly, too */
    double error, second; /* there: of the sketch, and of an independent one */
    double expected; /* sqrt(2 / K) Tr(K) / |K| there: above the mean square's root */
} scant_sketch_error;

/* rows NULL: all of data. What cannot be told of a kernel of rank K at most, where there
 * are more samples than that, is NaN: the bound B, and theorem 2. The start is what the
 * network says. K^2 numbers a row of the kernel are added up. */
SCANT_API scant_status scant_study_sketch(scant_net *net, const scant_data *data,
                                          const size_t *rows, size_t n,
                                          const int32_t *labels,
                                          const scant_sketch_opts *opts,
                                          scant_study **out, scant_sketch_error *error);
/* Bytes that it takes beside a pass of the network. */
SCANT_API size_t scant_study_sketch_memory(const scant_net *net, size_t n,
                                           const scant_sketch_opts *opts);

/* Gradient descent on L = 1/2 |f - Y|^2 over all samples at once, in evaluation mode (the
 * running statistics stay), without momentum: what a kernel's predictions are of. */
typedef struct scant_net_descent_opts {
    int last_layer; /* only that layer's parameters move */
    size_t steps;   /* (100) */
    double rate;    /* (1 / the largest eigenvalue of the full kernel, which is found by
                     * power iteration) */
} scant_net_descent_opts;

/* losses (steps + 1): L before the first step and after each. labels: one a sample. *rate
 * (may be NULL): what was used. net is left as it is after the last step; where L is no
 * longer finite, SCANT_EINPUT. */
SCANT_API scant_status scant_net_descend(scant_net *net, const scant_data *data,
                                         const size_t *rows, size_t n,
                                         const int32_t *labels,
                                         const scant_net_descent_opts *opts,
                                         double *losses, double *rate);

/* ---- strategies -------------------------------------------------------------------- */

/* What a model says of a pool of n rows. NULL: not given. Only what a strategy needs is
 * read; give everything you have. */
typedef struct scant_evidence {
    const scant_array *features;   /* n x d embeddings: f2 f4 f8 u1 */
    const scant_array *probs;      /* n x C class probabilities: f2 f4 f8 */
    const scant_array *logits;     /* n x C, instead of probs */
    const scant_array *calibrated; /* n x C calibrated probabilities */
    const scant_array *gradients;  /* n x k gradient features */
    const scant_array *samples;    /* m x n x C posterior predictive samples */
    const scant_array *slopes;  /* n x 2, of gradients that need not be there: |g|^2, and
                                 * <g, sum of the labelled rows' g>. A labelled row's g
                                 * is at its label. */
    const scant_array *lengths; /* n expected lengths of gradients, likewise */
    const scant_array *labels;  /* n integers: the class of a labelled row, else -1 */
    const scant_array *candidates; /* k integers: only these rows may be picked */
    size_t rows;                   /* n, where no array tells it (random); else 0 */
    /* With logits, instead of calibrated: softmax(z / temperature), or a temperature that
     * is fitted to the labels of the rows that calibrate_on (k integers) lists. */
    double temperature; /* 0: none */
    const scant_array *calibrate_on;
} scant_evidence;

/* Bits. */
enum scant_evidence_kind {
    SCANT_FEATURES = 1 << 0,
    /* or logits */
    SCANT_PROBS = 1 << 1,
    /* or logits and a temperature */
    SCANT_CALIBRATED = 1 << 2,
    SCANT_GRADIENTS = 1 << 3,
    SCANT_SAMPLES = 1 << 4,
    /* beyond leaving labelled rows out */
    SCANT_LABELS = 1 << 5,
    /* only how many rows there are: any input tells it */
    SCANT_ROWS = 1 << 6,
    /* no matrix: what the last call of a strategy left for the next */
    SCANT_STATE = 1 << 7,
    /* Instead of what a strategy lists: scant_net_gradients() gives them of a whole
     * network. */
    SCANT_SLOPES = 1 << 8,
    SCANT_LENGTHS = 1 << 9
};

typedef enum scant_option_kind {
    SCANT_OPTION_SWITCH = 1, /* 0 or 1 */
    SCANT_OPTION_COUNT,      /* a whole number within [min, max] */
    SCANT_OPTION_NUMBER,     /* a number within [min, max]; "inf" where max is infinite */
    /* one of the words in choices, "a|b|c:K": K is a whole number within [min, max] */
    SCANT_OPTION_CHOICE
} scant_option_kind;

typedef struct scant_option {
    const char *key;
    scant_option_kind kind;
    const char *value; /* the default, as one would write it; NULL: the call decides */
    const char *otherwise; /* where value is NULL: how it does, for people */
    double min, max;
    int open; /* of a number: neither min nor max itself is allowed */
    const char *choices;
    const char *help;
    const char *kernel_value; /* the default of a call with a kernel; NULL: value */
} scant_option;

/* What a strategy may tell of a call beside its picks; not every call tells all. */
typedef struct scant_figure_info {
    const char *name;
    const char *help; /* one line */
} scant_figure_info;

typedef struct scant_strategy_info {
    const char *name;
    const char *summary; /* one line */
    const char *use;     /* when to take it */
    const char *paper;
    const char *score; /* what the score of a pick is */
    unsigned needs;    /* scant_evidence_kind bits that must be there */
    unsigned or_needs; /* or these, instead; 0: there is one way only */
    unsigned uses;     /* bits read when there, beyond needs */
    const scant_option *options;
    size_t n_options;
    const scant_figure_info *figures;
    size_t n_figures;
    int kernel; /* takes scant_select_opts.kernel */
} scant_strategy_info;

/* All strategies, in the order they are listed to people. Static. */
SCANT_API const scant_strategy_info *const *scant_strategies(size_t *count);
SCANT_API const scant_strategy_info *scant_strategy_find(const char *name); /* or NULL */

/* A strategy's own option as a person writes it. Strategies come and go without a change
 * of this header, so their options are named; each is checked against the strategy's
 * table. */
typedef struct scant_setting {
    const char *key, *value;
} scant_setting;

typedef struct scant_select_opts {
    uint64_t seed;
    const scant_setting *settings;
    size_t n_settings;
    /* What scant_picks of the call before held, for strategies that learn from call to
     * call (SCANT_STATE); NULL: this is the first. */
    const char *state;
    size_t state_size;
    const char *state_name; /* what messages call it; NULL: "the state" */
    /* How rows of features are compared, by strategies that can do it otherwise than by
     * inner products: "ntk:depth=K" is the tangent kernel of an infinitely wide network
     * with K layers of rectifiers, K from 1 to 100 (scant_ntk_kernel()). NULL: by them.
     */
    const char *kernel;
} scant_select_opts;

typedef struct scant_pick {
    size_t index; /* row of the pool, from 0 */
    double weight, score;
} scant_pick;

typedef struct scant_figure {
    const char *name;
    double value;
} scant_figure;

typedef struct scant_picks {
    const char *strategy;    /* its name; static */
    size_t count;            /* may be less than asked for: there were no more rows */
    size_t rows;             /* n */
    const scant_pick *items; /* best first */
    size_t n_settings;
    /* The strategy's options as they were used. A value is NULL where an option that has
     * no default was not given and nothing stood in for it. */
    const scant_setting *settings;
    size_t n_info;
    const scant_figure *info; /* figures, of those that the strategy lists */
    const char *state;        /* JSON, for the next call; NULL: there is none */
    size_t state_size;
    const char *kernel; /* as it was given; NULL: none */
} scant_picks;

/* Which evidence a call would read, of what is given, and what it lacks: bits of
 * scant_evidence_kind. For ways in that open only what is used. Fails where an option is
 * wrong. */
SCANT_API scant_status scant_select_inputs(scant_ctx *ctx, const char *strategy,
                                           const scant_select_opts *opts, unsigned given,
                                           unsigned *used, unsigned *missing);

/* Chooses up to batch rows to label next. Only unlabelled rows are picked, none twice.
 * opts may be NULL. On SCANT_OK *out is new: scant_picks_free() ends it; else NULL. Same
 * evidence, batch and opts give the same picks at any thread count. */
SCANT_API scant_status scant_select(scant_ctx *ctx, const char *strategy,
                                    const scant_evidence *evidence, size_t batch,
                                    const scant_select_opts *opts, scant_picks **out);
SCANT_API void scant_picks_free(scant_ctx *ctx, scant_picks *picks); /* NULL is fine */

typedef struct scant_plan {
    size_t rows, batch; /* n; how many will be picked */
    size_t block_rows;  /* rows read at a time by a thread */
    size_t blocks;      /* how many of them make the pool */
    /* Bytes that will be allocated at most. Features of extreme size (found by reading
     * them) need more, and are refused then if it is too much. */
    size_t memory;
    size_t passes;      /* over the inputs, at least; bounds may need a few more */
    size_t input_bytes; /* of the inputs that are read */
    unsigned used;      /* scant_evidence_kind bits */
} scant_plan;

/* What scant_select() would do; reads no more than headers, labels and candidates. Fails
 * as it would where the call or the shapes are wrong, and with SCANT_ENOMEM, plan filled,
 * where the cap is too small. */
SCANT_API scant_status scant_select_plan(scant_ctx *ctx, const char *strategy,
                                         const scant_evidence *evidence, size_t batch,
                                         const scant_select_opts *opts, scant_plan *plan);

/* ---- kernels ----------------------------------------------------------------------- */

/* The tangent kernel of an infinitely wide network with `depth` layers of rectifiers (1
 * to 100), fully connected and without biases, in closed form (Arora et al., 2019),
 * between the rows of two arrays of features of the same width: out (n, m), the caller's.
 * b NULL: a itself, and out is symmetric to the bit. A row with itself has (depth + 1)
 * |x|^2. Right to some 1e-14 of (depth + 1) |x| |x'|; the same at any thread count. On
 * failure out is unspecified. */
SCANT_API scant_status scant_ntk_kernel(scant_ctx *ctx, const scant_array *a,
                                        const scant_array *b, size_t depth, double *out);

/* Bytes that it takes at most, beside what is the caller's, for rows of floats or doubles
 * of that width: a room for each thread, and a megabyte. */
SCANT_API size_t scant_ntk_memory(const scant_ctx *ctx, size_t width);

/* The depth of a kernel as people write it, "ntk:depth=K"; SCANT_EUSAGE where text is
 * none.
 */
SCANT_API scant_status scant_kernel_parse(scant_ctx *ctx, const char *text,
                                          size_t *depth);

/* Regression with a kernel: alpha (n, c) = (K + ridge I)^-1 Y for K (n, n), symmetric, of
 * which the lower triangle is read, and targets Y (n, c). Where that matrix is singular
 * to rounding (a row twice, and no ridge) 1.5e-8 of its largest diagonal number, or ten
 * times that, and so on, is added to its diagonal, too: *jitter (may be NULL) says what,
 * 0 if nothing was. With neither, predictions at the rows themselves are the targets.
 * targets may be alpha. Holds n^2 doubles meanwhile. On failure alpha is unspecified. */
SCANT_API scant_status scant_kernel_fit(scant_ctx *ctx, const double *kernel, size_t n,
                                        const double *targets, size_t c, double ridge,
                                        double *alpha, double *jitter);
/* out (m, c) = K alpha for K (m, n): new rows against those that alpha was fitted to. */
SCANT_API scant_status scant_kernel_predict(scant_ctx *ctx, const double *kernel,
                                            size_t m, size_t n, const double *alpha,
                                            size_t c, double *out);

/* ---- experiments ------------------------------------------------------------------- */

/* Active learning played out against labels that are known: strategies side by side, a
 * run each and seed. What it is to be stands in an INI file; docs/experiments.md explains
 * the keys and the files that come out. */
typedef struct scant_experiment scant_experiment;

typedef struct scant_experiment_key {
    const char *section, *key;
    const char *value;   /* the default, as one would write it; "": see help */
    const char *choices; /* "a|b|c", or what a value is called */
    const char *help;
} scant_experiment_key;

/* The keys, those of a section together, from i = 0 on; NULL: there are no more.
 * Strategies' own options ("npc.candidates") stand in section "loop" beside them. Static.
 */
SCANT_API const scant_experiment_key *scant_experiment_key_at(size_t i);

/* Reads a file (NULL: none) and then settings, whose keys are "section.key" and which
 * override it. Everything is checked that can be without the samples: a failure names
 * where, what and, of an unknown key, the nearest known one. On SCANT_OK *out is new:
 * scant_experiment_close() ends it; else NULL. */
SCANT_API scant_status scant_experiment_open(scant_ctx *ctx, const char *path,
                                             const scant_setting *settings, size_t count,
                                             scant_experiment **out);
SCANT_API void scant_experiment_close(scant_experiment *experiment); /* NULL is fine */
/* The experiment as a file, with every default filled in: what is read from it is the
 * same experiment. *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_experiment_print(scant_experiment *experiment, void **bytes,
                                              size_t *size);

typedef enum scant_run_event_kind {
    SCANT_RUN_BEGIN = 1, /* a run begins, or goes on */
    SCANT_RUN_PROGRESS,  /* now and then, in between */
    SCANT_RUN_ROUND, /* a round is finished, and on disk; or was before, and is told */
    SCANT_RUN_END,   /* a run has had all its rounds, or there is nothing to pick */
    SCANT_RUN_FAILED /* a run could not go on; the others do */
} scant_run_event_kind;

typedef struct scant_run_event {
    scant_run_event_kind kind;
    size_t run, runs; /* which, from 0, of how many */
    const char *strategy;
    uint64_t seed;
    size_t round, rounds;
    size_t labels;
    double accuracy, loss; /* on the test set; negative: not known yet */
    /* of the training under way, or the round's: scant_train_state; negative: unknown */
    double train_loss, unlabelled_loss, kept, balance;
    const char *phase;    /* what is under way */
    double fraction;      /* of the run that is done */
    double seconds, left; /* spent on it in this call; probably needed; negative: ? */
    int before;           /* this round, or run, was finished by an earlier call */
    const char *text;     /* of a run that failed: why; else "" */
} scant_run_event;

typedef struct scant_run_opts {
    const char *out;  /* the folder for results; made where it is not there */
    int resume;       /* go on with what is in it */
    unsigned jobs;    /* runs side by side; 0: 1 */
    unsigned threads; /* of a run; 0: the context's, divided by jobs; to go on: as many
                       * as before, unless that is more than there are */
    int skip_bad;     /* pictures that cannot be read are left out */
    void *user;
    void (*report)(void *user, const scant_run_event *event);
} scant_run_opts;

/* Runs the experiment. State is on disk after every round: a call that was cancelled, or
 * killed, is gone on with by resume, and ends with the same curve.csv (times aside),
 * picks.csv, calibration.csv and theory.csv. The same experiment gives the same picks on
 * the same machine and number of threads a run, whatever jobs is.
 *
 * A run whose training diverges, or whose strategy cannot use what it is given, ends
 * alone: its rounds so far stay, the other runs go on, and the call ends with the first
 * such run's status and message. What else goes wrong ends all runs. */
SCANT_API scant_status scant_experiment_run(scant_experiment *experiment,
                                            const scant_run_opts *opts);

/* ---- projects ---------------------------------------------------------------------- */

/* People who label: samples where they are, labels in a database, models beside it. A
 * project is a folder with project.db (SQLite; docs/store.md has its schema and
 * promises), models/ and cache/, which can be deleted at any time.
 *
 * A handle serves one thread at a time, as its context does. Several handles may be open
 * on one project, of several threads and programs; each sees what the others have
 * finished, and writers wait for each other. Items are numbered from 0 in the order they
 * came and keep their numbers; a class is its place in the order classes were added.
 */
typedef struct scant_project scant_project;

/* Where items come from. One of images and features, or neither where the manifest names
 * pictures by their paths. */
typedef struct scant_source {
    const char *images;   /* a folder of pictures (those in folders of it, too), or else
                           * pictures as scant_data_open() takes them */
    const char *features; /* n x d numbers: .npy, .npz:KEY */
    /* CSV or JSONL, a line an item: id, and one of path, row and text; label, group.
     * Ids are otherwise paths below the folder, or rows' numbers. */
    const char *manifest;
} scant_source;

typedef struct scant_project_opts {
    scant_source source;
    const char *const *classes; /* their names, each once */
    size_t n_classes;
    const char *backbone; /* a model that pictures' features are read out of (none) */
    const char *weights;  /* its weights; with backbone */
    uint64_t seed;
    const scant_setting *settings; /* scant_project_key_at() */
    size_t n_settings;
} scant_project_opts;

/* Makes a project in dir, which must not be there, or be empty. Whole or not at all. On
 * SCANT_OK *out is open: scant_project_close() ends it; else NULL. */
SCANT_API scant_status scant_project_create(scant_ctx *ctx, const char *dir,
                                            const scant_project_opts *opts,
                                            scant_project **out);
/* SCANT_EINPUT where dir is no project, or one of a later version. One of an earlier
 * version is brought up to date first. */
SCANT_API scant_status scant_project_open(scant_ctx *ctx, const char *dir,
                                          scant_project **out);
SCANT_API void scant_project_close(scant_project *project); /* NULL is fine */

/* More items, in time proportional to what is new. A source that is a folder of the
 * project already, or none at all (source NULL: all folders), is looked through for
 * pictures that are new. *added (may be NULL): how many. Ids must not be there yet. */
SCANT_API scant_status scant_project_add(scant_project *project,
                                         const scant_source *source, size_t *added);

/* What can be set, and its default. From i = 0 on; NULL: there are no more. Static. */
typedef struct scant_project_key {
    const char *key, *value, *choices, *help;
} scant_project_key;
SCANT_API const scant_project_key *scant_project_key_at(size_t i);
/* SCANT_EUSAGE where it must not be that; also where there are answers and it would
 * change which items are withheld (audit_most; audit_every to 0 or from 0). */
SCANT_API scant_status scant_project_set(scant_project *project, const char *key,
                                         const char *value);
/* Several: all or none. */
SCANT_API scant_status scant_project_set_all(scant_project *project,
                                             const scant_setting *settings, size_t n);
/* Borrowed until it is set; NULL: there is no such key. */
SCANT_API const char *scant_project_get(scant_project *project, const char *key);

/* What is in it. Counts are of items, but for entries. */
typedef struct scant_project_info {
    const char *dir;  /* borrowed, as all below, until close */
    const char *kind; /* "pictures", "features" (rows of numbers), "texts" */
    const char *key;  /* random, made once: whether two are the same project */
    size_t items;
    size_t copies;   /* of others, to the byte: their labels follow from those */
    size_t classes;  /* how many */
    size_t people;   /* how many */
    size_t entries;  /* lines of the history */
    size_t labelled; /* have a label that people agree on, and are no copies */
    size_t training; /* of those, what a model learns from: the others are audited */
    int learnable;   /* these have two classes at least */
    size_t disputed; /* have answers that differ */
    size_t skipped, unsure; /* have such an answer and no label */
    size_t withheld;        /* kept apart for the audit */
    size_t audited; /* of those, have a label, as have all before them in the audit order
                     * that nobody passed over: a fair sample */
    size_t rounds, models;  /* how many */
    size_t round_model;     /* that the last round was picked by; 0: none */
    size_t picked, waiting; /* of the last round; of these, have no answer yet */
    size_t untrained;       /* labels to learn from since the last model */
    int64_t created;        /* milliseconds since 1970 */
} scant_project_info;
SCANT_API scant_status scant_project_info_get(scant_project *project,
                                              scant_project_info *out);

/* Borrowed until the project is next changed or closed; NULL: there is no such class. */
SCANT_API const char *scant_project_class(scant_project *project, size_t label);
/* SCANT_EUSAGE where there is one of that name. *label may be NULL. */
SCANT_API scant_status scant_project_class_add(scant_project *project, const char *name,
                                               size_t *label);

/* ---- items of a project ---- */

typedef enum scant_answer_kind {
    SCANT_ANSWER_LABEL = 1,
    SCANT_ANSWER_SKIP,   /* not now, not by me */
    SCANT_ANSWER_UNSURE, /* looked at, and not to be told */
    SCANT_ANSWER_UNDO    /* takes an earlier entry back; of the history alone */
} scant_answer_kind;

typedef struct scant_item {
    size_t item;       /* its number */
    const char *id;    /* the user's */
    const char *path;  /* of its picture, below its source; NULL: it has none */
    const char *text;  /* NULL: it has none */
    const char *group; /* NULL: it is in none */
    size_t copy_of;    /* itself, where it is no copy */
    int audit;         /* withheld for the audit */
    int64_t label;     /* the class, or -1: none, or answers differ */
    size_t answers;    /* that stand: people who gave a label */
    int disputed;
    /* SCANT_ANSWER_LABEL: there is a label. Else _UNSURE, or _SKIP, where that is all
     * that was said of it; 0: nothing was, or answers differ. */
    scant_answer_kind answer;
} scant_item;

/* Calls fn for items first .. first + count - 1 (SIZE_MAX: to the last) in order; it ends
 * early where fn returns other than SCANT_OK, with that. What item points to is valid
 * within the call of fn, which must not use the project. */
SCANT_API scant_status
scant_project_items(scant_project *project, size_t first, size_t count,
                    scant_status (*fn)(void *user, const scant_item *item), void *user);
/* One of them; strings are borrowed until the next call for the project. */
SCANT_API scant_status scant_project_item(scant_project *project, size_t item,
                                          scant_item *out);
/* The number of the item with an id; SCANT_EINPUT where there is none. */
SCANT_API scant_status scant_project_find(scant_project *project, const char *id,
                                          size_t *item);
/* labels: of each item the class, -1 where it has none or is withheld for the audit. The
 * caller's array of as many as there are items. Copies have their original's. */
SCANT_API scant_status scant_project_labels(scant_project *project, int64_t *labels,
                                            size_t n);

/* An item's picture as a file, JPEG or PNG, none of its sides longer than `most` pixels,
 * upright. *type is "image/jpeg" or "image/png", static. *bytes is new:
 * scant_bytes_free() ends it. SCANT_EINPUT where it has none or it cannot be read. */
SCANT_API scant_status scant_project_picture(scant_project *project, size_t item,
                                             size_t most, void **bytes, size_t *size,
                                             const char **type);

/* ---- people and their answers ---- */

/* Why an item was handed out. */
typedef enum scant_role {
    SCANT_ROLE_PICK = 1, /* by a strategy, in a round */
    SCANT_ROLE_AUDIT,    /* by the audit order */
    SCANT_ROLE_OVERLAP,  /* for a second opinion */
    SCANT_ROLE_FILL,     /* as there was no pick left: further down the last ranking, or
                          * at random */
    SCANT_ROLE_ALIKE,    /* next to another, in a grid */
    SCANT_ROLE_IMPORT    /* from a file */
} scant_role;
SCANT_API const char *scant_role_name(scant_role role); /* "pick"; static */

/* The number of a person, who is added where the name is new. Names are not empty, at
 * most 100 bytes of UTF-8, without control characters, those that change the direction of
 * writing, and blanks at their ends; so are those of classes, of 200 bytes. */
SCANT_API scant_status scant_project_person(scant_project *project, const char *name,
                                            size_t *person);
/* Borrowed until the next call for the project; NULL: there is no such person. */
SCANT_API const char *scant_project_person_name(scant_project *project, size_t person);

typedef struct scant_person {
    size_t person; /* number, from 1 on */
    const char *name;
    size_t answers; /* of theirs that stand: labels, skips and unsures */
} scant_person;
/* Calls fn for everybody, in the order of their numbers, as scant_project_items() does.
 * These counts are kept: it takes time for the people, not for their answers. */
SCANT_API scant_status scant_project_people(
    scant_project *project, scant_status (*fn)(void *user, const scant_person *person),
    void *user);

/* An item that is a person's to answer until a time. */
typedef struct scant_lease {
    size_t item;
    uint64_t key;  /* names the lease; never 0 */
    int64_t until; /* milliseconds since 1970 */
    scant_role role;
    size_t round; /* 0: none */
} scant_lease;

/* Up to `count` items for a person to answer: what is leased to that person already, then
 * new ones. No item is leased to two people at once, and nobody gets one again that they
 * have answered. In order: second opinions that are due (setting overlap), one of the
 * audit order in every audit_every, picks of the last round, what came next in its
 * ranking, any other at random. *n may be less: there are no more. */
SCANT_API scant_status scant_project_next(scant_project *project, size_t person,
                                          size_t count, scant_lease *leases, size_t *n);
/* Leases these items to a person, those of them that may be: no copies, not withheld, not
 * leased to another, without an answer. For a grid of look-alikes. */
SCANT_API scant_status scant_project_take(scant_project *project, size_t person,
                                          const size_t *items, size_t n_items,
                                          scant_lease *leases, size_t *n);
/* Leases whose keys are given last as long as new ones again; *kept: how many are still
 * the person's. Keys NULL: all of theirs. */
SCANT_API scant_status scant_project_renew(scant_project *project, size_t person,
                                           const uint64_t *keys, size_t n_keys,
                                           size_t *kept);
/* Leases that end: others may have the items. Keys NULL: all of theirs. */
SCANT_API scant_status scant_project_release(scant_project *project, size_t person,
                                             const uint64_t *keys, size_t n_keys);

typedef struct scant_answer {
    size_t item;
    scant_answer_kind kind; /* no undo */
    size_t label;           /* the class, of a label */
    int64_t spent;          /* milliseconds that it took; negative: nobody knows */
    uint64_t lease;         /* the key it was handed out with; 0: none */
    /* Chosen by whoever asks, at most 64 bytes: an answer that comes again with the same
     * one is stored once. NULL: none. */
    const char *once;
} scant_answer;

typedef struct scant_receipt {
    int64_t entry; /* of the history */
    int repeated;  /* it was there already */
} scant_receipt;

/* Stores answers, all or none; when it returns SCANT_OK they are on the disk. An answer
 * replaces what the person said of the item before. It may come when its lease has run
 * out, unless somebody else has the item or has answered it meanwhile (and overlap does
 * not ask for more): SCANT_EUSAGE then, and the message says so. Without a lease an
 * answer may only replace one of the person's own. SCANT_EIO where the disk is full:
 * nothing is stored. receipts: n, may be NULL. */
SCANT_API scant_status scant_project_answer(scant_project *project, size_t person,
                                            const scant_answer *answers, size_t n,
                                            scant_receipt *receipts);
/* Takes back an entry of a person's that stands (which; 0: the last), as a new entry; the
 * item is leased to them again (key 0: it is not, as somebody else has it or no more
 * answers are needed). What that entry had replaced does not stand again. *entry: the one
 * that is taken back. SCANT_EUSAGE where there is none. once: as above. */
SCANT_API scant_status scant_project_undo(scant_project *project, size_t person,
                                          int64_t which, const char *once, int64_t *entry,
                                          scant_lease *lease);
/* What a person says of an item (of a copy: of its original) that stands: a label, or -1,
 * of that entry; *entry 0: nothing. */
SCANT_API scant_status scant_project_said(scant_project *project, size_t person,
                                          size_t item, int64_t *entry,
                                          scant_answer_kind *kind, int64_t *label);

/* A line of the history, which only grows. */
typedef struct scant_entry {
    int64_t entry;
    size_t item;
    const char *id, *person;
    scant_answer_kind kind;
    int64_t label; /* -1: none */
    const char *class_name;
    int64_t at, spent; /* milliseconds; spent negative: not known */
    scant_role role;
    size_t round, model; /* that the item was proposed by; 0: none */
    int64_t undoes;      /* of an undo: which entry; else 0 */
    int stands;          /* an answer that is neither taken back nor replaced */
} scant_entry;

/* Calls fn for the entries after `after`, oldest first, of a person (SIZE_MAX: all);
 * newest: the other way round, before `after` (0: from the last). At most `count`.
 * Otherwise as scant_project_items(). */
SCANT_API scant_status scant_project_history(
    scant_project *project, size_t person, int64_t after, int newest, size_t count,
    scant_status (*fn)(void *user, const scant_entry *entry), void *user);

/* What came from a file of labels. */
typedef struct scant_import {
    size_t lines, stored, repeated; /* repeated: that answer was there already */
    size_t others;  /* of those stored: no labels, but skips and unsures */
    size_t older;   /* not stored: its person has said otherwise after that time, or
                     * taken back an answer */
    size_t unknown; /* ids that are not in the project */
    const char *const *unknown_ids; /* all of them; borrowed until the next import */
} scant_import;
/* Labels from CSV (id,label; answer, annotator, time), JSONL (the same) or Label Studio's
 * JSON; an answer may be label, skip or unsure, the last two without a label.
 * All or none: SCANT_EINPUT where an id or a class is not known, unless partial, which
 * leaves those lines out. A new class is none, unless add_classes. person: who is said to
 * have labelled what names nobody. Where a line has a time, and its person has given
 * another answer to the item after it, that answer stays. */
typedef struct scant_import_opts {
    const char *person; /* ("import") */
    int partial, add_classes;
} scant_import_opts;
SCANT_API scant_status scant_project_import(scant_project *project, const char *path,
                                            const scant_import_opts *opts,
                                            scant_import *out);

/* Agreement of people on items that both have answered. */
typedef struct scant_agreement_of {
    const char *a, *b; /* people */
    size_t items;
    double agreed; /* the part of them */
    double kappa;  /* Cohen's; NaN where it is not defined */
} scant_agreement_of;
SCANT_API scant_status scant_project_agreements(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_agreement_of *pair), void *user);

/* ---- models and rounds ---- */

/* Fills cache/ with what items' features are, where they are of a backbone or of a file:
 * only what is not there yet. Called by whatever needs it. */
SCANT_API scant_status scant_project_prepare(scant_project *project);

typedef struct scant_project_train_opts {
    uint64_t seed; /* (the project's, and the model's number) */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
} scant_project_train_opts;

/* Trains a model on the labels there are (of no withheld item), keeps it in models/, its
 * predictions in cache/, and what the audit says of it in the database. SCANT_EUSAGE
 * where there are labels of fewer than two classes. While another program trains,
 * SCANT_EUSAGE and a message that says who. *model: its number, from 1; may be NULL. */
SCANT_API scant_status scant_project_train(scant_project *project,
                                           const scant_project_train_opts *opts,
                                           size_t *model);

typedef struct scant_project_query_opts {
    const char *strategy; /* (the setting strategy; random before the first model) */
    size_t batch;         /* (the setting batch) */
    size_t spare;         /* further rows of the ranking, to fall back on (none) */
    uint64_t seed;        /* (the project's, and the round's number) */
    const scant_setting *settings; /* of the strategy */
    size_t n_settings;
} scant_project_query_opts;

/* Picks items to label next, by the last model, and keeps them as a round. *out is new:
 * scant_picks_free() ends it; its rows are items. *round may be NULL. Where no item is
 * left to pick that is no failure: *out is NULL, and there is no round (0). */
SCANT_API scant_status scant_project_query(scant_project *project,
                                           const scant_project_query_opts *opts,
                                           scant_picks **out, size_t *round);
/* Withheld items that belong among `batch` to be labelled, where they are not handed out
 * by scant_project_next(): the next of the audit order that nobody has answered, then
 * those that were passed over, as many as bring the audited part of all labels to one in
 * audit_every; at most half of the batch.
 * items: the caller's array of batch. */
SCANT_API scant_status scant_project_audit(scant_project *project, size_t batch,
                                           size_t *items, size_t *n);

/* What the last model says of all items: n x classes probabilities, float32. *out is a
 * new array, mapped from cache/, and made anew where it is not there:
 * scant_array_close() ends it. *model: which. SCANT_EUSAGE where there is no model. */
SCANT_API scant_status scant_project_predict(scant_project *project, scant_array **out,
                                             size_t *model);
/* The same as far as cache/ has it, without asking a network: it takes no time, but there
 * may be fewer rows than items, and fewer columns than classes. *out NULL: there is
 * nothing, *model 0: nor a model. */
SCANT_API scant_status scant_project_predicted(scant_project *project, scant_array **out,
                                               size_t *model);
/* The class that a row of probabilities, or of logits, says: the largest, of several the
 * first. */
SCANT_API size_t scant_likeliest(const float *row, size_t classes);
/* Items' features, likewise: their own, or those of the last model; NULL: there are none
 * yet. Fewer rows than items: a backbone has not seen the others, which
 * scant_project_prepare() would show it. */
SCANT_API scant_status scant_project_features(scant_project *project, scant_array **out);

/* Where a model stands on the audited items: an unbiased sample of the pool that it has
 * not learned from. NaN: not known. */
typedef struct scant_model_point {
    size_t model; /* number */
    size_t round; /* that its labels end with */
    int64_t at;
    size_t labels;              /* it was trained on */
    size_t audited, right;      /* items with a label now; the model is right on */
    double accuracy, low, high; /* with its 95 % interval (Clopper and Pearson, 1934) */
    double agreement; /* with the model before: the part of the unlabelled items on which
                       * both say the same */
    double seconds;   /* that training took */
    const char *file; /* of its weights, below the project's folder */
} scant_model_point;
SCANT_API scant_status scant_project_models(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_model_point *point), void *user);

typedef struct scant_round_point {
    size_t round;
    int64_t at;
    const char *strategy;
    size_t model;            /* that it was picked by; 0: none */
    size_t picked, answered; /* items */
} scant_round_point;
SCANT_API scant_status scant_project_rounds(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_round_point *point), void *user);
/* The last round's picks, best first, those to fall back on not among them. items: the
 * caller's array of `room`; *n: how many there are, of which so many as fit are set; 0:
 * there is no round. */
SCANT_API scant_status scant_project_picked(scant_project *project, size_t room,
                                            size_t *items, size_t *n);

/* The honest meter (docs/projects.md): how good the last model is, and whether to go on.
 */
typedef struct scant_meter {
    scant_model_point last; /* model 0: there is none */
    size_t left_out; /* drawn like the audited items, but nobody could tell, people passed
                      * them over or disagree: the accuracy is without them */
    size_t added;    /* items that came after the last model: it is not judged on them */
    /* What picking is worth: the accuracy of a model on the project's first labels, half
     * of them and more picked by a strategy, over that of models on as many audited
     * (random) ones, each asked about audited items that it has not seen; paired, with a
     * 95 % interval (for these labels: not for other draws). NaN: not known. */
    double over_random, over_random_low, over_random_high;
    size_t over_random_labels;
    /* What ten more labels have brought lately, in accuracy on the audited items (the
     * last models that span stop_labels labels); NaN: not known. */
    double per_ten, per_ten_high; /* high: of its 95 % interval */
    int narrow;   /* the interval is no wider than the setting stop_width */
    int fading;   /* per_ten is below stop_gain */
    int agreeing; /* the last two pairs of models agree on stop_agreement and more */
    int stop;     /* all three, and no items came after the last model */
} scant_meter;
SCANT_API scant_status scant_project_meter(scant_project *project, scant_meter *out);
/* The same in words: a paragraph each of how good, what picking is worth, and whether to
 * go on. *text is new, ended by a zero: scant_bytes_free() ends it. */
SCANT_API scant_status scant_project_advice(scant_project *project,
                                            const scant_meter *meter, char **text);

/* Why an item might be asked about. */
enum { SCANT_WHY_NEIGHBOURS = 6 };
typedef struct scant_why {
    size_t model;             /* 0: none yet, and what needs one is NaN */
    int64_t class_1, class_2; /* what it holds most likely; -1: not asked yet */
    double p_1, p_2;
    double entropy;      /* of its probabilities, as a part of the largest there can be */
    double surer;        /* the part of all items that the model is surer of */
    double novelty;      /* distance to the nearest labelled item, by features */
    double newer;        /* the part of (a sample of) unlabelled items that are farther */
    size_t n_neighbours; /* labelled ones, nearest first */
    size_t neighbours[SCANT_WHY_NEIGHBOURS];
    double distances[SCANT_WHY_NEIGHBOURS];
} scant_why;
SCANT_API scant_status scant_project_why(scant_project *project, size_t item,
                                         scant_why *out);
/* Items nearest to one by their features that have no answer, are no copies and not
 * withheld; nearest first, the item itself not among them. SCANT_EUSAGE where there are
 * no features yet. */
SCANT_API scant_status scant_project_alike(scant_project *project, size_t item,
                                           size_t count, size_t *items, size_t *n);

/* Items in two dimensions, by the first two principal components of their features: all,
 * or an even sample of at most `most` beside those that are labelled or were picked last.
 * items (most), xy (2 * most): the caller's; *n of them are set. */
SCANT_API scant_status scant_project_map(scant_project *project, size_t most,
                                         size_t *items, float *xy, size_t *n);

/* All items, or their labels, for other programs: "csv", "jsonl", "label-studio"
 * (what has answers or a prediction, as its import reads it), "npy" (n int64: the class,
 * else -1).
 * Complete: withheld items and copies, too; ids, annotator, time, and of what has no
 * label what the last model says and how sure it is. *bytes is new: scant_bytes_free()
 * ends it. */
SCANT_API scant_status scant_project_export(scant_project *project, const char *format,
                                            void **bytes, size_t *size);

/* What happened: "created", "added", "trained", "queried", "imported", "set", "class",
 * "served". text is JSON. Calls fn for events after `after`, oldest first. */
typedef struct scant_event {
    int64_t event, at;
    const char *kind, *text;
} scant_event;
SCANT_API scant_status scant_project_events(scant_project *project, int64_t after,
                                            scant_status (*fn)(void *user,
                                                               const scant_event *event),
                                            void *user);
SCANT_API scant_status scant_project_event(scant_project *project, const char *kind,
                                           const char *json);

/* At most one program holds each of a project's locks ("serve", "train"; "cache" and
 * "predict", which whoever fills cache/ with features or predictions holds) at a time,
 * until it lets go or ends, however that comes.
 * who (a sentence: "process 12 on host, serving http://127.0.0.1:8080") is told to those
 * that come too late: SCANT_EUSAGE. */
typedef struct scant_hold scant_hold;
SCANT_API scant_status scant_project_hold(scant_project *project, const char *lock,
                                          const char *who, scant_hold **out);
SCANT_API void scant_project_unhold(scant_hold *hold); /* NULL is fine */

/* ---- pictures ---------------------------------------------------------------------- */

/* The pool as an SVG file: evidence->features in two dimensions (themselves, or their
 * first two principal components), labelled rows in the colours of their classes, picks
 * on top. Of a large pool an even sample is drawn, and every pick up to some thousands.
 * Other evidence is not looked at. picks may be the caller's own: rows, count and items
 * count. *bytes is new: scant_bytes_free() ends it. The same bytes at any thread count.
 */
SCANT_API scant_status scant_plot_picks(scant_ctx *ctx, const scant_evidence *evidence,
                                        const scant_picks *picks, void **bytes,
                                        size_t *size);
/* What that would hold at most, in bytes, once a call has picked so many rows; all that
 * the context holds is counted. Reads headers only; fails as it would where shapes are
 * wrong, and with SCANT_ENOMEM, *memory filled, where the cap is too small. */
SCANT_API scant_status scant_plot_plan(scant_ctx *ctx, const scant_evidence *evidence,
                                       size_t picks, size_t *memory);

/* What regression with a kernel is worth, on the samples it was fitted to and on others.
 */
typedef struct scant_regression {
    double ridge, jitter; /* added to the kernel's diagonal; jitter: as it was singular */
    double train_accuracy, train_error; /* mean square over samples and outputs */
    size_t tests;
    double test_accuracy, test_error; /* accuracies of numbers to predict are NaN */
} scant_regression;

/* What a page about a study shows; NULL and 0: not there. Borrowed. */
typedef struct scant_study_view {
    const char *title; /* what the kernel is of */
    const scant_study *study;
    const double *k; /* samples x samples, of one number a pair */
    const int32_t *labels;
    size_t classes;
    const scant_sketch_error *sketch;
    const scant_agreement *agreement;
    /* Descent: steps + 1 measured losses and predicted ones, its rate, the factor that a
     * step shrinks the loss by at most, by theorem; how far eigenvalues, and the kernel
     * (spectral norm), moved. */
    size_t steps;
    const double *losses, *predicted;
    double rate, factor, eigenvalues_moved, kernel_moved;
    size_t against; /* samples that mmd is to */
    double mmd;
    const scant_regression *regression;
} scant_study_view;

/* A page of HTML that needs nothing else: spectrum, kernel by classes, what is beside,
 * and the numbers with their meaning. Below a megabyte, whatever the size of the kernel.
 * *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_study_page(scant_ctx *ctx, const scant_study_view *view,
                                        void **bytes, size_t *size);

/* ---- reports ----------------------------------------------------------------------- */

/* Writes what is computed from the curve.csv, picks.csv, calibration.csv and theory.csv
 * of a folder of results (the last three where they are there): summary.csv, auc.csv,
 * overlap.csv, report.html and charts/. Of n folders, out is where the files go; it is
 * made where it is not there, and NULL is dirs[0] where n is 1. Another folder than those
 * that are read gets those tables, too, with the runs of all of them. Runs need not be
 * finished. Each file is written whole or not at all. SCANT_EINPUT where a file that is
 * read is wrong.
 */
SCANT_API scant_status scant_report(scant_ctx *ctx, const char *const *dirs, size_t n,
                                    const char *out);

/* What the seeds that two strategies share say of their difference, paired: in percent of
 * accuracy, or in the error of numbers to predict. NaN where there are too few seeds. */
typedef struct scant_difference {
    double mean_a, mean_b;
    /* Of a - b, and its 95 % interval by Student's t. Where all seeds have the same
     * difference there is no interval and no test, as nothing is known of their spread:
     * NaN (where that is 0: t is 0, p is 1). */
    double mean, low, high;
    double t, p;   /* paired t-test, two-sided */
    double p_holm; /* p, corrected for all pairs of two seeds and more (Holm, 1979) */
    /* Sign flips: the share of ways to choose the differences' signs that give a mean as
     * far from 0. All ways up to 20 seeds, else a hundred thousand drawn ones. */
    double p_flips, p_flips_holm;
} scant_difference;

typedef struct scant_pair {
    size_t a, b;  /* strategies */
    size_t seeds; /* that are compared */
    /* Seeds that both have, but that are left out: one run is shorter than others of its
     * strategy (not finished, maybe), or the two have no span of labels in common. */
    size_t others;
    /* The same: the two began with other samples, so they are not of one experiment. */
    size_t unrelated;
    /* The labels that are compared over: the two runs of a seed as far as both go, which
     * may be another number for each seed. */
    uint64_t from, to_least, to_most;
    size_t cut; /* seeds of which a run goes further than that */
    /* Of areas over those labels, and of values at the last of them. */
    scant_difference auc, final;
    /* Numbers of labels at which both have two seeds in common, and at how many of them
     * either is better by the t-test at 0.05, uncorrected. */
    size_t levels, wins_a, wins_b;
} scant_pair;

typedef struct scant_comparison {
    const char *const *strategies; /* in the order of curve.csv */
    size_t n_strategies;
    int regression; /* of numbers to predict: less is better */
    const scant_pair *pairs;
    size_t n_pairs;
} scant_comparison;

/* Compares the strategies of n folders of results, each with those before it, or (where
 * baseline is not NULL) each with that one. On SCANT_OK *out is new:
 * scant_comparison_free() ends it; else NULL. */
SCANT_API scant_status scant_compare(scant_ctx *ctx, const char *const *dirs, size_t n,
                                     const char *baseline, scant_comparison **out);
/* NULL is fine. */
SCANT_API void scant_comparison_free(scant_ctx *ctx, scant_comparison *comparison);

#ifdef __cplusplus
}
#endif

#endif

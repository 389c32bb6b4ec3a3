/* SPDX-License-Identifier: Apache-2.0
 *
 * Data, networks and their training, and experiments, which simulate active learning on
 * data whose labels are known.
 */
#ifndef SCANT_TRAIN_H
#define SCANT_TRAIN_H

#include "scant/scant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- samples ----------------------------------------------------------------------- */

/* The samples that a network reads: n images or feature rows, with their labels if known.
 * Read-only. Pixels are stored as bytes and converted when a sample is read; images of a
 * folder are read from their files each time. */
typedef struct scant_data scant_data;

typedef struct scant_data_opts {
    /* File of labels (.npy, .npz:KEY or IDX), for data without its own. */
    const char *labels;
    bool test;       /* opens the test part of data that has one */
    bool regression; /* labels are numbers to predict, not classes */
    /* ignores the data's own labels; all columns of a CSV file are features */
    bool unlabelled;
    size_t side;   /* images of a folder are scaled to side x side pixels; 0: 224 */
    size_t count;  /* number of samples of moons, blobs, waves and heavy; 0: 1000 */
    uint64_t seed; /* of moons, blobs, waves and heavy */
    SCANT_RESERVED;
} scant_data_opts;

/* Opens the data that spec names: an array (.npy, .npz:KEY: n x d, n x h x w or n x h x w
 * x c, u1 or f4), IDX or CIFAR-10/100 records (plain, .gz or .xz) or a folder of such
 * records, a CSV file of numbers with a label column, a folder of class folders or of
 * images (PNG, JPEG), or one of the names fashion-mnist, moons, blobs and, for
 * regression, waves, heavy. On SCANT_OK *out is new: scant_data_free() ends it; else
 * NULL.
 */
SCANT_API scant_status scant_data_open(scant_ctx *ctx, const char *spec,
                                       const scant_data_opts *opts, scant_data **out);
SCANT_API void scant_data_free(scant_data *data); /* NULL is fine */

SCANT_API const char *scant_data_name(const scant_data *data); /* borrowed */
SCANT_API size_t scant_data_count(const scant_data *data);     /* n */
/* Channels, height, width; feature rows of width d are d, 1, 1. */
SCANT_API void scant_data_shape(const scant_data *data, size_t shape[3]);
/* The class of each sample, -1 if it has no label; NULL: no sample has one. Borrowed. */
SCANT_API const int32_t *scant_data_labels(const scant_data *data);
/* The target of each sample (regression), or NULL. Borrowed. */
SCANT_API const float *scant_data_targets(const scant_data *data);
/* One more than the largest label, or the number that the data states; 0: no labels. */
SCANT_API size_t scant_data_classes(const scant_data *data);
/* Whether the data have a test part; scant_data_opts.test opens it. */
SCANT_API bool scant_data_has_test(const scant_data *data);
/* The name of a class (its folder) or of a sample (its file, relative to spec); NULL:
 * none. Borrowed. */
SCANT_API const char *scant_data_class_name(const scant_data *data, size_t label);
SCANT_API const char *scant_data_sample_name(const scant_data *data, size_t sample);
/* Renumbers the classes to match names (n of them; NULL: a class without a name). Folders
 * and tables number their classes independently. Does nothing if data has no class names.
 * SCANT_EINPUT, without changes, if a sample's class is not in names. No other thread may
 * read data meanwhile. */
SCANT_API scant_status scant_data_renumber(scant_data *data, const char *const *names,
                                           size_t n);

/* ---- networks ---------------------------------------------------------------------- */

/* Options that only some models have, as bits. */
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
    size_t shape[3];     /* default shape of a sample */
    size_t classes;      /* default number of classes */
    const char *init;    /* default of scant_net_opts.init; NULL: it has none */
    unsigned options;    /* scant_model_option bits */
} scant_model_info;

/* All models, in listing order. Static. */
SCANT_API const scant_model_info *const *scant_models(size_t *count);
SCANT_API const scant_model_info *scant_model_find(const char *name); /* or NULL */

typedef struct scant_net_opts {
    size_t shape[3];     /* channels, height, width; all 0: the model's default */
    size_t classes;      /* number of classes, or of targets in regression */
    size_t width, depth; /* for models that have them (scant_model_option) */
    const char
        *activation;  /* relu, leaky, tanh, sigmoid, swish, relu6, square; or NULL */
    double dropout;   /* dropout rate before the last layer (wrn: within blocks) */
    const char *norm; /* batch (the default), folded or none */
    const char *stem; /* small or original; NULL: by the size of the images */
    const char *head; /* small (the default) or full */
    uint64_t seed;    /* seed of the initial weights */
    /* The posterior of the last layer's weights (docs/bayesian.md). none (the default);
     * dropout: a draw of the weights is a dropout mask on the layer's input (rate 0.5 if
     * `dropout` is 0); variational: a normal distribution, whose standard
     * deviations are trained as well. */
    const char *bayes;
    size_t draws;       /* posterior draws that predictions are averaged over (100) */
    uint64_t draw_seed; /* seed of the draws */
    double prior;       /* variational: variance of the weights' prior (1) */
    /* Width of a dense ReLU layer before the last layer. 0: none, except 256 for
     * variational if the features come from convolutions. */
    size_t hidden;
    bool no_hidden; /* no such layer, also for variational */
    /* Law of the initial weights: torch, he, he-out or glorot (docs/networks.md). NULL:
     * the model's own (scant_model_info). */
    const char *init;
    uint64_t reserved[7]; /* SCANT_RESERVED less the members since added */
} scant_net_opts;

/* Counts the trained parameters of the network that scant_net_create() would make. */
SCANT_API scant_status scant_model_parameters(scant_ctx *ctx, const char *model,
                                              const scant_net_opts *opts, size_t *count);

/* A network and its weights. */
typedef struct scant_net scant_net;

/* On SCANT_OK *out is a new network with weights drawn from the seed by the law
 * opts->init: scant_net_free() ends it; else NULL. */
SCANT_API scant_status scant_net_create(scant_ctx *ctx, const char *model,
                                        const scant_net_opts *opts, scant_net **out);
SCANT_API void scant_net_free(scant_net *net); /* NULL is fine */
/* The number of trained parameters. */
SCANT_API size_t scant_net_parameters(const scant_net *net);
SCANT_API void scant_net_shape(const scant_net *net, size_t shape[3]);
SCANT_API size_t scant_net_classes(const scant_net *net);
SCANT_API size_t scant_net_features(const scant_net *net); /* number of features, d */

/* Writes the weights as a safetensors file, atomically, with torch's names and shapes.
 * The metadata has what scant_net_open() needs. */
SCANT_API scant_status scant_net_save(scant_net *net, const char *path);
/* Loads weights from a file whose tensors have the network's names and shapes (of any
 * float type). If they differ nothing is loaded, and the message lists the first
 * differences; with any_head the last layer may differ and stays unchanged. */
SCANT_API scant_status scant_net_load(scant_net *net, const char *path, bool any_head);
/* Makes the network of a weights file. model may be NULL if scant wrote the file. For
 * files of other programs, opts gives what the file lacks (the size of images). Classes,
 * norm, stem and head are those of the file. On SCANT_OK *out is new: scant_net_free()
 * ends it; else NULL. */
SCANT_API scant_status scant_net_open(scant_ctx *ctx, const char *path, const char *model,
                                      const scant_net_opts *opts, scant_net **out);
/* Makes a network to train, with opts->classes, that starts from a file's weights: width,
 * depth, activation, norm, stem and head are those of the file unless opts sets them. The
 * last layer is initialised from the seed if the number of classes differs. On SCANT_OK
 * *out is new: scant_net_free() ends it; else NULL. */
SCANT_API scant_status scant_net_start(scant_ctx *ctx, const char *path,
                                       const char *model, const scant_net_opts *opts,
                                       scant_net **out);
/* Initialises the weights from the seed. */
SCANT_API scant_status scant_net_reset(scant_net *net, uint64_t seed);

/* Adds a member, which makes net an ensemble: predictions, evaluations and draws then use
 * all members; training, saving and gradients use net itself, the first member, only.
 * Members have the same input shape and classes; each is trained separately, before or
 * after joining. On SCANT_OK net owns member; else the caller still does. */
SCANT_API scant_status scant_net_join(scant_net *net, scant_net *member);
SCANT_API size_t scant_net_members(const scant_net *net); /* 1: no ensemble */
/* Member i; member 0 is net itself. Borrowed; NULL: no such member. */
SCANT_API scant_net *scant_net_member(scant_net *net, size_t i);

/* Sets the scaling of images (values 0 to 1): the network sees (value - mean) /
 * deviation, one number per channel. Saved with the weights. A new network has no
 * scaling; training then sets the data's own mean and deviation. */
SCANT_API scant_status scant_net_set_scaling(scant_net *net, const float *mean,
                                             const float *deviation);

/* Sets the scaling to the mean and deviation of at most 10,000 samples, as training does,
 * if samples are images and net has no scaling. For networks used without training. */
SCANT_API scant_status scant_net_fit_scaling(scant_net *net, const scant_data *data);

/* The name of a class, borrowed until names are set again; NULL: none. */
SCANT_API const char *scant_net_class_name(const scant_net *net, size_t label);
/* names: one per class (scant_net_classes()); NULL: the class has no name. They are saved
 * with the weights, unless they exceed a megabyte. Training with the data's own labels
 * sets the data's names, if it has names and as many classes as the network. */
SCANT_API scant_status scant_net_set_class_names(scant_net *net,
                                                 const char *const *names);

typedef enum scant_stop {
    SCANT_STOP_EPOCHS = 1, /* all epochs or steps are done */
    SCANT_STOP_UNTIL,      /* the requested training accuracy is reached */
    SCANT_STOP_PATIENCE,   /* `patience` epochs without gain on the validation set */
    SCANT_STOP_CANCELLED
} scant_stop;

/* Signs that a training fails, as bits (docs/networks.md). None but DIVERGED is given
 * within the first 20 steps, the warm-up or the first quarter of the steps. */
enum scant_train_sign {
    SCANT_SIGN_DEAD = 1 << 0, /* most units of a layer are always 0 */
    /* all predictions are the same and the loss is not below that of the best constant
     * one, or the loss has risen far above it */
    SCANT_SIGN_LOSS = 1 << 1,
    SCANT_SIGN_MASK = 1 << 2,    /* fewer than 1 % of the pseudo-labels are used */
    SCANT_SIGN_CLASSES = 1 << 3, /* the pseudo-labels are of few classes */
    SCANT_SIGN_DIVERGED = 1 << 4 /* the loss was not a finite number */
};
/* A training with one of these has collapsed: its network is of no use. Pseudo-labels of
 * few classes are no collapse, because the samples may be of few classes, too. */
enum { SCANT_SIGNS_COLLAPSED = SCANT_SIGN_DEAD | SCANT_SIGN_LOSS | SCANT_SIGN_DIVERGED };

/* The state of a training, for the callback after every step and as the result. */
typedef struct scant_train_state {
    size_t epoch, epochs;  /* current or just finished epoch, from 1; the maximum */
    size_t step, steps;    /* finished steps; the maximum */
    bool epoch_ended;      /* this step was the last of its epoch */
    uint32_t warmup;       /* steps of the warm-up */
    double loss, accuracy; /* mean over the epoch so far */
    double lr;             /* learning rate of the last step */
    double valid_loss, valid_accuracy; /* after the last epoch; negative: none */
    /* unlabelled samples, mean over the epoch so far; negative: there are none */
    double unlabelled_loss; /* without its weight */
    double kept;            /* share whose pseudo-label counted, 0 to 1 */
    double balance; /* entropy of the pseudo-labels' classes, divided by its maximum: 1
                     * if all classes are equally frequent */
    double seconds, samples_per_second;
    scant_stop stopped; /* 0: not stopped */
    /* Of the last complete window, a twentieth of the training or less
     * (docs/networks.md): */
    float window_kept;    /* as kept */
    uint64_t signs;       /* scant_train_sign bits; 0: none */
    double gradient_norm; /* mean norm of the gradient; negative: not known yet */
    double dead; /* largest share of a layer's units that are always 0; negative: no layer
                  * with ReLU has biases, which the watch needs */
    const char *dead_layer; /* that layer, borrowed from the network; NULL: none */
    /* Effective number of classes, exp(entropy), of the labels and of the pseudo-labels;
     * 0: there are none. */
    float label_classes, pseudo_classes;
    double constant_loss; /* loss of the best constant prediction; 0: unknown */
    double window_loss;   /* mean loss; negative: not known yet */
    uint64_t reserved[1]; /* SCANT_RESERVED less the members since added */
} scant_train_state;

enum { SCANT_SIGNS_SIZE = 64, SCANT_SIGNS_TEXT = 384 };
/* Writes the names of signs, separated by blanks: "dead-units loss"; "" for 0. Returns
 * out. */
SCANT_API const char *scant_train_sign_names(uint64_t signs, char out[SCANT_SIGNS_SIZE]);
/* The signs that such a text names; other words are ignored. */
SCANT_API uint64_t scant_train_signs_of(const char *names);
/* Describes the signs of a state: "100% of the units of fc2 are always 0". Returns out.
 */
SCANT_API const char *scant_train_signs_text(const scant_train_state *state,
                                             char out[SCANT_SIGNS_TEXT]);

/* How a method learns from unlabelled samples (docs/semi-supervised.md): a part of
 * scant_train_opts, filled by scant_train_defaults(). */
typedef struct scant_ssl_opts {
    size_t mu;        /* unlabelled samples per labelled sample of a mini-batch */
    double weight;    /* weight of the unlabelled loss */
    double threshold; /* minimum confidence of a pseudo-label that counts */
    size_t ramp;      /* steps over which the weight rises; 0: 0.4 of all steps */
    bool darp;        /* FixMatch: refine pseudo-labels to a class distribution */
    bool align;       /* scale predictions for weak views to a class distribution */
    /* the distribution for darp and align: that of the labels */
    bool labelled_target;
    const double *darp_target; /* else a share per class; NULL: uniform */
    /* a class keeps its floor(darp_alpha * count) largest entries; 0: all */
    double darp_alpha;
    size_t darp_every;  /* steps between refinements */
    double darp_warmup; /* share of all steps before the first refinement */
    size_t cut;         /* side in pixels of the square a strong view hides; 0: half */
    double noise;       /* noise added to feature rows, in standard deviations */
    double drop;        /* share of features that a strong view replaces by their mean */
    /* decay of running means of predictions; NaN: by the number of steps */
    double prediction_ema;
    double fairness;      /* FreeMatch: weight of the fairness loss */
    uint64_t reserved[6]; /* SCANT_RESERVED less the members since added */
} scant_ssl_opts;

/* Options of a training. Fill them with scant_train_defaults(), then change some: unlike
 * elsewhere, 0 does not mean the default, and a zeroed struct is refused with
 * SCANT_EUSAGE. scant_train_options() lists those that are settings, with defaults and
 * ranges. */
typedef struct scant_train_opts {
    const size_t *rows; /* samples to train on; NULL: all that have a label */
    size_t n_rows;
    const int32_t *labels;    /* labels of rows, in their order; NULL: the data's own */
    const float *weights;     /* factors of the rows' losses; NULL: 1 each */
    bool draw;                /* use weights as sampling probabilities instead */
    const scant_data *valid;  /* validation set, evaluated after every epoch; or NULL */
    const size_t *valid_rows; /* rows of valid; NULL: all */
    size_t n_valid_rows;
    const char *optimizer; /* sgd, adam */
    double lr;             /* learning rate */
    double momentum;       /* sgd only */
    bool nesterov;
    double beta2; /* adam only: decay of the mean of squared gradients */
    double weight_decay;
    bool decay_weights_only; /* no decay of biases and normalisation */
    const char *schedule;    /* constant, cosine, step (a tenth at 1/2 and at 3/4),
                              * fixmatch (7 pi / 16), late (a fifth at 4/5) */
    /* Steps over which lr rises to its full value; SIZE_MAX: by the network, see
     * docs/networks.md. */
    size_t warmup;
    double clip;          /* maximum norm of the gradient; NaN: no limit */
    double norm_momentum; /* weight of a mini-batch in running statistics */
    double ema; /* decay of the moving average of weights, which the network gets at
                 * the end; 0: no average */
    size_t batch, epochs;
    size_t steps; /* number of steps, which replaces epochs; 0: use epochs */
    double until; /* stop when the training accuracy of an epoch reaches this; 0: off */
    size_t until_extra;  /* epochs to train after that */
    size_t patience;     /* stop after so many epochs without gain on valid; 0: off */
    const char *loss;    /* ce, mse; NULL: by the data */
    const char *augment; /* none, flip-crop, crop, noise; auto and NULL: by the method */
    uint64_t seed;
    /* File written at the end, when cancelled, and after an epoch's report if the last
     * write is at least a second ago; NULL: none. */
    const char *checkpoint;
    bool only_cancelled;     /* write the checkpoint only when cancelled */
    bool resume;             /* continue from the checkpoint, if it exists */
    const char *resume_from; /* with resume: read this file instead; it is not modified */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
    const char *method; /* supervised (also NULL) or another: scant_methods() */
    /* Samples to learn from without their labels. NULL: all samples, except valid_rows if
     * valid is the same data, and except rows unless the method uses_labelled. */
    const size_t *unlabelled;
    size_t n_unlabelled;
    scant_ssl_opts ssl;
    /* Checkpoint of another training of the same network, perhaps with other labels, to
     * start from; or NULL. Weights, their average, the optimizer's moments and stored
     * pseudo-labels are read from it. */
    const char *warm;
    const char *warm_out; /* file to write at the end, for a later `warm`; or NULL */
    uint64_t reserved[7]; /* SCANT_RESERVED less the members since added */
} scant_train_opts;

typedef struct scant_method_info {
    const char *name;
    const char *summary; /* one line */
    const char *paper;
    const char *takes;             /* keys of scant_train_options() that this method reads
                                    * and supervised does not, separated by blanks */
    const scant_setting *defaults; /* defaults that differ from the table's */
    size_t n_defaults;
    bool uses_labelled; /* learns from labelled samples without their labels, too */
} scant_method_info;

/* All training methods, in listing order. Static. */
SCANT_API const scant_method_info *const *scant_methods(size_t *count);
SCANT_API const scant_method_info *scant_method_find(const char *name); /* or NULL */

/* The tables of settings: those of scant_train_opts, of scant_net_opts and of
 * scant_data_opts. Static. */
SCANT_API const scant_option *scant_train_options(size_t *count);
SCANT_API const scant_option *scant_model_options(size_t *count);
SCANT_API const scant_option *scant_data_options(size_t *count);

/* Fills opts with the defaults of a method (NULL: supervised) and optimizer (NULL: the
 * method's). If optimizer is not the method's own, two of the method's defaults are not
 * used: lr is the optimizer's (sgd: 0.01, adam: 0.001) and nesterov is false. An unknown
 * method counts as supervised. */
SCANT_API void scant_train_defaults(const char *method, const char *optimizer,
                                    scant_train_opts *opts);

/* Sets the options that training would derive from data, so that they can be shown
 * before: augment, if it is auto or NULL, and unlabelled, if it is NULL. unlabelled then
 * points to rows, the caller's array of scant_data_count() entries, and n_unlabelled may
 * be 0, which training refuses. rows may be NULL if unlabelled is set. For supervised
 * training opts is unchanged. */
SCANT_API scant_status scant_train_resolve(scant_ctx *ctx, const scant_data *data,
                                           scant_train_opts *opts, size_t *rows);

/* Trains net on data. The same seed, data and thread count give the same weights to the
 * bit. A cancelled call returns SCANT_ECANCELLED with the weights of the last step in net
 * and in the checkpoint. A loss that is not finite ends it with SCANT_EINPUT: net has the
 * weights of the last finite epoch. opts may be NULL. state (may be NULL) is always set.
 */
SCANT_API scant_status scant_net_train(scant_net *net, const scant_data *data,
                                       const scant_train_opts *opts,
                                       scant_train_state *state);

/* Reads the finished steps and whole epochs of a training's checkpoint. */
SCANT_API scant_status scant_train_progress(scant_ctx *ctx, const char *checkpoint,
                                            size_t *steps, size_t *epochs);

/* How a network is made and trained. Zero means the default, given in brackets, except in
 * train. */
typedef struct scant_recipe {
    const char *model;              /* name from scant_models() */
    const char *weights;            /* a safetensors file to start from (weights are drawn
                                     * from net.seed) */
    scant_net_opts net;             /* shape (the data's) */
    const float *mean, *deviation;  /* scaling: scant_net_set_scaling() (that of weights,
                                     * else the data's) */
    const char *const *class_names; /* net.classes of them (the data's) */
    size_t members;                 /* networks of an ensemble (1) */
    /* Filled by scant_train_defaults(); scant_recipe_make() ignores it. Members of an
     * ensemble report about ten times a second. */
    scant_train_opts train;
    SCANT_RESERVED;
} scant_recipe;

/* Makes a network or an ensemble, not trained. On SCANT_OK *out is new: scant_net_free()
 * ends it; else NULL. */
SCANT_API scant_status scant_recipe_make(scant_ctx *ctx, const scant_data *data,
                                         const scant_recipe *recipe, scant_net **out);
/* The same, trained on recipe->train.rows of data. Members of an ensemble start from
 * different seeds and train side by side. state (may be NULL) is the first member's, with
 * the signs of all members and the numbers that describe these, and with the largest dead
 * and gradient_norm. dead_layer is NULL on failure. */
SCANT_API scant_status scant_learn(scant_ctx *ctx, const scant_data *data,
                                   const scant_recipe *recipe, scant_net **out,
                                   scant_train_state *state);

/* The outputs of a network: the caller's arrays, NULL if not wanted. */
typedef struct scant_outputs {
    float *features;    /* n x scant_net_features() */
    float *logits;      /* n x classes */
    float *probs;       /* n x classes */
    float *calibrated;  /* n x classes: softmax(logits / temperature) */
    double temperature; /* above 0 if calibrated is wanted */
    float *draws;       /* scant_net_draws() x n x classes: probabilities of each draw */
    SCANT_RESERVED;
} scant_outputs;

/* Computes outputs in evaluation mode: running statistics, no dropout. rows: n samples of
 * data in any order; NULL: all samples (n is ignored).
 *
 * For a Bayesian network (scant_net_opts.bayes) or an ensemble, probs are the mean over
 * draws and members, and logits their logarithms, so that probs = softmax(logits) and
 * temperature scaling works. With one output (regression) logits are its mean. features
 * are the input of the (first member's) last layer. SCANT_EINPUT: features or logits of a
 * sample are not finite. */
SCANT_API scant_status scant_net_predict(scant_net *net, const scant_data *data,
                                         const size_t *rows, size_t n,
                                         const scant_outputs *outputs);

/* The number of posterior draws: 1 for a plain network; for an ensemble, the sum over its
 * members. */
SCANT_API size_t scant_net_draws(const scant_net *net);
/* Writes the probabilities of each draw, m x n x classes as float32, to a .npy file,
 * atomically and block by block: the array need not fit in memory. Draws are the same for
 * all samples: equal features give equal rows. Fails if there is only one draw, and for
 * regression. */
SCANT_API scant_status scant_net_write_draws(scant_net *net, const scant_data *data,
                                             const size_t *rows, size_t n,
                                             const char *path);

/* Bin b of 15, b from 1: samples whose confidence, the largest probability, is in ((b -
 * 1)/15, b/15] (Guo et al., 2017), up to a rounding error. */
enum { SCANT_CALIBRATION_BINS = 15 };
typedef struct scant_calibration_bin {
    size_t count;
    double confidence; /* mean confidence; 0 if the bin is empty */
    double accuracy;   /* 0 if the bin is empty */
} scant_calibration_bin;

/* A reliability diagram for probabilities softmax(z / temperature). */
typedef struct scant_calibration {
    double temperature;
    double error; /* expected calibration error: |accuracy - confidence| of the bins, mean
                   * over samples */
    scant_calibration_bin bins[SCANT_CALIBRATION_BINS];
    SCANT_RESERVED;
} scant_calibration;

typedef struct scant_evaluation {
    size_t samples;
    double loss;        /* cross-entropy; for regression, mean squared error */
    double accuracy;    /* 0 to 1 */
    double calibration; /* expected calibration error, 15 bins (Guo et al., 2017) */
    double temperature; /* the best T of softmax(z / T), fitted to these samples */
    scant_calibration_bin bins[SCANT_CALIBRATION_BINS]; /* of the calibration error */
    SCANT_RESERVED;
} scant_evaluation;

SCANT_API scant_status scant_net_evaluate(scant_net *net, const scant_data *data,
                                          const size_t *rows, size_t n,
                                          scant_evaluation *out);
/* The same, and in the same pass the calibration at a temperature (above 0), which should
 * have been fitted to other samples. For regression, `scaled` is zero except for the
 * temperature. */
SCANT_API scant_status scant_net_evaluate_at(scant_net *net, const scant_data *data,
                                             const size_t *rows, size_t n,
                                             double temperature, scant_evaluation *out,
                                             scant_calibration *scaled);

/* Gradients of single samples with respect to the trained parameters, in evaluation mode.
 * The loss is the cross-entropy of one sample. */
typedef struct scant_gradient_opts {
    bool last_layer;        /* with respect to the last layer's parameters only */
    const int32_t *labels;  /* labels of the loss, in the order of rows (the predicted
                               classes) */
    const float *direction; /* for products: scant_net_parameters() numbers in the order
                               of the weights file, trained ones only; last_layer: those
                               of that layer, weights before bias */
    size_t sketch;          /* length of a sketch, below 2^31 */
    bool outputs;  /* sketch the Jacobian of the outputs (classes x sketch per sample)
                     instead of the loss gradient; other results are of the loss */
    uint64_t seed; /* seed of the sketch; only sketches of one seed can be compared */
    SCANT_RESERVED;
} scant_gradient_opts;

/* The caller's arrays, NULL if not wanted. */
typedef struct scant_gradients {
    double *norms;    /* n squared norms */
    double *products; /* n inner products with the direction */
    float *sketches;  /* n x sketch, or n x classes x sketch: their inner products are
                         unbiased estimates of those of the gradients, with variance
                         at most 2 |x|^2 |y|^2 / sketch */
    float *sum;       /* sum of the gradients, laid out like direction */
    double *lengths;  /* n expected gradient lengths: sum over classes y of p_y
                         |gradient at y|, without labels; one backward pass per class */
    SCANT_RESERVED;
} scant_gradients;

/* Computes the requested results. rows: n samples of data; NULL: all (n is ignored).
 * Norms and products together cost little more than either. opts may be NULL. Results
 * depend on the thread count in the last bits only. On failure the arrays are
 * unspecified. Fails if last_layer is set and the last layer is not trained, and if an
 * output or a result is not finite. */
SCANT_API scant_status scant_net_gradients(scant_net *net, const scant_data *data,
                                           const size_t *rows, size_t n,
                                           const scant_gradient_opts *opts,
                                           const scant_gradients *out);

/* ---- experiments ------------------------------------------------------------------- */

/* Active learning simulated on data with known labels: one run for each strategy and
 * seed. An INI file describes it; docs/experiments.md explains its keys and the results.
 */
typedef struct scant_experiment scant_experiment;

enum { SCANT_EXPERIMENT_KEY = 40 };
typedef struct scant_experiment_key {
    const char *section;
    char key[SCANT_EXPERIMENT_KEY];
    const char *value; /* the default; "": see the option's help */
    const scant_option *option;
    SCANT_RESERVED;
} scant_experiment_key;

/* Key i, from 0 on, grouped by section; false: no more keys. Options of strategies
 * ("npc.candidates") are keys of section "loop", too. */
SCANT_API bool scant_experiment_key_at(size_t i, scant_experiment_key *out);

/* Reads a file (NULL: none), then settings with keys "section.key", which override it.
 * Checks everything that does not need the samples; the message names the place, the
 * value and, for an unknown key, the nearest known one. On SCANT_OK *out is new:
 * scant_experiment_free() ends it; else NULL. */
SCANT_API scant_status scant_experiment_open(scant_ctx *ctx, const char *path,
                                             const scant_setting *settings, size_t count,
                                             scant_experiment **out);
SCANT_API void scant_experiment_free(scant_experiment *experiment); /* NULL is fine */
/* Prints the experiment as an INI file with every default filled in, which describes the
 * same experiment. *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_experiment_print(scant_experiment *experiment, void **bytes,
                                              size_t *size);

typedef enum scant_run_event_kind {
    SCANT_RUN_BEGIN = 1, /* a run starts or continues */
    SCANT_RUN_PROGRESS,  /* from time to time during a run */
    SCANT_RUN_ROUND,     /* a round is finished and on disk, now or in an earlier call */
    SCANT_RUN_END,       /* a run has all its rounds, or nothing is left to pick */
    SCANT_RUN_FAILED     /* a run failed; the others continue */
} scant_run_event_kind;

typedef struct scant_run_event {
    scant_run_event_kind kind;
    size_t run, runs; /* number of this run, from 0; number of runs */
    const char *strategy;
    uint64_t seed;
    size_t round, rounds;
    size_t labels;
    double accuracy, loss; /* on the test set; negative: unknown */
    /* scant_train_state of the current or the round's training; negative: unknown */
    double train_loss, unlabelled_loss, kept, balance;
    uint64_t signs;       /* scant_train_sign bits of that training */
    size_t trainings;     /* after a round: 2 if its training was repeated, usually 1 */
    const char *phase;    /* the current activity */
    double fraction;      /* the finished part of the run */
    double seconds, left; /* spent in this call; estimated rest (negative: unknown) */
    bool before;          /* the round or run was finished by an earlier call */
    const char *text;     /* the error of a failed run; else "" */
} scant_run_event;

typedef struct scant_run_opts {
    const char *out;  /* the results folder, created if missing */
    bool resume;      /* continue the experiment in out */
    unsigned jobs;    /* runs at the same time; 0: 1 */
    unsigned threads; /* threads of a run; 0: the context's, divided by jobs; with resume,
                         as many as before if available */
    bool skip_bad;    /* leave out images that cannot be read */
    void *user;
    void (*report)(void *user, const scant_run_event *event);
    SCANT_RESERVED;
} scant_run_opts;

/* Runs the experiment. Its state is on disk after every round: resume continues a
 * cancelled or killed call and ends with the same curve.csv (except times), picks.csv,
 * calibration.csv, theory.csv and trainings.csv. The same experiment gives the same picks
 * on the same machine with the same number of threads per run, for any jobs.
 *
 * If a run's training diverges, or its strategy cannot use its input, only that run
 * fails: its finished rounds stay, the other runs continue, and the call returns the
 * first such run's status and message. Any other error ends all runs. */
SCANT_API scant_status scant_experiment_run(scant_experiment *experiment,
                                            const scant_run_opts *opts);

/* ---- reports ----------------------------------------------------------------------- */

/* Computes summary.csv, auc.csv, overlap.csv, report.html and charts/ from curve.csv,
 * picks.csv, calibration.csv, theory.csv and trainings.csv (all but the first if they
 * exist) of n results folders. out is the folder for these files, created if missing;
 * NULL: dirs[0], if n is 1. If out is not one of dirs it also gets the input tables, with
 * the runs of all folders. Runs need not be finished. Each file is written atomically.
 * SCANT_EINPUT: an input file is wrong.
 */
SCANT_API scant_status scant_report(scant_ctx *ctx, const char *const *dirs, size_t n,
                                    const char *out);

/* The paired difference of two strategies over their common seeds: in percent of
 * accuracy, or in the error (regression). NaN: too few seeds. */
typedef struct scant_difference {
    double mean_a, mean_b;
    /* Mean of a - b, and its 95 % interval by Student's t. If the difference is the same
     * for all seeds, its spread is unknown: interval and test are NaN. If it is 0 for all
     * seeds, t is 0 and p is 1. */
    double mean, low, high;
    double t, p;   /* paired t-test, two-sided */
    double p_holm; /* p, corrected for all pairs with at least two seeds (Holm, 1979) */
    /* p-value of the sign-flip test: the share of sign choices whose mean difference is
     * as far from 0. All choices up to 20 seeds, else 100,000 random ones. */
    double p_flips, p_flips_holm;
} scant_difference;

typedef struct scant_pair {
    size_t a, b;  /* indices of strategies */
    size_t seeds; /* number of common seeds compared */
    /* Common seeds left out because one run is shorter than others of its strategy
     * (perhaps unfinished), or the two have no range of labels in common. */
    size_t others;
    /* Common seeds left out because the two runs started with different samples, so they
     * are not from one experiment. */
    size_t unrelated;
    /* The compared range of label counts. It begins at `from`, the smallest first count
     * of all seeds. For each seed it ends where the shorter of the two runs ends, between
     * to_least and to_most. */
    uint64_t from, to_least, to_most;
    size_t cut; /* seeds whose two runs end at different numbers of labels */
    /* Differences of the area under the curve over the compared range, and of the value
     * at its end. */
    scant_difference auc, final;
    /* levels: number of label counts at which both have at least two seeds in common.
     * wins_a, wins_b: number of these at which a, or b, is better by an uncorrected
     * t-test at 0.05. */
    size_t levels, wins_a, wins_b;
} scant_pair;

typedef struct scant_comparison {
    const char *const *strategies; /* in the order of curve.csv */
    size_t n_strategies;
    bool regression; /* lower values are better */
    const scant_pair *pairs;
    size_t n_pairs;
} scant_comparison;

/* Compares the strategies of n results folders: each with those before it, or with
 * baseline if it is not NULL. On SCANT_OK *out is new: scant_comparison_free() ends it;
 * else NULL. */
SCANT_API scant_status scant_compare(scant_ctx *ctx, const char *const *dirs, size_t n,
                                     const char *baseline, scant_comparison **out);
/* NULL is fine. */
SCANT_API void scant_comparison_free(scant_ctx *ctx, scant_comparison *comparison);

/* How the training of a round went (docs/experiments.md, "Collapsed trainings"). */
typedef struct scant_training {
    const char *strategy;
    uint64_t seed;
    size_t round;
    uint64_t labels;
    double value;     /* the accuracy on the test set, or the error (regression) */
    size_t trainings; /* 2: the first one had collapsed and was repeated */
    uint64_t signs;   /* scant_train_sign bits of the last one */
    double dead, gradient_norm; /* as in scant_train_state; NaN: unknown */
} scant_training;

typedef struct scant_trainings {
    bool regression;
    size_t count;     /* number of rounds with a training; that of an ensemble is one */
    size_t repeated;  /* those that were repeated */
    size_t collapsed; /* those whose last training has collapsed too */
    /* Those with signs or repeated: first the collapsed ones, then the others, each by
     * strategy, seed and round. */
    const scant_training *listed;
    size_t n_listed;
} scant_trainings;

/* Reads curve.csv and trainings.csv of n results folders; a folder need not have the
 * latter. On SCANT_OK *out is new: scant_trainings_free() ends it; else NULL. */
SCANT_API scant_status scant_trainings_read(scant_ctx *ctx, const char *const *dirs,
                                            size_t n, scant_trainings **out);
/* NULL is fine. */
SCANT_API void scant_trainings_free(scant_ctx *ctx, scant_trainings *trainings);
/* The number of listed trainings that end with a sign. */
SCANT_API size_t scant_trainings_count(const scant_trainings *trainings, uint64_t sign);

#ifdef __cplusplus
}
#endif

#endif

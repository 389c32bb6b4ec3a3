/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulation of an experiment. experiment_samples.c opens the data and split.c splits
 * it; round_models.c trains a round's networks through learn.h, with the options of
 * method.c and bayes.c; retry.c repeats a training that has collapsed; choose.c picks
 * from the evidence (evidence.h); theory.c computes a round's theoretical figures; nets.c
 * stores networks and run_state.c a run's state; round.c runs the rounds of a run, run.c
 * all runs side by side; folder.c writes the results folder.
 *
 * Threads: runs share the samples and the experiment, which are read-only. Each run has
 * its own context, whose memory counts towards the caller's cap. Only the caller's thread
 * writes files that runs share and calls the caller's callbacks.
 */
#ifndef SCANT_LOOP_LOOP_H
#define SCANT_LOOP_LOOP_H

#include "core/jobpool.h"
#include "core/json.h"
#include "loop/evidence.h"
#include "loop/experiment.h"
#include "loop/learn.h"
#include "scant/train.h"

/* ---- experiment_samples.c ---- */

typedef struct loop_samples {
    scant_data *train, *test; /* the same data if test rows are held out of train */
    size_t *rows, n_rows; /* rows of train that may be picked: labelled and readable */
    size_t *test_rows, n_test;
    size_t classes; /* 1 for regression */
    bool regression;
    double *darp_target; /* class distribution for darp; NULL: not given or not needed */
    uint64_t hash;       /* of row numbers, labels and targets; never 0 */
} loop_samples;

scant_status loop_samples_open(const scant_experiment *e, bool skip_bad,
                               scant__arena *arena, loop_samples *out);
void loop_samples_close(loop_samples *samples);

/* ---- split.c ---- */

typedef struct loop_split {
    size_t *pool, n_pool; /* rows of train that strategies see, ascending */
    size_t *valid, n_valid;
    size_t *initial, n_initial; /* rows of train, in the order they were drawn */
} loop_split;

scant_status loop_split_make(scant__arena *arena, const loop_settings *set,
                             const loop_samples *samples, uint64_t seed, loop_split *out);
/* Checks the sizes of the splits; *n_pool: size of the pool. */
scant_status loop_split_check(scant_ctx *ctx, const loop_settings *set,
                              const loop_samples *samples, size_t *n_pool);
/* Shuffles rows[0..n-1]. */
void loop_shuffle(uint64_t seed, uint32_t purpose, size_t *rows, size_t n);

/* ---- run_state.c ---- */

typedef struct loop_point {
    size_t labels;
    double accuracy, loss, best;
    double train_seconds, select_seconds;
} loop_point;

typedef struct loop_pick {
    size_t index; /* row of train */
    double weight, score;
} loop_pick;

/* Reliability diagrams on the test set, before and after scaling by a temperature that
 * was fitted to other samples. A diagram whose bins are all empty is unknown. */
enum { LOOP_BEFORE, LOOP_AFTER, LOOP_WHENS };
typedef struct loop_calibration {
    scant_calibration when[LOOP_WHENS];
} loop_calibration;

/* Theoretical figures of a round (theory.c), in the order of theory.csv; NaN: unknown. */
enum {
    LOOP_LAMBDA,
    LOOP_LARGEST,
    LOOP_RANK,
    LOOP_DYNAMICS,
    LOOP_RATIO,
    LOOP_ALIGNMENT,
    LOOP_BOUND,
    LOOP_MMD,
    LOOP_EPOCHS,
    LOOP_HORIZON,
    LOOP_LR_ADVICE,
    LOOP_FIGURES
};
typedef struct loop_theory {
    double figures[LOOP_FIGURES];
} loop_theory;

/* What the watch found, of one network or the worst of several. */
typedef struct loop_health {
    size_t trainings;           /* 2: a first one had collapsed; 0: there was none */
    uint64_t signs;             /* scant_train_sign bits of the last one */
    double dead, gradient_norm; /* as in scant_train_state; negative: unknown */
} loop_health;

/* Test results of a model: after its last epoch, and `best` over the evaluated epochs. */
typedef struct loop_test_result {
    double accuracy, loss, best;
    double score;   /* decides which model is kept */
    size_t horizon; /* the evaluated epoch of the smallest loss; 0: only the last was */
    loop_calibration calibration;
} loop_test_result;

/* Training states of a part. If its training was cancelled, a or b is the slot of its
 * checkpoint. */
enum {
    LOOP_NOT_BEGUN = '.',
    LOOP_TRAINED = 't',
    LOOP_COLLAPSED = 'c', /* its training is to be repeated */
    LOOP_SLOT_A = 'a',
    LOOP_SLOT_B = 'b'
};

/* A round in progress; it is written to disk when the round is cancelled (nets.c). A part
 * is one network: a model, or a member of an ensemble. */
typedef struct loop_partial {
    bool on_disk;
    size_t round;
    char *parts; /* n_parts training states */
    size_t n_parts;
    char query;                /* training state of the query network */
    size_t n_tested;           /* number of models evaluated so far, in order */
    loop_test_result *results; /* test results of evaluated models; room for n_parts */
    /* of the model in training, on the test set, so far: */
    double best;    /* best accuracy */
    double lowest;  /* smallest loss */
    size_t horizon; /* its epoch; 0: not evaluated yet */
    double train_seconds, test_seconds;
    size_t *epochs;       /* n_parts: number of epochs of each part's training */
    loop_health *healths; /* n_parts */
    loop_health query_health;
} loop_partial;

/* A run so far: its finished rounds, and the picks for these rounds and the next one. The
 * arrays are never reallocated, so other threads may read finished entries. */
typedef struct loop_state {
    loop_point *points;             /* rounds + 1 */
    loop_calibration *calibrations; /* likewise */
    loop_theory *theories;          /* likewise */
    loop_health *healths;           /* likewise */
    loop_pick *picks;
    size_t *ends; /* rounds + 1: end of each round's picks; round 0: the initial set */
    size_t n_points, n_batches, room_picks;
    bool over;        /* ended early: the pool is used up, or nothing was picked */
    uint64_t samples; /* hash of the samples that the run started with */
    loop_partial partial;
    char *strategy_state; /* for its next call; NULL: none */
    size_t strategy_state_size;
} loop_state;

scant_status loop_state_init(scant__arena *arena, size_t rounds, size_t most_picks,
                             loop_state *out);
size_t loop_state_picks(const loop_state *state); /* number of picks */
/* Number of labels that a round trains on. */
size_t loop_state_labels(const loop_state *state, size_t round);
/* Adds a batch of picks, truncated to what fits in state->picks. */
void loop_state_add(loop_state *state, const loop_pick *picks, size_t count);

typedef struct loop_run_name {
    const char *strategy;
    uint64_t seed;
} loop_run_name;

/* Format, write and read the state file. Reading checks every value and the checksum. */
scant_status loop_state_print(scant_ctx *ctx, loop_run_name name, const loop_state *state,
                              char **bytes, size_t *size);
scant_status loop_state_write(scant_ctx *ctx, const char *path, loop_run_name name,
                              const loop_state *state);
scant_status loop_state_read(scant_ctx *ctx, const char *path, loop_run_name name,
                             size_t rounds, size_t rows, scant__arena *arena,
                             loop_state *state);
/* The same for the bytes of a file; does not check the checksum. */
scant_status loop_state_parse(scant_ctx *ctx, const char *path, const char *bytes,
                              size_t size, loop_run_name name, size_t rounds, size_t rows,
                              scant__arena *arena, loop_state *state);

/* ---- a run (round.c) ---- */

typedef struct loop_job loop_job;

/* Categories of a round's time. */
enum loop_time {
    LOOP_REST, /* files and everything else */
    LOOP_TRAINING,
    LOOP_TESTING, /* evaluation on the test set, during a training and after it */
    LOOP_READING, /* evidence, including the trainings for its temperature */
    LOOP_PICKING,
    LOOP_THEORY,
    LOOP_WAITING, /* waiting for a callback on the caller's thread */
    LOOP_TIMES
};

typedef struct loop_times {
    double seconds[LOOP_TIMES]; /* of the current round, by category */
    enum loop_time now;         /* current category */
    double since;               /* when it began */
} loop_times;

/* Counts the seconds of a scope in another category:
 *     AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(run, LOOP_TESTING); */
typedef struct loop_timer {
    struct loop_run *run;
    enum loop_time before;
} loop_timer;

typedef struct loop_progress {
    const char *phase;
    double begun, reported;          /* times: start of the run, last report */
    double work_done, work_whole;    /* work of the run's trainings (loop_work()) */
    double fraction, fraction_begun; /* fraction done; done before this call */
} loop_progress;

typedef struct loop_round {
    size_t number;
    scant__arena arena;
    loop_labelled labelled;
    double lr;                   /* learning rate of the trainings */
    double lr_advice, lr_stable; /* suggested rate, largest stable rate; NaN: unknown */
    scant_net **models;          /* n_models; the chosen one becomes run->net */
    size_t n_models, chosen;
    scant_train_state *trained; /* final state of each part; its `steps` 0: unknown */
    scant_train_state training; /* the training in progress, or the last one */
    double temperature;         /* of the calibrated probabilities; 0: none were read */
    const scant_figure
        *figures; /* n_figures: what the strategy reports about its picks */
    size_t n_figures;
    bool loaded; /* loop_partial_load() has succeeded */
} loop_round;

enum loop_table {
    LOOP_CURVE,
    LOOP_PICKS,
    LOOP_CALIBRATION,
    LOOP_THEORIES,
    LOOP_TRAININGS,
    LOOP_TABLES
};

typedef struct loop_run {
    loop_job *job;
    size_t number;
    const loop_strategy *strategy;
    uint64_t seed;
    uint64_t first_seed; /* of split and round 0: loop.initial_seed, else `seed` */
    char *path;          /* path of the state file, without ".json" */
    loop_state state;
    /* Used by the caller's thread: */
    size_t shown_points;             /* number of rounds in tables */
    scant__text tables[LOOP_TABLES]; /* this run's lines of the files */
    /* Used by the run's thread: */
    scant__jobpool *jobpool;
    scant_ctx *ctx;
    scant__arena arena;
    loop_split split;
    scant_recipe recipe;        /* of the run's networks */
    scant_net *net, *query_net; /* query_net NULL: net supplies the evidence */
    double lr_base; /* lambda / n of the first labelled set; 0: not known yet */
    loop_round round;
    loop_progress progress;
    loop_times times;
    bool cancellable;     /* the work in progress may be cancelled */
    bool no_network;      /* making a network failed: this ends all runs */
    scant_status written; /* status of writing the tables */
    scant_status status;
    bool failed; /* the other runs continue */
    char error[SCANT__ERR_SIZE];
} loop_run;

/* Checks that the state of a resumed run matches the samples and their split. */
scant_status loop_run_check(loop_run *run, scant_ctx *ctx);
/* Runs the remaining rounds; sets run->status and run->error. */
void loop_run_work(loop_run *run);
/* Reports progress when the phase changes, else at most ten times a second. part: work
 * done in addition to work_done. */
void loop_report_progress(loop_run *run, const char *phase, double part);
/* Warns why a run has ended before its last round. */
void loop_warn_ended(const loop_run *run, scant_ctx *ctx);
/* Runs fn(arg) on the caller's thread and waits. */
void loop_call_back(loop_run *run, void (*fn)(void *arg), void *arg);
/* Counts the seconds from now on in another category. */
loop_timer loop_timer_begin(loop_run *run, enum loop_time what);
void loop_timer_end(loop_timer *timer);
/* Reports an event of a run, on the caller's thread. */
void loop_report(loop_run *run, scant_run_event_kind kind, size_t round, bool before);
/* Writes the run's state. */
scant_status loop_run_save(loop_run *run);

/* ---- theory.c ---- */

loop_theory loop_theory_unknown(void);
/* Sets the round's learning rate and the suggested one, before its networks are made.
 * run->net: the network that is trained further, or NULL. */
scant_status loop_theory_rate(loop_run *run);
/* Stores the round's figures in the state. picks: for the next round, or NULL. */
scant_status loop_theory_measure(loop_run *run, const scant_picks *picks);
/* R(Q|S): the sum over Q of |g|^2 + 2 <g, g_S>, divided by |g_Q|^2 + 2 <g_Q, g_S>. norms
 * and products: the sums of |g|^2 and <g, g_S>; square: |g_Q|^2; product: <g_Q, g_S>.
 * NaN: the divisor is 0 up to rounding. */
double loop_theory_ratio(double norms, double products, double square, double product);
/* Checks that the kernel of the last round is not too large (loop.theory = all). */
scant_status loop_theory_check(loop_job *job, size_t n_pool);
extern const char *const loop_theory_names[LOOP_FIGURES];

/* ---- bayes.c ---- */

/* Sets the options of a network that posterior draws depend on. */
void loop_bayes_options(const loop_settings *set, uint64_t seed, scant_net_opts *o);

/* ---- round_models.c ---- */

/* Uses of a round's seeds. */
enum loop_seed_use {
    LOOP_SEED_WEIGHTS,
    LOOP_SEED_TRAINING,
    LOOP_SEED_PICKS,
    LOOP_SEED_FOLDS,
    /* of a second training, if the first has collapsed */
    LOOP_SEED_RETRY_WEIGHTS,
    LOOP_SEED_RETRY_TRAINING
};
uint64_t loop_seed(uint64_t seed, size_t round, size_t model, enum loop_seed_use use);
/* The seed of a network of the run, by its model's or part's number: loop_seed() of the
 * run's seed, in round 0 of first_seed; for LOOP_QUERY, of loop.query_seed. No model has
 * that number, so the query network differs even if the seeds are the same. */
uint64_t loop_net_seed(const loop_run *run, size_t round, size_t model,
                       enum loop_seed_use use);

/* The recipe of the experiment's networks. */
scant_recipe loop_recipe(const loop_job *job, uint64_t seed);
/* Makes a network, or an ensemble, with the input scaling of the run's pool. */
scant_status loop_net_make(loop_run *run, uint64_t seed, size_t members, scant_net **out);
/* Checks that a network can be made for the samples. */
scant_status loop_net_check(loop_job *job);
/* A training's options: rows, method, length. */
scant_status loop_train_options(loop_run *run, const loop_labelled *labelled,
                                size_t epochs, scant_train_opts *out);
/* The relative cost of a training: the number of labels. If the number of steps is fixed
 * or the method also uses unlabelled samples: 1, or 0 without labels. */
double loop_work(const loop_settings *set, size_t labels);
/* Steps of a training of `epochs` epochs, if all_epochs take `steps`. */
size_t loop_steps(size_t steps, size_t epochs, size_t all_epochs);
/* Trains the round's networks, run->net and run->query_net. Evaluates run->net and stores
 * the round's point and calibration in the state. */
scant_status loop_learn(loop_run *run);
/* Adds the diagram after scaling by the temperature of the round's calibrated
 * probabilities. Does nothing with a validation set or if the temperature is unknown. */
scant_status loop_calibrate_after(loop_run *run);
/* The network of a part; NULL: its model is not in run->round.models. */
scant_net *loop_part(const loop_run *run, size_t part);
void loop_drop_models(loop_run *run); /* frees the round's models */
/* Index of the model with the median score; for even n, the lower median. */
size_t loop_median(const loop_test_result *results, size_t n);
/* Index of the model that train.initial_keep names: the median one, or the first with the
 * best score. */
size_t loop_kept(const loop_settings *set, const loop_test_result *results, size_t n);

/* ---- retry.c ---- */

/* What a training's final state says. */
loop_health loop_health_of(const scant_train_state *state, size_t trainings);
/* The worst of n trainings. */
loop_health loop_health_worst(const loop_health *trainings, size_t n);
/* Whether a training of this round is repeated if it collapses. */
bool loop_retries(const loop_run *run);
/* Records how the training of a part or of the query network ended; status: that of
 * learn_train(). A part whose training has collapsed becomes LOOP_COLLAPSED, with a
 * warning, if it is to be repeated; true: it has just become so. */
bool loop_training_ended(loop_run *run, size_t part, const learn_job *job,
                         scant_status status);
/* Prepares the repetition for the part's network: other initial weights, another order of
 * samples, no checkpoint. job: as for the first training. */
scant_status loop_retry_prepare(loop_run *run, size_t part, scant_net *net,
                                learn_job *job);

/* ---- method.c ---- */

/* Sets the method, its unlabelled rows (in the round's arena) and its options. */
scant_status loop_method_options(loop_run *run, const loop_labelled *labelled,
                                 scant_train_opts *o);

/* ---- nets.c ---- */

/* The query network's number among the parts. */
enum { LOOP_QUERY = 1022 };

/* Write, read and delete weights that the next round starts from (train.reinit = no). */
scant_status loop_nets_save(loop_run *run);
scant_status loop_nets_load(loop_run *run);
void loop_nets_delete(loop_run *run, size_t round);
/* Writes the trained networks of a cancelled round, and the state. Returns
 * SCANT_ECANCELLED if that succeeds. */
scant_status loop_partial_save(loop_run *run);
/* Reads the networks of this round that an earlier, cancelled call has written. Networks
 * that cannot be read are trained again, with a warning. */
scant_status loop_partial_load(loop_run *run);
/* Removes files of cancelled rounds except those of `round`; SIZE_MAX: of all rounds. */
void loop_partial_sweep(loop_run *run, size_t round);
/* Sets the files of a part's training: those of train.warm, and a checkpoint in the slot
 * that the state does not name, so that a valid checkpoint is never overwritten. */
scant_status loop_training_files(loop_run *run, size_t part, scant_train_opts *o);
/* The training state of a part. */
char *loop_part_state(loop_run *run, size_t part);
/* Updates the state of a part whose training was cancelled. */
void loop_training_cancelled(loop_run *run, size_t part, const scant_train_opts *o);
/* ---- choose.c ---- */

/* *used: the evidence that the strategy reads (bits). Fails if it needs evidence that a
 * run does not have. */
scant_status loop_evidence_bits(scant_ctx *ctx, const loop_strategy *strategy,
                                const loop_settings *set, unsigned *used);
/* A network's temperature, fitted on the validation set, which must not be empty. */
scant_status loop_fit_held_out(loop_run *run, scant_net *net, double *out);
/* Picks the next batch: rows of the pool. */
scant_status loop_choose(loop_run *run, size_t batch, scant_picks **out);

/* ---- folder.c: called on the caller's thread ---- */

struct loop_job {
    scant_experiment *e;
    scant_ctx *ctx;
    scant_run_opts opts;
    scant__arena arena;
    loop_samples samples;
    unsigned threads; /* of each run */
    loop_run *runs;
    size_t n_runs;
    int log;            /* descriptor; -1: none */
    bool stale;         /* the report lacks rounds */
    uint64_t *messages; /* hashes of the texts shown so far */
    size_t n_messages, room_messages;
};

/* True on the first call with this text (run.c). */
bool loop_is_new_message(loop_job *job, const char *text);

scant_status loop_folder_begin(loop_job *job);
/* Threads per run when this folder was last used; 0: unknown, or not resuming. */
unsigned loop_folder_threads(loop_job *job);
/* Adds the run's new rounds to its table lines. */
void loop_folder_add(loop_run *run);
/* Writes the tables, with the lines of all runs. */
scant_status loop_folder_write(loop_job *job);
/* Writes the thumbnails of picks and the report. */
scant_status loop_folder_report(loop_job *job);
/* Begin a line of log.jsonl with time and event, and for a run its strategy and seed. The
 * caller adds members; loop_log_end() writes the line. */
scant__json loop_log_begin(loop_job *job, const char *event);
scant__json loop_log_run(const loop_run *run, const char *event);
void loop_log_end(loop_job *job, scant__json *line);
/* Writes classes.csv and thumbnails of picks (folder_thumbnails.c). */
scant_status loop_sheet_write(loop_job *job);
/* A path in the results folder, in the job's arena. */
char *loop_path(loop_job *job, const char *name);

#endif

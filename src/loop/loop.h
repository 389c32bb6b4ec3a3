/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside an experiment: samples.c opens the data and split.c cuts it; round_models.c
 * trains a round's networks, by the ways of method.c and bayes.c, through learn.h;
 * choose.c picks by what evidence.h reads out; calibration.c measures how reliable
 * probabilities are, theory.c what theory says of a round; nets.c keeps networks on disk
 * and state.c the run; round.c does a run's rounds, run.c all runs side by side, folder.c
 * the files of all runs together.
 *
 * Threads: all runs read the samples and the experiment at once; none changes them. A run
 * has a context of its own, whose memory is counted with the caller's. Only the caller's
 * thread touches files that all runs share and the caller's callbacks.
 */
#ifndef SCANT_LOOP_LOOP_H
#define SCANT_LOOP_LOOP_H

#include "core/jobpool.h"
#include "loop/evidence.h"
#include "loop/experiment.h"
#include "loop/learn.h"
#include "scant/train.h"

/* ---- samples.c ---- */

typedef struct loop_samples {
    scant_data *train, *test; /* may be the same: test was held out */
    size_t *rows, n_rows;     /* of train that may be picked: labelled, readable */
    size_t *test_rows, n_test;
    size_t classes; /* 1: numbers to predict */
    bool regression;
    double *darp_target; /* a share for each class; NULL: none is given or needed */
    uint64_t mark;       /* a hash of the samples, their labels and target; never 0 */
} loop_samples;

scant_status loop_samples_open(const scant_experiment *e, bool skip_bad,
                               scant__arena *arena, loop_samples *out);
void loop_samples_close(loop_samples *samples);

/* ---- split.c ---- */

typedef struct loop_split {
    size_t *pool, n_pool; /* rows of train, ascending: those that strategies see */
    size_t *valid, n_valid;
    size_t *initial, n_initial; /* rows of train, in the order they were drawn */
} loop_split;

scant_status loop_split_make(scant__arena *arena, const loop_settings *set,
                             const loop_samples *samples, uint64_t seed, loop_split *out);
/* The place of a row of train in the pool; n_pool: it is not there. */
size_t loop_split_place(const loop_split *split, size_t row);
/* Checks that the sizes fit; *n_pool: rows of a pool. */
scant_status loop_split_check(scant_ctx *ctx, const loop_settings *set,
                              const loop_samples *samples, size_t *n_pool);
/* rows[0..n-1] in a random order. */
void loop_shuffle(uint64_t seed, uint32_t purpose, size_t *rows, size_t n);

/* ---- state.c ---- */

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
 * was fitted to other samples. One without samples in its bins is unknown. */
enum { LOOP_BEFORE, LOOP_AFTER, LOOP_WHENS };
typedef struct loop_calibration {
    scant_calibration when[LOOP_WHENS];
} loop_calibration;

/* Theory's figures of a round (theory.c), in the order of theory.csv; NaN: unknown. */
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
    LOOP_LR_ADVICE,
    LOOP_FIGURES
};
typedef struct loop_theory {
    double figures[LOOP_FIGURES];
} loop_theory;

/* A model of a round on the test set: its last epoch, and the best evaluated epoch. */
typedef struct loop_test_result {
    double accuracy, loss, best;
    double score; /* of several models, the one with the median score is kept */
    loop_calibration calibration;
} loop_test_result;

/* How far a part's training is: not begun; trained; cancelled, with its checkpoint in the
 * first or in the second slot. */
enum { LOOP_NOT_BEGUN = '.', LOOP_TRAINED = 't', LOOP_SLOT_A = 'a', LOOP_SLOT_B = 'b' };

/* A round in progress. When it is cancelled, what is trained so far is on disk with it
 * (nets.c). A part is one network: a model, or a member of a model that is an ensemble.
 */
typedef struct loop_partial {
    bool there; /* on disk */
    size_t round;
    char *parts; /* n_parts: how far each is */
    size_t n_parts;
    char query;                /* how far the query network is */
    size_t n_tested;           /* models evaluated, one after the other */
    loop_test_result *results; /* theirs; room for n_parts */
    double best;               /* test accuracy so far of the model in training */
    double train_seconds, test_seconds;
    size_t *epochs; /* n_parts: what each one's training took */
} loop_partial;

/* A run so far: its finished rounds, and the picks for them and the next. The arrays
 * never move: other threads may read what was there before. */
typedef struct loop_state {
    loop_point *points;             /* rounds + 1 */
    loop_calibration *calibrations; /* likewise */
    loop_theory *theories;          /* likewise */
    loop_pick *picks;
    size_t *ends; /* rounds + 1: where the picks of a round end; round 0: initial */
    size_t n_points, n_batches, room_picks;
    bool over;        /* nothing is left to pick */
    uint64_t samples; /* the mark of those it was begun with */
    loop_partial partial;
    char *memory; /* the strategy's state for its next call; NULL: none */
    size_t memory_size;
} loop_state;

scant_status loop_state_init(scant__arena *arena, size_t rounds, size_t most_picks,
                             loop_state *out);
size_t loop_state_picks(const loop_state *state); /* how many there are */
/* How many are labelled when a round's training begins. */
size_t loop_state_labels(const loop_state *state, size_t round);
/* Adds a batch, as far as there is room. */
void loop_state_add(loop_state *state, const loop_pick *picks, size_t count);

typedef struct loop_run_name {
    const char *strategy;
    uint64_t seed;
} loop_run_name;

/* Writes and reads the state's file. Reading checks every value. */
scant_status loop_state_print(scant_ctx *ctx, loop_run_name name, const loop_state *state,
                              char **bytes, size_t *size);
scant_status loop_state_write(scant_ctx *ctx, const char *path, loop_run_name name,
                              const loop_state *state);
scant_status loop_state_read(scant_ctx *ctx, const char *path, loop_run_name name,
                             size_t rounds, size_t rows, scant__arena *arena,
                             loop_state *state);

/* ---- a run (round.c) ---- */

typedef struct loop_job loop_job;

/* What a round's seconds are spent on. */
enum loop_time {
    LOOP_REST, /* files and everything else */
    LOOP_TRAINING,
    LOOP_TESTING, /* evaluation on the test set, during a training and after it */
    LOOP_READING, /* evidence, with the trainings that calibrate it */
    LOOP_PICKING,
    LOOP_THEORY,
    LOOP_WAITING, /* for the caller's thread: its terminal, other runs' files */
    LOOP_TIMES
};

typedef struct loop_times {
    double seconds[LOOP_TIMES]; /* of the round */
    enum loop_time now;         /* what runs, */
    double since;               /* and since when */
} loop_times;

typedef struct loop_progress {
    const char *phase;
    double begun, told;              /* seconds: the run, the last report */
    double work_done, work_whole;    /* of its trainings (loop_work()) */
    double fraction, fraction_begun; /* of the run; what was done before this call */
} loop_progress;

typedef struct loop_round {
    size_t number;
    scant__arena arena;
    loop_labelled labelled;
    double lr;                   /* of its trainings */
    double lr_advice, lr_stable; /* suggested by theory, and the largest; NaN: unknown */
    scant_net **models;          /* until one is chosen */
    size_t n_models, chosen;
    scant_train_state *trained; /* how each part's training ended; steps 0: unknown */
    scant_train_state training; /* the training in progress, or the last one */
    double temperature;         /* that calibrated probabilities had; 0: none */
    loop_calibration calibration;
    loop_theory theory;
    bool recalled; /* what an earlier call left of it was read */
} loop_round;

typedef struct loop_run {
    loop_job *job;
    size_t number;
    const loop_arm *arm;
    uint64_t seed;
    char *path; /* of the state's file, without its ending */
    loop_state state;
    /* the caller's thread: rounds in its lines of the files */
    size_t shown_points;
    scant__text curve, picks, calibrations, theories;
    /* the run's thread, while it is at work */
    scant__jobpool *jobpool;
    scant_ctx *ctx;
    scant__arena arena;
    loop_split split;
    scant_recipe recipe;        /* of its networks */
    scant_net *net, *query_net; /* query_net NULL: net picks */
    double lr_base; /* lambda / n of the first labelled set; 0: not known yet */
    loop_round round;
    loop_progress progress;
    loop_times times;
    bool cancellable; /* the work in progress may be cancelled */
    bool no_network;  /* the failure is that no network can be made: all runs share it */
    scant_status written; /* of the round's files */
    scant_status status;
    bool alone; /* it failed by itself: the other runs go on */
    char error[SCANT__ERR_SIZE];
} loop_run;

/* Whether a run that an earlier call has begun can go on with the samples of this one. */
scant_status loop_run_check(loop_run *run, scant_ctx *ctx);
/* Does what is left of the run; run->status and run->error say how it ended. */
void loop_run_work(loop_run *run);
/* Reports a phase that begins and, ten times a second at most, how far the run is: part
 * is the work done beside work_done. */
void loop_tell(loop_run *run, const char *phase, double part);
/* Warns why a run has ended before its last round. */
void loop_say_over(const loop_run *run, scant_ctx *ctx);
/* Runs fn(arg) on the caller's thread and waits. */
void loop_ask(loop_run *run, void (*fn)(void *arg), void *arg);
/* From now on seconds count as what; returns what they counted as before. */
enum loop_time loop_clock(loop_run *run, enum loop_time what);
/* Reports an event of a run, on the caller's thread. */
void loop_report(loop_run *run, scant_run_event_kind kind, size_t round, bool before);
/* Writes the run's state. */
scant_status loop_keep(loop_run *run);

/* ---- calibration.c ---- */

/* Evaluates a network on the test set, with its reliability diagrams; after scaling only
 * where there is a validation set. */
scant_status loop_calibrated_evaluate(loop_run *run, scant_net *net, scant_evaluation *e,
                                      loop_calibration *out);
/* Without one: after scaling by the temperature of the round's picks, if they had one. */
scant_status loop_calibrate_after(loop_run *run);
/* In a state's file: before and after (null: unknown), [temperature, error, bins], a bin
 * being [place from 1, count, confidence, accuracy]; empty ones are left out. Reading
 * returns whether the value is one. */
void loop_calibration_print(scant__text *text, const loop_calibration *c);
struct json_t;
bool loop_calibration_read(const struct json_t *value, loop_calibration *out);
/* Adds a round's lines of calibration.csv to the run's. */
void loop_calibration_lines(loop_run *run, size_t round);

/* ---- theory.c ---- */

loop_theory loop_theory_unknown(void);
/* Before the round's networks are made: its learning rate, and what theory would have
 * it be. run->net is what is trained on, or NULL. */
scant_status loop_theory_rate(loop_run *run);
/* The round's figures, into run->theory. picks: for the next one, of the pool; or NULL.
 */
scant_status loop_theory_measure(loop_run *run, const scant_picks *picks);
/* R(Q|S): the sum over Q of |g|^2 + 2 <g, g_S>, by |g_Q|^2 + 2 <g_Q, g_S>, given the sums
 * of |g|^2 and <g, g_S> over Q, |g_Q|^2 and <g_Q, g_S>. NaN where what is divided by is 0
 * but for rounding. */
double loop_theory_ratio(double norms, double products, double square, double product);
/* Whether kernels of the last round would fit. */
scant_status loop_theory_check(loop_job *job, size_t n_pool);
/* Of a state's file: figures in their order, null for NaN. Tells whether it is that. */
bool loop_theory_read(const struct json_t *value, loop_theory *out);
/* Adds a round's line of theory.csv to the run's; figures to one of the log's. */
void loop_theory_lines(loop_run *run, size_t round);
void loop_theory_log(const loop_theory *t, scant__text *text);
extern const char loop_theory_header[];

/* ---- bayes.c ---- */

/* Sets the options of a network that posterior draws depend on. */
void loop_bayes_options(const loop_settings *set, uint64_t seed, scant_net_opts *o);

/* ---- round_models.c ---- */

/* What a seed of a round is for. */
enum loop_seed_use {
    LOOP_SEED_WEIGHTS,
    LOOP_SEED_TRAINING,
    LOOP_SEED_PICKS,
    LOOP_SEED_FOLDS,
    /* other weights even where loop.query_seed is the run's seed */
    LOOP_SEED_QUERY,
    LOOP_SEED_QUERY_TRAINING
};
uint64_t loop_seed(uint64_t seed, size_t round, size_t model, enum loop_seed_use use);

/* How the experiment's networks are made and trained. */
scant_recipe loop_recipe(const loop_job *job, uint64_t seed);
/* A new network or ensemble of the run, scaled as its pool. */
scant_status loop_net_make(loop_run *run, uint64_t seed, scant_net **out);
/* One network, even where the run has ensembles. */
scant_status loop_net_make_one(loop_run *run, uint64_t seed, scant_net **out);
/* Whether a network can be made for the samples. */
scant_status loop_net_check(loop_job *job);
/* A training's options: rows, method, length. */
scant_status loop_train_options(loop_run *run, const loop_labelled *labelled,
                                size_t epochs, scant_train_opts *out);
/* What a training with so many labels costs beside others: the number of labels, or 1
 * where steps are counted or the method learns from more than labels. */
double loop_work(const loop_settings *set, size_t labels);
/* Steps of a training that has so many of all epochs. */
size_t loop_steps(size_t steps, size_t epochs, size_t all_epochs);
/* Trains the round's networks, run->net and run->query_net, and evaluates the first. */
scant_status loop_learn(loop_run *run, loop_point *point);
/* A part of the round's models; NULL: its model is not there. */
scant_net *loop_part(const loop_run *run, size_t part);
/* The seed that a model of the round starts with. */
uint64_t loop_weights_seed(const loop_run *run, size_t model);
/* Which of n models has the median score; of an even n, the lower of the two. */
size_t loop_median(const loop_test_result *results, size_t n);

/* ---- method.c ---- */

/* Sets the method, its options and rows (of the round's arena), and augment. */
scant_status loop_method_options(loop_run *run, const loop_labelled *labelled,
                                 scant_train_opts *o);

/* ---- nets.c ---- */

/* The query network's number among the parts. */
enum { LOOP_QUERY = 1022 };

/* Weights of networks that the next round trains on (train.reinit = no). */
scant_status loop_nets_keep(loop_run *run);
scant_status loop_nets_recall(loop_run *run);
void loop_nets_forget(loop_run *run, size_t round);
/* Writes what is trained of a round that is cancelled, and the state. */
scant_status loop_partial_keep(loop_run *run);
/* Reads what an earlier call left of the round that begins. What cannot be read is
 * trained again, with a warning. */
scant_status loop_partial_recall(loop_run *run);
/* Removes files of cancelled rounds, those of round apart; SIZE_MAX: all. */
void loop_partial_sweep(loop_run *run, size_t round);
/* Sets the files of a part's training: its checkpoint in the slot that the state does not
 * name, so that it never overwrites the one that counts, and those of train.warm. */
scant_status loop_training_files(loop_run *run, size_t part, scant_train_opts *o);
/* How far the part is after its training was cancelled. */
void loop_training_cancelled(loop_run *run, size_t part, const scant_train_opts *o);
/* The file for posterior draws; of the round's arena. NULL: no memory. */
char *loop_draws_path(loop_run *run);

/* ---- choose.c ---- */

/* The evidence that the strategy reads, of what a run can give: bits. Fails where it
 * needs more. */
scant_status loop_evidence_bits(scant_ctx *ctx, const loop_arm *arm,
                                const loop_settings *set, unsigned *used);
/* A network's temperature, fitted on the validation set (which there must be). */
scant_status loop_fit_held_out(loop_run *run, scant_net *net, double *out);
/* Picks the next batch: rows of the pool. */
scant_status loop_choose(loop_run *run, size_t batch, scant_picks **out);

/* ---- folder.c: the caller's thread ---- */

struct loop_job {
    scant_experiment *e;
    scant_ctx *ctx;
    scant_run_opts opts;
    scant__arena arena;
    loop_samples samples;
    unsigned threads; /* of a run */
    loop_run *runs;
    size_t n_runs;
    int log;        /* descriptor; -1 */
    bool stale;     /* the report lacks rounds */
    uint64_t *said; /* warnings that were shown, by a hash of their text; of the arena */
    size_t n_said, room_said;
};

/* Whether this text was not shown yet; from now on it was (run.c). */
bool loop_say_once(loop_job *job, const char *text);

scant_status loop_folder_begin(loop_job *job);
/* How many threads a run had when the folder was last worked in; 0: nobody knows. */
unsigned loop_folder_threads(loop_job *job);
/* Adds the rounds of run that are new to its lines of curve.csv, picks.csv and
 * calibration.csv. */
void loop_folder_add(loop_run *run);
/* "strategy,seed,round,": how a line of theirs begins. */
void loop_folder_name(const loop_run *run, size_t round, scant__text *text);
/* Writes them, with the lines of all runs. */
scant_status loop_folder_write(loop_job *job);
/* What is made of results, after a run's end: pictures of picks, the report. */
scant_status loop_folder_report(loop_job *job);
void loop_folder_end(loop_job *job);
/* A line of log.jsonl: time and event, then rest ("\"key\": value, ..."), which is taken.
 */
void loop_log(loop_job *job, const char *event, scant__text *rest);
scant_status loop_sheet_write(loop_job *job); /* classes.csv, thumbnails (sheet.c) */
/* A path in the results' folder; of the job's arena. */
char *loop_path(loop_job *job, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * scant: which of your unlabelled samples are worth labelling?
 *
 * The public interface of libscant: contexts, arrays, evidence and selection. Programs
 * that have their own arrays need nothing else. scant/train.h adds networks and
 * experiments, scant/project.h projects with people who label, scant/study.h the kernel
 * laboratory. Only these four headers are API.
 *
 * A call that can fail returns a scant_status; scant_ctx_errmsg() has the message of the
 * last failure. A context, and everything made with it, serves one thread at a time; two
 * contexts in two threads are independent. The library has no global state, never prints
 * and never exits. Callbacks run on the thread that made the call.
 *
 * Pointers must not be NULL except where "may be NULL" or "NULL:" says so. A handle (a
 * context, array, writer, network, project, ...) that is NULL where a call needs it makes
 * a call that returns a status return SCANT_EUSAGE, without a message.
 *
 * Zero in an options struct means "the default"; a NULL options pointer means all
 * defaults. scant_train_opts, and so scant_recipe.train, is the exception: there 0 means
 * 0, and scant_train_defaults() fills in the defaults. Structs that the caller allocates
 * end in reserved members, which later versions use for new members: initialise whole
 * structs ({0}, or designated members), and a program runs with a newer library without
 * recompilation. Elements of arrays (scant_setting, scant_answer, scant_receipt,
 * scant_lease) and scant_descent, which is returned by value, have no reserved members
 * and keep their layout.
 */
#ifndef SCANT_H
#define SCANT_H

#include <stdbool.h>
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

#define SCANT_RESERVED uint64_t reserved[8]

#define SCANT_VERSION_MAJOR 0
#define SCANT_VERSION_MINOR 2
#define SCANT_VERSION_PATCH 0

/* The version of the library that is running, as "0.2.0". */
SCANT_API const char *scant_version(void);

/* ---- status codes ------------------------------------------------------------------ */

/* name, meaning */
#define SCANT_STATUS_MAP(X)                                                              \
    X(OK, "success")                                                                     \
    X(EUSAGE, "the call is wrong")                                                       \
    X(EINPUT, "an input is wrong")                                                       \
    X(ENOMEM, "out of memory")                                                           \
    X(EIO, "a file cannot be written")                                                   \
    X(ECANCELLED, "cancelled")                                                           \
    X(EINTERNAL, "internal error")                                                       \
    X(ECONFLICT, "in conflict with the current state")                                   \
    X(ENOTFOUND, "not found")                                                            \
    X(ENOTREADY, "not ready yet")

typedef enum scant_status {
#define SCANT_STATUS_ENUM(name, text) SCANT_##name,
    SCANT_STATUS_MAP(SCANT_STATUS_ENUM)
#undef SCANT_STATUS_ENUM
} scant_status;

/* Name and meaning: "EINPUT", "an input is wrong". Static strings. */
SCANT_API const char *scant_status_name(scant_status status);
SCANT_API const char *scant_status_text(scant_status status);

/* ---- context ----------------------------------------------------------------------- */

typedef struct scant_ctx scant_ctx;

typedef enum scant_log_level { SCANT_LOG_INFO = 1, SCANT_LOG_WARNING } scant_log_level;

typedef struct scant_ctx_opts {
    unsigned threads; /* 0: all cores that the process may use, or OMP_NUM_THREADS if that
                         is less */
    /* Cap in bytes on allocated memory; 0: half of the machine's memory, or of the limit
     * of the control group. */
    size_t memory;
    void *user; /* passed to every callback */
    void (*log)(void *user, scant_log_level level, const char *text);
    /* Called from time to time with the finished fraction (0 to 1) of a phase. */
    void (*progress)(void *user, const char *phase, double fraction);
    /* Polled; non-zero ends the current call with SCANT_ECANCELLED. */
    int (*cancel)(void *user);
    /* The allocator to use instead of malloc and free: set both functions or neither.
     * allocate may return NULL; it must align like malloc. Unlike the other callbacks,
     * these may be called on the library's threads, but never concurrently. */
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *block);
    SCANT_RESERVED;
} scant_ctx_opts;

/* On SCANT_OK *out is a new context that scant_ctx_free() ends; else NULL. */
SCANT_API scant_status scant_ctx_create(const scant_ctx_opts *opts, scant_ctx **out);
/* Everything made with ctx must be freed first. NULL is fine. */
SCANT_API void scant_ctx_free(scant_ctx *ctx);
/* The message of the last failed call. Borrowed: valid until the next call. */
SCANT_API const char *scant_ctx_errmsg(const scant_ctx *ctx);
SCANT_API unsigned scant_ctx_threads(const scant_ctx *ctx);
SCANT_API size_t scant_ctx_memory(const scant_ctx *ctx); /* the cap, in bytes */
SCANT_API size_t
scant_ctx_memory_peak(const scant_ctx *ctx); /* largest use so far, in bytes */

/* ---- arrays ------------------------------------------------------------------------ */

/* A read-only array in C order, memory-mapped if the file allows it. */
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

/* Opens "FILE.npy" or "FILE.npz:KEY" (":KEY" is optional if the archive has one member).
 * Checks the header, not the numbers. On SCANT_OK *out is a new handle the caller ends
 * with scant_array_free(); else NULL. The file must not shrink while it is open. */
SCANT_API scant_status scant_array_open(scant_ctx *ctx, const char *spec,
                                        scant_array **out);
/* Wraps the caller's memory (native byte order, C order), which must outlive the array.
 * name is copied; messages use it. On SCANT_OK *out is new: scant_array_free() ends it;
 * else NULL. */
SCANT_API scant_status scant_array_wrap(scant_ctx *ctx, const char *name,
                                        const void *data, scant_dtype dtype, size_t ndim,
                                        const size_t *shape, scant_array **out);
SCANT_API void scant_array_free(scant_array *array); /* NULL is fine */

SCANT_API const char *scant_array_name(const scant_array *array); /* borrowed */
SCANT_API scant_dtype scant_array_dtype(const scant_array *array);
SCANT_API size_t scant_array_ndim(const scant_array *array);
SCANT_API const size_t *scant_array_shape(const scant_array *array); /* borrowed */
/* Reads elements first to first + count - 1 (in C order) of an array of integers; fails
 * if a number does not fit int64_t. */
SCANT_API scant_status scant_array_integers(scant_ctx *ctx, const scant_array *array,
                                            size_t first, size_t count, int64_t *out);
/* Reads the same elements as floats, from an array of any type; fails if one is not
 * finite. */
SCANT_API scant_status scant_array_floats(scant_ctx *ctx, const scant_array *array,
                                          size_t first, size_t count, float *out);

/* Encodes the array as a .npy file. *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_array_encode(scant_ctx *ctx, const scant_array *array,
                                          void **bytes, size_t *size);
SCANT_API void scant_bytes_free(scant_ctx *ctx, void *bytes); /* NULL is fine */

/* Writes a file atomically: a failure leaves an existing file unchanged. A pipe or a
 * device is written directly. */
SCANT_API scant_status scant_file_write(scant_ctx *ctx, const char *path,
                                        const void *bytes, size_t size);

/* Writes a .npy file in parts, so that it need not fit in memory. The file appears
 * atomically at the end, as with scant_file_write(). */
typedef struct scant_writer scant_writer;

/* Starts a file of that shape. On SCANT_OK *out is new: scant_writer_finish() or
 * scant_writer_free() ends it; else NULL. */
SCANT_API scant_status scant_writer_open(scant_ctx *ctx, const char *path,
                                         scant_dtype dtype, size_t ndim,
                                         const size_t *shape, scant_writer **out);
/* Appends the next elements, in native byte order and C order, up to the number that the
 * shape has. */
SCANT_API scant_status scant_writer_append(scant_writer *writer, const void *data,
                                           size_t bytes);
/* Writes elements at byte offset `at` of the data, instead of appending them. Calls may
 * be in any order; write each element once. Fails with SCANT_EIO if the path is not a
 * regular file. */
SCANT_API scant_status scant_writer_put(scant_writer *writer, size_t at, const void *data,
                                        size_t bytes);
/* Moves the file into place; fails, and leaves an existing file unchanged, if elements
 * are missing. Frees the writer in any case. */
SCANT_API scant_status scant_writer_finish(scant_writer *writer);
SCANT_API void scant_writer_free(scant_writer *writer); /* NULL is fine */

/* The user's ids of rows: from a text file with one id per line, or from a
 * one-dimensional .npy (or .npz:KEY) of strings, which are converted to UTF-8. */
typedef struct scant_ids scant_ids;
/* On SCANT_OK *out is new: scant_ids_free() ends it; else NULL. */
SCANT_API scant_status scant_ids_open(scant_ctx *ctx, const char *spec, scant_ids **out);
SCANT_API void scant_ids_free(scant_ids *ids); /* NULL is fine */
SCANT_API size_t scant_ids_count(const scant_ids *ids);
/* Borrowed until the ids are freed; *length bytes, not zero-terminated. */
SCANT_API const char *scant_ids_get(const scant_ids *ids, size_t row, size_t *length);

/* ---- strategies -------------------------------------------------------------------- */

/* What a model knows about a pool of n rows. NULL: not given. Give everything you have; a
 * strategy reads only what it needs. */
typedef struct scant_evidence {
    const scant_array *features;   /* n x d embeddings: f2 f4 f8 u1 */
    const scant_array *probs;      /* n x C class probabilities: f2 f4 f8 */
    const scant_array *logits;     /* n x C, instead of probs */
    const scant_array *calibrated; /* n x C calibrated probabilities */
    const scant_array *gradients;  /* n x k gradient features */
    const scant_array *draws;      /* m x n x C: predictions of m posterior draws */
    /* n x 2, instead of gradients: |g|^2 and <g, sum of the labelled rows' g>, where g is
     * a row's loss gradient at its label, or at the predicted class if it has none. */
    const scant_array *slopes;
    const scant_array *lengths;    /* n expected gradient lengths, for egl */
    const scant_array *labels;     /* n integers: the class of a labelled row, else -1 */
    const scant_array *candidates; /* k integers: only these rows may be picked */
    size_t rows; /* n, for random without any array, at most 2^40; else 0 */
    /* Instead of calibrated, for logits z: calibrated probabilities are softmax(z /
     * temperature). The temperature is given here, or fitted to the labels of the rows in
     * calibrate_on (k integers). */
    double temperature; /* 0: none */
    const scant_array *calibrate_on;
    SCANT_RESERVED;
} scant_evidence;

/* Kinds of evidence, as bits. */
enum scant_evidence_kind {
    SCANT_FEATURES = 1 << 0,
    /* or logits */
    SCANT_PROBS = 1 << 1,
    /* or logits and a temperature */
    SCANT_CALIBRATED = 1 << 2,
    SCANT_GRADIENTS = 1 << 3,
    SCANT_DRAWS = 1 << 4,
    /* the strategy uses labels, not only to leave out labelled rows */
    SCANT_LABELS = 1 << 5,
    /* the number of rows: from any array with n rows, or scant_evidence.rows */
    SCANT_ROWS = 1 << 6,
    /* the state that the strategy's previous call returned; not an array */
    SCANT_STATE = 1 << 7,
    /* computed by scant_net_gradients(): slopes replace the other needs of dynamic,
     * lengths those of egl */
    SCANT_SLOPES = 1 << 8,
    SCANT_LENGTHS = 1 << 9
};

/* An input of a selection: its name in flags and messages, its member in scant_evidence,
 * and what it must hold. */
typedef struct scant_input {
    const char *name;  /* "features" */
    unsigned kind;     /* scant_evidence_kind bit; 0: a list of rows, for any strategy */
    const char *shape; /* "n x d", a letter for each dimension; NULL: not an array */
    unsigned dtypes;   /* accepted element types: bits 1 << SCANT_F32, ... */
    const char *types; /* the same in words */
    size_t offset;     /* offset of its member in scant_evidence */
    const char *instead[2]; /* inputs that together replace it; NULL: none */
} scant_input;

/* All inputs, in listing order. Static. */
SCANT_API const scant_input *scant_inputs(size_t *count);

/* Kinds of options, and the type a value is stored as. */
typedef enum scant_option_kind {
    SCANT_OPTION_SWITCH = 1, /* bool: yes or no, 1 or 0 */
    SCANT_OPTION_COUNT,      /* size_t: a whole number within [min, max] */
    SCANT_OPTION_NUMBER,     /* double within [min, max] */
    /* const char *: one of the words in choices, "a|b|c:K"; K is a whole number within
     * [min, max] */
    SCANT_OPTION_CHOICE,
    SCANT_OPTION_NAME,     /* const char *: a name that names() lists */
    SCANT_OPTION_TEXT,     /* const char * */
    SCANT_OPTION_FILE,     /* const char *: a path */
    SCANT_OPTION_ARRAY,    /* const char *: FILE.npy or FILE.npz:KEY */
    SCANT_OPTION_SEED,     /* uint64_t */
    SCANT_OPTION_BYTES,    /* size_t: 512M, 1.5G */
    SCANT_OPTION_SETTINGS, /* KEY=VALUE, repeatable; only as a flag of the program */
    SCANT_OPTION_FILES     /* paths, repeatable; only as a flag of the program */
} scant_option_kind;

enum { SCANT_OPEN_MIN = 1, SCANT_OPEN_MAX = 2, SCANT_OPEN_BOTH = 3 };

/* One option: a row of a table. Parsing, help, manual, completion and printing all use
 * this table. */
typedef struct scant_option {
    const char *key;
    scant_option_kind kind;
    const char *value;     /* the default as text; NULL: the call decides */
    const char *otherwise; /* describes the default if value is NULL */
    double min, max;
    unsigned open; /* SCANT_OPEN_ bits: the range excludes min, or max, or both */
    /* the words of a choice; for other kinds, additional values such as "auto" */
    const char *choices;
    const char *help;
    const char *arg;                /* name of the value in help: "N", "FILE" */
    const char *kernel_value;       /* default of a call with a kernel; NULL: value */
    const char *(*names)(size_t i); /* the i-th SCANT_OPTION_NAME; NULL: no more */
    const char *group;              /* heading in help */
    size_t at;                      /* offset of the value in the options' struct */
} scant_option;

/* A figure: a number that a call of a strategy may report besides its picks. */
typedef struct scant_figure_info {
    const char *name;
    const char *help; /* one line */
} scant_figure_info;

typedef struct scant_strategy_info {
    const char *name;
    const char *summary; /* one line */
    const char *use;     /* when to use it */
    const char *paper;
    const char *score; /* the meaning of a pick's score */
    unsigned needs;    /* scant_evidence_kind bits that are required */
    unsigned or_needs; /* alternative to needs; 0: none */
    unsigned uses;     /* bits that are read if given, besides needs */
    const scant_option *options;
    size_t n_options;
    const scant_figure_info *figures;
    size_t n_figures;
    bool kernel; /* accepts scant_select_opts.kernel */
    bool ranked; /* the first k picks do not depend on the batch size */
} scant_strategy_info;

/* All strategies, in listing order. Static. */
SCANT_API const scant_strategy_info *const *scant_strategies(size_t *count);
SCANT_API const scant_strategy_info *scant_strategy_find(const char *name); /* or NULL */

/* A strategy's option in text form. Options are passed by name, so that strategies can
 * change while this header stays the same. Each is checked against the strategy's table.
 */
typedef struct scant_setting {
    const char *key, *value;
} scant_setting;

typedef struct scant_select_opts {
    uint64_t seed;
    const scant_setting *settings;
    size_t n_settings;
    /* scant_picks.state of the previous call, for strategies with a state (SCANT_STATE);
     * NULL: the first call. */
    const char *state;
    size_t state_size;
    const char *state_name; /* name of the state in messages; NULL: "the state" */
    /* How strategies with .kernel compare feature rows: "ntk:depth=K" is the tangent
     * kernel of an infinitely wide network with K ReLU layers, K from 1 to 100
     * (scant_ntk_kernel()). NULL: by inner products.
     */
    const char *kernel;
    SCANT_RESERVED;
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
    const char *strategy; /* its name; static */
    size_t count; /* fewer than requested if no rows were left; bss may pick fewer */
    size_t rows;  /* n */
    const scant_pick *items; /* best first */
    size_t n_settings;
    /* The options that were used. A value is NULL if it was not given, has no default and
     * was not chosen by the strategy. */
    const scant_setting *settings;
    size_t n_info;
    const scant_figure *info; /* figures that the strategy lists */
    const char *state;        /* JSON, for the next call; NULL: none */
    size_t state_size;
    const char *kernel; /* as given; NULL: none */
    SCANT_RESERVED;
} scant_picks;

/* Finds which of the given kinds of evidence a call would read (*used), and which kinds
 * it needs that are not given (*missing); all are scant_evidence_kind bits. So callers
 * can open only what is used. Fails if the strategy, the kernel or an option is wrong. */
SCANT_API scant_status scant_select_inputs(scant_ctx *ctx, const char *strategy,
                                           const scant_select_opts *opts, unsigned given,
                                           unsigned *used, unsigned *missing);

/* Chooses up to batch rows to label next: scant_selection_open() and _run() in one call.
 * Only unlabelled rows are picked, none twice. opts may be NULL. On SCANT_OK *out is new:
 * scant_picks_free() ends it; else NULL. The same evidence, batch and opts give the same
 * picks at any thread count. */
SCANT_API scant_status scant_select(scant_ctx *ctx, const char *strategy,
                                    const scant_evidence *evidence, size_t batch,
                                    const scant_select_opts *opts, scant_picks **out);
SCANT_API void scant_picks_free(scant_ctx *ctx, scant_picks *picks); /* NULL is fine */

typedef struct scant_plan {
    size_t rows, batch; /* n; the number of picks */
    size_t block_rows;  /* rows that a thread reads at a time */
    size_t blocks;      /* number of blocks of the pool */
    /* Peak memory in bytes, including what the context holds now. Features of extreme
     * size (found while reading) need more; if that exceeds the cap, the run fails. */
    size_t memory;
    size_t passes;      /* minimum number of passes over the inputs */
    size_t input_bytes; /* size of the inputs that are read */
    unsigned used;      /* scant_evidence_kind bits */
    size_t blas;      /* bytes of memory that OpenBLAS maps for itself: 128 MB a thread */
    unsigned threads; /* fewer than the context's if memory is short because of blas */
    uint64_t reserved[6]; /* SCANT_RESERVED less the members since added */
} scant_plan;

/* A selection in steps: opened and checked, planned, run. */
typedef struct scant_selection scant_selection;

/* Checks the call, the shapes and types of the evidence that is used, labels and
 * candidates; reads no matrix. opts may be NULL. On SCANT_OK *out is new:
 * scant_selection_free() ends it; else NULL. Arrays, opts->kernel, opts->state and
 * opts->state_name are borrowed until it is freed. */
SCANT_API scant_status scant_selection_open(scant_ctx *ctx, const char *strategy,
                                            const scant_evidence *evidence, size_t batch,
                                            const scant_select_opts *opts,
                                            scant_selection **out);
/* Estimates memory and passes. If the cap is too small, fills in *plan and fails with
 * SCANT_ENOMEM. */
SCANT_API scant_status scant_selection_plan(const scant_selection *selection,
                                            scant_plan *plan);
/* Picks rows; call it once for each selection. On SCANT_OK *out is new:
 * scant_picks_free() ends it; else NULL. */
SCANT_API scant_status scant_selection_run(scant_selection *selection, scant_picks **out);
SCANT_API void scant_selection_free(scant_selection *selection); /* NULL is fine */

/* ---- charts ------------------------------------------------------------------------ */

/* Draws the pool as an SVG file: evidence->features in two dimensions (themselves, or
 * their first two principal components), labelled rows in the colours of their classes,
 * picks on top. Of a large pool it draws an even sample of the rows; of the picks, all up
 * to some thousands. Other evidence is ignored. picks may be made by the caller: only
 * rows, count and items are read. *bytes is new: scant_bytes_free() ends it. The bytes
 * are the same at any thread count.
 */
SCANT_API scant_status scant_plot_picks(scant_ctx *ctx, const scant_evidence *evidence,
                                        const scant_picks *picks, void **bytes,
                                        size_t *size);
/* Computes the peak memory of scant_plot_picks() with that many picks, in bytes,
 * including what the context holds now. Reads headers only. Fails if shapes are wrong. If
 * the cap is too small, sets *memory and fails with SCANT_ENOMEM. */
SCANT_API scant_status scant_plot_plan(scant_ctx *ctx, const scant_evidence *evidence,
                                       size_t picks, size_t *memory);

#ifdef __cplusplus
}
#endif

#endif

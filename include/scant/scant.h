/* SPDX-License-Identifier: Apache-2.0
 *
 * scant: which of your unlabelled samples are worth labelling?
 *
 * The public interface of libscant: contexts, arrays, evidence and selection. Programs
 * that bring their own arrays need nothing else. scant/train.h adds networks and
 * experiments, scant/project.h projects with people who label, scant/study.h the kernel
 * laboratory. What is in none of the four is not API.
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

#define SCANT_VERSION_MAJOR 0
#define SCANT_VERSION_MINOR 2
#define SCANT_VERSION_PATCH 0

/* The version of the library that is running, as "0.2.0". */
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
    X(EINTERNAL, "internal error")                                                       \
    X(ECONFLICT, "in conflict with the current state")                                   \
    X(ENOTFOUND, "not found")                                                            \
    X(ENOTREADY, "not ready yet")

typedef enum scant_status {
#define SCANT_STATUS_ENUM(name, text) SCANT_##name,
    SCANT_STATUS_MAP(SCANT_STATUS_ENUM)
#undef SCANT_STATUS_ENUM
} scant_status;

/* "EINPUT", and "an input is wrong". Static strings. */
SCANT_API const char *scant_status_name(scant_status status);
SCANT_API const char *scant_status_text(scant_status status);

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

/* On SCANT_OK *out is a new context the caller ends with scant_ctx_free(); else NULL.
 */
SCANT_API scant_status scant_ctx_create(const scant_ctx_opts *opts, scant_ctx **out);
/* Everything made with ctx must be gone before. NULL is fine. */
SCANT_API void scant_ctx_free(scant_ctx *ctx);
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
 * the caller ends with scant_array_free(); else NULL. The file must not shrink
 * meanwhile. */
SCANT_API scant_status scant_array_open(scant_ctx *ctx, const char *spec,
                                        scant_array **out);
/* Wraps the caller's memory (native byte order, C order), which must outlive the array.
 * name is copied; messages use it. */
SCANT_API scant_status scant_array_wrap(scant_ctx *ctx, const char *name,
                                        const void *data, scant_dtype dtype, size_t ndim,
                                        const size_t *shape, scant_array **out);
SCANT_API void scant_array_free(scant_array *array); /* NULL is fine */

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
 * scant_writer_finish() or scant_writer_free() ends it; else NULL. */
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
SCANT_API scant_status scant_writer_finish(scant_writer *writer);
SCANT_API void scant_writer_free(scant_writer *writer); /* NULL is fine */

/* The user's own names of rows: a text file with one a line, or a .npy (or .npz:KEY) of
 * strings, one-dimensional. Strings of .npy come out as UTF-8. */
typedef struct scant_ids scant_ids;
SCANT_API scant_status scant_ids_open(scant_ctx *ctx, const char *spec, scant_ids **out);
SCANT_API void scant_ids_free(scant_ids *ids); /* NULL is fine */
SCANT_API size_t scant_ids_count(const scant_ids *ids);
/* Borrowed until close, not terminated by a zero: *length says how long. */
SCANT_API const char *scant_ids_get(const scant_ids *ids, size_t row, size_t *length);

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

/* An input of a selection: its name in scant_evidence, flags and messages, and what it
 * must hold. */
typedef struct scant_input {
    const char *name;       /* "features" */
    unsigned kind;          /* scant_evidence_kind; 0: a list of rows, for any strategy */
    const char *shape;      /* "n x d", a letter for each dimension; NULL: not an array */
    unsigned dtypes;        /* bit 1 << SCANT_F32 and so on: the types that it may hold */
    const char *types;      /* the same in words */
    size_t offset;          /* of its member in scant_evidence */
    const char *instead[2]; /* inputs that together replace it; NULL: none */
} scant_input;

/* All inputs, in the order that they are listed in. Static. */
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
    SCANT_OPTION_SETTINGS, /* KEY=VALUE, repeatable; the program's flags only */
    SCANT_OPTION_FILES     /* paths, repeatable; likewise */
} scant_option_kind;

enum { SCANT_OPEN_MIN = 1, SCANT_OPEN_MAX = 2, SCANT_OPEN_BOTH = 3 };

/* One option: a row of a table. Reading, help, manual, completion and printing all follow
 * from it. */
typedef struct scant_option {
    const char *key;
    scant_option_kind kind;
    const char *value; /* the default, as one would write it; NULL: the call decides */
    const char *otherwise; /* where value is NULL: how it does, for people */
    double min, max;
    unsigned open; /* bits: the range excludes min, max */
    /* the words of a choice; of other kinds, words that are accepted as well ("auto") */
    const char *choices;
    const char *help;
    const char *arg;                /* what help calls a value: "N", "FILE" */
    const char *kernel_value;       /* the default of a call with a kernel; NULL: value */
    const char *(*names)(size_t i); /* of SCANT_OPTION_NAME: the i-th; NULL: no more */
    const char *group;              /* heading in help */
    size_t at; /* where the value is stored: offset in the options' struct */
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

/* Chooses up to batch rows to label next: scant_selection_open() and _run() in one call.
 * Only unlabelled rows are picked, none twice. opts may be NULL. On SCANT_OK *out is new:
 * scant_picks_free() ends it; else NULL. The same evidence, batch and opts give the same
 * picks at any thread count. */
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

/* A selection in steps: opened and checked, planned, run. */
typedef struct scant_selection scant_selection;

/* Checks the call, the shapes and types of the evidence that is used, labels and
 * candidates; reads no matrix. opts may be NULL. On SCANT_OK *out is new:
 * scant_selection_free() ends it; else NULL. Arrays, opts->state and opts->kernel are
 * borrowed until then. */
SCANT_API scant_status scant_selection_open(scant_ctx *ctx, const char *strategy,
                                            const scant_evidence *evidence, size_t batch,
                                            const scant_select_opts *opts,
                                            scant_selection **out);
/* Memory and passes. Fails with SCANT_ENOMEM, *plan filled, where the cap is too small.
 */
SCANT_API scant_status scant_selection_plan(const scant_selection *selection,
                                            scant_plan *plan);
/* Picks; once for each selection. On SCANT_OK *out is new: scant_picks_free() ends it;
 * else NULL. */
SCANT_API scant_status scant_selection_run(scant_selection *selection, scant_picks **out);
SCANT_API void scant_selection_free(scant_selection *selection); /* NULL is fine */

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

#ifdef __cplusplus
}
#endif

#endif

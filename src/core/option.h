/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, stores and prints option values as the rows of a table (scant_option) describe
 * them. Flags, keys of experiment files, project settings and strategy options all use
 * these functions, so that the same values are valid everywhere.
 */
#ifndef SCANT_CORE_OPTION_H
#define SCANT_CORE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ctx.h"
#include "core/number.h"
#include "scant/scant.h"

/* Rows of tables, by kind; value is the default as text, or NULL. */
#define OPT_ROW(key_, kind_, arg_, value_, at_, group_, help_, ...)                      \
    {                                                                                    \
        .key = key_, .kind = SCANT_OPTION_##kind_, .arg = arg_, .value = value_,         \
        .at = at_, .group = group_, .help = help_, __VA_ARGS__                           \
    }
#define OPT_SWITCH(key, value, at, group, help)                                          \
    OPT_ROW(key, SWITCH, NULL, value, at, group, help, )
#define OPT_COUNT(key, arg, value, at, least, most, group, help)                         \
    OPT_ROW(key, COUNT, arg, value, at, group, help, .min = least, .max = most)
#define OPT_NUMBER(key, arg, value, at, least, most, open_, group, help)                 \
    OPT_ROW(key, NUMBER, arg, value, at, group, help, .min = least, .max = most,         \
            .open = open_)
#define OPT_CHOICE(key, words, value, at, group, help)                                   \
    OPT_ROW(key, CHOICE, NULL, value, at, group, help, .choices = words)
#define OPT_NAME(key, arg, names_, value, at, group, help)                               \
    OPT_ROW(key, NAME, arg, value, at, group, help, .names = names_)
#define OPT_TEXT(key, arg, value, at, group, help)                                       \
    OPT_ROW(key, TEXT, arg, value, at, group, help, )
#define OPT_FILE(key, arg, at, group, help)                                              \
    OPT_ROW(key, FILE, arg, NULL, at, group, help, )
#define OPT_ARRAY(key, arg, at, group, help)                                             \
    OPT_ROW(key, ARRAY, arg, NULL, at, group, help, )
#define OPT_SEED(key, arg, at, group, help)                                              \
    OPT_ROW(key, SEED, arg, NULL, at, group, help, )
#define OPT_BYTES(key, arg, at, group, help)                                             \
    OPT_ROW(key, BYTES, arg, NULL, at, group, help, )
#define OPT_SETTINGS(key, arg, at, group, help)                                          \
    OPT_ROW(key, SETTINGS, arg, NULL, at, group, help, )
#define OPT_FILES(key, arg, at, group, help)                                             \
    OPT_ROW(key, FILES, arg, NULL, at, group, help, )

/* A parsed value. */
typedef struct scant__value {
    double number;  /* a number; a switch: 0 or 1; a choice: the word's index */
    double param;   /* the K of a choice "word:K" */
    uint64_t whole; /* a count, a seed, a size in bytes */
    bool word;      /* a number was given as one of the words in choices ("auto") */
} scant__value;

/* Parses text as a value of the option. Returns false if it is not a valid one. */
bool scant__option_read(const scant_option *option, const char *text, scant__value *out);

enum { SCANT__EXPECTED = 400 };
/* Describes the valid values: "a whole number from 1 to 5", "one of a|b". text is the
 * refused value, or NULL; for a refused name the nearest valid one is suggested. Returns
 * out. */
const char *scant__option_expected(const scant_option *option, const char *text,
                                   char out[SCANT__EXPECTED]);

/* Stores a parsed value at base + option->at, in the type of its kind. Strings are
 * borrowed from text. A word instead of a number is stored as NaN or SIZE_MAX. */
void scant__option_store(const scant_option *option, const char *text,
                         const scant__value *value, void *base);

/* The stored value as text, borrowed from base or out; "" for a string that is NULL. */
const char *scant__option_text(const scant_option *option, const void *base,
                               char out[SCANT__NUMBER]);

/* Checks that the values stored in base are valid for the rows; strings may be NULL. The
 * message of SCANT_EUSAGE names the first invalid value. */
scant_status scant__options_check(scant_ctx *ctx, const scant_option *rows, size_t n,
                                  const void *base);

/* Copies one option's value. */
void scant__option_copy(const scant_option *option, const void *from, void *to);

/* Finds the row of a key, with '-' and '_' equal; returns NULL if there is none. */
const scant_option *scant__option_find(const scant_option *rows, size_t n,
                                       const char *key);

/* Whether the blank-separated list words contains word. */
bool scant__has_word(const char *words, const char *word);
/* Whether word is one of "a|b|c". */
bool scant__is_choice(const char *choices, const char *word);
/* Reads yes, no, true, false, on, off, 1 or 0. */
bool scant__switch_read(const char *text, bool *out);
/* Reads a whole number in decimal digits. */
bool scant__uint_read(const char *text, uint64_t *out);

#endif

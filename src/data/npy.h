/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of NumPy's .npy format, versions 1 to 3: six bytes of magic, two of version,
 * the header's length (two bytes little-endian in version 1, four later), the header (a
 * Python dict literal with the keys descr, fortran_order and shape), then the elements.
 */
#ifndef SCANT_DATA_NPY_H
#define SCANT_DATA_NPY_H

#include "data/array.h"

enum { SCANT__NPY_DESCR = 40 };

typedef struct scant__npy {
    char descr[SCANT__NPY_DESCR]; /* the dtype as written, truncated and printable */
    char kind;    /* NumPy's dtype.kind: f, i, u, S, U, or an unsupported one */
    bool swapped; /* stored in the non-native byte order */
    bool fortran;
    size_t item; /* bytes per element; may be 0 for strings */
    size_t ndim;
    size_t shape[SCANT_MAX_DIMS];
    size_t count;  /* number of elements */
    size_t offset; /* offset of the first element in the file */
} scant__npy;

typedef enum scant__npy_want {
    SCANT__NPY_NUMBERS = 1,
    SCANT__NPY_STRINGS
} scant__npy_want;

/* Parses and checks the header of a complete .npy file in memory. On SCANT_OK the
 * elements lie within the bytes, in C order, and have the wanted kind. Otherwise returns
 * SCANT_EINPUT with a message that starts with name. */
scant_status scant__npy_parse(scant_ctx *ctx, const char *name,
                              const unsigned char *bytes, size_t size,
                              scant__npy_want want, scant__npy *out);

bool scant__npy_magic(const unsigned char *bytes, size_t size);

/* Parses only the dict literal. Sets descr ("[...]" for a structured dtype), fortran,
 * ndim and shape. Returns false if the text is malformed or lacks a key; then *why says
 * what is wrong and *at where, relative to text. */
bool scant__npy_dict(const unsigned char *text, size_t size, scant__npy *out,
                     const char **why, size_t *at);

/* Writes a version 1 header like NumPy's: the elements start at a multiple of 64 bytes.
 * Returns its size; out has room for SCANT__NPY_HEADER bytes. */
enum { SCANT__NPY_HEADER = 1024 };
size_t scant__npy_format(const scant_array *array, unsigned char *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What files and their errors need in more than one place.
 */
#ifndef SCANT_DATA_FILE_H
#define SCANT_DATA_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/ctx.h"

enum { SCANT__ERRNO_TEXT = 128 };

/* errno's text in the caller's buffer, as strerror() may not be called by two threads. */
const char *scant__errno_text(int number, char out[SCANT__ERRNO_TEXT]);

/* Makes a folder and those above it, where they are not there. */
scant_status scant__folder_make(scant_ctx *ctx, const char *path);
/* Whether both are there and the same, whatever they are called. */
bool scant__same_file(const char *a, const char *b);

/* A file that is being written, piece by piece, and appears when it is committed. */
typedef struct scant__outfile {
    scant_ctx *ctx;
    const char *path; /* the caller's, for messages */
    int fd;
    bool straight; /* no regular file: what is written is there at once */
    bool passing;  /* it need not outlive the machine: nobody waits for the disk */
    bool there;    /* old is what it will replace */
    struct stat old;
    char target[PATH_MAX], temp[PATH_MAX];
} scant__outfile;

/* path must stay until the file is committed or abandoned, which every opened one must
 * be. */
scant_status scant__outfile_open(scant_ctx *ctx, const char *path, scant__outfile *out);
scant_status scant__outfile_write(scant__outfile *out, const void *bytes, size_t size);
/* At a place of the file, whatever was written before. */
scant_status scant__outfile_write_at(scant__outfile *out, size_t at, const void *bytes,
                                     size_t size);
/* Ends it, in place or (where that fails) not at all. */
scant_status scant__outfile_commit(scant__outfile *out);
void scant__outfile_abandon(scant__outfile *out);

/* Makes the file of a new writer a passing one. */
void scant__writer_passing(scant_writer *writer);

typedef struct scant__piece {
    const void *bytes;
    size_t size;
} scant__piece;

/* scant_file_write() of pieces that need not be copied together first. */
scant_status scant__file_write_pieces(scant_ctx *ctx, const char *path,
                                      const scant__piece *pieces, size_t count);

#endif

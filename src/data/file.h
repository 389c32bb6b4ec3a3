/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic file writing, folders and errno texts.
 */
#ifndef SCANT_DATA_FILE_H
#define SCANT_DATA_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/ctx.h"

enum { SCANT__ERRNO_TEXT = 128 };

/* Thread-safe strerror() into the caller's buffer. */
const char *scant__errno_text(int number, char out[SCANT__ERRNO_TEXT]);

/* Creates a folder and its missing parents. */
scant_status scant__folder_make(scant_ctx *ctx, const char *path);
/* Whether both exist and are the same file. */
bool scant__same_file(const char *a, const char *b);

/* A file written in pieces that appears when it is committed. */
typedef struct scant__outfile {
    scant_ctx *ctx;
    const char *path; /* the caller's, for messages */
    int fd;
    bool straight; /* a pipe or device: written directly */
    bool passing;  /* temporary: not synced to disk */
    bool there;    /* old describes the file to replace */
    struct stat old;
    char target[PATH_MAX], temp[PATH_MAX];
} scant__outfile;

/* path must stay valid. Every opened file must be committed or abandoned. */
scant_status scant__outfile_open(scant_ctx *ctx, const char *path, scant__outfile *out);
scant_status scant__outfile_write(scant__outfile *out, const void *bytes, size_t size);
/* Writes at an offset. */
scant_status scant__outfile_write_at(scant__outfile *out, size_t at, const void *bytes,
                                     size_t size);
/* Closes it and puts it in place; on failure the file does not appear. */
scant_status scant__outfile_commit(scant__outfile *out);
void scant__outfile_abandon(scant__outfile *out);

/* Marks a new writer's file as temporary: not synced to disk. */
void scant__writer_temporary(scant_writer *writer);

typedef struct scant__piece {
    const void *bytes;
    size_t size;
} scant__piece;

/* scant_file_write() from several pieces. */
scant_status scant__file_write_pieces(scant_ctx *ctx, const char *path,
                                      const scant__piece *pieces, size_t count);

#endif

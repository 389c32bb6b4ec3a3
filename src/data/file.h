/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic file writing, folders, paths and errno texts.
 */
#ifndef SCANT_DATA_FILE_H
#define SCANT_DATA_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/mem.h"
#include "data/names.h"

enum { SCANT__ERRNO_TEXT = 128 };

/* Thread-safe strerror() into the caller's buffer. */
const char *scant__errno_text(int number, char out[SCANT__ERRNO_TEXT]);

/* Writes all bytes at offset `at` (SIZE_MAX: at the current position). Returns 0 or
 * errno. */
int scant__write_all(int fd, const void *bytes, size_t size, size_t at);

/* Creates a folder and its missing parents. */
scant_status scant__folder_make(scant_ctx *ctx, const char *path);
/* The same, if the folder `root` exists, with which path begins: it is never created. */
scant_status scant__folder_make_in(scant_ctx *ctx, const char *root, const char *path);
/* Appends the names of the files and folders in path to the two lists and sorts each list
 * in byte order. Links are followed; hidden entries (starting with a dot) and special
 * files are skipped. Either list may be NULL. */
scant_status scant__folder_list(scant_ctx *ctx, const char *path, scant__names *files,
                                scant__names *folders);

/* Deletes the temporary files that programs which have ended left in a folder, and in
 * folders below it down to `depth`. own: also those of this process, none of which may be
 * in use. Errors are ignored. */
void scant__folder_sweep(const char *path, unsigned depth, bool own);

/* Returns "folder/name" in the arena. On failure returns NULL and sets the message. */
char *scant__path_in(scant__arena *arena, const char *folder, const char *name);
/* Whether a component of the path is "..". */
bool scant__path_goes_up(const char *path);
/* Whether name ends with ending, ignoring case. */
bool scant__ends_with(const char *name, const char *ending);
/* The same, but .gz or .xz may follow ending. */
bool scant__ends_with_packed(const char *name, const char *ending);
/* Whether both paths exist and are the same file. */
bool scant__same_file(const char *a, const char *b);
/* Resolves symbolic links in the last part of path, also dangling ones, in place: what an
 * output to this path replaces. Returns 0 or errno. */
int scant__follow_links(char path[PATH_MAX]);

/* A file written in pieces that appears at its path when it is committed. */
typedef struct scant__outfile {
    scant_ctx *ctx;
    const char *path; /* borrowed, for messages */
    int fd;
    bool direct;   /* pipe or device: written directly */
    bool unsynced; /* temporary file: not synced to disk */
    bool replaces; /* a file is replaced; old describes it */
    struct stat old;
    char target[PATH_MAX], temp[PATH_MAX];
} scant__outfile;

/* path must stay valid. Every opened file must be committed or abandoned. */
scant_status scant__outfile_open(scant_ctx *ctx, const char *path, scant__outfile *out);
scant_status scant__outfile_write(scant__outfile *out, const void *bytes, size_t size);
/* Writes at an offset. */
scant_status scant__outfile_write_at(scant__outfile *out, size_t at, const void *bytes,
                                     size_t size);
/* Closes the file and renames it into place; on failure it does not appear. */
scant_status scant__outfile_commit(scant__outfile *out);
void scant__outfile_abandon(scant__outfile *out);

/* Marks a new writer's file as temporary: not synced to disk. */
void scant__writer_temporary(scant_writer *writer);

typedef struct scant__piece {
    const void *bytes;
    size_t size;
} scant__piece;

/* Writes a file from several pieces, like scant_file_write(). */
scant_status scant__file_write_pieces(scant_ctx *ctx, const char *path,
                                      const scant__piece *pieces, size_t count);

#endif

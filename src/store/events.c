/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened to a project, and who is at work on it.
 *
 * A lock is one of the open file (F_OFD_SETLK), which the system lets go when the file is
 * closed, however its process ends, and which two handles of one process do not share.
 * Its file stays, with a sentence of who had it: to remove it would let two in.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLK */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/file.h"
#include "scant/project.h"
#include "store/store_int.h"

/* ---- events ------------------------------------------------------------------------ */

scant_status store_event_add(scant_project *project, const char *kind, const char *json) {
    return store_do(
        project, "INSERT INTO events (at, kind, text) VALUES (?1, ?2, ?3)",
        STORE_VALUES(store_int(store_now(project)), store_text(kind), store_text(json)));
}

typedef struct happening {
    const char *kind, *json;
} happening;

static scant_status put_event(scant_project *project, void *arg) {
    const happening *h = arg;
    return store_event_add(project, h->kind, h->json);
}

scant_status scant_project_event(scant_project *project, const char *kind,
                                 const char *json) {
    return store_write(project, put_event, &(happening){kind, json ? json : "{}"});
}

scant_status scant_project_events(scant_project *project, int64_t after,
                                  scant_status (*fn)(void *user,
                                                     const scant_event *event),
                                  void *user) {
    sqlite3_stmt *rows;
    bool row = true;
    scant_status status = SCANT_OK;
    TRY(store_open_rows(project,
                        "SELECT event, at, kind, text FROM events WHERE event > ?1"
                        " ORDER BY event",
                        STORE_VALUES(store_int(after)), &rows));
    while (status == SCANT_OK && row) {
        status = store_row(project, rows, &row);
        if (status != SCANT_OK || !row) break;
        const char *kind = store_string(rows, 2), *text = store_string(rows, 3);
        status = fn(user, &(scant_event){.event = sqlite3_column_int64(rows, 0),
                                         .at = sqlite3_column_int64(rows, 1),
                                         .kind = kind ? kind : "",
                                         .text = text ? text : ""});
    }
    store_close_rows(rows);
    return status;
}

/* ---- locks ------------------------------------------------------------------------- */

struct scant_hold {
    scant_ctx *ctx;
    int fd;
};

static scant_status cannot(scant_ctx *ctx, const char *path, int number) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(ctx, SCANT_EIO, "%s: cannot be locked: %s", path,
                       scant__errno_text(number, why));
}

static scant_status held(scant_ctx *ctx, const char *dir, const char *lock, int fd) {
    char who[512];
    ssize_t n = pread(fd, who, sizeof who - 1, 0);
    who[n > 0 ? n : 0] = 0;
    for (char *at = who; *at; at++)
        if ((unsigned char)*at < 32) *at = ' ';
    return scant__fail(ctx, SCANT_ECONFLICT, "%s: another program holds '%s': %s", dir,
                       lock, n > 0 ? who : "it does not say which");
}

static scant_status take_lock(scant_project *project, const char *path, const char *lock,
                              const char *who, int fd) {
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &all) != 0)
        return errno == EAGAIN || errno == EACCES
                   ? held(project->ctx, project->dir, lock, fd)
                   : cannot(project->ctx, path, errno);
    size_t size = strlen(who);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, who, size, 0) != (ssize_t)size)
        return cannot(project->ctx, path, errno);
    return SCANT_OK;
}

static scant_status open_lock(scant_project *project, const char *path, const char *lock,
                              const char *who, scant_hold **out) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return cannot(project->ctx, path, errno);
    scant_status status = take_lock(project, path, lock, who, fd);
    scant_hold *hold =
        status == SCANT_OK ? scant__zalloc(project->ctx, 1, sizeof *hold) : NULL;
    if (!hold) {
        close(fd);
        return status == SCANT_OK ? SCANT_ENOMEM : status;
    }
    *hold = (scant_hold){project->ctx, fd};
    *out = hold;
    return SCANT_OK;
}

scant_status scant_project_hold(scant_project *project, const char *lock, const char *who,
                                scant_hold **out) {
    static const char *const locks[] = {"serve", "train", "cache", "predict"};
    char name[32];
    bool known = false;
    *out = NULL;
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        known |= strcmp(lock, locks[i]) == 0;
    if (!known)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "there is no lock '%s': it is serve, train, cache or predict",
                           lock);
    snprintf(name, sizeof name, "%s.lock", lock);
    char *path = store_path(project, name);
    if (!path) return SCANT_ENOMEM;
    scant_status status = open_lock(project, path, lock, who, out);
    scant__free(project->ctx, path);
    return status;
}

void scant_hold_free(scant_hold *hold) {
    if (!hold) return;
    if (ftruncate(hold->fd, 0) != 0) { /* the sentence stays, and nobody reads it */
    }
    close(hold->fd);
    scant__free(hold->ctx, hold);
}

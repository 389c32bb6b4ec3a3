/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of a project, and its locks.
 *
 * A lock belongs to the open file (F_OFD_SETLK): the system releases it when the file is
 * closed, however the process ends, and two handles of one process do not share it. The
 * lock file stays, with the name of its holder: deleting it would let two programs in.
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

scant_status store_event_take(scant_project *project, const char *kind,
                              scant__text *text) {
    char *json;
    size_t size;
    TRY(scant__text_take(text, &json, &size));
    scant_status status = store_event_add(project, kind, json);
    scant__free(project->ctx, json);
    return status;
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

typedef struct listening {
    scant_status (*fn)(void *user, const scant_event *event);
    void *user;
} listening;

static scant_status give_event(scant_project *project, sqlite3_stmt *row, void *arg) {
    const listening *l = arg;
    const char *kind = store_string(row, 2), *text = store_string(row, 3);
    (void)project;
    return l->fn(l->user, &(scant_event){.event = sqlite3_column_int64(row, 0),
                                         .at = sqlite3_column_int64(row, 1),
                                         .kind = kind ? kind : "",
                                         .text = text ? text : ""});
}

scant_status scant_project_events(scant_project *project, int64_t after,
                                  scant_status (*fn)(void *user,
                                                     const scant_event *event),
                                  void *user) {
    return store_each(project,
                      "SELECT event, at, kind, text FROM events WHERE event > ?1"
                      " ORDER BY event",
                      STORE_VALUES(store_int(after)), give_event, &(listening){fn, user});
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
                       lock, n > 0 ? who : "it left no name");
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
        return scant__fail(
            project->ctx, SCANT_EUSAGE,
            "there is no lock '%s': expected serve, train, cache or predict", lock);
    snprintf(name, sizeof name, "%s.lock", lock);
    char *path = store_path(project, name);
    if (!path) return SCANT_ENOMEM;
    scant_status status = open_lock(project, path, lock, who, out);
    scant__free(project->ctx, path);
    return status;
}

void scant_hold_free(scant_hold *hold) {
    if (!hold) return;
    if (ftruncate(hold->fd, 0) != 0) { /* harmless: the name is read only while held */
    }
    close(hold->fd);
    scant__free(hold->ctx, hold);
}

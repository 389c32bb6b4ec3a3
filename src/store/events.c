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

static scant_status put_event(scant_project *project, const char *kind,
                              const char *json) {
    return store_do(project, "INSERT INTO events (at, kind, text) VALUES (?1, ?2, ?3)",
                    store_int(store_now(project)), store_text(kind), store_text(json));
}

scant_status store_event_add(scant_project *project, const char *kind,
                             const scant__text *json) {
    return json->failed ? SCANT_ENOMEM : put_event(project, kind, json->data);
}

scant_status scant_project_event(scant_project *project, const char *kind,
                                 const char *json) {
    NEED(project);
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    TRY(put_event(project, kind, json ? json : "{}"));
    return store_commit(&tx);
}

scant_status scant_project_events(scant_project *project, int64_t after,
                                  scant_status (*fn)(void *user,
                                                     const scant_event *event),
                                  void *user) {
    NEED(project);
    STORE_EACH(row, project,
               "SELECT event, at, kind, text FROM events WHERE event > ?1 ORDER BY event",
               store_int(after))
        TRY(fn(user, &(scant_event){.event = store_integer(row, 0),
                                    .at = store_integer(row, 1),
                                    .kind = store_name(row, 2),
                                    .text = store_name(row, 3)}));
    return SCANT_OK;
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

static void close_file(const int *fd) {
    if (*fd >= 0) close(*fd);
}

/* Deletes temporary files of programs that were killed. A server sweeps before it has
 * threads that write; a training may run in a server. */
static void sweep(const scant_project *project, const char *lock) {
    static const char *const folders[] = {"", "cache", "models"};
    bool serve = strcmp(lock, "serve") == 0;
    char path[PATH_MAX];
    if (!serve && strcmp(lock, "train") != 0) return;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", project->dir, folders[i]);
        if (n > 0 && (size_t)n < sizeof path)
            scant__folder_sweep(path, *folders[i] ? 4 : 0, serve);
    }
}

scant_status scant_project_hold(scant_project *project, const char *lock, const char *who,
                                scant_hold **out) {
    *out = NULL;
    NEED(project);
    static const char *const locks[] = {"serve", "train", "cache", "predict"};
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    bool known = false;
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        known |= strcmp(lock, locks[i]) == 0;
    if (!known)
        return scant__fail(
            project->ctx, SCANT_EUSAGE,
            "there is no lock '%s': expected serve, train, cache or predict", lock);
    const char *path = scant__arena_format(&arena, "%s/%s.lock", project->dir, lock);
    if (!path) return SCANT_ENOMEM;
    AUTO(close_file) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return cannot(project->ctx, path, errno);
    TRY(take_lock(project, path, lock, who, fd));
    scant_hold *hold = scant__zalloc(project->ctx, 1, sizeof *hold);
    if (!hold) return SCANT_ENOMEM;
    *hold = (scant_hold){project->ctx, fd};
    *out = hold;
    fd = -1;
    sweep(project, lock);
    return SCANT_OK;
}

void scant_hold_free(scant_hold *hold) {
    if (!hold) return;
    if (ftruncate(hold->fd, 0) != 0) { /* harmless: the name is read only while held */
    }
    close(hold->fd);
    scant__free(hold->ctx, hold);
}

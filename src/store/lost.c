/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices that the database has been lost: removed, replaced or cut short while it is
 * open. SQLite keeps the open files, so it would go on writing to a file that nobody can
 * find.
 *
 * The file at the path must have the device and inode of the opened one, and no fewer
 * bytes than it had at any check: SQLite never shrinks the database unless it is asked
 * to. The write-ahead log must be the same file, too, from the first transaction that
 * writes; its size says nothing, as a checkpoint by another program may reset it. Every
 * transaction that writes is checked before it begins and after it is committed, so no
 * call returns SCANT_OK for something that is lost by then. Two stat() calls a check.
 */
#include <errno.h>
#include <stdio.h>

#include "data/file.h"
#include "scant/project.h"
#include "store/store_int.h"

static scant_status lost(scant_project *project, const char *file, const char *what) {
    return scant__fail(project->ctx, SCANT_EIO,
                       "%s: %s while this program had it open, so nothing can be stored: "
                       "put the file back, or restart the program",
                       file, what);
}

/* Compares the file at path with the one that was seen first, and remembers its size. */
static scant_status check_file(scant_project *project, const char *path,
                               store_file *seen) {
    struct stat now;
    char why[SCANT__ERRNO_TEXT];
    if (stat(path, &now) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return lost(project, path, "was removed");
        return scant__fail(project->ctx, SCANT_EIO, "%s: cannot be checked: %s", path,
                           scant__errno_text(errno, why));
    }
    if (now.st_ino != seen->inode || now.st_dev != seen->device)
        return lost(project, path, "was replaced");
    if (now.st_size < seen->size) return lost(project, path, "was cut short");
    seen->size = now.st_size;
    return SCANT_OK;
}

/* *out stays zero if there is no such file. */
static void note(const char *path, store_file *out) {
    struct stat now;
    if (stat(path, &now) == 0)
        *out = (store_file){.device = now.st_dev, .inode = now.st_ino};
}

scant_status store_file_note(scant_project *project) {
    int moved = 0;
    note(project->file, &project->database);
    /* whether the path names another file by now than the one that SQLite has opened */
    sqlite3_file_control(project->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved) return lost(project, project->file, "was replaced");
    return check_file(project, project->file, &project->database);
}

static scant_status check_log(scant_project *project) {
    const char *path = project->log_file;
    if (!project->log.inode) {
        if (project->writing) note(path, &project->log); /* it is open, so it exists */
        return SCANT_OK;
    }
    project->log.size = 0; /* it may shrink */
    return check_file(project, path, &project->log);
}

scant_status scant_project_check(scant_project *project) {
    NEED(project);
    TRY(check_file(project, project->file, &project->database));
    return check_log(project);
}

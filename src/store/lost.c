/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices that the database has been lost: removed, replaced, cut short or overwritten
 * while it is open. SQLite keeps the open files, so it would go on writing to a file that
 * nobody can find, or after a beginning that is gone.
 *
 * Every transaction that writes is checked before it begins, before and after it is
 * committed, so no call returns SCANT_OK for something that is lost by then. A check is
 * about a dozen short system calls; it reads no more than 200 bytes.
 *
 * The write-ahead log must be the file that was there when the handle was opened (device
 * and inode), and must have the commit that the wal-index in shared memory names as the
 * last one: the salts of its header and the running checksum of the last frame. Whoever
 * restarts the log changes the wal-index first, so a checkpoint by another program is no
 * alarm. (https://www.sqlite.org/walformat.html)
 *
 * The database must be the file that was opened. Only a checkpoint writes it, and tells
 * so in the wal-index: without one since the last check, the file is not smaller and its
 * header is the same. With one, the change counter in the header has not gone back, and
 * the file is smaller only if it has the pages that the header counts (after a VACUUM).
 *
 * Not noticed: damage inside the files that leaves these places as they were, such as a
 * backup of the database with the same header (the number of pages is in it); an
 * overwritten database, if there is a checkpoint before the next check, or if there was
 * none since a program was killed; a log that is spoilt while it is empty (the next
 * commit begins it anew); a removed or overwritten project.db-shm; what is lost after the
 * last check.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/file.h"
#include "scant/project.h"
#include "store/content.h"

enum {
    INDEX_BYTES = 32768, /* the first region of the wal-index, as SQLite maps it */
    INDEX_WORDS = 12,    /* of its header, of which there are two copies */
    LOG_HEADER = 32,
    FRAME_HEADER = 24,
    TRIES = 100 /* to read while another program writes */
};

static scant_status lost(scant_project *project, const char *file, const char *what) {
    return scant__fail(project->ctx, SCANT_EIO,
                       "%s: %s while this program had it open, so nothing can be stored: "
                       "put the file back, or restart the program",
                       file, what);
}

static scant_status cannot_check(scant_project *project, const char *path) {
    char why[SCANT__ERRNO_TEXT];
    if (errno == ENOENT || errno == ENOTDIR) return lost(project, path, "was removed");
    return scant__fail(project->ctx, SCANT_EIO, "%s: cannot be checked: %s", path,
                       scant__errno_text(errno, why));
}

static uint32_t big_endian(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static size_t page_size(unsigned stored) { return stored == 1 ? 65536 : stored; }

/* ---- the database ------------------------------------------------------------------ */

/* SQLite's own open file: closing another descriptor would release SQLite's locks. */
static sqlite3_file *database_file(scant_project *project) {
    sqlite3_file *file = NULL;
    sqlite3_file_control(project->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return file && file->pMethods ? file : NULL;
}

/* The first words of the wal-index, in *map; false: there is none. */
static bool map_index(scant_project *project, const volatile uint32_t **map) {
    sqlite3_file *file = database_file(project);
    void volatile *region = NULL;
    if (!file || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &region) != SQLITE_OK)
        return false;
    *map = region;
    return region != NULL;
}

/* The last checkpoint: the log's salts, how many of its frames are in the database, and
 * how many a checkpoint has begun to copy (more, if it is under way or was killed). */
static void read_checkpoint(scant_project *project, uint32_t out[4]) {
    static const size_t at[4] = {8, 9, 24, 32};
    const volatile uint32_t *index;
    bool has_index = project->log.inode && map_index(project, &index);
    for (size_t i = 0; i < 4; i++) out[i] = has_index ? index[at[i]] : 0;
}

/* What is wrong with the database; NULL: nothing. */
static const char *judge_database(scant_project *project, const store_seen *now) {
    const store_seen *seen = &project->seen;
    uint32_t counter = big_endian(now->header + 24), pages = big_endian(now->header + 28);
    size_t page = page_size((unsigned)now->header[16] << 8 | now->header[17]);
    bool is_counted = pages && counter == big_endian(now->header + 92);
    bool is_whole = is_counted && (uint64_t)now->size >= (uint64_t)pages * page;
    bool is_copied = now->checkpoint[2] == now->checkpoint[3];
    bool none_since =
        memcmp(seen->checkpoint, now->checkpoint, sizeof now->checkpoint) == 0;
    if (!seen->size) return NULL;
    if (now->size < seen->size &&
        (is_copied ? none_since || !is_whole : none_since && !is_whole))
        return "was cut short";
    if ((int32_t)(counter - big_endian(seen->header + 24)) < 0) return "was overwritten";
    if (project->log.inode && none_since && is_copied &&
        memcmp(seen->header, now->header, sizeof now->header) != 0)
        return "was overwritten";
    return NULL;
}

static scant_status check_database(scant_project *project) {
    const char *wrong = NULL, *path = project->file;
    sqlite3_file *file = database_file(project);
    struct stat st;
    for (int i = 0; i < TRIES; i++) {
        store_seen now = {0};
        uint32_t after[4];
        read_checkpoint(project, now.checkpoint);
        if (stat(path, &st) != 0) return cannot_check(project, path);
        if (st.st_ino != project->database.inode || st.st_dev != project->database.device)
            return lost(project, path, "was replaced");
        now.size = st.st_size;
        if (file) file->pMethods->xRead(file, now.header, sizeof now.header, 0);
        read_checkpoint(project, after);
        if (memcmp(now.checkpoint, after, sizeof after) != 0) continue;
        wrong = judge_database(project, &now);
        if (!wrong) project->seen = now;
        break;
    }
    return wrong ? lost(project, path, wrong) : SCANT_OK;
}

/* *out stays zero if there is no such file. */
static void note(const char *path, store_file *out) {
    struct stat now;
    *out = (store_file){0};
    if (stat(path, &now) == 0)
        *out = (store_file){.device = now.st_dev, .inode = now.st_ino};
}

scant_status store_file_note(scant_project *project) {
    int moved = 0;
    note(project->file, &project->database);
    /* whether the path names another file by now than the one that SQLite has opened */
    sqlite3_file_control(project->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved) return lost(project, project->file, "was replaced");
    return check_database(project);
}

/* ---- the write-ahead log ----------------------------------------------------------- */

/* What the wal-index says of the log. */
typedef struct log_state {
    uint32_t words[INDEX_WORDS];
} log_state;

/* False: there is none, or another program is writing it. */
static bool read_index(scant_project *project, log_state *out) {
    const volatile uint32_t *index;
    bool same = true;
    if (!map_index(project, &index)) return false;
    for (size_t i = 0; i < INDEX_WORDS; i++) out->words[i] = index[i];
    for (size_t i = 0; i < INDEX_WORDS; i++)
        same = same && out->words[i] == index[INDEX_WORDS + i];
    return same;
}

static bool same_state(const log_state *a, const log_state *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* What is wrong with the log; NULL: it has the last commit, or should be empty. */
static const char *judge_log(int fd, const log_state *state) {
    const unsigned char *bytes = (const unsigned char *)state->words;
    unsigned char header[LOG_HEADER], frame[FRAME_HEADER];
    uint16_t stored;
    uint32_t last = state->words[4];
    if (!bytes[12] || !last) return NULL; /* not yet initialized; no frames */
    memcpy(&stored, bytes + 14, sizeof stored);
    size_t at = LOG_HEADER + (last - 1) * (FRAME_HEADER + page_size(stored));
    struct stat now;
    if (fstat(fd, &now) != 0 ||
        (size_t)now.st_size < at + FRAME_HEADER + page_size(stored) ||
        store_read_at(fd, header, sizeof header, 0) != sizeof header ||
        store_read_at(fd, frame, sizeof frame, at) != sizeof frame)
        return "was cut short";
    if (memcmp(header + 16, bytes + 32, 8) != 0 ||
        memcmp(frame + 8, bytes + 32, 8) != 0 ||
        big_endian(frame + 16) != state->words[6] ||
        big_endian(frame + 20) != state->words[7])
        return "was overwritten";
    return NULL;
}

static scant_status check_open_log(scant_project *project, int fd) {
    const char *path = project->log_file, *wrong = NULL;
    log_state before, after;
    struct stat now;
    if (fstat(fd, &now) != 0) return cannot_check(project, path);
    if (now.st_ino != project->log.inode || now.st_dev != project->log.device)
        return lost(project, path, "was replaced");
    for (int i = 0; i < TRIES; i++) {
        if (!read_index(project, &before)) continue;
        wrong = judge_log(fd, &before);
        if (!wrong || (read_index(project, &after) && same_state(&before, &after))) break;
        wrong = NULL; /* it changed in between */
    }
    return wrong ? lost(project, path, wrong) : SCANT_OK;
}

static scant_status check_log(scant_project *project) {
    if (!project->log.inode) return SCANT_OK; /* no write-ahead log */
    int fd = open(project->log_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return cannot_check(project, project->log_file);
    scant_status status = check_open_log(project, fd);
    close(fd);
    return status;
}

scant_status store_log_note(scant_project *project) {
    bool has_log = false;
    STORE_EACH(row, project, "PRAGMA journal_mode")
        has_log = strcmp(store_name(row, 0), "wal") == 0;
    project->seen.size = 0; /* before, a rollback may have restored an older state */
    if (has_log) {
        note(project->log_file, &project->log);
        if (!project->log.inode) return lost(project, project->log_file, "was removed");
    }
    return scant_project_check(project);
}

scant_status scant_project_check(scant_project *project) {
    NEED(project);
    TRY(check_database(project));
    return check_log(project);
}

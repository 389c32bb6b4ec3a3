/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders, paths, and files written atomically, at once or in pieces.
 *
 * The bytes of a file go to a temporary file in the same directory, which is synced and
 * then renamed over the target. Symbolic links are followed, so the file is replaced and
 * not the link. An existing file keeps its mode and, if permitted, its owner; a read-only
 * file is refused although rename() could replace it. Pipes and devices are written
 * directly; the program must handle SIGPIPE.
 */
#include "data/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_LINKS = 40, MAX_TRIES = 1000 };

const char *scant__errno_text(int number, char out[SCANT__ERRNO_TEXT]) {
    if (strerror_r(number, out, SCANT__ERRNO_TEXT) != 0)
        snprintf(out, SCANT__ERRNO_TEXT, "error %d", number);
    return out;
}

static scant_status cannot(scant_ctx *ctx, const char *path, const char *what,
                           int number) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(ctx, SCANT_EIO, "%s: %s: %s", path, what,
                       scant__errno_text(number, why));
}

/* ---- durability -------------------------------------------------------------------- */

/* Calls fsync(); returns 0 or errno. File systems without fsync() are accepted. */
static int sync_fd(int fd) {
    while (fsync(fd) != 0) {
        if (errno == EINTR) continue;
        return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : errno;
    }
    return 0;
}

/* The length of path's directory part, slash included. */
static size_t dir_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Syncs the directory entry. The file or folder is already in place, so
 * failure is ignored. */
static void sync_dir(const char *target) {
    char dir[PATH_MAX];
    size_t length = dir_length(target);
    if (length + 2 > sizeof dir) return;
    memcpy(dir, target, length);
    memcpy(dir + length, ".", 2);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    sync_fd(fd);
    close(fd);
}

/* ---- folders ----------------------------------------------------------------------- */

bool scant__same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static scant_status make_one(scant_ctx *ctx, const char *path) {
    if (is_folder(path)) return SCANT_OK;
    if (mkdir(path, 0777) == 0) {
        sync_dir(path);
        return SCANT_OK;
    }
    int number = errno;
    if (number == EEXIST && is_folder(path)) return SCANT_OK; /* created concurrently */
    return cannot(ctx, path, "the folder cannot be created", number);
}

scant_status scant__folder_make(scant_ctx *ctx, const char *path) {
    return scant__folder_make_in(ctx, "", path);
}

scant_status scant__folder_make_in(scant_ctx *ctx, const char *root, const char *path) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    char *part = scant__arena_strdup(&arena, path);
    if (!part) return SCANT_ENOMEM;
    for (char *at = part + strlen(root); *at; at++) {
        if (*at != '/' || at == part || at == part + strlen(root)) continue;
        *at = 0;
        TRY(make_one(ctx, part));
        *at = '/';
    }
    return make_one(ctx, part);
}

static scant_status unreadable(scant_ctx *ctx, const char *path) {
    char why[SCANT__ERRNO_TEXT];
    return scant__refuse(ctx, path, "the folder cannot be read: %s",
                         scant__errno_text(errno, why));
}

/* The type of a folder's entry, following links; 0: unknown (a dangling link). */
static mode_t kind_of(DIR *folder, const struct dirent *entry) {
    struct stat st;
    if (entry->d_type == DT_REG) return S_IFREG;
    if (entry->d_type == DT_DIR) return S_IFDIR;
    if (fstatat(dirfd(folder), entry->d_name, &st, 0) != 0) return 0;
    return st.st_mode & S_IFMT;
}

static scant_status list_into(scant_ctx *ctx, const char *path, DIR *folder,
                              scant__names *files, scant__names *folders) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) return errno ? unreadable(ctx, path) : SCANT_OK;
        if (entry->d_name[0] == '.') continue;
        mode_t kind = kind_of(folder, entry);
        scant__names *list = kind == S_IFREG ? files : kind == S_IFDIR ? folders : NULL;
        if (list) TRY(scant__names_put(ctx, list, entry->d_name));
    }
}

scant_status scant__folder_list(scant_ctx *ctx, const char *path, scant__names *files,
                                scant__names *folders) {
    DIR *folder = opendir(path);
    if (!folder) return unreadable(ctx, path);
    scant_status status = list_into(ctx, path, folder, files, folders);
    closedir(folder);
    if (status != SCANT_OK) return status;
    if (files) scant__names_sort(files);
    if (folders) scant__names_sort(folders);
    return SCANT_OK;
}

/* Whether a file is a temporary file, ".scant-PID-N.tmp", of a process that has ended, or
 * of this one. Those of other running processes must stay. */
static bool is_left_over(const char *name, bool own) {
    static const char prefix[] = ".scant-";
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    name += sizeof prefix - 1;
    long pid = isdigit((unsigned char)*name) ? strtol(name, &end, 10) : 0;
    if (pid <= 0 || pid > INT_MAX || *end != '-' || !isdigit((unsigned char)end[1]))
        return false;
    strtol(end + 1, &end, 10);
    if (strcmp(end, ".tmp") != 0) return false;
    if (pid == (long)getpid()) return own;
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void sweep_at(int fd, unsigned depth, bool own) {
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(folder));) {
        bool below = depth && e->d_name[0] != '.' &&
                     (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
        int inner =
            below ? openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                  : -1;
        if (inner >= 0) sweep_at(inner, depth - 1, own);
        if (is_left_over(e->d_name, own)) unlinkat(fd, e->d_name, 0);
    }
    closedir(folder);
}

void scant__folder_sweep(const char *path, unsigned depth, bool own) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) sweep_at(fd, depth, own);
}

/* ---- paths ------------------------------------------------------------------------- */

char *scant__path_in(scant__arena *arena, const char *folder, const char *name) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    return scant__arena_format(arena, "%.*s/%s", (int)length, folder, name);
}

bool scant__path_goes_up(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2)
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/')) return true;
    return false;
}

static bool ends_with(const char *name, size_t length, const char *ending) {
    size_t size = strlen(ending);
    return length >= size && strncasecmp(name + length - size, ending, size) == 0;
}

bool scant__ends_with(const char *name, const char *ending) {
    return ends_with(name, strlen(name), ending);
}

bool scant__ends_with_packed(const char *name, const char *ending) {
    size_t length = strlen(name);
    if (ends_with(name, length, ".gz") || ends_with(name, length, ".xz")) length -= 3;
    return ends_with(name, length, ending);
}

/* ---- files ------------------------------------------------------------------------- */

int scant__write_all(int fd, const void *bytes, size_t size, size_t at) {
    for (size_t done = 0; done < size;) {
        const char *from = (const char *)bytes + done;
        ssize_t n = at == SIZE_MAX ? write(fd, from, size - done)
                                   : pwrite(fd, from, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n ? errno : ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

int scant__follow_links(char path[PATH_MAX]) {
    char link[PATH_MAX];
    for (int i = 0; i < MAX_LINKS; i++) {
        ssize_t n = readlink(path, link, sizeof link);
        if (n < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
        size_t keep = link[0] == '/' ? 0 : dir_length(path), length = (size_t)n;
        if (keep + length >= PATH_MAX) return ENAMETOOLONG;
        memcpy(path + keep, link, length);
        path[keep + length] = 0;
    }
    return ELOOP;
}

/* Creates a temporary file beside target and sets temp to its path. Returns the
 * descriptor, or -1 and errno. */
static int open_temp(const char *target, mode_t mode, char temp[PATH_MAX]) {
    size_t dir = dir_length(target);
    for (int i = 0; i < MAX_TRIES; i++) {
        int n = snprintf(temp, PATH_MAX, "%.*s.scant-%ld-%d.tmp", (int)dir, target,
                         (long)getpid(), i);
        if (n < 0 || n >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || (errno != EEXIST && errno != EINTR)) return fd;
    }
    return -1;
}

/* Opens a pipe or device. */
static scant_status open_direct(scant__outfile *out) {
    do out->fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    while (out->fd < 0 && errno == EINTR); /* open() waits for a pipe's reader */
    if (out->fd < 0)
        return cannot(out->ctx, out->path, "cannot be opened for writing", errno);
    out->direct = true;
    return SCANT_OK;
}

/* Sets out->target to the path with links resolved; returns 0 or errno. */
static int find_target(scant__outfile *out) {
    struct stat same;
    size_t length = strlen(out->path);
    if (!length) return ENOENT;
    if (length >= sizeof out->target) return ENAMETOOLONG;
    memcpy(out->target, out->path, length + 1);
    int number = scant__follow_links(out->target);
    if (number) return number;
    if (out->target[strlen(out->target) - 1] == '/') return EISDIR;
    if (!out->replaces) return 0;
    if (faccessat(AT_FDCWD, out->path, W_OK, AT_EACCESS) != 0) return errno;
    /* /proc/self/fd/N of a deleted file has no name to replace */
    if (stat(out->target, &same) != 0 || same.st_ino != out->old.st_ino ||
        same.st_dev != out->old.st_dev)
        return ENOENT;
    return 0;
}

scant_status scant__outfile_open(scant_ctx *ctx, const char *path, scant__outfile *out) {
    out->ctx = ctx;
    out->path = path;
    out->fd = -1;
    out->direct = out->unsynced = false;
    out->replaces = stat(path, &out->old) == 0;
    if (!out->replaces && errno != ENOENT)
        return cannot(ctx, path, "cannot be written", errno);
    if (out->replaces && S_ISDIR(out->old.st_mode))
        return cannot(ctx, path, "cannot be written", EISDIR);
    if (out->replaces && !S_ISREG(out->old.st_mode)) return open_direct(out);
    int number = find_target(out);
    if (number) return cannot(ctx, path, "cannot be written", number);
    /* the umask sets the mode of a new file; commit copies the mode of a replaced one */
    out->fd = open_temp(out->target, out->replaces ? 0600 : 0666, out->temp);
    if (out->fd < 0)
        return cannot(ctx, path, "cannot create a temporary file beside it", errno);
    return SCANT_OK;
}

scant_status scant__outfile_write(scant__outfile *out, const void *bytes, size_t size) {
    return scant__outfile_write_at(out, SIZE_MAX, bytes, size);
}

scant_status scant__outfile_write_at(scant__outfile *out, size_t at, const void *bytes,
                                     size_t size) {
    if (out->direct && at != SIZE_MAX)
        return scant__fail(out->ctx, SCANT_EIO,
                           "%s: only a regular file can be written out of order",
                           out->path);
    int number = scant__write_all(out->fd, bytes, size, at);
    return number ? cannot(out->ctx, out->path, "cannot be written", number) : SCANT_OK;
}

/* Copies owner and mode of the old file; returns 0 or errno. Owner first, because chown
 * clears mode bits. A failed chown is ignored, because only root may change the owner. */
static int keep_mode(const scant__outfile *out) {
    if (!out->replaces) return 0;
    if (fchown(out->fd, out->old.st_uid, out->old.st_gid) != 0) errno = 0;
    return fchmod(out->fd, out->old.st_mode & 07777) != 0 ? errno : 0;
}

scant_status scant__outfile_commit(scant__outfile *out) {
    int number = out->direct ? 0 : keep_mode(out);
    bool lasts = !out->direct && !out->unsynced;
    if (!number && lasts) number = sync_fd(out->fd);
    if (close(out->fd) != 0 && !number && errno != EINTR) number = errno;
    out->fd = -1;
    if (!number && !out->direct && rename(out->temp, out->target) != 0) number = errno;
    if (number) {
        if (!out->direct) unlink(out->temp);
        return cannot(out->ctx, out->path, "cannot be written", number);
    }
    if (lasts) sync_dir(out->target);
    return SCANT_OK;
}

void scant__outfile_abandon(scant__outfile *out) {
    if (out->fd < 0) return;
    close(out->fd);
    out->fd = -1;
    if (!out->direct) unlink(out->temp);
}

scant_status scant__file_write_pieces(scant_ctx *ctx, const char *path,
                                      const scant__piece *pieces, size_t count) {
    AUTO(scant__outfile_abandon) scant__outfile out = {.fd = -1};
    TRY(scant__outfile_open(ctx, path, &out));
    for (size_t i = 0; i < count; i++)
        TRY(scant__outfile_write(&out, pieces[i].bytes, pieces[i].size));
    return scant__outfile_commit(&out);
}

scant_status scant_file_write(scant_ctx *ctx, const char *path, const void *bytes,
                              size_t size) {
    NEED(ctx);
    return scant__file_write_pieces(ctx, path, &(scant__piece){bytes, size}, 1);
}

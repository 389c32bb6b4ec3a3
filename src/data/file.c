/* SPDX-License-Identifier: Apache-2.0
 *
 * Files written whole or not at all.
 *
 * The bytes go to a temporary file in the same directory, onto the disk, and then take
 * the name's place by rename(), which is atomic. A symbolic link is followed, so that the
 * file it names is replaced and not the link. A file that was there keeps its mode and,
 * where we may, its owner; one that may not be written is refused, though rename() would
 * do it. What is no regular file (a pipe, /dev/stdout) is written straight; a reader that
 * goes away raises SIGPIPE, which is for the program to have settled.
 */
#include "data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "scant/scant.h"

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

/* 0 or errno. */
static int write_all(int fd, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

/* 0 or errno. */
static int write_pieces(int fd, const scant__piece *pieces, size_t count) {
    int number = 0;
    for (size_t i = 0; i < count && !number; i++)
        number = write_all(fd, pieces[i].bytes, pieces[i].size);
    return number;
}

/* 0 or errno. File systems without fsync are taken as they are. */
static int sync_fd(int fd) {
    while (fsync(fd) != 0) {
        if (errno == EINTR) continue;
        return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : errno;
    }
    return 0;
}

static scant_status write_straight(scant_ctx *ctx, const char *path,
                                   const scant__piece *pieces, size_t count) {
    int fd, number;
    do fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    while (fd < 0 && errno == EINTR); /* a pipe waits for its reader */
    if (fd < 0) return cannot(ctx, path, "cannot be opened for writing", errno);
    number = write_pieces(fd, pieces, count);
    if (close(fd) != 0 && !number && errno != EINTR) number = errno;
    return number ? cannot(ctx, path, "cannot be written", number) : SCANT_OK;
}

/* The length of path's directory part, slash included. */
static size_t dir_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Follows symbolic links of the last part of path, dangling ones too, in place. 0 or
 * errno. */
static int follow_links(char path[PATH_MAX]) {
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

/* A new file beside target, its name in temp. Returns the descriptor, or -1 and errno. */
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

/* So that the name, too, is on the disk. The file is in place: a failure is no news. */
static void sync_dir(const char *target) {
    char dir[PATH_MAX];
    size_t length = dir_length(target);
    memcpy(dir, target, length);
    memcpy(dir + length, ".", 2);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    sync_fd(fd);
    close(fd);
}

/* old is what is at target, or NULL. */
static scant_status replace(scant_ctx *ctx, const char *path, const char *target,
                            const struct stat *old, const scant__piece *pieces,
                            size_t count) {
    char temp[PATH_MAX];
    /* a new file's mode is the umask's; an old one's is set before it is in place */
    int fd = open_temp(target, old ? 0600 : 0666, temp);
    if (fd < 0) return cannot(ctx, path, "no file can be made beside it", errno);
    int number = write_pieces(fd, pieces, count);
    if (!number && old) {
        /* the owner first: a change of it clears bits of the mode. Only root may change
         * it. */
        if (fchown(fd, old->st_uid, old->st_gid) != 0) errno = 0;
        if (fchmod(fd, old->st_mode & 07777) != 0) number = errno;
    }
    if (!number) number = sync_fd(fd);
    if (close(fd) != 0 && !number && errno != EINTR) number = errno;
    if (!number && rename(temp, target) != 0) number = errno;
    if (number) {
        unlink(temp);
        return cannot(ctx, path, "cannot be written", number);
    }
    sync_dir(target);
    return SCANT_OK;
}

scant_status scant__file_write_pieces(scant_ctx *ctx, const char *path,
                                      const scant__piece *pieces, size_t count) {
    struct stat old, same;
    char target[PATH_MAX];
    bool there = stat(path, &old) == 0;
    if (!there && errno != ENOENT) return cannot(ctx, path, "cannot be written", errno);
    if (there && S_ISDIR(old.st_mode))
        return cannot(ctx, path, "cannot be written", EISDIR);
    if (there && !S_ISREG(old.st_mode)) return write_straight(ctx, path, pieces, count);
    size_t length = strlen(path);
    if (!length) return cannot(ctx, path, "cannot be written", ENOENT);
    if (length >= sizeof target)
        return cannot(ctx, path, "cannot be written", ENAMETOOLONG);
    memcpy(target, path, length + 1);
    int number = follow_links(target);
    if (!number && target[strlen(target) - 1] == '/') number = EISDIR;
    if (!number && there) {
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) number = errno;
        /* /proc/self/fd/N of a deleted file has no name to replace */
        if (!number && (stat(target, &same) != 0 || same.st_ino != old.st_ino ||
                        same.st_dev != old.st_dev))
            number = ENOENT;
    }
    if (number) return cannot(ctx, path, "cannot be written", number);
    return replace(ctx, path, target, there ? &old : NULL, pieces, count);
}

scant_status scant_file_write(scant_ctx *ctx, const char *path, const void *bytes,
                              size_t size) {
    return scant__file_write_pieces(ctx, path, &(scant__piece){bytes, size}, 1);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the files that commands read and write. They run before the work: long work
 * must not fail at its end because a folder is missing, or overwrite an input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"

/* ---- checking that a file can be written ------------------------------------------- */

void cli_cannot_write(const char *path, const char *why) {
    cli_die(CLI_SYSTEM, "%s: cannot be written: %s", path, why);
}

void cli_cannot_read(const char *path, const char *why) {
    cli_die(CLI_BAD_INPUT, "%s: cannot be read: %s", path, why);
}

/* Returns the folder part of path. */
static const char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return cli_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static void check_folder(const char *path) {
    const char *folder = folder_of(path);
    struct stat info;
    if (stat(folder, &info) != 0) cli_cannot_write(path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) cli_cannot_write(path, strerror(ENOTDIR));
    if (access(folder, W_OK | X_OK) != 0) cli_cannot_write(path, strerror(errno));
}

void cli_check_file(const char *path) {
    struct stat info;
    size_t length = strlen(path);
    if (length > 0 && path[length - 1] == '/') cli_cannot_write(path, strerror(EISDIR));
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) cli_cannot_write(path, strerror(errno));
        /* a link may point to a file that does not exist yet */
        if (lstat(path, &info) != 0) check_folder(path);
        return;
    }
    if (S_ISDIR(info.st_mode)) cli_cannot_write(path, strerror(EISDIR));
    if (access(path, W_OK) != 0) cli_cannot_write(path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return;  /* a pipe or device */
    char *behind = realpath(path, NULL); /* follows symbolic links */
    if (behind) check_folder(behind);
    free(behind);
}

void cli_check_stdout(void) {
    int mode = fcntl(STDOUT_FILENO, F_GETFL);
    if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
        cli_cannot_write("standard output", strerror(EBADF));
}

/* ---- checking for overwritten files ------------------------------------------------ */

/* Calls stat() on the file of "FILE" or "FILE.npz:KEY". False: it fails. */
static bool stat_spec(const char *spec, struct stat *info) {
    const char *colon = strrchr(spec, ':');
    if (stat(spec, info) == 0) return true;
    return colon && stat(cli_strndup(spec, (size_t)(colon - spec)), info) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether a and b are one file. If both exist, compares inodes; if neither does, folders
 * and names. */
static bool same_file(const char *a, const char *b) {
    struct stat at, other;
    bool there = stat(a, &at) == 0, other_there = stat(b, &other) == 0;
    if (there != other_there) return false;
    if (there) return S_ISREG(at.st_mode) && same_inode(&at, &other);
    const char *slash = strrchr(a, '/'), *other_slash = strrchr(b, '/');
    return strcmp(slash ? slash + 1 : a, other_slash ? other_slash + 1 : b) == 0 &&
           stat(folder_of(a), &at) == 0 && stat(folder_of(b), &other) == 0 &&
           same_inode(&at, &other);
}

void cli_check_overwrites(const cli_command *command, const cli_path *outs, size_t n_outs,
                          const cli_path *ins, size_t n_ins) {
    struct stat at, in;
    for (size_t i = 0; i < n_outs; i++) {
        const char *out = outs[i].path;
        if (!out) continue;
        bool there = stat(out, &at) == 0 && S_ISREG(at.st_mode);
        for (size_t j = 0; j < n_ins && there; j++)
            if (ins[j].path && stat_spec(ins[j].path, &in) && same_inode(&in, &at))
                cli_usage(command, "--%s %s would overwrite --%s", outs[i].flag, out,
                          ins[j].flag);
        for (size_t j = 0; j < i; j++)
            if (outs[j].path && same_file(out, outs[j].path))
                cli_usage(command, "--%s and --%s are the same file: %s", outs[j].flag,
                          outs[i].flag, out);
    }
}

/* ---- reading ----------------------------------------------------------------------- */

bool cli_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 || errno != ENOENT;
}

/* Appends the rest of the file. Returns 0 or errno. */
static int read_rest(int fd, size_t most, scant__text *text) {
    char bytes[1 << 14];
    while (text->size <= most) {
        ssize_t count = read(fd, bytes, sizeof bytes);
        if (count == 0) return 0;
        if (count < 0 && errno == EINTR && !cli_interrupted()) continue;
        if (count < 0) return errno;
        scant__text_bytes(text, bytes, (size_t)count);
    }
    return EFBIG;
}

void cli_read_file(const char *path, size_t most, scant__text *text) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) cli_cannot_read(path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        cli_cannot_read(path, "it is not a regular file");
    int number = read_rest(fd, most, text);
    close(fd);
    if (number == EFBIG) cli_cannot_read(path, "it is too large");
    if (number) cli_cannot_read(path, strerror(number));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the files that commands read and write. They run before the work, so that an
 * hour of it does not end at a missing folder or with an overwritten input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ui.h"

/* ---- can it be written? ------------------------------------------------------------ */

int cli_cannot_write(const char *path, const char *why) {
    cli_error("%s: cannot be written: %s", path, why);
    return CLI_SYSTEM;
}

int cli_cannot_read(const char *path, const char *why) {
    cli_error("%s: cannot be read: %s", path, why);
    return CLI_BAD_INPUT;
}

/* The folder of path, as written there. The result is new. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    return cli_strndup(slash ? path : ".", length);
}

static int check_folder(const char *path) {
    char *folder = folder_of(path);
    struct stat info;
    int status = CLI_DONE;
    if (stat(folder, &info) != 0)
        status = cli_cannot_write(path, strerror(errno));
    else if (!S_ISDIR(info.st_mode))
        status = cli_cannot_write(path, strerror(ENOTDIR));
    else if (access(folder, W_OK | X_OK) != 0)
        status = cli_cannot_write(path, strerror(errno));
    free(folder);
    return status;
}

int cli_check_file(const char *path) {
    struct stat info;
    size_t length = strlen(path);
    if (length > 0 && path[length - 1] == '/')
        return cli_cannot_write(path, strerror(EISDIR));
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) return cli_cannot_write(path, strerror(errno));
        /* a link to a file that does not exist yet */
        return lstat(path, &info) == 0 ? CLI_DONE : check_folder(path);
    }
    if (S_ISDIR(info.st_mode)) return cli_cannot_write(path, strerror(EISDIR));
    if (access(path, W_OK) != 0) return cli_cannot_write(path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return CLI_DONE; /* a pipe or device */
    char *behind = realpath(path, NULL);         /* links are followed */
    int status = behind ? check_folder(behind) : CLI_DONE;
    free(behind);
    return status;
}

/* ---- is it another of the files? --------------------------------------------------- */

/* The file behind "FILE" or "FILE.npz:KEY". */
static bool stat_spec(const char *spec, struct stat *info) {
    if (stat(spec, info) == 0) return true;
    const char *colon = strrchr(spec, ':');
    if (!colon) return false;
    char *path = cli_strndup(spec, (size_t)(colon - spec));
    bool found = stat(path, info) == 0;
    free(path);
    return found;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* If both exist: one inode. If neither does: the same name in the same folder. */
static bool same_file(const char *a, const char *b) {
    struct stat at, other;
    bool there = stat(a, &at) == 0, other_there = stat(b, &other) == 0;
    if (there != other_there) return false;
    if (there) return S_ISREG(at.st_mode) && same_inode(&at, &other);
    const char *slash = strrchr(a, '/'), *other_slash = strrchr(b, '/');
    if (strcmp(slash ? slash + 1 : a, other_slash ? other_slash + 1 : b) != 0)
        return false;
    char *folder = folder_of(a), *other_folder = folder_of(b);
    bool same = stat(folder, &at) == 0 && stat(other_folder, &other) == 0 &&
                same_inode(&at, &other);
    free(folder);
    free(other_folder);
    return same;
}

static int check_overwrite(const cli_command *command, const cli_path *out,
                           const cli_path *ins, size_t n_ins) {
    struct stat at, in;
    if (stat(out->path, &at) != 0 || !S_ISREG(at.st_mode)) return CLI_DONE;
    for (size_t i = 0; i < n_ins; i++)
        if (ins[i].path && stat_spec(ins[i].path, &in) && same_inode(&in, &at))
            return cli_usage(command, "--%s %s would overwrite --%s", out->flag,
                             out->path, ins[i].flag);
    return CLI_DONE;
}

int cli_check_overwrites(const cli_command *command, const cli_path *outs, size_t n_outs,
                         const cli_path *ins, size_t n_ins) {
    for (size_t i = 0; i < n_outs; i++) {
        if (!outs[i].path) continue;
        int status = check_overwrite(command, &outs[i], ins, n_ins);
        if (status != CLI_DONE) return status;
        for (size_t j = 0; j < i; j++)
            if (outs[j].path && same_file(outs[i].path, outs[j].path))
                return cli_usage(command, "--%s and --%s are the same file: %s",
                                 outs[j].flag, outs[i].flag, outs[i].path);
    }
    return CLI_DONE;
}

/* ---- reading ----------------------------------------------------------------------- */

bool cli_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 || errno != ENOENT;
}

/* Appends the rest of the file; 0 or errno. */
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

int cli_read_file(const char *path, size_t most, scant__text *text) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return cli_cannot_read(path, strerror(errno));
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    int number = regular ? read_rest(fd, most, text) : 0;
    close(fd);
    if (!regular) return cli_cannot_read(path, "it is not a regular file");
    if (number == EFBIG) return cli_cannot_read(path, "it is too large");
    return number ? cli_cannot_read(path, strerror(number)) : CLI_DONE;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a selection writes: --out, --state, --plot. Whether they can be written
 * is checked before the work, so that an hour of choosing does not end at a folder that
 * was never there; and that none of them is an input, or the same as another.
 *
 * They are written in that order: a state without picks would count a batch that nobody
 * saw. Each appears whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/select.h"

enum { MOST_STATE = 64 << 20 }; /* bytes; a state is some numbers a label */

typedef struct target {
    const char *flag, *path;
} target;

enum { TARGETS = 3 };

/* Those that are files; returns how many. */
static size_t list_targets(const select_args *args, target out[TARGETS]) {
    size_t count = 0;
    if (!select_to_stdout(args)) out[count++] = (target){"out", args->out};
    if (args->state) out[count++] = (target){"state", args->state};
    if (args->plot) out[count++] = (target){"plot", args->plot};
    return count;
}

/* ---- may it be written? ------------------------------------------------------------ */

static int cannot_write(const char *path, const char *why) {
    cli_error("%s: cannot be written: %s", path, why);
    return CLI_SYSTEM;
}

/* The folder that path is in, or is to be in, as it is written. The answer is new. */
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
        status = cannot_write(path, strerror(errno));
    else if (!S_ISDIR(info.st_mode))
        status = cannot_write(path, strerror(ENOTDIR));
    else if (access(folder, W_OK | X_OK) != 0)
        status = cannot_write(path, strerror(errno));
    free(folder);
    return status;
}

static int check_file(const char *path) {
    struct stat info;
    size_t length = strlen(path);
    if (length > 0 && path[length - 1] == '/')
        return cannot_write(path, strerror(EISDIR));
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) return cannot_write(path, strerror(errno));
        /* a link to a file that is to be: writing will tell */
        return lstat(path, &info) == 0 ? CLI_DONE : check_folder(path);
    }
    if (S_ISDIR(info.st_mode)) return cannot_write(path, strerror(EISDIR));
    if (access(path, W_OK) != 0) return cannot_write(path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return CLI_DONE; /* written straight */
    char *behind = realpath(path, NULL);         /* behind links is what is replaced */
    int status = behind ? check_folder(behind) : CLI_DONE;
    free(behind);
    return status;
}

/* ---- is it something else, too? ---------------------------------------------------- */

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

/* An output that is one of the inputs would eat it. */
static int check_overwrite(const select_job *job, const target *t) {
    struct stat out, in;
    if (stat(t->path, &out) != 0 || !S_ISREG(out.st_mode)) return CLI_DONE;
    for (unsigned i = 0; i <= N_INPUTS; i++) {
        const char *spec = i < N_INPUTS ? job->args.inputs[i] : job->args.ids;
        if (spec && stat_spec(spec, &in) && same_inode(&in, &out))
            return cli_usage(job->command, "--%s %s would overwrite --%s", t->flag,
                             t->path, i < N_INPUTS ? select_input_flag(i) : "ids");
    }
    return CLI_DONE;
}

/* Both there: the same file. Neither: the same name in the same folder. */
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

int select_check_overwrites(const select_job *job) {
    target list[TARGETS];
    size_t count = list_targets(&job->args, list);
    for (size_t i = 0; i < count; i++) {
        int status = check_overwrite(job, &list[i]);
        if (status != CLI_DONE) return status;
        for (size_t j = 0; j < i; j++)
            if (same_file(list[i].path, list[j].path))
                return cli_usage(job->command, "--%s and --%s are the same file: %s",
                                 list[j].flag, list[i].flag, list[i].path);
    }
    return CLI_DONE;
}

int select_check_targets(const select_job *job) {
    target list[TARGETS];
    size_t count = list_targets(&job->args, list);
    int mode = fcntl(STDOUT_FILENO, F_GETFL), status = CLI_DONE;
    if (select_to_stdout(&job->args) && (mode < 0 || (mode & O_ACCMODE) == O_RDONLY))
        return cannot_write("standard output", strerror(EBADF));
    for (size_t i = 0; i < count && status == CLI_DONE; i++)
        status = check_file(list[i].path);
    return status;
}

/* ---- the state --------------------------------------------------------------------- */

static int cannot_read(const char *path, const char *why) {
    cli_error("%s: cannot be read: %s", path, why);
    return CLI_BAD_INPUT;
}

/* Appends what is left of the file; 0 or errno. */
static int read_rest(int fd, cli_text *text) {
    char bytes[1 << 14];
    while (text->size <= MOST_STATE) {
        ssize_t count = read(fd, bytes, sizeof bytes);
        if (count == 0) return 0;
        if (count < 0 && errno == EINTR && !cli_interrupted()) continue;
        if (count < 0) return errno;
        cli_text_bytes(text, bytes, (size_t)count);
    }
    return EFBIG;
}

int select_read_state(select_job *job) {
    const char *path = job->args.state;
    struct stat info;
    if (!path) return CLI_DONE;
    if (stat(path, &info) != 0 && errno == ENOENT) return CLI_DONE; /* the first call */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return cannot_read(path, strerror(errno));
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    int number = regular ? read_rest(fd, &job->state) : 0;
    close(fd);
    if (!regular) return cannot_read(path, "it is no regular file");
    if (number == EFBIG) return cannot_read(path, "it is too large to be a state");
    if (number) return cannot_read(path, strerror(number));
    job->opts.state = job->state.data ? job->state.data : "";
    job->opts.state_size = job->state.size;
    job->opts.state_name = job->args.state;
    return CLI_DONE;
}

/* ---- writing ----------------------------------------------------------------------- */

/* After the picks: says that they are there. */
static int write_after(select_job *job, const char *path, const void *bytes,
                       size_t size) {
    scant_status status = scant_file_write(job->ctx, path, bytes, size);
    if (status == SCANT_OK) return CLI_DONE;
    cli_error("%s; the picks were written before", scant_ctx_errmsg(job->ctx));
    return cli_exit_of(status);
}

int select_write(select_job *job) {
    const scant_picks *picks = job->picks;
    int status = select_write_picks(job);
    if (status == CLI_DONE && job->args.state && picks->state)
        status = write_after(job, job->args.state, picks->state, picks->state_size);
    if (status == CLI_DONE && job->picture)
        status = write_after(job, job->args.plot, job->picture, job->picture_size);
    return status;
}

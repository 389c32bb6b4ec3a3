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
#include <string.h>
#include <unistd.h>

#include "cli/select.h"

enum { MOST_STATE = 64 << 20 }; /* bytes; a state is some numbers a label */

enum { TARGETS = 3 };

/* Those that are files; returns how many. */
static size_t list_targets(const select_args *args, cli_path out[TARGETS]) {
    size_t count = 0;
    if (!select_to_stdout(args)) out[count++] = (cli_path){"out", args->out};
    if (args->state) out[count++] = (cli_path){"state", args->state};
    if (args->plot) out[count++] = (cli_path){"plot", args->plot};
    return count;
}

int select_check_overwrites(const select_job *job) {
    cli_path outs[TARGETS], ins[N_INPUTS + 1];
    for (unsigned i = 0; i < N_INPUTS; i++)
        ins[i] = (cli_path){select_input(i)->name, job->args.inputs[i]};
    ins[N_INPUTS] = (cli_path){"ids", job->args.ids};
    return cli_check_overwrites(job->command, outs, list_targets(&job->args, outs), ins,
                                N_INPUTS + 1);
}

int select_check_targets(const select_job *job) {
    cli_path list[TARGETS];
    size_t count = list_targets(&job->args, list);
    int mode = fcntl(STDOUT_FILENO, F_GETFL), status = CLI_DONE;
    if (select_to_stdout(&job->args) && (mode < 0 || (mode & O_ACCMODE) == O_RDONLY))
        return cli_cannot_write("standard output", strerror(EBADF));
    for (size_t i = 0; i < count && status == CLI_DONE; i++)
        status = cli_check_file(list[i].path);
    return status;
}

/* ---- the state --------------------------------------------------------------------- */

int select_read_state(select_job *job) {
    const char *path = job->args.state;
    if (!path || !cli_exists(path)) return CLI_DONE; /* the first call */
    int status = cli_read_file(path, MOST_STATE, &job->state);
    if (status != CLI_DONE) return status;
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant serve DIR`: serves the labelling page. The address goes to standard output,
 * messages to standard error. Ctrl-C ends it with exit status 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/net_args.h"
#include "serve/serve.h"

typedef struct serve_args {
    size_t port;
    const char *host, *token;
    bool no_training;
    net_common common;
} serve_args;

#define AT(field) offsetof(serve_args, field)

static const char who_group[] = "Who can reach it";

static const scant_option flags[] = {
    OPT_COUNT("port", "P", NULL, AT(port), 0, 65535, who_group,
              "default 8080; 0: any that is free"),
    OPT_TEXT(
        "host", "ADDRESS", NULL, AT(host), who_group,
        "the address to listen at (default 127.0.0.1: this machine alone); another one "
        "needs --token"),
    OPT_TEXT("token", "T", NULL, AT(token), who_group,
             "the password of the page, 16 characters or more (default: the environment "
             "variable SCANT_TOKEN, which is safer: other users can see command lines)"),
    OPT_SWITCH("no-training", NULL, AT(no_training), NET_COMMON,
               "train and pick only when the page asks for it"),
    OPT_COUNT(
        "threads", "T", NULL, AT(common.threads), 0, 1024, NET_COMMON,
        "threads for training (default and 0: all cores but one, which serves the page)"),
    OPT_BYTES("memory", "SIZE", AT(common.memory), NET_COMMON,
              "limit on the memory that training allocates, such as 512M or 4G (default: "
              "half of the machine's, or of the control group's limit)"),
    OPT_SWITCH("quiet", NULL, AT(common.quiet), NET_COMMON,
               "errors only: no warnings, no notes"),
};

#ifdef SCANT_HAVE_SERVE

typedef struct serve_job {
    const serve_args *args;
    const char *dir, *token;
} serve_job;

static void ready(void *user, const char *address) {
    const serve_job *job = user;
    printf("%s\n", address);
    fflush(stdout); /* stdout may be a pipe */
    if (job->args->common.quiet) return;
    cli_note("serving %s at %s; Ctrl-C ends it", job->dir, address);
    if (job->token) cli_note("open it and enter your name and the token");
}

static void log_message(void *user, int level, const char *text) {
    const serve_job *job = user;
    if (level != SERVE_LOG_ERROR && job->args->common.quiet) return;
    (level == SERVE_LOG_ERROR     ? cli_error
     : level == SCANT_LOG_WARNING ? cli_warning
                                  : cli_note)("%s", text);
}

static int stop(void *user) {
    (void)user;
    return cli_interrupted();
}

static const char ending[] =
    "\nscant: stopping: answers received so far are stored, training stops after this "
    "step; Ctrl-C again quits at once\n";

static void serve(const serve_args *args, const char *dir) {
    const char *token = args->token ? args->token : getenv("SCANT_TOKEN");
    serve_job job = {args, dir, token && *token ? token : NULL};
    serve_opts opts = {.dir = dir,
                       .host = args->host,
                       .port = (unsigned)args->port,
                       .token = job.token,
                       .threads = (unsigned)args->common.threads,
                       .memory = args->common.memory,
                       .no_training = args->no_training,
                       .user = &job,
                       .ready = ready,
                       .log = log_message,
                       .stop = stop};
    char message[1000];
    cli_signals_begin();
    cli_signals_allow_saving();
    if (!args->common.quiet) cli_signals_set_message(ending);
    scant_status status = serve_run(&opts, message, sizeof message);
    cli_signals_set_message(NULL);
    if (status != SCANT_OK) cli_die(cli_exit_of(status), "%s", message);
}

#else

static void serve(const serve_args *args, const char *dir) {
    (void)args, (void)dir;
    cli_die(CLI_FAILED,
            "this scant was built without the server, because libmicrohttpd was missing "
            "(see docs/building.md)");
}

#endif

static void defaults(void *args) { ((serve_args *)args)->port = 8080; }

static void run(const cli_call *call) {
    const serve_args *args = call->args;
    if (args->token && !*args->token) cli_usage(call->command, "--token is empty");
    serve(args, call->operand);
}

const cli_command cli_cmd_serve = {
    .name = "serve",
    .synopsis = "DIR [--port P] [--host ADDRESS --token T] [options]",
    .summary = "serve a page to label a project's items in a browser",
    .about =
        "Serves the labelling page of a project and its dashboard. Models are trained "
        "and "
        "items picked in the background, once there are as many new labels as a round "
        "has items; labelling never waits for that. A label is on disk before the page "
        "confirms it: the server can be stopped, or killed, at any time.\n\n"
        "Only this machine can reach it, unless --host says otherwise; then people need "
        "the token, and others on the network can read what they send, as it is plain "
        "HTTP. On a network that you do not trust use ssh, as in the example.\n\n"
        "The address is printed to standard output once the page can be opened. "
        "/api/openapi.json documents the interface behind the page.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"Label in a browser at http://127.0.0.1:8080/:", "scant serve birds"},
            {"For other people on your network:",
             "scant serve birds --host 0.0.0.0 --token \"$(openssl rand -hex 16)\""},
            {"From another machine, without opening it to anybody else:",
             "ssh -L 8080:localhost:8080 machine scant serve birds"},
        },
    .missing = "which project? Give the folder that 'scant new' made",
    .args_size = sizeof(serve_args),
    .defaults = defaults,
    .run = run,
};

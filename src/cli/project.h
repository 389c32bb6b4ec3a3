/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands on projects share: opening, atomic output, and the stop rule.
 */
#ifndef SCANT_CLI_PROJECT_H
#define SCANT_CLI_PROJECT_H

#include "cli/net.h"
#include "core/json.h"
#include "scant/project.h"

/* Rows of a table of flags, where field is the place of a net_means. */
#define PROJECT_MEANS_FLAGS(type, field)                                                 \
    NET_FLAG("threads", "T", CLI_NUMBER, offsetof(type, field.threads), 0, 1024,         \
             NET_MEANS, "default and 0: all cores, or OMP_NUM_THREADS"),                 \
        NET_FLAG(                                                                        \
            "memory", "SIZE", CLI_SIZE, offsetof(type, field.memory), 0, 0, NET_MEANS,   \
            "cap on what is allocated, as 512M or 4G (default: half of the machine's)"), \
        NET_FLAG("quiet", NULL, CLI_SWITCH, offsetof(type, field.quiet), 0, 0,           \
                 NET_MEANS, "errors only: no warnings, no progress"),                    \
        NET_FLAG("progress", NULL, CLI_SWITCH, offsetof(type, field.progress), 0, 0,     \
                 NET_MEANS, "show progress even where standard error is no terminal")

#define PROJECT_SOURCE_FLAGS(type, field)                                                \
    NET_FLAG("images", "FOLDER|SPEC", CLI_FILE, offsetof(type, field.images), 0, 0,      \
             PROJECT_ITEMS,                                                              \
             "a folder of pictures, with those in folders of it; or pictures as 'scant " \
             "train --data' takes them: FILE.npy, fashion-mnist, ..."),                  \
        NET_FLAG("features", "F", CLI_ARRAY, offsetof(type, field.features), 0, 0,       \
                 PROJECT_ITEMS, "n x d numbers, a row an item: FILE.npy, FILE.npz:KEY"), \
        NET_FLAG("manifest", "M.csv|M.jsonl", CLI_FILE, offsetof(type, field.manifest),  \
                 0, 0, PROJECT_ITEMS,                                                    \
                 "a table of the items: id, and one of path, row and text; label, "      \
                 "group (default: ids are paths below the folder, or rows' numbers)")

#define PROJECT_ITEMS "Items"

/* A running command. */
typedef struct project_job {
    net_job net; /* first, as callbacks get it */
    const char *dir;
    scant_project *project;
} project_job;

/* These return an exit status; errors have been printed. */

/* Parses the arguments; the first operand is the project's folder. *over: --help was
 * printed. */
int project_parse(const cli_command *command, int argc, char **argv, void *values,
                  cli_parsed *parsed, bool *over);
/* A command on one project: parses into args, calls check (may be NULL) before anything
 * is opened, then work with the open project. */
typedef int project_check(const cli_command *command, const char *dir, const void *args);
typedef int project_work(project_job *job, const void *args);
int project_run(const cli_command *command, int argc, char **argv, void *args,
                const net_means *means, project_check *check, project_work *work);
/* A context, and the project in dir, open. */
int project_open(project_job *job, const cli_command *command, const char *dir,
                 const net_means *means);
/* Prints why a call of the library failed. */
int project_failed(project_job *job, scant_status status);
void project_end(project_job *job);

/* Checks the flags that name the source of items. */
int project_check_source(const cli_command *command, const scant_source *source);
/* Checks that there is such a setting. */
int project_check_key(const cli_command *command, const char *key);
/* "12 images", "1 feature row": a number of items of the project's kind. */
void project_add_items(scant__text *text, const scant_project_info *info, size_t count);

/* ---- output ---- */

bool project_to_stdout(const char *out); /* "-", or not given */
/* Checks that an output can be written, and is not the project's database. */
int project_check_out(const cli_command *command, const char *dir, const char *flag,
                      const char *out);
/* Writes a file atomically, or standard output. */
int project_write(project_job *job, const char *out, const void *bytes, size_t size);

/* A format and its file extension. */
typedef struct project_format {
    const char *name, *ending;
} project_format;
/* The given format, else that of the extension of out, else the first. */
const char *project_format_of(const project_format *formats, size_t count,
                              const char *format, const char *out);

/* "2026-11-17T19:55:07Z" of milliseconds since 1970 */
void project_add_time(scant__text *text, int64_t at);

/* ---- the meter ---- */

/* CLI_STOP if the stop rule holds. */
int project_stop(project_job *job, const scant_meter *meter);
/* A time as a string; the members of a model; the member "meter". */
void project_json_time(scant__json *json, const char *key, int64_t at);
void project_json_model(scant__json *json, const scant_model_point *point);
void project_json_meter(scant__json *json, const scant_meter *meter);
/* "87.5% (95% interval 80.1% to 92.8%)", or that it is unknown. */
void project_add_accuracy(scant__text *text, const scant_model_point *point);
/* The library's advice, wrapped. */
int project_add_advice(project_job *job, scant__text *text, const scant_meter *meter);

#endif

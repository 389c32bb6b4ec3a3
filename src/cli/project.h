/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands on projects share: opening, atomic output, and the stop rule.
 */
#ifndef SCANT_CLI_PROJECT_H
#define SCANT_CLI_PROJECT_H

#include "cli/net.h"
#include "core/json.h"
#include "scant/project.h"

/* Tables of flags, for a net_means (without the seed) and a scant_source. */
extern const scant_option project_source_rows[3];
#define PROJECT_MEANS_FLAGS(type, field)                                                 \
    { net_means_rows + 1, CLI_COUNT_OF(net_means_rows) - 1, NULL, offsetof(type, field) }
#define PROJECT_SOURCE_FLAGS(type, field)                                                \
    CLI_FLAGS_AT(project_source_rows, offsetof(type, field))

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

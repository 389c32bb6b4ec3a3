/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands on projects share: opening, atomic output, and the stop rule. Errors
 * end the program.
 */
#ifndef SCANT_CLI_PROJECT_ARGS_H
#define SCANT_CLI_PROJECT_ARGS_H

#include "cli/net_args.h"
#include "loop/project_json.h"
#include "scant/project.h"

/* Tables of flags, for a net_common (without the seed) and a scant_source. */
extern const scant_option project_source_rows[3];
#define PROJECT_COMMON_FLAGS(type, field)                                                \
    {                                                                                    \
        net_common_rows + 1, CLI_COUNT_OF(net_common_rows) - 1, NULL,                    \
            offsetof(type, field)                                                        \
    }
/* The same without threads. */
#define PROJECT_MEMORY_FLAGS(type, field)                                                \
    {                                                                                    \
        net_common_rows + 2, CLI_COUNT_OF(net_common_rows) - 2, NULL,                    \
            offsetof(type, field)                                                        \
    }
#define PROJECT_SOURCE_FLAGS(type, field)                                                \
    CLI_FLAGS_AT(project_source_rows, offsetof(type, field))

#define PROJECT_ITEMS "Items"
#define PROJECT_MISSING "which project? Give its folder, as 'scant new' made it"
/* The fields of a project command; its flags fill a struct `type`. */
#define PROJECT_COMMAND(type)                                                            \
    .operand = CLI_PROJECT, .project = true, .args_size = sizeof(type),                  \
    .missing = PROJECT_MISSING

/* A running command. */
typedef struct project_job {
    net_job net; /* first member: the callbacks get a pointer to it */
    const char *dir;
    scant_project *project;
} project_job;

/* Makes a context and opens the call's project, which is closed when the program ends. */
project_job *project_open(const cli_call *call, const net_common *common);
/* The same for a project that does not exist yet: does not open it. */
project_job *project_begin(const cli_call *call, const net_common *common);
/* Ends the program with a message unless status is SCANT_OK. */
void project_try(project_job *job, scant_status status);
/* The same; if interrupted, the message is "interrupted; " and so_far. */
void project_try_long(project_job *job, scant_status status, const char *so_far);

/* Checks the flags that name the source of items. */
void project_check_source(const cli_command *command, const scant_source *source);
/* Checks that a setting of that name exists. */
void project_check_key(const cli_command *command, const char *key);
/* Adds the count and the project's kind of items, such as "12 images". */
void project_add_items(scant__text *text, const scant_project_info *info, size_t count);
const char *project_class_name(project_job *job, size_t label); /* "": unknown */

/* ---- output ---- */

bool project_is_json(const char *format); /* format may be NULL */
bool project_to_stdout(const char *out);  /* whether out is "-" or NULL */
/* Checks that an output can be written. */
void project_check_out(const char *out);
/* Checks that an output is none of the project's files and sources. */
void project_check_overwrites(project_job *job, const char *flag, const char *out);
/* Writes to a file, atomically, or to standard output. */
void project_write(project_job *job, const char *out, const void *bytes, size_t size);
/* The same for an array, as a .npy file. */
void project_write_array(project_job *job, const char *out, const scant_array *array);

/* A format and its file extension. */
typedef struct project_format {
    const char *name, *ending;
} project_format;
/* Returns the given format, else that of out's extension, else the first. */
const char *project_format_of(const project_format *formats, size_t count,
                              const char *format, const char *out);

/* Returns the list, grown if needed, with room for count + 1 items. */
void *project_more(void *items, size_t count, size_t size);
/* Formats milliseconds since 1970 as "2026-11-17T19:55:07Z". */
const char *project_time(int64_t at);

/* ---- the meter ---- */

/* Ends the program with CLI_STOP if the stop rule holds. */
void project_stop(project_job *job, const scant_meter *meter);
/* Write the members of a model and the member "meter". */
void project_json_model(scant__json *json, const scant_model_point *point);
void project_json_meter(scant__json *json, const scant_meter *meter);
/* Adds the accuracy with its interval and counts, or that it is unknown. */
void project_add_accuracy(scant__text *text, const scant_model_point *point);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands on projects share.
 */
#include "cli/project.h"
#include "scant/project.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the call ---------------------------------------------------------------------- */

const scant_option project_source_rows[3] = {
    OPT_FILE("images", "FOLDER|SPEC", offsetof(scant_source, images), PROJECT_ITEMS,
             "a folder of images, with its subfolders; or images as 'scant train --data' "
             "takes them: FILE.npy, fashion-mnist, ..."),
    OPT_ARRAY("features", "F", offsetof(scant_source, features), PROJECT_ITEMS,
              "n x d numbers, one row per item: FILE.npy, FILE.npz:KEY"),
    OPT_FILE("manifest", "M.csv|M.jsonl", offsetof(scant_source, manifest), PROJECT_ITEMS,
             "a table of the items: id, and one of path, row and text; label, group "
             "(default: ids are paths below the folder, or row numbers)"),
};

int project_parse(const cli_command *command, int argc, char **argv, void *values,
                  cli_parsed *parsed, bool *over) {
    int status = cli_parse(command, argc, argv, values, parsed);
    *over = status == CLI_DONE && parsed->help;
    if (*over) return cli_print_page(command);
    if (status == CLI_DONE && !parsed->operand)
        return cli_usage(command, "which project? Give its folder%s",
                         command == &cli_cmd_new ? ", which is made"
                                                 : ", as 'scant new' made it");
    return status;
}

int project_run(const cli_command *command, int argc, char **argv, void *args,
                const net_means *means, project_check *check, project_work *work) {
    project_job job = {0};
    cli_parsed parsed;
    bool over;
    int status = project_parse(command, argc, argv, args, &parsed, &over);
    if (status == CLI_DONE && !over && check)
        status = check(command, parsed.operand, args);
    if (status != CLI_DONE || over) return status;
    status = project_open(&job, command, parsed.operand, means);
    if (status == CLI_DONE) status = work(&job, args);
    project_end(&job);
    return status;
}

int project_open(project_job *job, const cli_command *command, const char *dir,
                 const net_means *means) {
    int status = net_begin(&job->net, command, means, NULL);
    job->dir = dir;
    if (status != CLI_DONE) return status;
    scant_status opened = scant_project_open(job->net.ctx, dir, &job->project);
    return opened == SCANT_OK ? CLI_DONE : project_failed(job, opened);
}

int project_failed(project_job *job, scant_status status) {
    return net_failed(&job->net, status);
}

void project_end(project_job *job) {
    scant_project_free(job->project);
    net_end(&job->net);
}

int project_check_source(const cli_command *command, const scant_source *source) {
    if (source->images && source->features)
        return cli_usage(command, "give --images or --features, not both: an item is an "
                                  "image or a feature row");
    if (source->images || source->features || source->manifest) return CLI_DONE;
    return cli_usage(command, "what are the items? Give --images FOLDER, --features "
                              "F.npy, or --manifest M.csv with paths of images");
}

static const char *key_name(const void *names, size_t i) {
    return ((const scant_option *)names)[i].key;
}

int project_check_key(const cli_command *command, const char *key) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, key) == 0) return CLI_DONE;
    char *hint = cli_suggest(key, "", rows, count, key_name);
    cli_usage(command, "a project has no setting '%s'%s ('scant set DIR' lists them)",
              key, hint);
    free(hint);
    return CLI_USAGE;
}

void project_add_items(scant__text *text, const scant_project_info *info, size_t count) {
    static const char *const words[][3] = {
        {"pictures", "picture", "pictures"},
        {"features", "row of features", "rows of features"},
        {"texts", "text", "texts"},
    };
    const char *one = "item", *many = "items";
    for (size_t i = 0; i < CLI_COUNT_OF(words); i++) {
        if (strcmp(info->kind, words[i][0]) != 0) continue;
        one = words[i][1];
        many = words[i][2];
    }
    scant__text_addf(text, "%zu %s", count, count == 1 ? one : many);
}

/* ---- output ------------------------------------------------------------------------ */

bool project_to_stdout(const char *out) { return !out || strcmp(out, "-") == 0; }

static bool same_file(const char *a, const char *b) {
    struct stat at, other;
    return stat(a, &at) == 0 && stat(b, &other) == 0 && at.st_dev == other.st_dev &&
           at.st_ino == other.st_ino;
}

int project_check_out(const cli_command *command, const char *dir, const char *flag,
                      const char *out) {
    if (project_to_stdout(out)) {
        int mode = fcntl(STDOUT_FILENO, F_GETFL);
        if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
            return cli_cannot_write("standard output", strerror(EBADF));
        return CLI_DONE;
    }
    scant__text database = CLI_TEXT;
    scant__text_addf(&database, "%s/project.db", dir);
    scant__text_bytes(&database, "", 1);
    bool own = same_file(out, database.data);
    scant__text_end(&database);
    if (own)
        return cli_usage(command, "--%s %s would overwrite the project's database", flag,
                         out);
    return cli_check_file(out);
}

int project_write(project_job *job, const char *out, const void *bytes, size_t size) {
    cli_ui_clear(&job->net.ui);
    if (project_to_stdout(out)) return cli_write_stdout(bytes, size);
    scant_status written = scant_file_write(job->net.ctx, out, bytes, size);
    return written == SCANT_OK ? CLI_DONE : project_failed(job, written);
}

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

const char *project_format_of(const project_format *formats, size_t count,
                              const char *format, const char *out) {
    if (format) return format;
    for (size_t i = 0; i < count && !project_to_stdout(out); i++)
        if (ends_with(out, formats[i].ending)) return formats[i].name;
    return formats[0].name;
}

void project_add_time(scant__text *text, int64_t at) {
    time_t seconds = (time_t)(at / 1000);
    struct tm parts = {0};
    char line[64] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ", &parts);
    scant__text_add(text, line);
}

/* ---- the meter --------------------------------------------------------------------- */

int project_stop(project_job *job, const scant_meter *meter) {
    if (!meter->stop) return CLI_DONE;
    if (!job->net.ui.quiet)
        cli_note(
            "the stop rule holds: more labels are unlikely to help ('scant status %s' "
            "says why)",
            job->dir);
    return CLI_STOP;
}

void project_json_time(scant__json *json, const char *key, int64_t at) {
    scant__text time = CLI_TEXT;
    project_add_time(&time, at);
    scant__text_bytes(&time, "", 1);
    scant__json_string(json, key, time.data);
    scant__text_end(&time);
}

void project_json_model(scant__json *json, const scant_model_point *point) {
    scant__json_size(json, "model", point->model);
    scant__json_size(json, "round", point->round);
    project_json_time(json, "time", point->at);
    scant__json_size(json, "labels", point->labels);
    scant__json_size(json, "audited", point->audited);
    scant__json_size(json, "right", point->right);
    scant__json_number(json, "accuracy", point->accuracy);
    scant__json_number(json, "low", point->low);
    scant__json_number(json, "high", point->high);
    scant__json_number(json, "agreement", point->agreement);
    scant__json_number(json, "seconds", point->seconds);
    scant__json_string(json, "file", point->file);
}

void project_json_meter(scant__json *json, const scant_meter *meter) {
    scant__json_open(json, "meter", '{');
    scant__json_number(json, "accuracy", meter->last.accuracy);
    scant__json_number(json, "low", meter->last.low);
    scant__json_number(json, "high", meter->last.high);
    scant__json_size(json, "left_out", meter->left_out);
    scant__json_size(json, "added", meter->added);
    scant__json_number(json, "over_random", meter->over_random);
    scant__json_number(json, "over_random_low", meter->over_random_low);
    scant__json_number(json, "over_random_high", meter->over_random_high);
    scant__json_size(json, "over_random_labels", meter->over_random_labels);
    scant__json_number(json, "per_ten", meter->per_ten);
    scant__json_number(json, "per_ten_high", meter->per_ten_high);
    scant__json_bool(json, "narrow", meter->narrow != 0);
    scant__json_bool(json, "fading", meter->fading != 0);
    scant__json_bool(json, "agreeing", meter->agreeing != 0);
    scant__json_bool(json, "stop", meter->stop != 0);
    scant__json_close(json, '}');
}

void project_add_accuracy(scant__text *text, const scant_model_point *point) {
    if (isnan(point->accuracy)) {
        scant__text_add(text,
                        "unknown: no item of the audit set has a label that counts yet");
        return;
    }
    scant__text_addf(text, "%.1f%% (95%% interval %.1f%% to %.1f%%; right on %zu of %zu)",
                     100 * point->accuracy, 100 * point->low, 100 * point->high,
                     point->right, point->audited);
}

int project_add_advice(project_job *job, scant__text *text, const scant_meter *meter) {
    char *advice = NULL;
    scant_status status = scant_project_advice(job->project, meter, &advice);
    if (status != SCANT_OK) return project_failed(job, status);
    size_t size = strlen(advice);
    while (size && advice[size - 1] == '\n') advice[--size] = '\0';
    cli_text_wrap(text, 0, advice);
    scant_bytes_free(job->net.ctx, advice);
    return CLI_DONE;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands on projects share.
 */
#include "cli/project_args.h"
#include "scant/project.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- flags and opening ------------------------------------------------------------- */

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

static void close_project(void *arg) {
    project_job *job = arg;
    cli_ui_clear(&job->net.ui);
    scant_project_free(job->project);
}

project_job *project_begin(const cli_call *call, const net_common *common) {
    project_job *job = cli_calloc(1, sizeof *job);
    job->dir = call->operand;
    net_begin(&job->net, call->command, common, NULL);
    cli_defer(close_project, job);
    return job;
}

project_job *project_open(const cli_call *call, const net_common *common) {
    project_job *job = project_begin(call, common);
    project_try(job, scant_project_open(job->net.ctx, job->dir, &job->project));
    return job;
}

void project_try(project_job *job, scant_status status) { net_try(&job->net, status); }

void project_try_long(project_job *job, scant_status status, const char *so_far) {
    cli_ui_clear(&job->net.ui);
    if (status == SCANT_ECANCELLED) cli_die(CLI_INTERRUPTED, "interrupted; %s", so_far);
    project_try(job, status);
}

void project_check_source(const cli_command *command, const scant_source *source) {
    if (source->images && source->features)
        cli_usage(command, "give --images or --features, not both: an item is an image "
                           "or a feature row");
    if (!source->images && !source->features && !source->manifest)
        cli_usage(command, "what are the items? Give --images FOLDER, --features F.npy, "
                           "or --manifest M.csv with paths of images");
}

static const char *key_name(const void *names, size_t i) {
    return ((const scant_option *)names)[i].key;
}

void project_check_key(const cli_command *command, const char *key) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, key) == 0) return;
    cli_usage(command, "a project has no setting '%s'%s ('scant set DIR' lists them)",
              key, cli_suggest(key, "", rows, count, key_name));
}

void project_add_items(scant__text *text, const scant_project_info *info, size_t count) {
    static const char *const words[][3] = {
        {"pictures", "image", "images"},
        {"features", "feature row", "feature rows"},
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

const char *project_class_name(project_job *job, size_t label) {
    const char *name = scant_project_class(job->project, label);
    return name ? name : "";
}

/* ---- output ------------------------------------------------------------------------ */

bool project_is_json(const char *format) { return format && strcmp(format, "json") == 0; }

bool project_to_stdout(const char *out) { return !out || strcmp(out, "-") == 0; }

void project_check_out(const char *out) {
    if (project_to_stdout(out)) {
        cli_check_stdout();
        return;
    }
    cli_check_file(out);
}

void project_check_overwrites(project_job *job, const char *flag, const char *out) {
    const char *what;
    if (project_to_stdout(out)) return;
    project_try(job, scant_project_file(job->project, out, &what));
    if (what) cli_usage(job->net.command, "--%s %s would overwrite %s", flag, out, what);
}

void project_write(project_job *job, const char *out, const void *bytes, size_t size) {
    cli_ui_clear(&job->net.ui);
    if (project_to_stdout(out))
        cli_write_stdout(bytes, size);
    else
        project_try(job, scant_file_write(job->net.ctx, out, bytes, size));
}

void project_write_array(project_job *job, const char *out, const scant_array *array) {
    void *bytes;
    size_t size;
    project_try(job, scant_array_encode(job->net.ctx, array, &bytes, &size));
    project_write(job, out, bytes, size);
    scant_bytes_free(job->net.ctx, bytes);
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

void *project_more(void *items, size_t count, size_t size) {
    bool full = (count & (count - 1)) == 0; /* the capacity is a power of two */
    return full ? cli_grow(items, count ? 2 * count : 1, size) : items;
}

const char *project_time(int64_t at) {
    time_t seconds = (time_t)(at / 1000);
    struct tm parts = {0};
    char text[64] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return cli_format("%s", text);
}

/* ---- the meter --------------------------------------------------------------------- */

void project_stop(project_job *job, const scant_meter *meter) {
    if (!meter->stop) return;
    if (!job->net.ui.quiet)
        cli_note("the stop rule holds: more labels are unlikely to help ('scant status "
                 "%s' says why)",
                 job->dir);
    cli_exit(CLI_STOP);
}

void project_json_model(scant__json *json, const scant_model_point *point) {
    scant__json_model(json, point);
    JSON_MEMBERS(json, MEMBER("round", point->round),
                 MEMBER("time", project_time(point->at)), MEMBER("file", point->file));
}

void project_json_meter(scant__json *json, const scant_meter *meter) {
    scant__json_open(json, "meter", '{');
    scant__json_meter(json, meter);
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

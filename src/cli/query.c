/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant query`: picks items to label next, for annotators who do not use the page.
 *
 * Items of the audit set are spread evenly among the picks, so that a batch also measures
 * the accuracy of the model.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"
#include "scant/project.h"

typedef struct query_args {
    size_t batch;
    const char *strategy;
    cli_settings settings;
    const char *out, *format;
    net_means means;
} query_args;

#define AT(field) offsetof(query_args, field)

static const char picking_group[] = "Picking";

static const scant_option flags[] = {
    OPT_COUNT("batch", "B", NULL, AT(batch), 1, 1 << 30, picking_group,
              "how many items (default: the setting batch)"),
    OPT_NAME(
        "strategy", "NAME", cli_strategy_name, NULL, AT(strategy), picking_group,
        "see 'scant strategies' (default: the setting strategy; random before the first "
        "model)"),
    OPT_SETTINGS(
        "opt", "KEY=VALUE", AT(settings), picking_group,
        "an option of the strategy, see 'scant strategies NAME'; may be given again"),
    OPT_SEED("seed", "S", AT(means.seed), picking_group,
             "decides every random choice (default and 0: the project's, another every "
             "round)"),
    OPT_FILE("out", "FILE", AT(out), NET_OUTPUT,
             "default - (standard output); .npy: the items' numbers as int64; .json: one "
             "object; "
             "anything else: CSV"),
    OPT_CHOICE("format", "csv|json|npy", NULL, AT(format), NET_OUTPUT,
               "the format, whatever --out ends in"),
};

static const cli_example examples[] = {
    {"What to label next, by the last model:", "scant query birds --out batch.csv"},
    {"A loop that ends by itself, when more labels would bring little:",
     "while scant query birds --out batch.csv; do ./ask-people batch.csv > answers.csv; "
     "scant label birds --import answers.csv; scant train birds; done"},
};

/* A line of the output. */
typedef struct query_row {
    size_t item;
    double weight, score;
    const char *role;
    char *id;
} query_row;

typedef struct query_job {
    project_job *project;
    const query_args *args;
    scant_picks *picks;
    size_t round;
    query_row *rows;
    size_t count;
} query_job;

static const project_format formats[] = {
    {"csv", ".csv"}, {"json", ".json"}, {"npy", ".npy"}};

/* ---- output ------------------------------------------------------------------------ */

static void csv_table(scant__text *text, const query_job *job) {
    scant__text_add(text, "rank,index,id,weight,score,role\n");
    for (size_t i = 0; i < job->count; i++) {
        const query_row *row = &job->rows[i];
        scant__text_addf(text, "%zu,%zu,", i + 1, row->item);
        scant__text_csv(text, row->id);
        scant__text_addf(text, ",%.9g,", row->weight);
        if (!isnan(row->score)) scant__text_addf(text, "%.9g", row->score);
        scant__text_addf(text, ",%s\n", row->role);
    }
}

static void json_object(scant__text *text, const query_job *job,
                        const scant_meter *meter) {
    scant__json json = {.text = *text};
    scant__json_open(&json, NULL, '{');
    scant__json_size(&json, "round", job->round);
    scant__json_string(&json, "strategy", job->picks ? job->picks->strategy : NULL);
    scant__json_size(&json, "batch", job->count);
    scant__json_bool(&json, "stop", meter->stop || !job->count);
    scant__json_open(&json, "picks", '[');
    for (size_t i = 0; i < job->count; i++) {
        const query_row *row = &job->rows[i];
        scant__json_open(&json, NULL, '{');
        scant__json_size(&json, "index", row->item);
        scant__json_string(&json, "id", row->id);
        scant__json_number(&json, "weight", row->weight);
        scant__json_number(&json, "score", row->score);
        scant__json_string(&json, "role", row->role);
        scant__json_close(&json, '}');
    }
    scant__json_close(&json, ']');
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    *text = json.text;
}

static scant_status npy_bytes(scant__text *text, const query_job *job) {
    scant_ctx *ctx = job->project->net.ctx;
    int64_t *items = cli_calloc(job->count, sizeof *items);
    size_t size;
    scant_array *array = NULL;
    void *bytes = NULL;
    for (size_t i = 0; i < job->count; i++) items[i] = (int64_t)job->rows[i].item;
    scant_status status =
        scant_array_wrap(ctx, "picks", items, SCANT_I64, 1, &job->count, &array);
    if (status == SCANT_OK) status = scant_array_encode(ctx, array, &bytes, &size);
    if (status == SCANT_OK) scant__text_bytes(text, bytes, size);
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    free(items);
    return status;
}

static int print(query_job *job, const scant_meter *meter) {
    const query_args *args = job->args;
    const char *format =
        project_format_of(formats, CLI_COUNT_OF(formats), args->format, args->out);
    scant__text text = CLI_TEXT;
    scant_status made = SCANT_OK;
    if (strcmp(format, "json") == 0)
        json_object(&text, job, meter);
    else if (strcmp(format, "npy") == 0)
        made = npy_bytes(&text, job);
    else
        csv_table(&text, job);
    int status = made == SCANT_OK
                     ? project_write(job->project, args->out, text.data, text.size)
                     : project_failed(job->project, made);
    scant__text_end(&text);
    return status;
}

/* ---- the work ---------------------------------------------------------------------- */

/* Whether row i of `total` is one of the n audit items: evenly spread, none first. */
static bool is_audit(size_t i, size_t n, size_t total) {
    return (i + 1) * n / total > i * n / total;
}

static scant_status find_ids(query_job *job) {
    scant_status status = SCANT_OK;
    for (size_t i = 0; i < job->count && status == SCANT_OK; i++) {
        scant_item item;
        status = scant_project_item(job->project->project, job->rows[i].item, &item);
        if (status == SCANT_OK) job->rows[i].id = cli_strndup(item.id, strlen(item.id));
    }
    return status;
}

/* Merges picks and audit items in the order of the output. */
static scant_status join(query_job *job, const size_t *audit, size_t n_audit) {
    size_t n_picks = job->picks ? job->picks->count : 0, at_pick = 0, at_audit = 0;
    job->count = n_picks + n_audit;
    job->rows = cli_calloc(job->count, sizeof *job->rows);
    for (size_t i = 0; i < job->count; i++) {
        if (is_audit(i, n_audit, job->count)) {
            job->rows[i] = (query_row){audit[at_audit++], 1, (double)NAN,
                                       scant_role_name(SCANT_ROLE_AUDIT), NULL};
            continue;
        }
        const scant_pick *pick = &job->picks->items[at_pick++];
        job->rows[i] = (query_row){pick->index, pick->weight, pick->score,
                                   scant_role_name(SCANT_ROLE_PICK), NULL};
    }
    return find_ids(job);
}

/* The number of rows: --batch, or the setting. */
static size_t batch_of(query_job *job) {
    const char *set = scant_project_get(job->project->project, "batch");
    size_t batch = 1;
    if (job->args->batch) return job->args->batch;
    return set && cli_read_number(set, 1, SIZE_MAX, &batch) ? batch : 1;
}

static scant_status choose(query_job *job) {
    const query_args *args = job->args;
    scant_project *project = job->project->project;
    size_t batch = batch_of(job), n_audit = 0;
    size_t *audit = cli_calloc(batch, sizeof *audit);
    scant_project_query_opts opts = {
        .strategy = args->strategy,
        .seed = args->means.seed,
        .settings = args->settings.items,
        .n_settings = args->settings.count,
    };
    scant_status status = scant_project_audit(project, batch, audit, &n_audit);
    opts.batch = batch - n_audit;
    if (status == SCANT_OK && opts.batch)
        status = scant_project_query(project, &opts, &job->picks, &job->round);
    if (status == SCANT_OK) status = join(job, audit, n_audit);
    free(audit);
    return status;
}

/* Checks options of the strategy. Before the first model items are picked at random; then
 * options of the setting's strategy are still accepted. */
static int check_options(query_job *job) {
    const query_args *args = job->args;
    const char *name = args->strategy;
    if (!args->settings.count) return CLI_DONE;
    if (!name) name = scant_project_get(job->project->project, "strategy");
    const scant_strategy_info *info = name ? scant_strategy_find(name) : NULL;
    return info ? cli_check_options(job->project->net.command, info, &args->settings)
                : CLI_DONE;
}

static int pick(query_job *job) {
    project_job *project = job->project;
    scant_meter meter;
    int status = check_options(job);
    if (status != CLI_DONE) return status;
    scant_status done = scant_project_meter(project->project, &meter);
    if (done == SCANT_OK) done = choose(job);
    if (done != SCANT_OK) return project_failed(project, done);
    status = print(job, &meter);
    if (status != CLI_DONE) return status;
    if (job->count) return project_stop(project, &meter);
    if (!project->net.ui.quiet)
        cli_note("nothing is left to pick: every item has an answer, is a copy or is in "
                 "the audit set");
    return CLI_STOP;
}

static int work(project_job *project, const void *args) {
    query_job job = {.project = project, .args = args};
    int status = pick(&job);
    scant_picks_free(project->net.ctx, job.picks);
    for (size_t i = 0; i < job.count && job.rows; i++) free(job.rows[i].id);
    free(job.rows);
    return status;
}

static int check(const cli_command *command, const char *dir, const void *args) {
    return project_check_out(command, dir, "out", ((const query_args *)args)->out);
}

static int run(const cli_command *command, int argc, char **argv) {
    query_args args = {0};
    int status = project_run(command, argc, argv, &args, &args.means, check, work);
    free(args.settings.items);
    return status;
}

const cli_command cli_cmd_query = {
    .name = "query",
    .synopsis = "DIR [--batch B] [--strategy NAME] [--out FILE] [options]",
    .summary = "pick the items of a project to label next",
    .about =
        "Picks items to label next with the project's last model, stores them as a "
        "round, "
        "and prints CSV with the columns rank, index (the item's number), id, weight, "
        "score and role. About one in ten (the setting audit_every) is drawn at random "
        "from the audit set instead: only its labels can measure the accuracy. Its score "
        "is empty, and annotators need not know which items these are.\n\n"
        "Exit status 10 if the stop rule holds or nothing is left to pick, so that a "
        "loop "
        "in a shell ends by itself; picks are written in any case.",
    .operand = CLI_PROJECT,
    .project = true,
    .tables = {CLI_FLAGS(flags), PROJECT_MEANS_FLAGS(query_args, means)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};

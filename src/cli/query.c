/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant query`: picks items to label next, for annotators who do not use the page.
 *
 * Items of the audit set are spread evenly among the picks, so that a batch also measures
 * the accuracy of the model.
 */
#include <math.h>
#include <string.h>

#include "cli/project_args.h"

typedef struct query_args {
    size_t batch;
    const char *strategy;
    cli_settings settings;
    const char *out, *format;
    net_common common;
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
    OPT_SETTINGS("opt", "KEY=VALUE", AT(settings), picking_group,
                 "an option of the strategy, see 'scant strategies NAME'; repeatable"),
    OPT_SEED("seed", "S", AT(common.seed), picking_group,
             "seed of every random choice (default and 0: derived from the project's "
             "seed and the round)"),
    OPT_FILE("out", "FILE", AT(out), NET_OUTPUT,
             "default - (standard output); .npy: the items' numbers as int64; .json: one "
             "object; "
             "anything else: CSV"),
    OPT_CHOICE("format", "csv|csv-raw|json|npy", NULL, AT(format), NET_OUTPUT,
               "the format, regardless of the suffix of --out"),
};

/* A line of the output. */
typedef struct query_row {
    size_t item;
    double weight, score;
    scant_role role;
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

static scant__text csv_table(const query_job *job, bool raw) {
    scant__text text = CLI_TEXT;
    scant__text_add(&text, "rank,index,id,weight,score,role\n");
    for (size_t i = 0; i < job->count; i++) {
        const query_row *row = &job->rows[i];
        scant__text_addf(&text, "%zu,%zu,", i + 1, row->item);
        (raw ? scant__text_csv : scant__text_csv_quoted)(&text, row->id);
        scant__text_addf(&text, ",%.9g,", row->weight);
        if (!isnan(row->score)) scant__text_addf(&text, "%.9g", row->score);
        scant__text_addf(&text, ",%s\n", scant_role_name(row->role));
    }
    return text;
}

static scant__text json_object(const query_job *job, bool stop) {
    scant__json json = CLI_JSON;
    const char *strategy = job->picks ? job->picks->strategy : NULL;
    scant__json_open(&json, NULL, '{');
    JSON_MEMBERS(&json, MEMBER("round", job->round), MEMBER("strategy", strategy),
                 MEMBER("batch", job->count), MEMBER("stop", stop));
    scant__json_open(&json, "picks", '[');
    for (size_t i = 0; i < job->count; i++) {
        const query_row *row = &job->rows[i];
        JSON_OBJECT(&json, NULL, MEMBER("index", row->item), MEMBER("id", row->id),
                    MEMBER("weight", row->weight), MEMBER("score", row->score),
                    MEMBER("role", scant_role_name(row->role)));
    }
    scant__json_close(&json, ']');
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    return json.text;
}

static void write_npy(query_job *job) {
    int64_t *items = cli_calloc(job->count, sizeof *items);
    scant_array *array = NULL;
    for (size_t i = 0; i < job->count; i++) items[i] = (int64_t)job->rows[i].item;
    project_try(job->project, scant_array_wrap(job->project->net.ctx, "picks", items,
                                               SCANT_I64, 1, &job->count, &array));
    project_write_array(job->project, job->args->out, array);
    scant_array_free(array);
}

static void print(query_job *job, const scant_meter *meter) {
    const char *out = job->args->out;
    const char *format =
        project_format_of(formats, CLI_COUNT_OF(formats), job->args->format, out);
    if (strcmp(format, "npy") == 0) {
        write_npy(job);
        return;
    }
    scant__text text = project_is_json(format)
                           ? json_object(job, meter->stop || !job->count)
                           : csv_table(job, strcmp(format, "csv-raw") == 0);
    project_write(job->project, out, text.data, text.size);
}

/* ---- the command ------------------------------------------------------------------- */

/* Whether output row i is an audit item: n of the `total` rows are, evenly spread. */
static bool is_audit(size_t i, size_t n, size_t total) {
    return (i + 1) * n / total > i * n / total;
}

/* Merges picks and audit items in the order of the output. */
static void join(query_job *job, const size_t *audit, size_t n_audit) {
    const scant_pick *pick = job->picks ? job->picks->items : NULL;
    job->count = (job->picks ? job->picks->count : 0) + n_audit;
    job->rows = cli_calloc(job->count, sizeof *job->rows);
    for (size_t i = 0; i < job->count; i++) {
        query_row *row = &job->rows[i];
        scant_item item;
        if (is_audit(i, n_audit, job->count))
            *row = (query_row){*audit++, 1, (double)NAN, SCANT_ROLE_AUDIT, NULL};
        else
            *row = (query_row){pick->index, pick->weight, pick->score, SCANT_ROLE_PICK,
                               NULL};
        if (row->role == SCANT_ROLE_PICK) pick++;
        project_try(job->project,
                    scant_project_item(job->project->project, row->item, &item));
        row->id = cli_format("%s", item.id);
    }
}

/* Returns --batch, or the project's setting. */
static size_t batch_of(query_job *job) {
    const char *set = scant_project_get(job->project->project, "batch");
    size_t batch = 1;
    if (job->args->batch) return job->args->batch;
    return set && cli_read_number(set, 1, SIZE_MAX, &batch) ? batch : 1;
}

static void choose(query_job *job) {
    const query_args *args = job->args;
    scant_project *project = job->project->project;
    size_t batch = batch_of(job), n_audit = 0;
    size_t *audit = cli_calloc(batch, sizeof *audit);
    project_try(job->project, scant_project_audit(project, batch, audit, &n_audit));
    scant_project_query_opts opts = {
        .strategy = args->strategy,
        .batch = batch - n_audit,
        .seed = args->common.seed,
        .settings = args->settings.items,
        .n_settings = args->settings.count,
    };
    if (opts.batch)
        project_try(job->project,
                    scant_project_query(project, &opts, &job->picks, &job->round));
    join(job, audit, n_audit);
}

/* Checks the strategy's options. Before the first model, items are picked at random, but
 * options of the strategy in the settings are accepted. */
static void check_options(query_job *job) {
    const query_args *args = job->args;
    const char *name = args->strategy;
    if (!args->settings.count) return;
    if (!name) name = scant_project_get(job->project->project, "strategy");
    const scant_strategy_info *info = name ? scant_strategy_find(name) : NULL;
    if (info) cli_check_options(job->project->net.command, info, &args->settings);
}

static void run(const cli_call *call) {
    const query_args *args = call->args;
    project_check_out(args->out);
    query_job job = {.project = project_open(call, &args->common), .args = args};
    scant_meter meter;
    project_check_overwrites(job.project, "out", args->out);
    check_options(&job);
    project_try(job.project, scant_project_meter(job.project->project, &meter));
    choose(&job);
    print(&job, &meter);
    scant_picks_free(job.project->net.ctx, job.picks);
    if (job.count) {
        project_stop(job.project, &meter);
        return;
    }
    if (!args->common.quiet)
        cli_note("nothing is left to pick: every item has an answer, is a copy or is in "
                 "the audit set");
    cli_exit(CLI_STOP);
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
    PROJECT_COMMAND(query_args),
    .tables = {CLI_FLAGS(flags), PROJECT_COMMON_FLAGS(query_args, common)},
    .examples =
        {
            {"What to label next, by the last model:",
             "scant query birds --out batch.csv"},
            {"A loop that ends when more labels are unlikely to help:",
             "while scant query birds --out batch.csv; do ./ask-people batch.csv > "
             "answers.csv; "
             "scant label birds --import answers.csv; scant train birds; done"},
        },
    .run = run,
};

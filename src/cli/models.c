/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant models [NAME]`: lists the networks that can be trained.
 */
#include "cli/net_args.h"

typedef struct models_args {
    const char *format;
} models_args;

static const scant_option flags[] = {
    OPT_CHOICE("format", "text|json", NULL, offsetof(models_args, format), "Output",
               "for people (default) or for programs"),
};

static const struct {
    unsigned bit;
    const char *name;
} options[] = {
    {SCANT_MODEL_WIDTH, "width"}, {SCANT_MODEL_DEPTH, "depth"},
    {SCANT_MODEL_NORM, "norm"},   {SCANT_MODEL_STEM, "stem"},
    {SCANT_MODEL_HEAD, "head"},
};

/* Adds the model's options to json or to text. */
static void add_options(const scant_model_info *info, scant__json *json,
                        scant__text *text) {
    const char *before = "";
    for (size_t i = 0; i < CLI_COUNT_OF(options); i++) {
        if (!(info->options & options[i].bit)) continue;
        if (json) scant__json_string(json, NULL, options[i].name);
        if (text) scant__text_addf(text, "%s%s", before, options[i].name);
        before = ", ";
    }
}

static void add_json(scant__json *json, const scant_model_info *info, size_t parameters) {
    scant__json_open(json, NULL, '{');
    scant__json_string(json, "name", info->name);
    scant__json_string(json, "summary", info->summary);
    scant__json_open(json, "shape", '[');
    for (size_t i = 0; i < 3; i++) scant__json_size(json, NULL, info->shape[i]);
    scant__json_close(json, ']');
    scant__json_size(json, "classes", info->classes);
    if (info->init) scant__json_string(json, "init", info->init);
    scant__json_size(json, "parameters", parameters);
    scant__json_open(json, "options", '[');
    add_options(info, json, NULL);
    scant__json_close(json, ']');
    scant__json_close(json, '}');
}

enum { PARAMETERS = 13, INPUT = 25, OPTIONS = 36, SUMMARY = 50 };

/* Formats count as "1,234,567". */
static const char *with_commas(size_t count) {
    return count < 1000 ? cli_format("%zu", count)
                        : cli_format("%s,%03zu", with_commas(count / 1000), count % 1000);
}

static void add_text(scant__text *text, const scant_model_info *info, size_t parameters) {
    scant__text_add(text, info->name);
    cli_text_pad(text, PARAMETERS);
    scant__text_addf(text, "%10s", with_commas(parameters));
    cli_text_pad(text, INPUT);
    scant__text_addf(text, "%zux%zux%zu", info->shape[0], info->shape[1], info->shape[2]);
    cli_text_pad(text, OPTIONS);
    add_options(info, NULL, text);
    cli_text_pad(text, SUMMARY);
    cli_text_wrap(text, SUMMARY, info->summary);
}

static void run(const cli_call *call) {
    const models_args *args = call->args;
    const char *only = call->operand;
    scant__text text = CLI_TEXT;
    scant__json json = {.text = CLI_TEXT, .lines = 1};
    net_job *job = cli_calloc(1, sizeof *job);
    size_t count, parameters;
    const scant_model_info *const *list = scant_models(&count);
    if (only) cli_model(call->command, only);
    net_begin(job, call->command, &(net_common){.quiet = true}, NULL);
    scant__text_add(&text, "NAME         PARAMETERS  INPUT      OPTIONS       WHAT\n");
    if (!only) scant__json_open(&json, NULL, '[');
    for (size_t i = 0; i < count; i++) {
        if (only && strcmp(list[i]->name, only) != 0) continue;
        net_try(job, scant_model_parameters(job->ctx, list[i]->name, NULL, &parameters));
        add_json(&json, list[i], parameters);
        add_text(&text, list[i], parameters);
    }
    if (!only) scant__json_close(&json, ']');
    scant__text_add(&json.text, "\n");
    cli_print(net_is(args->format, "json") ? &json.text : &text);
}

const cli_command cli_cmd_models = {
    .name = "models",
    .synopsis = "[NAME]",
    .summary = "list the networks that can be trained",
    .about = "A table of all networks: the number of trained parameters, the default "
             "input (channels, height, width), and the options of 'scant train' that "
             "apply; --activation and --dropout apply to all, --init to all but "
             "onehidden. Parameters are counted for "
             "that input and 10 classes (mobilenetv2: 1000).",
    .operand = CLI_MODEL_NAME,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"All of them, and one:", "scant models; scant models resnet18"},
        },
    .args_size = sizeof(models_args),
    .run = run,
};

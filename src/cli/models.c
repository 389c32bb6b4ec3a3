/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant models [NAME]`: what can be trained.
 */
#include <string.h>

#include "cli/cli.h"
#include "scant/train.h"

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

/* "1,234,567" */
static void add_count(scant__text *text, size_t count) {
    scant__text digits = CLI_TEXT;
    scant__text_addf(&digits, "%zu", count);
    for (size_t i = 0; i < digits.size; i++) {
        if (i && (digits.size - i) % 3 == 0) scant__text_add(text, ",");
        scant__text_bytes(text, digits.data + i, 1);
    }
    scant__text_end(&digits);
}

static void add_options(scant__text *text, unsigned bits, const char *before,
                        const char *after) {
    bool any = false;
    for (size_t i = 0; i < CLI_COUNT_OF(options); i++) {
        if (!(bits & options[i].bit)) continue;
        scant__text_addf(text, "%s%s%s%s", any ? ", " : "", before, options[i].name,
                         after);
        any = true;
    }
}

static scant_status json_model(scant__text *text, scant_ctx *ctx,
                               const scant_model_info *info) {
    size_t count = 0;
    scant_status status = scant_model_parameters(ctx, info->name, NULL, &count);
    scant__text_addf(text, "{\"name\": \"%s\", \"summary\": ", info->name);
    scant__text_json(text, info->summary);
    scant__text_addf(text,
                     ", \"shape\": [%zu, %zu, %zu], \"classes\": %zu, "
                     "\"parameters\": %zu, \"options\": [",
                     info->shape[0], info->shape[1], info->shape[2], info->classes,
                     count);
    add_options(text, info->options, "\"", "\"");
    scant__text_add(text, "]}");
    return status;
}

enum { PARAMETERS = 13, INPUT = 25, OPTIONS = 36, SUMMARY = 50 };

static scant_status text_model(scant__text *text, scant_ctx *ctx,
                               const scant_model_info *info) {
    size_t count = 0;
    scant_status status = scant_model_parameters(ctx, info->name, NULL, &count);
    scant__text number = CLI_TEXT;
    add_count(&number, count);
    scant__text_add(text, info->name);
    cli_text_pad(text, PARAMETERS);
    scant__text_addf(text, "%10.*s", (int)number.size, number.data);
    cli_text_pad(text, INPUT);
    scant__text_addf(text, "%zux%zux%zu", info->shape[0], info->shape[1], info->shape[2]);
    cli_text_pad(text, OPTIONS);
    add_options(text, info->options, "", "");
    cli_text_pad(text, SUMMARY);
    cli_text_wrap(text, SUMMARY, info->summary);
    scant__text_end(&number);
    return status;
}

static scant_status list_models(scant__text *text, scant_ctx *ctx, const char *only,
                                bool json) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    scant_status status = SCANT_OK;
    bool any = false;
    if (json && !only) scant__text_add(text, "[");
    if (!json)
        scant__text_add(text, "NAME         PARAMETERS  INPUT      OPTIONS       WHAT\n");
    for (size_t i = 0; i < count && status == SCANT_OK; i++) {
        if (only && strcmp(list[i]->name, only) != 0) continue;
        if (json && any) scant__text_add(text, ",\n ");
        status = json ? json_model(text, ctx, list[i]) : text_model(text, ctx, list[i]);
        any = true;
    }
    if (json) scant__text_add(text, only ? "\n" : "]\n");
    return status;
}

static int run(const cli_command *command, int argc, char **argv) {
    models_args args = {0};
    cli_parsed parsed;
    scant__text text = CLI_TEXT;
    scant_ctx *ctx;
    int status = cli_parse(command, argc, argv, &args, &parsed);
    if (status != CLI_DONE) return status;
    if (parsed.help) return cli_print_page(command);
    if (parsed.operand && !cli_model_find(parsed.operand))
        return cli_unknown_model(command, parsed.operand);
    if (scant_ctx_create(NULL, &ctx) != SCANT_OK) {
        cli_error("%s", scant_status_text(SCANT_ENOMEM));
        return CLI_SYSTEM;
    }
    bool json = args.format && strcmp(args.format, "json") == 0;
    scant_status made = list_models(&text, ctx, parsed.operand, json);
    if (made != SCANT_OK) cli_error("%s", scant_ctx_errmsg(ctx));
    scant_ctx_free(ctx);
    if (made == SCANT_OK) return cli_print(&text);
    scant__text_end(&text);
    return cli_exit_of(made);
}

static const cli_example examples[] = {
    {"All of them, and one:", "scant models; scant models resnet18"},
};

const cli_command cli_cmd_models = {
    .name = "models",
    .synopsis = "[NAME]",
    .summary = "list the networks that can be trained",
    .about = "A table of all networks: how many numbers training changes, the samples "
             "that they take unless told otherwise (channels, height, width), and "
             "which of the options of 'scant train' are theirs; --activation and "
             "--dropout all have. Parameters are counted for that input and 10 classes "
             "(mobilenetv2: 1000).",
    .operand = CLI_MODEL_NAME,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant completion bash`: a completion script from the tables that the parser reads. It
 * does not need the bash-completion package.
 *
 * bash cuts words at '=' (COMP_WORDBREAKS), so "--flag=value" and "KEY=VALUE" arrive as
 * three words; the head of the function puts them together again.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/select.h"
#include "scant/project.h"

static const char head[] =
    "# bash completion for scant; written by 'scant completion bash'\n"
    "_scant() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) i\n"
    "    local command=${COMP_WORDS[1]} prev=${COMP_WORDS[at]} strategy= key= equals=\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur= equals=1\n"
    "    elif [[ $prev == = ]]; then\n"
    "        equals=1 at=$((at - 1))\n"
    "        prev=${COMP_WORDS[at]}\n"
    "    fi\n"
    "    if [[ $equals && $prev != --* ]]; then # KEY=VALUE after a flag\n"
    "        key=$prev at=$((at - 1))\n"
    "        [[ ${COMP_WORDS[at]} == = ]] && at=$((at - 1))\n"
    "        prev=${COMP_WORDS[at]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n";

static const char tail[] = "}\ncomplete -F _scant scant\n";

static void add_commands(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    for (size_t i = 0; i < count; i++)
        if (!list[i]->hidden) scant__text_addf(text, "%s ", list[i]->name);
}

static void add_strategies(scant__text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(text, "%s%s", i ? " " : "", list[i]->name);
}

static void add_models(scant__text *text) {
    size_t count;
    const scant_model_info *const *list = scant_models(&count);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(text, "%s%s", i ? " " : "", list[i]->name);
}

/* A reply of words, given as "a b c" or "a|b|c". */
static void reply(scant__text *text, const char *words) {
    scant__text_add(text, "COMPREPLY=($(compgen -W '");
    for (; *words; words++) scant__text_bytes(text, *words == '|' ? " " : words, 1);
    scant__text_add(text, "' -- \"$cur\"))");
}

/* A choice "word:K" is offered as "word:", without a blank after it. */
static void reply_choices(scant__text *text, const char *choices) {
    scant__text words = CLI_TEXT;
    bool open = strstr(choices, ":K") != NULL;
    for (const char *c = choices; *c; c++)
        if (!(*c == 'K' && c > choices && c[-1] == ':')) scant__text_bytes(&words, c, 1);
    if (open) scant__text_add(text, "compopt -o nospace 2>/dev/null; ");
    reply(text, words.data);
    scant__text_end(&words);
}

/* Keys of a strategy's options, and values after KEY=. */
static void add_options(scant__text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    scant__text_add(text, "        case $strategy:$key in\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < list[i]->n_options; j++) {
            const scant_option *option = &list[i]->options[j];
            bool either = option->kind == SCANT_OPTION_SWITCH;
            if (!either && option->kind != SCANT_OPTION_CHOICE) continue;
            scant__text_addf(text, "        %s:%s) ", list[i]->name, option->key);
            reply_choices(text, either ? "0|1" : option->choices);
            scant__text_add(text, " ;;\n");
        }
        if (!list[i]->n_options) continue;
        scant__text_addf(
            text,
            "        %s:)\n            compopt -o nospace 2>/dev/null\n            ",
            list[i]->name);
        scant__text keys = CLI_TEXT;
        for (size_t j = 0; j < list[i]->n_options; j++)
            scant__text_addf(&keys, "%s= ", list[i]->options[j].key);
        reply(text, keys.data);
        scant__text_end(&keys);
        scant__text_add(text, "\n            ;;\n");
    }
    scant__text_add(text, "        esac\n");
}

/* The values of a key, if they are words. */
static void add_key(scant__text *text, const char *section, const char *key,
                    const char *choices) {
    if (!choices || !strchr(choices, '|')) return;
    scant__text_addf(text, "        %s%s%s) ", section, *section ? "." : "", key);
    reply(text, choices);
    scant__text_add(text, " ;;\n");
}

/* All keys, before a key was typed. */
static void end_keys(scant__text *text, scant__text *all) {
    scant__text_add(
        text, "        '')\n            compopt -o nospace 2>/dev/null\n            ");
    reply(text, all->data);
    scant__text_add(text, "\n            ;;\n        esac\n");
    scant__text_end(all);
}

/* The words that a value may be; "" where it may be any number or text. */
static const char *words_of(const scant_option *row) {
    if (row->kind == SCANT_OPTION_SWITCH) return "yes|no";
    return row->choices ? row->choices : "";
}

static void add_experiment_keys(scant__text *text) {
    scant_experiment_key key;
    scant__text all = CLI_TEXT;
    scant__text_add(text, "        case $key in\n");
    for (size_t i = 0; scant_experiment_key_at(i, &key); i++) {
        scant__text_addf(&all, "%s.%s= ", key.section, key.key);
        add_key(text, key.section, key.key, words_of(key.option));
    }
    end_keys(text, &all);
}

static void add_project_keys(scant__text *text) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    scant__text all = CLI_TEXT;
    scant__text_add(text, "        case $key in\n");
    for (size_t i = 0; i < count; i++) {
        scant__text_addf(&all, "%s= ", rows[i].key);
        add_key(text, "", rows[i].key, words_of(&rows[i]));
    }
    end_keys(text, &all);
}

static bool takes_file(const scant_option *row) {
    return row->kind == SCANT_OPTION_FILE || row->kind == SCANT_OPTION_FILES ||
           row->kind == SCANT_OPTION_ARRAY;
}

static void add_file_flags(scant__text *text, const cli_command *command) {
    bool any = false;
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++) {
        if (!takes_file(flag.row)) continue;
        scant__text_addf(text, "%s%s:--%s", any ? " | \\\n    " : "    ", command->name,
                         flag.name);
        any = true;
    }
    if (any)
        scant__text_add(text, ")\n        compopt -o filenames 2>/dev/null\n"
                              "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                              "        return ;;\n");
}

static void add_reply(scant__text *text, const char *words) {
    scant__text_add(text, "        ");
    reply(text, words);
    scant__text_add(text, "\n");
}

static void add_names(scant__text *text, const scant_option *row) {
    scant__text names = CLI_TEXT;
    const char *name;
    for (size_t i = 0; (name = row->names(i)); i++) scant__text_addf(&names, "%s ", name);
    add_reply(text, names.data);
    scant__text_end(&names);
}

/* What may stand after a flag. */
static void add_values(scant__text *text, const cli_command *command) {
    cli_flag flag;
    add_file_flags(text, command);
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++) {
        const scant_option *row = flag.row;
        if (row->kind == SCANT_OPTION_SWITCH || takes_file(row)) continue;
        scant__text_addf(text, "    %s:--%s)\n", command->name, flag.name);
        if (row->kind == SCANT_OPTION_TEXT && row->arg && strchr(row->arg, '|'))
            add_reply(text, strchr(row->arg, '|') + 1); /* "T|fit": behind the first */
        else if (row->kind == SCANT_OPTION_NAME)
            add_names(text, row);
        else if (row->kind == SCANT_OPTION_SETTINGS && command == &cli_cmd_run)
            add_experiment_keys(text);
        else if (row->kind == SCANT_OPTION_SETTINGS && command == &cli_cmd_new)
            add_project_keys(text);
        else if (row->kind == SCANT_OPTION_SETTINGS)
            add_options(text);
        else if (row->choices)
            add_reply(text, row->choices);
        scant__text_add(text, "        return ;;\n");
    }
}

static void reply_flags(scant__text *text, const cli_command *command) {
    cli_flag flag;
    scant__text flags = CLI_TEXT;
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++)
        scant__text_addf(&flags, "%s--%s", i ? " " : "", flag.name);
    reply(text, flags.data);
    scant__text_end(&flags);
}

static void reply_operands(scant__text *text, cli_operand kind) {
    scant__text words = CLI_TEXT;
    if (kind == CLI_TOPIC) add_commands(&words);
    if (kind == CLI_SHELL) scant__text_add(&words, "bash");
    if (kind == CLI_TOPIC || kind == CLI_STRATEGY) add_strategies(&words);
    if (kind == CLI_MODEL_NAME) add_models(&words);
    reply(text, words.size ? words.data : "");
    scant__text_end(&words);
}

/* Flags and operands of a command; only flags after a strategy. */
static void add_words(scant__text *text, const cli_command *command) {
    cli_operand kind = command->operand;
    bool settings = kind == CLI_PROJECT_SETTINGS; /* of a project */
    bool project = kind == CLI_PROJECT || settings;
    scant__text_addf(text, "    %s)\n        if [[ $cur == -*%s ]]; then\n            ",
                     command->name, project ? "" : " || $strategy");
    reply_flags(text, command);
    if (settings) {
        scant__text_add(text, "\n        elif ((COMP_CWORD > 2)); then\n");
        add_project_keys(text);
    }
    scant__text_addf(text, "%s        else\n            ", settings ? "" : "\n");
    if (kind == CLI_FOLDERS || kind == CLI_PATH || project)
        scant__text_addf(text,
                         "compopt -o filenames 2>/dev/null\n            "
                         "mapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")",
                         kind == CLI_PATH ? 'f' : 'd');
    else
        reply_operands(text, kind);
    scant__text_add(text, "\n        fi ;;\n");
}

static void bash_script(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    scant__text words = CLI_TEXT;
    scant__text_add(text, head);
    add_commands(&words);
    scant__text_add(&words, "--help --version");
    scant__text_add(text, "        ");
    reply(text, words.data);
    scant__text_end(&words);
    scant__text_add(text, "\n        return\n    fi\n"
                          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                          "        case \" ");
    add_strategies(text);
    scant__text_add(
        text, " \" in\n        *\" ${COMP_WORDS[i]} \"*) strategy=${COMP_WORDS[i]} ;;\n"
              "        esac\n    done\n"
              "    case $command:$prev in\n");
    for (size_t i = 0; i < count; i++) add_values(text, list[i]);
    scant__text_add(text, "    esac\n    case $command in\n");
    for (size_t i = 0; i < count; i++) add_words(text, list[i]);
    scant__text_add(text, "    esac\n");
    scant__text_add(text, tail);
}

static int run(const cli_command *command, int argc, char **argv) {
    cli_parsed parsed;
    scant__text text = CLI_TEXT;
    int status = cli_parse(command, argc, argv, NULL, &parsed);
    if (status != CLI_DONE) return status;
    if (parsed.help) return cli_print_page(command);
    if (!parsed.operand)
        return cli_usage(command, "the name of a shell is missing: bash");
    if (strcmp(parsed.operand, "bash") != 0)
        return cli_usage(command, "unknown shell '%s', expected bash", parsed.operand);
    bash_script(&text);
    return cli_print(&text);
}

static const cli_example examples[] = {
    {"In ~/.bashrc:", "source <(scant completion bash)"},
};

const cli_command cli_cmd_completion = {
    .name = "completion",
    .synopsis = "bash",
    .summary = "print a completion script for a shell",
    .about = "Prints a script that lets bash complete commands, flags, strategies, their "
             "options and file names.",
    .operand = CLI_SHELL,
    .hidden = true,
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant completion bash`: a completion script from the tables that the parser reads. It
 * does not need the bash-completion package.
 *
 * bash cuts words at '=' (COMP_WORDBREAKS), so "--flag=value" and "KEY=VALUE" arrive as
 * three words. The start of the function finds the flag and the key in them.
 */
#include <string.h>

#include "cli/cli.h"
#include "scant/project.h"

/* The argument of _scant_words is "a b c" or "a|b|c". "word:K" is offered as "word:". No
 * blank is added if a word contains ":K" or "=". */
static const char head[] =
    "# bash completion for scant; written by 'scant completion bash'\n"
    "_scant_words() {\n"
    "    local words=${1//|/ }\n"
    "    [[ $words == *:K* || $words == *=* ]] && compopt -o nospace 2>/dev/null\n"
    "    COMPREPLY=($(compgen -W \"${words//:K/:}\" -- \"$cur\"))\n"
    "}\n"
    "_scant_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -\"$1\" -- \"$cur\")\n"
    "}\n"
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

static const char tail[] = "    esac\n}\ncomplete -F _scant scant\n";

static const char *command_names(void) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    scant__text text = CLI_TEXT;
    for (size_t i = 0; i < count; i++)
        if (!list[i]->hidden) scant__text_addf(&text, "%s ", list[i]->name);
    return text.data;
}

static const char *join(const char *(*name_at)(size_t i)) {
    scant__text text = CLI_TEXT;
    const char *name;
    for (size_t i = 0; (name = name_at(i)); i++) scant__text_addf(&text, "%s ", name);
    return text.data;
}

/* ---- KEY=VALUE --------------------------------------------------------------------- */

/* Adds the possible values of a key to text, and the key to the list of all keys. */
static void add_key(scant__text *text, scant__text *all, const char *scope,
                    const char *key, const scant_option *row, const char *on_off) {
    const char *words = row->kind == SCANT_OPTION_SWITCH ? on_off : row->choices;
    scant__text_addf(all, "%s= ", key);
    if (words && strchr(words, '|'))
        scant__text_addf(text, "        %s:%s) _scant_words '%s' ;;\n", scope, key,
                         words);
}

/* Adds the completion of the key itself: all keys. */
static void end_keys(scant__text *text, const scant__text *all, const char *scope) {
    if (all->size)
        scant__text_addf(text, "        %s:) _scant_words '%s' ;;\n", scope, all->data);
}

static void add_options(scant__text *text) {
    size_t count;
    const scant_strategy_info *const *list = scant_strategies(&count);
    scant__text_add(text, "        case $strategy:$key in\n");
    for (size_t i = 0; i < count; i++) {
        scant__text all = CLI_TEXT;
        for (size_t j = 0; j < list[i]->n_options; j++)
            add_key(text, &all, list[i]->name, list[i]->options[j].key,
                    &list[i]->options[j], "0|1");
        end_keys(text, &all, list[i]->name);
    }
}

static void add_experiment_keys(scant__text *text) {
    scant_experiment_key key;
    scant__text all = CLI_TEXT;
    scant__text_add(text, "        case :$key in\n");
    for (size_t i = 0; scant_experiment_key_at(i, &key); i++)
        add_key(text, &all, "", cli_format("%s.%s", key.section, key.key), key.option,
                "yes|no");
    end_keys(text, &all, "");
}

static void add_project_keys(scant__text *text) {
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    scant__text all = CLI_TEXT;
    scant__text_add(text, "        case :$key in\n");
    for (size_t i = 0; i < count; i++)
        add_key(text, &all, "", rows[i].key, &rows[i], "yes|no");
    end_keys(text, &all, "");
}

static void add_settings(scant__text *text, const cli_command *command) {
    if (command == &cli_cmd_run)
        add_experiment_keys(text);
    else if (command == &cli_cmd_new || command->operand == CLI_PROJECT_SETTINGS)
        add_project_keys(text);
    else
        add_options(text);
    scant__text_add(text, "        esac\n");
}

/* ---- flags and operands ------------------------------------------------------------ */

/* Returns the possible values of a flag; NULL: any. */
static const char *words_of(const scant_option *row) {
    if (row->kind == SCANT_OPTION_NAME) return join(row->names);
    if (row->kind == SCANT_OPTION_TEXT && row->arg && strchr(row->arg, '|'))
        return strchr(row->arg, '|') + 1; /* "T|fit": the part after the '|' */
    return row->choices;
}

static void add_values(scant__text *text, const cli_command *command) {
    cli_flag flag;
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++) {
        scant_option_kind kind = flag.row->kind;
        const char *words = words_of(flag.row);
        if (kind == SCANT_OPTION_SWITCH) continue;
        scant__text_addf(text, "    %s:--%s)\n", command->name, flag.name);
        if (kind == SCANT_OPTION_FILE || kind == SCANT_OPTION_FILES ||
            kind == SCANT_OPTION_ARRAY)
            scant__text_add(text, "        _scant_files f\n");
        else if (kind == SCANT_OPTION_SETTINGS)
            add_settings(text, command);
        else if (words)
            scant__text_addf(text, "        _scant_words '%s'\n", words);
        scant__text_add(text, "        return ;;\n");
    }
}

static const char *operands_of(cli_operand kind) {
    switch (kind) {
    case CLI_STRATEGY:
        return join(cli_strategy_name);
    case CLI_TOPIC:
        return cli_format("%s%s", command_names(), join(cli_strategy_name));
    case CLI_MODEL_NAME:
        return join(cli_model_name);
    default:
        return kind == CLI_SHELL ? "bash" : "";
    }
}

/* Adds the flags and operands of a command; after a strategy, only flags. */
static void add_words(scant__text *text, const cli_command *command) {
    cli_operand kind = command->operand;
    bool settings = kind == CLI_PROJECT_SETTINGS;
    bool project = kind == CLI_PROJECT || settings;
    cli_flag flag;
    scant__text_addf(text,
                     "    %s)\n        if [[ $cur == -*%s ]]; then\n"
                     "            _scant_words '",
                     command->name, project ? "" : " || $strategy");
    for (size_t i = 0; cli_flag_at(command, i, &flag); i++)
        scant__text_addf(text, "--%s ", flag.name);
    scant__text_add(text, "'\n");
    if (settings) {
        scant__text_add(text, "        elif ((COMP_CWORD > 2)); then\n");
        add_settings(text, command);
    }
    scant__text_add(text, "        else\n");
    if (kind == CLI_FOLDERS || kind == CLI_PATH || project)
        scant__text_addf(text, "            _scant_files %c\n",
                         kind == CLI_PATH ? 'f' : 'd');
    else
        scant__text_addf(text, "            _scant_words '%s'\n", operands_of(kind));
    scant__text_add(text, "        fi ;;\n");
}

static void run(const cli_call *call) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    scant__text text = CLI_TEXT;
    if (strcmp(call->operand, "bash") != 0)
        cli_usage(call->command, "unknown shell '%s', expected bash", call->operand);
    scant__text_add(&text, head);
    scant__text_addf(&text,
                     "        _scant_words '%s--help --version'\n        return\n    fi\n"
                     "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                     "        case \" %s\" in\n"
                     "        *\" ${COMP_WORDS[i]} \"*) strategy=${COMP_WORDS[i]} ;;\n"
                     "        esac\n    done\n"
                     "    case $command:$prev in\n",
                     command_names(), join(cli_strategy_name));
    for (size_t i = 0; i < count; i++) add_values(&text, list[i]);
    scant__text_add(&text, "    esac\n    case $command in\n");
    for (size_t i = 0; i < count; i++) add_words(&text, list[i]);
    scant__text_add(&text, tail);
    cli_print(&text);
}

const cli_command cli_cmd_completion = {
    .name = "completion",
    .synopsis = "bash",
    .summary = "print a completion script for a shell",
    .about = "Prints a script that lets bash complete commands, flags, strategies, their "
             "options and file names.",
    .operand = CLI_SHELL,
    .hidden = true,
    .examples =
        {
            {"In ~/.bashrc:", "source <(scant completion bash)"},
        },
    .missing = "the name of a shell is missing: bash",
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant completion bash`: a completion script from the tables that the parser reads. The
 * script needs bash alone, not the bash-completion package.
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

/* A choice "word:K" is offered as "word:", and no blank after it. */
static void reply_choices(scant__text *text, const char *choices) {
    scant__text words = CLI_TEXT;
    bool open = strstr(choices, ":K") != NULL;
    for (const char *c = choices; *c; c++)
        if (!(*c == 'K' && c > choices && c[-1] == ':')) scant__text_bytes(&words, c, 1);
    scant__text_bytes(&words, "", 1);
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
        scant__text_bytes(&keys, "", 1);
        reply(text, keys.data);
        scant__text_end(&keys);
        scant__text_add(text, "\n            ;;\n");
    }
    scant__text_add(text, "        esac\n");
}

/* Words after a KEY=, where there are some. */
static void add_key(scant__text *text, const char *section, const char *key,
                    const char *choices) {
    if (!choices || !strchr(choices, '|')) return;
    scant__text_addf(text, "        %s%s%s) ", section, *section ? "." : "", key);
    reply(text, choices);
    scant__text_add(text, " ;;\n");
}

/* All keys, where there is none yet. */
static void end_keys(scant__text *text, scant__text *all) {
    scant__text_bytes(all, "", 1);
    scant__text_add(
        text, "        '')\n            compopt -o nospace 2>/dev/null\n            ");
    reply(text, all->data);
    scant__text_add(text, "\n            ;;\n        esac\n");
    scant__text_end(all);
}

static void add_experiment_keys(scant__text *text) {
    const scant_experiment_key *key;
    scant__text all = CLI_TEXT;
    scant__text_add(text, "        case $key in\n");
    for (size_t i = 0; (key = scant_experiment_key_at(i)); i++) {
        scant__text_addf(&all, "%s.%s= ", key->section, key->key);
        add_key(text, key->section, key->key, key->choices);
    }
    end_keys(text, &all);
}

/* "a|b" of "a, b"; nothing where that has more than single words, as "auto, 8 to 64". */
static void add_words_of(scant__text *text, const char *choices) {
    for (const char *c = choices; *c; c++)
        if (*c == ' ' && (c == choices || c[-1] != ',')) return;
    for (const char *c = choices; *c; c++)
        if (*c != ' ') scant__text_bytes(text, *c == ',' ? "|" : c, 1);
}

static void add_project_keys(scant__text *text) {
    const scant_project_key *key;
    scant__text all = CLI_TEXT;
    scant__text_add(text, "        case $key in\n");
    for (size_t i = 0; (key = scant_project_key_at(i)); i++) {
        scant__text words = CLI_TEXT;
        add_words_of(&words, key->choices);
        scant__text_bytes(&words, "", 1);
        scant__text_addf(&all, "%s= ", key->key);
        add_key(text, "", key->key, words.data);
        scant__text_end(&words);
    }
    end_keys(text, &all);
}

static bool takes_file(const cli_flag *flag) {
    return flag->kind == CLI_FILE || flag->kind == CLI_FILES || flag->kind == CLI_ARRAY;
}

static void add_file_flags(scant__text *text, const cli_command *command) {
    bool any = false;
    for (size_t i = 0; i < command->n_flags; i++) {
        if (!takes_file(&command->flags[i])) continue;
        scant__text_addf(text, "%s%s:--%s", any ? " | \\\n    " : "    ", command->name,
                         command->flags[i].name);
        any = true;
    }
    if (any)
        scant__text_add(text, ")\n        compopt -o filenames 2>/dev/null\n"
                              "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                              "        return ;;\n");
}

/* What may stand after a flag. */
static void add_values(scant__text *text, const cli_command *command) {
    add_file_flags(text, command);
    for (size_t i = 0; i < command->n_flags; i++) {
        const cli_flag *flag = &command->flags[i];
        if (flag->kind == CLI_SWITCH || takes_file(flag)) continue;
        scant__text_addf(text, "    %s:--%s)\n", command->name, flag->name);
        if (flag->kind == CLI_CHOICE) {
            scant__text_add(text, "        ");
            reply(text, flag->arg);
            scant__text_add(text, "\n");
        } else if (flag->kind == CLI_WORD && strchr(flag->arg, '|')) {
            scant__text_add(text, "        "); /* "T|fit": the words behind the first */
            reply(text, strchr(flag->arg, '|') + 1);
            scant__text_add(text, "\n");
        } else if (flag->kind == CLI_MODEL) {
            scant__text models = CLI_TEXT;
            add_models(&models);
            scant__text_bytes(&models, "", 1);
            scant__text_add(text, "        ");
            reply(text, models.data);
            scant__text_add(text, "\n");
            scant__text_end(&models);
        } else if (flag->kind == CLI_PICKER) {
            scant__text strategies = CLI_TEXT;
            add_strategies(&strategies);
            scant__text_bytes(&strategies, "", 1);
            scant__text_add(text, "        ");
            reply(text, strategies.data);
            scant__text_add(text, "\n");
            scant__text_end(&strategies);
        } else if (flag->kind == CLI_SETTING && command == &cli_cmd_run) {
            add_experiment_keys(text);
        } else if (flag->kind == CLI_SETTING && command == &cli_cmd_new) {
            add_project_keys(text);
        } else if (flag->kind == CLI_SETTING) {
            add_options(text);
        }
        scant__text_add(text, "        return ;;\n");
    }
}

/* Flags and operands of a command; flags alone once the strategy is there. */
static void add_words(scant__text *text, const cli_command *command) {
    size_t count;
    const cli_flag *common = cli_common_flags(&count);
    scant__text flags = CLI_TEXT, operands = CLI_TEXT;
    for (size_t i = 0; i < command->n_flags; i++)
        scant__text_addf(&flags, "--%s ", command->flags[i].name);
    for (size_t i = 0; i < count; i++)
        scant__text_addf(&flags, "%s--%s", i ? " " : "", common[i].name);
    scant__text_bytes(&flags, "", 1);
    if (command->operand == CLI_TOPIC) add_commands(&operands);
    if (command->operand == CLI_SHELL) scant__text_add(&operands, "bash");
    if (command->operand == CLI_TOPIC || command->operand == CLI_STRATEGY)
        add_strategies(&operands);
    if (command->operand == CLI_MODEL_NAME) add_models(&operands);
    scant__text_bytes(&operands, "", 1);
    bool project = command->operand == CLI_PROJECT || /* a strategy may come before it */
                   command->operand == CLI_PROJECT_SETTINGS;
    scant__text_addf(text, "    %s)\n        if [[ $cur == -*%s ]]; then\n            ",
                     command->name, project ? "" : " || $strategy");
    reply(text, flags.data);
    if (command->operand == CLI_PROJECT_SETTINGS) {
        scant__text_add(text, "\n        elif ((COMP_CWORD > 2)); then\n");
        add_project_keys(text);
        scant__text_add(text, "        else\n            ");
    } else {
        scant__text_add(text, "\n        else\n            ");
    }
    if (command->operand == CLI_FOLDERS || project)
        scant__text_add(text, "compopt -o filenames 2>/dev/null\n            "
                              "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")");
    else if (command->operand == CLI_PATH)
        scant__text_add(text,
                        "compopt -o filenames 2>/dev/null\n"
                        "            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
    else
        reply(text, operands.data);
    scant__text_add(text, "\n        fi ;;\n");
    scant__text_end(&flags);
    scant__text_end(&operands);
}

static void bash_script(scant__text *text) {
    size_t count;
    const cli_command *const *list = cli_commands(&count);
    scant__text words = CLI_TEXT;
    scant__text_add(text, head);
    add_commands(&words);
    scant__text_add(&words, "--help --version");
    scant__text_bytes(&words, "", 1);
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
    if (!parsed.operand) return cli_usage(command, "for which shell? (bash)");
    if (strcmp(parsed.operand, "bash") != 0)
        return cli_usage(command, "only bash is known, not '%s'", parsed.operand);
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
             "options and names of files.",
    .operand = CLI_SHELL,
    .hidden = true,
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};

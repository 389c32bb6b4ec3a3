/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant compare DIR...`: which strategies differ by more than chance.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/net_args.h"
#include "cli/trainings.h"
#include "scant/train.h"

typedef struct compare_args {
    const char *baseline, *csv, *format;
    net_common common;
} compare_args;

static const scant_option flags[] = {
    OPT_TEXT("baseline", "NAME", NULL, offsetof(compare_args, baseline), "Comparison",
             "compare each strategy only with this one (default: all pairs)"),
    OPT_FILE("csv", "FILE", offsetof(compare_args, csv), "Output",
             "also write the numbers as CSV, with all digits"),
    OPT_CHOICE("format", "text|json", NULL, offsetof(compare_args, format), "Output",
               "for people (default) or for programs"),
    OPT_SWITCH("quiet", NULL, offsetof(compare_args, common.quiet), "Output",
               "errors only"),
};

static const struct {
    const char *name, *percent, *error; /* headings for classification and regression */
    size_t at;
} measures[] = {
    {"auc", "Area under the curve, in percent", "Area under the curve of the error",
     offsetof(scant_pair, auc)},
    {"final", "Final accuracy, in percent", "Final error", offsetof(scant_pair, final)},
};

/* The numbers of a difference, in the order of the columns of --csv. */
static const struct {
    const char *name;
    size_t at;
} numbers[] = {
    {"mean_a", offsetof(scant_difference, mean_a)},
    {"mean_b", offsetof(scant_difference, mean_b)},
    {"difference", offsetof(scant_difference, mean)},
    {"low", offsetof(scant_difference, low)},
    {"high", offsetof(scant_difference, high)},
    {"t", offsetof(scant_difference, t)},
    {"p", offsetof(scant_difference, p)},
    {"p_holm", offsetof(scant_difference, p_holm)},
    {"p_flips", offsetof(scant_difference, p_flips)},
    {"p_flips_holm", offsetof(scant_difference, p_flips_holm)},
};

static double number_of(const scant_difference *d, size_t number) {
    return *(const double *)(const void *)((const char *)d + numbers[number].at);
}

static const scant_difference *difference(const scant_pair *pair, size_t measure) {
    return (const void *)((const char *)pair + measures[measure].at);
}

/* ---- tables ------------------------------------------------------------------------ */

static size_t widest_name(const scant_comparison *c) {
    size_t most = 8;
    for (size_t i = 0; i < c->n_strategies; i++)
        if (strlen(c->strategies[i]) > most) most = strlen(c->strategies[i]);
    return most < 40 ? most : 40;
}

static void add_name(scant__text *text, const char *name, size_t column) {
    for (const char *at = name; *at; at++)
        scant__text_bytes(text, (unsigned char)*at < 0x20 || *at == 0x7F ? "?" : at, 1);
    cli_text_pad(text, column);
}

/* Writes p with three decimals, or "<.001" if it is too small for that. */
static void add_p(scant__text *text, double p) {
    if (isnan(p))
        scant__text_add(text, "      -");
    else if (p < 0.0005)
        scant__text_add(text, "  <.001");
    else
        scant__text_addf(text, "  %5.3f", p);
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

/* Errors can have any scale: they get significant digits and a wider column. */
static int number_width(const scant_comparison *c) { return c->regression ? 11 : 7; }

static void add_number(scant__text *text, const scant_comparison *c, double value,
                       bool sign, int width) {
    char number[32];
    if (c->regression)
        snprintf(number, sizeof number, sign ? "%+.4g" : "%.4g", value);
    else
        snprintf(number, sizeof number, sign ? "%+.2f" : "%.2f", value);
    scant__text_addf(text, "%*s", width, number);
}

static void add_interval(scant__text *text, const scant_comparison *c,
                         const scant_difference *d) {
    int width = number_width(c);
    if (isnan(d->low)) {
        scant__text_addf(text, "%*s", 2 * width + 5, "no spread");
        return;
    }
    add_number(text, c, d->low, true, width + 2);
    scant__text_add(text, " .. ");
    add_number(text, c, d->high, true, width - 1);
}

static void add_pair(scant__text *text, const scant_comparison *c, const scant_pair *pair,
                     size_t measure, size_t width) {
    const scant_difference *d = difference(pair, measure);
    add_name(text, c->strategies[pair->a], width + 2);
    add_name(text, c->strategies[pair->b], 2 * width + 4);
    if (pair->seeds < 2) {
        size_t left_out = pair->others + pair->unrelated;
        scant__text_addf(text, "%zu seed%s in common: too few, two are needed%s\n",
                         pair->seeds, plural(pair->seeds),
                         left_out ? cli_format(" (%zu left out, see below)", left_out)
                                  : "");
        return;
    }
    scant__text_addf(text, "%5zu", pair->seeds);
    add_number(text, c, d->mean_a, false, number_width(c) + 2);
    add_number(text, c, d->mean_b, false, number_width(c) + 2);
    add_number(text, c, d->mean, true, number_width(c) + 2);
    add_interval(text, c, d);
    const double p[] = {d->p, d->p_holm, d->p_flips, d->p_flips_holm};
    for (size_t i = 0; i < CLI_COUNT_OF(p); i++) add_p(text, p[i]);
    scant__text_add(text, d->p_holm < 0.05 ? "  *\n" : "\n");
}

static void add_measure(scant__text *text, const scant_comparison *c, size_t measure) {
    size_t width = widest_name(c);
    int names = (int)width + 2, digits = number_width(c);
    scant__text_addf(text, "%s\n",
                     c->regression ? measures[measure].error : measures[measure].percent);
    scant__text_addf(text,
                     "%-*s%-*sSEEDS  %*s  %*s  %*s  %*s      P   HOLM  FLIPS   HOLM\n",
                     names, "A", names, "B", digits, "A", digits, "B", digits, "A - B",
                     2 * digits + 3, "95 % INTERVAL");
    for (size_t i = 0; i < c->n_pairs; i++)
        add_pair(text, c, &c->pairs[i], measure, width);
    scant__text_add(text, "\n");
}

/* ---- the matrix of wins ------------------------------------------------------------ */

static const scant_pair *find_pair(const scant_comparison *c, size_t a, size_t b) {
    for (size_t i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].a == a && c->pairs[i].b == b) return &c->pairs[i];
    return NULL;
}

static void add_wins(scant__text *text, const scant_comparison *c) {
    size_t width = widest_name(c), levels = 0;
    bool all = true;
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (i) all = all && c->pairs[i].levels == c->pairs[0].levels;
        if (c->pairs[i].levels > levels) levels = c->pairs[i].levels;
    }
    if (!levels) return;
    scant__text_addf(
        text,
        "How often the row beats the column (t-test at 0.05, not corrected), at "
        "%s%zu number%s of labels\n",
        all ? "" : "up to ", levels, plural(levels));
    cli_text_pad(text, width + 2);
    for (size_t b = 0; b < c->n_strategies; b++)
        scant__text_addf(text, "  %6.6s", c->strategies[b]);
    scant__text_add(text, "\n");
    for (size_t a = 0; a < c->n_strategies; a++) {
        add_name(text, c->strategies[a], width + 2);
        for (size_t b = 0; b < c->n_strategies; b++) {
            const scant_pair *as_a = find_pair(c, a, b), *as_b = find_pair(c, b, a);
            if (as_a)
                scant__text_addf(text, "  %6zu", as_a->wins_a);
            else if (as_b)
                scant__text_addf(text, "  %6zu", as_b->wins_b);
            else
                scant__text_add(text, "       .");
        }
        scant__text_add(text, "\n");
    }
    scant__text_add(text, "\n");
}

/* ---- explanations ------------------------------------------------------------------ */

/* Lists the pairs of strategies whose runs end at different label counts. */
static void add_spans(scant__text *text, const scant_comparison *c) {
    size_t width = widest_name(c), cut = 0;
    for (size_t i = 0; i < c->n_pairs; i++) {
        const scant_pair *pair = &c->pairs[i];
        if (!pair->cut) continue;
        if (!cut++)
            scant__text_add(text,
                            "Compared up to the shorter run's labels, as runs end at "
                            "different numbers\n");
        add_name(text, c->strategies[pair->a], width + 2);
        add_name(text, c->strategies[pair->b], 2 * width + 4);
        scant__text_addf(text, "from %" PRIu64 " to ", pair->from);
        if (pair->to_most > pair->to_least)
            scant__text_addf(text, "between %" PRIu64 " and ", pair->to_least);
        scant__text_addf(text, "%" PRIu64 " labels\n", pair->to_most);
    }
    if (cut) scant__text_add(text, "\n");
}

static void add_left_out(scant__text *words, size_t n, const char *why) {
    if (n) scant__text_addf(words, " Left out: %zu time%s a seed %s.", n, plural(n), why);
}

static void add_key(scant__text *text, const scant_comparison *c) {
    size_t others = 0, unrelated = 0, tested = 0;
    bool alike = false;
    scant__text words = CLI_TEXT;
    for (size_t i = 0; i < c->n_pairs; i++) {
        const scant_pair *pair = &c->pairs[i];
        others += pair->others;
        unrelated += pair->unrelated;
        if (pair->seeds < 2) continue;
        tested++;
        alike = alike || isnan(pair->auc.low) || isnan(pair->final.low);
    }
    scant__text_addf(
        &words,
        "Differences are paired by seed. P: two-sided paired t-test; FLIPS: "
        "permutation test by all signs of the differences; HOLM: corrected for "
        "%zu pair%s",
        tested, plural(tested));
    if (tested < c->n_pairs)
        scant__text_addf(&words, " (of %zu, those with two seeds)", c->n_pairs);
    scant__text_add(&words, ". *: below 0.05 after correction.");
    if (alike)
        scant__text_add(&words,
                        " If all seeds have the same difference, its spread is unknown: "
                        "there is no interval.");
    add_left_out(&words, others,
                 "with a run that is shorter than others of its strategy (perhaps not "
                 "finished), or with no common numbers of labels beyond the first");
    add_left_out(&words, unrelated,
                 "whose two runs started with different samples, so that they are not of "
                 "one experiment");
    cli_text_wrap(text, 0, words.data);
}

static void print_tables(const scant_comparison *c, const scant_trainings *trainings) {
    scant__text text = CLI_TEXT;
    const char *collapsed = trainings_text(trainings, "the figures above");
    for (size_t m = 0; m < CLI_COUNT_OF(measures); m++) add_measure(&text, c, m);
    add_wins(&text, c);
    add_spans(&text, c);
    add_key(&text, c);
    if (collapsed) cli_text_wrap(&text, 0, cli_format("\n%s.", collapsed));
    cli_print(&text);
}

/* ---- CSV --------------------------------------------------------------------------- */

static void csv_number(scant__text *text, double value) {
    scant__text_add(text, ",");
    if (isinf(value))
        scant__text_add(text, value > 0 ? "inf" : "-inf");
    else if (!isnan(value))
        scant__text_json_number(text, value);
}

static void csv_row(scant__text *text, const scant_comparison *c, const scant_pair *pair,
                    size_t measure) {
    const scant_difference *d = difference(pair, measure);
    scant__text_addf(text, "%s,", measures[measure].name);
    scant__text_csv(text, c->strategies[pair->a]);
    scant__text_add(text, ",");
    scant__text_csv(text, c->strategies[pair->b]);
    scant__text_addf(text, ",%zu", pair->seeds);
    for (size_t k = 0; k < CLI_COUNT_OF(numbers); k++) csv_number(text, number_of(d, k));
    scant__text_addf(text, ",%zu,%zu,%zu,%" PRIu64 ",%" PRIu64 ",%zu\n", pair->levels,
                     pair->wins_a, pair->wins_b, pair->from, pair->to_least,
                     pair->others + pair->unrelated);
}

static void write_csv(net_job *job, const char *path, const scant_comparison *c) {
    scant__text text = CLI_TEXT;
    scant__text_add(&text, "measure,strategy_a,strategy_b,seeds");
    for (size_t k = 0; k < CLI_COUNT_OF(numbers); k++)
        scant__text_addf(&text, ",%s", numbers[k].name);
    scant__text_add(&text, ",levels,wins_a,wins_b,from,to,left_out\n");
    for (size_t m = 0; m < CLI_COUNT_OF(measures); m++)
        for (size_t i = 0; i < c->n_pairs; i++) csv_row(&text, c, &c->pairs[i], m);
    net_try(job, scant_file_write(job->ctx, path, text.data, text.size));
}

/* ---- JSON -------------------------------------------------------------------------- */

static void pair_json(scant__json *json, const scant_comparison *c,
                      const scant_pair *pair) {
    scant__json_open(json, NULL, '{');
    JSON_MEMBERS(json, MEMBER("strategy_a", c->strategies[pair->a]),
                 MEMBER("strategy_b", c->strategies[pair->b]),
                 MEMBER("seeds", pair->seeds));
    for (size_t m = 0; m < CLI_COUNT_OF(measures); m++) {
        scant__json_open(json, measures[m].name, '{');
        for (size_t k = 0; k < CLI_COUNT_OF(numbers); k++)
            scant__json_number(json, numbers[k].name, number_of(difference(pair, m), k));
        scant__json_close(json, '}');
    }
    JSON_MEMBERS(json, MEMBER("levels", pair->levels), MEMBER("wins_a", pair->wins_a),
                 MEMBER("wins_b", pair->wins_b), MEMBER("from", (size_t)pair->from),
                 MEMBER("to", (size_t)pair->to_least),
                 MEMBER("left_out", pair->others + pair->unrelated));
    scant__json_close(json, '}');
}

static void print_json(const scant_comparison *c, const scant_trainings *trainings) {
    scant__json json = CLI_JSON;
    scant__json_open(&json, NULL, '{');
    scant__json_bool(&json, "regression", c->regression);
    scant__json_open(&json, "strategies", '[');
    for (size_t i = 0; i < c->n_strategies; i++)
        scant__json_string(&json, NULL, c->strategies[i]);
    scant__json_close(&json, ']');
    scant__json_open(&json, "pairs", '[');
    for (size_t i = 0; i < c->n_pairs; i++) pair_json(&json, c, &c->pairs[i]);
    scant__json_close(&json, ']');
    trainings_json(&json, trainings);
    scant__json_close(&json, '}');
    scant__text_add(&json.text, "\n");
    cli_print(&json.text);
}

/* ---- the command ------------------------------------------------------------------- */

static void run(const cli_call *call) {
    const compare_args *args = call->args;
    net_job *job = cli_calloc(1, sizeof *job);
    scant_comparison *c;
    scant_trainings *trainings;
    bool paired = false;
    net_begin(job, call->command, &args->common, NULL);
    if (args->csv) cli_check_file(args->csv);
    net_try(job, scant_compare(job->ctx, call->operands, call->n_operands, args->baseline,
                               &c));
    if (args->csv) write_csv(job, args->csv, c);
    net_try(job,
            scant_trainings_read(job->ctx, call->operands, call->n_operands, &trainings));
    cli_ui_clear(&job->ui);
    for (size_t i = 0; i < c->n_pairs; i++) paired = paired || c->pairs[i].seeds >= 2;
    if (!c->n_pairs)
        cli_warning("there is only one strategy: nothing to compare");
    else if (!paired && !args->common.quiet)
        cli_warning("no two strategies share two seeds, so nothing can be tested: run "
                    "with more seeds (loop.seeds)");
    if (net_is(args->format, "json"))
        print_json(c, trainings);
    else if (c->n_pairs)
        print_tables(c, trainings);
    scant_trainings_free(job->ctx, trainings);
    scant_comparison_free(job->ctx, c);
}

const cli_command cli_cmd_compare = {
    .name = "compare",
    .synopsis = "DIR... [--baseline NAME] [--csv FILE] [--format text|json]",
    .summary = "find out which strategies differ by more than chance",
    .about =
        "Compares strategies pairwise, seed by seed, by the area under the curve and by "
        "the final result: the mean difference, its 95 % interval, a paired t-test, and "
        "a permutation test by all signs of the differences, which assumes less; p "
        "values are also given with Holm's correction for the number of pairs. "
        "Two runs of a seed that end at different numbers of labels are compared up to "
        "the shorter one's; runs that started with different samples are not compared. "
        "Then, as papers do, counts the numbers of labels at which one beats the other. "
        "The last line says which trainings collapsed: their accuracies count too. "
        "Several folders are combined as by 'scant report'.",
    .operand = CLI_FOLDERS,
    .tables = {CLI_FLAGS(flags)},
    .examples =
        {
            {"All pairs:", "scant compare results"},
            {"Is anything better than random?",
             "scant compare results --baseline random --csv differences.csv"},
        },
    .missing = "which results? Give the folder that 'scant run --out' wrote",
    .args_size = sizeof(compare_args),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant compare DIR...`: which strategies differ by more than chance.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/net.h"
#include "scant/train.h"

typedef struct compare_args {
    const char *baseline, *csv;
    net_means means;
} compare_args;

static const scant_option flags[] = {
    OPT_TEXT("baseline", "NAME", NULL, offsetof(compare_args, baseline), "Comparison",
             "each strategy with this one alone (default: all pairs)"),
    OPT_FILE("csv", "FILE", offsetof(compare_args, csv), "Output",
             "the same as CSV, with all digits, into a file"),
    OPT_SWITCH("quiet", NULL, offsetof(compare_args, means.quiet), "Output",
               "errors only"),
};

static const struct {
    const char *name, *percent, *error; /* headings for classification and regression */
    size_t at;
} measures[] = {
    {"auc", "Area under the curve, in percent", "Area under the curve of the error",
     offsetof(scant_pair, auc)},
    {"final", "Accuracy in the end, in percent", "Error in the end",
     offsetof(scant_pair, final)},
};

static const scant_difference *difference(const scant_pair *pair, size_t measure) {
    const void *at = (const char *)pair + measures[measure].at;
    return at;
}

/* ---- a table ----------------------------------------------------------------------- */

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

/* Three decimals; smaller values as "<.001". */
static void add_p(scant__text *text, double p) {
    if (isnan(p))
        scant__text_add(text, "      -");
    else if (p < 0.0005)
        scant__text_add(text, "  <.001");
    else
        scant__text_addf(text, "  %5.3f", p);
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static void add_too_few(scant__text *text, const scant_pair *pair) {
    size_t left_out = pair->others + pair->unrelated;
    scant__text_addf(text, "%zu seed%s in common: too few, two are needed", pair->seeds,
                     plural(pair->seeds));
    if (left_out) scant__text_addf(text, " (%zu left out, see below)", left_out);
    scant__text_add(text, "\n");
}

/* Errors can have any scale, so they are wider and have significant digits. */
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
        scant__text_addf(text, "%*s", 2 * width + 5, "all seeds alike");
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
        add_too_few(text, pair);
        return;
    }
    scant__text_addf(text, "%5zu", pair->seeds);
    add_number(text, c, d->mean_a, false, number_width(c) + 2);
    add_number(text, c, d->mean_b, false, number_width(c) + 2);
    add_number(text, c, d->mean, true, number_width(c) + 2);
    add_interval(text, c, d);
    add_p(text, d->p);
    add_p(text, d->p_holm);
    add_p(text, d->p_flips);
    add_p(text, d->p_flips_holm);
    scant__text_add(text, d->p_holm < 0.05 ? "  *\n" : "\n");
}

static void add_measure(scant__text *text, const scant_comparison *c, size_t measure) {
    size_t width = widest_name(c);
    scant__text_addf(text, "%s\n",
                     c->regression ? measures[measure].error : measures[measure].percent);
    scant__text_add(text, "A");
    cli_text_pad(text, width + 2);
    scant__text_add(text, "B");
    cli_text_pad(text, 2 * width + 4);
    int digits = number_width(c);
    scant__text_addf(text, "SEEDS  %*s  %*s  %*s  %*s      P   HOLM  FLIPS   HOLM\n",
                     digits, "A", digits, "B", digits, "A - B", 2 * digits + 3,
                     "95 % INTERVAL");
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

/* Pairs of runs that end at different numbers of labels. */
static void add_spans(scant__text *text, const scant_comparison *c) {
    size_t width = widest_name(c), cut = 0;
    for (size_t i = 0; i < c->n_pairs; i++) {
        const scant_pair *pair = &c->pairs[i];
        if (!pair->cut) continue;
        if (!cut++)
            scant__text_add(text,
                            "Not over all labels, as runs end at different numbers of "
                            "them, but as far as both go\n");
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
                        " Where all seeds have the same difference, nothing tells "
                        "how it spreads: there is no interval.");
    add_left_out(&words, others,
                 "of which a run is shorter than its strategy's others (not finished, "
                 "maybe), or whose two runs have no labels in common beyond the first");
    add_left_out(&words, unrelated,
                 "whose two runs began with other samples, so that they are not of one "
                 "experiment");
    scant__text_bytes(&words, "", 1);
    cli_text_wrap(text, 0, words.data);
    scant__text_end(&words);
}

static void add_table(scant__text *text, const scant_comparison *c) {
    for (size_t m = 0; m < CLI_COUNT_OF(measures); m++) add_measure(text, c, m);
    add_wins(text, c);
    add_spans(text, c);
    add_key(text, c);
}

/* ---- CSV --------------------------------------------------------------------------- */

static void csv_name(scant__text *text, const char *name) {
    if (*name && !name[strcspn(name, ",\"\r\n")]) {
        scant__text_add(text, name);
        return;
    }
    scant__text_add(text, "\"");
    for (; *name; name++)
        scant__text_add(text, *name == '"' ? "\"\"" : (char[]){*name, 0});
    scant__text_add(text, "\"");
}

static void csv_number(scant__text *text, double value) {
    scant__text_add(text, ",");
    if (isnan(value)) return;
    if (isinf(value))
        scant__text_add(text, value > 0 ? "inf" : "-inf");
    else
        scant__text_json_number(text, value);
}

static void add_csv(scant__text *text, const scant_comparison *c) {
    scant__text_add(text,
                    "measure,strategy_a,strategy_b,seeds,mean_a,mean_b,difference,low,"
                    "high,t,p,p_holm,p_flips,p_flips_holm,levels,wins_a,wins_b,from,"
                    "to,left_out\n");
    for (size_t m = 0; m < CLI_COUNT_OF(measures); m++)
        for (size_t i = 0; i < c->n_pairs; i++) {
            const scant_pair *pair = &c->pairs[i];
            const scant_difference *d = difference(pair, m);
            const double numbers[] = {d->mean_a,  d->mean_b,      d->mean, d->low,
                                      d->high,    d->t,           d->p,    d->p_holm,
                                      d->p_flips, d->p_flips_holm};
            scant__text_addf(text, "%s,", measures[m].name);
            csv_name(text, c->strategies[pair->a]);
            scant__text_add(text, ",");
            csv_name(text, c->strategies[pair->b]);
            scant__text_addf(text, ",%zu", pair->seeds);
            for (size_t k = 0; k < CLI_COUNT_OF(numbers); k++)
                csv_number(text, numbers[k]);
            scant__text_addf(text, ",%zu,%zu,%zu", pair->levels, pair->wins_a,
                             pair->wins_b);
            scant__text_addf(text, ",%" PRIu64 ",%" PRIu64 ",%zu\n", pair->from,
                             pair->to_least, pair->others + pair->unrelated);
        }
}

static int write_csv(net_job *job, const char *path, const scant_comparison *c) {
    scant__text text = CLI_TEXT;
    add_csv(&text, c);
    scant_status status = scant_file_write(job->ctx, path, text.data, text.size);
    scant__text_end(&text);
    return status == SCANT_OK ? CLI_DONE : net_failed(job, status);
}

/* ---- all --------------------------------------------------------------------------- */

static int show(net_job *job, const compare_args *args, const scant_comparison *c) {
    scant__text text = CLI_TEXT;
    bool paired = false;
    int status = args->csv ? write_csv(job, args->csv, c) : CLI_DONE;
    if (status != CLI_DONE) return status;
    cli_ui_clear(&job->ui);
    for (size_t i = 0; i < c->n_pairs; i++) paired = paired || c->pairs[i].seeds >= 2;
    if (!c->n_pairs)
        cli_warning("there is only one strategy: nothing to compare");
    else if (!paired && !args->means.quiet)
        cli_warning("no two strategies have two seeds in common: run with more seeds");
    if (c->n_pairs) add_table(&text, c);
    return cli_print(&text);
}

static int work(net_job *job, const compare_args *args, const cli_parsed *parsed) {
    scant_comparison *comparison;
    int status = net_begin(job, job->command, &args->means, NULL);
    if (status == CLI_DONE && args->csv) status = cli_check_file(args->csv);
    if (status != CLI_DONE) return status;
    scant_status made = scant_compare(job->ctx, parsed->operands, parsed->n_operands,
                                      args->baseline, &comparison);
    if (made != SCANT_OK) return net_failed(job, made);
    status = show(job, args, comparison);
    scant_comparison_free(job->ctx, comparison);
    return status;
}

static int run(const cli_command *command, int argc, char **argv) {
    compare_args args = {0};
    net_job job = {.command = command};
    cli_parsed parsed;
    int status = cli_parse(command, argc, argv, &args, &parsed);
    if (status == CLI_DONE && parsed.help) return cli_print_page(command);
    if (status != CLI_DONE) return status;
    if (!parsed.n_operands)
        return cli_usage(command, "which results? Give the folder that 'scant run --out' "
                                  "wrote");
    status = work(&job, &args, &parsed);
    net_end(&job);
    return status;
}

static const cli_example examples[] = {
    {"All pairs:", "scant compare results"},
    {"Is anything better than random?",
     "scant compare results --baseline random --csv differences.csv"},
};

const cli_command cli_cmd_compare = {
    .name = "compare",
    .synopsis = "DIR... [--baseline NAME] [--csv FILE]",
    .summary = "find out which strategies differ by more than chance",
    .about =
        "Compares strategies pairwise, seed by seed, in their areas under the curve and "
        "in what they reach in the end: the mean difference, its 95 % interval, a paired "
        "t-test, and a permutation test by all signs of the differences, which assumes "
        "less; p values are also given as Holm corrects them for the number of pairs. "
        "Two runs of a seed that end at different numbers of labels are compared as far "
        "as both go; those that began with other samples are not compared. "
        "Then, as papers count it, at how many numbers of labels one beats the other. "
        "Several folders are put together as 'scant report' does it.",
    .operand = CLI_FOLDERS,
    .tables = {CLI_FLAGS(flags)},
    .examples = examples,
    .n_examples = CLI_COUNT_OF(examples),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/csv_table.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/csv.h"
#include "data/source.h"
#include "report/markup.h"

enum { SHOWN = 60, MOST_CELLS = 256, NONE = 0xFF, TICK = 8192, COLUMNS = 16, NAME = 256 };

typedef struct reader {
    scant_ctx *ctx;
    report_table *table;
    scant__cells cells;
    unsigned char column_of[MOST_CELLS]; /* index in table->columns; NONE: ignored */
    size_t width;
    char words[COLUMNS][NAME];
} reader;

/* ---- the header -------------------------------------------------------------------- */

static bool is_called(scant__cell c, const char *name) {
    return c.length == strlen(name) && memcmp(c.text, name, c.length) == 0;
}

static scant_status take_heading(reader *r, scant__cell c) {
    report_table *t = r->table;
    if (r->width == MOST_CELLS)
        return scant__fail(r->ctx, SCANT_EINPUT, "%s: has more than %d columns",
                           r->cells.name, MOST_CELLS);
    r->column_of[r->width] = NONE;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (!is_called(c, t->columns[i].name)) continue;
        if (t->found >> i & 1)
            return scant__fail(r->ctx, SCANT_EINPUT,
                               "%s: line %zu: two columns are named '%s'", r->cells.name,
                               c.line, t->columns[i].name);
        t->found |= 1u << i;
        r->column_of[r->width] = (unsigned char)i;
    }
    r->width++;
    return SCANT_OK;
}

static scant_status read_header(reader *r) {
    report_table *t = r->table;
    scant__cell c;
    t->found = 0;
    if (!scant__cells_row(&r->cells))
        return scant__fail(r->ctx, SCANT_EINPUT,
                           "%s: is empty; a first line with the columns' names is "
                           "expected",
                           r->cells.name);
    do {
        TRY(scant__cells_next(&r->cells, &c));
        TRY(take_heading(r, scant__cell_trim(c)));
    } while (!c.last);
    for (size_t i = 0; i < t->n_columns; i++)
        if (!t->columns[i].optional && !(t->found >> i & 1))
            return scant__fail(r->ctx, SCANT_EINPUT,
                               "%s: its first line has no column '%s'", r->cells.name,
                               t->columns[i].name);
    return SCANT_OK;
}

/* ---- cells ------------------------------------------------------------------------- */

/* Valid values of each kind of cell. */
static const struct {
    const char *expected;
    uint64_t most;    /* largest whole number */
    double low, high; /* range of other numbers */
} kinds[] = {
    [REPORT_WORD] = {"a name of 1 to 255 bytes", 0, 0, 0},
    [REPORT_WORDS] = {"a name of at most 255 bytes", 0, 0, 0},
    [REPORT_SHORT] = {"a whole number from 0 to 2^32 - 2", UINT32_MAX - 1, 0, 0},
    [REPORT_COUNT] = {"a whole number from 0 to 2^53", (uint64_t)1 << 53, 0, 0},
    [REPORT_SEED] = {"a whole number from 0 to 2^64 - 1", UINT64_MAX, 0, 0},
    [REPORT_FRACTION] = {"a fraction from 0 to 1", 0, 0, 1},
    [REPORT_AMOUNT] = {"a number from 0 to 1e100", 0, 0, 1e100},
    [REPORT_NUMBER] = {"a number", 0, -(double)INFINITY, (double)INFINITY},
};

static bool to_whole(scant__cell c, uint64_t most, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < c.length; i++) {
        uint64_t digit = (uint64_t)(unsigned char)c.text[i] - '0';
        if (digit > 9 || value > (most - digit) / 10) return false;
        value = 10 * value + digit;
    }
    *out = value;
    return c.length > 0;
}

static bool is_nothing(scant__cell c) {
    static const char *const words[] = {"nan", "-nan", "inf", "-inf", "+inf"};
    if (!c.length) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == c.length && strncasecmp(c.text, words[i], c.length) == 0)
            return true;
    return false;
}

/* Fast path: most weights and scores of an initial set are one digit. */
static bool to_number(scant__cell c, double *out) {
    if (c.length == 1 && *c.text >= '0' && *c.text <= '9') {
        *out = *c.text - '0';
        return true;
    }
    return scant__cell_number(c, out) && isfinite(*out);
}

static bool take_words(reader *r, size_t column, scant__cell c, const char **out) {
    if (c.length >= NAME) return false;
    memcpy(r->words[column], c.text, c.length);
    r->words[column][c.length] = 0;
    *out = r->words[column];
    return c.length || r->table->columns[column].kind == REPORT_WORDS;
}

/* Sets *at to the cell's value. False: the cell is not valid for its column. */
static bool take_value(reader *r, size_t i, scant__cell c, void *at) {
    const report_column *column = &r->table->columns[i];
    report_kind kind = column->kind;
    uint64_t whole;
    double *number = at;
    if (kind <= REPORT_WORDS) return take_words(r, i, c, at);
    if (kind == REPORT_SHORT) {
        if (!to_whole(c, kinds[kind].most, &whole)) return false;
        *(uint32_t *)at = (uint32_t)whole;
        return true;
    }
    if (kind <= REPORT_SEED) return to_whole(c, kinds[kind].most, at);
    *number = NAN;
    if (is_nothing(c)) return kind != REPORT_AMOUNT || column->optional;
    return to_number(c, number) && *number >= kinds[kind].low &&
           *number <= kinds[kind].high;
}

static scant_status take_cell(reader *r, size_t i, scant__cell c) {
    const report_column *column = &r->table->columns[i];
    char text[SHOWN];
    c = scant__cell_trim(c);
    if (take_value(r, i, c, (char *)r->table->row + column->at)) return SCANT_OK;
    return scant__fail(
        r->ctx, SCANT_EINPUT, "%s: line %zu, column '%s': %s is expected, not '%s'",
        r->cells.name, c.line, column->name, kinds[column->kind].expected,
        scant__printable((const unsigned char *)c.text, c.length, text, sizeof text));
}

static void clear_row(const report_table *t) {
    for (size_t i = 0; i < t->n_columns; i++) {
        void *at = (char *)t->row + t->columns[i].at;
        if (t->columns[i].kind <= REPORT_WORDS)
            *(const char **)at = "";
        else if (t->columns[i].kind >= REPORT_FRACTION)
            *(double *)at = NAN;
        else
            memset(at, 0, t->columns[i].kind == REPORT_SHORT ? 4 : 8);
    }
}

static scant_status read_row(reader *r) {
    size_t cells = 0, line = r->cells.line;
    scant__cell c;
    do {
        TRY(scant__cells_next(&r->cells, &c));
        size_t column = cells < r->width ? r->column_of[cells] : NONE;
        if (column != NONE) TRY(take_cell(r, column, c));
        cells++;
    } while (!c.last);
    if (cells != r->width)
        return scant__fail(r->ctx, SCANT_EINPUT,
                           "%s: line %zu has %zu cells where the first has %zu",
                           r->cells.name, line, cells, r->width);
    return r->table->take(r->table->self, line);
}

static scant_status read_all(reader *r) {
    TRY(read_header(r));
    clear_row(r->table);
    for (size_t row = 0; scant__cells_row(&r->cells); row++) {
        if (row % TICK == 0)
            TRY(scant__tick(r->ctx, "reading", (size_t)(r->cells.at - r->cells.start),
                            (size_t)(r->cells.end - r->cells.start)));
        TRY(read_row(r));
    }
    return SCANT_OK;
}

scant_status report_table_read(scant_ctx *ctx, const char *name, const void *bytes,
                               size_t size, report_table *table) {
    reader r = {.ctx = ctx, .table = table};
    TRY(scant__cells_begin(&r.cells, ctx, name, bytes, size));
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* for strtod() */
    if (!c) return scant__fail(ctx, SCANT_ENOMEM, "no memory for a locale");
    locale_t before = uselocale(c);
    scant_status status = read_all(&r);
    uselocale(before);
    freelocale(c);
    scant__cells_end(&r.cells);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

static void write_cell(scant__text *out, const report_column *column, const void *at) {
    if (column->kind <= REPORT_WORDS)
        scant__text_csv(out, *(const char *const *)at);
    else if (column->kind == REPORT_SHORT)
        scant__text_addf(out, "%" PRIu32, *(const uint32_t *)at);
    else if (column->kind <= REPORT_SEED)
        scant__text_addf(out, "%" PRIu64, *(const uint64_t *)at);
    else
        report_add_exact(out, *(const double *)at);
}

static void write_line(scant__text *out, const report_table *t, bool head) {
    const char *comma = "";
    for (size_t i = 0; i < t->n_columns; i++) {
        if (!(t->found >> i & 1)) continue;
        scant__text_add(out, comma);
        if (head)
            scant__text_add(out, t->columns[i].name);
        else
            write_cell(out, &t->columns[i], (const char *)t->row + t->columns[i].at);
        comma = ",";
    }
    scant__text_add(out, "\n");
}

void report_table_head(scant__text *out, const report_table *t) {
    write_line(out, t, true);
}
void report_table_row(scant__text *out, const report_table *t) {
    write_line(out, t, false);
}

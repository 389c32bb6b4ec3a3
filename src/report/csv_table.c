/* SPDX-License-Identifier: Apache-2.0 */
#include "report/csv_table.h"

#include <locale.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "data/csv_cells.h"
#include "data/filetype.h"

enum { SHOWN = 60, MOST_CELLS = 256, NONE = 0xFF, TICK = 8192 };
static const uint64_t LARGEST = (uint64_t)1 << 53; /* a double holds it */

typedef struct reader {
    scant_ctx *ctx;
    report_table *table;
    scant__cells cells;
    unsigned char column_of[MOST_CELLS]; /* NONE: ignored */
    size_t width;
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

static scant_status wrong(const reader *r, const report_column *column, scant__cell c,
                          const char *expected) {
    char text[SHOWN];
    return scant__fail(
        r->ctx, SCANT_EINPUT, "%s: line %zu, column '%s': %s is expected, not '%s'",
        r->cells.name, c.line, column->name, expected,
        scant__printable((const unsigned char *)c.text, c.length, text, sizeof text));
}

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

static scant_status take_words(const reader *r, const report_column *column,
                               scant__cell c, char *out) {
    if (!c.length && column->kind == REPORT_WORD) return wrong(r, column, c, "a name");
    if (c.length >= REPORT_NAME)
        return wrong(r, column, c, "a name of at most 255 bytes");
    memcpy(out, c.text, c.length);
    out[c.length] = 0;
    return SCANT_OK;
}

static scant_status take_cell(const reader *r, const report_column *column,
                              scant__cell c) {
    void *at = (char *)r->table->row + column->at;
    double *number = at;
    c = scant__cell_trim(c);
    switch (column->kind) {
    case REPORT_WORD:
    case REPORT_WORDS:
        return take_words(r, column, c, at);
    case REPORT_COUNT:
        if (to_whole(c, LARGEST, at)) return SCANT_OK;
        return wrong(r, column, c, "a whole number from 0 to 2^53");
    case REPORT_SEED:
        if (to_whole(c, UINT64_MAX, at)) return SCANT_OK;
        return wrong(r, column, c, "a whole number from 0 to 2^64 - 1");
    case REPORT_FRACTION:
        *number = NAN;
        if (is_nothing(c)) return SCANT_OK;
        if (to_number(c, number) && *number >= 0 && *number <= 1) return SCANT_OK;
        return wrong(r, column, c, "a fraction from 0 to 1");
    case REPORT_AMOUNT:
        *number = NAN;
        if (column->optional && is_nothing(c)) return SCANT_OK;
        if (to_number(c, number) && *number >= 0 && *number <= 1e100) return SCANT_OK;
        return wrong(r, column, c, "a number from 0 to 1e100");
    case REPORT_NUMBER:
        *number = NAN;
        if (is_nothing(c) || to_number(c, number)) return SCANT_OK;
        return wrong(r, column, c, "a number");
    }
    return SCANT_EINTERNAL;
}

static void clear_row(const report_table *t) {
    for (size_t i = 0; i < t->n_columns; i++) {
        void *at = (char *)t->row + t->columns[i].at;
        if (t->columns[i].kind <= REPORT_WORDS)
            *(char *)at = 0;
        else if (t->columns[i].kind <= REPORT_SEED)
            *(uint64_t *)at = 0;
        else
            *(double *)at = NAN;
    }
}

static scant_status read_row(reader *r) {
    size_t cells = 0, line = r->cells.line;
    scant__cell c;
    do {
        TRY(scant__cells_next(&r->cells, &c));
        size_t column = cells < r->width ? r->column_of[cells] : NONE;
        if (column != NONE) TRY(take_cell(r, &r->table->columns[column], c));
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
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* strtod() goes by it */
    if (!c) return scant__fail(ctx, SCANT_ENOMEM, "no memory for a locale");
    locale_t before = uselocale(c);
    scant_status status = read_all(&r);
    uselocale(before);
    freelocale(c);
    scant__cells_end(&r.cells);
    return status;
}

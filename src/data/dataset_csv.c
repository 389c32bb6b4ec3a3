/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV data sets: one sample per row, numbers and a label column.
 *
 * Cells are read as in core/csv.h; blanks around a number are ignored. The first line is
 * a header if one of its cells is label, class, target or y, or if any cell but the last
 * is a word. The first column with one of these four names holds the labels; without such
 * a name the last column does. If the caller says that there are no labels, every column
 * holds numbers, and a word in the last cell also makes a header.
 *
 * If all labels are whole numbers from 0 on, they are class numbers. If all are numbers
 * and some are not whole, the file is refused. Other labels are class names, numbered in
 * byte order, so two files give a class the same number only if both have every class.
 *
 * Two passes over the file: one counts, one reads. All numbers are held in memory, and so
 * is the text of a compressed file.
 */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/csv.h"
#include "data/dataset_int.h"
#include "data/unpack.h"

enum { MAX_CLASSES = 1000000, SHOWN = 40, TICK = 4096 };

typedef scant__cell cell;

typedef struct table {
    scant_data *data; /* data->name is the file name */
    scant_ctx *ctx;
    scant__cells cells;
    size_t rows, columns, label_column; /* SIZE_MAX: none */
    size_t width;                       /* columns of numbers */
    bool header, unlabelled;
    scant__names labels;
} table;

/* ---- numbers ----------------------------------------------------------------------- */

static bool is_word(cell c, const char *word) {
    c = scant__cell_trim(c);
    return c.length == strlen(word) && strncasecmp(c.text, word, c.length) == 0;
}

/* Whether the cell is a spelling of a missing number, which is not a column name. */
static bool is_missing(cell c) {
    static const char *const words[] = {"",     "?",   "na",   "nan",  "n/a",
                                        "null", "inf", "-inf", "+inf", "none"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(c, words[i])) return true;
    return false;
}

/* Whether the cell can be a column name. A cell that begins like a number is a malformed
 * number instead. */
static bool is_name(cell c) {
    c = scant__cell_trim(c);
    return !is_missing(c) && !strchr("0123456789+-.", *c.text);
}

static bool names_label(cell c) {
    return is_word(c, "label") || is_word(c, "class") || is_word(c, "target") ||
           is_word(c, "y");
}

static scant_status no_number(const table *t, const cell *c, size_t column,
                              const char *what) {
    char text[SHOWN];
    scant__printable(c->text, c->length, text, sizeof text);
    if (is_missing(*c))
        return scant__refuse(t->ctx, t->data->name,
                             "line %zu, column %zu: a number is missing%s%s", c->line,
                             column + 1, c->length ? ": " : "", text);
    return scant__refuse(t->ctx, t->data->name, "line %zu, column %zu: '%s' is %s",
                         c->line, column + 1, text, what);
}

static scant_status read_number(const table *t, const cell *c, size_t column,
                                float *out) {
    double value;
    if (!scant__cell_number(*c, &value)) return no_number(t, c, column, "not a number");
    *out = (float)value;
    if (!isfinite(*out)) return no_number(t, c, column, "too large a number");
    return SCANT_OK;
}

/* Reports progress and polls cancel, every TICK rows. */
static scant_status tick(table *t, size_t row) {
    if (row % TICK) return SCANT_OK;
    return scant__tick(t->ctx, "reading", (size_t)(t->cells.at - t->cells.start),
                       (size_t)(t->cells.end - t->cells.start));
}

/* ---- first pass: header, columns, row count ---------------------------------------- */

static scant_status read_first_row(table *t) {
    size_t named = SIZE_MAX;
    bool words = false;
    cell c;
    do {
        TRY(scant__cells_next(&t->cells, &c));
        if (named == SIZE_MAX && names_label(c)) named = t->columns;
        if ((!c.last || t->unlabelled) && is_name(c)) words = true;
        t->columns++;
    } while (!c.last);
    t->header = words || named != SIZE_MAX;
    t->label_column = named != SIZE_MAX ? named : t->columns - 1;
    if (t->unlabelled) t->label_column = SIZE_MAX;
    t->width = t->columns - !t->unlabelled;
    if (!t->width)
        return scant__refuse(
            t->ctx, t->data->name,
            "has one column, expected numbers and a label separated by commas");
    return SCANT_OK;
}

static scant_status count_rows(table *t) {
    if (!scant__cells_row(&t->cells))
        return scant__refuse(t->ctx, t->data->name, "has no rows");
    TRY(read_first_row(t));
    t->rows = t->header ? 0 : 1;
    for (; scant__cells_row(&t->cells); t->rows++) {
        size_t line = t->cells.line, cells = 0;
        cell c;
        TRY(tick(t, t->rows));
        do {
            TRY(scant__cells_next(&t->cells, &c));
            cells++;
        } while (!c.last);
        if (cells != t->columns)
            return scant__refuse(t->ctx, t->data->name,
                                 "line %zu has %zu cells, expected %zu as in the first",
                                 line, cells, t->columns);
    }
    return SCANT_OK;
}

/* ---- second pass: numbers and label texts ------------------------------------------ */

static scant_status read_row(table *t, size_t row, bool regression) {
    float *out = t->data->numbers + row * t->width;
    cell c;
    for (size_t column = 0; column < t->columns; column++) {
        TRY(scant__cells_next(&t->cells, &c));
        if (column != t->label_column) {
            TRY(read_number(t, &c, column, out++));
        } else if (regression) {
            TRY(read_number(t, &c, column, &t->data->targets[row]));
        } else {
            c = scant__cell_trim(c);
            if (!c.length)
                return scant__refuse(t->ctx, t->data->name,
                                     "line %zu, column %zu: the label is missing", c.line,
                                     column + 1);
            TRY(scant__names_add(t->ctx, &t->labels, c.text, c.length));
        }
    }
    return SCANT_OK;
}

static scant_status read_rows(table *t, bool regression) {
    scant_data *data = t->data;
    data->numbers =
        scant__alloc(t->ctx, size_mul(t->rows, t->width), sizeof *data->numbers);
    if (!data->numbers) return SCANT_ENOMEM;
    if (regression &&
        !(data->targets = scant__alloc(t->ctx, t->rows, sizeof *data->targets)))
        return SCANT_ENOMEM;
    scant__cells_rewind(&t->cells);
    scant__cells_row(&t->cells);
    for (cell c = {.last = !t->header}; !c.last;) TRY(scant__cells_next(&t->cells, &c));
    for (size_t row = 0; row < t->rows; row++) {
        scant__cells_row(&t->cells);
        TRY(tick(t, row));
        TRY(read_row(t, row, regression));
    }
    return SCANT_OK;
}

/* ---- labels ------------------------------------------------------------------------ */

typedef enum label_kind { CLASSES, WORDS, FRACTIONS } label_kind;

/* FRACTIONS: all labels are numbers, but not all are whole; *at is then the first that is
 * not. */
static label_kind kind_of_labels(const scant__names *labels, size_t *at) {
    label_kind kind = CLASSES;
    bool negative = false;
    for (size_t i = 0; i < labels->count; i++) {
        double value;
        const char *text = scant__names_get(labels, i);
        if (!scant__cell_number((cell){.text = text, .length = strlen(text)}, &value))
            return WORDS;
        negative = negative || value < 0;
        if (value != floor(value) && kind == CLASSES) {
            kind = FRACTIONS;
            *at = i;
        }
    }
    return kind == CLASSES && negative ? WORDS : kind;
}

static scant_status set_classes(table *t) {
    scant_data *data = t->data;
    for (size_t i = 0; i < t->rows; i++) {
        double value = strtod(scant__names_get(&t->labels, i), NULL);
        if (value >= MAX_CLASSES)
            return scant__refuse(t->ctx, t->data->name,
                                 "the label of sample %zu is %.0f; classes are numbered "
                                 "from 0 to below %d",
                                 i, value, MAX_CLASSES);
        data->labels[i] = (int32_t)value;
        data->classes = size_max(data->classes, (size_t)value + 1);
    }
    return SCANT_OK;
}

/* The distinct labels, sorted, become the class names. */
static scant_status collect_words(table *t) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = t->ctx};
    scant__names sorted = t->labels; /* same text, other order */
    sorted.at = TRY_NEW(&arena, size_t, t->rows);
    memcpy(sorted.at, t->labels.at, t->rows * sizeof *sorted.at);
    scant__names_sort(&sorted);
    for (size_t i = 0; i < t->rows; i++) {
        const char *word = scant__names_get(&sorted, i);
        if (i && strcmp(word, scant__names_get(&sorted, i - 1)) == 0) continue;
        TRY(scant__names_put(t->ctx, &t->data->class_names, word));
    }
    return SCANT_OK;
}

static scant_status set_words(table *t) {
    scant_data *data = t->data;
    TRY(collect_words(t));
    data->classes = data->class_names.count;
    if (data->classes > MAX_CLASSES)
        return scant__refuse(t->ctx, t->data->name,
                             "has %zu different labels, at most %d are allowed",
                             data->classes, MAX_CLASSES);
    for (size_t i = 0; i < t->rows; i++)
        data->labels[i] = (int32_t)scant__names_find(&data->class_names,
                                                     scant__names_get(&t->labels, i));
    return SCANT_OK;
}

static scant_status set_labels(table *t) {
    size_t at = 0;
    label_kind kind = kind_of_labels(&t->labels, &at);
    if (kind == FRACTIONS)
        return scant__refuse(
            t->ctx, t->data->name,
            "the label of sample %zu is %s, which is not a class: ask for regression", at,
            scant__names_get(&t->labels, at));
    t->data->labels = scant__alloc(t->ctx, t->rows, sizeof *t->data->labels);
    if (!t->data->labels) return SCANT_ENOMEM;
    return kind == WORDS ? set_words(t) : set_classes(t);
}

/* ---- whole file -------------------------------------------------------------------- */

static scant_status read_table(table *t, bool regression) {
    TRY(count_rows(t));
    if (t->rows) {
        TRY(read_rows(t, regression && !t->unlabelled));
        if (!regression && !t->unlabelled) TRY(set_labels(t));
    }
    scant_data *data = t->data;
    data->count = t->rows;
    data->shape[0] = t->width;
    data->shape[1] = data->shape[2] = 1;
    data->own = true;
    data->read = scant__data_read_numbers;
    return SCANT_OK;
}

static void end(table *t) {
    scant__names_end(&t->labels);
    scant__cells_end(&t->cells);
}

scant_status scant__data_open_csv(scant_data *data, const char *spec,
                                  const scant_data_opts *opts) {
    AUTO(scant__source_close) scant__source source = {0};
    AUTO(end) table t = {data, data->ctx, .unlabelled = opts->unlabelled != 0};
    TRY(scant__source_open(t.ctx, spec, &source));
    TRY(scant__unpack_source(t.ctx, spec, &source));
    TRY(scant__cells_begin(&t.cells, t.ctx, spec, source.bytes, source.size));
    /* scant__cell_number() needs the C locale */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return scant__fail(t.ctx, SCANT_ENOMEM, "no memory for a locale");
    locale_t before = uselocale(c);
    scant_status status = read_table(&t, opts->regression);
    uselocale(before);
    freelocale(c);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Row ids from text or a NumPy array of strings.
 *
 * A text has one id per line. Lines end in LF or CRLF; the last line end is optional. An
 * empty line is an empty id, so rows keep their positions. A byte order mark is skipped.
 *
 * Strings of dtype S are used as they are, those of dtype U are converted to UTF-8, both
 * without zero padding. Zero bytes inside an id are refused. Ids that need no conversion
 * stay in the mapped file and take 16 bytes of memory each.
 */
#include <string.h>

#include "data/npy.h"

typedef struct span {
    const char *text;
    size_t length;
} span;

struct scant_ids {
    scant_ctx *ctx;
    scant__source source;
    span *spans;
    size_t count;
    char *utf8; /* converted U strings; else NULL */
};

/* ---- text -------------------------------------------------------------------------- */

/* Returns the line at *at without its line end; moves *at to the next line. */
static span next_line(const char **at, const char *end) {
    const char *start = *at, *lf = memchr(start, '\n', (size_t)(end - start));
    const char *stop = lf ? lf : end;
    *at = lf ? lf + 1 : end;
    if (stop > start && stop[-1] == '\r') stop--;
    return (span){start, (size_t)(stop - start)};
}

static scant_status read_text(scant_ids *ids, const char *name) {
    const char *start = (const char *)ids->source.bytes, *end = start + ids->source.size;
    if (ids->source.size >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) start += 3;
    size_t count = 0, row = 0;
    for (const char *at = start; at < end; count++) {
        span line = next_line(&at, end);
        if (memchr(line.text, 0, line.length))
            return scant__refuse(ids->ctx, name,
                                 "line %zu has a zero byte, expected text with one id "
                                 "per line or a .npy of strings",
                                 count + 1);
    }
    ids->spans = scant__alloc(ids->ctx, count, sizeof *ids->spans);
    if (!ids->spans) return SCANT_ENOMEM;
    for (const char *at = start; at < end;) ids->spans[row++] = next_line(&at, end);
    ids->count = count;
    return SCANT_OK;
}

/* ---- strings ----------------------------------------------------------------------- */

static scant_status zero_inside(scant_ids *ids, const char *name, size_t row) {
    return scant__refuse(ids->ctx, name, "the string of row %zu contains a zero", row);
}

static scant_status read_bytes(scant_ids *ids, const char *name, const scant__npy *h) {
    const char *at = (const char *)ids->source.bytes + h->offset;
    for (size_t row = 0; row < h->count; row++, at += h->item) {
        size_t length = h->item;
        while (length && !at[length - 1]) length--;
        if (length && memchr(at, 0, length)) return zero_inside(ids, name, row);
        ids->spans[row] = (span){at, length};
    }
    return SCANT_OK;
}

/* Reads a UTF-32 code point in the file's byte order, possibly unaligned. */
static uint32_t code_point(const unsigned char *p, bool swapped) {
    uint32_t c;
    memcpy(&c, p, sizeof c);
    return swapped ? __builtin_bswap32(c) : c;
}

/* The size of a code point in UTF-8; 0: invalid. */
static size_t utf8_size(uint32_t c) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static size_t utf8_put(uint32_t c, char *out) {
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = utf8_size(c);
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

/* The number of code points of a string, without trailing zeros. */
static size_t utf32_length(const unsigned char *at, size_t item) {
    size_t n = item / 4;
    while (n && code_point(at + 4 * (n - 1), false) == 0) n--;
    return n;
}

/* Checks all strings; *total is their size as UTF-8. */
static scant_status check_utf32(scant_ids *ids, const char *name, const scant__npy *h,
                                size_t *total) {
    const unsigned char *at = ids->source.bytes + h->offset;
    *total = 0;
    for (size_t row = 0; row < h->count; row++, at += h->item) {
        size_t n = utf32_length(at, h->item);
        for (size_t i = 0; i < n; i++) {
            uint32_t c = code_point(at + 4 * i, h->swapped);
            size_t size = utf8_size(c);
            if (!c) return zero_inside(ids, name, row);
            if (!size)
                return scant__refuse(
                    ids->ctx, name,
                    "the string of row %zu contains 0x%x, which is not a character", row,
                    (unsigned)c);
            *total += size; /* cannot overflow: at most its 4 bytes in the file */
        }
    }
    return SCANT_OK;
}

static scant_status read_utf32(scant_ids *ids, const char *name, const scant__npy *h) {
    size_t total;
    TRY(check_utf32(ids, name, h, &total));
    ids->utf8 = scant__alloc(ids->ctx, total, 1);
    if (!ids->utf8) return SCANT_ENOMEM;
    const unsigned char *at = ids->source.bytes + h->offset;
    char *out = ids->utf8;
    for (size_t row = 0; row < h->count; row++, at += h->item) {
        size_t n = utf32_length(at, h->item);
        ids->spans[row].text = out;
        for (size_t i = 0; i < n; i++)
            out += utf8_put(code_point(at + 4 * i, h->swapped), out);
        ids->spans[row].length = (size_t)(out - ids->spans[row].text);
    }
    scant__source_close(&ids->source);
    return SCANT_OK;
}

static scant_status read_npy(scant_ids *ids, const char *name) {
    scant__npy h;
    TRY(scant__npy_parse(ids->ctx, name, ids->source.bytes, ids->source.size,
                         SCANT__NPY_STRINGS, &h));
    if (h.ndim != 1)
        return scant__refuse(ids->ctx, name,
                             "has %zu dimensions, expected 1 for a list of strings",
                             h.ndim);
    ids->spans = scant__alloc(ids->ctx, h.count, sizeof *ids->spans);
    if (!ids->spans) return SCANT_ENOMEM;
    ids->count = h.count;
    return h.kind == 'S' ? read_bytes(ids, name, &h) : read_utf32(ids, name, &h);
}

/* ---- the handle -------------------------------------------------------------------- */

scant_status scant_ids_open(scant_ctx *ctx, const char *spec, scant_ids **out) {
    *out = NULL;
    NEED(ctx);
    AUTO(scant_ids_auto) scant_ids *ids = scant__zalloc(ctx, 1, sizeof *ids);
    if (!ids) return SCANT_ENOMEM;
    ids->ctx = ctx;
    TRY(scant__source_open(ctx, spec, &ids->source));
    bool npy =
        ids->source.member || scant__npy_magic(ids->source.bytes, ids->source.size);
    TRY(npy ? read_npy(ids, spec) : read_text(ids, spec));
    *out = TAKE(ids);
    return SCANT_OK;
}

void scant_ids_free(scant_ids *ids) {
    if (!ids) return;
    scant__source_close(&ids->source);
    scant__free(ids->ctx, ids->spans);
    scant__free(ids->ctx, ids->utf8);
    scant__free(ids->ctx, ids);
}

size_t scant_ids_count(const scant_ids *ids) { return ids->count; }

const char *scant_ids_get(const scant_ids *ids, size_t row, size_t *length) {
    *length = ids->spans[row].length;
    return ids->spans[row].text;
}

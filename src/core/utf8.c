/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows Unicode's table of well-formed byte sequences (table 3-7).
 */
#include "core/utf8.h"

/* Sequences whose first byte is first..last: `more` bytes follow, the second one is
 * low..high, and `bits` masks the bits of the code point in the first byte. */
typedef struct form {
    unsigned char first, last, more, bits, low, high;
} form;

static const form *find_form(unsigned char byte) {
    static const form forms[] = {{0xC2, 0xDF, 1, 0x1F, 0x80, 0xBF},
                                 {0xE0, 0xE0, 2, 0x0F, 0xA0, 0xBF}, /* not overlong */
                                 {0xE1, 0xEC, 2, 0x0F, 0x80, 0xBF},
                                 {0xED, 0xED, 2, 0x0F, 0x80, 0x9F}, /* no surrogates */
                                 {0xEE, 0xEF, 2, 0x0F, 0x80, 0xBF},
                                 {0xF0, 0xF0, 3, 0x07, 0x90, 0xBF}, /* not overlong */
                                 {0xF1, 0xF3, 3, 0x07, 0x80, 0xBF},
                                 {0xF4, 0xF4, 3, 0x07, 0x80, 0x8F}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (byte >= forms[i].first && byte <= forms[i].last) return &forms[i];
    return NULL;
}

size_t scant__utf8_next(const char *bytes, size_t size, uint32_t *code) {
    const unsigned char *b = (const unsigned char *)bytes;
    *code = b[0];
    if (b[0] < 0x80) return 1;
    *code = SCANT__UTF8_BAD;
    const form *f = find_form(b[0]);
    if (!f) return 1;
    uint32_t value = b[0] & f->bits;
    unsigned low = f->low, high = f->high;
    for (size_t i = 1; i <= f->more; i++) {
        if (i >= size || b[i] < low || b[i] > high) return i;
        value = value << 6 | (b[i] & 0x3Fu);
        low = 0x80, high = 0xBF;
    }
    *code = value;
    return f->more + (size_t)1;
}

size_t scant__utf8_count(const char *bytes, size_t size) {
    size_t count = 0;
    uint32_t code;
    for (size_t at = 0; at < size; count++)
        at += scant__utf8_next(bytes + at, size - at, &code);
    return count;
}

bool scant__utf8_valid(const char *string) {
    uint32_t code = 0;
    while (*string && code != SCANT__UTF8_BAD)
        string += scant__utf8_next(string, SIZE_MAX, &code);
    return code != SCANT__UTF8_BAD;
}

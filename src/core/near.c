/* SPDX-License-Identifier: Apache-2.0
 *
 * The distance between words is the number of edits (a letter inserted, deleted or
 * replaced, or two neighbours swapped). A word of n letters counts as a typo of a name if
 * the distance is at most n / 3, rounded up. If a name begins with the word, and the word
 * has two letters or more, the distance is at most 1.
 */
#include "core/near.h"

#include <string.h>

#include "core/size.h"

enum { LONGEST = 40 }; /* letters; longer words have distance LONGEST */

/* Optimal string alignment distance; the last three rows of its table are kept. */
static size_t edits(const char *a, const char *b) {
    size_t rows[3][LONGEST + 1], n = strlen(a), m = strlen(b);
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) before[j] = last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t other = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = size_min(other, size_min(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = size_min(now[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

static const char *nearest(const char *word, size_t fewest, const void *names,
                           size_t count,
                           const char *(*name_at)(const void *names, size_t i)) {
    const char *best = NULL;
    size_t length = strlen(word);
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(names, i);
        size_t wrong = edits(word, name);
        if (length >= 2 && strncmp(word, name, length) == 0) wrong = size_min(wrong, 1);
        if (wrong < fewest) {
            fewest = wrong;
            best = name;
        }
    }
    return best;
}

const char *scant__nearest_typo(const char *word, const void *names, size_t count,
                                const char *(*name_at)(const void *names, size_t i)) {
    return nearest(word, (strlen(word) + 2) / 3 + 1, names, count, name_at);
}

const char *scant__nearest(const char *word, const void *names, size_t count,
                           const char *(*name_at)(const void *names, size_t i)) {
    return nearest(word, SIZE_MAX, names, count, name_at);
}

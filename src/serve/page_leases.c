/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a person's leases each page (browser tab) has, so that two tabs do not show
 * the same item. In memory only, for the time of a lease. If the table is full, the entry
 * that expires first is dropped; at worst two tabs then show the same item.
 */
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

enum { MOST = 4096 };

typedef struct given {
    uint64_t key; /* 0: a free slot */
    char page[REQUEST_MOST_PAGE + 1];
    int64_t until; /* expiry, in the time of server_now() */
} given;

struct pages {
    pthread_mutex_t lock;
    given list[MOST];
};

pages *pages_create(void) { return locked_create(sizeof(pages)); }

void pages_destroy(pages *all) { locked_destroy(all); }

/* Returns the slot of a key, or for a new key a free one or the first to expire. */
static given *place(pages *all, uint64_t key) {
    given *best = &all->list[0];
    for (size_t i = 0; i < MOST; i++) {
        given *g = &all->list[i];
        if (g->key == key) return g;
        if (best->key && (!g->key || g->until < best->until)) best = g;
    }
    return best;
}

size_t pages_keep(pages *all, const char *page, int64_t now, int64_t lasts,
                  scant_lease *leases, size_t n, size_t most) {
    size_t kept = 0;
    LOCK(&all->lock);
    for (size_t i = 0; i < n && kept < most; i++) {
        given *g = place(all, leases[i].key);
        if (g->key == leases[i].key && g->until > now && strcmp(g->page, page) != 0)
            continue;
        g->key = leases[i].key, g->until = now + lasts;
        memcpy(g->page, page, strlen(page) + 1);
        leases[kept++] = leases[i];
    }
    return kept;
}

void pages_renew(pages *all, const uint64_t *keys, size_t n, int64_t until) {
    LOCK(&all->lock);
    for (size_t i = 0; i < n; i++) {
        given *g = place(all, keys[i]);
        if (g->key != keys[i]) continue;
        g->until = until;
        if (!until) g->key = 0;
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the program, and memory that lives until then. Every block stays listed
 * here, so that leak checkers find it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- memory ------------------------------------------------------------------------ */

typedef struct block_list {
    struct block_list *before;
    void *blocks[62];
    size_t n;
} block_list;

static block_list *blocks;

static _Noreturn void no_memory(void) {
    cli_error("out of memory");
    exit(CLI_SYSTEM);
}

/* Adds a new block to the list. NULL: out of memory, ends the program. */
static void *keep(void *block) {
    if (!block) no_memory();
    if (!blocks || blocks->n == CLI_COUNT_OF(blocks->blocks)) {
        block_list *list = calloc(1, sizeof *list);
        if (!list) no_memory();
        list->before = blocks;
        blocks = list;
    }
    return blocks->blocks[blocks->n++] = block;
}

void *cli_calloc(size_t count, size_t size) {
    return keep(calloc(count ? count : 1, size ? size : 1));
}

void *cli_grow(void *block, size_t count, size_t size) {
    return keep(count <= SIZE_MAX / size ? realloc(block, count * size) : NULL);
}

void *cli_grow_bytes(void *block, size_t size) { return cli_grow(block, size, 1); }

char *cli_strndup(const char *text, size_t length) {
    return memcpy(cli_calloc(length + 1, 1), text, length);
}

char *cli_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t room = (length > 0 ? (size_t)length : 0) + 1;
    char *text = cli_calloc(room, 1);
    va_start(args, format);
    vsnprintf(text, room, format, args);
    va_end(args);
    return text;
}

/* ---- ending the program ------------------------------------------------------------ */

typedef struct deferred {
    struct deferred *before;
    void (*fn)(void *arg);
    void *arg;
} deferred;

static deferred *last;

void cli_defer(void (*fn)(void *arg), void *arg) {
    deferred *d = cli_calloc(1, sizeof *d);
    *d = (deferred){last, fn, arg};
    last = d;
}

void cli_exit(int status) {
    while (last) {
        deferred *d = last;
        last = d->before;
        d->fn(d->arg);
    }
    exit(status);
}

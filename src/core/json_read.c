/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_read.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes that jansson allocates at most, with the overhead of malloc(): for an empty
 * container, and for another value or a key with its place in a container. Lists and
 * hash tables double, and exist twice while they are copied. */
enum { CONTAINER = 320, VALUE = 160, BEGIN = 1024, LONGEST = 5 };

/* What may come next. A comma is read together with what it allows. */
typedef enum expected { ANY_VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA } expected;

typedef struct scan {
    const char *at, *end;
    size_t line, values, containers, depth, deepest;
    size_t longest; /* bytes of the longest string or number */
    expected next;
    unsigned char objects[SCANT__JSON_DEPTH / 8 + 1]; /* a bit for each open container */
} scan;

static bool in_object(const scan *s) {
    return s->depth && (s->objects[s->depth / 8] >> (s->depth % 8) & 1);
}

static bool open_container(scan *s, bool object) {
    if (s->next != ANY_VALUE && s->next != VALUE_OR_END) return false;
    s->containers++;
    s->deepest = size_max(s->deepest, ++s->depth);
    if (s->depth > SCANT__JSON_DEPTH) return false;
    unsigned char bit = (unsigned char)(1u << (s->depth % 8));
    unsigned char *byte = &s->objects[s->depth / 8];
    *byte = (unsigned char)(object ? *byte | bit : *byte & ~bit);
    s->next = object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

static bool close_container(scan *s, bool object) {
    bool may_end = s->next == COMMA || s->next == (object ? KEY_OR_END : VALUE_OR_END);
    if (!s->depth || in_object(s) != object || !may_end) return false;
    s->depth--;
    s->next = COMMA;
    return true;
}

static bool pass_comma(scan *s) {
    if (s->next != COMMA || !s->depth) return false;
    s->next = in_object(s) ? KEY : ANY_VALUE;
    return true;
}

static bool pass_colon(scan *s) {
    if (s->next != COLON) return false;
    s->next = ANY_VALUE;
    return true;
}

/* Passes the rest of a string. A control character is an error, so a string ends on its
 * line. */
static bool pass_string(scan *s) {
    for (; s->at < s->end && (unsigned char)*s->at >= ' '; s->at++) {
        if (*s->at == '"') return s->at++, true;
        if (*s->at == '\\' && s->at + 1 < s->end) s->at++;
    }
    return false;
}

/* Whether jansson may read c as part of a number or a word. */
static bool is_letter(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '+' || c == '-' || c == '.';
}

/* A string, a number or a word. It is measured also where it is an error, because jansson
 * stores it before it finds that. */
static bool pass_scalar(scan *s) {
    const char *begin = s->at;
    bool string = *s->at == '"', whole, key = s->next == KEY || s->next == KEY_OR_END;
    bool fits = key ? string : s->next == ANY_VALUE || s->next == VALUE_OR_END;
    if (string) {
        s->at++;
        whole = pass_string(s);
    } else {
        while (s->at < s->end && is_letter(*s->at)) s->at++;
        whole = s->at > begin;
    }
    s->longest = size_max(s->longest, (size_t)(s->at - begin));
    if (!fits) return false;
    s->values++;
    s->next = key ? COLON : COMMA;
    return whole;
}

/* Passes the next token; false at an error, at the end, and at a token behind the first
 * value. */
static bool pass(scan *s) {
    for (; s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at; s->at++)
        s->line += *s->at == '\n';
    if (s->at == s->end) return false;
    switch (*s->at) {
    case '{':
    case '[':
        return open_container(s, *s->at++ == '{');
    case '}':
    case ']':
        return close_container(s, *s->at++ == '}');
    case ',':
        return s->at++, pass_comma(s);
    case ':':
        return s->at++, pass_colon(s);
    default:
        return pass_scalar(s);
    }
}

static size_t cost_of(const scan *s, size_t read) {
    size_t cost =
        size_add(size_mul(s->containers, CONTAINER), size_mul(s->values, VALUE));
    cost = size_add(cost, size_add(read, size_mul(s->longest, LONGEST)));
    return size_add(cost, BEGIN);
}

/* Scans up to the end of the first value, the first error, or beyond the limits. */
static void run(scan *s, const char *text, size_t size, const scant__json_limits *most) {
    *s = (scan){.at = text, .end = text + size, .line = 1};
    while (pass(s) && s->depth <= most->depth &&
           s->values + s->containers <= most->values)
        continue;
}

size_t scant__json_cost(const char *text, size_t size) {
    scan s;
    run(&s, text, size, &(scant__json_limits){SIZE_MAX, SCANT__JSON_DEPTH});
    return cost_of(&s, (size_t)(s.at - text));
}

static scant_status refuse(scant__json_tree *out, const scan *s, scant_status status,
                           const char *why) {
    out->error.line = (int)size_min(s->line, INT_MAX);
    snprintf(out->error.text, sizeof out->error.text - 1, "%.150s", why);
    return status;
}

static scant_status check(scant_ctx *ctx, const char *text, const scan *s,
                          const scant__json_limits *most, scant__json_tree *out) {
    scant__fault fault;
    char why[100];
    if (s->deepest > most->depth) {
        snprintf(why, sizeof why, "nested deeper than %zu levels", most->depth);
        return refuse(out, s, SCANT_EINPUT, why);
    }
    if (s->values + s->containers > most->values) {
        snprintf(why, sizeof why, "more than %zu values and keys", most->values);
        return refuse(out, s, SCANT_EINPUT, why);
    }
    size_t cost = cost_of(s, (size_t)(s->at - text));
    if (ctx && !scant__charge(ctx, cost, &fault))
        return refuse(out, s, SCANT_ENOMEM, fault.text);
    out->ctx = ctx;
    out->charged = ctx ? cost : 0;
    return SCANT_OK;
}

scant_status scant__json_read(scant_ctx *ctx, const char *text, size_t size, size_t flags,
                              const scant__json_limits *limits, scant__json_tree *out) {
    scant__json_limits most = limits ? *limits : (scant__json_limits){0};
    scan s;
    if (!most.values) most.values = SIZE_MAX / 2;
    if (!most.depth || most.depth > SCANT__JSON_DEPTH) most.depth = SCANT__JSON_DEPTH;
    *out = (scant__json_tree){0};
    run(&s, text, size, &most);
    TRY(check(ctx, text, &s, &most, out));
    out->root = json_loadb(text, size, flags, &out->error);
    if (out->root) return SCANT_OK;
    scant__json_tree_end(out);
    /* some failures for want of memory leave no text */
    if (json_error_code(&out->error) == json_error_out_of_memory || !*out->error.text)
        return refuse(out, &s, SCANT_ENOMEM, "out of memory");
    return SCANT_EINPUT;
}

void scant__json_tree_end(scant__json_tree *tree) {
    json_decref(tree->root);
    tree->root = NULL;
    if (tree->charged) scant__uncharge(tree->ctx, tree->charged);
    tree->charged = 0;
}

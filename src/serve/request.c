/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/request.h"
#include "scant/project.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_read.h"

enum { BAD = 400, WRONG = 422, NO_MEMORY = 503 };

static int refuse(request_why *why, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(request_why *why, int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return status;
}

/* ---- fields of JSON bodies --------------------------------------------------------- */

int request_empty(const request_in *in, request_args *args, request_why *why) {
    const scant__json_limits limits = {REQUEST_MOST_VALUES, REQUEST_MOST_DEPTH};
    scant__json_tree tree;
    scant_status status =
        scant__json_read(NULL, in->body ? in->body : "", in->size,
                         JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &limits, &tree);
    args->root = tree.root;
    if (status == SCANT_ENOMEM) return refuse(why, NO_MEMORY, "out of memory");
    if (status != SCANT_OK)
        return refuse(why, BAD, "the body is not JSON: line %d, column %d: %.100s",
                      tree.error.line, tree.error.column, tree.error.text);
    if (!json_is_object(tree.root))
        return refuse(why, BAD, "the body must be a JSON object");
    return 0;
}

/* Returns a field; NULL if it is missing or null. */
static const json_t *field(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

/* Reads an integer in [low, high]; *out is unchanged if it is missing and not needed. */
static int integer(const json_t *object, const char *name, bool needed, size_t low,
                   size_t high, size_t *out, request_why *why) {
    const json_t *value = field(object, name);
    json_int_t number = json_integer_value(value);
    if (!value && !needed) return 0;
    if (!value)
        return refuse(why, WRONG, "'%s' is missing: expected a whole number", name);
    if (!json_is_integer(value) || number < 0 || (size_t)number < low ||
        (size_t)number > high)
        return refuse(why, WRONG, "'%s' must be a whole number from %zu to %zu", name,
                      low, high);
    *out = (size_t)number;
    return 0;
}

/* Reads a string of 1 to `most` bytes; *out is NULL if it is missing and not needed. */
static int string(const json_t *object, const char *name, bool needed, size_t most,
                  const char **out, request_why *why) {
    const json_t *value = field(object, name);
    *out = NULL;
    if (!value && !needed) return 0;
    if (!value) return refuse(why, WRONG, "'%s' is missing: expected a string", name);
    if (!json_is_string(value) || json_string_length(value) < 1 ||
        json_string_length(value) > most)
        return refuse(why, WRONG, "'%s' must be a string of 1 to %zu bytes", name, most);
    *out = json_string_value(value);
    return 0;
}

/* Reads an array of 1 to `most` elements. */
static int array(const json_t *object, const char *name, size_t most, const json_t **out,
                 request_why *why) {
    const json_t *value = field(object, name);
    if (!value) return refuse(why, WRONG, "'%s' is missing: expected an array", name);
    if (!json_is_array(value) || json_array_size(value) < 1 ||
        json_array_size(value) > most)
        return refuse(why, WRONG, "'%s' must be an array of 1 to %zu members", name,
                      most);
    *out = value;
    return 0;
}

#define TRY_PART(call)                                                                   \
    do {                                                                                 \
        int status_ = (call);                                                            \
        if (status_) return status_;                                                     \
    } while (0)

static const size_t most_items = (size_t)1 << 52; /* exact in JavaScript */

bool request_key64(const char *text, uint64_t *out) {
    if (strspn(text, "0123456789abcdefABCDEF") != 16 || text[16]) return false;
    *out = strtoull(text, NULL, 16);
    return *out != 0;
}

/* ---- parsers of bodies ------------------------------------------------------------- */

int request_none(const request_in *in, request_args *args, request_why *why) {
    (void)in, (void)args, (void)why;
    return 0;
}

int request_session(const request_in *in, request_args *args, request_why *why) {
    TRY_PART(request_empty(in, args, why));
    TRY_PART(string(args->root, "name", true, REQUEST_MOST_NAME, &args->name, why));
    return string(args->root, "token", false, REQUEST_MOST_TOKEN, &args->token, why);
}

static int page(request_args *args, request_why *why) {
    return string(args->root, "page", false, REQUEST_MOST_PAGE, &args->page, why);
}

int request_next(const request_in *in, request_args *args, request_why *why) {
    TRY_PART(request_empty(in, args, why));
    TRY_PART(integer(args->root, "count", true, 1, REQUEST_MOST_NEXT, &args->count, why));
    return page(args, why);
}

int request_alike(const request_in *in, request_args *args, request_why *why) {
    args->count = 11;
    TRY_PART(request_empty(in, args, why));
    const json_t *root = args->root;
    TRY_PART(integer(root, "item", true, 0, most_items, &args->item, why));
    TRY_PART(integer(root, "count", false, 1, REQUEST_MOST_NEXT, &args->count, why));
    return page(args, why);
}

static int answer_kind(const json_t *object, scant_answer *out, request_why *why) {
    const json_t *value = field(object, "kind");
    const char *name = json_string_value(value);
    for (int i = SCANT_ANSWER_LABEL; name && i <= SCANT_ANSWER_UNSURE; i++)
        if (strcmp(scant_answer_name((scant_answer_kind)i), name) == 0)
            out->kind = (scant_answer_kind)i;
    if (out->kind) return 0;
    return refuse(why, WRONG, "'kind' %s \"label\", \"skip\" or \"unsure\"",
                  value ? "must be" : "is missing:");
}

static int answer(const json_t *object, scant_answer *out, request_why *why) {
    size_t spent = SIZE_MAX;
    const char *lease;
    if (!json_is_object(object))
        return refuse(why, WRONG, "'answers' must be an array of objects");
    TRY_PART(integer(object, "item", true, 0, most_items, &out->item, why));
    TRY_PART(answer_kind(object, out, why));
    bool labels = out->kind == SCANT_ANSWER_LABEL;
    TRY_PART(integer(object, "label", labels, 0, INT32_MAX, &out->label, why));
    if (!labels && field(object, "label"))
        return refuse(why, WRONG, "'label' is only for the kind \"label\"");
    TRY_PART(integer(object, "spent", false, 0, most_items, &spent, why));
    TRY_PART(string(object, "once", true, REQUEST_MOST_ONCE, &out->once, why));
    TRY_PART(string(object, "lease", false, 16, &lease, why));
    if (lease && !request_key64(lease, &out->lease))
        return refuse(why, WRONG, "'lease' must be 16 hexadecimal digits");
    out->spent = spent == SIZE_MAX ? -1 : (int64_t)spent;
    return 0;
}

/* Checks that no item and no `once` value is repeated in a request, so that the result
 * does not depend on the order of answers. */
static int answers_differ(const request_args *args, request_why *why) {
    const scant_answer *a = args->answers;
    for (size_t i = 0; i < args->n_answers; i++)
        for (size_t j = 0; j < i; j++) {
            if (a[i].item == a[j].item)
                return refuse(why, WRONG, "'item' %zu appears twice", a[i].item);
            if (strcmp(a[i].once, a[j].once) == 0)
                return refuse(why, WRONG, "each answer needs its own 'once'");
        }
    return 0;
}

int request_answers(const request_in *in, request_args *args, request_why *why) {
    const json_t *list = NULL;
    TRY_PART(request_empty(in, args, why));
    TRY_PART(array(args->root, "answers", REQUEST_MOST_ANSWERS, &list, why));
    args->n_answers = json_array_size(list);
    args->answers = calloc(args->n_answers, sizeof *args->answers);
    if (!args->answers) return refuse(why, NO_MEMORY, "out of memory");
    for (size_t i = 0; i < args->n_answers; i++)
        TRY_PART(answer(json_array_get(list, i), &args->answers[i], why));
    return answers_differ(args, why);
}

int request_undo(const request_in *in, request_args *args, request_why *why) {
    TRY_PART(request_empty(in, args, why));
    TRY_PART(integer(args->root, "entry", false, 1, most_items, &args->entry, why));
    TRY_PART(page(args, why));
    return string(args->root, "once", true, REQUEST_MOST_ONCE, &args->once, why);
}

/* Ignores null and malformed keys; the library ignores unknown and ended leases. */
int request_leases(const request_in *in, request_args *args, request_why *why) {
    const json_t *list = NULL;
    TRY_PART(request_empty(in, args, why));
    TRY_PART(array(args->root, "leases", REQUEST_MOST_LEASES, &list, why));
    args->keys = calloc(json_array_size(list), sizeof *args->keys);
    if (!args->keys) return refuse(why, NO_MEMORY, "out of memory");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (!json_is_string(one) && !json_is_null(one))
            return refuse(why, WRONG, "'leases' must be an array of strings");
        if (json_is_string(one) &&
            request_key64(json_string_value(one), &args->keys[args->n_keys]))
            args->n_keys++;
    }
    return 0;
}

int request_class(const request_in *in, request_args *args, request_why *why) {
    TRY_PART(request_empty(in, args, why));
    return string(args->root, "name", true, REQUEST_MOST_CLASS, &args->name, why);
}

/* Settings are strings; numbers and booleans are converted into `values`, REQUEST_VALUE
 * bytes each. */
enum { REQUEST_VALUE = 32 };

static int setting(const char *key, const json_t *value, char *room, scant_setting *out,
                   request_why *why) {
    if (json_is_integer(value))
        snprintf(room, REQUEST_VALUE, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(room, REQUEST_VALUE, "%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(room, REQUEST_VALUE, "%s", json_is_true(value) ? "yes" : "no");
    else if (!json_is_string(value))
        return refuse(why, WRONG, "'%.100s' must be a string, a number, true or false",
                      key);
    *out = (scant_setting){key, json_is_string(value) ? json_string_value(value) : room};
    return 0;
}

int request_settings(const request_in *in, request_args *args, request_why *why) {
    TRY_PART(request_empty(in, args, why));
    size_t n = json_object_size(args->root), at = 0;
    if (n < 1 || n > REQUEST_MOST_SETTINGS)
        return refuse(why, WRONG, "1 to %d settings can be changed at once",
                      REQUEST_MOST_SETTINGS);
    args->settings = calloc(n, sizeof *args->settings);
    args->values = calloc(n, REQUEST_VALUE);
    if (!args->settings || !args->values) return refuse(why, NO_MEMORY, "out of memory");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)args->root, key, value) {
        TRY_PART(setting(key, value, args->values + at * REQUEST_VALUE,
                         &args->settings[at], why));
        at++;
    }
    args->n_settings = n;
    return 0;
}

/* ---- parsers of queries ------------------------------------------------------------ */

/* Reads a number of at most 15 digits without leading zeros. Returns its end; NULL: not
 * such a number. */
static const char *digits(const char *text, size_t *out) {
    size_t length = strspn(text, "0123456789");
    if (length < 1 || length > 15 || (length > 1 && *text == '0')) return NULL;
    *out = strtoull(text, NULL, 10);
    return text + length;
}

/* Reads a number of the query; *out is unchanged if it is missing. */
static int query_number(const request_in *in, const char *name, size_t low, size_t high,
                        size_t *out, request_why *why) {
    const char *text = in->query ? in->query(in->user, name) : NULL;
    const char *end = text ? digits(text, out) : NULL;
    if (text && (!end || *end || *out < low || *out > high))
        return refuse(why, BAD, "'%s' must be a whole number from %zu to %zu", name, low,
                      high);
    return 0;
}

int request_mine(const request_in *in, request_args *args, request_why *why) {
    args->count = 20;
    TRY_PART(query_number(in, "count", 1, REQUEST_MOST_MINE, &args->count, why));
    return query_number(in, "before", 1, most_items, &args->before, why);
}

/* Allows only a few sizes, as each is cached. */
int request_image(const request_in *in, request_args *args, request_why *why) {
    args->count = 1024;
    TRY_PART(query_number(in, "size", 1, 1024, &args->count, why));
    if (args->count != 96 && args->count != 256 && args->count != 1024)
        return refuse(why, BAD, "'size' must be 96, 256 or 1024");
    return 0;
}

int request_map(const request_in *in, request_args *args, request_why *why) {
    args->count = 3000;
    return query_number(in, "most", 1, REQUEST_MOST_MAP, &args->count, why);
}

int request_export(const request_in *in, request_args *args, request_why *why) {
    static const char *const formats[] = {"csv", "csv-raw", "jsonl", "label-studio",
                                          "npy"};
    const char *text = in->query ? in->query(in->user, "format") : NULL;
    for (size_t i = 0; text && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i], text) == 0) args->format = formats[i];
    if (!args->format)
        return refuse(why, BAD,
                      "'format' must be csv, csv-raw, jsonl, label-studio or npy");
    return 0;
}

/* ---- all of a request -------------------------------------------------------------- */

/* Calls fn for every string of the arguments that is not static. */
static void each_string(request_args *a, void (*fn)(const char **text, void *user),
                        void *user) {
    fn(&a->name, user), fn(&a->token, user), fn(&a->once, user), fn(&a->page, user);
    for (size_t i = 0; i < a->n_answers; i++) fn(&a->answers[i].once, user);
    for (size_t i = 0; i < a->n_settings; i++)
        fn(&a->settings[i].key, user), fn(&a->settings[i].value, user);
}

static void add_size(const char **text, void *size) {
    if (*text) *(size_t *)size += strlen(*text) + 1;
}

static void copy_string(const char **text, void *to) {
    char **at = to;
    if (!*text) return;
    size_t size = strlen(*text) + 1;
    *text = memcpy(*at, *text, size);
    *at += size;
}

int request_parse(request_parser *parser, const request_in *in, request_args *args,
                  request_why *why) {
    size_t size = 1;
    TRY_PART(parser(in, args, why));
    each_string(args, add_size, &size);
    char *at = args->text = malloc(size);
    if (!at) return refuse(why, NO_MEMORY, "out of memory");
    each_string(args, copy_string, &at);
    json_decref(args->root);
    args->root = NULL;
    return 0;
}

void request_args_end(request_args *args) {
    json_decref(args->root);
    free(args->text);
    free(args->answers);
    free(args->keys);
    free(args->settings);
    free(args->values);
    *args = (request_args){0};
}

/* ---- paths and hosts --------------------------------------------------------------- */

bool request_path(const char *pattern, const char *path, size_t *number) {
    for (; *pattern && *pattern != '#'; pattern++, path++)
        if (*pattern != *path) return false;
    if (!*pattern) return !*path;
    const char *end = digits(path, number);
    return end && strcmp(pattern + 1, end) == 0;
}

bool request_host(const char *header, char *host, size_t size) {
    const char *end, *from = header;
    if (*header == '[') {
        from = header + 1;
        end = strchr(from, ']');
        if (!end || (end[1] && end[1] != ':')) return false;
        header = end + 1;
    } else {
        header = end = header + strcspn(header, ":");
    }
    if (*header == ':' && strspn(header + 1, "0123456789") != strlen(header + 1))
        return false;
    size_t length = (size_t)(end - from);
    if (length < 1 || length >= size) return false;
    memcpy(host, from, length);
    host[length] = '\0';
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a request: the first byte chooses the parser, the rest of its line is the
 * path, the host and the value of every query parameter, and the body follows. Accepted
 * arguments are within bounds; a refusal has a status and a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "scant/project.h"
#include "serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static request_parser *const parsers[] = {
    request_answers, request_session, request_next,     request_alike, request_undo,
    request_leases,  request_class,   request_settings, request_mine,  request_image,
    request_map,     request_export,  request_empty,    request_none,
};

static void check(bool holds) {
    if (!holds) abort();
}

static const char *value(void *user, const char *name) {
    (void)name;
    return user;
}

static void check_args(const request_args *a) {
    check(a->n_answers <= REQUEST_MOST_ANSWERS && a->n_keys <= REQUEST_MOST_LEASES &&
          a->n_settings <= REQUEST_MOST_SETTINGS && a->count <= REQUEST_MOST_MAP);
    for (size_t i = 0; i < a->n_answers; i++) {
        const scant_answer *one = &a->answers[i];
        check(one->kind >= SCANT_ANSWER_LABEL && one->kind <= SCANT_ANSWER_UNSURE);
        check(one->once && strlen(one->once) <= REQUEST_MOST_ONCE);
    }
    for (size_t i = 0; i < a->n_keys; i++) check(a->keys[i] != 0);
    for (size_t i = 0; i < a->n_settings; i++)
        check(a->settings[i].key && a->settings[i].value);
}

/* Any text that a reply quotes becomes JSON that parses. */
static void check_written(const char *text) {
    scant__json o = {0};
    request_args args = {0};
    request_why why;
    scant__json_open(&o, NULL, '{');
    scant__json_string(&o, "once", text);
    scant__json_close(&o, '}');
    check(!o.text.failed);
    int status = request_undo(&(request_in){.body = o.text.data, .size = o.text.size},
                              &args, &why);
    check(status == 0 || status == 422);
    request_args_end(&args);
    scant__json_end(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const uint8_t *end = memchr(data + 1, '\n', size - 1);
    size_t length = end ? (size_t)(end - data) - 1 : size - 1;
    char *line = malloc(length + 1), host[256];
    if (!line) return 0;
    memcpy(line, data + 1, length);
    line[length] = '\0';
    size_t number = 0;
    uint64_t key;
    request_path("/api/items/#/why", line, &number);
    request_path("/api/items/#", line, &number);
    if (request_host(line, host, sizeof host)) check(*host && strlen(host) < 256);
    if (request_key64(line, &key)) check(key != 0);
    check_written(line);

    const char *body = end ? (const char *)end + 1 : NULL;
    request_in in = {body, end ? size - length - 2 : 0, value, line};
    request_args args = {0};
    request_why why = {{0}};
    request_parser *parser = parsers[data[0] % (sizeof parsers / sizeof *parsers)];
    int status = request_parse(parser, &in, &args, &why);
    check(status != 0 || !args.root);
    if (status == 0)
        check_args(&args);
    else
        check((status == 400 || status == 422 || status == 503) && *why.text);
    request_args_end(&args);
    free(line);
    return 0;
}

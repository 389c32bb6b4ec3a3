/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of routes. web/openapi.json documents them, and a test compares the two.
 */
#include <stdio.h>
#include <string.h>

#include "serve/server.h"

enum { TINY = 8 * 1024, SMALL = 64 * 1024, LARGE = 256 * 1024 };

const route routes[] = {
    {"GET", "/api/session", QUEUE_LABELS, NEEDS_NOTHING, 0, request_none,
     api_session_get},
    {"POST", "/api/session", QUEUE_LABELS, NEEDS_NOTHING | VALUE_422, TINY,
     request_session, api_session_post},
    {"POST", "/api/leave", QUEUE_LABELS, NEEDS_NOTHING, TINY, request_empty, api_leave},
    {"POST", "/api/next", QUEUE_LABELS, NEEDS_PERSON, SMALL, request_next, api_next},
    {"POST", "/api/alike", QUEUE_READS, NEEDS_PERSON | ITEM_404, SMALL, request_alike,
     api_alike},
    {"POST", "/api/answers", QUEUE_LABELS, NEEDS_PERSON | VALUE_422, LARGE,
     request_answers, api_answers},
    {"POST", "/api/undo", QUEUE_LABELS, NEEDS_PERSON, SMALL, request_undo, api_undo},
    {"POST", "/api/renew", QUEUE_LABELS, NEEDS_PERSON, SMALL, request_leases, api_renew},
    {"POST", "/api/release", QUEUE_LABELS, NEEDS_PERSON, SMALL, request_leases,
     api_release},
    {"GET", "/api/mine", QUEUE_READS, NEEDS_PERSON, 0, request_mine, api_mine},
    {"GET", "/api/items/#", QUEUE_READS, ITEM_404, 0, request_none, api_item},
    {"GET", "/api/items/#/picture", QUEUE_IMAGES, ITEM_404, 0, request_image, api_image},
    {"GET", "/api/items/#/prediction", QUEUE_READS, ITEM_404, 0, request_none,
     api_prediction},
    {"GET", "/api/items/#/why", QUEUE_READS, ITEM_404, 0, request_none, api_why},
    {"POST", "/api/classes", QUEUE_LABELS, NEEDS_PERSON, SMALL, request_class, api_class},
    {"GET", "/api/status", QUEUE_READS, 0, 0, request_none, api_status},
    {"GET", "/api/map", QUEUE_READS, 0, 0, request_map, api_map},
    {"POST", "/api/train", QUEUE_READS, NEEDS_PERSON, SMALL, request_empty, api_train},
    {"POST", "/api/settings", QUEUE_LABELS, NEEDS_PERSON | VALUE_422, SMALL,
     request_settings, api_settings},
    {"GET", "/api/export", QUEUE_EXPORTS, 0, 0, request_export, api_export},
    {"GET", "/api/events", QUEUE_NONE, 0, 0, request_none, api_events},
    {"GET", "/api/openapi.json", QUEUE_NONE, 0, 0, request_none, api_openapi},
};
const size_t n_routes = sizeof routes / sizeof *routes;

const route *route_find(const char *method, const char *path, size_t *number, char *allow,
                        size_t size) {
    size_t used = 0;
    allow[0] = '\0';
    for (size_t i = 0; i < n_routes; i++) {
        if (!request_path(routes[i].path, path, number)) continue;
        if (strcmp(routes[i].method, method) == 0) return &routes[i];
        int n = snprintf(allow + used, size - used, "%s%s", used ? ", " : "",
                         routes[i].method);
        if (n > 0 && (size_t)n < size - used) used += (size_t)n;
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be asked for, a row each. web/openapi.json says the same in words, and a test
 * compares the two.
 */
#include <stdio.h>
#include <string.h>

#include "serve/server.h"

enum { SMALL = 64 * 1024, LARGE = 256 * 1024 };

const route routes[] = {
    {"GET", "/api/session", DESK_LABELS, NEEDS_NOTHING, 0, request_none,
     handle_session_get},
    {"POST", "/api/session", DESK_LABELS, NEEDS_NOTHING, SMALL, request_session,
     handle_session_post},
    {"POST", "/api/leave", DESK_LABELS, NEEDS_NOTHING, SMALL, request_empty,
     handle_leave},
    {"POST", "/api/next", DESK_LABELS, NEEDS_PERSON, SMALL, request_next, handle_next},
    {"POST", "/api/alike", DESK_READS, NEEDS_PERSON, SMALL, request_alike, handle_alike},
    {"POST", "/api/answers", DESK_LABELS, NEEDS_PERSON, LARGE, request_answers,
     handle_answers},
    {"POST", "/api/undo", DESK_LABELS, NEEDS_PERSON, SMALL, request_undo, handle_undo},
    {"POST", "/api/renew", DESK_LABELS, NEEDS_PERSON, SMALL, request_leases,
     handle_renew},
    {"POST", "/api/release", DESK_LABELS, NEEDS_PERSON, SMALL, request_leases,
     handle_release},
    {"GET", "/api/mine", DESK_READS, NEEDS_PERSON, 0, request_mine, handle_mine},
    {"GET", "/api/items/#", DESK_READS, 0, 0, request_none, handle_item},
    {"GET", "/api/items/#/picture", DESK_PICTURES, 0, 0, request_picture, handle_picture},
    {"GET", "/api/items/#/prediction", DESK_READS, 0, 0, request_none, handle_prediction},
    {"GET", "/api/items/#/why", DESK_READS, 0, 0, request_none, handle_why},
    {"POST", "/api/classes", DESK_LABELS, NEEDS_PERSON, SMALL, request_class,
     handle_class},
    {"GET", "/api/status", DESK_READS, 0, 0, request_none, handle_status},
    {"GET", "/api/map", DESK_READS, 0, 0, request_map, handle_map},
    {"POST", "/api/train", DESK_READS, NEEDS_PERSON, SMALL, request_empty, handle_train},
    {"POST", "/api/settings", DESK_LABELS, NEEDS_PERSON, SMALL, request_settings,
     handle_settings},
    {"GET", "/api/export", DESK_EXPORTS, 0, 0, request_export, handle_export},
    {"GET", "/api/events", DESK_NONE, 0, 0, request_none, handle_events},
    {"GET", "/api/openapi.json", DESK_NONE, 0, 0, request_none, handle_openapi},
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

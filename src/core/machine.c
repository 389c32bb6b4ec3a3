/* SPDX-License-Identifier: Apache-2.0
 *
 * A group is listed as "NUMBER:CONTROLLERS:/PATH". Version 2 has number 0 and no
 * controllers; of version 1 there is a line for each group of controllers. A limit holds
 * for all groups below it, so each parent is looked at, too. In a container the path may
 * be that of the host: then only the root is found, which is the container's own group.
 */
#include "core/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/size.h"

enum { LINE = 4096, PATH = 2 * LINE };

/* Returns the number in a file, or SIZE_MAX: there is no file, or it says "max". */
static size_t read_limit(const char *path) {
    char text[32];
    FILE *f = fopen(path, "re");
    if (!f) return SIZE_MAX;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    if (text[0] < '0' || text[0] > '9') return SIZE_MAX;
    errno = 0;
    unsigned long long limit = strtoull(text, NULL, 10);
    return errno || limit > SIZE_MAX ? SIZE_MAX : (size_t)limit;
}

/* Returns the lowest limit of a group and its parents. Shortens group. */
static size_t lowest(const char *root, const char *mount, char *group, const char *file) {
    char path[PATH];
    size_t least = SIZE_MAX;
    for (;;) {
        int n = snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, file);
        if (n > 0 && (size_t)n < sizeof path) least = size_min(least, read_limit(path));
        char *end = strrchr(group, '/');
        if (!end) return least;
        *end = 0;
    }
}

static bool has_memory(const char *controllers) {
    static const char name[] = "memory";
    for (const char *at = controllers; (at = strstr(at, name)); at++) {
        char after = at[sizeof name - 1];
        if ((at == controllers || at[-1] == ',') && (!after || after == ',')) return true;
    }
    return false;
}

size_t scant__group_memory(const char *groups, const char *root) {
    char line[LINE];
    size_t least = SIZE_MAX;
    FILE *f = fopen(groups, "re");
    if (!f) return SIZE_MAX;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || group[1] != '/' || strstr(group, "/..")) continue;
        *controllers++ = *group++ = 0;
        if (has_memory(controllers)) {
            least =
                size_min(least, lowest(root, "/memory", group, "memory.limit_in_bytes"));
        } else if (!*controllers) {
            char again[LINE];
            memcpy(again, group, strlen(group) + 1);
            least = size_min(least, lowest(root, "", group, "memory.max"));
            least = size_min(least, lowest(root, "/unified", again, "memory.max"));
        }
    }
    fclose(f);
    return least;
}

size_t scant__machine_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    size_t all = pages > 0 && size > 0 ? size_mul((size_t)pages, (size_t)size) : SIZE_MAX;
    return size_min(all, scant__group_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
}

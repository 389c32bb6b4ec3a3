/* SPDX-License-Identifier: Apache-2.0
 *
 * A temporary folder for the test, and files in it.
 */
#ifndef SCANT_TESTS_FOLDER_H
#define SCANT_TESTS_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char dir[256];

/* In $TMPDIR or else in memory (/dev/shm): some tests make ten thousand files, or sync to
 * the disk thousands of times. */
static inline int make_dir(void **state) {
    const char *const places[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        if (!places[i]) continue;
        snprintf(dir, sizeof dir, "%s/scant-test-XXXXXX", places[i]);
        if (mkdtemp(dir)) return 0;
    }
    return -1;
}

static inline int remove_dir(void **state) {
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

/* The path of name in the test's folder. */
static inline const char *path_in(char path[512], const char *name) {
    snprintf(path, 512, "%s/%s", dir, name);
    return path;
}

/* The same. The last sixteen results stay valid. */
static inline const char *path_of(const char *name) {
    static char paths[16][512];
    static int next;
    return path_in(paths[next++ % 16], name);
}

static inline const char *put(const char *name, const void *bytes, size_t size) {
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (size) assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to happen before the program's libraries are initialized: main() is too late.
 *
 * OpenBLAS maps 128 MB for each core when it is loaded, and where it may not (`ulimit
 * -v`, `ulimit -d`) it tries again for ever. So if they do not fit, the program starts
 * again with fewer (OMP_NUM_THREADS), or ends with a message if not even one fits.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/blas.h"
#include "core/mem.h"

#define REST ((size_t)64 << 20) /* of more threads than one, left to everything else */
enum { VARIABLES = 4096 };

static const char variable[] = "OMP_NUM_THREADS=";

/* Returns how many buffers OpenBLAS will map. */
static size_t buffers_wanted(char **environment) {
    cpu_set_t set;
    size_t cores = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) cores = (size_t)CPU_COUNT(&set);
    for (char **at = environment; *at; at++)
        if (strncmp(*at, variable, sizeof variable - 1) == 0) {
            long given = strtol(*at + sizeof variable - 1, NULL, 10);
            if (given > 0 && (size_t)given < cores) cores = (size_t)given;
        }
    return cores;
}

/* Starts the program again; returns if that is not possible. */
static void start_again(char **arguments, char **environment, size_t threads) {
    static char setting[sizeof variable + 20];
    static char *changed[VARIABLES];
    size_t n = 0;
    snprintf(setting, sizeof setting, "%s%zu", variable, threads);
    changed[n++] = setting;
    for (char **at = environment; *at; at++) {
        if (strncmp(*at, variable, sizeof variable - 1) == 0) continue;
        if (n + 1 == VARIABLES) return;
        changed[n++] = *at;
    }
    execve("/proc/self/exe", arguments, changed);
}

static void before_libraries(int count, char **arguments, char **environment) {
    static const char text[] =
        "scant: OpenBLAS needs 128 MB for each thread, and this process may not map "
        "them: ulimit -v and ulimit -d are too low\n";
    size_t wanted = buffers_wanted(environment), fit = wanted;
    (void)count;
    while (fit > 1 && !scant__can_map(fit * SCANT__BLAS_BUFFER + REST)) fit--;
    if (fit == wanted && (fit > 1 || scant__can_map(SCANT__BLAS_BUFFER))) return;
    if (scant__can_map(SCANT__BLAS_BUFFER)) start_again(arguments, environment, fit);
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(CLI_SYSTEM);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const first)(int, char **,
                                                 char **) = before_libraries;

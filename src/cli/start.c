/* SPDX-License-Identifier: Apache-2.0
 *
 * What the libraries need at the start of the program.
 *
 * OpenBLAS maps 128 MB for each core when it is loaded, and where it may not (`ulimit
 * -v`, `ulimit -d`) it tries again for ever. So if they do not fit, the program starts
 * again with fewer (OMP_NUM_THREADS), or ends with a message if not even one fits. It
 * starts again without OMP_STACKSIZE, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/blas.h"
#include "core/mem.h"

#define REST ((size_t)64 << 20) /* left to everything else, if there is more than one */
#define LEAST ((size_t)8 << 20) /* of one: what libraries allocate before OpenBLAS */
enum { VARIABLES = 4096 };

static const char variable[] = "OMP_NUM_THREADS=";
/* libgomp would give its threads stacks of this size, and end the program where they do
 * not fit. */
static const char *const stacks[] = {"OMP_STACKSIZE=", "GOMP_STACKSIZE="};

static bool is_stack(const char *setting) {
    for (size_t i = 0; i < CLI_COUNT_OF(stacks); i++)
        if (strncmp(setting, stacks[i], strlen(stacks[i])) == 0) return true;
    return false;
}

static bool has_stack(char **environment) {
    while (*environment && !is_stack(*environment)) environment++;
    return *environment != NULL;
}

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
        if (strncmp(*at, variable, sizeof variable - 1) == 0 || is_stack(*at)) continue;
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
    if (fit == wanted && (fit > 1 || scant__can_map(SCANT__BLAS_BUFFER + LEAST))) {
        if (has_stack(environment)) start_again(arguments, environment, fit);
        return;
    }
    if (scant__can_map(SCANT__BLAS_BUFFER + LEAST))
        start_again(arguments, environment, fit);
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(CLI_SYSTEM);
}

/* operator new of oneDNN: without this, an exception would end the program. It tries
 * again when this returns. */
static void no_memory(void) {
    static const char text[] = "scant: out of memory\n";
    if (scant__reserve_give()) return;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(CLI_SYSTEM);
}

void cli_start(void) {
    typedef void (*handler)(void);
    handler (*set_new_handler)(handler);
    void *symbol = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    memcpy(&set_new_handler, &symbol, sizeof symbol);
    if (symbol) {
        set_new_handler(no_memory);
        scant__reserve_make();
    }
    scant__blas_release();
}

/* Sanitizers must come first, and map far more than any limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||               \
    __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif
#ifdef SANITIZED
#define FIRST __attribute__((unused))
#else
#define FIRST __attribute__((section(".preinit_array"), used))
#endif
FIRST static void (*const first)(int, char **, char **) = before_libraries;

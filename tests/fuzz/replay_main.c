/* SPDX-License-Identifier: Apache-2.0
 *
 * A main for fuzz targets built without libFuzzer (any compiler, any build).
 *
 *   fuzz_x FILE|FOLDER...                      runs each file once
 *   fuzz_x -max_total_time=SECONDS FILE|...    then mutates them for SECONDS
 *          -seed=N                             seed of the mutations
 *
 * The flags are libFuzzer's; its other flags are ignored. Mutation is blind: libFuzzer is
 * guided by coverage and finds far more. If the target crashes, its input is left in
 * ./crash-input.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SIZE = 1 << 20, MAX_INPUTS = 100000 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input inputs[MAX_INPUTS];
static size_t n_inputs;
static input current; /* the input that the target runs */

/* ---- crashes ----------------------------------------------------------------------- */

static void save_current(void) {
    int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) return;
    static const char message[] = "the input is in ./crash-input\n";
    bool ok = write(fd, current.data, current.size) == (ssize_t)current.size;
    if (ok && write(2, message, sizeof message - 1) < 0) ok = false;
    close(fd);
}

static void on_signal(int number) {
    save_current();
    signal(number, SIG_DFL);
    raise(number);
}

/* The sanitizers' hook; NULL in a build without them. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void install_crash_handlers(void) {
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(save_current);
        return;
    }
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], on_signal);
}

/* Runs a copy of exactly this size, so that sanitizers detect a read past its end. */
static void run(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) exit(1);
    if (size) memcpy(copy, data, size);
    current = (input){copy, size};
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* ---- inputs ------------------------------------------------------------------------ */

static void add_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(MAX_SIZE);
    if (!file || !data || n_inputs == MAX_INPUTS) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    size_t size = fread(data, 1, MAX_SIZE, file);
    fclose(file);
    uint8_t *fit = realloc(data, size ? size : 1);
    inputs[n_inputs++] = (input){fit ? fit : data, size};
}

static void add_path(const char *path) {
    struct dirent **entries;
    int n = scandir(path, &entries, NULL,
                    alphasort); /* a seed's mutations depend on the order */
    if (n < 0) {
        add_file(path);
        return;
    }
    for (int i = 0; i < n; i++) {
        char full[4096];
        struct stat info;
        snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
        if (stat(full, &info) == 0 && S_ISREG(info.st_mode)) add_file(full);
        free(entries[i]);
    }
    free(entries);
}

/* ---- mutation ---------------------------------------------------------------------- */

static uint64_t rng_state;

static size_t below(size_t n) { /* xorshift64*; a small bias is harmless here */
    rng_state ^= rng_state >> 12, rng_state ^= rng_state << 25,
        rng_state ^= rng_state >> 27;
    return (size_t)((rng_state * 0x2545F4914F6CDD1Du) >> 11) % n;
}

static size_t mutate_once(uint8_t *data, size_t size) {
    static const uint64_t boundaries[] = {
        0,          1,          0x7f,       0x80,           0xff,
        0x7fff,     0xffff,     0x7fffffff, 0x80000000,     0xffffffff,
        INT64_MAX,  UINT64_MAX, 1ull << 62, UINT64_MAX / 8, 0x0a0a0a0a,
        0x39393939, 0x28282828,
    };
    const size_t at = size ? below(size) : 0;
    const size_t most = size - at < 64 ? size - at : 64;
    const size_t length = most ? 1 + below(most) : 0;
    switch (below(7)) {
    case 0: /* flip a bit */
        if (size) data[at] = (uint8_t)(data[at] ^ (1 << below(8)));
        break;
    case 1: /* set a byte */
        if (size) data[at] = (uint8_t)below(256);
        break;
    case 2: { /* write a boundary value */
        const uint64_t number = boundaries[below(sizeof boundaries / sizeof *boundaries)];
        memcpy(data + at, &number, length < 8 ? length : 8);
        break;
    }
    case 3: /* delete a range */
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    case 4: /* repeat a range */
        if (size + length > MAX_SIZE) break;
        memmove(data + at + length, data + at, size - at);
        return size + length;
    case 5: /* truncate */
        return at;
    case 6: { /* copy a range of another input */
        const input *other = &inputs[below(n_inputs)];
        if (!other->size) break;
        const size_t from = below(other->size);
        const size_t rest = other->size - from;
        memcpy(data + at, other->data + from, length < rest ? length : rest);
        break;
    }
    }
    return size;
}

static void mutate_for(double seconds) {
    static uint8_t data[MAX_SIZE];
    const time_t end = time(NULL) + (time_t)seconds;
    size_t runs = 0;
    for (; time(NULL) < end; runs++) {
        const input *start = &inputs[below(n_inputs)];
        size_t size = start->size;
        memcpy(data, start->data, size);
        for (size_t i = 1 + below(6); i > 0; i--) size = mutate_once(data, size);
        run(data, size);
    }
    printf("%zu mutated inputs\n", runs);
}

int main(int argc, char **argv) {
    double seconds = 0;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-max_total_time=", 16) == 0)
            seconds = strtod(argv[i] + 16, NULL);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            seed = strtoull(argv[i] + 6, NULL, 10);
        else if (argv[i][0] != '-')
            add_path(argv[i]);
    }
    if (!n_inputs) {
        fprintf(stderr, "%s: no input files\n", argv[0]);
        return 1;
    }
    install_crash_handlers();
    for (size_t i = 0; i < n_inputs; i++) run(inputs[i].data, inputs[i].size);
    printf("%zu stored inputs\n", n_inputs);
    rng_state = seed * 2 + 1;
    if (seconds > 0) mutate_for(seconds);
    for (size_t i = 0; i < n_inputs; i++) free(inputs[i].data);
    return 0;
}

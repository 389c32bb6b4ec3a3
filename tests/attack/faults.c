/* SPDX-License-Identifier: Apache-2.0
 *
 * A library for LD_PRELOAD that makes calls to the system fail, or records what a program
 * writes. It is controlled by variables of the environment:
 *
 * - FAULTS=KIND:N lets the call number N (from 1) of a kind fail; KIND:N+ also all later
 *   ones. The kinds: `malloc` (and calloc, realloc, aligned ones) and `open` (EMFILE), by
 *   the program and the libraries in the list `ours`; `write` to regular files (ENOSPC)
 *   and `sync`, that is fsync and fdatasync (EIO), by anybody.
 * - FAULTS_COUNT=FILE: at the end, FILE gets the number of calls, a line for each kind.
 * - FAULTS_RECORD=FILE: FILE gets all changes of files in the folder FAULTS_UNDER, and
 *   what the program is about to write to standard output or a socket, in this order.
 *
 * Not seen: what the C library does by itself (stdio, shared memory maps).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- the original functions -------------------------------------------------------- */

#define REAL(name) ((__typeof__(&name))original(#name))

static void *original(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) _exit(99);
    return found;
}

/* ---- failing calls ----------------------------------------------------------------- */

enum { MALLOC, WRITE, SYNC, OPEN, KINDS };
static const char *const kinds[KINDS] = {"malloc", "write", "sync", "open"};
static atomic_ulong calls[KINDS];
static unsigned long fails_at[KINDS]; /* 0: none */
static bool fails_on[KINDS];          /* also all later ones */
static atomic_bool ready;

/* Libraries whose failures the program handles. BLAS, oneDNN and the threads' runtime end
 * the process if they get no memory. */
static const char *const ours[] = {"libscant", "libsqlite3", "libpng",
                                   "libjpeg",  "libjansson", "libinih",
                                   "liblzma",  "libz.",      "libmicrohttpd"};
enum { OURS = sizeof ours / sizeof *ours };

typedef struct range {
    uintptr_t begin, end;
} range;

static range code[OURS + 1]; /* where the program and these libraries are */
static size_t n_code;

static bool is_ours(void *caller) {
    uintptr_t at = (uintptr_t)caller;
    for (size_t i = 0; i < n_code; i++)
        if (at >= code[i].begin && at < code[i].end) return true;
    return false;
}

static bool is_listed(const char *path) {
    for (size_t i = 0; i < OURS; i++)
        if (strstr(path, ours[i])) return true;
    return !*path; /* the program */
}

static int find_code(struct dl_phdr_info *info, size_t size, void *data) {
    range r = {UINTPTR_MAX, 0};
    (void)size, (void)data;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD) continue;
        if (begin < r.begin) r.begin = begin;
        if (begin + p->p_memsz > r.end) r.end = begin + p->p_memsz;
    }
    if (is_listed(info->dlpi_name) && n_code <= OURS) code[n_code++] = r;
    return 0;
}

/* Counts a call; returns whether it is to fail. */
static bool fails(int kind) {
    if (!ready) return false;
    unsigned long n = ++calls[kind];
    return fails_at[kind] && (fails_on[kind] ? n >= fails_at[kind] : n == fails_at[kind]);
}

/* ---- recording --------------------------------------------------------------------- */

/* In the record's file, followed by the bytes of two paths and of the data. Files are
 * named by their inode, directory entries by their path. */
typedef struct record {
    char kind; /* w write, t truncate, s sync, d sync of a folder, c create, m mkdir,
                  r rename, u unlink or rmdir, o output */
    uint64_t inode, offset, size;
    uint32_t path, other; /* lengths */
} record;

static int journal = -1;
static const char *under;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t n = REAL(write)(journal, at, size);
        if (n <= 0) _exit(98);
        at += n;
        size -= (size_t)n;
    }
}

static void note(record r, const char *path, const char *other, const void *data) {
    r.path = path ? (uint32_t)strlen(path) : 0;
    r.other = other ? (uint32_t)strlen(other) : 0;
    pthread_mutex_lock(&lock);
    put(&r, sizeof r);
    put(path, r.path);
    put(other, r.other);
    put(data, data ? r.size : 0);
    pthread_mutex_unlock(&lock);
}

static bool is_under(const char *path) {
    size_t n = strlen(under);
    return strncmp(path, under, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Sets `out` to the path of a descriptor. */
static bool path_of(int fd, char out[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0) return false;
    out[n] = 0;
    return true;
}

/* Sets `out` to the absolute path of a name; false: it is not under FAULTS_UNDER. */
static bool locate(int folder, const char *name, char out[PATH_MAX]) {
    char base[PATH_MAX] = "";
    if (journal < 0) return false;
    if (*name != '/' && folder == AT_FDCWD && !getcwd(base, sizeof base)) return false;
    if (*name != '/' && folder != AT_FDCWD && !path_of(folder, base)) return false;
    int n = snprintf(out, PATH_MAX, "%s%s%s", base, *base ? "/" : "", name);
    return n >= 0 && n < PATH_MAX && is_under(out);
}

/* Whether a descriptor is of a file, or folder, under FAULTS_UNDER. */
static bool is_watched(int fd, struct stat *st, char path[PATH_MAX]) {
    if (journal < 0 || fstat(fd, st) != 0) return false;
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) return false;
    return path_of(fd, path) && is_under(path);
}

static bool is_regular(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static void note_name(char kind, int folder, const char *name, uint64_t inode) {
    char path[PATH_MAX];
    if (locate(folder, name, path))
        note((record){.kind = kind, .inode = inode}, path, NULL, NULL);
}

static void note_write(int fd, const void *data, ssize_t written, off_t offset) {
    struct stat st;
    char path[PATH_MAX];
    if (written <= 0 || !is_watched(fd, &st, path)) return;
    note((record){.kind = 'w',
                  .inode = st.st_ino,
                  .offset = (uint64_t)offset,
                  .size = (uint64_t)written},
         NULL, NULL, data);
}

static void note_output(const void *data, size_t size) {
    if (journal >= 0) note((record){.kind = 'o', .size = size}, NULL, NULL, data);
}

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("FAULTS"), *file = getenv("FAULTS_RECORD");
    dl_iterate_phdr(find_code, NULL);
    for (int i = 0; fault && i < KINDS; i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(fault, kinds[i], n) != 0 || fault[n] != ':') continue;
        char *end;
        fails_at[i] = strtoul(fault + n + 1, &end, 10);
        fails_on[i] = *end == '+';
    }
    under = getenv("FAULTS_UNDER");
    if (file && under)
        journal = REAL(open)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    ready = true;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULTS_COUNT");
    char line[64];
    ready = false;
    if (!path) return;
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (int i = 0; i < KINDS && fd >= 0; i++) {
        int n = snprintf(line, sizeof line, "%s %lu\n", kinds[i], calls[i]);
        if (REAL(write)(fd, line, (size_t)n) != n) _exit(97);
    }
}

/* ---- memory ------------------------------------------------------------------------ */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

#define FAILS_MALLOC() (is_ours(__builtin_return_address(0)) && fails(MALLOC))
#define NO_MEMORY() return (errno = ENOMEM, NULL)

void *malloc(size_t size) {
    if (FAILS_MALLOC()) NO_MEMORY();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    if (FAILS_MALLOC()) NO_MEMORY();
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size) {
    if (FAILS_MALLOC()) NO_MEMORY();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size) {
    if (FAILS_MALLOC()) NO_MEMORY();
    return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size) {
    if (FAILS_MALLOC()) return ENOMEM;
    void *got = __libc_memalign(align, size);
    if (!got) return ENOMEM;
    *out = got;
    return 0;
}

/* ---- files ------------------------------------------------------------------------- */

/* `fallible`: called by the program or a library of `ours`. */
static int open_at(bool fallible, int folder, const char *name, int flags, mode_t mode) {
    struct stat st;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    bool is_new = (flags & O_CREAT) && fstatat(folder, name, &st, 0) != 0;
    if (fallible && fails(OPEN)) return errno = EMFILE, -1;
    int fd = REAL(openat)(folder, name, flags, mode);
    if (fd < 0 || journal < 0 || !writes || fstat(fd, &st) != 0) return fd;
    if (is_new)
        note_name('c', folder, name, st.st_ino);
    else if (flags & O_TRUNC)
        note_name('t', folder, name, st.st_ino);
    return fd;
}

#define OPEN_MODE(mode)                                                                  \
    mode_t mode = 0;                                                                     \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                 \
        va_list more;                                                                    \
        va_start(more, flags);                                                           \
        mode = va_arg(more, mode_t);                                                     \
        va_end(more);                                                                    \
    }

int open(const char *name, int flags, ...) {
    OPEN_MODE(mode)
    return open_at(is_ours(__builtin_return_address(0)), AT_FDCWD, name, flags, mode);
}

int openat(int folder, const char *name, int flags, ...) {
    OPEN_MODE(mode)
    return open_at(is_ours(__builtin_return_address(0)), folder, name, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size) {
    struct stat st;
    off_t at = 0;
    if (fd == STDOUT_FILENO) note_output(data, size);
    if (is_regular(fd) && fails(WRITE)) return errno = ENOSPC, -1;
    if (journal >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        at = fcntl(fd, F_GETFL) & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
    ssize_t n = REAL(write)(fd, data, size);
    note_write(fd, data, n, at);
    return n;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    if (is_regular(fd) && fails(WRITE)) return errno = ENOSPC, -1;
    ssize_t n = REAL(pwrite)(fd, data, size, offset);
    note_write(fd, data, n, offset);
    return n;
}

int ftruncate(int fd, off_t size) {
    struct stat st;
    char path[PATH_MAX];
    int status = REAL(ftruncate)(fd, size);
    if (status == 0 && is_watched(fd, &st, path))
        note((record){.kind = 't', .inode = st.st_ino, .offset = (uint64_t)size}, NULL,
             NULL, NULL);
    return status;
}

static int synced(int fd, int status) {
    struct stat st;
    char path[PATH_MAX];
    if (status != 0 || !is_watched(fd, &st, path)) return status;
    if (S_ISREG(st.st_mode))
        note((record){.kind = 's', .inode = st.st_ino}, NULL, NULL, NULL);
    else
        note((record){.kind = 'd'}, path, NULL, NULL);
    return 0;
}

int fsync(int fd) {
    if (fails(SYNC)) return errno = EIO, -1;
    return synced(fd, REAL(fsync)(fd));
}

int fdatasync(int fd) {
    if (fails(SYNC)) return errno = EIO, -1;
    return synced(fd, REAL(fdatasync)(fd));
}

/* ---- sockets ----------------------------------------------------------------------- */

ssize_t send(int fd, const void *data, size_t size, int flags) {
    note_output(data, size);
    return REAL(send)(fd, data, size, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    for (size_t i = 0; i < message->msg_iovlen; i++)
        note_output(message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    return REAL(sendmsg)(fd, message, flags);
}

/* ---- folders ----------------------------------------------------------------------- */

static int renamed(int status, const char *from, const char *to) {
    char a[PATH_MAX], b[PATH_MAX];
    if (status == 0 && locate(AT_FDCWD, from, a) && locate(AT_FDCWD, to, b))
        note((record){.kind = 'r'}, a, b, NULL);
    return status;
}

int rename(const char *from, const char *to) {
    return renamed(REAL(rename)(from, to), from, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    int status = REAL(renameat2)(a, from, b, to, flags);
    return a == AT_FDCWD && b == AT_FDCWD ? renamed(status, from, to) : status;
}

int unlink(const char *name) {
    int status = REAL(unlink)(name);
    if (status == 0) note_name('u', AT_FDCWD, name, 0);
    return status;
}

int unlinkat(int folder, const char *name, int flags) {
    int status = REAL(unlinkat)(folder, name, flags);
    if (status == 0) note_name('u', folder, name, 0);
    return status;
}

int rmdir(const char *name) {
    int status = REAL(rmdir)(name);
    if (status == 0) note_name('u', AT_FDCWD, name, 0);
    return status;
}

int mkdir(const char *name, mode_t mode) {
    int status = REAL(mkdir)(name, mode);
    if (status == 0) note_name('m', AT_FDCWD, name, 0);
    return status;
}

char *mkdtemp(char *name) {
    char *made = REAL(mkdtemp)(name);
    if (made) note_name('m', AT_FDCWD, made, 0);
    return made;
}

/* The names of these functions in programs with 64-bit file offsets. */
int open64(const char *name, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *name, int flags, ...)
    __attribute__((alias("openat")));
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
    __attribute__((alias("pwrite")));
int ftruncate64(int fd, off64_t size) __attribute__((alias("ftruncate")));

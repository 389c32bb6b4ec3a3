/* SPDX-License-Identifier: Apache-2.0 */
#include "data/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"

static const char *odd_kind(mode_t mode) {
    if (S_ISDIR(mode)) return "is a directory";
    if (S_ISFIFO(mode))
        return "is a pipe, which cannot be mapped: save it to a file first";
    if (S_ISSOCK(mode))
        return "is a socket, which cannot be mapped: save it to a file first";
    return "is a device, which cannot be mapped: save it to a file first";
}

static scant_status map_file(int fd, const char *name, scant__map *out,
                             scant__fault *fault) {
    struct stat st;
    char why[SCANT__ERRNO_TEXT];
    if (fstat(fd, &st) != 0)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: cannot be read: %s", name,
                                scant__errno_text(errno, why));
    if (!S_ISREG(st.st_mode))
        return scant__fault_set(fault, SCANT_EINPUT, "%s: %s", name,
                                odd_kind(st.st_mode));
    if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: is too large to address", name);
    if (!st.st_size) return SCANT_OK; /* an empty mapping is an error */
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return scant__fault_set(fault, errno == ENOMEM ? SCANT_ENOMEM : SCANT_EINPUT,
                                "%s: cannot be mapped: %s", name,
                                scant__errno_text(errno, why));
    *out = (scant__map){map, (size_t)st.st_size, map};
    return SCANT_OK;
}

scant_status scant__map_open(const char *path, const char *name, scant__map *out,
                             scant__fault *fault) {
    char why[SCANT__ERRNO_TEXT];
    *out = (scant__map){.bytes = (const unsigned char *)""};
    /* do not wait for a pipe's other end: pipes are refused anyway */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: there is no such file", name);
    if (fd < 0)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: cannot be opened: %s", name,
                                scant__errno_text(errno, why));
    scant_status status = map_file(fd, name, out, fault);
    close(fd);
    return status;
}

void scant__map_close(scant__map *map) {
    if (map->map) munmap(map->map, map->size);
    *map = (scant__map){.bytes = (const unsigned char *)""};
}

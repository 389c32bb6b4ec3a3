/* SPDX-License-Identifier: Apache-2.0 */
#include "data/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/mem.h"
#include "data/file.h"

static scant_status cannot(scant_ctx *ctx, const char *path, int number) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(ctx, SCANT_EINPUT, "%s: the folder cannot be read: %s", path,
                       scant__errno_text(number, why));
}

/* The type of an entry, following links; 0 if unknown (a dangling link). */
static mode_t kind_of(DIR *folder, const struct dirent *entry) {
    struct stat st;
    if (entry->d_type == DT_REG) return S_IFREG;
    if (entry->d_type == DT_DIR) return S_IFDIR;
    if (fstatat(dirfd(folder), entry->d_name, &st, 0) != 0) return 0;
    return st.st_mode & S_IFMT;
}

static scant_status list_into(scant_ctx *ctx, const char *path, DIR *folder,
                              scant__names *files, scant__names *folders) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) return errno ? cannot(ctx, path, errno) : SCANT_OK;
        if (entry->d_name[0] == '.') continue;
        mode_t kind = kind_of(folder, entry);
        scant__names *list = kind == S_IFREG ? files : kind == S_IFDIR ? folders : NULL;
        if (list) TRY(scant__names_add(ctx, list, entry->d_name, strlen(entry->d_name)));
    }
}

scant_status scant__folder_list(scant_ctx *ctx, const char *path, scant__names *files,
                                scant__names *folders) {
    DIR *folder = opendir(path);
    if (!folder) return cannot(ctx, path, errno);
    scant_status status = list_into(ctx, path, folder, files, folders);
    closedir(folder);
    if (status != SCANT_OK) return status;
    if (files) scant__names_sort(files);
    if (folders) scant__names_sort(folders);
    return SCANT_OK;
}

char *scant__path_join(scant_ctx *ctx, const char *folder, const char *name) {
    size_t length = strlen(folder), size = strlen(name) + 1;
    while (length > 1 && folder[length - 1] == '/') length--;
    char *path = scant__alloc(ctx, length + 1 + size, 1);
    if (!path) return NULL;
    memcpy(path, folder, length);
    path[length] = '/';
    memcpy(path + length + 1, name, size);
    return path;
}

bool scant__path_goes_up(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2)
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/')) return true;
    return false;
}

static bool ends_with(const char *name, size_t length, const char *ending) {
    size_t size = strlen(ending);
    return length >= size && strncasecmp(name + length - size, ending, size) == 0;
}

bool scant__ends_with(const char *name, const char *ending) {
    return ends_with(name, strlen(name), ending);
}

bool scant__ends_with_packed(const char *name, const char *ending) {
    size_t length = strlen(name);
    if (ends_with(name, length, ".gz") || ends_with(name, length, ".xz")) length -= 3;
    return ends_with(name, length, ending);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * An item's image for browsers. Images of files are cached in cache/pictures by item and
 * size, as decoding a photograph takes long; a newer file is decoded again. The folder
 * can be deleted at any time. A cache that cannot be read or written only costs time.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset.h"
#include "data/file.h"
#include "data/paths.h"
#include "scant/project.h"
#include "store/samples.h"
#include "store/store_int.h"

enum { LARGEST = 16 << 20, A_FOLDER = 1000 }; /* items whose images share a folder */

typedef struct asked {
    scant_project *project;
    size_t item, most;
    store_kind kind;
    scant__names source; /* its path, and the item's below it */
    size_t row;
    void **bytes;
    size_t *size;
    const char **type;
} asked;

/* ---- the item ---------------------------------------------------------------------- */

static scant_status no_picture(const asked *a, const char *why) {
    return scant__fail(a->project->ctx, SCANT_EINPUT, "item %zu has no image%s", a->item,
                       why);
}

static scant_status keep_row(asked *a, sqlite3_stmt *s) {
    scant_ctx *ctx = a->project->ctx;
    const char *source = store_string(s, 1), *path = store_string(s, 2);
    int64_t kind = sqlite3_column_int64(s, 0);
    a->kind = (store_kind)kind;
    a->row = store_count(s, 3);
    if (kind == STORE_FEATURES) return no_picture(a, ": it is a feature row");
    if (!source || (kind != STORE_FILES && kind != STORE_ARRAY))
        return store_damaged(a->project, "an item's source");
    TRY(scant__names_add(ctx, &a->source, source, strlen(source)));
    if (kind == STORE_ARRAY) return SCANT_OK;
    if (!path || scant__path_goes_up(path))
        return store_damaged(a->project, "an item's path");
    return scant__names_add(ctx, &a->source, path, strlen(path));
}

static scant_status find_item(asked *a) {
    sqlite3_stmt *s;
    bool row = false;
    if (a->item <= INT64_MAX) {
        TRY(store_first(a->project,
                        "SELECT kind, sources.path, items.path, row"
                        " FROM items JOIN sources USING (source) WHERE item = ?1",
                        STORE_VALUES(store_size(a->item)), &s, &row));
    }
    if (!row)
        return scant__fail(a->project->ctx, SCANT_ENOTFOUND, "there is no item %zu",
                           a->item);
    scant_status status = keep_row(a, s);
    store_end(s);
    return status;
}

/* ---- the cache --------------------------------------------------------------------- */

/* File names have no extension, so that a folder of images that contains the project
 * does not list them as new images. */
static bool cache_path(const asked *a, char folder[PATH_MAX], char path[PATH_MAX]) {
    int n = snprintf(folder, PATH_MAX, "%s/cache/pictures/%zu", a->project->dir,
                     a->item / A_FOLDER);
    if (n < 0 || n >= PATH_MAX) return false;
    n = snprintf(path, PATH_MAX, "%s/%zu-%zu", folder, a->item, a->most);
    return n > 0 && n < PATH_MAX;
}

/* Whether the cached image is not older than the file. */
static bool is_fresh(const asked *a, const struct stat *cached) {
    char file[PATH_MAX];
    struct stat st;
    const char *folder = scant__names_get(&a->source, 0);
    const char *path = scant__names_get(&a->source, 1);
    int n = *path == '/' ? snprintf(file, sizeof file, "%s", path)
                         : snprintf(file, sizeof file, "%s/%s", folder, path);
    if (n < 0 || (size_t)n >= sizeof file) return false;
    if (stat(file, &st) != 0) return true; /* the file is gone: show the cached image */
    if (st.st_mtim.tv_sec != cached->st_mtim.tv_sec)
        return st.st_mtim.tv_sec < cached->st_mtim.tv_sec;
    return st.st_mtim.tv_nsec <= cached->st_mtim.tv_nsec;
}

static const char *type_of(const unsigned char *bytes, size_t size) {
    if (size > 8 && memcmp(bytes, "\x89PNG", 4) == 0) return "image/png";
    if (size > 4 && memcmp(bytes, "\xff\xd8", 2) == 0) return "image/jpeg";
    return NULL;
}

static bool read_whole(int fd, unsigned char *out, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t n = read(fd, out + got, size - got);
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

static bool take_open(const asked *a, int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        st.st_size > LARGEST || !is_fresh(a, &st))
        return false;
    size_t size = (size_t)st.st_size;
    unsigned char *bytes = scant__alloc(a->project->ctx, size, 1);
    if (!bytes) return false;
    *a->type = read_whole(fd, bytes, size) ? type_of(bytes, size) : NULL;
    if (!*a->type) {
        scant__free(a->project->ctx, bytes);
        return false;
    }
    *a->bytes = bytes;
    *a->size = size;
    return true;
}

static bool take_cached(const asked *a) {
    char folder[PATH_MAX], path[PATH_MAX];
    if (!cache_path(a, folder, path)) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool taken = take_open(a, fd);
    close(fd);
    return taken;
}

static void keep(const asked *a) {
    char folder[PATH_MAX], path[PATH_MAX];
    scant_ctx *ctx = a->project->ctx;
    scant__outfile file;
    if (*a->size > LARGEST || !cache_path(a, folder, path)) return;
    if (scant__folder_make(ctx, folder) != SCANT_OK) return;
    if (scant__outfile_open(ctx, path, &file) != SCANT_OK) return;
    file.passing = true;
    if (scant__outfile_write(&file, *a->bytes, *a->size) != SCANT_OK)
        scant__outfile_abandon(&file);
    else
        (void)scant__outfile_commit(&file);
}

/* ---- making it --------------------------------------------------------------------- */

static scant_status make_file(const asked *a) {
    scant_ctx *ctx = a->project->ctx;
    const char *path = scant__names_get(&a->source, 1);
    scant__names one = {0};
    scant_data *data = NULL;
    scant_status status = scant__names_add(ctx, &one, path, strlen(path));
    if (status == SCANT_OK)
        status =
            scant__data_open_files(ctx, scant__names_get(&a->source, 0), &one, 0, &data);
    if (status == SCANT_OK)
        status = scant__data_image_file(data, 0, a->most, a->bytes, a->size, a->type);
    scant_data_free(data);
    scant__names_end(ctx, &one);
    return status;
}

static scant_status make_row(const asked *a) {
    const scant_data *data;
    const char *path = scant__names_get(&a->source, 0);
    TRY(store_open_pictures(a->project, path, &data));
    if (a->row >= scant_data_count(data))
        return scant__fail(
            a->project->ctx, SCANT_EINPUT,
            "%s: item %zu is its row %zu (counted from 0), but it has only %zu rows",
            path, a->item, a->row, scant_data_count(data));
    return scant__data_image_file(data, a->row, a->most, a->bytes, a->size, a->type);
}

scant_status scant_project_picture(scant_project *project, size_t item, size_t most,
                                   void **bytes, size_t *size, const char **type) {
    asked a = {.project = project,
               .item = item,
               .most = most,
               .bytes = bytes,
               .size = size,
               .type = type};
    *bytes = NULL;
    *size = 0;
    scant_status status = find_item(&a);
    if (status == SCANT_OK && a.kind == STORE_ARRAY) {
        status = make_row(&a);
    } else if (status == SCANT_OK && !take_cached(&a)) {
        status = make_file(&a);
        if (status == SCANT_OK) keep(&a);
    }
    scant__names_end(project->ctx, &a.source);
    return status;
}

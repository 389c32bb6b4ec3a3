/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes an item's image for browsers. Images from files are cached in cache/pictures by
 * item and size, because decoding photographs is slow; a file newer than its cached image
 * is decoded again. If it takes long to find that a file cannot be decoded, the message
 * is cached in place of the image. The folder can be deleted at any time. Cache errors
 * are ignored.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "data/dataset.h"
#include "data/file.h"
#include "scant/project.h"
#include "store/content.h"

enum { LARGEST = 16 << 20, A_FOLDER = 1000 }; /* bytes of a file; items per folder */
static const double LONG = 0.2;               /* seconds */
/* A cached message begins with it. The number rises when the limits do. */
static const char REFUSED[] = "refused 1: ";

typedef struct image_job {
    scant_project *project;
    scant__arena arena;
    size_t item, most;
    bool cached_only; /* does not decode a file */
    store_kind kind;
    const char *source, *path; /* the source's path; the file's, below it or absolute */
    size_t row;
    const char *cache_folder, *cache;
    void **bytes;
    size_t *size;
    const char **type;
} image_job;

/* ---- the item ---------------------------------------------------------------------- */

static scant_status read_row(image_job *a, store_cursor row) {
    const char *source = store_string(row, 1), *path = store_string(row, 2);
    a->kind = (store_kind)store_integer(row, 0);
    a->row = store_count(row, 3);
    if (a->kind == STORE_FEATURES)
        return scant__fail(a->project->ctx, SCANT_EINPUT,
                           "item %zu has no image: it is a feature row", a->item);
    if (!source || (a->kind != STORE_FILES && a->kind != STORE_ARRAY))
        return store_damaged(a->project, "an item's source");
    if (a->kind == STORE_FILES && (!path || scant__path_goes_up(path)))
        return store_damaged(a->project, "an item's path");
    a->source = scant__arena_strdup(&a->arena, source);
    a->path = scant__arena_strdup(&a->arena, path ? path : "");
    return a->source && a->path ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status find_item(image_job *a) {
    if (a->item <= INT64_MAX)
        STORE_EACH(row, a->project,
                   "SELECT kind, sources.path, items.path, row"
                   " FROM items JOIN sources USING (source) WHERE item = ?1",
                   store_size(a->item))
            return read_row(a, row);
    return scant__fail(a->project->ctx, SCANT_ENOTFOUND, "there is no item %zu", a->item);
}

/* ---- the cache --------------------------------------------------------------------- */

/* File names have no extension, so that a folder of images that contains the project
 * does not list them as new images. */
static scant_status name_cache(image_job *a) {
    a->cache_folder = scant__arena_format(&a->arena, "%s/cache/pictures/%zu",
                                          a->project->dir, a->item / A_FOLDER);
    if (!a->cache_folder) return SCANT_ENOMEM;
    a->cache =
        scant__arena_format(&a->arena, "%s/%zu-%zu", a->cache_folder, a->item, a->most);
    return a->cache ? SCANT_OK : SCANT_ENOMEM;
}

/* Whether the cached image is not older than the file. */
static bool is_fresh(image_job *a, const struct stat *cached) {
    struct stat st;
    const char *file = *a->path == '/'
                           ? a->path
                           : scant__arena_format(&a->arena, "%s/%s", a->source, a->path);
    if (!file) return false;
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

/* Takes ownership of the bytes of a cached file. False: they are not valid. */
static bool take_cached(image_job *a, unsigned char *bytes, size_t size,
                        scant_status *status) {
    const size_t prefix = sizeof REFUSED - 1;
    *a->type = type_of(bytes, size);
    if (*a->type) {
        *a->bytes = bytes;
        *a->size = size;
        return true;
    }
    bool refused = size > prefix && memcmp(bytes, REFUSED, prefix) == 0;
    if (refused)
        *status = scant__fail(a->project->ctx, SCANT_EINPUT, "%.*s",
                              (int)size_min(size - prefix, 1000), bytes + prefix);
    scant__free(a->project->ctx, bytes);
    return refused;
}

static bool read_open(image_job *a, int fd, scant_status *status) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        st.st_size > LARGEST || !is_fresh(a, &st))
        return false;
    size_t size = (size_t)st.st_size;
    unsigned char *bytes = scant__alloc(a->project->ctx, size, 1);
    if (!bytes) return false;
    if (store_read_at(fd, bytes, size, 0) == (ssize_t)size)
        return take_cached(a, bytes, size, status);
    scant__free(a->project->ctx, bytes);
    return false;
}

/* False: nothing is cached. *status: SCANT_EINPUT for a cached message. */
static bool read_cached(image_job *a, scant_status *status) {
    *status = SCANT_OK;
    int fd = open(a->cache, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool taken = read_open(a, fd, status);
    close(fd);
    return taken;
}

/* Ignores failures: the next call makes it again. */
static void write_cache(const image_job *a, const void *bytes, size_t size) {
    scant_ctx *ctx = a->project->ctx;
    scant__outfile file;
    if (size > LARGEST) return;
    if (scant_project_check(a->project) != SCANT_OK ||
        scant__folder_make_in(ctx, a->project->dir, a->cache_folder) != SCANT_OK)
        return;
    if (scant__outfile_open(ctx, a->cache, &file) != SCANT_OK) return;
    file.unsynced = true;
    if (scant__outfile_write(&file, bytes, size) != SCANT_OK)
        scant__outfile_abandon(&file);
    else
        (void)scant__outfile_commit(&file);
}

/* Fails with the message that is set, which caching must not replace. */
static scant_status write_refusal(const image_job *a) {
    AUTO(scant__text_end) scant__text text = {.ctx = a->project->ctx};
    scant__text_add(&text, REFUSED);
    scant__text_add(&text, a->project->ctx->err);
    if (text.failed) return SCANT_ENOMEM;
    write_cache(a, text.data, text.size);
    return scant__fail(a->project->ctx, SCANT_EINPUT, "%s",
                       text.data + sizeof REFUSED - 1);
}

/* ---- decoding and encoding --------------------------------------------------------- */

static scant_status make_file(const image_job *a) {
    AUTO(scant__names_end) scant__names one = {0};
    AUTO(scant_data_auto) scant_data *data = NULL;
    scant_ctx *ctx = a->project->ctx;
    TRY(scant__names_add(ctx, &one, a->path, strlen(a->path)));
    TRY(scant__data_open_files(ctx, a->source, &one, 0, &data));
    return scant__data_image_file(data, 0, a->most, a->bytes, a->size, a->type);
}

static scant_status make_row(const image_job *a) {
    const scant_data *data;
    TRY(store_open_images(a->project, a->source, &data));
    if (a->row >= scant_data_count(data))
        return scant__fail(
            a->project->ctx, SCANT_EINPUT,
            "%s: item %zu is its row %zu (counted from 0), but it has only %zu rows",
            a->source, a->item, a->row, scant_data_count(data));
    return scant__data_image_file(data, a->row, a->most, a->bytes, a->size, a->type);
}

static scant_status make(image_job *a) {
    TRY(find_item(a));
    if (a->kind == STORE_ARRAY) return make_row(a);
    TRY(name_cache(a));
    scant_status status;
    if (read_cached(a, &status) || a->cached_only) return status;
    double begun = scant__now();
    status = make_file(a);
    if (status == SCANT_EINPUT && scant__now() - begun > LONG) return write_refusal(a);
    if (status == SCANT_OK) write_cache(a, *a->bytes, *a->size);
    return status;
}

static scant_status run(scant_project *project, size_t item, size_t most,
                        bool cached_only, void **bytes, size_t *size, const char **type) {
    image_job a = {.project = project,
                   .arena = {.ctx = project->ctx},
                   .item = item,
                   .most = most,
                   .cached_only = cached_only,
                   .bytes = bytes,
                   .size = size,
                   .type = type};
    *bytes = NULL;
    *size = 0;
    scant_status status = make(&a);
    scant__arena_end(&a.arena);
    return status;
}

scant_status scant_project_image(scant_project *project, size_t item, size_t most,
                                 void **bytes, size_t *size, const char **type) {
    NEED(project);
    return run(project, item, most, false, bytes, size, type);
}

scant_status scant_project_image_cached(scant_project *project, size_t item, size_t most,
                                        void **bytes, size_t *size, const char **type) {
    NEED(project);
    return run(project, item, most, true, bytes, size, type);
}

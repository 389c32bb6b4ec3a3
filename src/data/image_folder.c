/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of images: class folders (numbered in byte order of their names) or unlabelled
 * images. Only names are held in memory. Reading a sample decodes its file, rotates the
 * image upright (EXIF), resizes and crops it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/dataset_int.h"
#include "data/file.h"
#include "data/images.h"

enum { DEFAULT_SIDE = 224, MAX_SIDE = 4096, MAX_DEPTH = 16, MAX_PATHS = 16 };

/* ---- reading an image -------------------------------------------------------------- */

typedef struct sink {
    const scant_data *data;
    scant__fault *fault;
    float *out;
    scant__resize resize;
} sink;

/* Writes row y of the resized image to the sample's planes. */
static void on_result(void *self, size_t y, const unsigned char *rgb) {
    const sink *s = self;
    size_t side = s->data->shape[1];
    float *out = s->out + y * side;
    for (size_t c = 0; c < 3; c++, out += side * side)
        for (size_t x = 0; x < side; x++) out[x] = s->data->unit[rgb[3 * x + c]];
}

static scant_status on_begin(void *self, size_t width, size_t height, int orientation) {
    sink *s = self;
    scant__fit fit = scant__fit_middle(width, height, s->data->shape[1]);
    (void)orientation;
    return scant__resize_begin(&s->resize, s->data->ctx, width, height, &fit, on_result,
                               s, s->fault);
}

static void on_row(void *self, const unsigned char *rgb) {
    scant__resize_row(&((sink *)self)->resize, rgb);
}

scant_status scant__data_map_file(const scant_data *data, size_t row, char path[PATH_MAX],
                                  scant__map *map, scant__fault *fault) {
    const char *name = scant__names_get(&data->sample_names, row);
    bool absolute = name[0] == '/';
    int length = snprintf(path, PATH_MAX, "%s%s%s", absolute ? "" : data->name,
                          absolute ? "" : "/", name);
    if (length < 0 || length >= PATH_MAX)
        return scant__fault_set(fault, SCANT_EINPUT, "%s: sample %zu has too long a path",
                                data->name, row);
    return scant__map_open(path, path, map, fault);
}

static scant_status read_image(const scant_data *data, size_t row, float *out,
                               scant__fault *fault) {
    char path[PATH_MAX];
    AUTO(scant__map_close) scant__map map = {0};
    sink s = {.data = data, .fault = fault, .out = out, .resize.ctx = data->ctx};
    TRY(scant__data_map_file(data, row, path, &map, fault));
    scant_status status = scant__decode_upright(&(scant__decode){.ctx = data->ctx,
                                                                 .name = path,
                                                                 .bytes = map.bytes,
                                                                 .size = map.size,
                                                                 .fault = fault,
                                                                 .begin = on_begin,
                                                                 .row = on_row,
                                                                 .self = &s});
    scant__resize_end(&s.resize);
    return status;
}

scant_status scant__data_set_files(scant_data *data, size_t side) {
    if (!side) side = DEFAULT_SIDE;
    if (side > MAX_SIDE)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: the image side is %zu pixels, at most %d are allowed",
                           data->name, side, MAX_SIDE);
    data->count = data->sample_names.count;
    data->shape[0] = 3;
    data->shape[1] = data->shape[2] = side;
    data->images = data->files = true;
    data->read = read_image;
    return SCANT_OK;
}

/* ---- listing images ---------------------------------------------------------------- */

/* A folder reached by a link, and how often. */
typedef struct linked {
    dev_t device;
    ino_t inode;
    size_t times;
} linked;

typedef struct walk {
    scant_ctx *ctx;
    const char *root;     /* start folder */
    scant__names *images; /* paths found so far, relative to root */
    int32_t *labels;      /* label of each image, for class folders */
    size_t n_labels, room;
    size_t ignored; /* files that are not images or not in a class folder */
    linked *links;
    size_t n_links, link_room;
} walk;

static void walk_end(walk *w) { scant__free(w->ctx, w->links); }

/* Links between folders can multiply paths without end: bounds how often a folder is
 * reached by a link. */
static scant_status count_link(walk *w, const char *path, const char *below) {
    struct stat st;
    size_t i = 0;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) || stat(path, &st) != 0)
        return SCANT_OK;
    while (i < w->n_links &&
           (w->links[i].inode != st.st_ino || w->links[i].device != st.st_dev))
        i++;
    if (i == w->n_links)
        TRY_PUSH(w->ctx, w->links, w->n_links, w->link_room,
                 (linked){st.st_dev, st.st_ino, 0});
    if (++w->links[i].times <= MAX_PATHS) return SCANT_OK;
    return scant__refuse(w->ctx, w->root,
                         "%s is a link to a folder that %d other paths lead to (links to "
                         "each other?)",
                         below, MAX_PATHS);
}

static bool is_image(const char *name) {
    return scant__ends_with(name, ".png") || scant__ends_with(name, ".jpg") ||
           scant__ends_with(name, ".jpeg");
}

static scant_status add_image(walk *w, const char *name, int32_t label) {
    TRY(scant__names_put(w->ctx, w->images, name));
    if (label >= 0) TRY_PUSH(w->ctx, w->labels, w->n_labels, w->room, label);
    return SCANT_OK;
}

static scant_status walk_folder(walk *w, const char *below, int32_t label, int depth);

/* Adds `name`, an entry of the folder `below`: an image file, or a folder's images. */
static scant_status walk_entry(walk *w, const char *below, const char *name, bool file,
                               int32_t label, int depth) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = w->ctx};
    w->ignored += file && !is_image(name);
    if (file && !is_image(name)) return SCANT_OK;
    const char *path =
        scant__arena_format(&arena, "%s%s%s", below, *below ? "/" : "", name);
    if (!path) return SCANT_ENOMEM;
    return file ? add_image(w, path, label) : walk_folder(w, path, label, depth + 1);
}

/* Adds all images in the folder `below`, a path relative to root; "" is root itself. */
static scant_status walk_folder(walk *w, const char *below, int32_t label, int depth) {
    scant_ctx *ctx = w->ctx;
    AUTO(scant__names_end) scant__names files = {0}, folders = {0};
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    if (depth > MAX_DEPTH)
        return scant__refuse(ctx, w->root,
                             "%s is more than %d folders deep (a link to itself?)", below,
                             MAX_DEPTH);
    TRY(scant__tick(ctx, NULL, 0, 0)); /* allow cancellation */
    const char *path = *below ? scant__path_in(&arena, w->root, below) : w->root;
    if (!path) return SCANT_ENOMEM;
    if (*below) TRY(count_link(w, path, below));
    TRY(scant__folder_list(ctx, path, &files, &folders));
    for (size_t i = 0; i < files.count; i++)
        TRY(walk_entry(w, below, scant__names_get(&files, i), true, label, depth));
    for (size_t i = 0; i < folders.count; i++)
        TRY(walk_entry(w, below, scant__names_get(&folders, i), false, label, depth));
    return SCANT_OK;
}

scant_status scant__images_list(scant_ctx *ctx, const char *folder, scant__names *names) {
    AUTO(walk_end) walk w = {.ctx = ctx, .root = folder, .images = names};
    TRY(walk_folder(&w, "", -1, 0));
    if (!names->count)
        return scant__refuse(
            ctx, folder, "has no images (.png, .jpg, .jpeg), directly or in subfolders");
    if (w.ignored)
        scant__warn(ctx, "%s: %zu file%s not used: not an image (.png, .jpg, .jpeg)",
                    folder, w.ignored, w.ignored == 1 ? " is" : "s are");
    scant__names_sort(names);
    return SCANT_OK;
}

/* Makes every folder a class, even one without images, so that training and test folders
 * have the same class numbers. */
static scant_status walk_classes(walk *w, scant_data *data, const scant__names *folders) {
    size_t bare = 0;
    for (size_t i = 0; i < folders->count; i++) {
        const char *name = scant__names_get(folders, i);
        size_t before = data->sample_names.count;
        TRY(scant__names_put(data->ctx, &data->class_names, name));
        TRY(walk_folder(w, name, (int32_t)i, 1));
        bare += data->sample_names.count == before;
    }
    if (bare && data->sample_names.count)
        scant__warn(data->ctx, "%s: %zu of %zu class folders have no images", data->name,
                    bare, folders->count);
    return SCANT_OK;
}

static scant_status walk_root(walk *w, scant_data *data, const scant__names *files,
                              const scant__names *folders) {
    TRY(walk_classes(w, data, folders));
    if (data->sample_names.count) {
        data->own = true;
        data->classes = folders->count;
        w->ignored += files->count;
    } else {
        scant__names_end(&data->class_names);
        for (size_t i = 0; i < files->count; i++)
            TRY(walk_entry(w, "", scant__names_get(files, i), true, -1, 0));
    }
    if (!data->sample_names.count)
        return scant__refuse(
            data->ctx, data->name,
            "has no images (.png, .jpg, .jpeg), neither in class folders nor directly");
    if (w->ignored)
        scant__warn(data->ctx,
                    "%s: %zu file%s not used: not an image (.png, .jpg, .jpeg) or not in "
                    "a class folder",
                    data->name, w->ignored, w->ignored == 1 ? " is" : "s are");
    return SCANT_OK;
}

scant_status scant__data_open_folder(scant_data *data, const char *spec,
                                     const scant_data_opts *opts) {
    AUTO(scant__names_end) scant__names files = {0}, folders = {0};
    AUTO(walk_end)
    walk w = {.ctx = data->ctx, .root = data->name, .images = &data->sample_names};
    TRY(scant__data_set_files(data, opts->side));
    TRY(scant__folder_list(data->ctx, spec, &files, &folders));
    scant_status status = walk_root(&w, data, &files, &folders);
    data->labels = w.labels;
    data->count = data->sample_names.count;
    TRY(status);
    if (opts->regression && data->own)
        return scant__fail(data->ctx, SCANT_EUSAGE,
                           "%s: has class folders, not regression targets", spec);
    return SCANT_OK;
}

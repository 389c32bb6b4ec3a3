/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells which of a project's files a path is, so that no output overwrites one. Files are
 * compared by device and inode, so links are found. If the path exists, every image of
 * the project is looked up.
 */
#include <string.h>
#include <sys/stat.h>

#include "data/file.h"
#include "data/source.h"
#include "scant/project.h"
#include "store/store_int.h"

typedef struct lookup {
    scant_project *project;
    scant__arena arena;
    struct stat at;     /* the path's file */
    const char *folder; /* the path's folder */
    const char *what;   /* the result */
} lookup;

static void lookup_end(lookup *l) { scant__arena_end(&l->arena); }

static bool is_file(const lookup *l, const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && st.st_dev == l->at.st_dev &&
           st.st_ino == l->at.st_ino;
}

/* Sets the result if the folder of the path is project/name. */
static scant_status compare_folder(lookup *l, const char *name, const char *what) {
    const char *folder = scant__path_in(&l->arena, l->project->dir, name);
    if (!folder) return SCANT_ENOMEM;
    if (scant__same_file(folder, l->folder)) l->what = what;
    return SCANT_OK;
}

/* The database's files need not exist: those beside it come and go. */
static scant_status find_own(lookup *l, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    l->folder = ".";
    if (slash)
        l->folder = scant__arena_format(&l->arena, "%.*s",
                                        slash == path ? 1 : (int)(slash - path), path);
    if (!l->folder) return SCANT_ENOMEM;
    TRY(compare_folder(l, "models", "a model of the project"));
    TRY(compare_folder(l, "cache", "a file of the project's cache"));
    if (!scant__same_file(l->project->dir, l->folder)) return SCANT_OK;
    if (strncmp(name, "project.db", strlen("project.db")) == 0)
        l->what = "the project's database";
    if (scant__ends_with(name, ".lock")) l->what = "a lock of the project";
    return SCANT_OK;
}

static scant_status find_source(lookup *l) {
    static const char *const names[] = {
        [STORE_ARRAY] = "the images of the project's items",
        [STORE_FEATURES] = "the features of the project's items"};
    STORE_EACH(row, l->project, "SELECT kind, path, manifest FROM sources") {
        int64_t kind = store_integer(row, 0);
        const char *path = store_name(row, 1), *key = scant__npz_key(path);
        if (is_file(l, store_string(row, 2))) l->what = "the manifest of the project";
        if (kind != STORE_ARRAY && kind != STORE_FEATURES) continue;
        if (key) path = scant__arena_format(&l->arena, "%.*s", (int)(key - path), path);
        if (!path) return SCANT_ENOMEM;
        /* the path of images may be a folder of files, such as MNIST's */
        if (is_file(l, path) || scant__same_file(path, l->folder)) l->what = names[kind];
    }
    return SCANT_OK;
}

static scant_status find_image(lookup *l) {
    AUTO(scant__text_end) scant__text text = {.ctx = l->project->ctx};
    STORE_EACH(row, l->project,
               "SELECT sources.path, items.path FROM items JOIN sources USING (source)"
               " WHERE items.path IS NOT NULL AND kind = " SQL_FILES) {
        const char *path = store_name(row, 1);
        text.size = 0;
        if (*path != '/') scant__text_addf(&text, "%s/", store_name(row, 0));
        scant__text_add(&text, path);
        if (text.failed) return SCANT_ENOMEM;
        if (!is_file(l, text.data)) continue;
        l->what = "an image of the project's items";
        return SCANT_OK;
    }
    return SCANT_OK;
}

scant_status scant_project_file(scant_project *project, const char *path,
                                const char **what) {
    NEED(project);
    AUTO(lookup_end) lookup l = {.project = project, .arena = {.ctx = project->ctx}};
    *what = NULL;
    TRY(find_own(&l, path));
    if (!l.what && stat(path, &l.at) == 0 && S_ISREG(l.at.st_mode)) {
        TRY(find_source(&l));
        if (!l.what && is_file(&l, project->weights)) l.what = "the backbone's weights";
        if (!l.what) TRY(find_image(&l));
    }
    *what = l.what;
    return SCANT_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells which of a project's files a path is, so that no output overwrites one. Links are
 * followed first, as the output would. Sources are compared by device and inode; the
 * project's own files, which come and go, by folder and name. If the path exists, every
 * image of the project is looked up.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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
    const char *folder; /* real path of the path's folder; NULL: there is none */
    const char *what;   /* the result */
} lookup;

static void lookup_end(lookup *l) { scant__arena_end(&l->arena); }

static bool is_file(const lookup *l, const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && st.st_dev == l->at.st_dev &&
           st.st_ino == l->at.st_ino;
}

/* Whether a folder is project/name or inside it. Both are real paths. */
static bool is_inside(const char *folder, const char *project, const char *name) {
    size_t length = strlen(project), rest = strlen(name);
    return strncmp(folder, project, length) == 0 && folder[length] == '/' &&
           strncmp(folder + length + 1, name, rest) == 0 &&
           (folder[length + 1 + rest] == '/' || !folder[length + 1 + rest]);
}

/* Sets l->folder to the real path of the folder of what an output to path would replace,
 * and *name to the name there. The folder is NULL if there is none. */
static scant_status find_target(lookup *l, const char *path, const char **name) {
    char target[PATH_MAX], real[PATH_MAX];
    int n = snprintf(target, sizeof target, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (n < 0 || n >= PATH_MAX || scant__follow_links(target) != 0) return SCANT_OK;
    char *slash = strrchr(target, '/');
    *name = scant__arena_strdup(&l->arena, slash + 1);
    if (!*name) return SCANT_ENOMEM;
    slash[slash == target] = 0;
    if (!realpath(target, real)) return SCANT_OK;
    l->folder = scant__arena_strdup(&l->arena, real);
    return l->folder ? SCANT_OK : SCANT_ENOMEM;
}

/* The database's files need not exist: those beside it come and go. */
static scant_status find_own(lookup *l, const char *path) {
    char project[PATH_MAX];
    const char *name = NULL;
    TRY(find_target(l, path, &name));
    if (!l->folder || !realpath(l->project->dir, project)) return SCANT_OK;
    if (is_inside(l->folder, project, "models")) l->what = "a model of the project";
    if (is_inside(l->folder, project, "cache")) l->what = "a file of the project's cache";
    if (strcmp(l->folder, project) != 0) return SCANT_OK;
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
        if (is_file(l, path) || (l->folder && scant__same_file(path, l->folder)))
            l->what = names[kind];
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

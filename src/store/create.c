/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates a project atomically: builds it in a temporary folder beside dir (inside dir,
 * if that is an empty folder), syncs it to disk and renames it.
 *
 * The temporary folder is "DIR.new-PID-XXXXXX" or "DIR/.new-PID-XXXXXX", and locked. The
 * lock tells which ones killed programs have left: these are removed when dir is created
 * again. (A number can be another process's by then, above all in a container.)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat2 */
#endif
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/near.h"
#include "data/file.h"
#include "scant/project.h"
#include "store/content.h"

typedef struct creating {
    scant_ctx *ctx;
    const char *dir;
    const scant_project_opts *opts;
    store_batch batch;
    scant__arena arena;
    const char *weights; /* absolute */
    bool inside;         /* dir exists and is empty */
    char temp[PATH_MAX];
    int lock;     /* of the temporary folder; -1: none */
    bool settled; /* the project is in place */
    bool done;
    char parent[PATH_MAX]; /* of dir */
    size_t made; /* length of the first part of parent that was missing; 0: none was */
} creating;

/* ---- checks ------------------------------------------------------------------------ */

static scant_status check_classes(scant_ctx *ctx, const scant_project_opts *o) {
    AUTO(scant__names_end) scant__names names = {0};
    for (size_t i = 0; i < o->n_classes; i++) {
        TRY(store_class_check(ctx, o->classes[i]));
        TRY(scant__names_add(ctx, &names, o->classes[i], strlen(o->classes[i])));
    }
    scant__names_sort(&names);
    for (size_t i = 1; i < names.count; i++)
        if (strcmp(scant__names_get(&names, i - 1), scant__names_get(&names, i)) == 0)
            return scant__fail(ctx, SCANT_EUSAGE, "there are two classes '%s'",
                               scant__names_get(&names, i));
    return SCANT_OK;
}

static const char *model_name(const void *list, size_t i) {
    return ((const scant_model_info *const *)list)[i]->name;
}

scant_status store_backbone_open(scant_ctx *ctx, const char *name, const char *weights,
                                 scant_net **out) {
    const scant_net_opts opts = {.shape = {3, STORE_BACKBONE_SIDE, STORE_BACKBONE_SIDE}};
    void (*log)(void *, scant_log_level, const char *) = ctx->opts.log;
    ctx->opts.log = NULL;
    scant_status status = scant_net_open(ctx, weights, name, &opts, out);
    ctx->opts.log = log;
    return status;
}

static scant_status check_backbone(creating *c) {
    const scant_project_opts *o = c->opts;
    char real[PATH_MAX], why[SCANT__ERRNO_TEXT];
    scant_net *net;
    size_t count;
    if (!o->backbone && !o->weights) return SCANT_OK;
    if (!o->backbone || !o->weights)
        return scant__fail(c->ctx, SCANT_EUSAGE,
                           o->backbone ? "a backbone needs its weights: without them its "
                                         "features are random"
                                       : "weights need the name of their backbone");
    if (o->source.features)
        return scant__fail(c->ctx, SCANT_EUSAGE,
                           "a backbone reads images, but features are given");
    const scant_model_info *const *models = scant_models(&count);
    if (!scant_model_find(o->backbone))
        return scant__fail(c->ctx, SCANT_EUSAGE,
                           "there is no model '%s'; the nearest is '%s'", o->backbone,
                           scant__nearest(o->backbone, models, count, model_name));
    if (!realpath(o->weights, real))
        return scant__fail(c->ctx, SCANT_EINPUT, "%s: cannot be read: %s", o->weights,
                           scant__errno_text(errno, why));
    c->weights = scant__arena_strdup(&c->arena, real);
    if (!c->weights) return SCANT_ENOMEM;
    /* Fails before anything is created if the weights do not fit the backbone. */
    TRY(store_backbone_open(c->ctx, o->backbone, c->weights, &net));
    scant_net_free(net);
    return SCANT_OK;
}

static scant_status check(creating *c) {
    TRY(check_classes(c->ctx, c->opts));
    for (size_t i = 0; i < c->opts->n_settings; i++)
        TRY(store_setting_check(c->ctx, c->opts->settings[i].key,
                                c->opts->settings[i].value));
    return check_backbone(c);
}

/* ---- folders ----------------------------------------------------------------------- */

static scant_status cannot(creating *c, const char *path, const char *what) {
    char why[SCANT__ERRNO_TEXT];
    return scant__fail(c->ctx, SCANT_EIO, "%s: %s: %s", path, what,
                       scant__errno_text(errno, why));
}

static bool is_empty(const char *path) {
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool empty = true;
    if (!folder) return false;
    while (empty && (entry = readdir(folder)))
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    closedir(folder);
    return empty;
}

/* Whether the first length bytes of path name nothing. */
static bool is_missing(char *path, size_t length) {
    struct stat st;
    char next = path[length];
    path[length] = 0;
    bool missing = stat(path, &st) != 0 && errno == ENOENT;
    path[length] = next;
    return missing;
}

/* place: dir without slashes at its end. */
static scant_status make_parent(creating *c, const char *place) {
    char *path = c->parent;
    const char *slash = strrchr(place, '/');
    if (!slash || slash == place) return SCANT_OK;
    size_t length = (size_t)(slash - place);
    memcpy(path, place, length);
    path[length] = 0;
    for (size_t i = 1; i <= length && !c->made; i++)
        if ((path[i] == '/' || !path[i]) && is_missing(path, i)) c->made = i;
    return scant__folder_make(c->ctx, path);
}

/* Removes the parents of dir that make_parent() made, if they are empty. */
static void remove_parents(creating *c) {
    char *slash;
    if (!c->made) return;
    while (strlen(c->parent) >= c->made) {
        if (rmdir(c->parent) != 0 && errno != ENOENT) return;
        if (!(slash = strrchr(c->parent, '/'))) return;
        *slash = 0;
    }
}

static const char *const project_files[] = {"project.db", "project.db-wal",
                                            "project.db-shm", "project.db-journal"};

enum { PROJECT_FILES = sizeof project_files / sizeof *project_files };

/* Whether a name is prefix and "PID-XXXXXX". */
static bool is_temp_name(const char *name, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || !isdigit((unsigned char)name[length]))
        return false;
    name += length;
    while (isdigit((unsigned char)*name)) name++;
    if (*name++ != '-') return false;
    for (length = 0; isalnum((unsigned char)name[length]);) length++;
    return length == 6 && !name[length];
}

static bool is_project_file(const char *name) {
    size_t i = 0;
    while (i < PROJECT_FILES && strcmp(name, project_files[i]) != 0) i++;
    return i < PROJECT_FILES;
}

/* Whether a folder holds only what a temporary folder can: one that holds more may be
 * somebody's project of such a name. */
static bool is_temp_content(int fd) {
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = own >= 0 ? fdopendir(own) : NULL;
    bool is = folder != NULL;
    if (!folder && own >= 0) close(own);
    for (const struct dirent *e; is && (e = readdir(folder));)
        is = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
             is_project_file(e->d_name);
    if (folder) closedir(folder);
    return is;
}

/* Removes the temporary folders in `place` that killed programs have left. Errors are
 * ignored. */
static void sweep(const char *place, const char *prefix) {
    DIR *folder = opendir(place);
    if (!folder) return;
    for (const struct dirent *e; (e = readdir(folder));) {
        if (!is_temp_name(e->d_name, prefix)) continue;
        int fd = openat(dirfd(folder), e->d_name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_temp_content(fd)) {
            for (size_t i = 0; i < PROJECT_FILES; i++) unlinkat(fd, project_files[i], 0);
            unlinkat(dirfd(folder), e->d_name, AT_REMOVEDIR);
        }
        close(fd);
    }
    closedir(folder);
}

/* The same for those beside dir. */
static void sweep_beside(const char *place) {
    char folder[PATH_MAX], prefix[PATH_MAX + 8];
    const char *slash = strrchr(place, '/');
    snprintf(prefix, sizeof prefix, "%s.new-", slash ? slash + 1 : place);
    snprintf(folder, sizeof folder, "%.*s",
             slash ? (int)(slash - place) + (slash == place) : 1, slash ? place : ".");
    sweep(folder, prefix);
}

/* Makes the temporary folder, c->temp. */
static scant_status make_temp(creating *c) {
    struct stat st;
    char place[PATH_MAX];
    size_t length = strlen(c->dir);
    while (length > 1 && c->dir[length - 1] == '/') length--;
    if (!length || length + 32 > sizeof place)
        return scant__fail(c->ctx, SCANT_EUSAGE, "'%s' is not a path of a folder",
                           c->dir);
    memcpy(place, c->dir, length);
    place[length] = 0;
    if (stat(place, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            return scant__fail(c->ctx, SCANT_ECONFLICT, "%s: exists and is not a folder",
                               c->dir);
        sweep(place, ".new-");
        if (!is_empty(place))
            return scant__fail(c->ctx, SCANT_ECONFLICT, "%s: exists and is not empty",
                               c->dir);
        c->inside = true;
    } else {
        TRY(make_parent(c, place));
        sweep_beside(place);
    }
    snprintf(c->temp, sizeof c->temp, "%.*s%s.new-%ld-XXXXXX", PATH_MAX - 32, place,
             c->inside ? "/" : "", (long)getpid());
    if (!mkdtemp(c->temp)) {
        scant_status status = cannot(c, c->temp, "cannot make the folder");
        c->temp[0] = 0;
        return status;
    }
    c->lock = open(c->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock >= 0) flock(c->lock, LOCK_EX | LOCK_NB);
    return chmod(c->temp, 0755) == 0 ? SCANT_OK
                                     : cannot(c, c->temp, "cannot set its permissions");
}

/* Removes a project's files from a folder, and the folder if it is empty then. */
static void remove_files(const char *folder, bool and_folder) {
    char path[PATH_MAX + 32];
    for (size_t i = 0; i < PROJECT_FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, project_files[i]);
        unlink(path);
    }
    if (and_folder) rmdir(folder);
}

static void remove_temp(const creating *c) {
    if (c->temp[0]) remove_files(c->temp, true);
}

/* Syncs a file or folder to disk. */
static scant_status sync_path(creating *c, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC), code;
    if (fd < 0) return cannot(c, path, "cannot be written to disk");
    while ((code = fsync(fd)) != 0 && errno == EINTR) {
    }
    scant_status status = SCANT_OK;
    if (code != 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
        status = cannot(c, path, "cannot be written to disk");
    close(fd);
    return status;
}

/* Like rename(), but fails if `to` exists. If the file system does not support this, the
 * function checks before renaming. */
static int move(const char *from, const char *to) {
    struct stat st;
    int code = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
    if (code == 0 || (errno != EINVAL && errno != ENOSYS)) return code;
    if (stat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static scant_status settle(creating *c) {
    char from[PATH_MAX + 32], to[PATH_MAX + 32];
    snprintf(from, sizeof from, "%s/project.db", c->temp);
    TRY(sync_path(c, from));
    TRY(sync_path(c, c->temp));
    if (c->inside) {
        snprintf(to, sizeof to, "%s/project.db", c->dir);
        if (move(from, to) != 0) return cannot(c, to, "cannot be renamed into place");
        c->settled = true;
        remove_temp(c);
        c->temp[0] = 0;
        return sync_path(c, c->dir);
    }
    if (move(c->temp, c->dir) != 0)
        return cannot(c, c->dir, "cannot be renamed into place");
    c->settled = true;
    snprintf(to, sizeof to, "%s", c->temp);
    c->temp[0] = 0;
    char *slash = strrchr(to, '/');
    if (slash) slash[slash == to] = 0;
    return sync_path(c, slash ? to : ".");
}

/* ---- content ----------------------------------------------------------------------- */

static scant_status write_meta(scant_project *project, const creating *c) {
    const store_batch *b = &c->batch;
    const char *kind = b->content.kind != STORE_FEATURES ? "pictures"
                       : b->texts                        ? "texts"
                                                         : "features";
    TRY(store_meta_set(project, "seed", store_int((int64_t)c->opts->seed)));
    TRY(store_meta_set(project, "created", store_int(store_now(project))));
    TRY(store_meta_set(project, "kind", store_text(kind)));
    TRY(store_do(project, "INSERT INTO meta (key, value)"
                          " VALUES ('key', lower(hex(randomblob(16))))"));
    TRY(store_meta_set(project, "scant", store_text(scant_version())));
    if (c->opts->backbone) {
        TRY(store_meta_set(project, "backbone", store_text(c->opts->backbone)));
        TRY(store_meta_set(project, "weights", store_text(c->weights)));
    }
    return store_meta_read(project);
}

static scant_status fill(scant_project *project, creating *c) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = project->ctx};
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    const scant_project_opts *o = c->opts;
    size_t label;
    TRY(write_meta(project, c));
    for (size_t i = 0; i < o->n_classes; i++)
        TRY(store_class_put(project, o->classes[i], &label));
    for (size_t i = 0; i < o->n_settings; i++)
        TRY(store_setting_put(project, o->settings[i].key, o->settings[i].value));
    TRY(store_settings_check(project, o->settings, o->n_settings, SCANT_EUSAGE));
    TRY(store_batch_put(project, &c->batch, !o->n_classes));
    JSON_OBJECT(&json, NULL, MEMBER("items", c->batch.n),
                MEMBER("source", c->batch.content.path), MEMBER("seed", (size_t)o->seed));
    TRY(store_event_add(project, "created", &json.text));
    return store_commit(&tx);
}

static scant_status write_database(creating *c) {
    AUTO(scant_project_auto) scant_project *project = NULL;
    TRY(store_handle_open(c->ctx, c->temp, true, &project));
    /* No durability is needed: the file is synced before it is renamed into place. */
    TRY(store_script(project, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
                              "PRAGMA locking_mode = EXCLUSIVE;"));
    TRY(store_schema_create(project));
    TRY(fill(project, c));
    return store_script(project,
                        "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL;"
                        "PRAGMA wal_checkpoint(TRUNCATE);");
}

static scant_status build(creating *c) {
    TRY(check(c));
    TRY(store_batch_read(c->ctx, NULL, &c->opts->source, &c->batch));
    TRY(store_batch_hash(&c->batch));
    TRY(make_temp(c));
    TRY(write_database(c));
    return settle(c);
}

static void creating_end(creating *c) {
    remove_temp(c);
    if (c->lock >= 0) close(c->lock);
    if (!c->done) remove_parents(c);
    store_batch_end(&c->batch);
    scant__arena_end(&c->arena);
}

scant_status scant_project_create(scant_ctx *ctx, const char *dir,
                                  const scant_project_opts *opts, scant_project **out) {
    *out = NULL;
    NEED(ctx);
    static const scant_project_opts none;
    AUTO(creating_end)
    creating c = {.ctx = ctx,
                  .dir = dir,
                  .opts = opts ? opts : &none,
                  .arena = {.ctx = ctx},
                  .lock = -1};
    scant_status status = build(&c);
    if (status == SCANT_OK) status = scant_project_open(ctx, dir, out);
    if (status != SCANT_OK && c.settled) remove_files(dir, !c.inside);
    c.done = status == SCANT_OK;
    return status;
}

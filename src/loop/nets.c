/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run's networks leave on disk. The state (state.c) says which of the files count;
 * it is written after those it tells of, and what it told of before is removed after it.
 * So at any moment the state and its files go together, whatever else lies about.
 *
 *   RUN.weights-R, RUN.asker-R       after round R, to train on (train.reinit = no)
 *   RUN.warm-R, RUN.warm-asker-R     the ends of their trainings (train.warm = yes)
 *   RUN.left-R-M, RUN.left-R-asker   such ends, while the round is under way
 *   RUN.trained-R-M, .trained-R-asker   networks of round R, which was broken off
 *   RUN.training-R-M-S               a training of it that was broken off (S: a or b)
 *
 * A round is broken off by Ctrl-C. Its trainings are what takes long: those that are
 * finished are kept as weights with what the test set said of them, the one under way as
 * a checkpoint. Reading out and picking are done again from the weights, which come back
 * to the bit. A file of a broken-off round that cannot be read costs time, not the run:
 * what it held is trained again.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/source.h"
#include "loop/loop.h"

static char *file_path(const loop_run *run, const char *rest) {
    scant__text text;
    char *path;
    size_t size;
    scant__text_init(&text, run->ctx);
    scant__text_addf(&text, "%s.%s.safetensors", run->path, rest);
    return scant__text_take(&text, &path, &size) == SCANT_OK ? path : NULL;
}

static scant_status save(loop_run *run, scant_net *net, const char *name) {
    char *path = file_path(run, name);
    if (!path) return SCANT_ENOMEM;
    scant_status status = scant_net_save(net, path);
    scant__free(run->ctx, path);
    return status;
}

/* Into *net, which is made where there is none; as it was where that fails. */
static scant_status load(loop_run *run, const char *name, scant_net **net) {
    bool made = !*net;
    char *path = file_path(run, name);
    scant_status status = path ? SCANT_OK : SCANT_ENOMEM;
    if (status == SCANT_OK && made) status = loop_net_make(run, 0, net);
    if (status == SCANT_OK) status = scant_net_load(*net, path, 0);
    if (status != SCANT_OK && made) {
        scant_net_destroy(*net);
        *net = NULL;
    }
    scant__free(run->ctx, path);
    return status;
}

/* ---- between rounds ---------------------------------------------------------------- */

enum { NAME = 64 };
enum { WEIGHTS, ASKER, WARM, WARM_ASKER, LASTING };
static const char *const lasting[LASTING] = {"weights", "asker", "warm", "warm-asker"};

static void lasting_name(char name[NAME], size_t which, size_t round) {
    snprintf(name, NAME, "%s-%zu", lasting[which], round);
}

/* A copy, and not the file itself: until the state tells of the round as finished it is
 * one that may be broken off, and has its own. */
static scant_status keep_end(loop_run *run, size_t which, size_t model) {
    char name[NAME];
    lasting_name(name, which, run->round);
    char *from = loop_left_path(run, model), *to = file_path(run, name);
    scant__source source;
    scant_status status = from && to ? SCANT_OK : SCANT_ENOMEM;
    if (status == SCANT_OK) status = scant__source_map(run->ctx, from, &source);
    if (status == SCANT_OK) {
        status = scant_file_write(run->ctx, to, source.bytes, source.size);
        scant__source_close(run->ctx, &source);
    }
    scant__free(run->ctx, from);
    scant__free(run->ctx, to);
    return status;
}

scant_status loop_nets_keep(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    scant_net *const nets[] = {run->net, run->asker};
    char name[NAME];
    if (set->reinit) return SCANT_OK;
    for (size_t i = WEIGHTS; i <= ASKER; i++) {
        lasting_name(name, i, run->round);
        if (nets[i]) TRY(save(run, nets[i], name));
    }
    bool trained = loop_state_labels(&run->state, run->round) > 0;
    if (!set->warm || !trained) return SCANT_OK;
    TRY(keep_end(run, WARM, run->chosen));
    return run->asker ? keep_end(run, WARM_ASKER, LOOP_ASKER) : SCANT_OK;
}

/* Those of the round before are of no use any more. */
void loop_nets_forget(loop_run *run, size_t round) {
    char name[NAME];
    if (run->job->e->set.reinit) return;
    for (size_t i = 0; i < LASTING; i++) {
        lasting_name(name, i, round);
        char *path = file_path(run, name);
        if (path) unlink(path);
        scant__free(run->ctx, path);
    }
}

/* What is lost is this run's alone, and no time brings it back. */
static scant_status recall(loop_run *run, size_t which, scant_net **net) {
    char name[NAME], why[SCANT__ERR_SIZE];
    lasting_name(name, which, run->state.n_points - 1);
    TRY(loop_net_make(run, 0, net));
    run->own = true;
    scant_status status = load(run, name, net);
    if (status != SCANT_EINPUT) return status;
    memcpy(why, run->ctx->err, sizeof why);
    return scant__fail(run->ctx, status, "%s; without %s.json this run begins anew", why,
                       run->path);
}

scant_status loop_nets_recall(loop_run *run) {
    const scant_experiment *e = run->job->e;
    if (e->set.reinit || !run->state.n_points) return SCANT_OK;
    TRY(recall(run, WEIGHTS, &run->net));
    run->own = false;
    return *e->set.query_seed ? recall(run, ASKER, &run->asker) : SCANT_OK;
}

/* ---- a round that is broken off ---------------------------------------------------- */

static void model_name(char name[NAME], const char *what, size_t round, size_t model) {
    if (model == LOOP_ASKER)
        snprintf(name, NAME, "%s-%zu-asker", what, round);
    else
        snprintf(name, NAME, "%s-%zu-%zu", what, round, model);
}

char *loop_training_path(const loop_run *run, size_t model, size_t slot) {
    char name[NAME], whole[NAME + 2];
    model_name(name, "training", run->round, model);
    snprintf(whole, sizeof whole, "%s-%c", name, slot ? 'b' : 'a');
    return file_path(run, whole);
}

char *loop_left_path(const loop_run *run, size_t model) {
    char name[NAME];
    model_name(name, "left", run->round, model);
    return file_path(run, name);
}

char *loop_warm_path(const loop_run *run, size_t model) {
    char name[NAME];
    lasting_name(name, model == LOOP_ASKER ? WARM_ASKER : WARM, run->round - 1);
    return file_path(run, name);
}

static scant_status save_trained(loop_run *run, scant_net *net, size_t model) {
    char name[NAME];
    if (!net) return SCANT_OK;
    model_name(name, "trained", run->round, model);
    return save(run, net, name);
}

scant_status loop_partial_keep(loop_run *run) {
    loop_partial *p = &run->state.partial;
    loop_clock(run, LOOP_REST);
    p->there = true;
    p->round = run->round;
    p->train_seconds = run->seconds[LOOP_TRAINING];
    p->judge_seconds = run->seconds[LOOP_JUDGING];
    for (size_t i = 0; i < p->n_trained; i++) TRY(save_trained(run, run->models[i], i));
    TRY(save_trained(run, run->net, run->chosen)); /* then the others are gone */
    if (p->asker) TRY(save_trained(run, run->asker, LOOP_ASKER));
    TRY(loop_keep(run));
    if (p->training) {
        char *old = loop_training_path(run, p->model, !p->slot);
        if (old) unlink(old);
        scant__free(run->ctx, old);
    }
    return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
}

/* A network whose training's end is asked for and is not there is trained again. */
static scant_status check_left(loop_run *run, size_t model) {
    if (!run->job->e->set.warm) return SCANT_OK;
    char *path = loop_left_path(run, model);
    if (!path) return SCANT_ENOMEM;
    scant_status status = SCANT_OK;
    if (access(path, R_OK) != 0)
        status = scant__fail(run->ctx, SCANT_EIO, "%s: cannot be read", path);
    scant__free(run->ctx, path);
    return status;
}

static scant_status load_trained(loop_run *run, size_t model, scant_net **net) {
    char name[NAME];
    TRY(check_left(run, model));
    model_name(name, "trained", run->round, model);
    return load(run, name, net);
}

/* Files that are lost, damaged, or of another build. */
static bool can_be_done_again(loop_run *run, scant_status status) {
    if (status != SCANT_EINPUT && status != SCANT_EIO) return false;
    scant__warn(run->ctx, "%s; what it held of round %zu is trained again", run->ctx->err,
                run->round);
    return true;
}

/* Where all are judged one is enough. */
static scant_status load_models(loop_run *run) {
    const loop_partial *p = &run->state.partial;
    bool all = p->n_judged == run->n_models;
    for (size_t i = 0; i < p->n_trained; i++) {
        if (all && i != loop_median(run->verdicts, run->n_models)) continue;
        scant_status status = load_trained(run, i, &run->models[i]);
        if (status == SCANT_OK) continue;
        for (size_t k = 0; k < i; k++) { /* each was made here */
            scant_net_destroy(run->models[k]);
            run->models[k] = NULL;
        }
        return status;
    }
    return SCANT_OK;
}

scant_status loop_partial_recall(loop_run *run) {
    loop_partial *p = &run->state.partial;
    loop_partial none = {
        .there = p->there, .round = run->round, .verdicts = run->verdicts};
    if (!p->there || p->n_trained > run->n_models) {
        *p = none;
        return SCANT_OK;
    }
    if (p->n_judged)
        memcpy(run->verdicts, p->verdicts, p->n_judged * sizeof *p->verdicts);
    p->verdicts = run->verdicts;
    scant_status status = load_models(run);
    if (status != SCANT_OK) {
        if (!can_be_done_again(run, status)) return status;
        *p = none;
        return SCANT_OK;
    }
    if (p->asker) status = load_trained(run, LOOP_ASKER, &run->asker);
    if (status != SCANT_OK) {
        if (!can_be_done_again(run, status)) return status;
        p->asker = false;
    }
    run->seconds[LOOP_TRAINING] += p->train_seconds;
    run->seconds[LOOP_JUDGING] += p->judge_seconds;
    return SCANT_OK;
}

/* Whether a file of the runs' folder is of a broken-off round of this run: which. */
static bool is_partial(const char *name, const char *run, size_t *round) {
    static const char *const kinds[] = {".trained-", ".training-", ".training.",
                                        ".left-"};
    size_t length = strlen(run);
    if (strncmp(name, run, length) != 0) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t kind = strlen(kinds[i]);
        if (strncmp(name + length, kinds[i], kind) != 0) continue;
        const char *digits = name + length + kind;
        char *end;
        *round = (size_t)strtoull(digits, &end, 10);
        if (end == digits) *round = SIZE_MAX; /* of an earlier version */
        return true;
    }
    return false;
}

void loop_partial_sweep(loop_run *run, size_t round) {
    char *folder = scant__arena_strdup(&run->arena, run->path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash) return;
    *slash = 0;
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files));) {
        size_t of;
        if (is_partial(file->d_name, slash + 1, &of) && (of != round || of == SIZE_MAX))
            unlinkat(dirfd(files), file->d_name, 0);
    }
    if (files) closedir(files);
}

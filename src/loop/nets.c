/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run's networks leave on disk. The state (state.c) says which of the files count;
 * it is written after those it tells of, and what it told of before is removed after it.
 * So at any moment the state and its files go together, whatever else lies about.
 *
 *   RUN.weights-R, RUN.asker-R       after round R, to train on (train.reinit = no)
 *   RUN.warm-R, RUN.warm-asker-R     the ends of their trainings (train.warm = yes)
 *   RUN.weights-R-I, RUN.warm-R-I    likewise, of members 1, 2, ... of an ensemble
 *   RUN.left-R-P, RUN.left-R-asker   such ends, while the round is under way
 *   RUN.trained-R-P, .trained-R-asker   networks of round R, which was broken off
 *   RUN.training-R-P-S               a training of it that was broken off (S: a or b)
 *   RUN.samples                      of a posterior, until they are read
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
#include "scant/train.h"

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

static scant_status load(loop_run *run, const char *name, scant_net *net) {
    char *path = file_path(run, name);
    if (!path) return SCANT_ENOMEM;
    scant_status status = scant_net_load(net, path, 0);
    scant__free(run->ctx, path);
    return status;
}

/* ---- between rounds ---------------------------------------------------------------- */

enum { NAME = 64 };
enum { WEIGHTS, ASKER, WARM, WARM_ASKER, LASTING };
static const char *const lasting[LASTING] = {"weights", "asker", "warm", "warm-asker"};

static void lasting_name(char name[NAME], size_t which, size_t round, size_t member) {
    int n = snprintf(name, NAME, "%s-%zu", lasting[which], round);
    if (member) snprintf(name + n, NAME - (size_t)n, "-%zu", member);
}

/* A copy, and not the file itself: until the state tells of the round as finished it is
 * one that may be broken off, and has its own. */
static scant_status keep_end(loop_run *run, size_t which, size_t part, size_t member) {
    char name[NAME];
    lasting_name(name, which, run->round, member);
    char *from = loop_left_path(run, part), *to = file_path(run, name);
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
    char name[NAME];
    if (set->reinit) return SCANT_OK;
    bool trained = loop_state_labels(&run->state, run->round) > 0;
    for (size_t i = 0; i < run->n_members; i++) {
        lasting_name(name, WEIGHTS, run->round, i);
        TRY(save(run, scant_net_member(run->net, i), name));
        if (set->warm && trained)
            TRY(keep_end(run, WARM, run->chosen * run->n_members + i, i));
    }
    if (!run->asker) return SCANT_OK;
    lasting_name(name, ASKER, run->round, 0);
    TRY(save(run, run->asker, name));
    return set->warm && trained ? keep_end(run, WARM_ASKER, LOOP_ASKER, 0) : SCANT_OK;
}

/* Those of the round before are of no use any more. */
void loop_nets_forget(loop_run *run, size_t round) {
    const loop_settings *set = &run->job->e->set;
    char name[NAME];
    if (set->reinit) return;
    for (size_t k = 0; k < LASTING * loop_members(set); k++) {
        lasting_name(name, k % LASTING, round, k / LASTING);
        char *path = file_path(run, name);
        if (path) unlink(path);
        scant__free(run->ctx, path);
    }
}

/* What is lost is this run's alone, and no time brings it back. */
static scant_status recall(loop_run *run, size_t which, scant_net **net) {
    char name[NAME], why[SCANT__ERR_SIZE];
    scant_status status = SCANT_OK;
    TRY(loop_net_make(run, 0, net));
    run->own = true;
    for (size_t i = 0; i < scant_net_members(*net) && status == SCANT_OK; i++) {
        lasting_name(name, which, run->state.n_points - 1, i);
        status = load(run, name, scant_net_member(*net, i));
    }
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

static void part_name(char name[NAME], const char *what, size_t round, size_t part) {
    if (part == LOOP_ASKER)
        snprintf(name, NAME, "%s-%zu-asker", what, round);
    else
        snprintf(name, NAME, "%s-%zu-%zu", what, round, part);
}

char *loop_training_path(const loop_run *run, size_t part, size_t slot) {
    char name[NAME], whole[NAME + 2];
    part_name(name, "training", run->round, part);
    snprintf(whole, sizeof whole, "%s-%c", name, slot ? 'b' : 'a');
    return file_path(run, whole);
}

char *loop_left_path(const loop_run *run, size_t part) {
    char name[NAME];
    part_name(name, "left", run->round, part);
    return file_path(run, name);
}

/* After the first round there is one model, and its parts are its members. */
char *loop_warm_path(const loop_run *run, size_t part) {
    char name[NAME];
    if (part == LOOP_ASKER)
        lasting_name(name, WARM_ASKER, run->round - 1, 0);
    else
        lasting_name(name, WARM, run->round - 1, part);
    return file_path(run, name);
}

char *loop_samples_path(const loop_run *run) {
    scant__text text;
    char *path;
    size_t size;
    scant__text_init(&text, run->ctx);
    scant__text_addf(&text, "%s.samples.npy", run->path);
    return scant__text_take(&text, &path, &size) == SCANT_OK ? path : NULL;
}

static scant_status save_trained(loop_run *run, scant_net *net, size_t part) {
    char name[NAME];
    if (!net) return SCANT_OK;
    part_name(name, "trained", run->round, part);
    return save(run, net, name);
}

static void forget_other_slot(loop_run *run, size_t part, char far) {
    if (far != LOOP_SLOT_A && far != LOOP_SLOT_B) return;
    char *old = loop_training_path(run, part, far == LOOP_SLOT_A);
    if (old) unlink(old);
    scant__free(run->ctx, old);
}

scant_status loop_partial_keep(loop_run *run) {
    loop_partial *p = &run->state.partial;
    loop_clock(run, LOOP_REST);
    p->there = true;
    p->round = run->round;
    p->train_seconds = run->seconds[LOOP_TRAINING];
    p->judge_seconds = run->seconds[LOOP_JUDGING];
    for (size_t i = 0; i < p->n_parts; i++)
        if (p->parts[i] == LOOP_TRAINED) TRY(save_trained(run, loop_part(run, i), i));
    for (size_t i = 0; run->net && i < run->n_members; i++) /* the others are gone */
        TRY(save_trained(run, scant_net_member(run->net, i),
                         run->chosen * run->n_members + i));
    if (p->asker == LOOP_TRAINED) TRY(save_trained(run, run->asker, LOOP_ASKER));
    TRY(loop_keep(run));
    for (size_t i = 0; i < p->n_parts; i++) forget_other_slot(run, i, p->parts[i]);
    forget_other_slot(run, LOOP_ASKER, p->asker);
    return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
}

/* A network whose training's end is asked for and is not there is trained again. */
static scant_status check_left(loop_run *run, size_t part) {
    if (!run->job->e->set.warm) return SCANT_OK;
    char *path = loop_left_path(run, part);
    if (!path) return SCANT_ENOMEM;
    scant_status status = SCANT_OK;
    if (access(path, R_OK) != 0)
        status = scant__fail(run->ctx, SCANT_EIO, "%s: cannot be read", path);
    scant__free(run->ctx, path);
    return status;
}

static scant_status load_trained(loop_run *run, size_t part, scant_net *net) {
    char name[NAME];
    TRY(check_left(run, part));
    part_name(name, "trained", run->round, part);
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
    for (size_t i = 0; i < p->n_parts; i++) {
        size_t model = i / run->n_members;
        scant_net **net = &run->models[model];
        if (p->parts[i] != LOOP_TRAINED) continue;
        if (all && model != loop_median(run->verdicts, run->n_models)) continue;
        if (!*net) TRY(loop_net_make(run, loop_weights_seed(run, model), net));
        TRY(load_trained(run, i, loop_part(run, i)));
    }
    return SCANT_OK;
}

/* As if nothing of the round had been trained: what a part of it has loaded goes. */
static scant_status unload_models(loop_run *run) {
    for (size_t i = 0; i < run->n_models; i++) {
        scant_net_free(run->models[i]);
        run->models[i] = NULL;
    }
    if (run->job->e->set.reinit || !run->round) return SCANT_OK;
    TRY(recall(run, WEIGHTS, &run->models[0]));
    run->own = false;
    return SCANT_OK;
}

/* Models are trained one after the other, and judged whole. */
static bool is_whole(const loop_run *run, const loop_partial *p) {
    size_t judged = p->n_judged * run->n_members, begun = judged + run->n_members;
    bool whole =
        p->n_judged <= run->n_models && p->n_parts == run->n_models * run->n_members;
    for (size_t i = 0; whole && i < p->n_parts; i++)
        whole = i < judged ? p->parts[i] == LOOP_TRAINED
                           : i < begun || p->parts[i] == LOOP_NOT_BEGUN;
    return whole;
}

/* As it was where that fails. */
static scant_status load_asker(loop_run *run) {
    bool made = !run->asker;
    if (made) TRY(loop_net_make(run, 0, &run->asker));
    scant_status status = load_trained(run, LOOP_ASKER, run->asker);
    if (status != SCANT_OK && made) {
        scant_net_free(run->asker);
        run->asker = NULL;
    }
    return status;
}

/* Nothing of the round is trained. */
static void begin_anew(loop_run *run) {
    run->state.partial = (loop_partial){.there = run->state.partial.there,
                                        .round = run->round,
                                        .parts = run->parts,
                                        .n_parts = run->n_models * run->n_members,
                                        .asker = LOOP_NOT_BEGUN,
                                        .verdicts = run->verdicts,
                                        .epochs = run->epochs};
    memset(run->parts, LOOP_NOT_BEGUN, run->state.partial.n_parts);
    memset(run->epochs, 0, run->state.partial.n_parts * sizeof *run->epochs);
}

scant_status loop_partial_recall(loop_run *run) {
    loop_partial *p = &run->state.partial;
    if (!p->there || !is_whole(run, p)) {
        begin_anew(run);
        return SCANT_OK;
    }
    if (p->n_judged)
        memcpy(run->verdicts, p->verdicts, p->n_judged * sizeof *p->verdicts);
    memcpy(run->parts, p->parts, p->n_parts);
    memcpy(run->epochs, p->epochs, p->n_parts * sizeof *p->epochs);
    p->epochs = run->epochs;
    p->verdicts = run->verdicts;
    p->parts = run->parts;
    scant_status status = load_models(run);
    if (status != SCANT_OK) {
        if (!can_be_done_again(run, status)) return status;
        begin_anew(run);
        return unload_models(run);
    }
    if (p->asker == LOOP_TRAINED) status = load_asker(run);
    if (status != SCANT_OK) {
        if (!can_be_done_again(run, status)) return status;
        p->asker = LOOP_NOT_BEGUN;
    }
    run->seconds[LOOP_TRAINING] += p->train_seconds;
    run->seconds[LOOP_JUDGING] += p->judge_seconds;
    return SCANT_OK;
}

/* Whether a file of the runs' folder is of a broken-off round of this run: which. */
static bool is_partial(const char *name, const char *run, size_t *round) {
    static const char *const kinds[] = {".trained-", ".training-", ".training.", ".left-",
                                        ".samples."};
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

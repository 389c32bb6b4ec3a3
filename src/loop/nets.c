/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's networks on disk. The state (state.c) says which of the files count. It is
 * written after the files it names, and files that it no longer names are removed after
 * it. So the state and its files always match, whatever else is in the folder.
 *
 *   RUN.weights-R, RUN.query-R       after round R, to train on (train.reinit = no)
 *   RUN.warm-R, RUN.warm-query-R     the ends of their trainings (train.warm = yes)
 *   RUN.weights-R-I, RUN.warm-R-I    likewise, of members 1, 2, ... of an ensemble
 *   RUN.left-R-P, RUN.left-R-query   such ends, during the round
 *   RUN.trained-R-P, .trained-R-query   networks of round R, which was cancelled
 *   RUN.training-R-P-S               the checkpoint of a cancelled training (S: a or b)
 *   RUN.samples                      posterior draws, until they are read
 *
 * Ctrl-C cancels a round. Its trainings take most of the time: finished ones are kept as
 * weights with their test results, the others as checkpoints. Evidence and picks are
 * computed again from the weights, which come back to the bit. A file of a cancelled
 * round that cannot be read costs time, not the run: its network is trained again.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/source.h"
#include "loop/loop.h"
#include "scant/train.h"

/* "RUN.name" and ending, of the round's arena; NULL: no memory. */
static char *file_path(loop_run *run, const char *name, const char *ending) {
    size_t size = strlen(run->path) + strlen(name) + strlen(ending) + 2;
    char *path = scant__arena_alloc(&run->round.arena, size, 1);
    if (path) snprintf(path, size, "%s.%s%s", run->path, name, ending);
    return path;
}

static char *net_path(loop_run *run, const char *name) {
    return file_path(run, name, ".safetensors");
}

static scant_status save(loop_run *run, scant_net *net, const char *name) {
    char *path = net_path(run, name);
    return path ? scant_net_save(net, path) : SCANT_ENOMEM;
}

static scant_status load(loop_run *run, const char *name, scant_net *net) {
    char *path = net_path(run, name);
    return path ? scant_net_load(net, path, 0) : SCANT_ENOMEM;
}

/* ---- between rounds ---------------------------------------------------------------- */

enum { NAME = 64 };
enum { WEIGHTS, QUERY, WARM, WARM_QUERY, LASTING };
static const char *const lasting[LASTING] = {"weights", "query", "warm", "warm-query"};

static void lasting_name(char name[NAME], size_t which, size_t round, size_t member) {
    int n = snprintf(name, NAME, "%s-%zu", lasting[which], round);
    if (member) snprintf(name + n, NAME - (size_t)n, "-%zu", member);
}

static void part_name(char name[NAME], const char *what, size_t round, size_t part) {
    if (part == LOOP_QUERY)
        snprintf(name, NAME, "%s-%zu-query", what, round);
    else
        snprintf(name, NAME, "%s-%zu-%zu", what, round, part);
}

/* The end of a part's training in this round (train.warm). */
static char *left_path(loop_run *run, size_t part) {
    char name[NAME];
    part_name(name, "left", run->round.number, part);
    return net_path(run, name);
}

/* That of the last round's. After the first round there is one model, so that its parts
 * are its members. */
static char *warm_path(loop_run *run, size_t part) {
    char name[NAME];
    bool query = part == LOOP_QUERY;
    lasting_name(name, query ? WARM_QUERY : WARM, run->round.number - 1,
                 query ? 0 : part);
    return net_path(run, name);
}

/* A copy and not a link: until the state says that the round is finished, the round may
 * be cancelled and needs its own file. */
static scant_status keep_end(loop_run *run, size_t which, size_t part, size_t member) {
    char name[NAME];
    lasting_name(name, which, run->round.number, member);
    char *from = left_path(run, part), *to = net_path(run, name);
    scant__source source;
    if (!from || !to) return SCANT_ENOMEM;
    TRY(scant__source_map(run->ctx, from, &source));
    scant_status status = scant_file_write(run->ctx, to, source.bytes, source.size);
    scant__source_close(run->ctx, &source);
    return status;
}

scant_status loop_nets_keep(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t round = run->round.number, members = run->recipe.members;
    char name[NAME];
    if (set->reinit) return SCANT_OK;
    bool ends = set->warm && loop_state_labels(&run->state, round) > 0;
    for (size_t i = 0; i < members; i++) {
        lasting_name(name, WEIGHTS, round, i);
        TRY(save(run, scant_net_member(run->net, i), name));
        if (ends) TRY(keep_end(run, WARM, run->round.chosen * members + i, i));
    }
    if (!run->query_net) return SCANT_OK;
    lasting_name(name, QUERY, round, 0);
    TRY(save(run, run->query_net, name));
    return ends ? keep_end(run, WARM_QUERY, LOOP_QUERY, 0) : SCANT_OK;
}

void loop_nets_forget(loop_run *run, size_t round) {
    const loop_settings *set = &run->job->e->set;
    char name[NAME];
    if (set->reinit) return;
    for (size_t k = 0; k < LASTING * loop_members(set); k++) {
        lasting_name(name, k % LASTING, round, k / LASTING);
        char *path = net_path(run, name);
        if (path) unlink(path);
    }
}

/* A lost file fails this run only; the weights cannot be recomputed. */
static scant_status recall(loop_run *run, size_t which, scant_net **net) {
    char name[NAME], why[SCANT__ERR_SIZE];
    scant_status status = SCANT_OK;
    TRY(loop_net_make(run, 0, net));
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
    return *e->set.query_seed ? recall(run, QUERY, &run->query_net) : SCANT_OK;
}

/* ---- a training that may be cancelled ---------------------------------------------- */

static char *checkpoint_path(loop_run *run, size_t part, char slot) {
    char name[NAME], whole[NAME + 2];
    part_name(name, "training", run->round.number, part);
    snprintf(whole, sizeof whole, "%s-%c", name, slot);
    return net_path(run, whole);
}

static char *part_state(loop_run *run, size_t part) {
    loop_partial *p = &run->state.partial;
    return part == LOOP_QUERY ? &p->query : &p->parts[part];
}

static char other_slot(char slot) {
    return slot == LOOP_SLOT_A ? LOOP_SLOT_B : LOOP_SLOT_A;
}

static scant_status set_warm(loop_run *run, size_t part, scant_train_opts *o) {
    size_t round = run->round.number;
    if (!run->job->e->set.warm) return SCANT_OK;
    bool before = round && loop_state_labels(&run->state, round - 1);
    o->leave = left_path(run, part);
    o->warm = before ? warm_path(run, part) : NULL;
    return o->leave && (o->warm || !before) ? SCANT_OK : SCANT_ENOMEM;
}

scant_status loop_training_files(loop_run *run, size_t part, scant_train_opts *o) {
    char state = *part_state(run, part);
    bool begun = state == LOOP_SLOT_A || state == LOOP_SLOT_B;
    char *to = checkpoint_path(run, part, other_slot(state));
    char *from = begun ? checkpoint_path(run, part, state) : NULL;
    if (!to || (begun && !from)) return SCANT_ENOMEM;
    o->checkpoint = to;
    o->only_cancelled = 1;
    o->resume_from = from;
    o->resume = begun && access(from, F_OK) == 0;
    if (begun && !o->resume)
        scant__warn(run->ctx, "%s: is lost; this training starts over", from);
    unlink(to); /* the state does not name it */
    return set_warm(run, part, o);
}

void loop_training_cancelled(loop_run *run, size_t part, const scant_train_opts *o) {
    char *state = part_state(run, part);
    if (access(o->checkpoint, F_OK) == 0) *state = other_slot(*state);
}

char *loop_draws_path(loop_run *run) { return file_path(run, "samples", ".npy"); }

/* ---- a round that is cancelled ----------------------------------------------------- */

static scant_status save_trained(loop_run *run, scant_net *net, size_t part) {
    char name[NAME];
    if (!net) return SCANT_OK;
    part_name(name, "trained", run->round.number, part);
    return save(run, net, name);
}

static void forget_other_slot(loop_run *run, size_t part) {
    char state = *part_state(run, part);
    if (state != LOOP_SLOT_A && state != LOOP_SLOT_B) return;
    char *old = checkpoint_path(run, part, other_slot(state));
    if (old) unlink(old);
}

scant_status loop_partial_keep(loop_run *run) {
    loop_partial *p = &run->state.partial;
    loop_clock(run, LOOP_REST);
    p->there = true;
    p->round = run->round.number;
    p->train_seconds = run->times.seconds[LOOP_TRAINING];
    p->test_seconds = run->times.seconds[LOOP_TESTING];
    for (size_t i = 0; i < p->n_parts; i++)
        if (p->parts[i] == LOOP_TRAINED) TRY(save_trained(run, loop_part(run, i), i));
    size_t members = run->recipe.members;
    for (size_t i = 0; run->net && i < members; i++) /* the others are gone */
        TRY(save_trained(run, scant_net_member(run->net, i),
                         run->round.chosen * members + i));
    if (p->query == LOOP_TRAINED) TRY(save_trained(run, run->query_net, LOOP_QUERY));
    TRY(loop_keep(run));
    for (size_t i = 0; i < p->n_parts; i++) forget_other_slot(run, i);
    forget_other_slot(run, LOOP_QUERY);
    return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
}

static scant_status load_trained(loop_run *run, size_t part, scant_net *net) {
    char name[NAME];
    char *left = run->job->e->set.warm ? left_path(run, part) : NULL;
    if (run->job->e->set.warm && !left) return SCANT_ENOMEM;
    if (left && access(left, R_OK) != 0)
        return scant__fail(run->ctx, SCANT_EIO, "%s: cannot be read", left);
    part_name(name, "trained", run->round.number, part);
    return load(run, name, net);
}

/* Files that are lost, damaged, or of another build. */
static bool can_be_done_again(loop_run *run, scant_status status) {
    if (status != SCANT_EINPUT && status != SCANT_EIO) return false;
    scant__warn(run->ctx, "%s; its network of round %zu is trained again", run->ctx->err,
                run->round.number);
    return true;
}

/* Where all are evaluated one is enough. */
static scant_status load_models(loop_run *run) {
    const loop_partial *p = &run->state.partial;
    const loop_round *r = &run->round;
    bool all = p->n_tested == r->n_models;
    for (size_t i = 0; i < p->n_parts; i++) {
        size_t model = i / run->recipe.members;
        scant_net **net = &r->models[model];
        if (p->parts[i] != LOOP_TRAINED) continue;
        if (all && model != loop_median(p->results, r->n_models)) continue;
        if (!*net) TRY(loop_net_make(run, loop_weights_seed(run, model), net));
        TRY(load_trained(run, i, loop_part(run, i)));
    }
    return SCANT_OK;
}

/* Nothing of the round is trained then. */
static scant_status unload_models(loop_run *run) {
    for (size_t i = 0; i < run->round.n_models; i++) {
        scant_net_free(run->round.models[i]);
        run->round.models[i] = NULL;
    }
    if (run->job->e->set.reinit || !run->round.number) return SCANT_OK;
    return recall(run, WEIGHTS, &run->round.models[0]);
}

/* Models are trained one after the other, and evaluated whole. */
static bool is_whole(const loop_run *run, const loop_partial *p) {
    size_t members = run->recipe.members, models = run->round.n_models;
    size_t tested = p->n_tested * members, begun = tested + members;
    bool whole = p->n_tested <= models && p->n_parts == models * members;
    for (size_t i = 0; whole && i < p->n_parts; i++)
        whole = i < tested ? p->parts[i] == LOOP_TRAINED
                           : i < begun || p->parts[i] == LOOP_NOT_BEGUN;
    return whole;
}

/* On failure the query network is as it was. */
static scant_status load_query_net(loop_run *run) {
    bool made = !run->query_net;
    if (made) TRY(loop_net_make(run, 0, &run->query_net));
    scant_status status = load_trained(run, LOOP_QUERY, run->query_net);
    if (status != SCANT_OK && made) {
        scant_net_free(run->query_net);
        run->query_net = NULL;
    }
    return status;
}

/* Nothing of the round is trained. */
static scant_status begin_anew(loop_run *run) {
    scant__arena *arena = &run->round.arena;
    loop_partial p = {.there = run->state.partial.there,
                      .round = run->round.number,
                      .n_parts = run->round.n_models * run->recipe.members,
                      .query = LOOP_NOT_BEGUN};
    p.parts = scant__arena_alloc(arena, p.n_parts, 1);
    p.results = scant__arena_zalloc(arena, p.n_parts, sizeof *p.results);
    p.epochs = scant__arena_zalloc(arena, p.n_parts, sizeof *p.epochs);
    if (!p.parts || !p.results || !p.epochs) return SCANT_ENOMEM;
    memset(p.parts, LOOP_NOT_BEGUN, p.n_parts);
    run->state.partial = p;
    return SCANT_OK;
}

scant_status loop_partial_recall(loop_run *run) {
    loop_partial *p = &run->state.partial;
    if (!p->there || !is_whole(run, p)) return begin_anew(run);
    scant_status status = load_models(run);
    if (status != SCANT_OK) {
        if (!can_be_done_again(run, status)) return status;
        TRY(begin_anew(run));
        return unload_models(run);
    }
    if (p->query == LOOP_TRAINED) status = load_query_net(run);
    if (status != SCANT_OK) {
        if (!can_be_done_again(run, status)) return status;
        p->query = LOOP_NOT_BEGUN;
    }
    run->times.seconds[LOOP_TRAINING] += p->train_seconds;
    run->times.seconds[LOOP_TESTING] += p->test_seconds;
    return SCANT_OK;
}

/* Whether a file of the runs' folder is of a cancelled round of this run: which. */
static bool is_partial(const char *name, const char *run, size_t *round) {
    static const char *const kinds[] = {".trained-", ".training-", ".left-", ".samples."};
    size_t length = strlen(run);
    if (strncmp(name, run, length) != 0) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t kind = strlen(kinds[i]);
        if (strncmp(name + length, kinds[i], kind) != 0) continue;
        const char *digits = name + length + kind;
        char *end;
        *round = (size_t)strtoull(digits, &end, 10);
        if (end == digits) *round = SIZE_MAX;
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

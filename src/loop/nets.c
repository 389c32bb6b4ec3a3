/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's networks on disk. The state (run_state.c) names the valid files. It is written
 * after the files it names, and files that it no longer names are removed afterwards. So
 * the state always matches its files, whatever else is in the folder. Names end in
 * .safetensors, that of the posterior draws in .npy.
 *
 *   RUN.weights-R, RUN.query-R       weights after round R (train.reinit = no)
 *   RUN.warm-R, RUN.warm-query-R     final states of their trainings (train.warm = yes)
 *   RUN.weights-R-I, RUN.warm-R-I    the same for members 1, 2, ... of an ensemble
 *   RUN.left-R-P, RUN.left-R-query   final states, while round R is in progress
 *   RUN.trained-R-P, .trained-R-query   weights of round R, if it was cancelled
 *   RUN.training-R-P-S               the checkpoint of a cancelled training (S: a or b)
 *   RUN.samples                      posterior draws, until they are read
 *
 * Ctrl-C cancels a round. Finished trainings are kept as weights with test results, the
 * others as checkpoints. For one that has collapsed and is to be repeated (retry.c), only
 * that fact is stored: its repetition starts over. Evidence and picks are computed again
 * from the weights, which are restored exactly. If a file of a cancelled round cannot be
 * read, its network is trained again.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/file.h"
#include "data/source.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { WEIGHTS, QUERY, WARM, WARM_QUERY, START_FILES };
static const char *const start_files[START_FILES] = {"weights", "query", "warm",
                                                     "warm-query"};

/* The path of a file that the next round starts from, in the round's arena; NULL: out of
 * memory. */
static char *start_path(loop_run *run, size_t which, size_t round, size_t member) {
    char number[24] = "";
    if (member) snprintf(number, sizeof number, "-%zu", member);
    return scant__arena_format(&run->round.arena, "%s.%s-%zu%s.safetensors", run->path,
                               start_files[which], round, number);
}

/* The path of a part's file in this round; slot 0: the name has no slot. */
static char *part_path(loop_run *run, const char *what, size_t part, char slot) {
    char number[24] = "query", ending[3] = {slot ? '-' : 0, slot};
    if (part != LOOP_QUERY) snprintf(number, sizeof number, "%zu", part);
    return scant__arena_format(&run->round.arena, "%s.%s-%zu-%s%s.safetensors", run->path,
                               what, run->round.number, number, ending);
}

static scant_status save(scant_net *net, const char *path) {
    return path ? scant_net_save(net, path) : SCANT_ENOMEM;
}

static scant_status load(scant_net *net, const char *path) {
    return path ? scant_net_load(net, path, false) : SCANT_ENOMEM;
}

/* ---- between rounds ---------------------------------------------------------------- */

/* Copies the file instead of linking it: until the state is written, the round may still
 * be cancelled, and then it needs its own file. */
static scant_status save_warm(loop_run *run, size_t which, size_t part, size_t member) {
    char *from = part_path(run, "left", part, 0);
    char *to = start_path(run, which, run->round.number, member);
    AUTO(scant__source_close) scant__source source = {0};
    if (!from || !to) return SCANT_ENOMEM;
    TRY(scant__source_map(run->ctx, from, &source));
    return scant_file_write(run->ctx, to, source.bytes, source.size);
}

scant_status loop_nets_save(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t round = run->round.number, members = run->recipe.members;
    if (set->reinit) return SCANT_OK;
    bool ends = set->warm && loop_state_labels(&run->state, round) > 0;
    for (size_t i = 0; i < members; i++) {
        TRY(save(scant_net_member(run->net, i), start_path(run, WEIGHTS, round, i)));
        if (ends) TRY(save_warm(run, WARM, run->round.chosen * members + i, i));
    }
    if (!run->query_net) return SCANT_OK;
    TRY(save(run->query_net, start_path(run, QUERY, round, 0)));
    return ends ? save_warm(run, WARM_QUERY, LOOP_QUERY, 0) : SCANT_OK;
}

void loop_nets_delete(loop_run *run, size_t round) {
    const loop_settings *set = &run->job->e->set;
    if (set->reinit) return;
    for (size_t k = 0; k < START_FILES * loop_members(set); k++) {
        char *path = start_path(run, k % START_FILES, round, k / START_FILES);
        if (path) unlink(path);
    }
}

/* A lost file fails this run only; the weights cannot be recomputed. */
static scant_status load_net(loop_run *run, size_t which, scant_net **net) {
    char why[SCANT__ERR_SIZE];
    scant_status status = SCANT_OK;
    TRY(loop_net_make(run, 0, run->recipe.members, net));
    for (size_t i = 0; i < scant_net_members(*net) && status == SCANT_OK; i++)
        status = load(scant_net_member(*net, i),
                      start_path(run, which, run->state.n_points - 1, i));
    if (status != SCANT_EINPUT) return status;
    memcpy(why, run->ctx->err, sizeof why);
    return scant__fail(run->ctx, status, "%s; delete %s.json to start this run over", why,
                       run->path);
}

scant_status loop_nets_load(loop_run *run) {
    const scant_experiment *e = run->job->e;
    if (e->set.reinit || !run->state.n_points) return SCANT_OK;
    TRY(load_net(run, WEIGHTS, &run->net));
    return *e->set.query_seed ? load_net(run, QUERY, &run->query_net) : SCANT_OK;
}

/* ---- files of a training ----------------------------------------------------------- */

char *loop_part_state(loop_run *run, size_t part) {
    loop_partial *p = &run->state.partial;
    return part == LOOP_QUERY ? &p->query : &p->parts[part];
}

static bool has_checkpoint(char state) {
    return state == LOOP_SLOT_A || state == LOOP_SLOT_B;
}

static char other_slot(char slot) {
    return slot == LOOP_SLOT_A ? LOOP_SLOT_B : LOOP_SLOT_A;
}

/* After round 0 there is only one model, so its parts are its members. */
static scant_status set_warm(loop_run *run, size_t part, scant_train_opts *o) {
    size_t round = run->round.number;
    bool query = part == LOOP_QUERY;
    if (!run->job->e->set.warm) return SCANT_OK;
    bool before = round && loop_state_labels(&run->state, round - 1);
    o->warm_out = part_path(run, "left", part, 0);
    o->warm =
        before ? start_path(run, query ? WARM_QUERY : WARM, round - 1, query ? 0 : part)
               : NULL;
    return o->warm_out && (o->warm || !before) ? SCANT_OK : SCANT_ENOMEM;
}

scant_status loop_training_files(loop_run *run, size_t part, scant_train_opts *o) {
    char state = *loop_part_state(run, part);
    bool begun = has_checkpoint(state);
    char *to = part_path(run, "training", part, other_slot(state));
    char *from = begun ? part_path(run, "training", part, state) : NULL;
    if (!to || (begun && !from)) return SCANT_ENOMEM;
    o->checkpoint = to;
    o->only_cancelled = 1;
    o->resume_from = from;
    o->resume = begun && access(from, F_OK) == 0;
    if (begun && !o->resume)
        scant__warn(run->ctx, "%s: is missing; this training starts over", from);
    unlink(to); /* a leftover: the state does not name it */
    return set_warm(run, part, o);
}

void loop_training_cancelled(loop_run *run, size_t part, const scant_train_opts *o) {
    char *state = loop_part_state(run, part);
    if (access(o->checkpoint, F_OK) == 0) *state = other_slot(*state);
}

/* ---- cancelled rounds -------------------------------------------------------------- */

static scant_status save_trained(loop_run *run, scant_net *net, size_t part) {
    return net ? save(net, part_path(run, "trained", part, 0)) : SCANT_OK;
}

static void delete_other_slot(loop_run *run, size_t part) {
    char state = *loop_part_state(run, part);
    if (!has_checkpoint(state)) return;
    char *old = part_path(run, "training", part, other_slot(state));
    if (old) unlink(old);
}

scant_status loop_partial_save(loop_run *run) {
    loop_partial *p = &run->state.partial;
    loop_timer_begin(run, LOOP_REST);
    p->on_disk = true;
    p->round = run->round.number;
    p->train_seconds = run->times.seconds[LOOP_TRAINING];
    p->test_seconds = run->times.seconds[LOOP_TESTING];
    for (size_t i = 0; i < p->n_parts; i++)
        if (p->parts[i] == LOOP_TRAINED) TRY(save_trained(run, loop_part(run, i), i));
    size_t members = run->recipe.members;
    for (size_t i = 0; run->net && i < members; i++) /* the chosen model */
        TRY(save_trained(run, scant_net_member(run->net, i),
                         run->round.chosen * members + i));
    if (p->query == LOOP_TRAINED) TRY(save_trained(run, run->query_net, LOOP_QUERY));
    TRY(loop_run_save(run));
    for (size_t i = 0; i < p->n_parts; i++) delete_other_slot(run, i);
    delete_other_slot(run, LOOP_QUERY);
    return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
}

static scant_status load_trained(loop_run *run, size_t part, scant_net *net) {
    char *left = part_path(run, "left", part, 0);
    if (!left) return SCANT_ENOMEM;
    if (run->job->e->set.warm && access(left, R_OK) != 0) {
        char why[SCANT__ERRNO_TEXT];
        int number = errno;
        return scant__fail(run->ctx, SCANT_EIO, "%s: cannot be read: %s", left,
                           scant__errno_text(number, why));
    }
    return load(net, part_path(run, "trained", part, 0));
}

/* Returns true, with a warning, if a network must be trained again, because its file is
 * lost or damaged. */
static bool is_retrained(loop_run *run, scant_status status) {
    if (status != SCANT_EINPUT && status != SCANT_EIO) return false;
    scant__warn(run->ctx, "%s; its network of round %zu is trained again", run->ctx->err,
                run->round.number);
    return true;
}

/* If all models are evaluated, only the chosen one is loaded. */
static scant_status load_models(loop_run *run) {
    const loop_partial *p = &run->state.partial;
    const loop_round *r = &run->round;
    bool all = p->n_tested == r->n_models;
    for (size_t i = 0; i < p->n_parts; i++) {
        size_t model = i / run->recipe.members;
        scant_net **net = &r->models[model];
        if (p->parts[i] != LOOP_TRAINED) continue;
        if (all && model != loop_kept(&run->job->e->set, p->results, r->n_models))
            continue;
        if (!*net)
            TRY(loop_net_make(
                run, loop_net_seed(run, run->round.number, model, LOOP_SEED_WEIGHTS),
                run->recipe.members, net));
        TRY(load_trained(run, i, loop_part(run, i)));
    }
    return SCANT_OK;
}

/* Drops the models; with reinit = no, reads the previous round's weights again. */
static scant_status unload_models(loop_run *run) {
    loop_drop_models(run);
    if (run->job->e->set.reinit || !run->round.number) return SCANT_OK;
    return load_net(run, WEIGHTS, &run->round.models[0]);
}

/* Whether the parts' states agree with the order of training: a model is trained and
 * evaluated before the next one begins. */
static bool is_consistent(const loop_run *run, const loop_partial *p) {
    size_t members = run->recipe.members, models = run->round.n_models;
    size_t tested = p->n_tested * members, begun = tested + members;
    bool whole = p->n_tested <= models && p->n_parts == models * members;
    for (size_t i = 0; whole && i < p->n_parts; i++)
        whole = i < tested ? p->parts[i] == LOOP_TRAINED
                           : i < begun || p->parts[i] == LOOP_NOT_BEGUN;
    if (!whole || loop_retries(run)) return whole;
    return p->query != LOOP_COLLAPSED && !memchr(p->parts, LOOP_COLLAPSED, p->n_parts);
}

/* On failure the query network is unchanged. */
static scant_status load_query_net(loop_run *run) {
    if (run->query_net) return load_trained(run, LOOP_QUERY, run->query_net);
    TRY(loop_net_make(run, 0, 1, &run->query_net));
    return learn_free_on_failure(load_trained(run, LOOP_QUERY, run->query_net),
                                 &run->query_net);
}

/* Resets the round's progress: no part is trained. */
static scant_status reset_partial(loop_run *run) {
    scant__arena *arena = &run->round.arena;
    loop_partial p = {.on_disk = run->state.partial.on_disk,
                      .round = run->round.number,
                      .n_parts = run->round.n_models * run->recipe.members,
                      .query = LOOP_NOT_BEGUN,
                      .query_health = {.dead = -1, .gradient_norm = -1}};
    p.parts = TRY_NEW(arena, char, p.n_parts);
    p.results = TRY_ZERO(arena, loop_test_result, p.n_parts);
    p.epochs = TRY_ZERO(arena, size_t, p.n_parts);
    p.healths = TRY_ZERO(arena, loop_health, p.n_parts);
    memset(p.parts, LOOP_NOT_BEGUN, p.n_parts);
    run->state.partial = p;
    return SCANT_OK;
}

scant_status loop_partial_load(loop_run *run) {
    loop_partial *p = &run->state.partial;
    if (!p->on_disk || !is_consistent(run, p)) return reset_partial(run);
    scant_status status = load_models(run);
    if (status != SCANT_OK) {
        if (!is_retrained(run, status)) return status;
        TRY(reset_partial(run));
        return unload_models(run);
    }
    if (p->query == LOOP_TRAINED) status = load_query_net(run);
    if (status != SCANT_OK) {
        if (!is_retrained(run, status)) return status;
        p->query = LOOP_NOT_BEGUN;
    }
    run->times.seconds[LOOP_TRAINING] += p->train_seconds;
    run->times.seconds[LOOP_TESTING] += p->test_seconds;
    return SCANT_OK;
}

/* Whether a file belongs to a cancelled round of this run. *round: the round, or SIZE_MAX
 * if the name has none. */
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

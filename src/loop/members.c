/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of an ensemble, trained side by side: as many at once as the run has
 * threads, each with its share of them. With no more threads than members that is one
 * each, and what members learn does not hang on how many there are.
 *
 * A context serves one thread. So a member is trained as a network of a context of its
 * own, which begins with the member's weights and gives them back; contexts, networks and
 * what training takes are there for those that are at work, not for all members. The run
 * is copied for each of them: the copies share what is on disk and a byte a part of the
 * round (loop_partial), which nobody else changes.
 *
 * One that fails ends the others; when all are cancelled each keeps what it has.
 */
#include <stdio.h>
#include <string.h>

#include "loop/loop.h"
#include "nn/network.h"
#include "scant/train.h"

typedef struct loop_side {
    loop_run *run;
    scant_net *net;
    const loop_labelled *labelled;
    const loop_lesson *lessons;
    size_t epochs;
    unsigned threads; /* of each */
    size_t n_members;
    scant_status status; /* of the first that failed of itself */
    char error[SCANT__ERR_SIZE];
    atomic_uint done[LOOP_MEMBERS]; /* of each training, in parts of WHOLE */
} loop_side;

enum { WHOLE = 1 << 20 };

double loop_side_done(const loop_run *run, double part) {
    loop_side *side = run->side;
    double sum = 0;
    atomic_store(&side->done[run->member], (unsigned)(part * WHOLE));
    for (size_t i = 0; i < side->n_members; i++)
        sum += (double)atomic_load(&side->done[i]);
    return sum / WHOLE;
}

/* A member at work, and its weights on their way. */
typedef struct pupil {
    loop_side *side;
    const loop_lesson *what;
    loop_run run; /* the copy */
    scant_net *net;
    float *plain; /* all numbers of the network */
    scant_status status;
} pupil;

/* ---- on the run's thread, which alone may use the ensemble ---- */

/* What went wrong with the ensemble's is said by its context. */
static void settle(pupil *p, scant_status status) {
    p->status = status;
    if (status != SCANT_OK)
        memcpy(p->run.ctx->err, p->side->run->ctx->err, sizeof p->run.ctx->err);
}

static void give_weights(void *arg) {
    pupil *p = arg;
    scant_net *member = scant_net_member(p->side->net, p->what->member);
    settle(p, nn_weights_get(member->weights, p->plain));
}

static void take_weights(void *arg) {
    pupil *p = arg;
    scant_net *member = scant_net_member(p->side->net, p->what->member);
    settle(p, nn_weights_set(member->weights, p->plain));
    if (p->status == SCANT_OK && p->what->part != LOOP_ASIDE)
        p->side->run->state.partial.parts[p->what->part] = LOOP_TRAINED;
}

static void take_failure(void *arg) {
    const pupil *p = arg;
    loop_side *side = p->side;
    const char *text = p->run.ctx ? p->run.ctx->err : "";
    scant__crew_stop(p->run.members);
    if (p->status == SCANT_ECANCELLED || side->status != SCANT_OK) return;
    side->status = p->status;
    snprintf(side->error, sizeof side->error, "%s",
             *text ? text : scant_status_text(p->status));
}

/* ---- on its own ---- */

static scant_status learn(pupil *p) {
    const loop_side *side = p->side;
    loop_run *run = &p->run;
    TRY(loop_net_make_one(run, 0, &p->net));
    size_t n = p->net->net->n_floats;
    p->plain = scant__alloc(run->ctx, n, sizeof *p->plain);
    if (!p->plain) return SCANT_ENOMEM;
    scant__crew_ask(run->members, give_weights, p);
    TRY(p->status);
    TRY(nn_weights_set(p->net->weights, p->plain));
    TRY(loop_net_train(run, p->net, side->labelled, p->what->seed, side->epochs,
                       p->what->part));
    TRY(nn_weights_get(p->net->weights, p->plain));
    scant__crew_ask(run->members, take_weights, p);
    return p->status;
}

static void work(scant__crew *crew, void *arg, size_t number, unsigned seat) {
    loop_side *side = arg;
    pupil p = {.side = side, .what = &side->lessons[number], .run = *side->run};
    (void)seat;
    p.run.members = crew;
    p.run.side = side;
    p.run.member = p.what->member;
    p.run.ctx = NULL;
    p.status = loop_ctx_create(&p.run, side->threads, &p.run.ctx);
    if (p.status == SCANT_OK) p.status = learn(&p);
    if (p.status != SCANT_OK) scant__crew_ask(crew, take_failure, &p);
    scant_net_free(p.net);
    if (p.run.ctx) scant__free(p.run.ctx, p.plain);
    scant_ctx_free(p.run.ctx);
}

/* ---- all ---- */

static scant_status one_after_the_other(loop_run *run, scant_net *net,
                                        const loop_labelled *labelled,
                                        const loop_lesson *lessons, size_t n,
                                        size_t epochs) {
    for (size_t i = 0; i < n; i++) {
        const loop_lesson *l = &lessons[i];
        TRY(loop_net_train(run, scant_net_member(net, l->member), labelled, l->seed,
                           epochs, l->part));
        if (l->part != LOOP_ASIDE) run->state.partial.parts[l->part] = LOOP_TRAINED;
    }
    return SCANT_OK;
}

scant_status loop_members_train(loop_run *run, scant_net *net,
                                const loop_labelled *labelled, const loop_lesson *lessons,
                                size_t n, size_t epochs) {
    size_t members = scant_net_members(net);
    unsigned seats = (unsigned)size_min(members, run->ctx->threads);
    if (seats == 1) return one_after_the_other(run, net, labelled, lessons, n, epochs);
    loop_side side = {.run = run,
                      .net = net,
                      .labelled = labelled,
                      .lessons = lessons,
                      .epochs = epochs,
                      .threads = run->ctx->threads / seats,
                      .n_members = members};
    for (size_t i = 0; i < members; i++) atomic_init(&side.done[i], WHOLE);
    for (size_t i = 0; i < n; i++) atomic_init(&side.done[lessons[i].member], 0);
    run->own = true;
    scant_status calling = scant__crew_run(run->ctx, n, seats, work, &side);
    if (side.status == SCANT_OK) return calling;
    return scant__fail(run->ctx, side.status, "%s", side.error);
}

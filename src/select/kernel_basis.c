/* SPDX-License-Identifier: Apache-2.0 */
#include "select/kernel_basis.h"

#include "linalg/bss_sampling.h"
#include "linalg/ntk.h"

enum { SPARE = 256 }; /* overhead of arena and allocator per block */

static bool is_whole(size_t n) { return n <= SELECT_KERNEL_WHOLE; }

static size_t gram_bytes(size_t n) {
    return size_add(size_mul(size_mul(n, n), sizeof(double)), SPARE);
}

static scant_status build_whole(scant_selection *sel, const la_kernel *kernel,
                                const size_t *rows, size_t n, size_t most,
                                la_basis *basis) {
    AUTO(scant__arena_end) scant__arena gram = {.ctx = sel->ctx};
    AUTO(scant__arena_end) scant__arena room = {.ctx = sel->ctx};
    double *k = TRY_NEW(&gram, double, size_mul(n, n));
    TRY(la_kernel_gram(kernel, rows, n, k, &room));
    scant__arena_end(&room);
    return la_basis_of_gram(basis, sel->arena, k, n, most);
}

static scant_status build_near(select_kernel_basis *k, scant_selection *sel,
                               const la_kernel *kernel, const size_t *rows, size_t n,
                               size_t most, la_basis *basis) {
    k->landmarks = SELECT_KERNEL_LANDMARKS;
    TRY(la_nystroem_build(&k->near, sel->arena, kernel, rows, n, k->landmarks,
                          sel->seed));
    if (k->near.rows.d == 0)
        return scant__fail(sel->ctx, SCANT_EINPUT,
                           "%s: all %zu landmarks of the kernel over %zu rows are rows "
                           "of zeros; leave such rows out (--candidates)",
                           scant_array_name(sel->pool.features), k->landmarks, n);
    scant__warn(sel->ctx,
                "%s: the kernel over %zu rows is approximated by %zu random landmarks, "
                "which explain %.4g%% of it",
                sel->strategy->info.name, n, k->landmarks, 100 * k->near.explained);
    k->view = (la_view){.h = &k->near.rows, .m = n};
    return la_basis_build(basis, sel->arena, &k->view, most);
}

scant_status select_kernel_basis_build(select_kernel_basis *k, scant_selection *sel,
                                       const la_view *features, const size_t *rows,
                                       size_t n, size_t most, la_basis *basis) {
    la_ntk ntk = {features, sel->depth};
    la_kernel kernel;
    *k = (select_kernel_basis){0};
    la_kernel_of_ntk(&ntk, &kernel);
    if (is_whole(n)) return build_whole(sel, &kernel, rows, n, most, basis);
    return build_near(k, sel, &kernel, rows, n, most, basis);
}

/* ---- memory ------------------------------------------------------------------------ */

size_t select_kernel_basis_memory_kept(size_t n, size_t most) {
    size_t m = SELECT_KERNEL_LANDMARKS;
    la_rows rows = {.n = n, .d = is_whole(n) ? size_min(most, n) : m, .type = LA_F64};
    la_view view = {.h = &rows, .m = n};
    size_t drawing = la_bss_memory(&view, size_min(most, rows.d));
    if (is_whole(n)) return size_add(la_basis_of_gram_memory_kept(n, most), drawing);
    size_t kept =
        size_add(la_nystroem_memory_kept(n, m), la_basis_memory_kept(&view, most));
    return size_add(kept, drawing);
}

size_t select_kernel_basis_memory(const scant_selection *sel, const la_view *features,
                                  size_t n, size_t most) {
    unsigned threads = sel->ctx->threads;
    la_ntk ntk = {features, sel->depth};
    la_kernel kernel;
    la_kernel_of_ntk(&ntk, &kernel);
    if (is_whole(n)) {
        size_t then = size_max(la_kernel_gram_memory(&kernel, threads),
                               la_basis_of_gram_memory(n, most, threads));
        return size_add(gram_bytes(n), then);
    }
    size_t m = SELECT_KERNEL_LANDMARKS;
    la_rows rows = {.n = n, .d = m, .type = LA_F32};
    la_view view = {.h = &rows, .m = n};
    size_t then =
        size_add(la_nystroem_memory_kept(n, m), la_basis_memory(&view, most, threads));
    return size_max(la_nystroem_memory(&kernel, n, m, threads), then);
}

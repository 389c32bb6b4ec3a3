/* SPDX-License-Identifier: Apache-2.0
 *
 * The basis of bss where a call has a kernel (linalg/ntk.h): the functions of the
 * kernel's feature space, orthonormal over the rows that may be picked. Of up to
 * SELECT_KERNEL_WHOLE rows they are had from the eigenvectors of the n x n kernel matrix;
 * of more, by landmarks (linalg/nystroem.h), with a warning that says how much of the
 * kernel those explain.
 */
#ifndef SCANT_SELECT_KERNEL_BASIS_H
#define SCANT_SELECT_KERNEL_BASIS_H

#include "linalg/basis.h"
#include "linalg/nystroem.h"
#include "select/strategy.h"

enum { SELECT_KERNEL_WHOLE = 4096, SELECT_KERNEL_LANDMARKS = 1024 };

typedef struct select_kernel_basis {
    la_nystroem near;
    la_view view;     /* its rows; where there are landmarks */
    size_t landmarks; /* 0: none, and nothing above is filled */
} select_kernel_basis;

/* Of the features of a view, at the n rows that are listed: place i of the basis is row
 * rows[i]. k must outlive the basis and stay where it is. */
scant_status select_kernel_basis_build(select_kernel_basis *k, select_req *req,
                                       const la_view *features, const size_t *rows,
                                       size_t n, size_t most, la_basis *basis);
/* What that allocates at once, at most; and what of it stays, with a barrier's state. */
size_t select_kernel_basis_memory(const select_req *req, const la_view *features,
                                  size_t n, size_t most);
size_t select_kernel_basis_memory_kept(size_t n, size_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The basis of bss with a kernel (linalg/ntk.h): functions of the kernel's feature space,
 * orthonormal over the available rows. Up to SELECT_KERNEL_WHOLE rows, they come from the
 * eigenvectors of the n x n kernel matrix; for more, from landmarks (linalg/nystroem.h),
 * with a warning that says what fraction of the kernel they explain.
 */
#ifndef SCANT_SELECT_KERNEL_BASIS_H
#define SCANT_SELECT_KERNEL_BASIS_H

#include "linalg/basis.h"
#include "linalg/nystroem.h"
#include "select/strategy.h"

enum { SELECT_KERNEL_WHOLE = 4096, SELECT_KERNEL_LANDMARKS = 1024 };

typedef struct select_kernel_basis {
    la_nystroem near;
    la_view view;     /* rows of the approximation, if there are landmarks */
    size_t landmarks; /* 0 if none: the members above are then unset */
} select_kernel_basis;

/* Builds the basis from a view's features at the n listed rows: row i of the basis is row
 * rows[i] of the view. k must outlive the basis and not move. */
scant_status select_kernel_basis_build(select_kernel_basis *k, scant_selection *sel,
                                       const la_view *features, const size_t *rows,
                                       size_t n, size_t most, la_basis *basis);
/* Returns the peak memory of select_kernel_basis_build(), with the state of la_bss. */
size_t select_kernel_basis_memory(const scant_selection *sel, const la_view *features,
                                  size_t n, size_t most);
/* Returns the part of it that stays allocated. */
size_t select_kernel_basis_memory_kept(size_t n, size_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * All monomials of a row's numbers up to a degree, as rows: the constant (optional), x_1
 * .. x_d, x_1 x_1, x_1 x_2, .. in order of degree. Each takes one multiplication.
 */
#ifndef SCANT_SELECT_MONOMIALS_H
#define SCANT_SELECT_MONOMIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"
#include "linalg/rows.h"

typedef struct select_monomials {
    const la_rows *x; /* rows of double */
    double scale;     /* factor of x */
    bool constant;
    size_t count;
    uint32_t *parent, *factor; /* from degree 2 on: indices of the two factors */
} select_monomials;

/* Returns the number of monomials; SIZE_MAX on overflow. */
size_t select_monomials_count(size_t d, size_t degree, bool constant);
size_t select_monomials_memory(size_t count);
/* x must outlive m, and m must outlive the rows that use it; count < 2^32. */
scant_status select_monomials_init(select_monomials *m, scant__arena *arena,
                                   const la_rows *x, double scale, size_t degree,
                                   bool constant);
void select_monomial_rows(const select_monomials *m, la_rows *out);

#endif

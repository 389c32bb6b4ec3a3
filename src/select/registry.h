/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of strategies: a line here, and a file that defines select_strategy_NAME.
 */
#ifndef SCANT_SELECT_REGISTRY_H
#define SCANT_SELECT_REGISTRY_H

#include "select/strategy.h"

/* In the order people see them. */
#define SELECT_STRATEGIES(X)                                                             \
    X(random)                                                                            \
    X(confidence)                                                                        \
    X(margin)                                                                            \
    X(entropy)                                                                           \
    X(egl)                                                                               \
    X(coreset)                                                                           \
    X(badge)                                                                             \
    X(bald)                                                                              \
    X(batchbald)                                                                         \
    X(dynamic)                                                                           \
    X(npc)                                                                               \
    X(crc)                                                                               \
    X(sparse_greedy)                                                                     \
    X(sparse_iht)                                                                        \
    X(acs_fw)                                                                            \
    X(bss)                                                                               \
    X(albl)

#define SELECT_DECLARE(name) extern const scant_strategy select_strategy_##name;
SELECT_STRATEGIES(SELECT_DECLARE)
#undef SELECT_DECLARE

const scant_strategy *select_strategy_find(const char *name); /* or NULL */

#endif

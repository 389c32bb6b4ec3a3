/* SPDX-License-Identifier: Apache-2.0
 *
 * A strategy's own options: the only place where their defaults and limits are applied.
 */
#ifndef SCANT_SELECT_OPTIONS_H
#define SCANT_SELECT_OPTIONS_H

#include "select/strategy.h"

/* One value for each option of the strategy's table, from settings or the default, which
 * may be another one in a call with a kernel. */
scant_status select_options_resolve(scant__arena *arena, const scant_strategy *strategy,
                                    const scant_setting *settings, size_t n_settings,
                                    bool kernel, select_value **out);

/* Reads "ntk:depth=K"; fails where it is none, or where the strategy takes no kernel. */
scant_status select_kernel_parse(scant_ctx *ctx, const scant_strategy *strategy,
                                 const char *text, size_t *depth);

#endif

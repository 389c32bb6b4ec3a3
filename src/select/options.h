/* SPDX-License-Identifier: Apache-2.0
 *
 * A strategy's own options: the only place where their defaults and limits are applied.
 */
#ifndef SCANT_SELECT_OPTIONS_H
#define SCANT_SELECT_OPTIONS_H

#include "select/strategy.h"

/* One value for each option of the strategy's table, from settings or the default. */
scant_status select_options_resolve(scant__arena *arena, const scant_strategy *strategy,
                                    const scant_setting *settings, size_t n_settings,
                                    select_value **out);

#endif

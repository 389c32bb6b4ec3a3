/* SPDX-License-Identifier: Apache-2.0 */
#include "select/strategy.h"

#include <string.h>

#define STRATEGY(name) &select_strategy_##name,
#define INFO(name) &select_strategy_##name.info,
static const scant_strategy *const strategies[] = {SELECT_STRATEGIES(STRATEGY)};
static const scant_strategy_info *const infos[] = {SELECT_STRATEGIES(INFO)};

enum { COUNT = sizeof strategies / sizeof *strategies };

const scant_strategy_info *const *scant_strategies(size_t *count) {
    *count = COUNT;
    return infos;
}

const scant_strategy *select_strategy_find(const char *name) {
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(strategies[i]->info.name, name)) return strategies[i];
    return NULL;
}

const scant_strategy_info *scant_strategy_find(const char *name) {
    const scant_strategy *found = select_strategy_find(name);
    return found ? &found->info : NULL;
}

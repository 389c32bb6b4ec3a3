/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCANT_TESTS_TRAIN_OPTS_H
#define SCANT_TESTS_TRAIN_OPTS_H

#include "scant/train.h"

/* The defaults of a method and optimizer (NULL as in scant_train_defaults()), with
 * changes: TRAIN_OPTS(NULL, "adam", with.epochs = 3, with.lr = 0.1). */
#define TRAIN_OPTS(method_, optimizer_, ...)                                             \
    __extension__({                                                                      \
        scant_train_opts with;                                                           \
        scant_train_defaults(method_, optimizer_, &with);                                \
        __VA_ARGS__;                                                                     \
        with;                                                                            \
    })

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCANT_CORE_CLOCK_H
#define SCANT_CORE_CLOCK_H

/* Seconds on a clock that only goes forward. */
double scant__now(void);

#endif

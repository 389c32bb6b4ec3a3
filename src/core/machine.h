/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the machine, or of the part of it that this process may use.
 */
#ifndef SCANT_CORE_MACHINE_H
#define SCANT_CORE_MACHINE_H

#include <stddef.h>

/* In bytes: the machine's, or less in a control group with a limit (a container, a batch
 * system, systemd), where the system kills a process that takes more. SIZE_MAX: unknown.
 */
size_t scant__machine_memory(void);

/* The lowest limit of the control groups that a process is in, in bytes. groups: a file
 * such as /proc/self/cgroup; root: the folder where control groups are mounted. SIZE_MAX:
 * none. */
size_t scant__group_memory(const char *groups, const char *root);

#endif

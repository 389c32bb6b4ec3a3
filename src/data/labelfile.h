/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads labels given elsewhere: CSV (id, label; answer, annotator, time), JSONL (the same
 * keys) or Label Studio's JSON (tasks with annotations, or JSON-MIN), recognised by
 * content. Includes the files that `scant export` writes.
 *
 * An answer is a label, "skipped", or "unsure".
 */
#ifndef SCANT_DATA_LABELFILE_H
#define SCANT_DATA_LABELFILE_H

#include "core/ctx.h"
#include "scant/project.h"

typedef struct scant__label_line {
    size_t line;    /* in the file; for JSON the task number; from 1 */
    const char *id; /* of the item */
    scant_answer_kind answer;
    const char *label;  /* class name; NULL if the answer is not a label */
    const char *person; /* NULL: unknown */
    int64_t at;         /* milliseconds since 1970; negative: unknown */
} scant__label_line;

/* Calls fn for every answer in order; strings are valid during the call. Rows without a
 * label are skipped unless their answer is skip or unsure. */
scant_status scant__labelfile_read(scant_ctx *ctx, const char *path,
                                   scant_status (*fn)(void *user,
                                                      const scant__label_line *line),
                                   void *user);

#endif

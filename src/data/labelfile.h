/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels that people gave elsewhere: CSV (id, label; answer, annotator, time), JSONL (the
 * same keys) or Label Studio's JSON (a list of tasks with annotations, or its JSON-MIN),
 * told apart by their content. The files that `scant export` writes are among them.
 *
 * An answer is a label, or that the item was skipped, or that its class cannot be told.
 */
#ifndef SCANT_DATA_LABELFILE_H
#define SCANT_DATA_LABELFILE_H

#include "core/ctx.h"
#include "scant/project.h"

typedef struct scant__label_line {
    size_t line;    /* of the file; of JSON, which task; from 1 */
    const char *id; /* the item's */
    scant_answer_kind answer;
    const char *label;  /* the class's name; NULL: the answer is none */
    const char *person; /* NULL: not said */
    int64_t at;         /* milliseconds since 1970; negative: not said */
} scant__label_line;

/* Calls fn for every answer in order; strings are valid within the call. Rows without a
 * label are passed over, unless their answer is skip or unsure. */
scant_status scant__labelfile_read(scant_ctx *ctx, const char *path,
                                   scant_status (*fn)(void *user,
                                                      const scant__label_line *line),
                                   void *user);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads labels from other tools and from `scant export`: CSV (id, label and optionally
 * answer, annotator, time), JSONL (the same keys) or Label Studio's JSON (tasks with
 * annotations, or JSON-MIN). The format is recognised by content.
 *
 * An answer is a label, "skip" or "unsure".
 */
#ifndef SCANT_DATA_LABELFILE_H
#define SCANT_DATA_LABELFILE_H

#include "core/ctx.h"
#include "scant/project.h"

typedef struct scant__label_line {
    size_t line;    /* line number; in a JSON list the task number; from 1 */
    const char *id; /* the item's id */
    scant_answer_kind answer;
    const char *label;  /* class name; NULL if the answer is not a label */
    const char *person; /* NULL: unknown */
    int64_t at;         /* milliseconds since 1970; negative: unknown */
    bool csv; /* id and label are cells: the quote of scant__text_csv_quoted() is there */
} scant__label_line;

/* Calls fn for every answer in order; strings are valid during the call. Rows without a
 * label are skipped unless their answer is skip or unsure. */
scant_status scant__labelfile_read(scant_ctx *ctx, const char *path,
                                   scant_status (*fn)(void *user,
                                                      const scant__label_line *line),
                                   void *user);

#endif

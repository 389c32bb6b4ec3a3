/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of labels; a timestamp that is formatted parses to the same value.
 */
#include "fuzz_data_memfile.h"

#include <string.h>

#include "data/labelfile.h"
#include "data/timestamp.h"
#include "scant/project.h"

static scant_status on_label(void *user, const scant__label_line *line) {
    size_t *before = user;
    char text[SCANT__TIMESTAMP];
    int64_t at;
    bool label = line->answer == SCANT_ANSWER_LABEL;
    if (line->line < *before || !line->id || !*line->id) abort();
    if (label != (line->label != NULL) || (label && !*line->label)) abort();
    if (!label && line->answer != SCANT_ANSWER_SKIP &&
        line->answer != SCANT_ANSWER_UNSURE)
        abort();
    *before = line->line;
    if (line->person && !strlen(line->person)) abort();
    if (line->at < 0) return SCANT_OK;
    if (!scant__timestamp_parse(scant__timestamp_format(line->at, text), &at) ||
        at != line->at)
        abort();
    return SCANT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scant_ctx *ctx = fuzz_ctx();
    memfile f = memfile_open(data, size);
    size_t line = 1;
    scant_status status = scant__labelfile_read(ctx, f.path, on_label, &line);
    if (status != SCANT_OK) check_failure(ctx, status, NULL);
    if (ctx->used) abort();
    close(f.fd);
    scant_ctx_free(ctx);
    return 0;
}

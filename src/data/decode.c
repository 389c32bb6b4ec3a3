/* SPDX-License-Identifier: Apache-2.0 */
#include "data/decode.h"

#include <stdint.h>
#include <string.h>

#include "data/filetype.h"

scant_status scant__decode_image(const scant__decode *job) {
    if (job->size >= 4 && memcmp(job->bytes, "\x89PNG", 4) == 0)
        return scant__decode_png(job);
    if (job->size >= 2 && memcmp(job->bytes, "\xff\xd8", 2) == 0)
        return scant__decode_jpeg(job);
    if (!job->size)
        return scant__fault_set(job->fault, SCANT_EINPUT, "%s: is empty, not an image",
                                job->name);
    return scant__fault_set(job->fault, SCANT_EINPUT,
                            "%s: is neither PNG nor JPEG; it looks like %s", job->name,
                            scant__filetype_name(job->bytes, job->size));
}

scant_status scant__decode_check(const scant__decode *job, size_t width, size_t height) {
    if (!width || !height)
        return scant__fault_set(job->fault, SCANT_EINPUT, "%s: has no pixels", job->name);
    if (width > SCANT__MAX_PIXELS / height)
        return scant__fault_set(job->fault, SCANT_EINPUT,
                                "%s: claims %zu x %zu pixels, at most %d are allowed",
                                job->name, width, height, SCANT__MAX_PIXELS);
    return SCANT_OK;
}

/* ---- EXIF -------------------------------------------------------------------------- */

typedef struct tiff {
    const unsigned char *bytes;
    size_t size;
    bool big; /* endian */
} tiff;

/* Zero if it lies outside. */
static uint32_t number(const tiff *t, size_t at, size_t size) {
    uint32_t value = 0;
    if (at > t->size || size > t->size - at) return 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | t->bytes[t->big ? at + i : at + size - 1 - i];
    return value;
}

int scant__exif_orientation(const unsigned char *bytes, size_t size) {
    enum { ORIENTATION = 0x0112, SHORT = 3, LONG = 4, ENTRY = 12 };
    tiff t = {bytes, size, size && bytes[0] == 'M'};
    if (size < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0))
        return 1;
    size_t at = number(&t, 4, 4), entries = number(&t, at, 2);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = at + 2 + i * ENTRY;
        uint32_t type = number(&t, entry + 2, 2);
        if (number(&t, entry, 2) != ORIENTATION || number(&t, entry + 4, 4) != 1)
            continue;
        if (type != SHORT && type != LONG) continue;
        uint32_t value = number(&t, entry + 8, type == SHORT ? 2 : 4);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * First bytes of files that users give to a program that expects NumPy arrays.
 */
#include "data/filetype.h"

#include <string.h>

static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} starts[] = {
#define START(bytes, what)                                                               \
    { bytes, sizeof(bytes) - 1, what }
    START("\x93NUMPY", "a .npy file"),
    START("PK\x03\x04", "a zip archive"),
    START("PK\x05\x06", "an empty zip archive"),
    START("\x1f\x8b", "a gzip file (unpack it first)"),
    START("\x28\xb5\x2f\xfd", "a zstd file (unpack it first)"),
    START("\xfd"
          "7zXZ",
          "an xz file (unpack it first)"),
    START("BZh", "a bzip2 file (unpack it first)"),
    START("\x89HDF\r\n", "an HDF5 file (save the array with np.save)"),
    START("\x80\x02", "a Python pickle (save the array with np.save)"),
    START("\x80\x03", "a Python pickle (save the array with np.save)"),
    START("\x80\x04", "a Python pickle (save the array with np.save)"),
    START("\x80\x05", "a Python pickle (save the array with np.save)"),
    START("MATLAB", "a MATLAB file (save the array with np.save)"),
    START("PAR1", "a Parquet file (save the array with np.save)"),
    START("ARROW1", "an Arrow file (save the array with np.save)"),
    START("SQLite format 3", "an SQLite database"),
    START("\x89PNG", "a PNG image"),
    START("\xff\xd8\xff", "a JPEG image"),
    START("\x7f"
          "ELF",
          "a program"),
#undef START
};

const char *scant__filetype_name(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (size >= starts[i].size && memcmp(bytes, starts[i].bytes, starts[i].size) == 0)
            return starts[i].what;
    if (size > 10 && bytes[8] == '{' && bytes[9] == '"')
        return "a safetensors file (save the array with np.save)";
    size_t some = size < 512 ? size : 512;
    for (size_t i = 0; i < some; i++)
        if ((bytes[i] < 0x20 && !(bytes[i] && strchr("\t\n\r\f", bytes[i]))) ||
            bytes[i] == 0x7f)
            return "raw bytes (save the array with np.save)";
    return "text (save the array with np.save)";
}

const char *scant__printable(const unsigned char *text, size_t length, char *out,
                             size_t size) {
    size_t n = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = text[i] < 0x20 || text[i] == 0x7f ? '?' : (char)text[i];
    out[n] = 0;
    return out;
}

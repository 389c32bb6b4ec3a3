/* SPDX-License-Identifier: Apache-2.0
 *
 * What files and their errors need in more than one place.
 */
#ifndef SCANT_DATA_FILE_H
#define SCANT_DATA_FILE_H

enum { SCANT__ERRNO_TEXT = 128 };

/* errno's text in the caller's buffer, as strerror() may not be called by two threads. */
const char *scant__errno_text(int number, char out[SCANT__ERRNO_TEXT]);

#endif

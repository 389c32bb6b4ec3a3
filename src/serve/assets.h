/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of web/, compiled in (tools/embed.cmake).
 */
#ifndef SCANT_SERVE_ASSETS_H
#define SCANT_SERVE_ASSETS_H

#include <stddef.h>

typedef struct serve_asset {
    const char *name; /* "app.js" */
    const char *etag; /* hash of the content */
    const unsigned char *bytes;
    size_t size;
} serve_asset;

extern const serve_asset serve_assets[];
extern const size_t serve_n_assets;

#endif

/* assets.h — the files of the page, inside the program. Layer: serve. */
#ifndef MK_SERVE_ASSETS_H
#define MK_SERVE_ASSETS_H

#include <stdint.h>

#include "base/str.h"

/* What the page may load and run: its own files, and nothing else from anywhere. */
#define MK_ASSET_POLICY                                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "    \
    "base-uri 'none'; "                                                                                      \
    "form-action 'none'; frame-ancestors 'none'"

typedef struct mk_asset {
    const char *path; /* "/app.js"; "/" is the page itself */
    const char *type;
    const char *begin, *end;
} mk_asset;

/* NULL: there is none; no other file is ever read. */
const mk_asset *mk_asset_find(mk_str path);
/* All of them, for tests. */
const mk_asset *mk_assets(size_t *count);

#endif

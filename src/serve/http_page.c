/* http_page.c — the page's files over HTTP. See http_internal.h. Layer: serve. */
#include "serve/http_internal.h"

#include <stdio.h>

#include "base/hash.h"
#include "serve/assets.h"

bool mk_http__is_page(const char *path) { return mk_asset_find(mk_str_of(path)) != NULL; }

void mk_http__page(mk_exchange *x)
{
    const mk_asset *asset = mk_asset_find(mk_str_of(x->path));
    const char *known = mk_http__header_of(x, "If-None-Match");
    char tag[24];
    if (asset == NULL) {
        mk_http__refuse(x, 404, MK_E_NOT_FOUND, "there is nothing at this path");
        return;
    }
    const mk_str text = {asset->begin, (size_t)(asset->end - asset->begin)};
    snprintf(tag, sizeof tag, "\"%016llx\"", (unsigned long long)mk_checksum64(text.p, text.n));
    mk_http__header(x, "ETag", "%s", tag);
    mk_http__header(x, "Cache-Control", "no-cache"); /* ask again, and be told that it is the same */
    mk_http__header(x, "Content-Security-Policy", "%s", MK_ASSET_POLICY);
    mk_http__header(x, "Referrer-Policy", "no-referrer");
    if (known != NULL && strcmp(known, tag) == 0)
        mk_http__send(x, 304, NULL);
    else
        mk_http__send_constant(x, 200, asset->type, text);
}

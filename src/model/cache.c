/* cache.c — replies that were given before, one file each. Layer: model.
 *
 * A file is {"guide","key","reply","sha256"}: it says which request it answers, how the reply was guided and
 * what its text hashes to, and one that does not is as if it were not there, and is written anew. */
#include <stdio.h>

#include "base/canon.h"
#include "base/sha256.h"
#include "model/request.h"

#define FILE_MAX ((size_t)64 << 20)

static const mk_fs *files(const mk_model_options *options)
{
    return options->fs != NULL ? options->fs : &mk_fs_posix;
}

static void text_digest(mk_str text, char digest[65])
{
    uint8_t sha[32];
    mk_sha256_of(text.p, text.n, sha);
    mk_hex(digest, sha, sizeof sha);
    digest[64] = '\0';
}

static bool is_text(const mk_json *value, const char *wanted)
{
    return value != NULL && value->kind == MK_JSON_STRING && mk_str_eq(value->text, mk_str_of(wanted));
}

mk_code mk_cache_get(const mk_model_options *options, const mk_alloc *alloc, const char key[65],
                     mk_arena *arena, mk_model_reply *out, bool *found, mk_err *err)
{
    char path[MK_MODEL_TEXT_MAX + 80], digest[65];
    mk_json *tree;
    mk_buf text;
    mk_code rc = MK_OK;
    *found = false;
    if (options->cache_dir[0] == '\0')
        return MK_OK;
    mk_buf_init(&text, alloc);
    snprintf(path, sizeof path, "%s/%s.json", options->cache_dir, key);
    rc = mk_fs_read_all(files(options), path, FILE_MAX, &text, err);
    if (rc == MK_OK)
        rc = mk_json_parse(arena, mk_buf_view(&text), NULL, &tree, err);
    if (rc != MK_OK) {
        rc = rc == MK_E_NOMEM ? rc : MK_OK;
        goto out;
    }
    const mk_json *reply = mk_json_get(tree, "reply");
    if (reply == NULL || reply->kind != MK_JSON_STRING || !is_text(mk_json_get(tree, "key"), key))
        goto out;
    text_digest(reply->text, digest);
    if (!is_text(mk_json_get(tree, "sha256"), digest))
        goto out;
    for (mk_guide g = MK_GUIDE_AUTO; g <= MK_GUIDE_NONE; g++)
        if (is_text(mk_json_get(tree, "guide"), mk_guide_name(g)))
            out->guide = g;
    out->text = mk_arena_copy(arena, reply->text);
    out->cached = *found = out->text.p != NULL;
    rc = *found ? MK_OK : mk_fail_nomem(err);
out:
    mk_buf_free(&text);
    return rc;
}

mk_code mk_cache_put(const mk_model_options *options, const mk_alloc *alloc, const char key[65],
                     const mk_model_reply *reply, mk_err *err)
{
    char name[80], digest[65];
    mk_buf text;
    mk_code rc;
    if (options->cache_dir[0] == '\0')
        return MK_OK;
    const mk_fs *fs = files(options);
    mk_buf_init(&text, alloc);
    text_digest(reply->text, digest);
    mk_buf_printf(&text, "{\"guide\":\"%s\",\"key\":\"%s\",\"reply\":", mk_guide_name(reply->guide), key);
    mk_canon_string(&text, reply->text);
    mk_buf_printf(&text, ",\"sha256\":\"%s\"}", digest);
    MK_TRY(rc, mk_buf_done(&text, err));
    MK_TRY(rc, fs->make_dir(fs->ctx, options->cache_dir, err));
    snprintf(name, sizeof name, "%s.json", key);
    rc = mk_fs_replace(fs, options->cache_dir, name, mk_buf_view(&text), err);
out:
    mk_buf_free(&text);
    return rc;
}

/* open.c — from options to an open store. Layer: cli. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

const char *mk_cli__store_dir(const mk_cli *cli)
{
    const char *dir = mk_options_value(&cli->options, "store");
    if (dir == NULL)
        dir = getenv("MERKHET_STORE");
    return dir == NULL || dir[0] == '\0' ? ".merkhet" : dir;
}

static void log_line(void *ctx, mk_log_level level, const char *module, const char *text)
{
    (void)module;
    if (level != MK_LOG_INFO)
        mk_cli__warn(ctx, "%s", text);
}

mk_code mk_cli__open(mk_cli *cli, const char *dir, mk_open_mode mode, bool rebuild, mk_store **out,
                     mk_err *err)
{
    const mk_store_options options = {.mode = mode,
                                      .alloc = cli->alloc,
                                      .log = log_line,
                                      .log_ctx = cli,
                                      .rebuild = rebuild};
    char path[4096];
    size_t n = strlen(dir);
    if (n >= sizeof path) {
        mk_fail(err, MK_E_LIMIT, "the path of the store has %zu bytes, at most %zu are possible", n,
                sizeof path - 1);
        return MK_E_LIMIT;
    }
    memcpy(path, dir, n + 1);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    return mk_store_open(path, &options, out, err);
}

mk_code mk_cli__close(mk_store *store, mk_code rc, mk_err *err)
{
    mk_err own;
    const mk_code closed = mk_store_close(store, &own);
    if (rc != MK_OK || closed == MK_OK)
        return rc;
    *err = own;
    return closed;
}

mk_code mk_cli__mask(const mk_cli *cli, unsigned *mask, mk_err *err)
{
    static const struct {
        const char *name;
        unsigned bit;
    } classes[] = {{"resolution", MK_SHOW_RESOLUTION},
                   {"knowledge", MK_SHOW_KNOWLEDGE},
                   {"notes", MK_SHOW_NOTES},
                   {"user", MK_SHOW_USER}};
    const char *text = mk_options_value(&cli->options, "show");
    *mask = MK_SHOW_USER;
    while (text != NULL && *text != '\0') {
        const size_t n = strcspn(text, ",");
        bool found = false;
        for (size_t i = 0; i < 4; i++)
            if (strlen(classes[i].name) == n && strncmp(classes[i].name, text, n) == 0) {
                *mask |= classes[i].bit;
                found = true;
            }
        if (!found) {
            mk_fail_usage(err, "--show: there is no class \"%.*s\"", (int)(n > 60 ? 60 : n), text);
            mk_err_hint(err, "name some of resolution,knowledge,notes");
            return MK_E_INVALID_ARG;
        }
        text += n + (text[n] == ',');
    }
    return MK_OK;
}

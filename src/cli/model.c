/* model.c — the model that the environment names. Layer: cli. */
#include <stdlib.h>

#include "cli/cli.h"
#include "model/model.h"

static const char *from_environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

mk_code mk_cli__model_open(mk_cli *cli, struct mk_model **out, mk_err *err)
{
    mk_model_options options;
    bool found;
    *out = NULL;
    const mk_code rc = mk_model_settings(from_environment, NULL, &options, &found, err);
    if (rc != MK_OK || !found)
        return rc;
    return mk_model_http_open(cli->alloc, &options, out, err);
}

/* mcp_config.c — see mcp_config.h. Layer: cli.
 *
 * Every client wants the same facts under other names. What is quoted is the same in JSON and TOML.
 * Source: serving spec, 15. */
#include "cli/mcp_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define URL_MAX 2000u

static const struct client {
    const char *name;
    const char *key;  /* of the object that holds servers; NULL: the file is TOML */
    const char *type; /* whether an entry says how it is reached, for a command; NULL: no */
    const char *url;  /* the member that holds an address */
} clients[] = {
    {"claude-desktop", "mcpServers", NULL, "url"},
    {"claude-code", "mcpServers", NULL, "url"},
    {"cursor", "mcpServers", NULL, "url"},
    {"windsurf", "mcpServers", NULL, "url"},
    {"gemini-cli", "mcpServers", NULL, "httpUrl"},
    {"lm-studio", "mcpServers", NULL, "url"},
    {"copilot-cli", "mcpServers", NULL, "url"},
    {"vscode", "servers", "stdio", "url"},
    {"codex", NULL, NULL, "url"},
    {"zed", "context_servers", NULL, "url"},
};
#define CLIENT_COUNT (sizeof clients / sizeof *clients)

static mk_code find_client(const char *name, const struct client **out, mk_err *err)
{
    const char *names[CLIENT_COUNT + 1] = {NULL};
    char all[200];
    size_t n = 0;
    for (size_t i = 0; i < CLIENT_COUNT; i++) {
        names[i] = clients[i].name;
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", clients[i].name);
        if (strcmp(name, clients[i].name) == 0) {
            *out = &clients[i];
            return MK_OK;
        }
    }
    const char *near = mk_nearest(name, names);
    mk_fail_usage(err, "there is no configuration for \"%s\"", name);
    mk_err_hint(err, "%s%s%sthere are: %s", near ? "did you mean " : "", near ? near : "", near ? "? " : "",
                all);
    return MK_E_INVALID_ARG;
}

/* ---- a command ---- */

/* What was said beside --print-config holds for the server that the client starts. */
static void put_args(mk_buf *out, const mk_options *given, const char *store)
{
    static const char *const values[] = {"tools", "time-format", "max-result-bytes", "principal", "show"};
    mk_buf_z(out, "[\"mcp\", \"--store\", ");
    mk_canon_string(out, mk_str_of(store));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const char *value = mk_options_value(given, values[i]);
        if (value == NULL)
            continue;
        mk_buf_printf(out, ", \"--%s\", ", values[i]);
        mk_canon_string(out, mk_str_of(value));
    }
    mk_buf_z(out, mk_options_has(given, "write") ? ", \"--write\"]" : "]");
}

static void put_command(mk_buf *out, const struct client *client, const mk_options *given,
                        const char *program, const char *store)
{
    const bool toml = client->key == NULL;
    if (client->type != NULL)
        mk_buf_printf(out, "      \"type\": \"%s\",\n", client->type);
    mk_buf_z(out, toml ? "command = " : "      \"command\": ");
    mk_canon_string(out, mk_str_of(program));
    mk_buf_z(out, toml ? "\nargs = " : ",\n      \"args\": ");
    put_args(out, given, store);
    mk_buf_z(out, toml ? "\n" : ",\n      \"env\": {}\n");
}

/* Clients start the program from anywhere, so both paths are absolute; the store need not exist yet. */
static mk_code find_paths(const mk_cli *cli, char program[PATH_MAX], char store[PATH_MAX * 2], mk_err *err)
{
    char folder[PATH_MAX];
    const char *dir = mk_cli__store_dir(cli);
    const ssize_t n = readlink("/proc/self/exe", program, PATH_MAX - 1);
    if (n <= 0 || getcwd(folder, sizeof folder) == NULL)
        return mk_fail(err, MK_E_STATE, "the program's own path cannot be found");
    program[n] = '\0';
    if (realpath(dir, store) == NULL)
        snprintf(store, PATH_MAX * 2, "%s%s%s", dir[0] == '/' ? "" : folder, dir[0] == '/' ? "" : "/", dir);
    return MK_OK;
}

/* ---- an address ---- */

static mk_code check_url(const char *url, mk_err *err)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : "";
    bool plain = host[0] != '\0' && host[0] != '/' && strlen(url) <= URL_MAX;
    for (const char *c = url; *c != '\0'; c++)
        plain &= *c > ' ' && *c < 0x7f;
    if (plain)
        return MK_OK;
    mk_fail_usage(err, "--http: \"%.100s\" is no address", url);
    mk_err_hint(err, "write the address that merkhet serve prints, such as http://127.0.0.1:8765/mcp");
    return MK_E_INVALID_ARG;
}

/* The protocol is at /mcp; who gives the server's address alone means that. */
static void put_url(mk_buf *out, const struct client *client, const char *url)
{
    const char *path = strchr(strstr(url, "//") + 2, '/');
    const bool toml = client->key == NULL, bare = path == NULL || path[1] == '\0';
    char whole[URL_MAX + 8];
    snprintf(whole, sizeof whole, "%.*s%s", (int)(path != NULL && bare ? path - url : (ptrdiff_t)strlen(url)),
             url, bare ? "/mcp" : "");
    if (!toml && strcmp(client->url, "url") == 0)
        mk_buf_z(out, "      \"type\": \"http\",\n");
    mk_buf_printf(out, toml ? "%s = " : "      \"%s\": ", client->url);
    mk_canon_string(out, mk_str_of(whole));
    mk_buf_c(out, '\n');
}

mk_code mk_mcp_config(mk_cli *cli, const char *name, const char *url, mk_err *err)
{
    char program[PATH_MAX], store[PATH_MAX * 2];
    const struct client *client = NULL;
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    MK_TRY(rc, find_client(name, &client, err));
    if (url != NULL)
        MK_TRY(rc, check_url(url, err));
    else
        MK_TRY(rc, find_paths(cli, program, store, err));
    if (client->key != NULL)
        mk_buf_printf(&out, "{\n  \"%s\": {\n    \"merkhet\": {\n", client->key);
    else
        mk_buf_z(&out, "[mcp_servers.merkhet]\n");
    if (url != NULL)
        put_url(&out, client, url);
    else
        put_command(&out, client, &cli->options, program, store);
    if (client->key != NULL)
        mk_buf_z(&out, "    }\n  }\n}\n");
    MK_TRY(rc, mk_buf_done(&out, err));
    rc = mk_cli__put(cli, mk_buf_view(&out), err);
out:
    mk_buf_free(&out);
    return rc;
}

/* token.c — see token.h. Layer: serve. */
#include "serve/token.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/sha256.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)
#define TOKEN_MIN 16u

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The next word of a line. n 0: there is none. */
static mk_str next_word(mk_str *line)
{
    while (line->n > 0 && is_blank(*line->p))
        *line = (mk_str){line->p + 1, line->n - 1};
    size_t n = 0;
    while (n < line->n && !is_blank(line->p[n]))
        n++;
    const mk_str word = {line->p, n};
    *line = (mk_str){line->p + n, line->n - n};
    return word;
}

static bool read_scopes(mk_str text, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned bits;
    } scopes[] = {{"read", MK_SCOPE_READ},
                  {"write", MK_SCOPE_READ | MK_SCOPE_WRITE},
                  {"admin", MK_SCOPE_READ | MK_SCOPE_WRITE | MK_SCOPE_ADMIN}};
    *out = 0;
    while (text.n > 0) {
        const char *comma = memchr(text.p, ',', text.n);
        mk_str one = {text.p, comma != NULL ? (size_t)(comma - text.p) : text.n};
        text = comma != NULL ? (mk_str){comma + 1, text.n - one.n - 1} : (mk_str){NULL, 0};
        if (mk_str_starts(one, MK_STR("merkhet:")))
            one = (mk_str){one.p + 8, one.n - 8};
        unsigned bits = 0;
        for (size_t i = 0; i < 3; i++)
            if (mk_str_eq(one, mk_str_of(scopes[i].name)))
                bits = scopes[i].bits;
        if (bits == 0)
            return false;
        *out |= bits;
    }
    return *out != 0;
}

static mk_code bad_line(mk_err *err, size_t line, const char *why)
{
    mk_fail(err, MK_E_INVALID_ARG, "line %zu of the token file: %s", line, why);
    mk_err_hint(err, "a line is TOKEN SCOPES PRINCIPAL, such as: 3f9a7c51d20b48e6 read,write user:ada");
    return MK_E_INVALID_ARG;
}

static mk_code read_line(mk_tokens *t, mk_str line, size_t number, mk_err *err)
{
    const mk_str token = next_word(&line), scopes = next_word(&line), principal = next_word(&line);
    mk_token_entry *e = &t->entries[t->count];
    if (token.n == 0 || token.p[0] == '#')
        return MK_OK;
    if (token.n < TOKEN_MIN)
        return bad_line(err, number, "a token needs at least 16 characters");
    if (!read_scopes(scopes, &e->scopes))
        return bad_line(err, number, "scopes are read, write and admin, with commas");
    if (principal.n == 0 || principal.n > 120 || next_word(&line).n != 0)
        return bad_line(err, number, "one principal must follow");
    mk_sha256_of(token.p, token.n, e->hash);
    e->principal = mk_arena_copy(&t->arena, principal);
    if (e->principal.p == NULL)
        return mk_fail_nomem(err);
    t->count++;
    return MK_OK;
}

mk_code mk_tokens_read(const mk_alloc *alloc, mk_str text, mk_tokens *out, mk_err *err)
{
    mk_code rc = MK_OK;
    size_t lines = 1, number = 0;
    *out = (mk_tokens){.count = 0};
    mk_arena_init(&out->arena, alloc);
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    out->entries = mk_arena_get0(&out->arena, lines * sizeof *out->entries);
    if (out->entries == NULL)
        return mk_fail_nomem(err);
    while (text.n > 0 && rc == MK_OK) {
        const char *end = memchr(text.p, '\n', text.n);
        const size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
        rc = read_line(out, (mk_str){text.p, n}, ++number, err);
        text = end != NULL ? (mk_str){text.p + n + 1, text.n - n - 1} : (mk_str){NULL, 0};
    }
    if (rc == MK_OK && out->count == 0) {
        mk_fail(err, MK_E_INVALID_ARG, "the token file names no token");
        mk_err_hint(err, "a line is TOKEN SCOPES PRINCIPAL");
        rc = MK_E_INVALID_ARG;
    }
    if (rc != MK_OK)
        mk_tokens_close(out);
    return rc;
}

mk_code mk_tokens_open(const mk_alloc *alloc, const char *path, mk_tokens *out, mk_err *err)
{
    struct stat st;
    mk_buf text;
    mk_code rc;
    *out = (mk_tokens){.count = 0};
    mk_arena_init(&out->arena, alloc);
    mk_buf_init(&text, alloc);
    MK_TRY(rc, mk_fs_read_all(&mk_fs_posix, path, FILE_MAX_BYTES, &text, err));
    if (stat(path, &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        mk_fail(err, MK_E_STATE, "others may read the token file %s", path);
        mk_err_hint(err, "chmod 600 %s", path);
        rc = MK_E_STATE;
        goto out;
    }
    rc = mk_tokens_read(alloc, mk_buf_view(&text), out, err);
out:
    mk_buf_free(&text);
    return rc;
}

void mk_tokens_close(mk_tokens *tokens)
{
    mk_arena_free(&tokens->arena);
    tokens->entries = NULL;
    tokens->count = 0;
}

const mk_token_entry *mk_tokens_find(const mk_tokens *tokens, mk_str token)
{
    const mk_token_entry *found = NULL;
    uint8_t hash[32];
    mk_sha256_of(token.p, token.n, hash);
    for (size_t i = 0; i < tokens->count; i++) {
        unsigned differ = 0;
        for (size_t k = 0; k < sizeof hash; k++)
            differ |= (unsigned)(hash[k] ^ tokens->entries[i].hash[k]);
        if (differ == 0)
            found = &tokens->entries[i];
    }
    return found;
}

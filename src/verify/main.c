/* main.c — merkhet-verify: whether a bundle or a proof holds. Layer: verify.
 *
 * A program of its own, so that whoever relies on an answer need trust only this: it links base and
 * claim. Exit status: 0 it holds, 1 it does not or cannot be read, 2 used wrongly. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "claim/bundle.h"

#define READ_SIZE 65536

typedef struct request {
    const char *file, *claim, *root;
    bool strict, json, proof;
} request;

static const char help[] =
    "merkhet-verify [--strict] [--json] BUNDLE       does the answer follow from its evidence?\n"
    "merkhet-verify --claim ID --proof BUNDLE        prints the proof of one claim\n"
    "merkhet-verify --root HEX PROOF                 does the proof hold for this root?\n"
    "\n"
    "BUNDLE and PROOF are files; - is standard input. --strict wants a path from every claim.\n"
    "Exit status: 0 it holds, 1 it does not, 2 used wrongly.\n";

static int say_usage(const char *what)
{
    fprintf(stderr, "merkhet-verify: %s\n\n%s", what, help);
    return 2;
}

/* The value of an option that needs one; NULL when it is missing. */
static const char *value_of(int argc, char **argv, int *i) { return *i + 1 < argc ? argv[++*i] : NULL; }

/* 0 to go on, otherwise the exit status + 1. */
static int read_request(int argc, char **argv, request *r)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return fputs(help, stdout) < 0 ? 2 : 1;
        if (strcmp(word, "--strict") == 0)
            r->strict = true;
        else if (strcmp(word, "--json") == 0)
            r->json = true;
        else if (strcmp(word, "--proof") == 0)
            r->proof = true;
        else if (strcmp(word, "--claim") == 0 && (r->claim = value_of(argc, argv, &i)) == NULL)
            return 1 + say_usage("--claim needs the id of a claim");
        else if (strcmp(word, "--root") == 0 && (r->root = value_of(argc, argv, &i)) == NULL)
            return 1 + say_usage("--root needs 64 hex digits");
        else if (strcmp(word, "--claim") == 0 || strcmp(word, "--root") == 0)
            continue;
        else if (word[0] == '-' && word[1] != '\0')
            return 1 + say_usage("there is no such option");
        else if (r->file != NULL)
            return 1 + say_usage("one file is read at a time");
        else
            r->file = word;
    }
    if (r->file == NULL)
        return 1 + say_usage("name a file");
    if (r->proof != (r->claim != NULL) || (r->root != NULL && r->proof))
        return 1 + say_usage("--claim and --proof go together, --root goes alone");
    return 0;
}

/* ---- input ---- */

static mk_code read_stream(FILE *in, const char *name, mk_buf *out, mk_err *err)
{
    for (;;) {
        char *p = mk_buf_room(out, READ_SIZE);
        if (p == NULL)
            return mk_fail_nomem(err);
        const size_t n = fread(p, 1, READ_SIZE, in);
        out->n += n;
        if (out->n > MK_BUNDLE_MAX)
            return mk_fail(err, MK_E_LIMIT, "%s has more than %zu bytes", name, MK_BUNDLE_MAX);
        if (n < READ_SIZE)
            break;
    }
    if (ferror(in))
        return mk_fail(err, MK_E_STATE, "%s cannot be read", name);
    return MK_OK;
}

static mk_code read_file(const char *name, mk_buf *out, mk_err *err)
{
    if (strcmp(name, "-") == 0)
        return read_stream(stdin, "standard input", out, err);
    FILE *in = fopen(name, "rb");
    if (in == NULL)
        return mk_fail(err, errno == ENOENT ? MK_E_NOT_FOUND : MK_E_STATE, "%s cannot be opened", name);
    const mk_code rc = read_stream(in, name, out, err);
    fclose(in);
    return rc;
}

/* ---- what is asked ---- */

static mk_code verify(const request *r, mk_str text, mk_arena *arena, mk_buf *out, bool *holds, mk_err *err)
{
    const mk_verify_options options = {.strict = r->strict};
    mk_bundle_check check;
    const mk_code rc = mk_bundle_verify(text, &options, arena, &check, err);
    if (rc != MK_OK)
        return rc;
    *holds = mk_bundle_check_holds(&check);
    if (r->json) {
        mk_bundle_check_json(&check, out);
        mk_buf_c(out, '\n');
    } else {
        mk_bundle_check_text(&check, out);
    }
    return mk_buf_done(out, err);
}

static mk_code verify_proof(const request *r, mk_str text, mk_arena *arena, mk_buf *out, bool *holds,
                            mk_err *err)
{
    char root[65] = "";
    mk_str why;
    if (strlen(r->root) == 64)
        memcpy(root, r->root, 64);
    const mk_code rc = mk_proof_verify(text, root, arena, holds, &why, err);
    if (rc != MK_OK)
        return rc;
    mk_buf_printf(out, "%s: %.*s\n", *holds ? "the proof holds" : "the proof does not hold", MK_STR_ARG(why));
    return mk_buf_done(out, err);
}

static mk_code prove(const request *r, mk_str text, mk_arena *arena, mk_buf *out, bool *holds, mk_err *err)
{
    const mk_code rc = mk_bundle_prove(text, mk_str_of(r->claim), arena, out, err);
    *holds = rc == MK_OK;
    mk_buf_c(out, '\n');
    return rc != MK_OK ? rc : mk_buf_done(out, err);
}

static mk_code answer(const request *r, mk_buf *out, bool *holds, mk_err *err)
{
    mk_buf text;
    mk_arena arena;
    mk_code rc;
    mk_buf_init(&text, &mk_alloc_default);
    mk_arena_init(&arena, &mk_alloc_default);
    MK_TRY(rc, read_file(r->file, &text, err));
    if (r->proof)
        rc = prove(r, mk_buf_view(&text), &arena, out, holds, err);
    else if (r->root != NULL)
        rc = verify_proof(r, mk_buf_view(&text), &arena, out, holds, err);
    else
        rc = verify(r, mk_buf_view(&text), &arena, out, holds, err);
out:
    mk_arena_free(&arena);
    mk_buf_free(&text);
    return rc;
}

int main(int argc, char **argv)
{
    request r = {.file = NULL};
    mk_err err = {0};
    mk_buf out;
    bool holds = false;
    const int stop = read_request(argc, argv, &r);
    if (stop != 0)
        return stop - 1;
    mk_buf_init(&out, &mk_alloc_default);
    const mk_code rc = answer(&r, &out, &holds, &err);
    if (rc != MK_OK)
        fprintf(stderr, "merkhet-verify: %s  (%s)\n", err.message, mk_code_name(rc));
    else if (fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0)
        holds = false;
    mk_buf_free(&out);
    return rc == MK_OK && holds ? 0 : 1;
}

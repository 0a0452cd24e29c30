/* merkhet.c — the public library over the layers below. Layer: above all folders.
 *
 * Only translation: sizes of structs, JSON texts, codes. A handle is a store and nothing else, so that
 * what the store says about threads holds for the handle. */
#include "merkhet.h"

#include <stdio.h>

#include "api_json.h"
#include "op/call.h"

#define CALL_MEMORY_MAX ((size_t)4 << 30) /* scratch of one call; above it the call is E_LIMIT */

struct mk_db {
    mk_store *store;
    mk_db_log_fn *log;
    void *log_ctx;
};

static_assert((int)MK_DB_E_SCHEMA == (int)MK_E_SCHEMA && (int)MK_DB_E_LIMIT == (int)MK_E_LIMIT &&
                  (int)MK_DB_E_STATE == (int)MK_E_STATE && (int)MK_DB_E_MODEL == (int)MK_E_MODEL &&
                  (int)MK_DB_E_CANCELLED == (int)MK_E_CANCELLED &&
                  (int)MK_DB_E_INTERNAL == (int)MK_E_INTERNAL && (int)MK_DB_E_NOMEM == (int)MK_E_NOMEM,
              "public codes are the internal ones");
static_assert((int)MK_DB_READ == (int)MK_OPEN_READER && (int)MK_DB_WRITE == (int)MK_OPEN_WRITER &&
                  (int)MK_DB_CREATE == (int)MK_OPEN_CREATE_WRITER,
              "public modes are the internal ones");

const char *mk_db_version(void)
{
    return MERKHET_VERSION;
}

/* ---- structs of callers that may be older or newer ---- */

/* Copies what the caller's struct has of ours; the rest stays zero. */
static void take_struct(void *ours, size_t ours_size, const void *theirs)
{
    size_t size;
    if (theirs == NULL)
        return;
    memcpy(&size, theirs, sizeof size);
    memcpy(ours, theirs, size < ours_size ? size : ours_size);
}

/* The details object of `err` as text; {} when it does not fit. */
static void put_details(const mk_err *err, char *out, size_t size)
{
    static const char begin[] = "{\"details\":", end[] = ",\"error\":";
    mk_buf json;
    mk_buf_init(&json, &mk_alloc_default);
    mk_err_json(&json, err);
    snprintf(out, size, "{}");
    /* details come first in canonical order, and the name of the code last but one: cut between them. */
    const size_t head = sizeof begin - 1;
    size_t tail = json.n;
    while (!json.failed && tail > head &&
           (json.n - tail < sizeof end - 1 || memcmp(json.p + tail, end, sizeof end - 1) != 0))
        tail--;
    if (!json.failed && tail > head && tail - head < size) {
        memcpy(out, json.p + head, tail - head);
        out[tail - head] = '\0';
    }
    mk_buf_free(&json);
}

static int give(mk_code rc, const mk_err *err, mk_db_error *error)
{
    mk_db_error full = {.size = sizeof full, .code = (int)rc};
    size_t size;
    if (rc == MK_OK || error == NULL)
        return (int)rc;
    snprintf(full.name, sizeof full.name, "%s", mk_code_name(rc == MK_E_NOMEM ? MK_E_INTERNAL : rc));
    snprintf(full.message, sizeof full.message, "%s", err->message);
    put_details(err, full.details, sizeof full.details);
    memcpy(&size, error, sizeof size);
    full.size = size;
    memcpy(error, &full, size < sizeof full ? size : sizeof full);
    return (int)rc;
}

static mk_str text_of(const char *z)
{
    return z != NULL ? mk_str_of(z) : (mk_str){0};
}

/* Hands a buffer over; it is freed with its capacity as size, which lies in front of the text. */
static mk_code hand_over(mk_buf *buf, mk_db_text *out, mk_err *err)
{
    const size_t size = sizeof(size_t) + buf->n + 1;
    char *block = mk_new(&mk_alloc_default, size);
    if (block == NULL)
        return mk_fail_nomem(err);
    memcpy(block, &size, sizeof size);
    memcpy(block + sizeof size, buf->p, buf->n);
    block[size - 1] = '\0';
    *out = (mk_db_text){block + sizeof size, buf->n};
    return MK_OK;
}

void mk_db_text_free(mk_db_text *text)
{
    size_t size;
    if (text == NULL || text->text == NULL)
        return;
    char *block = text->text - sizeof size;
    memcpy(&size, block, sizeof size);
    mk_free(&mk_alloc_default, block, size);
    *text = (mk_db_text){0};
}

/* ---- opening ---- */

static void pass_log(void *ctx, mk_log_level level, const char *module, const char *text)
{
    const mk_db *db = ctx;
    db->log(db->log_ctx, (int)level, module, text);
}

int mk_db_open(const char *dir, const mk_db_options *options, mk_db **out, mk_db_error *error)
{
    mk_db_options asked = {0};
    mk_db *db = NULL;
    mk_err err;
    mk_code rc;
    *out = NULL;
    take_struct(&asked, sizeof asked, options);
    if (dir == NULL || dir[0] == '\0' || asked.mode < MK_DB_READ || asked.mode > MK_DB_CREATE) {
        rc = mk_fail(&err, MK_E_INVALID_ARG, "a directory and a known mode are needed");
        goto out;
    }
    db = mk_new0(&mk_alloc_default, sizeof *db);
    if (db == NULL) {
        rc = mk_fail_nomem(&err);
        goto out;
    }
    db->log = asked.log;
    db->log_ctx = asked.log_ctx;
    const mk_store_options inner = {.mode = (mk_open_mode)asked.mode,
                                    .log = asked.log != NULL ? pass_log : NULL,
                                    .log_ctx = db};
    MK_TRY(rc, mk_store_open(dir, &inner, &db->store, &err));
    *out = db;
    db = NULL;
out:
    mk_free(&mk_alloc_default, db, sizeof *db);
    return give(rc, &err, error);
}

int mk_db_close(mk_db *db, mk_db_error *error)
{
    mk_err err;
    if (db == NULL)
        return MK_DB_OK;
    const mk_code rc = mk_store_close(db->store, &err);
    mk_free(&mk_alloc_default, db, sizeof *db);
    return give(rc, &err, error);
}

int mk_db_refresh(mk_db *db, mk_db_error *error)
{
    mk_err err;
    const mk_code rc = mk_store_refresh(db->store, &err);
    return give(rc, &err, error);
}

/* ---- writing and asking ---- */

int mk_db_write(mk_db *db, const char *ops, size_t size, const mk_db_write_options *options,
                int64_t *tt, mk_db_error *error)
{
    mk_db_write_options asked = {0};
    mk_arena arena;
    mk_op *list;
    size_t count;
    mk_tt written;
    mk_err err;
    mk_code rc;
    mk_arena_init(&arena, &mk_alloc_default);
    take_struct(&asked, sizeof asked, options);
    const mk_api_origin origin = {text_of(asked.source), text_of(asked.provenance_ref)};
    const mk_write_options inner = {.request_id = text_of(asked.request_id)};
    if (size > MK_RECORD_MAX) {
        rc = mk_fail(&err, MK_E_LIMIT, "the batch has %zu bytes, at most %zu are possible", size,
                     MK_RECORD_MAX);
        goto out;
    }
    MK_TRY(rc, mk_api_read_ops(&arena, (mk_str){ops, size}, &origin, &list, &count, &err));
    if (count == 0) {
        rc = mk_fail(&err, MK_E_INVALID_ARG, "there is no operation to write");
        goto out;
    }
    MK_TRY(rc, mk_store_write(db->store, list, count, &inner, &written, &err));
    if (tt != NULL)
        *tt = written.us;
out:
    mk_arena_free(&arena);
    return give(rc, &err, error);
}

int mk_db_call(mk_db *db, const char *op, const char *args, size_t size, mk_db_text *result,
               mk_db_error *error)
{
    mk_arena arena;
    mk_buf out;
    mk_err err;
    mk_code rc;
    *result = (mk_db_text){0};
    mk_arena_init(&arena, &mk_alloc_default);
    arena.limit = CALL_MEMORY_MAX;
    mk_buf_init(&out, &mk_alloc_default);
    MK_TRY(rc, mk_call(db->store, op, (mk_str){args, size}, NULL, &arena, &out, &err));
    rc = hand_over(&out, result, &err);
out:
    mk_buf_free(&out);
    mk_arena_free(&arena);
    return give(rc, &err, error);
}

int mk_db_digest(mk_db *db, char digest[65], mk_db_error *error)
{
    mk_err err;
    const mk_code rc = mk_store_digest(db->store, digest, NULL, NULL, &err);
    return give(rc, &err, error);
}

int mk_db_stats(mk_db *db, mk_db_text *result, mk_db_error *error)
{
    mk_api_stats stats;
    mk_arena arena;
    mk_buf out;
    mk_err err;
    mk_code rc;
    *result = (mk_db_text){0};
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    MK_TRY(rc, mk_api_stats_read(db->store, MK_SHOW_USER, &arena, &stats, &err));
    mk_api_stats_json(db->store, &stats, &out);
    MK_TRY(rc, mk_buf_done(&out, &err));
    rc = hand_over(&out, result, &err);
out:
    mk_buf_free(&out);
    mk_arena_free(&arena);
    return give(rc, &err, error);
}

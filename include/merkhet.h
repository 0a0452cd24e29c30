/* merkhet.h — Merkhet as a library.
 *
 * A store is a directory; mk_db is a handle on one. What is written and what is answered is JSON text:
 * operations and arguments in, canonical JSON out. Errors are codes, with a struct that says more.
 *
 *     mk_db_options options = {sizeof options, MK_DB_CREATE};
 *     mk_db *db;
 *     mk_db_error error = {sizeof error};
 *     if (mk_db_open("team", &options, &db, &error) != MK_DB_OK)
 *         fprintf(stderr, "%s: %s\n", error.name, error.message);
 *
 * One process at a time may open a store for writing; any number read it, and follow the writer with
 * mk_db_refresh. Every function on a handle may be called by several threads at once, except
 * mk_db_close. The library has no global state, prints nothing and never exits.
 *
 * Structs start with their size, which the caller sets to sizeof: members that a later version adds are
 * then taken as zero from programs compiled before. Texts are UTF-8 and have a size, so they need no NUL;
 * texts that come back have one all the same.
 *
 * Link with -lmerkhet, or `pkg-config --cflags --libs merkhet`. */
#ifndef MERKHET_H
#define MERKHET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MK_API __attribute__((visibility("default")))

#define MERKHET_VERSION "0.1.0"

/* The version of the library that is linked, "0.1.0". Static storage. */
MK_API const char *mk_db_version(void);

/* ---- errors ---- */

/* Codes keep their numbers for ever; later versions may add some. */
enum {
    MK_DB_OK = 0,
    MK_DB_E_SCHEMA = 1,           /* a text has the wrong shape */
    MK_DB_E_INVALID_ARG = 2,      /* well-formed but meaningless */
    MK_DB_E_NOT_FOUND = 3,        /* no such store, node, edge or version */
    MK_DB_E_COST = 4,             /* the call would cost more than the ceilings allow */
    MK_DB_E_LIMIT = 5,            /* a hard cap: sizes, depth, memory, time */
    MK_DB_E_STATE = 6,            /* locked, damaged, read-only, disk full: details.reason says which */
    MK_DB_E_WRITE_CONFLICT = 7,
    MK_DB_E_SERIALIZATION = 8,
    MK_DB_E_SNAPSHOT_TOO_OLD = 9,
    MK_DB_E_ISOLATION = 10,
    MK_DB_E_MODEL = 11,
    MK_DB_E_CANCELLED = 12,
    MK_DB_E_INTERNAL = 13,        /* a mistake in Merkhet */
    MK_DB_E_NOMEM = 14            /* out of memory; named E_INTERNAL */
};

/* What went wrong. Owned by the caller, NUL-terminated texts. Untouched when a function returns MK_DB_OK. */
typedef struct mk_db_error {
    size_t size; /* sizeof(mk_db_error) */
    int code;
    char name[32];      /* "E_NOT_FOUND" */
    char message[768];  /* one line with the offending value */
    char details[2048]; /* a JSON object: path, offset, hint, reason, retry; {} when it would not fit */
} mk_db_error;

/* ---- texts that come back ---- */

/* Set to zeros before its first use; free it with mk_db_text_free, which makes it empty again. A
 * function that fails leaves it empty. */
typedef struct mk_db_text {
    char *text; /* NUL-terminated; NULL when empty */
    size_t size; /* bytes before the NUL */
} mk_db_text;

MK_API void mk_db_text_free(mk_db_text *text);

/* ---- opening ---- */

typedef struct mk_db mk_db;

enum {
    MK_DB_READ = 0,  /* writes nothing, takes no lock; the store must exist */
    MK_DB_WRITE = 1, /* takes the writer lock; the store must exist */
    MK_DB_CREATE = 2 /* as MK_DB_WRITE, making an empty store where there is none */
};

/* Severity: 0 information, 1 warning, 2 error. May be called from a thread of the store. */
typedef void mk_db_log_fn(void *ctx, int severity, const char *module, const char *text);

typedef struct mk_db_options {
    size_t size; /* sizeof(mk_db_options) */
    int mode;    /* MK_DB_READ, MK_DB_WRITE or MK_DB_CREATE */
    mk_db_log_fn *log; /* NULL: silent */
    void *log_ctx;
} mk_db_options;

/* `options` NULL opens for reading. `error` may be NULL here and everywhere. *db is NULL on failure.
 * Errors: MK_DB_E_NOT_FOUND; MK_DB_E_STATE with a reason: not_a_store, newer_format, damaged, locked,
 * read_only, no_space, io. */
MK_API int mk_db_open(const char *dir, const mk_db_options *options, mk_db **db, mk_db_error *error);

/* NULL is fine. The handle is gone whatever is returned; an error says that the last checkpoint failed,
 * on which nothing acknowledged depends. */
MK_API int mk_db_close(mk_db *db, mk_db_error *error);

/* A reader takes in what other processes have written since. Cheap when that is nothing. */
MK_API int mk_db_refresh(mk_db *db, mk_db_error *error);

/* ---- writing and asking ---- */

typedef struct mk_db_write_options {
    size_t size; /* sizeof(mk_db_write_options) */
    const char *source;         /* for operations that name none; NULL: "ingest" */
    const char *provenance_ref; /* for operations that have none; NULL: null */
    const char *request_id;     /* a repeat writes nothing and gives the first tt; NULL: none */
} mk_db_write_options;

/* Writes one batch, all of it or nothing, and returns when it is durable. `ops` is a JSON array of
 * operations, or one a line: assert_node, assert_edge, retract, correct, ingest_events. `options` and
 * `tt` may be NULL; *tt is the transaction time, in microseconds since 1970-01-01T00:00:00Z.
 * Errors: details.path is "ops[i].member". On any error the store is as it was. */
MK_API int mk_db_write(mk_db *db, const char *ops, size_t size, const mk_db_write_options *options,
                       int64_t *tt, mk_db_error *error);

/* Calls an operator, such as "entity_history" with {"uid":"ada"}; gives its envelope as canonical JSON.
 * `merkhet ops` lists the operators, their arguments and results. */
MK_API int mk_db_call(mk_db *db, const char *op, const char *args, size_t size, mk_db_text *result,
                      mk_db_error *error);

/* SHA-256 over every version as 64 hex characters and a NUL: equal for equal contents. Reads all. */
MK_API int mk_db_digest(mk_db *db, char digest[65], mk_db_error *error);

/* Counts, extent and bytes on disk as a JSON object, as `merkhet stats --json` prints it. */
MK_API int mk_db_stats(mk_db *db, mk_db_text *result, mk_db_error *error);

#ifdef __cplusplus
}
#endif

#endif

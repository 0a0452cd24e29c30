/* err.h — one error value for the whole system. Layer: base. No allocation, no I/O.
 *
 * The innermost function that knows what went wrong fills the caller's mk_err and returns its code;
 * everybody above passes both on untouched. The struct has a fixed size, so reporting that memory
 * ran out needs no memory. Codes are those of the store spec, section 19, and of decisions.md 6. */
#ifndef MK_BASE_ERR_H
#define MK_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MK_CHECK __attribute__((warn_unused_result))
#define MK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

typedef enum mk_code {
    MK_OK = 0,
    MK_E_SCHEMA,           /* arguments do not match their schema */
    MK_E_INVALID_ARG,      /* well-formed but meaningless */
    MK_E_NOT_FOUND,        /* uid, identity, version or file absent */
    MK_E_COST,             /* estimate above a ceiling */
    MK_E_LIMIT,            /* a hard cap */
    MK_E_STATE,            /* illegal in this state; damaged file; I/O error */
    MK_E_WRITE_CONFLICT,   /* first committer won */
    MK_E_SERIALIZATION,    /* a recorded read is no longer current */
    MK_E_SNAPSHOT_TOO_OLD, /* the commit ring no longer reaches back to the snapshot */
    MK_E_ISOLATION,        /* the session is weaker than the operation requires */
    MK_E_MODEL,            /* the model endpoint failed */
    MK_E_CANCELLED,
    MK_E_INTERNAL,         /* our mistake */
    MK_E_NOMEM             /* shown as E_INTERNAL with reason "no_memory" */
} mk_code;

/* What a program should do with the error: try the same again, change something first, or give up. */
typedef enum mk_retry { MK_RETRY_AFTER_FIX = 0, MK_RETRY_AS_IS, MK_RETRY_NEVER } mk_retry;

typedef struct mk_err {
    mk_code code;
    mk_retry retry;
    int64_t offset;     /* byte offset in the caller's input or in a file; -1 when none */
    char reason[32];    /* machine word such as "no_space"; "" when none */
    char path[192];     /* where in the caller's input: "ops[3].vt_e", a file name, ... */
    char hint[320];     /* what to do next, naming the value that would pass */
    char message[768];  /* one line, with the offending value */
    char extra[1024];   /* further members of `details`, canonical JSON text without braces */
} mk_err;

/* All of these accept err == NULL and then do nothing but return the code. Text that does not fit is
 * cut at a UTF-8 character boundary; bytes that are not UTF-8 and control characters are replaced
 * by '?', so a message may hold hostile input. */

/* Starts an error: clears every field, sets code and message. Returns `code`. */
mk_code mk_fail(mk_err *err, mk_code code, const char *fmt, ...) MK_PRINTF(3, 4);
/* The rest refine the error that mk_fail started. */
void mk_err_path(mk_err *err, const char *fmt, ...) MK_PRINTF(2, 3);
void mk_err_hint(mk_err *err, const char *fmt, ...) MK_PRINTF(2, 3);
void mk_err_reason(mk_err *err, const char *reason);
void mk_err_offset(mk_err *err, int64_t offset);
void mk_err_retry(mk_err *err, mk_retry retry);
/* `members` is canonical JSON text such as "\"known\":[\"a\"]"; dropped whole when it does not fit. */
void mk_err_extra(mk_err *err, const char *members, size_t size);

/* Out of memory, in one call. */
mk_code mk_fail_nomem(mk_err *err);

/* "E_SCHEMA" and so on; MK_OK is "OK". Static storage. */
const char *mk_code_name(mk_code code);

/* Leaves through `out` when `call` fails. Every function that uses it has one exit. */
#define MK_TRY(rc, call)                                                                           \
    do {                                                                                           \
        (rc) = (call);                                                                             \
        if ((rc) != MK_OK)                                                                         \
            goto out;                                                                              \
    } while (0)

/* One condition each: our mistakes, never the world's. Off in release builds. */
#ifdef MK_DEBUG
void mk_assert_failed(const char *what, const char *file, int line);
#define MK_ASSERT(x) ((x) ? (void)0 : mk_assert_failed(#x, __FILE__, __LINE__))
#else
#define MK_ASSERT(x) ((void)sizeof(!(x)))
#endif

#endif

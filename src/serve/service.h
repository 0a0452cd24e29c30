/* service.h — the store behind a server, and what is kept of what was served. Layer: serve.
 *
 * The store is opened as a reader and follows the log; a store that is not there yet is looked for again with
 * each call, so that a server may start first. Source: serving spec, 7; decisions.md 11. */
#ifndef MK_SERVE_SERVICE_H
#define MK_SERVE_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "serve/keep.h"
#include "serve/wire.h"
#include "store/view.h"

#define MK_RESULT_BYTES ((size_t)32000)
#define MK_RESULT_BYTES_MIN ((size_t)4000)
#define MK_RESULT_BYTES_MAX ((size_t)2097152)
#define MK_CALL_MEMORY ((size_t)1 << 30) /* scratch of one call */

typedef struct mk_service_options {
    const char *dir;
    unsigned mask;           /* 0: user only */
    mk_wire_times times;     /* how times are shown when the call does not say */
    size_t result_bytes;     /* most text of one result; 0: MK_RESULT_BYTES */
    mk_ceilings ceilings;    /* members of 0: the default */
    double time_scale;       /* 0: 1.0 */
    bool write;              /* the store may be written to */
    struct mk_model *model;  /* plans questions; NULL: the offline planner does */
} mk_service_options;

typedef struct mk_service {
    const mk_alloc *alloc;
    mk_service_options options;
    char *dir;
    pthread_mutex_t mutex; /* of opening */
    pthread_t opener;
    bool opening; /* `opener` was started */
    _Atomic(mk_store *) store;
    mk_store *writer; /* beside a reader, when the lock was taken at first; under the mutex */
    mk_keep *keep;
    _Atomic int64_t seen_tt; /* by mk_service_changed */
    _Atomic int64_t looked_us; /* when the log was last looked at */
} mk_service;

/* Opens the store when it is there; that it is not, is no error. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_service_open(const mk_alloc *alloc, const mk_service_options *options, mk_service **out,
                                 mk_err *err);
void mk_service_close(mk_service *service); /* NULL is fine; nothing may be called any more */

/* The store as it is now. Errors: MK_E_STATE with the command that makes one; what opening reports. */
MK_CHECK mk_code mk_service_store(mk_service *service, mk_store **out, mk_err *err);
/* What a caller sees of reserved entities: what the server was told to show, unless it may see entities of
 * users only. Source: decisions.md 2. */
static inline unsigned mk_service_mask(const mk_service *service, bool user_only)
{
    return user_only ? 0 : service->options.mask;
}

/* Whether the store has changed since this was last asked. */
bool mk_service_changed(mk_service *service);

/* The data set on a card: labels, relation types, properties, extents of both clocks, counts; one JSON object
 * of at most 8 KiB. Source: serving spec, 3.1. */
MK_CHECK mk_code mk_service_card(mk_service *service, bool user_only, mk_arena *arena, mk_buf *out,
                                 mk_err *err);

#endif

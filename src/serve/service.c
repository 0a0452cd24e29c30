/* service.c — opening the store when it is needed. See service.h. Layer: serve. */
#include "serve/service.h"

#include "base/timetext.h"

#define LOOK_EVERY_US INT64_C(5000)

/* A large store takes a while, and a handshake need not wait for it. */
static void *open_early(void *arg)
{
    mk_store *store;
    mk_err why;
    const mk_code later = mk_service_store(arg, &store, &why); /* an error is said again by the first call */
    (void)later;
    return NULL;
}

mk_code mk_service_open(const mk_alloc *alloc, const mk_service_options *options, mk_service **out,
                        mk_err *err)
{
    mk_service *s = mk_new0(alloc, sizeof *s);
    mk_code rc;
    *out = NULL;
    if (s == NULL)
        return mk_fail_nomem(err);
    s->alloc = alloc;
    s->options = *options;
    if (s->options.result_bytes == 0)
        s->options.result_bytes = MK_RESULT_BYTES;
    pthread_mutex_init(&s->mutex, NULL);
    const size_t size = strlen(options->dir) + 1;
    s->dir = mk_new(alloc, size);
    if (s->dir == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    memcpy(s->dir, options->dir, size);
    MK_TRY(rc, mk_keep_open(alloc, MK_KEEP_ENTRIES, MK_KEEP_BYTES, &s->keep, err));
    s->opening = pthread_create(&s->opener, NULL, open_early, s) == 0;
    *out = s;
    s = NULL;
out:
    mk_service_close(s);
    return rc;
}

void mk_service_close(mk_service *service)
{
    if (service == NULL)
        return;
    if (service->opening)
        pthread_join(service->opener, NULL);
    mk_store *store = atomic_load(&service->store);
    if (store != NULL)
        (void)mk_store_close(store, NULL); /* nothing acknowledged depends on a last checkpoint */
    if (service->writer != NULL)
        (void)mk_store_close(service->writer, NULL);
    mk_keep_close(service->keep);
    if (service->dir != NULL)
        mk_free(service->alloc, service->dir, strlen(service->dir) + 1);
    pthread_mutex_destroy(&service->mutex);
    mk_free(service->alloc, service, sizeof *service);
}

static mk_code open_store(mk_service *service, mk_store **out, mk_err *err)
{
    mk_store_options options = {.mode = service->options.write ? MK_OPEN_WRITER : MK_OPEN_READER,
                                .alloc = service->alloc};
    mk_code rc = MK_OK;
    pthread_mutex_lock(&service->mutex);
    *out = atomic_load(&service->store);
    if (*out == NULL) {
        rc = mk_store_open(service->dir, &options, out, err);
        if (rc == MK_E_STATE && options.mode == MK_OPEN_WRITER && err != NULL &&
            strcmp(err->reason, "locked") == 0) {
            options.mode = MK_OPEN_READER; /* who else writes is not waited for: reading goes on */
            rc = mk_store_open(service->dir, &options, out, err);
        }
        if (rc == MK_OK)
            atomic_store(&service->store, *out);
    }
    pthread_mutex_unlock(&service->mutex);
    if (rc != MK_E_NOT_FOUND)
        return rc;
    mk_fail(err, MK_E_STATE, "there is no store at %s", service->dir);
    mk_err_reason(err, "no_store");
    mk_err_hint(err, "make one: merkhet init --store %s, or merkhet ingest FILE --store %s", service->dir,
                service->dir);
    return MK_E_STATE;
}

/* Looking at the log takes a dozen system calls, and a commit has 100 ms to show. */
mk_code mk_service_store(mk_service *service, mk_store **out, mk_err *err)
{
    const int64_t now = mk_clock_system.now_us(mk_clock_system.ctx);
    int64_t looked = atomic_load(&service->looked_us);
    *out = atomic_load(&service->store);
    if (*out == NULL)
        return open_store(service, out, err);
    if (now >= looked && now - looked < LOOK_EVERY_US)
        return MK_OK;
    if (!atomic_compare_exchange_strong(&service->looked_us, &looked, now))
        return MK_OK; /* another thread does it */
    return mk_store_refresh(*out, err);
}

bool mk_service_changed(mk_service *service)
{
    mk_store *store;
    mk_err why;
    if (mk_service_store(service, &store, &why) != MK_OK)
        return false;
    const int64_t tt = mk_store_last_tt(store).us;
    return atomic_exchange(&service->seen_tt, tt) != tt;
}

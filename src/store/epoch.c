/* epoch.c — epoch-based reclamation. Layer: store. */
#include "store/epoch.h"

mk_code mk_epoch_init(mk_epoch *epoch, mk_err *err)
{
    atomic_init(&epoch->now, 1);
    for (unsigned i = 0; i < MK_EPOCH_SLOTS; i++)
        atomic_init(&epoch->slots[i].since, 0);
    epoch->oldest = epoch->newest = NULL;
    if (pthread_mutex_init(&epoch->mutex, NULL) != 0)
        return mk_fail_nomem(err);
    return MK_OK;
}

static void release_list(mk_retired *list)
{
    while (list != NULL) {
        mk_retired *next = list->next;
        list->release(list, list->ctx);
        list = next;
    }
}

void mk_epoch_destroy(mk_epoch *epoch)
{
    release_list(epoch->oldest);
    epoch->oldest = epoch->newest = NULL;
    pthread_mutex_destroy(&epoch->mutex);
}

mk_code mk_epoch_enter(mk_epoch *epoch, unsigned *slot, mk_err *err)
{
    /* Threads start looking at different places; pthread_self only has to differ. */
    const unsigned start = (unsigned)((uintptr_t)pthread_self() >> 12);
    for (unsigned i = 0; i < MK_EPOCH_SLOTS; i++) {
        const unsigned at = (start + i) % MK_EPOCH_SLOTS;
        uint64_t free_slot = 0;
        uint64_t now = atomic_load(&epoch->now);
        if (!atomic_compare_exchange_strong(&epoch->slots[at].since, &free_slot, now))
            continue;
        /* A retirement between reading the epoch and showing it might miss us: show it again until
         * nothing moved. */
        for (uint64_t again; (again = atomic_load(&epoch->now)) != now; now = again)
            atomic_store(&epoch->slots[at].since, again);
        *slot = at;
        return MK_OK;
    }
    mk_fail(err, MK_E_LIMIT, "%d views are open already", MK_EPOCH_SLOTS);
    mk_err_hint(err, "close views that are no longer read");
    mk_err_retry(err, MK_RETRY_AS_IS);
    return MK_E_LIMIT;
}

void mk_epoch_leave(mk_epoch *epoch, unsigned slot) { atomic_store(&epoch->slots[slot].since, 0); }

void mk_epoch_retire(mk_epoch *epoch, mk_retired *self,
                     void (*release)(mk_retired *self, void *ctx), void *ctx)
{
    self->release = release;
    self->ctx = ctx;
    self->next = NULL;
    pthread_mutex_lock(&epoch->mutex);
    self->epoch = atomic_fetch_add(&epoch->now, 1);
    if (epoch->newest != NULL)
        epoch->newest->next = self;
    else
        epoch->oldest = self;
    epoch->newest = self;
    pthread_mutex_unlock(&epoch->mutex);
}

void mk_epoch_collect(mk_epoch *epoch)
{
    pthread_mutex_lock(&epoch->mutex);
    mk_retired *list = NULL;
    if (epoch->oldest != NULL) {
        uint64_t oldest_reader = UINT64_MAX;
        for (unsigned i = 0; i < MK_EPOCH_SLOTS; i++) {
            const uint64_t since = atomic_load(&epoch->slots[i].since);
            if (since != 0 && since < oldest_reader)
                oldest_reader = since;
        }
        mk_retired **end = &list;
        while (epoch->oldest != NULL && epoch->oldest->epoch < oldest_reader) {
            *end = epoch->oldest;
            end = &epoch->oldest->next;
            epoch->oldest = epoch->oldest->next;
        }
        *end = NULL;
        if (epoch->oldest == NULL)
            epoch->newest = NULL;
    }
    pthread_mutex_unlock(&epoch->mutex);
    release_list(list);
}

/* recycle.c — keeping large blocks warm. Layer: base. */
#include "base/recycle.h"

#include <string.h>

#define LARGE ((size_t)256 << 10)

/* The size that a block asked for with `size` really has. */
static size_t rounded(size_t size)
{
    if (size < LARGE)
        return size;
    const unsigned shift = 60u - (unsigned)__builtin_clzll(size); /* an eighth of the power of two */
    const size_t step = (size_t)1 << shift;
    return size > SIZE_MAX - step ? size : (size + step - 1) & ~(step - 1);
}

/* A kept block of exactly this size: rounding makes such sizes meet again. The newest, which is warm. */
static void *take_kept(mk_recycler *r, size_t size)
{
    void *found = NULL;
    pthread_mutex_lock(&r->mutex);
    for (size_t i = r->kept_count; i-- > 0;)
        if (r->kept[i].size == size) {
            found = r->kept[i].p;
            r->kept_bytes -= size;
            memmove(&r->kept[i], &r->kept[i + 1], (--r->kept_count - i) * sizeof r->kept[0]);
            break;
        }
    pthread_mutex_unlock(&r->mutex);
    return found;
}

/* False when there is no room to keep it. The oldest blocks leave first. */
static bool keep(mk_recycler *r, void *p, size_t size)
{
    if (size > r->kept_max)
        return false;
    pthread_mutex_lock(&r->mutex);
    while (r->kept_count == MK_RECYCLE_SLOTS || r->kept_bytes + size > r->kept_max) {
        r->under->resize(r->under->ctx, r->kept[0].p, r->kept[0].size, 0);
        r->kept_bytes -= r->kept[0].size;
        memmove(&r->kept[0], &r->kept[1], --r->kept_count * sizeof r->kept[0]);
    }
    r->kept[r->kept_count].p = p;
    r->kept[r->kept_count++].size = size;
    r->kept_bytes += size;
    pthread_mutex_unlock(&r->mutex);
    return true;
}

static void *resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    mk_recycler *r = ctx;
    const mk_alloc *under = r->under;
    const size_t old_real = rounded(old_size);
    const size_t new_real = rounded(new_size);
    if (new_size == 0) {
        if (p != NULL && (old_size < LARGE || !keep(r, p, old_real)))
            under->resize(under->ctx, p, old_real, 0);
        return NULL;
    }
    if (p != NULL && old_real == new_real)
        return p;
    if (new_size < LARGE)
        return under->resize(under->ctx, p, old_real, new_real);
    void *fresh = take_kept(r, new_real);
    if (fresh == NULL)
        return under->resize(under->ctx, p, p ? old_real : 0, new_real);
    if (p != NULL) {
        memcpy(fresh, p, old_size < new_size ? old_size : new_size);
        if (old_size < LARGE || !keep(r, p, old_real))
            under->resize(under->ctx, p, old_real, 0);
    }
    return fresh;
}

mk_code mk_recycler_init(mk_recycler *recycler, const mk_alloc *under, size_t kept_max, mk_err *err)
{
    *recycler = (mk_recycler){.under = under, .kept_max = kept_max};
    recycler->alloc = (mk_alloc){resize, recycler};
    if (pthread_mutex_init(&recycler->mutex, NULL) != 0)
        return mk_fail_nomem(err);
    return MK_OK;
}

void mk_recycler_destroy(mk_recycler *recycler)
{
    for (size_t i = 0; i < recycler->kept_count; i++)
        recycler->under->resize(recycler->under->ctx, recycler->kept[i].p, recycler->kept[i].size, 0);
    recycler->kept_count = 0;
    pthread_mutex_destroy(&recycler->mutex);
}

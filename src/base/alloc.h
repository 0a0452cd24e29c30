/* alloc.h — the one way to memory. Layer: base.
 *
 * Everything long-lived is allocated through an mk_alloc handed in at the top, so that tests can
 * count blocks and make the n-th allocation fail. Sizes of old blocks are passed back, which lets
 * the default hook serve large blocks by populated pages: on our machines a page touched for the
 * first time costs 10 us through a fault and 0.7 us when populated (performance spec, section 2). */
#ifndef MK_BASE_ALLOC_H
#define MK_BASE_ALLOC_H

#include "base/err.h"

/* resize(ctx, NULL, 0, n) allocates, resize(ctx, p, old, n) changes the size and keeps the bytes,
 * resize(ctx, p, old, 0) frees and returns NULL. NULL for n > 0 means out of memory, `p` unharmed.
 * Must be safe to call from several threads. */
typedef struct mk_alloc {
    void *(*resize)(void *ctx, void *p, size_t old_size, size_t new_size);
    void *ctx;
} mk_alloc;

/* malloc for small blocks, populated anonymous pages for blocks of 1 MiB and more. */
extern const mk_alloc mk_alloc_default;

/* NULL when out of memory. Contents undefined; mk_new0 zeroes. Free with the same size. */
void *mk_new(const mk_alloc *alloc, size_t size);
void *mk_new0(const mk_alloc *alloc, size_t size);
void mk_free(const mk_alloc *alloc, void *p, size_t size); /* NULL is fine */

/* False when the result overflows size_t; *out is then untouched. */
bool mk_size_mul(size_t a, size_t b, size_t *out);
bool mk_size_add(size_t a, size_t b, size_t *out);

/* Makes room for `need` elements of `elem` bytes in *p (capacity *cap, in elements), growing by half
 * again at least. MK_E_NOMEM leaves *p and *cap as they were. */
MK_CHECK mk_code mk_grow(const mk_alloc *alloc, void **p, size_t *cap, size_t need, size_t elem,
                         mk_err *err);

#endif

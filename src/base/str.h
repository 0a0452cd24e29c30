/* str.h — byte strings with a length, and a growing buffer. Layer: base. */
#ifndef MK_BASE_STR_H
#define MK_BASE_STR_H

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

/* Borrowed bytes, usually UTF-8, not NUL-terminated. Whoever returns one says what keeps it alive. */
typedef struct mk_str {
    const char *p;
    size_t n;
} mk_str;

#define MK_STR(literal) ((mk_str){"" literal, sizeof(literal) - 1})
/* For printf("%.*s", MK_STR_ARG(s)). */
#define MK_STR_ARG(s) (int)((s).n > 4096 ? 4096 : (s).n), ((s).n ? (s).p : "")

static inline mk_str mk_str_of(const char *z) { return (mk_str){z, strlen(z)}; }
static inline bool mk_str_eq(mk_str a, mk_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
/* Order by bytes, which for UTF-8 is the order of code points. */
int mk_str_cmp(mk_str a, mk_str b);
bool mk_str_starts(mk_str s, mk_str prefix);
/* Offset of the first byte that is not well-formed UTF-8 (overlong, surrogate and > U+10FFFF forms
 * are not), or s.n when all is well. */
size_t mk_utf8_check(mk_str s);
/* Optional sign and decimal digits, whole string, int64 range; false otherwise. */
bool mk_str_to_i64(mk_str s, int64_t *out);

/* A growing buffer. Running out of memory is sticky: later puts do nothing, and mk_buf_done reports
 * it, so that writers need one check at the end and not one per call. */
typedef struct mk_buf {
    const mk_alloc *alloc;
    char *p;
    size_t n;
    size_t cap;
    bool failed;
} mk_buf;

void mk_buf_init(mk_buf *buf, const mk_alloc *alloc);
void mk_buf_free(mk_buf *buf);
static inline void mk_buf_clear(mk_buf *buf) { buf->n = 0; buf->failed = false; }
/* Room for `more` bytes behind p+n; NULL when out of memory. The caller adds to n what it wrote. */
char *mk_buf_room(mk_buf *buf, size_t more);
void mk_buf_put(mk_buf *buf, const void *p, size_t n);
static inline void mk_buf_str(mk_buf *buf, mk_str s) { mk_buf_put(buf, s.p, s.n); }
static inline void mk_buf_z(mk_buf *buf, const char *z) { mk_buf_put(buf, z, strlen(z)); }
void mk_buf_c(mk_buf *buf, char c);
void mk_buf_i64(mk_buf *buf, int64_t v);
void mk_buf_u64(mk_buf *buf, uint64_t v);
void mk_buf_printf(mk_buf *buf, const char *fmt, ...) MK_PRINTF(2, 3);
MK_CHECK mk_code mk_buf_done(const mk_buf *buf, mk_err *err);
static inline mk_str mk_buf_view(const mk_buf *buf) { return (mk_str){buf->p, buf->n}; }

/* Decimal text of v at p (at least 20 bytes); returns the number of bytes, no NUL. */
size_t mk_i64_text(char *p, int64_t v);
size_t mk_u64_text(char *p, uint64_t v);

#endif

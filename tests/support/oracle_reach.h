/* oracle_reach.h — what the oracles of reachability share. Test support. */
#ifndef MK_TESTS_ORACLE_REACH_H
#define MK_TESTS_ORACLE_REACH_H

#include <stdlib.h>

#include "oracle.h"

typedef struct oracle_reached {
    mk_str uid;
    int64_t t;
} oracle_reached;

static inline bool oracle_reach_check(const oracle_world *world, int64_t t_a, int64_t t_b, mk_str uid,
                                      oracle_answer *out)
{
    if (t_a >= t_b)
        oracle_fail(out, MK_E_INVALID_ARG);
    else if (!model_knows(world->m, uid))
        oracle_fail(out, MK_E_NOT_FOUND);
    return out->code == MK_OK;
}

static inline int oracle_by_uid(const void *x, const void *y)
{
    return mk_str_cmp(((const oracle_reached *)x)->uid, ((const oracle_reached *)y)->uid);
}

static inline int oracle_by_time(const void *x, const void *y)
{
    const oracle_reached *a = x, *b = y;
    return a->t != b->t ? (a->t < b->t ? -1 : 1) : oracle_by_uid(x, y);
}

static inline int oracle_by_time_back(const void *x, const void *y)
{
    const oracle_reached *a = x, *b = y;
    return a->t != b->t ? (a->t > b->t ? -1 : 1) : oracle_by_uid(x, y);
}

/* Rows by (time, uid), latest first when `back`. */
static inline void oracle_put_reached(const mk_json *args, oracle_reached *list, size_t n,
                                      const char *name, bool back, oracle_answer *out)
{
    oracle_page page;
    qsort(list, n, sizeof *list, back ? oracle_by_time_back : oracle_by_time);
    if (!oracle_page_of(args, n, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    mk_buf_z(&out->payload, ",\"rows\":[");
    for (size_t i = page.from; i < page.to; i++) {
        mk_buf_printf(&out->payload, "%s{\"%s\":%lld,\"uid\":", i > page.from ? "," : "", name,
                      (long long)list[i].t);
        mk_canon_string(&out->payload, list[i].uid);
        mk_buf_c(&out->payload, '}');
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", page.total,
                  page.truncated ? "true" : "false");
}

#endif

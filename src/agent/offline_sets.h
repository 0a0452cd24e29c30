/* offline_sets.h — entities that clauses describe: what is read, and how it becomes a plan. Layer: agent,
 * internal. */
#ifndef MK_AGENT_OFFLINE_SETS_H
#define MK_AGENT_OFFLINE_SETS_H

#include "agent/offline_internal.h"

#define MK_SETS_CLAUSES_MAX 3

/* "received a message from n5 at least 3 times": a condition on one end of events. */
typedef struct mk_clause {
    size_t first, last;   /* tokens, last excluded */
    bool sends, receives; /* which end those asked for are; both: either will do */
    bool negated;         /* it must not hold */
    bool only;            /* nothing else may hold: no other value, no other partner, not the other end */
    bool earliest;        /* it is about the first such event of each */
    bool both, timed;
    mk_str other, second; /* who is at the other end; n 0: anybody */
    mk_str rel;           /* n 0: any relation type */
    const char *cmp;      /* of the property; NULL: any value */
    int64_t value;
    const char *than;     /* how often; NULL: at least once */
    int64_t than_n;
    bool distinct;        /* not how often, but with how many others */
    int64_t span;         /* within so long, microseconds; 0: at all */
} mk_clause;

typedef enum mk_sets_asks { MK_SETS_COUNT, MK_SETS_LIST, MK_SETS_EXIST } mk_sets_asks;

typedef struct mk_sets {
    mk_off *q;
    mk_clause clauses[MK_SETS_CLAUSES_MAX];
    size_t count;
    size_t noun; /* the word for those who are asked for */
    mk_sets_asks asks;
    bool from_all; /* the first clause must not hold: of all nodes that there are */
    bool same_day; /* the first events of two clauses fall on one day */
} mk_sets;

/* Whether everything that the clauses find is of the kind that the noun names. */
MK_CHECK mk_code mk_sets__labels_agree(const mk_sets *s, bool *agree);
MK_CHECK mk_code mk_sets__write(mk_sets *s);

#endif

/* offline_internal.h — what the files of the offline planner share. Layer: agent, internal.
 *
 * A question becomes tokens; tokens become times, names and words that mean something (concepts); a frame is
 * the one way in which these add up to a question that operators answer. Every token that is no mere function
 * word must have been used by that frame, or there is no answer. */
#ifndef MK_AGENT_OFFLINE_INTERNAL_H
#define MK_AGENT_OFFLINE_INTERNAL_H

#include "agent/offline.h"
#include "base/canon.h"
#include "base/timetext.h"

#define MK_OFF_TOKENS_MAX 256
#define MK_OFF_TIMES_MAX 8
#define MK_OFF_NAMES_MAX 8
#define MK_OFF_RELS_MAX 4

/* What a word can mean. Words that mean nothing to any question (articles, prepositions, politeness) are
 * C_STOP; words that are not in the table are C_UNKNOWN, and a question with one that nothing else explains
 * is not answered. */
typedef enum mk_concept {
    C_UNKNOWN, C_STOP,
    C_COUNT, C_WHICH, C_WHO, C_WHEN, C_DID,
    C_NODE, C_EVENT, C_PAIR, C_VERSION, C_BUCKET, C_NEIGHBOUR,
    C_SEND, C_RECEIVE, C_TOUCH, C_DEGREE, C_REACH, C_FIRST, C_LAST, C_MOST, C_LEAST, C_DISTINCT,
    C_BURST, C_NEW, C_RECIPROCAL, C_SHARE, C_BELIEF, C_NOW, C_EXIST, C_NOT, C_ADDED, C_REMOVED,
    C_GAP, C_BEFORE, C_START, C_END, C_AVERAGE, C_POSITIVE, C_NEGATIVE, C_VALUE, C_ONLY, C_ABOVE, C_BELOW,
    C_TIME, C_LENGTH, C_SAME, C_EVER, C_ONCE, C_OTHER, C_PATH, C_THRESHOLD, C_NUMBER, C_INVOLVED, C_TYPE,
    C_TOTAL, C_CORRECTION, C_PERIOD, C_CORRECTED, C_ORDER, C_EACH, C_SELF, C_BUT, C_BOTH
} mk_concept;
#define MK_C(concept) (UINT64_C(1) << (concept))

typedef struct mk_token {
    mk_str text;        /* as written, without the punctuation around it */
    char low[48];       /* ASCII lower case, cut */
    mk_concept concept;
    bool used;          /* by a time, a name, a relation or a number */
    bool possessive;    /* had 's */
    bool opens;         /* an opening bracket stands before it */
    bool ends;          /* a comma, a full stop or the like stands behind it */
    bool capital;
} mk_token;

/* A stretch of time that the question names; an instant has lo == hi. */
typedef struct mk_span_of_time {
    int64_t lo, hi;
    size_t first, last; /* tokens, inclusive */
    bool instant;
    bool belief;        /* it is a transaction time */
} mk_span_of_time;

/* A length of time: "5.2-day", "232.4 hours". Written with a fraction it is taken for rounded. */
typedef struct mk_length {
    int64_t us, unit_us;
    bool rounded;
    size_t token;
} mk_length;

typedef struct mk_name {
    mk_str uid;
    size_t first, last;
    bool from_task;
} mk_name;

typedef struct mk_off {
    mk_store *store;
    mk_view *view;
    mk_arena *arena;
    const mk_offline_options *options;
    mk_offline_result *out;
    mk_err *err;
    mk_str question;
    mk_token tokens[MK_OFF_TOKENS_MAX];
    size_t count;
    bool has_extent;
    int64_t vt_min, vt_max;
    /* times */
    bool has_window;
    int64_t t_a, t_b;
    mk_span_of_time instants[MK_OFF_TIMES_MAX];
    size_t instant_count;
    mk_length lengths[MK_OFF_TIMES_MAX];
    size_t length_count;
    bool has_belief;
    int64_t belief;
    /* names */
    mk_name names[MK_OFF_NAMES_MAX];
    size_t name_count;
    mk_str rels[MK_OFF_RELS_MAX];
    size_t rel_first[MK_OFF_RELS_MAX], rel_last[MK_OFF_RELS_MAX];
    size_t rel_count, rel_types; /* named in the question; in the store */
    mk_str only_rel;             /* when the store has one */
    mk_str prop;                 /* a number property that the question names */
    size_t prop_token;           /* where; q->count: nowhere */
    mk_str labels[4];            /* that the question names */
    size_t label_tokens[4], label_count;
    /* numbers that are neither time nor name */
    int64_t numbers[4];
    size_t number_tokens[4], number_count;
    bool ambiguous;              /* a name could be several */
    bool either_role;            /* the question says that either end of an event will do */
    bool mutual;                 /* "A rated B and B rated A" */
    bool backwards;              /* it goes against the direction of events */
} mk_off;

/* ---- offline_words.c ---- */
void mk_off__tokens(mk_off *q);
bool mk_off__is(const mk_token *t, const char *word);
bool mk_off__is_any(const mk_token *t, const char *words); /* separated by spaces */
/* Bits of the concepts of unused tokens. */
uint64_t mk_off__concepts(const mk_off *q);
/* The first unused token of a concept; q->count: none. */
size_t mk_off__find(const mk_off *q, mk_concept concept);

/* ---- offline_time.c ---- */
void mk_off__times(mk_off *q);
/* "2004-06-15T11:12:00Z (1087297923946038)" and the like. */
void mk_off__put_time(mk_buf *out, int64_t us);

/* ---- offline_names.c ---- */
MK_CHECK mk_code mk_off__names(mk_off *q);

/* ---- offline_frames.c ---- */
/* Fills the result: a plan, or what is missing. */
MK_CHECK mk_code mk_off__frames(mk_off *q);
/* ---- offline_events.c: who did what to whom, how often ---- */
MK_CHECK mk_code mk_off__events(mk_off *q, bool *planned);

/* A word for an event that stands as a verb: "rated". */
bool mk_off__is_event_verb(const mk_token *t);
/* Runs aggregate_events on the current belief and gives its rows, in `scratch`; NULL: it was refused. */
MK_CHECK mk_code mk_off__aggregate(mk_off *q, mk_str args, mk_arena *scratch, const mk_json **rows);
/* ---- offline_sets.c: entities that clauses describe ---- */
MK_CHECK mk_code mk_off__sets(mk_off *q, bool *planned);

/* "senders", "recipients": those at an end of events, and no verb. */
bool mk_off__is_end_noun(const mk_token *t);
/* How the number or "once" at token i is meant: "ge" for "at least"; NULL: the words around it do not say. */
const char *mk_off__comparison(const mk_off *q, size_t i);
/* ---- offline_groups.c: pairs, loops, silent days, weekdays, shares ---- */
MK_CHECK mk_code mk_off__groups(mk_off *q, bool *planned);
/* ---- offline_remarks.c: words that say what is assumed anyway ---- */
void mk_off__remarks(mk_off *q);
/* ---- offline_life.c: when nodes exist, and what was corrected ---- */
MK_CHECK mk_code mk_off__life(mk_off *q, bool *planned);

/* ---- offline.c ---- */
MK_CHECK mk_code mk_off__missing(mk_off *q, const char *fmt, ...) MK_PRINTF(2, 3);
/* Takes the plan's steps (the inside of the list) and where the answer is. */
MK_CHECK mk_code mk_off__plan(mk_off *q, const mk_buf *steps, const char *kind, const char *from,
                              const mk_buf *understood);
/* Window and belief as members of arguments, each with a comma before it. */
void mk_off__put_window(const mk_off *q, mk_buf *out);
/* The words of a sentence: "from ... to ..., as believed at ...". */
void mk_off__say_times(const mk_off *q, mk_buf *out);

#endif

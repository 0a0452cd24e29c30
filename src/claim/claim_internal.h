/* claim_internal.h — what the files of the claim verifier share. Layer: claim.
 *
 * A claim is checked in a mk_checking: it knows the steps that the claim cites and collects verdict and
 * reasons. Check functions fail for want of memory only; whatever a claim or a payload holds becomes a
 * verdict. What a result leaves out enters at one place, mk_claim__weaken: a check says how it read the
 * field, and the reasons of that field decide whether the verdict can stand. */
#ifndef MK_CLAIM_CLAIM_INTERNAL_H
#define MK_CLAIM_CLAIM_INTERNAL_H

#include "base/ref.h"
#include "claim/answer.h"

#define MK_CLAIM_STEPS_MAX 256  /* steps of a trace; plans have at most 12, sessions may have more */
#define MK_CLAIMS_MAX 1000      /* claims of an answer */
#define MK_CLAIM_HOPS_MAX 64    /* hops of a path claim */
#define MK_CLAIM_BUCKETS_MAX 2000 /* as operators have */
#define MK_CLAIM_OPEN_END INT64_C(4611686018427387904) /* 2^62: no end */
#define MK_CLAIM_DEPTH_MAX 128  /* of payloads; the JSON reader has the same bound */
/* Values looked at for all claims of an answer together: some seconds. Claims beyond are unverifiable. */
#define MK_CLAIM_WORK_MAX UINT64_C(200000000)

/* ---- numbers and intervals ---- */

bool mk_claim__is_number(const mk_json *value); /* a finite one; booleans are none */
/* Exact order of two numbers, whatever their size: -1, 0, 1. */
int mk_claim__compare(const mk_json *a, const mk_json *b);
/* Equal numbers: integers exactly, others to 1e-9 (agent spec, 12.3). */
bool mk_claim__same_number(const mk_json *a, const mk_json *b);
double mk_claim__double(const mk_json *number);
/* The same JSON value, numbers by 1 == 1.0, members in any order. */
bool mk_claim__same(const mk_json *a, const mk_json *b);
/* An integer that fits. */
bool mk_claim__i64(const mk_json *value, int64_t *out); /* NULL is none */
/* Whether "left cmp right" holds. False in *known when the two cannot be compared. */
bool mk_claim__holds(const mk_json *left, mk_str cmp, const mk_json *right, bool *known);
bool mk_claim__is_cmp(mk_str cmp);

typedef struct mk_when {
    int64_t start, end;
    bool instant; /* one point in time; `end` is start + 1 */
} mk_when;
/* {"start","end"}, {"t_a","t_b"} or {"t"}; false for everything else and unless start < end. */
bool mk_claim__when(const mk_json *value, mk_when *out);
/* The half-open interval that a row of a result has: t_a/t_b, start/end or vt_s/vt_e. */
bool mk_claim__row_interval(const mk_json *row, mk_when *out);
/* Allen's name for how `a` lies to `b`; instants by the order of points. Source: Allen 1983; O-10. */
const char *mk_claim__allen(mk_when a, mk_when b);
bool mk_claim__is_allen(mk_str name);

/* ---- identifiers and times in payloads ---- */

typedef enum mk_role { MK_ROLE_NONE, MK_ROLE_ID, MK_ROLE_TIME } mk_role;
/* By the name of a payload's field; never of arguments. */
mk_role mk_claim__role(mk_str key);
/* Whether what stands below the field is typed by these names too (stored properties are not). */
bool mk_claim__enters(mk_str key);

/* What can be named in a result, sorted. */
typedef struct mk_lexicon {
    bool built;
    mk_str *ids;
    size_t id_count;
    int64_t *times;
    size_t time_count;
} mk_lexicon;
bool mk_lexicon_has_id(const mk_lexicon *lexicon, mk_str id);
bool mk_lexicon_has_time(const mk_lexicon *lexicon, int64_t time);
/* `untyped`: every string and integer counts (of compute, whose columns have any name). */
MK_CHECK mk_code mk_lexicon_build(const mk_json *value, mk_str key, bool untyped, mk_arena *arena,
                                  mk_lexicon *out, mk_err *err);
size_t mk_lexicon_sort(mk_str *ids, size_t count); /* leaves out doubles; how many are left */

/* ---- evidence ---- */

typedef struct mk_gap_note {
    mk_str field;
    mk_str reason;
    bool inherited; /* from an argument */
    bool has_total;
    int64_t total;
} mk_gap_note;

typedef struct mk_claim_step {
    mk_str id, op;
    mk_str fault;      /* why there is no payload; empty: there is one */
    const char *word;  /* the same for programs */
    const mk_json *record, *call, *args, *payload;
    mk_gap_note *gaps;
    size_t gap_count;
    bool has_belief; /* the operator was asked as of `belief` */
    int64_t belief;
    mk_lexicon lexicon;
    unsigned mark; /* for walks over dependencies */
} mk_claim_step;

struct mk_evidence {
    mk_arena *arena;
    bool has_as_of;
    int64_t as_of_tt;
    mk_claim_step *steps;
    size_t step_count;
    mk_reexec_fn *reexec;
    void *reexec_ctx;
    unsigned marks;
    uint64_t work; /* values that may still be looked at */
};

mk_claim_step *mk_evidence__find(mk_evidence *evidence, mk_str id);
/* Evidence made of parts that have been checked already: `call` and `payload` of each step. */
MK_CHECK mk_code mk_evidence__of_parts(const mk_claim_step *steps, size_t count, mk_arena *arena,
                                       mk_evidence **out, mk_err *err);
/* Takes op, args, belief and gaps out of a call record and a payload that are there. */
MK_CHECK mk_code mk_evidence__fill(mk_claim_step *step, mk_arena *arena, mk_err *err);
bool mk_claim__is_compute(const mk_claim_step *step);
/* Whether an identifier (a time) is in the results that a step was computed from, or in its own when it
 * reads the store. */
MK_CHECK mk_code mk_evidence__knows_id(mk_evidence *evidence, mk_claim_step *step, mk_str id,
                                       bool *known, mk_err *err);
MK_CHECK mk_code mk_evidence__knows_time(mk_evidence *evidence, mk_claim_step *step, int64_t time,
                                         bool *known, mk_err *err);
/* The transaction time that a step was asked as of; of a computed one, that of all it was computed from.
 * False: there is none, or there are several. */
bool mk_evidence__belief(mk_evidence *evidence, mk_claim_step *step, int64_t *out);
/* Whether something in it came from the store: it asked, or was computed from a step that did. */
bool mk_evidence__is_grounded(mk_evidence *evidence, mk_claim_step *step);
MK_CHECK mk_code mk_evidence__lexicon(mk_evidence *evidence, mk_claim_step *step, mk_lexicon **out,
                                      mk_err *err);

/* ---- checking one claim ---- */

typedef struct mk_checking {
    mk_evidence *evidence;
    const mk_verify_options *options;
    mk_arena *arena;
    const mk_json *claim;
    const mk_json *outer; /* the belief claim around it, NULL */
    mk_claim_step **cited; /* those with a payload */
    size_t cited_count;
    const mk_json *cites; /* the ids, as the claim gives them */
    mk_claim_result *result;
} mk_checking;

typedef mk_code mk_claim_check(mk_checking *c, mk_err *err);

/* How a claim read a field, from what it says about the rest to what it says about nothing else. */
typedef enum mk_need {
    MK_NEED_WHOLE,  /* all of a list: length, "none", "exactly these" */
    MK_NEED_SCALAR, /* a single member of the payload */
    MK_NEED_PLACE,  /* an item at its index */
    MK_NEED_MEMBER, /* that an item is there */
    MK_NEED_LEAST   /* that there is at least as much */
} mk_need;

typedef struct mk_found {
    mk_claim_step *step;
    const mk_json *value;
    mk_str field; /* first member of the path */
    mk_str last;  /* last member of the path */
    bool typed;   /* names on the way say what stands there: no stored property is passed */
    mk_need need;
} mk_found;

/* Verdict, machine word (NULL: none) and sentence. The last call counts. */
void mk_claim__settle(mk_checking *c, mk_verdict verdict, const char *word, const char *fmt, ...)
    MK_PRINTF(4, 5);
/* Lowers `supported` to `weakly_supported` when the field's gaps touch what was read. */
void mk_claim__weaken(mk_checking *c, const mk_claim_step *step, mk_str field, mk_need need);
/* Whether it would. */
bool mk_claim__touched(const mk_checking *c, const mk_claim_step *step, mk_str field, mk_need need);

/* The same for all that the step leaves out: of claims that do not say where they were read. */
void mk_claim__weaken_all(mk_checking *c, const mk_claim_step *step);

/* How a result is cut and pinned is no parameter of what it shows: not limit, cursor, as_of_tt. */
bool mk_claim__is_parameter(mk_str name);
/* Runs a call again, all of it, as of `tt`. *payload NULL: it could not be, `why` (may be NULL) says so.
 * Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_claim__reexec(mk_checking *c, mk_str op, const mk_json *args, int64_t tt,
                                  const mk_json **payload, mk_err *why, mk_err *err);

/* Follows a path. *ok false: the verdict is settled. The step must be cited. */
MK_CHECK mk_code mk_claim__follow(mk_checking *c, mk_str path, mk_found *out, bool *ok, mk_err *err);
/* The claim's `from`; *ok false also when there is none (then nothing is settled). */
MK_CHECK mk_code mk_claim__from(mk_checking *c, mk_found *out, bool *ok, mk_err *err);
bool mk_claim__has_from(const mk_checking *c);
/* A list counts its length where a number is meant. */
mk_json mk_claim__as_number(const mk_json *value);
/* The member of the claim. NULL: absent or null. */
const mk_json *mk_claim__member(const mk_checking *c, const char *name);
mk_str mk_claim__string(const mk_checking *c, const char *name); /* p NULL: no string */
/* Takes from the budget; false settles the claim as too large. */
bool mk_claim__spend(mk_checking *c, uint64_t values);
/* The value as canonical text, at most `max` bytes, for a sentence. */
mk_str mk_claim__show(mk_checking *c, const mk_json *value, size_t max);
/* The check for a type; NULL: no such type. */
mk_claim_check *mk_claim__check_of(mk_str type);
/* Runs the order of the agent spec, 12.2, on c->claim. */
MK_CHECK mk_code mk_claim__run(mk_checking *c, mk_err *err);

mk_claim_check mk_claim__value, mk_claim__boolean, mk_claim__bound, mk_claim__comparison,
    mk_claim__ratio, mk_claim__entity, mk_claim__set_equal, mk_claim__absence, mk_claim__ordering,
    mk_claim__interval, mk_claim__path, mk_claim__pattern, mk_claim__belief,
    mk_claim__belief_change;

/* The identifiers of a list as a set: strings as they are, of objects every string under uid, src or dst
 * at any depth, sorted inside a row (evaluation spec, 6). False: an item has none. */
MK_CHECK mk_code mk_claim__uids_of(const mk_json *list, mk_arena *arena, mk_str **uids, size_t *count,
                                   bool *all, mk_err *err);

/* ---- answers as JSON ---- */

/* Reads {"text","claims"} strictly: known members of the right types, ids unique, no member twice, 5.0
 * as 5. *fault is empty when it is one. */
MK_CHECK mk_code mk_answer__read(mk_str text, mk_arena *arena, const mk_json **out, mk_str *fault,
                                 mk_err *err);
/* Whether some object of the text names a member twice. The text must be JSON. */
MK_CHECK mk_code mk_json__has_doubles(mk_str text, const mk_json *tree, mk_arena *arena, bool *out,
                                      mk_err *err);

/* ---- words ---- */

/* What a claim says, as a sentence without its full stop. */
void mk_claim__words(mk_buf *out, const mk_json *claim);
/* A number as people read it: one that looks like a time with its ISO 8601 form. */
void mk_claim__number_words(mk_buf *out, const mk_json *value);
/* Identifiers parted by commas, all of them up to a bound. */
void mk_claim__list_words(mk_buf *out, const mk_json *uids);
/* Why a verdict is weak, in words without numbers or identifiers: "only part of the rows was read". */
void mk_claim__qualifier(mk_buf *out, const mk_claim_result *result);

/* ---- prose ---- */

/* Something in a text that asserts: a number, a time, an identifier, or a word with digits in it. */
typedef struct mk_mention {
    size_t start, end; /* bytes of the text */
    bool numeric;      /* reads as `number` */
    mk_json number;
    unsigned decimals; /* digits behind the point */
    bool percent;
    bool timed;        /* reads as a time: [from, until), by the precision it is written in */
    int64_t from, until;
} mk_mention;
typedef struct mk_mentions {
    mk_mention *items;
    size_t count;
} mk_mentions;

/* What the text mentions. `ids`: sorted identifiers that count as such wherever they stand as words. */
MK_CHECK mk_code mk_prose__mentions(mk_str text, const mk_str *ids, size_t id_count, mk_arena *arena,
                                    mk_mentions *out, mk_err *err);
/* The end of the sentence that starts at `at`: behind its mark and the blanks after it. No sentence ends
 * inside a mention. */
size_t mk_prose__sentence_end(mk_str text, size_t at, const mk_mentions *mentions);

/* What claims say, to be looked up: see mk_prose__covers. */
typedef struct mk_cover {
    mk_str *strings; /* sorted */
    size_t string_count;
    mk_json *numbers; /* sorted */
    size_t number_count;
} mk_cover;
MK_CHECK mk_code mk_prose__cover(const mk_json *const *claims, size_t count, mk_arena *arena,
                                 mk_cover *out, mk_err *err);
bool mk_prose__covers(const mk_cover *cover, mk_str text, const mk_mention *mention);

/* A number or a time at the start of a text. False: there is none. */
bool mk_mention__number(mk_str text, mk_mention *out);
bool mk_mention__number_word(mk_str text, mk_mention *out); /* "twenty-three" */
bool mk_mention__time(mk_str text, mk_mention *out);        /* ISO 8601, from YYYY-MM on */
/* How many bytes the word character at the start of the text has; 0: it is none. */
size_t mk_word_char(mk_str text);

/* Copies a finished buffer into the arena and frees it. */
MK_CHECK mk_code mk_claim__keep(mk_buf *buf, mk_arena *arena, mk_str *out, mk_err *err);

#endif

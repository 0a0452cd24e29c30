/* payload.h — writing an operator's result. Layer: op.
 *
 * A payload is written as canonical JSON in one pass, top-level members in ascending order, and its
 * members are remembered, so that digest and envelope need no second look. Beside it stands what the
 * result leaves out: reasons per field, outside the digest. Source: operators spec, 3 and 5.3;
 * decisions.md 4. */
#ifndef MK_OP_PAYLOAD_H
#define MK_OP_PAYLOAD_H

#include "base/canon.h"
#include "op/page.h"
#include "store/view.h"

#define MK_PAYLOAD_MEMBERS_MAX 32 /* no operator declares more than half of it */
#define MK_PAYLOAD_GAPS_MAX 16

/* Why a field is incomplete; texts are those of the agent spec, 18.1. */
typedef enum mk_gap_reason {
    MK_GAP_PAGE,     /* rows exist after the page */
    MK_GAP_OFFSET,   /* the page does not start at the first row */
    MK_GAP_SUBLIST,  /* a list beside the rows was cut */
    MK_GAP_TOP_K,    /* the operator lists the best k only */
    MK_GAP_BUDGET,   /* stopped by a budget */
    MK_GAP_EXCLUDED  /* left out by a rule of type or filter */
} mk_gap_reason;

typedef struct mk_gap {
    const char *field;
    mk_gap_reason reason;
    uint64_t shown, total;
} mk_gap;

typedef struct mk_payload_member {
    const char *name;
    size_t start, end; /* of its value in `text` */
} mk_payload_member;

typedef struct mk_payload {
    mk_buf text; /* the whole object when finished */
    mk_arena *arena;
    mk_payload_member members[MK_PAYLOAD_MEMBERS_MAX];
    size_t member_count;
    mk_gap gaps[MK_PAYLOAD_GAPS_MAX];
    size_t gap_count;
    bool first;      /* the next item of the open list is its first */
    bool not_finite; /* a float that JSON cannot hold came up */
} mk_payload;

void mk_payload_init(mk_payload *payload, const mk_alloc *alloc);
void mk_payload_free(mk_payload *payload);
void mk_payload_begin(mk_payload *payload, mk_arena *arena); /* clears it, keeps its memory */
/* Closes the object. Errors: MK_E_INVALID_ARG for a float that is not finite, MK_E_NOMEM. */
MK_CHECK mk_code mk_payload_end(mk_payload *payload, mk_err *err);

/* Starts a top-level member; names must ascend, and stay valid as long as the payload. */
void mk_payload_member_start(mk_payload *payload, const char *name);
void mk_payload_bool(mk_payload *payload, const char *name, bool value);
void mk_payload_int(mk_payload *payload, const char *name, int64_t value);
/* A member that is a list: open, then mk_payload_item before each item, then close. */
void mk_payload_list(mk_payload *payload, const char *name);
void mk_payload_item(mk_payload *payload);
void mk_payload_list_end(mk_payload *payload);
/* The member `cursor` of a page. */
void mk_payload_cursor(mk_payload *payload, const mk_span *span);

/* Values at the current place. A float is rounded to nine decimals. */
void mk_payload_float(mk_payload *payload, double value);
void mk_payload_string(mk_payload *payload, mk_str text);
/* Canonical JSON from the store: copied, its floats rounded. Errors: MK_E_NOMEM, MK_E_SCHEMA. */
MK_CHECK mk_code mk_payload_json(mk_payload *payload, mk_str canonical, mk_err *err);
/* A tree, whose floats are rounded in place. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_payload_tree(mk_payload *payload, mk_json *tree, mk_err *err);
/* EDGE_ROW and NODE_VERSION (operators spec, section 6). */
MK_CHECK mk_code mk_payload_edge_row(mk_payload *payload, mk_view *view, const mk_edge_ref *ref,
                                     mk_err *err);
MK_CHECK mk_code mk_payload_node_version(mk_payload *payload, mk_view *view, const mk_node_ref *ref,
                                         mk_err *err);

/* Notes that `field` does not show everything. */
void mk_payload_gap(mk_payload *payload, const char *field, mk_gap_reason reason, uint64_t shown,
                    uint64_t total);
/* The gaps that a page of rows has. */
void mk_payload_page_gaps(mk_payload *payload, const char *field, const mk_span *span);
/* {"rows":[{"reason":"page","shown":100,"total":343}]}; {} when all is complete. */
void mk_payload_gaps_json(mk_buf *out, const mk_payload *payload);

/* Raw value of the top-level member `name` (plain ASCII without quotes) of a canonical object's text;
 * false when absent. Bounded by `object`, whatever it holds. */
bool mk_canon_member(mk_str object, const char *name, mk_str *raw);

#endif

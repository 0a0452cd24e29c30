/* view.h — reading at a pinned transaction time. Layer: store.
 *
 * A view pins a state of the store and a transaction time: visible is tt_s <= A < tt_e. Opening one takes
 * no lock and copies nothing; it cannot change while it is open, whatever is written meanwhile.
 * Entities are dense 32-bit ids in registration order, other names (labels, relation types) are
 * codes; both turn into text through the view. Source: store spec, 5, 13; operators spec, 2. */
#ifndef MK_STORE_VIEW_H
#define MK_STORE_VIEW_H

#include "store/store.h"

/* Visibility classes of entities (decisions.md 2); an edge has the most hidden class of its ends. */
enum { MK_SHOW_USER = 1, MK_SHOW_RESOLUTION = 2, MK_SHOW_KNOWLEDGE = 4, MK_SHOW_NOTES = 8 };

typedef struct mk_view mk_view;
struct mk_lowered; /* store/lowered.h */

/* as_of: transaction time, MK_OPEN_END for "now". An as_of beyond the newest commit is clamped to it.
 * mask 0 means MK_SHOW_USER. Errors: MK_E_NOMEM, MK_E_LIMIT (too many open views). */
MK_CHECK mk_code mk_view_at(mk_store *store, mk_tt as_of, unsigned mask, mk_view **out, mk_err *err);
void mk_view_close(mk_view *view); /* NULL is fine */

bool mk_view_is_current(const mk_view *view); /* "now" was asked, or a tt at or after the newest */
mk_tt mk_view_effective_tt(const mk_view *view); /* the newest commit it can see */

#define MK_NO_ID UINT32_MAX
/* Dense id of a known uid admitted by the mask; MK_NO_ID otherwise. */
uint32_t mk_view_entity(const mk_view *view, mk_str uid);
uint32_t mk_view_entity_count(const mk_view *view); /* ids are below this; all classes */
bool mk_view_entity_visible(const mk_view *view, uint32_t id);
mk_str mk_view_uid(const mk_view *view, uint32_t id); /* lives as long as the store */
/* Uids [1024 * number, 1024 * (number + 1)) in lower case, one behind the other; all of them must be below the
 * view's entity count. Lives as long as the store. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_view_lowered(mk_view *view, uint32_t number, const struct mk_lowered **out,
                                 mk_err *err);
/* Label, relation type and other names by code and back; MK_NO_ID when the text was never used. */
mk_str mk_view_name(const mk_view *view, uint32_t code);
uint32_t mk_view_name_code(const mk_view *view, mk_str text);

typedef struct mk_node_version {
    uint32_t uid;   /* dense id */
    uint32_t label; /* name code */
    int64_t vt_s, vt_e, tt_s;
    int64_t tt_e; /* as the view believes: MK_OPEN_END unless ended at or before its tt */
    mk_str props; /* canonical JSON */
    mk_str source;
    mk_str provenance_ref;
    bool provenance_null;
    char vid[24]; /* lower-case hex */
} mk_node_version;

typedef struct mk_edge_version {
    uint32_t src, dst; /* dense ids */
    uint32_t rel_type; /* name code */
    bool disc_null;
    mk_str disc;
    int64_t vt_s, vt_e, tt_s, tt_e;
    mk_str props, source, provenance_ref;
    bool provenance_null;
    char eid[24], vid[24];
} mk_edge_version;

/* A row in hand: where it is, and the columns that filters need. Everything else by the functions
 * below. Valid while the view is open. */
typedef struct mk_edge_ref {
    int64_t vt_s, vt_e;
    uint32_t src, dst, rel_type;
    uint32_t part; /* segment or tail; opaque */
    uint32_t row;
} mk_edge_ref;

typedef struct mk_node_ref {
    int64_t vt_s, vt_e;
    uint32_t uid, label;
    uint32_t part, row;
} mk_node_ref;

/* Believed node versions of one entity in scan order (vt_s, vid). The array lives in `arena`. */
MK_CHECK mk_code mk_view_node_refs(mk_view *view, mk_arena *arena, uint32_t id, mk_node_ref **refs,
                                   size_t *count, mk_err *err);
/* The believed version of `id` valid at t; *found false when there is none. */
MK_CHECK mk_code mk_view_node_at(mk_view *view, uint32_t id, mk_vt t, mk_node_ref *ref, bool *found,
                                 mk_err *err);
/* Fills a whole version; strings live in `arena` or as long as the view. */
MK_CHECK mk_code mk_view_node_version(mk_view *view, mk_arena *arena, const mk_node_ref *ref,
                                      mk_node_version *out, mk_err *err);
MK_CHECK mk_code mk_view_edge_version(mk_view *view, mk_arena *arena, const mk_edge_ref *ref,
                                      mk_edge_version *out, mk_err *err);
/* Only the props, canonical JSON that lives as long as the view; costs no hash. */
MK_CHECK mk_code mk_view_node_props(mk_view *view, const mk_node_ref *ref, mk_str *props, mk_err *err);
MK_CHECK mk_code mk_view_edge_props(mk_view *view, const mk_edge_ref *ref, mk_str *props, mk_err *err);
/* With src, dst and rel_type the identity of an edge: equal numbers are equal discriminators. */
MK_CHECK mk_code mk_view_edge_disc(mk_view *view, const mk_edge_ref *ref, int64_t *disc, mk_err *err);
/* Only the eid, which costs one hash. */
MK_CHECK mk_code mk_view_edge_eid(mk_view *view, const mk_edge_ref *ref, char eid[24], mk_err *err);
/* Only the ids, which cost two hashes. */
MK_CHECK mk_code mk_view_edge_ids(mk_view *view, const mk_edge_ref *ref, char eid[24], char vid[24],
                                  mk_err *err);

/* How an edge version must lie to [vt_lo, vt_hi) in valid time. */
typedef enum mk_match {
    MK_MATCH_OVERLAPS, /* vt_s < vt_hi and vt_lo < vt_e */
    MK_MATCH_STARTS,   /* vt_lo <= vt_s < vt_hi: an event of the window (operators spec, 2.2) */
    MK_MATCH_ENDS      /* vt_lo <= vt_e < vt_hi */
} mk_match;

enum { MK_SIDE_OUT = 1, MK_SIDE_IN = 2 };

/* Columns of a stream's blocks that its reader does not look at; what they hold has no meaning then. */
enum { MK_WITHOUT_ENDS = 1, MK_WITHOUT_SRC = 2, MK_WITHOUT_DST = 4, MK_WITHOUT_ROWS = 8 };

/* Which edge versions a listing gives. */
typedef struct mk_edge_filter {
    int64_t vt_lo, vt_hi;      /* INT64_MIN, INT64_MAX: everything */
    const uint32_t *rel_types; /* name codes; NULL: all */
    size_t rel_type_count;     /* with rel_types set, 0 keeps nothing */
    mk_match match;
    unsigned sides; /* of mk_view_edges_of: MK_SIDE_OUT src = id, MK_SIDE_IN dst = id; 0: either */
    unsigned without; /* of a stream: MK_WITHOUT_...; 0: all columns are wanted */
    const uint32_t *srcs; /* of a stream: only edges out of these, all different; NULL: all */
    size_t src_count;     /* with srcs set, 0 keeps nothing */
} mk_edge_filter;

extern const mk_edge_filter mk_edge_filter_all;

/* Believed edge versions with src = id or dst = id (a self-loop once), in no order; sort with
 * mk_view_sort_edges. MK_E_CANCELLED when `each` returns false, and `err` is left alone: why is for the
 * callback to say. */
typedef bool mk_edge_fn(void *ctx, const mk_edge_ref *ref);
MK_CHECK mk_code mk_view_edges_of(mk_view *view, uint32_t id, const mk_edge_filter *filter,
                                  mk_edge_fn *each, void *ctx, mk_err *err);
/* All believed edge versions, in no order. */
MK_CHECK mk_code mk_view_edges(mk_view *view, const mk_edge_filter *filter, mk_edge_fn *each,
                               void *ctx, mk_err *err);

/* Visible rows side by side, as kernels want them: `count` values in every array, all of one part. */
#define MK_EDGE_BLOCK 1024u
typedef struct mk_edge_block {
    uint32_t count; /* 1 to MK_EDGE_BLOCK */
    uint32_t part;
    const int64_t *vt_s, *vt_e;
    const uint32_t *src, *dst, *rel_type, *row;
} mk_edge_block;
static inline mk_edge_ref mk_edge_block_ref(const mk_edge_block *block, uint32_t i)
{
    return (mk_edge_ref){block->vt_s[i], block->vt_e[i], block->src[i], block->dst[i],
                         block->rel_type[i], block->part, block->row[i]};
}

/* A pull reader over all believed edge versions that pass the filter. `in_time`: blocks come in
 * ascending vt_s, over all parts; ties in no order. Otherwise part by part, each part ascending. The
 * stream and its blocks live in `arena`; a block is good until the next call. Nothing to close. */
typedef struct mk_edge_stream mk_edge_stream;
MK_CHECK mk_code mk_view_stream(mk_view *view, mk_arena *arena, const mk_edge_filter *filter,
                                bool in_time, mk_edge_stream **out, mk_err *err);
/* *block is NULL after the last one. */
MK_CHECK mk_code mk_edge_stream_next(mk_edge_stream *stream, const mk_edge_block **block,
                                     mk_err *err);

/* Whether every edge version of the store that could pass the filter lasts one microsecond. */
MK_CHECK mk_code mk_view_all_instants(mk_view *view, const mk_edge_filter *filter, bool *all,
                                      mk_err *err);

/* counts[i] = number of believed edge versions with vt_s < bounds[i] (`ends`: vt_e <= bounds[i]).
 * `bounds` ascends. Cost: binary searches and the ended rows, not the rows. */
MK_CHECK mk_code mk_view_count_before(mk_view *view, bool ends, const int64_t *bounds, size_t n,
                                      uint64_t *counts, mk_err *err);

typedef bool mk_node_fn(void *ctx, const mk_node_ref *ref);
/* All believed node versions overlapping [vt_lo, vt_hi), in no order. */
MK_CHECK mk_code mk_view_nodes(mk_view *view, int64_t vt_lo, int64_t vt_hi, mk_node_fn *each,
                               void *ctx, mk_err *err);
/* Sorts into scan order: (vt_s, vid), equal keys in log order. */
MK_CHECK mk_code mk_view_sort_edges(mk_view *view, mk_edge_ref *refs, size_t count, mk_err *err);

/* Statistics over all stored versions that the mask admits (store spec, 14). */
typedef struct mk_view_stats {
    uint64_t entities, node_versions, edge_versions;
    bool has_extent;
    int64_t vt_min, vt_max;
    uint64_t max_out_degree;
} mk_view_stats;
void mk_view_get_stats(const mk_view *view, mk_view_stats *out);
/* Relation types with their number of edge versions, sorted by name; array in `arena`. */
typedef struct mk_rel_count {
    mk_str rel_type;
    uint64_t count;
} mk_rel_count;
MK_CHECK mk_code mk_view_rel_counts(const mk_view *view, mk_arena *arena, mk_rel_count **out,
                                    size_t *count, mk_err *err);

#endif

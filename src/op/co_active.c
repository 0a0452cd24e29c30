/* co_active.c — pairs of edges whose valid times lie in a given way. Layer: op.
 *
 * The edges of each selector come from the lists of its src or dst, else from the stream of all, in the
 * order of time; the join is that of co_active_join.c. The reference caps candidates, not results
 * (operators spec, O-15), so they are counted first, and at most CANDIDATES_MAX are looked at. Only pairs
 * that the page shows, and ties with its last one, are put into the order of versions, which costs
 * hashes. */
#include "op/co_active.h"

#include <stdio.h>
#include <stdlib.h>

#include "op/operators.h"

#define CANDIDATES_MAX 50000u /* operators spec, 5.6 */

/* ---- selectors ---- */

typedef struct selector {
    uint32_t src, dst, rel_type; /* MK_NO_ID: any */
    bool nothing;                /* a relation type that was never used */
} selector;

static mk_code fail_selector(const mk_run *run, mk_str uid, const char *spec, const char *member,
                             mk_err *err)
{
    char path[32]; /* becomes ["a_spec","src"] */
    snprintf(path, sizeof path, "%s\",\"%s", spec, member);
    return mk_fail_uid(run, uid, path, -1, err);
}

static mk_code read_uid(const mk_run *run, const mk_json *spec, const char *name,
                        const char *member, uint32_t *id, mk_err *err)
{
    const mk_str uid = mk_arg_str(spec, member);
    *id = MK_NO_ID;
    if (uid.n == 0)
        return MK_OK;
    *id = mk_view_entity(run->view, uid);
    return *id != MK_NO_ID ? MK_OK : fail_selector(run, uid, name, member, err);
}

static mk_code read_selector(const mk_run *run, const char *name, selector *out, mk_err *err)
{
    const mk_json *spec = mk_json_get(run->args, name);
    const mk_str rel_type = mk_arg_str(spec, "rel_type");
    mk_code rc;

    MK_TRY(rc, read_uid(run, spec, name, "src", &out->src, err));
    MK_TRY(rc, read_uid(run, spec, name, "dst", &out->dst, err));
    out->rel_type = rel_type.n > 0 ? mk_view_name_code(run->view, rel_type) : MK_NO_ID;
    out->nothing = rel_type.n > 0 && out->rel_type == MK_NO_ID;

out:
    return rc;
}

typedef struct edge_list {
    mk_edge_ref *refs;
    mk_join_row *rows; /* their valid times */
    size_t count, cap;
} edge_list;

typedef struct gathering {
    const mk_run *run;
    const selector *wanted;
    edge_list *list;
    mk_code rc;
    mk_err *err;
} gathering;

static mk_code make_room(const mk_run *run, edge_list *list, size_t more, mk_err *err)
{
    return mk_op_grow(run->arena, (void **)&list->refs, &list->cap, list->count + more,
                      sizeof *list->refs, err);
}

static bool take_edge(void *ctx, const mk_edge_ref *ref)
{
    gathering *g = ctx;
    const selector *wanted = g->wanted;
    if (!mk_guard_ok(g->run->guard))
        return false;
    if ((wanted->src != MK_NO_ID && ref->src != wanted->src) ||
        (wanted->dst != MK_NO_ID && ref->dst != wanted->dst))
        return true;
    g->rc = make_room(g->run, g->list, 1, g->err);
    if (g->rc == MK_OK)
        g->list->refs[g->list->count++] = *ref;
    return g->rc == MK_OK;
}

/* Every believed edge that passes the filter, in the order of time. */
static mk_code gather_all(const mk_run *run, const mk_edge_filter *filter, edge_list *list,
                          mk_err *err)
{
    mk_edge_stream *stream;
    const mk_edge_block *block;
    mk_code rc;

    MK_TRY(rc, mk_view_stream(run->view, run->arena, filter, true, &stream, err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL)
            break;
        MK_TRY(rc, make_room(run, list, block->count, err));
        for (uint32_t i = 0; i < block->count; i++) {
            if (!mk_guard_ok(run->guard))
                return mk_guard_result(run->guard, err);
            list->refs[list->count++] = mk_edge_block_ref(block, i);
        }
    }
out:
    return rc;
}

/* The edges of one entity, by the list of the side that the selector names. */
static mk_code gather_of(const mk_run *run, const selector *wanted, mk_edge_filter *filter,
                         edge_list *list, mk_err *err)
{
    const bool out = wanted->src != MK_NO_ID;
    gathering g = {.run = run, .wanted = wanted, .list = list, .rc = MK_OK, .err = err};
    filter->sides = out ? MK_SIDE_OUT : MK_SIDE_IN;
    const mk_code rc = mk_view_edges_of(run->view, out ? wanted->src : wanted->dst, filter,
                                        take_edge, &g, err);
    return g.rc != MK_OK ? g.rc : mk_guard_or(run->guard, rc, err);
}

/* The edges that a selector admits, ascending in vt_s. */
static mk_code gather(const mk_run *run, const selector *wanted, edge_list *list, mk_err *err)
{
    mk_edge_filter filter = mk_edge_filter_all;
    mk_code rc;

    *list = (edge_list){0};
    if (wanted->nothing)
        return MK_OK;
    if (wanted->rel_type != MK_NO_ID) {
        filter.rel_types = &wanted->rel_type;
        filter.rel_type_count = 1;
    }
    if (wanted->src == MK_NO_ID && wanted->dst == MK_NO_ID)
        MK_TRY(rc, gather_all(run, &filter, list, err));
    else
        MK_TRY(rc, gather_of(run, wanted, &filter, list, err));
    MK_TRY(rc, mk_join_sort(run->arena, list->refs, list->count, err));
    list->rows = mk_arena_get(run->arena, list->count * sizeof *list->rows); /* less than refs take */
    if (list->rows == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->count; i++)
        list->rows[i] = (mk_join_row){list->refs[i].vt_s, list->refs[i].vt_e};

out:
    return rc;
}

static bool same_selector(const selector *a, const selector *b)
{
    return a->src == b->src && a->dst == b->dst && a->rel_type == b->rel_type &&
           a->nothing == b->nothing;
}

/* ---- pairs ---- */

typedef struct pair {
    uint32_t a, b; /* places in the two lists */
} pair;

typedef struct finder {
    const mk_run *run;
    mk_join join;
    const mk_edge_ref *a, *b; /* the edges behind the rows of the join */
    pair *pairs;
    size_t count, cap;
    mk_code rc;
    mk_err *err;
} finder;

static mk_code vid_of(const mk_run *run, const mk_edge_ref *ref, char vid[24], mk_err *err)
{
    char eid[24];
    return mk_view_edge_ids(run->view, ref, eid, vid, err);
}

/* Whether two rows have one vid. It is a hash over identity, tt_s and vt_s, so rows that differ in one
 * of the columns at hand need none. Different rows of one vid exist in replayed logs (store spec, 24.2). */
static mk_code same_vid(const mk_run *run, const mk_edge_ref *a, const mk_edge_ref *b, bool *same,
                        mk_err *err)
{
    char a_vid[24], b_vid[24];
    mk_code rc = MK_OK;

    *same = a->part == b->part && a->row == b->row;
    if (*same || a->vt_s != b->vt_s || a->src != b->src || a->dst != b->dst ||
        a->rel_type != b->rel_type)
        return MK_OK;
    MK_TRY(rc, vid_of(run, a, a_vid, err));
    MK_TRY(rc, vid_of(run, b, b_vid, err));
    *same = memcmp(a_vid, b_vid, sizeof a_vid) == 0;

out:
    return rc;
}

static bool take_pair(void *ctx, size_t a, size_t b)
{
    finder *f = ctx;
    bool same;
    f->rc = same_vid(f->run, &f->a[a], &f->b[b], &same, f->err);
    if (f->rc != MK_OK || same)
        return f->rc == MK_OK;
    f->rc = mk_op_grow(f->run->arena, (void **)&f->pairs, &f->cap, f->count + 1, sizeof *f->pairs,
                       f->err);
    if (f->rc == MK_OK)
        f->pairs[f->count++] = (pair){(uint32_t)a, (uint32_t)b};
    return f->rc == MK_OK;
}

static mk_code fail_cap(uint64_t candidates, mk_err *err)
{
    char extra[160];
    const int n = snprintf(extra, sizeof extra,
                           "\"estimate\":{\"expansions_est\":%llu},\"suggestions\":[\"narrow a_spec "
                           "and b_spec by src, dst or rel_type\"]",
                           (unsigned long long)candidates);
    mk_fail(err, MK_E_COST, "%llu candidate pairs, more than %u", (unsigned long long)candidates,
            CANDIDATES_MAX);
    mk_err_hint(err, "give both selectors a src, dst or rel_type, so that fewer edges take part");
    mk_err_extra(err, extra, (size_t)n);
    return MK_E_COST;
}

static int by_places(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

/* All pairs, ascending by their places. */
static mk_code find_pairs(finder *f, mk_err *err)
{
    uint64_t candidates;
    mk_code rc;

    MK_TRY(rc, mk_join_candidates(&f->join, f->run->guard, &candidates, err));
    if (candidates > CANDIDATES_MAX)
        return fail_cap(candidates, err);
    rc = mk_join_pairs(&f->join, f->run->guard, take_pair, f, err);
    MK_TRY(rc, f->rc != MK_OK ? f->rc : rc);
    /* Joins of inverse relations go by b. */
    if (f->join.relation >= MK_ALLEN_AFTER && f->count > 0)
        qsort(f->pairs, f->count, sizeof *f->pairs, by_places);

out:
    return rc;
}

/* ---- the order of rows ---- */

/* A row of one list that a shown pair has. Rows of one (vt_s, vid) have one rank. */
typedef struct ranked_row {
    uint32_t at; /* place in the list */
    uint32_t rank;
    char vid[24]; /* only where another one has the same start */
} ranked_row;

typedef struct ranks {
    ranked_row *rows; /* ascending by place */
    size_t count;
} ranks;

static int by_place(const void *x, const void *y)
{
    const ranked_row *p = x, *q = y;
    return (p->at > q->at) - (p->at < q->at);
}

static int by_vid(const void *x, const void *y)
{
    const ranked_row *p = x, *q = y;
    return memcmp(p->vid, q->vid, sizeof p->vid);
}

/* Ranks rows[from, to), which start at the same time, from *next on. */
static mk_code rank_ties(const mk_run *run, const mk_edge_ref *refs, ranked_row *rows, size_t n,
                         uint32_t *next, mk_err *err)
{
    mk_code rc = MK_OK;
    for (size_t i = 0; n > 1 && i < n; i++)
        MK_TRY(rc, vid_of(run, &refs[rows[i].at], rows[i].vid, err));
    if (n > 1)
        qsort(rows, n, sizeof *rows, by_vid);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && by_vid(&rows[i - 1], &rows[i]) != 0)
            ++*next;
        rows[i].rank = *next;
    }
    ++*next;

out:
    return rc;
}

/* Ranks by (vt_s, vid) what `pairs` refer to on the side whose place is at `offset` in a pair. */
static mk_code rank_side(const mk_run *run, const mk_edge_ref *refs, const pair *pairs, size_t count,
                         bool side_b, ranks *out, mk_err *err)
{
    ranked_row *rows = mk_arena_get(run->arena, count * sizeof *rows); /* at most 50,000 */
    uint32_t next = 0;
    size_t n = 0;
    if (rows == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        rows[i].at = side_b ? pairs[i].b : pairs[i].a;
    if (side_b)
        qsort(rows, count, sizeof *rows, by_place);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || rows[n - 1].at != rows[i].at)
            rows[n++].at = rows[i].at;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && refs[rows[to].at].vt_s == refs[rows[from].at].vt_s; to++)
            continue;
        const mk_code rc = rank_ties(run, refs, rows + from, to - from, &next, err);
        if (rc != MK_OK)
            return rc;
    }
    qsort(rows, n, sizeof *rows, by_place);
    *out = (ranks){rows, n};
    return MK_OK;
}

static uint32_t rank_of(const ranks *of, uint32_t at)
{
    const ranked_row key = {.at = at};
    const ranked_row *row = bsearch(&key, of->rows, of->count, sizeof *of->rows, by_place);
    MK_ASSERT(row != NULL);
    return row->rank;
}

/* One row of the result while it is put in order. */
typedef struct shown_pair {
    uint64_t rank; /* of a, then of b */
    const mk_edge_ref *a, *b;
} shown_pair;

/* Ends decide between rows that share their vids; then every column shown is the same. The reference
 * has the order of the log there, which cannot be told once rows are sealed. */
static int by_rank(const void *x, const void *y)
{
    const shown_pair *p = x, *q = y;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    if (p->a->vt_e != q->a->vt_e)
        return p->a->vt_e < q->a->vt_e ? -1 : 1;
    return (p->b->vt_e > q->b->vt_e) - (p->b->vt_e < q->b->vt_e);
}

/* The first `need` pairs by (a.vt_s, a.vid, b.vt_s, b.vid). Pairs ascend in a.vt_s, so only those up to
 * the last tie with the need-th take part. */
static mk_code first_pairs(const finder *f, size_t need, shown_pair **out, mk_err *err)
{
    const mk_edge_ref *a = f->a, *b = f->b;
    const mk_run *run = f->run;
    ranks a_ranks, b_ranks;
    size_t count = need;
    mk_code rc;

    while (count > 0 && count < f->count &&
           a[f->pairs[count].a].vt_s == a[f->pairs[count - 1].a].vt_s)
        count++;
    shown_pair *shown = mk_arena_get(run->arena, count * sizeof *shown);
    if (shown == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, rank_side(run, a, f->pairs, count, false, &a_ranks, err));
    MK_TRY(rc, rank_side(run, b, f->pairs, count, true, &b_ranks, err));
    for (size_t i = 0; i < count; i++) {
        const pair p = f->pairs[i];
        shown[i] = (shown_pair){.rank = (uint64_t)rank_of(&a_ranks, p.a) << 32 |
                                        rank_of(&b_ranks, p.b),
                                .a = &a[p.a],
                                .b = &b[p.b]};
    }
    qsort(shown, count, sizeof *shown, by_rank);
    *out = shown;

out:
    return rc;
}

/* ---- glue ---- */

static const char *const relation_names[] = {
    "before", "meets",  "overlaps",      "starts",     "during",   "finishes",    "equals",
    "after",  "met_by", "overlapped_by", "started_by", "contains", "finished_by", NULL,
};

static mk_allen relation_of(const mk_json *args)
{
    const mk_str name = mk_arg_str(mk_json_get(args, "allen_relation"), "relation");
    size_t i = 0;
    while (!mk_str_eq(name, mk_str_of(relation_names[i])))
        i++;
    return (mk_allen)i;
}

static bool needs_gap(mk_allen relation)
{
    return relation == MK_ALLEN_BEFORE || relation == MK_ALLEN_AFTER;
}

static mk_code validate_co_active(const mk_json *args, mk_err *err)
{
    const mk_allen relation = relation_of(args);
    if (!needs_gap(relation) || !mk_arg_is_null(mk_json_get(args, "allen_relation"), "gap"))
        return MK_OK;
    mk_fail(err, MK_E_INVALID_ARG, "allen_relation '%s' requires gap", relation_names[relation]);
    mk_err_hint(err, "add \"gap\": the most microseconds between one end and the other start");
    mk_err_extra(err, "\"path\":[\"allen_relation\",\"gap\"]", 31);
    return MK_E_INVALID_ARG;
}

static mk_code write_pairs(mk_run *run, const finder *f, mk_err *err)
{
    shown_pair *shown = NULL;
    mk_span span;
    mk_code rc;

    MK_TRY(rc, mk_page_span(&run->page, f->count, &span, err));
    MK_TRY(rc, first_pairs(f, span.end, &shown, err));
    mk_payload_cursor(run->out, &span);
    mk_payload_list(run->out, "rows");
    for (size_t i = span.start; i < span.end; i++) {
        mk_payload_item(run->out);
        mk_buf_z(&run->out->text, "{\"a\":");
        MK_TRY(rc, mk_payload_edge_row(run->out, run->view, shown[i].a, err));
        mk_buf_z(&run->out->text, ",\"b\":");
        MK_TRY(rc, mk_payload_edge_row(run->out, run->view, shown[i].b, err));
        mk_buf_c(&run->out->text, '}');
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span.total);
    mk_payload_bool(run->out, "truncated", span.truncated);
    mk_payload_page_gaps(run->out, "rows", &span);

out:
    return rc;
}

static mk_code run_co_active(mk_run *run, mk_err *err)
{
    const mk_allen relation = relation_of(run->args);
    selector a_spec, b_spec;
    edge_list a, b;
    mk_code rc;

    MK_TRY(rc, read_selector(run, "a_spec", &a_spec, err));
    MK_TRY(rc, read_selector(run, "b_spec", &b_spec, err));
    MK_TRY(rc, gather(run, &a_spec, &a, err));
    b = a;
    if (!same_selector(&a_spec, &b_spec))
        MK_TRY(rc, gather(run, &b_spec, &b, err));
    finder f = {.run = run,
                .join = {.a = a.rows, .b = b.rows, .a_count = a.count, .b_count = b.count,
                         .relation = relation},
                .a = a.refs,
                .b = b.refs,
                .rc = MK_OK,
                .err = err};
    if (needs_gap(relation))
        f.join.gap = mk_arg_i64(mk_json_get(run->args, "allen_relation"), "gap");
    MK_TRY(rc, find_pairs(&f, err));
    rc = write_pairs(run, &f, err);

out:
    return rc;
}

static void cost_co_active(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 115.0, out);
}

static const mk_arg selector_members[] = {
    {.name = "src", .type = MK_ARG_STRING, .nullable = true, .doc = "Uid where the edges start."},
    {.name = "dst", .type = MK_ARG_STRING, .nullable = true, .doc = "Uid where the edges end."},
    {.name = "rel_type", .type = MK_ARG_STRING, .nullable = true, .doc = "Their relation type."},
    {0},
};

static const mk_arg relation_members[] = {
    {.name = "relation",
     .type = MK_ARG_ENUM,
     .required = true,
     .choices = relation_names,
     .doc = "How a lies to b."},
    {.name = "gap",
     .type = MK_ARG_INTEGER,
     .nullable = true,
     .min = 1,
     .max = INT64_MAX,
     .doc = "For before and after, which require it: the most microseconds between the two."},
    {0},
};

static const mk_arg args_co_active[] = {
    {.name = "a_spec",
     .type = MK_ARG_OBJECT,
     .required = true,
     .members = selector_members,
     .doc = "Which edges are a; a member that is absent, null or \"\" admits all."},
    {.name = "b_spec",
     .type = MK_ARG_OBJECT,
     .required = true,
     .members = selector_members,
     .doc = "Which edges are b, in the same form."},
    {.name = "allen_relation",
     .type = MK_ARG_OBJECT,
     .required = true,
     .members = relation_members,
     .doc = "The relation of a's valid time to b's, in Allen's terms."},
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field edge_members[] = {
    {.name = "eid", .type = MK_FIELD_STRING, .doc = "Identity of the edge, 24 hex characters."},
    {.name = "vid", .type = MK_FIELD_STRING, .doc = "Identity of this version."},
    {.name = "src", .type = MK_FIELD_STRING, .doc = "Uid where it starts."},
    {.name = "dst", .type = MK_FIELD_STRING, .doc = "Uid where it ends."},
    {.name = "rel_type", .type = MK_FIELD_STRING, .doc = "Relation type."},
    {.name = "vt_s", .type = MK_FIELD_TIME, .doc = "Valid from."},
    {.name = "vt_e", .type = MK_FIELD_TIME, .doc = "Valid until, exclusive."},
    {0},
};
static const mk_field pair_members[] = {
    {.name = "a", .type = MK_FIELD_OBJECT, .members = edge_members, .doc = "The edge a."},
    {.name = "b", .type = MK_FIELD_OBJECT, .members = edge_members, .doc = "The edge b."},
    {0},
};
static const mk_field pair_row = {
    .name = "pair", .type = MK_FIELD_OBJECT, .members = pair_members};

static const mk_field fields_co_active[] = {
    MK_FIELD_ROWS(&pair_row, "Pairs by (a.vt_s, a.vid, b.vt_s, b.vid)."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {0},
};

const mk_operator mk_operator_co_active = {
    .name = "co_active",
    .group = "graph",
    .summary = "pairs of edges whose valid times overlap, follow or enclose one another",
    .help = "All believed edges take part, whatever their time. Relations are strict: overlaps is "
            "a.vt_s < b.vt_s < a.vt_e < b.vt_e, during is b.vt_s < a.vt_s and a.vt_e < b.vt_e, meets "
            "is a.vt_e = b.vt_s, before is 0 < b.vt_s - a.vt_e <= gap; starts and finishes share one "
            "end, equals both, and the rest are these with a and b exchanged. More than 50,000 "
            "candidates are refused. They are counted before ends are compared: for overlaps, every b "
            "that starts inside a; for during, every b that starts before a. So narrow the two "
            "selectors, rather than the relation.",
    .example = "{\"a_spec\":{\"rel_type\":\"R\",\"src\":\"a\"},\"allen_relation\":{\"relation\":"
               "\"overlaps\"},\"b_spec\":{\"src\":\"b\"}}",
    .args = args_co_active,
    .fields = fields_co_active,
    .cost = cost_co_active,
    .validate = validate_co_active,
    .run = run_co_active,
};

/* card.c — the data set on a card. See service.h. Layer: serve.
 *
 * Names and kinds of properties are those of the first versions that a scan meets: a card is for orientation,
 * and says how many it looked at. */
#include "serve/service.h"

#include <stdlib.h>

#include "base/canon.h"

#define SAMPLE_MAX 5000u /* versions of each kind that are looked at */
#define NAMES_MAX 24u    /* shown of each list */

typedef struct named {
    mk_str name;
    uint64_t count;
    unsigned kinds; /* bits by mk_json_kind */
} named;

typedef struct names {
    named list[256];
    size_t n;
    bool more; /* than there is room for */
} names;

typedef struct sample {
    mk_view *view;
    mk_arena *arena;
    names labels, node_props, edge_props;
    uint64_t nodes, edges;
    mk_code rc;
    mk_err *err;
} sample;

static named *count_name(names *all, mk_str name)
{
    for (size_t i = 0; i < all->n; i++)
        if (mk_str_eq(all->list[i].name, name)) {
            all->list[i].count++;
            return &all->list[i];
        }
    if (all->n == sizeof all->list / sizeof *all->list) {
        all->more = true;
        return NULL;
    }
    all->list[all->n] = (named){.name = name, .count = 1};
    return &all->list[all->n++];
}

static mk_code count_props(sample *s, names *all, mk_str props)
{
    mk_json *tree;
    const mk_code rc = mk_json_parse(s->arena, props, NULL, &tree, s->err);
    if (rc != MK_OK)
        return rc;
    for (size_t i = 0; i < tree->n && tree->kind == MK_JSON_OBJECT; i++) {
        named *at = count_name(all, tree->members[i].key);
        if (at != NULL)
            at->kinds |= 1u << tree->members[i].value.kind;
    }
    return MK_OK;
}

static bool take_node(void *ctx, const mk_node_ref *ref)
{
    sample *s = ctx;
    mk_str props;
    if (s->nodes == SAMPLE_MAX)
        return false;
    s->nodes++;
    (void)count_name(&s->labels, mk_view_name(s->view, ref->label));
    s->rc = mk_view_node_props(s->view, ref, &props, s->err);
    if (s->rc == MK_OK)
        s->rc = count_props(s, &s->node_props, props);
    return s->rc == MK_OK;
}

static mk_code take_edges(sample *s)
{
    const mk_edge_filter filter = {.vt_lo = INT64_MIN, .vt_hi = INT64_MAX};
    const mk_edge_block *block;
    mk_edge_stream *stream;
    mk_code rc;
    MK_TRY(rc, mk_view_stream(s->view, s->arena, &filter, false, &stream, s->err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, s->err));
        if (block == NULL)
            break;
        for (uint32_t i = 0; i < block->count && s->edges < SAMPLE_MAX; i++, s->edges++) {
            const mk_edge_ref ref = mk_edge_block_ref(block, i);
            mk_str props;
            MK_TRY(rc, mk_view_edge_props(s->view, &ref, &props, s->err));
            if (props.n > 2)
                MK_TRY(rc, count_props(s, &s->edge_props, props));
        }
        if (s->edges == SAMPLE_MAX)
            break;
    }
out:
    return rc;
}

/* ---- writing ---- */

static int by_count(const void *x, const void *y)
{
    const named *a = x, *b = y;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return mk_str_cmp(a->name, b->name);
}

static void put_kinds(mk_buf *out, unsigned kinds)
{
    static const char *const words[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    const char *comma = "";
    mk_buf_c(out, '[');
    for (unsigned k = 0; k < 7; k++)
        if (kinds >> k & 1) {
            mk_buf_printf(out, "%s\"%s\"", comma, words[k]);
            comma = ",";
        }
    mk_buf_c(out, ']');
}

/* Long names are cut: the card has 8 KiB, whatever the data are. */
static void put_names(mk_buf *out, const char *member, names *all, bool kinds)
{
    qsort(all->list, all->n, sizeof *all->list, by_count);
    mk_buf_printf(out, ",\"%s\":{", member);
    for (size_t i = 0; i < all->n && i < NAMES_MAX; i++) {
        mk_str name = all->list[i].name;
        size_t cut = name.n > 48 ? 48 : name.n;
        while (cut > 0 && cut < name.n && ((unsigned char)name.p[cut] & 0xC0) == 0x80)
            cut--;
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, (mk_str){name.p, cut});
        mk_buf_c(out, ':');
        if (kinds)
            put_kinds(out, all->list[i].kinds);
        else
            mk_buf_u64(out, all->list[i].count);
    }
    mk_buf_printf(out, "},\"%s_more\":%s", member, all->more || all->n > NAMES_MAX ? "true" : "false");
}

static void put_relations(mk_buf *out, const mk_rel_count *counts, size_t n, names *scratch)
{
    *scratch = (names){.n = 0};
    for (size_t i = 0; i < n; i++) {
        named *at = count_name(scratch, counts[i].rel_type);
        if (at != NULL)
            at->count = counts[i].count;
    }
    put_names(out, "relation_types", scratch, false);
}

static mk_code put_card(mk_service *service, mk_store *store, sample *s, mk_buf *out)
{
    mk_view_stats stats;
    mk_rel_count *counts;
    size_t n;
    char text[MK_TIME_TEXT_MAX];
    const mk_code rc = mk_view_rel_counts(s->view, s->arena, &counts, &n, s->err);
    if (rc != MK_OK)
        return rc;
    mk_view_get_stats(s->view, &stats);
    mk_buf_z(out, "{\"store\":");
    mk_canon_string(out, mk_str_of(mk_store_id(store)));
    mk_buf_printf(out, ",\"entities\":%llu,\"node_versions\":%llu,\"edge_versions\":%llu",
                  (unsigned long long)stats.entities, (unsigned long long)stats.node_versions,
                  (unsigned long long)stats.edge_versions);
    if (stats.has_extent) {
        mk_buf_printf(out, ",\"valid_time\":{\"vt_min\":%lld,\"vt_max\":%lld,\"from\":\"",
                      (long long)stats.vt_min, (long long)stats.vt_max);
        mk_buf_put(out, text, mk_time_text(text, stats.vt_min));
        mk_buf_z(out, "\",\"to\":\"");
        mk_buf_put(out, text, mk_time_text(text, stats.vt_max));
        mk_buf_z(out, "\"}");
    } else {
        mk_buf_z(out, ",\"valid_time\":null");
    }
    const int64_t tt = mk_view_effective_tt(s->view).us;
    mk_buf_printf(out, ",\"transaction_time\":{\"last\":%lld,\"last_text\":\"", (long long)tt);
    mk_buf_put(out, text, mk_time_text(text, tt));
    mk_buf_printf(out, "\",\"batches\":%u}", mk_store_batches(store));
    (void)service;
    put_names(out, "labels", &s->labels, false);
    put_relations(out, counts, n, &s->labels);
    put_names(out, "node_properties", &s->node_props, true);
    put_names(out, "edge_properties", &s->edge_props, true);
    mk_buf_printf(out, ",\"sampled\":{\"node_versions\":%llu,\"edge_versions\":%llu},\"clocks\":"
                  "\"valid time is when something was true, transaction time when the store believed it; "
                  "pin as_of_tt to ask what was believed then\"}",
                  (unsigned long long)s->nodes, (unsigned long long)s->edges);
    return mk_buf_done(out, s->err);
}

mk_code mk_service_card(mk_service *service, bool user_only, mk_arena *arena, mk_buf *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_store *store;
    mk_code rc;
    sample *s = mk_arena_get0(arena, sizeof *s);
    mk_view *view = NULL;
    if (s == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_service_store(service, &store, err));
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, mk_service_mask(service, user_only), &view, err));
    s->view = view;
    s->arena = arena;
    s->err = err;
    rc = mk_view_nodes(view, INT64_MIN, INT64_MAX, take_node, s, err);
    if (rc == MK_E_CANCELLED)
        rc = s->rc; /* the sample is full, or an error was met */
    MK_TRY(rc, rc);
    MK_TRY(rc, take_edges(s));
    rc = put_card(service, store, s, out);
out:
    mk_view_close(view);
    mk_arena_rewind(arena, mark);
    return rc;
}

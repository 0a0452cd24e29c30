/* model_digest.c — store digest and statistics of the slow model. See model.h.
 *
 * The digest's document is written whole into one buffer and hashed, members in canonical order. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sha256.h"

static void must(bool ok)
{
    if (!ok) {
        fputs("model: out of memory\n", stderr);
        abort();
    }
}

/* ---- digest (section 11) ---- */

static int in_digest_order(const void *a, const void *b)
{
    const model_row *x = *(const model_row *const *)a, *y = *(const model_row *const *)b;
    int order = mk_str_cmp(x->identity, y->identity);
    if (order == 0)
        order = x->tt_s < y->tt_s ? -1 : x->tt_s > y->tt_s;
    if (order == 0)
        order = model_scan_order(x, y);
    return order != 0 ? order : (x < y ? -1 : x > y); /* then the order of writing (oddity 2) */
}

static void put_text(mk_buf *out, const char *before, mk_str text, bool null)
{
    mk_buf_z(out, before);
    if (null)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, text);
}

static void put_int(mk_buf *out, const char *before, int64_t value)
{
    mk_buf_z(out, before);
    mk_buf_i64(out, value);
}

static void put_times(mk_buf *out, const model_row *v)
{
    put_int(out, ",\"vt_e\":", v->vt_e);
    put_int(out, ",\"vt_s\":", v->vt_s);
    mk_buf_c(out, '}');
}

static void put_node(mk_buf *out, const model_row *v)
{
    put_text(out, "{\"label\":", v->label, false);
    mk_buf_z(out, ",\"props\":");
    mk_buf_str(out, v->props);
    put_text(out, ",\"provenance_ref\":", v->provenance_ref, v->provenance_null);
    put_text(out, ",\"source\":", v->source, false);
    put_int(out, ",\"tt_e\":", v->tt_e);
    put_int(out, ",\"tt_s\":", v->tt_s);
    put_text(out, ",\"uid\":", v->identity, false);
    put_text(out, ",\"vid\":", v->vid, false);
    put_times(out, v);
}

static void put_edge(mk_buf *out, const model_row *v)
{
    put_text(out, "{\"disc\":", v->disc, v->disc_null);
    put_text(out, ",\"dst\":", v->dst, false);
    put_text(out, ",\"eid\":", v->identity, false);
    mk_buf_z(out, ",\"props\":");
    mk_buf_str(out, v->props);
    put_text(out, ",\"provenance_ref\":", v->provenance_ref, v->provenance_null);
    put_text(out, ",\"rel_type\":", v->rel_type, false);
    put_text(out, ",\"source\":", v->source, false);
    put_text(out, ",\"src\":", v->src, false);
    put_int(out, ",\"tt_e\":", v->tt_e);
    put_int(out, ",\"tt_s\":", v->tt_s);
    put_text(out, ",\"vid\":", v->vid, false);
    put_times(out, v);
}

static void put_rows(mk_buf *out, const model *m, model_kind kind)
{
    size_t n;
    const model_row *all = model_rows(m, kind, &n);
    const model_row **sorted = mk_new(&mk_alloc_default, (n + 1) * sizeof *sorted);
    must(sorted != NULL);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &all[i];
    qsort(sorted, n, sizeof *sorted, in_digest_order);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        (kind == MODEL_EDGE ? put_edge : put_node)(out, sorted[i]);
    }
    mk_free(&mk_alloc_default, sorted, (n + 1) * sizeof *sorted);
}

void model_digest(const model *m, char hex[65])
{
    uint8_t hash[32];
    mk_buf doc;
    mk_buf_init(&doc, &mk_alloc_default);
    mk_buf_z(&doc, "{\"edges\":[");
    put_rows(&doc, m, MODEL_EDGE);
    mk_buf_z(&doc, "],\"nodes\":[");
    put_rows(&doc, m, MODEL_NODE);
    mk_buf_z(&doc, "]}");
    must(!doc.failed);
    mk_sha256_of(doc.p, doc.n, hash);
    mk_hex(hex, hash, 32);
    hex[64] = '\0';
    mk_buf_free(&doc);
}

/* ---- statistics (section 14) ---- */

static int by_text(const void *a, const void *b)
{
    return mk_str_cmp(*(const mk_str *)a, *(const mk_str *)b);
}

/* One text of every edge version, sorted, so that equal ones stand together. */
static mk_str *sorted_texts(const model_row *edges, size_t n, size_t member)
{
    mk_str *texts = mk_new(&mk_alloc_default, (n + 1) * sizeof *texts);
    must(texts != NULL);
    for (size_t i = 0; i < n; i++)
        memcpy(&texts[i], (const char *)&edges[i] + member, sizeof *texts);
    qsort(texts, n, sizeof *texts, by_text);
    return texts;
}

static void free_texts(mk_str *texts, size_t n)
{
    mk_free(&mk_alloc_default, texts, (n + 1) * sizeof *texts);
}

static size_t run_length(const mk_str *texts, size_t n, size_t from)
{
    size_t end = from + 1;
    while (end < n && mk_str_eq(texts[end], texts[from]))
        end++;
    return end - from;
}

static void widen_extent(model_stats *stats, const model_row *v)
{
    const int64_t end = v->vt_e >= MK_OPEN_END ? v->vt_s + 1 : v->vt_e;
    if (!stats->has_vt_max || end > stats->vt_max)
        stats->vt_max = end;
    stats->has_vt_max = true;
    if (v->vt_s == MK_TIME_MIN)
        return; /* "no known start" adds nothing to vt_min (decisions, section 3) */
    if (!stats->has_vt_min || v->vt_s < stats->vt_min)
        stats->vt_min = v->vt_s;
    stats->has_vt_min = true;
}

model_stats model_stats_of(const model *m)
{
    model_stats stats = {.n_entities = model_entity_count(m)};
    model_rows(m, MODEL_NODE, &stats.n_node_versions);
    const model_row *edges = model_rows(m, MODEL_EDGE, &stats.n_edge_versions);
    const size_t n = stats.n_edge_versions;
    for (size_t i = 0; i < n; i++)
        widen_extent(&stats, &edges[i]);

    mk_str *sources = sorted_texts(edges, n, offsetof(model_row, src));
    for (size_t i = 0, run; i < n; i += run) {
        run = run_length(sources, n, i);
        stats.max_out_degree = run > stats.max_out_degree ? run : stats.max_out_degree;
    }
    free_texts(sources, n);
    return stats;
}

static void put_size(mk_buf *out, const char *before, size_t value)
{
    mk_buf_z(out, before);
    mk_buf_u64(out, value);
}

static void put_int_or_null(mk_buf *out, const char *before, bool has, int64_t value)
{
    if (has)
        put_int(out, before, value);
    else
        put_text(out, before, MK_STR(""), true);
}

void model_extent_json(const model *m, mk_buf *out)
{
    const model_stats stats = model_stats_of(m);
    put_int_or_null(out, "{\"vt_max\":", stats.has_vt_max, stats.vt_max);
    put_int_or_null(out, ",\"vt_min\":", stats.has_vt_min, stats.vt_min);
    mk_buf_c(out, '}');
}

void model_stats_json(const model *m, mk_buf *out)
{
    size_t n;
    const model_row *edges = model_rows(m, MODEL_EDGE, &n);
    const model_stats stats = model_stats_of(m);
    put_size(out, "{\"max_out_degree\":", stats.max_out_degree);
    put_size(out, ",\"n_edge_versions\":", stats.n_edge_versions);
    put_size(out, ",\"n_entities\":", stats.n_entities);
    put_size(out, ",\"n_node_versions\":", stats.n_node_versions);
    mk_buf_z(out, ",\"rel_type_counts\":{");
    mk_str *types = sorted_texts(edges, n, offsetof(model_row, rel_type));
    for (size_t i = 0, run; i < n; i += run) {
        run = run_length(types, n, i);
        put_text(out, i > 0 ? "," : "", types[i], false);
        put_size(out, ":", run);
    }
    free_texts(types, n);
    put_int_or_null(out, "},\"vt_max\":", stats.has_vt_max, stats.vt_max);
    put_int_or_null(out, ",\"vt_min\":", stats.has_vt_min, stats.vt_min);
    mk_buf_c(out, '}');
}

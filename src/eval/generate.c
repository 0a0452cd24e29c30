/* generate.c — plans made from a store. Layer: eval.
 *
 * First the context: the store's extent, its busiest entities and some others, and transaction times at which
 * belief changed, all in a fixed order. Then rounds over the templates; each draws what it needs from one
 * stream. A plan that turns out to fail or to find nothing is dropped by whoever runs it. */
#include "eval/generate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "load/synth_random.h"

#define STREAM UINT64_C(0x7A5C7A5) /* the task stream of the evaluation spec, 3 */
#define HUBS 30
#define OTHERS 30
#define BELIEFS_MAX 24
#define CHANGES_MAX 24
#define ROUNDS 12 /* plans of each template */

typedef struct change {
    uint32_t id;
    int64_t tt; /* a version of it is believed since then */
} change;

typedef struct context {
    mk_view *view;
    mk_arena *arena;
    mk_random random;
    int64_t t0, t1;
    uint32_t *ids; /* entities with edges */
    size_t id_count;
    int64_t *beliefs; /* transaction times before the newest, oldest first */
    size_t belief_count;
    change *changes; /* entities that were written again, newest first */
    size_t change_count;
    mk_eval_task *tasks;
    size_t count, cap;
} context;

/* ---- entities ---- */

typedef struct ranked {
    uint64_t degree;
    uint32_t id;
} ranked;

static int by_degree(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->degree != y->degree)
        return x->degree < y->degree ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static mk_code count_degrees(context *c, ranked *all, uint32_t entities, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(c->arena);
    mk_edge_filter filter = mk_edge_filter_all;
    const mk_edge_block *block;
    mk_edge_stream *stream;
    mk_code rc;
    filter.without = MK_WITHOUT_ENDS | MK_WITHOUT_ROWS;
    MK_TRY(rc, mk_view_stream(c->view, c->arena, &filter, false, &stream, err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL)
            break;
        for (uint32_t i = 0; i < block->count; i++) {
            if (block->src[i] < entities)
                all[block->src[i]].degree++;
            if (block->dst[i] < entities)
                all[block->dst[i]].degree++;
        }
    }
out:
    mk_arena_rewind(c->arena, mark);
    return rc;
}

static bool is_chosen(const context *c, uint32_t id)
{
    for (size_t i = 0; i < c->id_count; i++)
        if (c->ids[i] == id)
            return true;
    return false;
}

/* The busiest, and as many others; biased to hubs, as questions of people are. */
static mk_code choose_entities(context *c, mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(c->view);
    size_t size, with = 0;
    mk_code rc;
    ranked *all = mk_size_mul(entities, sizeof *all, &size) ? mk_arena_get(c->arena, size) : NULL;
    c->ids = mk_arena_get(c->arena, (HUBS + OTHERS) * sizeof *c->ids);
    if (all == NULL || c->ids == NULL)
        return mk_fail_nomem(err);
    for (uint32_t i = 0; i < entities; i++)
        all[i] = (ranked){0, i};
    MK_TRY(rc, count_degrees(c, all, entities, err));
    if (entities > 0)
        qsort(all, entities, sizeof *all, by_degree);
    while (with < entities && all[with].degree > 0)
        with++;
    for (size_t i = 0; i < with && i < HUBS; i++)
        c->ids[c->id_count++] = all[i].id;
    for (size_t i = 0; i < OTHERS && with > HUBS; i++) {
        const uint32_t id = all[mk_random_below(&c->random, with)].id;
        if (!is_chosen(c, id))
            c->ids[c->id_count++] = id;
    }
out:
    return rc;
}

/* ---- beliefs ---- */

static void note_belief(context *c, int64_t tt)
{
    size_t at = 0;
    while (at < c->belief_count && c->beliefs[at] < tt)
        at++;
    if (c->belief_count == BELIEFS_MAX || (at < c->belief_count && c->beliefs[at] == tt))
        return;
    memmove(c->beliefs + at + 1, c->beliefs + at, (c->belief_count - at) * sizeof *c->beliefs);
    c->beliefs[at] = tt;
    c->belief_count++;
}

/* Equal times stand in the order of ids. */
static bool is_later(int64_t tt, uint32_t id, const change *than)
{
    return tt > than->tt || (tt == than->tt && id < than->id);
}

/* Keeps the latest. */
static void note_change(context *c, uint32_t id, int64_t tt)
{
    size_t at = c->change_count;
    for (size_t i = 0; i < c->change_count; i++)
        if (c->changes[i].id == id)
            return;
    while (at > 0 && is_later(tt, id, &c->changes[at - 1]))
        at--;
    if (at == CHANGES_MAX)
        return;
    const size_t kept = c->change_count < CHANGES_MAX ? c->change_count : CHANGES_MAX - 1;
    memmove(c->changes + at + 1, c->changes + at, (kept - at) * sizeof *c->changes);
    c->changes[at] = (change){id, tt};
    c->change_count = kept + 1;
}

/* When the newest believed version of each entity came. */
static mk_code look_at_node(context *c, uint32_t id, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(c->arena);
    int64_t newest = INT64_MIN;
    mk_node_version version;
    mk_node_ref *refs;
    size_t count;
    mk_code rc;
    MK_TRY(rc, mk_view_node_refs(c->view, c->arena, id, &refs, &count, err));
    for (size_t i = 0; i < count; i++) {
        MK_TRY(rc, mk_view_node_version(c->view, c->arena, &refs[i], &version, err));
        newest = version.tt_s > newest ? version.tt_s : newest;
    }
    if (count > 0) {
        note_belief(c, newest);
        note_change(c, id, newest);
    }
out:
    mk_arena_rewind(c->arena, mark);
    return rc;
}

#define NODES_LOOKED_AT 200000 /* half a second */

static mk_code find_beliefs(context *c, mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(c->view);
    mk_code rc = MK_OK;
    c->beliefs = mk_arena_get(c->arena, (BELIEFS_MAX + 1) * sizeof *c->beliefs);
    c->changes = mk_arena_get(c->arena, (CHANGES_MAX + 1) * sizeof *c->changes);
    if (c->beliefs == NULL || c->changes == NULL)
        return mk_fail_nomem(err);
    for (uint32_t id = 0; rc == MK_OK && id < entities && id < NODES_LOOKED_AT; id++)
        if (mk_view_entity_visible(c->view, id))
            rc = look_at_node(c, id, err);
    if (c->belief_count > 0 && c->beliefs[c->belief_count - 1] >= mk_view_effective_tt(c->view).us)
        c->belief_count--; /* the newest belief is no past one */
    return rc;
}

/* ---- drawing ---- */

typedef struct window {
    int64_t a, b;
} window;

/* Source: evaluation spec, 4, "Window draw". */
static window draw_window(context *c, double lo, double hi)
{
    const int64_t span = c->t1 - c->t0;
    const double f = lo + (hi - lo) * mk_random_unit(&c->random);
    int64_t length = (int64_t)((double)span * f);
    length = length < 2 ? 2 : length;
    const uint64_t room = span > length ? (uint64_t)(span - length) : 1;
    const int64_t start = c->t0 + (int64_t)mk_random_below(&c->random, room);
    return (window){start, start + length};
}

static mk_str draw_uid(context *c)
{
    return mk_view_uid(c->view, c->ids[mk_random_below(&c->random, c->id_count)]);
}

static int64_t draw_belief(context *c) { return c->beliefs[mk_random_below(&c->random, c->belief_count)]; }

static int64_t stride_of(window w, int64_t buckets)
{
    const int64_t stride = (w.b - w.a) / buckets;
    return stride < 1 ? 1 : stride;
}

/* ---- templates: the steps of each ---- */

static void begin_step(mk_buf *out, int number, const char *op)
{
    mk_buf_printf(out, "%s{\"depends_on\":[", number > 1 ? "}}," : "");
    if (number > 1)
        mk_buf_printf(out, "\"s%d\"", number - 1);
    mk_buf_printf(out, "],\"id\":\"s%d\",\"op\":\"%s\",\"args\":{", number, op);
}

static void end_steps(mk_buf *out) { mk_buf_z(out, "}}"); }

static void put_window(mk_buf *out, window w)
{
    mk_buf_printf(out, "\"window\":{\"t_a\":%lld,\"t_b\":%lld}", (long long)w.a, (long long)w.b);
}

static void put_uid(mk_buf *out, const char *name, mk_str uid)
{
    mk_buf_printf(out, "\"%s\":", name);
    mk_canon_string(out, uid);
}

static void put_reach(context *c, mk_buf *out, double lo, double hi)
{
    begin_step(out, 1, "temporal_reachability");
    put_uid(out, "src", draw_uid(c));
    mk_buf_c(out, ',');
    put_window(out, draw_window(c, lo, hi));
}

static void put_count_of_rows(mk_buf *out)
{
    begin_step(out, 2, "compute");
    mk_buf_z(out, "\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows\"}");
}

static bool reach_set(context *c, mk_buf *out)
{
    put_reach(c, out, 0.005, 0.05);
    end_steps(out);
    return true;
}

static bool reach_count(context *c, mk_buf *out)
{
    put_reach(c, out, 0.005, 0.1);
    put_count_of_rows(out);
    end_steps(out);
    return true;
}

static bool reach_first(context *c, mk_buf *out)
{
    put_reach(c, out, 0.01, 0.2);
    end_steps(out);
    return true;
}

static bool receivers(context *c, mk_buf *out)
{
    begin_step(out, 1, "aggregate_events");
    mk_buf_z(out, "\"aggregates\":[{\"agg\":\"count\"}],\"endpoint_filter\":{\"role\":\"src\",\"uids\":[");
    mk_canon_string(out, draw_uid(c));
    mk_buf_z(out, "]},\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"dst\"}],");
    put_window(out, draw_window(c, 0.05, 0.5));
    end_steps(out);
    return true;
}

static bool busiest(context *c, mk_buf *out)
{
    const window w = draw_window(c, 0.2, 0.9);
    begin_step(out, 1, "graph_metric_timeseries");
    mk_buf_printf(out, "\"metric\":\"edge_event_count\",\"stride\":%lld,", (long long)stride_of(w, 14));
    put_window(out, w);
    begin_step(out, 2, "compute");
    mk_buf_z(out, "\"field\":\"value\",\"fn\":\"topk\",\"input\":{\"$ref\":\"s1.rows\"},\"k\":1");
    end_steps(out);
    return true;
}

static bool bursts(context *c, mk_buf *out)
{
    const window w = draw_window(c, 0.3, 1.0);
    begin_step(out, 1, "burst_detection");
    mk_buf_printf(out, "\"stride\":%lld,\"target\":{\"kind\":\"edge_event_rate\"},",
                  (long long)stride_of(w, 30));
    put_window(out, w);
    end_steps(out);
    return true;
}

static bool history(context *c, mk_buf *out)
{
    begin_step(out, 1, "entity_history");
    put_uid(out, "uid", draw_uid(c));
    end_steps(out);
    return true;
}

static bool added(context *c, mk_buf *out)
{
    const window w = draw_window(c, 0.01, 0.1);
    begin_step(out, 1, "diff_snapshots");
    mk_buf_printf(out, "\"t1\":%lld,\"t2\":%lld", (long long)w.a, (long long)w.b);
    end_steps(out);
    return true;
}

/* What was believed of an entity just before it was written again. */
static bool believed_versions(context *c, mk_buf *out)
{
    if (c->change_count == 0)
        return false;
    const change at = c->changes[mk_random_below(&c->random, c->change_count)];
    begin_step(out, 1, "entity_history");
    put_uid(out, "uid", mk_view_uid(c->view, at.id));
    mk_buf_printf(out, ",\"as_of_tt\":%lld", (long long)at.tt - 1);
    put_count_of_rows(out);
    end_steps(out);
    return true;
}

/* How much had happened in a window, as far as was believed at an earlier time. */
static bool believed_events(context *c, mk_buf *out)
{
    if (c->belief_count == 0)
        return false;
    const int64_t tt = draw_belief(c);
    const window w = draw_window(c, 0.2, 0.9);
    begin_step(out, 1, "graph_metric_timeseries");
    mk_buf_printf(out, "\"as_of_tt\":%lld,\"metric\":\"edge_event_count\",\"stride\":%lld,", (long long)tt,
                  (long long)stride_of(w, 1));
    put_window(out, w);
    end_steps(out);
    return true;
}

/* ---- tasks ---- */

static const struct {
    const char *name, *kind, *from;
    bool (*put)(context *c, mk_buf *out); /* false: this store has nothing to ask about */
} templates[] = {
    {"reach_set", "entity_set", "s1.rows", reach_set},
    {"reach_count", "count", "s2.value", reach_count},
    {"reach_first", "value", "s1.rows[0].uid", reach_first},
    {"receivers", "entity_set", "s1.rows", receivers},
    {"busiest", "interval", "s2.rows[0]", busiest},
    {"bursts", "interval", "s1.rows[0]", bursts},
    {"history", "count", "s1.rows_total", history},
    {"added", "entity_set", "s1.nodes_added", added},
    {"believed_versions", "count", "s2.value", believed_versions},
    {"believed_events", "value", "s1.rows[0].value", believed_events},
};
#define TEMPLATES (sizeof templates / sizeof *templates)

static mk_code add_task(context *c, size_t template, size_t round, mk_err *err)
{
    static const mk_json none = {.kind = MK_JSON_NULL};
    mk_eval_task *task = &c->tasks[c->count];
    char id[64];
    mk_buf plan, canon;
    mk_code rc = MK_OK;
    mk_buf_init(&plan, c->arena->alloc);
    mk_buf_init(&canon, c->arena->alloc);
    const int n = snprintf(id, sizeof id, "made-%s-%03zu", templates[template].name, round);
    mk_buf_printf(&plan, "{\"plan_id\":\"%s\",\"question\":\"%s\",\"steps\":[", id, id);
    if (!templates[template].put(c, &plan))
        goto out;
    mk_buf_printf(&plan, "],\"answer_spec\":{\"kind\":\"%s\",\"from\":\"%s\"}}", templates[template].kind,
                  templates[template].from);
    MK_TRY(rc, mk_buf_done(&plan, err));
    MK_TRY(rc, mk_canon_text(&canon, c->arena, mk_buf_view(&plan), NULL, err));
    MK_TRY(rc, mk_buf_done(&canon, err));
    *task = (mk_eval_task){.family = MK_STR("made"),
                           .kind = mk_str_of(templates[template].kind),
                           .gold = &none,
                           .plan_is_gold = true};
    task->id = mk_arena_copy(c->arena, (mk_str){id, (size_t)n});
    task->question = task->id;
    task->plan = mk_arena_copy(c->arena, mk_buf_view(&canon));
    if (task->id.p == NULL || task->plan.p == NULL)
        rc = mk_fail_nomem(err);
    else
        c->count++;
out:
    mk_buf_free(&canon);
    mk_buf_free(&plan);
    return rc;
}

static mk_code make_tasks(context *c, mk_err *err)
{
    c->tasks = mk_arena_get(c->arena, TEMPLATES * ROUNDS * sizeof *c->tasks);
    if (c->tasks == NULL)
        return mk_fail_nomem(err);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t t = 0; t < TEMPLATES; t++) {
            const mk_code rc = add_task(c, t, round, err);
            if (rc != MK_OK)
                return rc;
        }
    return MK_OK;
}

mk_code mk_eval_generate(mk_store *store, unsigned mask, uint64_t seed, mk_arena *arena,
                         mk_eval_task **tasks, size_t *count, mk_err *err)
{
    context c = {.arena = arena};
    mk_view_stats stats;
    mk_code rc;
    mk_random_seed(&c.random, seed ^ STREAM);
    *tasks = NULL;
    *count = 0;
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, mask, &c.view, err));
    mk_view_get_stats(c.view, &stats);
    MK_TRY(rc, choose_entities(&c, err));
    if (!stats.has_extent || c.id_count == 0)
        goto out;
    c.t0 = stats.vt_min < 0 ? 0 : stats.vt_min;
    c.t1 = stats.vt_max > c.t0 + 2 ? stats.vt_max : c.t0 + 2;
    MK_TRY(rc, find_beliefs(&c, err));
    MK_TRY(rc, make_tasks(&c, err));
    *tasks = c.tasks;
    *count = c.count;
out:
    mk_view_close(c.view);
    return rc;
}

/* memory.c — writing, listing and finding notes. See memory.h. Layer: agent. */
#include "agent/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/memory_internal.h"
#include "agent/note_text.h"
#include "agent/prompt.h"
#include "base/canon.h"
#include "op/call.h"

#define UID_PREFIX "mn:window:"
#define LABEL "Note"
#define BURSTS_MAX 10       /* listed in a note */
#define BURST_BUCKETS 7     /* of a window, compared with each other */
#define BATCH_NOTES 256     /* written at once */
#define MODEL_TRIES 2       /* for one text */
#define MODEL_TOKENS 400    /* 120 words and some */
#define CALL_MEMORY_MAX ((size_t)1 << 30)

/* ---- reading notes ---- */

typedef struct gathering {
    mk_view *view;
    mk_arena *arena;
    mk_node_ref *refs;
    size_t count, cap;
    bool nomem;
} gathering;

static bool gather(void *ctx, const mk_node_ref *ref)
{
    gathering *g = ctx;
    if (!mk_str_starts(mk_view_uid(g->view, ref->uid), MK_STR(UID_PREFIX)))
        return true;
    g->nomem = mk_grow(g->arena->alloc, (void **)&g->refs, &g->cap, g->count + 1, sizeof *g->refs,
                       NULL) != MK_OK;
    if (!g->nomem)
        g->refs[g->count++] = *ref;
    return !g->nomem;
}

static int64_t integer(const mk_json *object, const char *name, int64_t otherwise)
{
    const mk_json *value = mk_json_get(object, name);
    return value != NULL && value->kind == MK_JSON_INT && !value->b ? value->i : otherwise;
}

/* Reads a note off its version. *is_one is false for what has a note's name and not its shape: a replayed log
 * may hold anything. */
static mk_code read_note(mk_view *view, const mk_node_ref *ref, mk_arena *arena, mk_note *note, bool *is_one,
                         mk_err *err)
{
    mk_node_version version;
    mk_json *props;
    mk_buf facts;
    mk_code rc;
    mk_buf_init(&facts, arena->alloc);
    *is_one = false;
    MK_TRY(rc, mk_view_node_version(view, arena, ref, &version, err));
    MK_TRY(rc, mk_json_parse(arena, version.props, NULL, &props, err));
    const mk_json *text = mk_json_get(props, "text"), *numbers = mk_json_get(props, "facts");
    const mk_json *by_model = mk_json_get(props, "by_model");
    const int64_t as_of_tt = integer(props, "as_of_tt", -1);
    if (text == NULL || text->kind != MK_JSON_STRING || numbers == NULL || numbers->kind != MK_JSON_OBJECT ||
        as_of_tt < 0)
        goto out;
    MK_TRY(rc, mk_canon_tree(&facts, arena, numbers, err));
    *note = (mk_note){.t_a = version.vt_s, .t_b = version.vt_e, .as_of_tt = as_of_tt,
                      .written_tt = version.tt_s, .text = text->text,
                      .facts = mk_arena_copy(arena, mk_buf_view(&facts)),
                      .by_model = by_model != NULL && by_model->kind == MK_JSON_BOOL && by_model->b};
    *is_one = note->facts.p != NULL;
    rc = *is_one ? MK_OK : mk_fail_nomem(err);
out:
    mk_buf_free(&facts);
    return rc;
}

static int by_window(const void *a, const void *b)
{
    const mk_note *x = a, *y = b;
    if (x->t_a != y->t_a)
        return x->t_a < y->t_a ? -1 : 1;
    return (x->t_b > y->t_b) - (x->t_b < y->t_b);
}

/* The notes that `view`, which shows notes, holds over [from, to), sorted by window. */
static mk_code read_notes(mk_view *view, int64_t from, int64_t to, mk_arena *arena, mk_note **out,
                          size_t *count, mk_err *err)
{
    gathering g = {.view = view, .arena = arena};
    mk_note *notes = NULL;
    size_t n = 0;
    mk_code rc = mk_view_nodes(view, from, to, gather, &g, err);
    if (g.nomem)
        rc = mk_fail_nomem(err);
    if (rc == MK_OK) {
        notes = mk_arena_get(arena, (g.count + 1) * sizeof *notes);
        rc = notes != NULL ? MK_OK : mk_fail_nomem(err);
    }
    for (size_t i = 0; i < g.count && rc == MK_OK; i++) {
        bool is_one;
        rc = read_note(view, &g.refs[i], arena, &notes[n], &is_one, err);
        n += rc == MK_OK && is_one;
    }
    if (rc == MK_OK && n > 1)
        qsort(notes, n, sizeof *notes, by_window);
    mk_free(arena->alloc, g.refs, g.cap * sizeof *g.refs);
    *out = notes;
    *count = n;
    return rc;
}

mk_code mk_memory_list(mk_store *store, mk_tt as_of, int64_t from, int64_t to, mk_arena *arena,
                       mk_note **notes, size_t *count, mk_err *err)
{
    mk_view *data = NULL, *hidden = NULL;
    mk_code rc;
    *count = 0;
    MK_TRY(rc, mk_view_at(store, as_of, MK_SHOW_USER, &data, err));
    MK_TRY(rc, mk_view_at(store, as_of, MK_SHOW_NOTES, &hidden, err));
    MK_TRY(rc, read_notes(hidden, from, to, arena, notes, count, err));
    rc = mk_memory__judge(data, *notes, *count, arena, err);
out:
    mk_view_close(hidden);
    mk_view_close(data);
    return rc;
}

/* ---- finding ---- */

/* The share of a note's window that [from, to) covers. Differences of times fit unsigned. */
static double share(const mk_note *note, int64_t from, int64_t to)
{
    const int64_t s = note->t_a > from ? note->t_a : from, e = note->t_b < to ? note->t_b : to;
    return (double)((uint64_t)e - (uint64_t)s) / (double)((uint64_t)note->t_b - (uint64_t)note->t_a);
}

/* Moves the best note of [at, count) to `at`, which keeps the order of equals. */
static void select_best(mk_note *notes, size_t at, size_t count, int64_t from, int64_t to)
{
    size_t best = at;
    for (size_t i = at + 1; i < count; i++)
        if (share(&notes[i], from, to) > share(&notes[best], from, to))
            best = i;
    const mk_note found = notes[best];
    memmove(notes + at + 1, notes + at, (best - at) * sizeof *notes);
    notes[at] = found;
}

mk_code mk_memory_find(mk_store *store, mk_tt as_of, int64_t from, int64_t to, size_t max, mk_arena *arena,
                       mk_note **notes, size_t *count, mk_err *err)
{
    size_t all, n = 0;
    mk_code rc;
    *count = 0;
    max = max < MK_MEMORY_FIND_MAX ? max : MK_MEMORY_FIND_MAX;
    MK_TRY(rc, mk_memory_list(store, as_of, from, to, arena, notes, &all, err));
    for (size_t i = 0; i < all; i++)
        if (!(*notes)[i].stale)
            (*notes)[n++] = (*notes)[i];
    for (*count = 0; *count < n && *count < max; (*count)++)
        select_best(*notes, *count, n, from, to);
out:
    return rc;
}

void mk_note_json(const mk_note *note, mk_buf *out)
{
    mk_buf_printf(out, "{\"as_of_tt\":%lld,\"by_model\":%s,\"facts\":", (long long)note->as_of_tt,
                  note->by_model ? "true" : "false");
    mk_buf_str(out, note->facts);
    mk_buf_printf(out, ",\"stale\":%s,\"t_a\":%lld,\"t_b\":%lld,\"text\":", note->stale ? "true" : "false",
                  (long long)note->t_a, (long long)note->t_b);
    mk_canon_string(out, note->text);
    mk_buf_printf(out, ",\"written_tt\":%lld}", (long long)note->written_tt);
}

/* ---- facts ---- */

typedef struct building {
    mk_store *store;
    const mk_memory_build_options *options;
    mk_arena *arena;
    mk_view *data, *hidden;
    int64_t tt; /* of both */
    mk_call_result result;
    mk_arena call_arena;
    mk_memory_built *built;
    mk_op ops[BATCH_NOTES];
    size_t op_count;
} building;

/* Calls an operator over [t_a, t_b) at the pinned view; the payload lives in the arena. */
static mk_code call(building *b, const char *op, const char *rest, int64_t t_a, int64_t t_b, int64_t stride,
                    mk_json **payload, mk_err *err)
{
    char args[256];
    const mk_call_options options = {.mask = MK_SHOW_USER, .row_budget = MK_MEMORY_WINDOWS_MAX,
                                     .cancelled = b->options->cancelled};
    mk_code rc;
    const int n = snprintf(args, sizeof args,
                           "{%s,\"stride\":%lld,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", rest,
                           (long long)stride, (long long)t_a, (long long)t_b);
    MK_TRY(rc, mk_call_run(b->store, b->data, mk_str_of(op), (mk_str){args, (size_t)n}, &options,
                           &b->call_arena, &b->result, err));
    rc = mk_json_parse(b->arena, mk_buf_view(&b->result.payload.text), NULL, payload, err);
out:
    return rc;
}

static const mk_json *rows_of(const mk_json *payload)
{
    static const mk_json none = {.kind = MK_JSON_ARRAY};
    const mk_json *rows = mk_json_get(payload, "rows");
    return rows != NULL && rows->kind == MK_JSON_ARRAY ? rows : &none;
}

/* {"burst_buckets":[...],"n_burst_buckets","n_events","n_new_nodes","t_a","t_b"}, canonical. */
static mk_code put_facts(building *b, int64_t t_a, int64_t t_b, mk_buf *out, mk_err *err)
{
    static const char *const metrics[] = {"\"metric\":\"edge_event_count\"", "\"metric\":\"new_node_rate\""};
    const int64_t width = (t_b - t_a) / BURST_BUCKETS > 0 ? (t_b - t_a) / BURST_BUCKETS : 1;
    int64_t counts[2] = {0, 0};
    mk_json *payload;
    mk_code rc;
    for (int i = 0; i < 2; i++) {
        MK_TRY(rc, call(b, "graph_metric_timeseries", metrics[i], t_a, t_b, t_b - t_a, &payload, err));
        const mk_json *rows = rows_of(payload);
        counts[i] = rows->n == 1 ? integer(&rows->items[0], "value", 0) : 0;
    }
    MK_TRY(rc, call(b, "burst_detection", "\"target\":{\"kind\":\"edge_event_rate\"}", t_a, t_b, width,
                    &payload,
                    err));
    const mk_json *bursts = rows_of(payload);
    mk_buf_z(out, "{\"burst_buckets\":[");
    for (size_t i = 0; i < bursts->n && i < BURSTS_MAX; i++) {
        const mk_json *value = mk_json_get(&bursts->items[i], "value");
        mk_buf_printf(out, "%s{\"t_a\":%lld,\"t_b\":%lld,\"value\":", i ? "," : "",
                      (long long)integer(&bursts->items[i], "t_a", 0),
                      (long long)integer(&bursts->items[i], "t_b", 0));
        MK_TRY(rc, mk_canon_tree(out, b->arena, value, err));
        mk_buf_c(out, '}');
    }
    mk_buf_printf(out, "],\"n_burst_buckets\":%zu,\"n_events\":%lld,\"n_new_nodes\":%lld,\"t_a\":%lld,"
                       "\"t_b\":%lld}",
                  bursts->n < BURSTS_MAX ? bursts->n : (size_t)BURSTS_MAX, (long long)counts[0],
                  (long long)counts[1], (long long)t_a, (long long)t_b);
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- texts ---- */

static void put_numbers(const mk_json *facts, mk_buf *out)
{
    const mk_json *bursts = mk_json_get(facts, "burst_buckets");
    mk_buf_printf(out, "From %lld to %lld: events %lld, new nodes %lld, burst buckets %lld",
                  (long long)integer(facts, "t_a", 0), (long long)integer(facts, "t_b", 0),
                  (long long)integer(facts, "n_events", 0), (long long)integer(facts, "n_new_nodes", 0),
                  (long long)integer(facts, "n_burst_buckets", 0));
    for (size_t i = 0; i < bursts->n; i++)
        mk_buf_printf(out, "%s%lld to %lld", i ? ", " : " at ",
                      (long long)integer(&bursts->items[i], "t_a", 0),
                      (long long)integer(&bursts->items[i], "t_b", 0));
    mk_buf_c(out, '.');
}

/* One try; *accepted says whether the text may be kept. What was wrong is appended to the prompt, so that the
 * next try is another question. */
static mk_code try_model(building *b, mk_prompt *prompt, const mk_json *facts, mk_buf *out, bool *accepted,
                         bool *answered, mk_err *err)
{
    char why[160];
    mk_message messages[2];
    mk_model_request request;
    mk_model_reply reply;
    mk_buf errors;
    mk_code rc;
    mk_buf_init(&errors, b->arena->alloc);
    mk_prompt_request(prompt, messages, &request);
    request.tokens_max = MODEL_TOKENS;
    rc = mk_model_ask(b->options->model, &request, b->arena, &reply, err);
    *answered = rc == MK_OK;
    if (rc != MK_OK)
        goto out;
    mk_buf_clear(out);
    mk_fence_clean(out, reply.text, MK_FENCE_NOTE_MAX * 2);
    MK_TRY(rc, mk_buf_done(out, err));
    *accepted = out->n <= MK_FENCE_NOTE_MAX &&
                mk_note_text_accept(mk_buf_view(out), facts, MK_MEMORY_WORDS_MAX, why, sizeof why);
    if (*accepted)
        goto out;
    b->built->rejected++;
    mk_buf_z(&errors, "{\"error\":\"E_NOTE\",\"message\":");
    mk_canon_string(&errors, out->n <= MK_FENCE_NOTE_MAX ? mk_str_of(why) : MK_STR("too long"));
    mk_buf_c(&errors, '}');
    MK_TRY(rc, mk_buf_done(&errors, err));
    rc = mk_prompt_rejected(prompt, reply.text, mk_buf_view(&errors), mk_prompt_cue_note, b->arena, err);
out:
    mk_buf_free(&errors);
    return rc;
}

/* A model's text when one is accepted; otherwise out is as it was. A model that fails is no error. */
static mk_code put_model_text(building *b, const mk_json *facts, mk_buf *out, bool *accepted, mk_err *err)
{
    bool answered = true;
    mk_prompt prompt;
    mk_code rc;
    mk_prompt_init(&prompt, b->arena->alloc);
    MK_TRY(rc, mk_prompt_note(&prompt, facts, b->arena, err));
    for (int i = 0; i < MODEL_TRIES && !*accepted && answered && rc == MK_OK; i++)
        rc = try_model(b, &prompt, facts, out, accepted, &answered, err);
    if (rc == MK_E_MODEL)
        rc = MK_OK;
    if (!*accepted)
        mk_buf_clear(out);
    b->built->accepted += *accepted;
out:
    mk_prompt_free(&prompt);
    return rc;
}

/* ---- writing ---- */

static mk_code flush(building *b, mk_err *err)
{
    const mk_write_options options = {.allow_reserved = true};
    mk_code rc = MK_OK;
    if (b->op_count != 0)
        rc = mk_store_write(b->store, b->ops, b->op_count, &options, &b->built->tt, err);
    b->built->written += rc == MK_OK ? b->op_count : 0;
    b->op_count = 0;
    return rc;
}

/* Canonical properties of a note. */
static mk_code note_props(const building *b, mk_str facts, mk_str text, bool by_model, mk_str *out,
                          mk_err *err)
{
    mk_buf props;
    mk_buf_init(&props, b->arena->alloc);
    mk_buf_printf(&props, "{\"as_of_tt\":%lld,\"by_model\":%s,\"facts\":", (long long)b->tt,
                  by_model ? "true" : "false");
    mk_buf_str(&props, facts);
    mk_buf_z(&props, ",\"kind\":\"window_digest\",\"text\":");
    mk_canon_string(&props, text);
    mk_buf_c(&props, '}');
    mk_code rc = mk_buf_done(&props, err);
    if (rc == MK_OK) {
        *out = mk_arena_copy(b->arena, mk_buf_view(&props));
        rc = out->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    mk_buf_free(&props);
    return rc;
}

static mk_code write_note(building *b, int64_t t_a, int64_t t_b, mk_err *err)
{
    char uid[96];
    mk_buf facts, text;
    mk_json *tree;
    mk_str props = {0};
    bool by_model = false;
    mk_code rc;
    mk_buf_init(&facts, b->arena->alloc);
    mk_buf_init(&text, b->arena->alloc);
    MK_TRY(rc, put_facts(b, t_a, t_b, &facts, err));
    MK_TRY(rc, mk_json_parse(b->arena, mk_buf_view(&facts), NULL, &tree, err));
    if (b->options->model != NULL)
        MK_TRY(rc, put_model_text(b, tree, &text, &by_model, err));
    if (!by_model)
        put_numbers(tree, &text);
    MK_TRY(rc, mk_buf_done(&text, err));
    MK_TRY(rc, note_props(b, mk_buf_view(&facts), mk_buf_view(&text), by_model, &props, err));
    const int n = snprintf(uid, sizeof uid, UID_PREFIX "%lld:%lld", (long long)(t_b - t_a), (long long)t_a);
    const mk_str kept = mk_arena_copy(b->arena, (mk_str){uid, (size_t)n});
    b->ops[b->op_count++] = (mk_op){.kind = MK_OP_ASSERT_NODE, .uid = kept, .label = MK_STR(LABEL),
                                    .props = props,
                                    .vt_s = t_a, .vt_e = t_b, .source = MK_STR("memory"),
                                    .provenance_null = true};
    if (kept.p == NULL)
        rc = mk_fail_nomem(err);
    else if (b->op_count == BATCH_NOTES)
        rc = flush(b, err);
out:
    mk_buf_free(&text);
    mk_buf_free(&facts);
    return rc;
}

/* ---- windows ---- */

/* The grid's last point at or before t. Operators know no time before 1970. */
static int64_t grid_before(int64_t t)
{
    return t <= 0 ? 0 : t - t % MK_MEMORY_STRIDE_US;
}

/* The windows to look at: [*first, *end) in steps of the stride; empty when there are none. */
static mk_code choose_windows(const building *b, int64_t *first, int64_t *end, mk_err *err)
{
    mk_view_stats stats;
    const bool given = b->options->from != 0 || b->options->to != 0;
    mk_view_get_stats(b->data, &stats);
    *first = *end = 0;
    if (!stats.has_extent || stats.vt_max <= 0)
        return MK_OK;
    const int64_t from = given && b->options->from > stats.vt_min ? b->options->from : stats.vt_min;
    const int64_t to = given && b->options->to < stats.vt_max ? b->options->to : stats.vt_max;
    if (from >= to || to <= 0)
        return MK_OK;
    *first = grid_before(from);
    *end = to < MK_OPEN_END - MK_MEMORY_STRIDE_US ? grid_before(to - 1) + MK_MEMORY_STRIDE_US : MK_OPEN_END;
    const int64_t windows = (*end - *first) / MK_MEMORY_STRIDE_US;
    if (windows <= MK_MEMORY_WINDOWS_MAX)
        return MK_OK;
    mk_fail(err, MK_E_LIMIT, "%lld windows are more than the %d of one build", (long long)windows,
            MK_MEMORY_WINDOWS_MAX);
    mk_err_hint(err, "build from %lld to %lld first", (long long)*first,
                (long long)(*first + MK_MEMORY_WINDOWS_MAX * MK_MEMORY_STRIDE_US));
    return MK_E_LIMIT;
}

/* Whether one of the notes, sorted by window, stands for exactly this one. */
static bool stands(const mk_note *notes, size_t count, size_t *at, int64_t t_a, int64_t t_b)
{
    while (*at < count && notes[*at].t_a < t_a)
        (*at)++;
    for (size_t i = *at; i < count && notes[i].t_a == t_a; i++)
        if (notes[i].t_b == t_b)
            return !notes[i].stale;
    return false;
}

static mk_code build_windows(building *b, int64_t first, int64_t end, mk_err *err)
{
    mk_note *notes;
    size_t count, at = 0;
    mk_code rc;
    const size_t total = (size_t)((end - first) / MK_MEMORY_STRIDE_US);
    MK_TRY(rc, read_notes(b->hidden, first, end, b->arena, &notes, &count, err));
    MK_TRY(rc, mk_memory__judge(b->data, notes, count, b->arena, err));
    for (int64_t t_a = first; t_a < end && rc == MK_OK; t_a += MK_MEMORY_STRIDE_US) {
        const int64_t t_b = t_a + MK_MEMORY_STRIDE_US;
        if (b->options->cancelled != NULL && atomic_load(b->options->cancelled))
            return mk_fail(err, MK_E_CANCELLED, "building notes was cancelled");
        if (!stands(notes, count, &at, t_a, t_b))
            rc = write_note(b, t_a, t_b, err);
        b->built->windows++;
        if (b->options->progress != NULL)
            b->options->progress(b->options->progress_ctx, b->built->windows, total);
    }
    if (rc == MK_OK)
        rc = flush(b, err);
out:
    return rc;
}

mk_code mk_memory_build(mk_store *store, const mk_memory_build_options *options, mk_arena *arena,
                        mk_memory_built *out, mk_err *err)
{
    building *b = mk_new0(arena->alloc, sizeof *b);
    int64_t first, end;
    mk_code rc;
    *out = (mk_memory_built){0};
    if (b == NULL)
        return mk_fail_nomem(err);
    b->store = store;
    b->options = options;
    b->arena = arena;
    b->built = out;
    mk_call_result_init(&b->result, arena->alloc);
    mk_arena_init(&b->call_arena, arena->alloc);
    b->call_arena.limit = options->memory_max != 0 ? options->memory_max : CALL_MEMORY_MAX;
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, MK_SHOW_USER, &b->data, err));
    b->tt = mk_view_effective_tt(b->data).us;
    MK_TRY(rc, mk_view_at(store, (mk_tt){b->tt}, MK_SHOW_NOTES, &b->hidden, err));
    MK_TRY(rc, choose_windows(b, &first, &end, err));
    if (first < end)
        rc = build_windows(b, first, end, err);
out:
    mk_view_close(b->hidden);
    mk_view_close(b->data);
    mk_arena_free(&b->call_arena);
    mk_call_result_free(&b->result);
    mk_free(arena->alloc, b, sizeof *b);
    return rc;
}

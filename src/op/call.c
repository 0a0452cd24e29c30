/* call.c — the steps of a call, in their order. Layer: op. */
#include "op/call.h"

#include <stdio.h>

#include "base/sha256.h"
#include "op/offer.h"
#include "op/schema.h"

void mk_call_result_init(mk_call_result *result, const mk_alloc *alloc)
{
    *result = (mk_call_result){0};
    mk_buf_init(&result->args_echo, alloc);
    mk_buf_init(&result->completeness, alloc);
    mk_payload_init(&result->payload, alloc);
}

void mk_call_result_free(mk_call_result *result)
{
    mk_buf_free(&result->args_echo);
    mk_buf_free(&result->completeness);
    mk_payload_free(&result->payload);
}

/* ---- steps 1 to 4: what is asked ---- */

/* details.known must fit the error, so it ends where the room does. */
static mk_code fail_unknown(mk_str name, mk_err *err)
{
    char extra[sizeof err->extra];
    size_t count, n = (size_t)snprintf(extra, sizeof extra, "\"known\":[");
    const mk_operator *const *ops = mk_operators(&count);
    const mk_operator *near = mk_operator_near(name);
    for (size_t i = 0; i < count && n + strlen(ops[i]->name) + 5 < sizeof extra; i++)
        n += (size_t)snprintf(extra + n, sizeof extra - n, "%s\"%s\"", i ? "," : "", ops[i]->name);
    n += (size_t)snprintf(extra + n, sizeof extra - n, "]");
    mk_fail(err, MK_E_INVALID_ARG, "unknown operator: %.*s", MK_STR_ARG(name));
    if (near != NULL)
        mk_err_hint(err, "did you mean %s?", near->name);
    mk_err_extra(err, extra, n);
    return MK_E_INVALID_ARG;
}

/* A call that may be computed whole: its operator pages, its arguments do not. */
static bool wants_whole(const mk_json *args, const mk_call_options *options)
{
    return options->row_budget != 0 && mk_json_get(args, "limit") == NULL &&
           mk_json_get(args, "cursor") == NULL;
}

static void set_null(mk_json *args, const char *name)
{
    mk_json *value = (mk_json *)mk_json_get(args, name);
    if (value != NULL)
        *value = (mk_json){.kind = MK_JSON_NULL};
}

typedef struct prepared {
    const mk_operator *op;
    mk_json *args;
    mk_page page;
} prepared;

static void prepare_page(prepared *call, bool whole, const mk_call_options *options)
{
    mk_json *args = call->args;
    const bool pages = mk_json_get(args, "limit") != NULL;
    if (pages && !whole) {
        call->page = mk_page_from(mk_arg_str(args, "cursor"), mk_arg_i64(args, "limit"));
        return;
    }
    const bool bounded = whole && options->row_budget <= INT64_MAX;
    call->page = (mk_page){.limit = bounded ? (int64_t)options->row_budget : INT64_MAX,
                           .whole = true};
    if (whole) {
        set_null(args, "limit");
        set_null(args, "cursor");
    }
}

static mk_code prepare(mk_str name, mk_str text, const mk_call_options *options, mk_arena *arena,
                       prepared *call, mk_err *err)
{
    mk_code rc;
    call->op = mk_operator_find(name);
    if (call->op == NULL)
        return fail_unknown(name, err);
    MK_TRY(rc, mk_json_parse(arena, text, NULL, &call->args, err));
    const bool whole = wants_whole(call->args, options);
    MK_TRY(rc, mk_args_check(call->op, arena, call->args, err));
    if (call->op->validate != NULL)
        MK_TRY(rc, call->op->validate(call->args, err));
    prepare_page(call, whole, options);

out:
    return rc;
}

/* ---- step 5: what it may cost ---- */

static int64_t ceiling(int64_t given, int64_t normal)
{
    return given > 0 ? given : normal;
}

static mk_code refuse(const mk_operator *op, const mk_cost_input *in, mk_arena *arena,
                      const mk_call_result *result, mk_err *err)
{
    mk_buf offers;
    mk_code rc;
    mk_buf_init(&offers, arena->alloc);
    MK_TRY(rc, mk_offers_json(op, in, &result->ceilings, arena, &offers, err));
    rc = mk_cost_refuse(&result->cost, &result->ceilings, mk_buf_view(&offers), err);
out:
    mk_buf_free(&offers);
    return rc;
}

static mk_code estimate(const prepared *call, const mk_view_stats *stats,
                        const mk_call_options *options, mk_arena *arena, mk_call_result *result,
                        mk_err *err)
{
    const mk_ceilings *given = &options->ceilings, *normal = &mk_ceilings_default;
    result->ceilings = (mk_ceilings){
        .rows_scanned_est = ceiling(given->rows_scanned_est, normal->rows_scanned_est),
        .expansions_est = ceiling(given->expansions_est, normal->expansions_est),
        .time_est_ms = ceiling(given->time_est_ms, normal->time_est_ms),
    };
    result->cost = (mk_cost){0};
    if (call->op->cost == NULL)
        return MK_OK;
    const mk_cost_input in = {.args = call->args,
                              .stats = *stats,
                              .scale = options->time_scale > 0.0 ? options->time_scale : 1.0};
    call->op->cost(&in, &result->cost);
    if (options->explain_only || mk_cost_within(&result->cost, &result->ceilings))
        return MK_OK;
    return refuse(call->op, &in, arena, result, err);
}

/* ---- steps 6 to 8: running it ---- */

static mk_code execute(mk_view *view, const prepared *call, const mk_call_options *options,
                       mk_arena *arena, mk_call_result *result, mk_err *err)
{
    mk_guard guard;
    mk_run run = {.view = view, .arena = arena, .args = call->args, .page = call->page,
                  .guard = &guard, .out = &result->payload};
    mk_code rc;

    mk_guard_init(&guard, options->clock, options->deadline_us, options->cancelled);
    MK_TRY(rc, mk_guard_result(&guard, err));
    MK_TRY(rc, call->op->run(&run, err));
    MK_TRY(rc, mk_payload_end(run.out, err));

    uint8_t digest[32];
    mk_sha256_of(run.out->text.p, run.out->text.n, digest);
    mk_hex(result->digest, digest, sizeof digest);
    result->digest[64] = '\0';
    mk_payload_gaps_json(&result->completeness, run.out);
    MK_TRY(rc, mk_buf_done(&result->completeness, err));

out:
    return rc;
}

static mk_code run_on(mk_view *view, const prepared *call, const mk_call_options *options,
                      mk_arena *arena, mk_call_result *result, mk_err *err)
{
    mk_view_stats stats;
    mk_code rc;
    mk_view_get_stats(view, &stats);
    result->op = call->op;
    result->has_extent = stats.has_extent;
    result->vt_min = stats.vt_min;
    result->vt_max = stats.vt_max;
    result->explained = options->explain_only;
    result->digest[0] = '\0';
    MK_TRY(rc, mk_canon_tree(&result->args_echo, arena, call->args, err));
    MK_TRY(rc, estimate(call, &stats, options, arena, result, err));
    if (!options->explain_only)
        rc = execute(view, call, options, arena, result, err);

out:
    return rc;
}

/* ---- the entry points ---- */

/* Memory that the arena's limit refused is the call's budget, and the caller can ask for less; memory
 * that the system refused is not, and stays what it is. */
static mk_code out_of_budget(const mk_arena *arena, const mk_call_result *result, mk_code rc,
                             mk_err *err)
{
    const bool outside = result->payload.text.failed || result->args_echo.failed;
    if (rc != MK_E_NOMEM || arena->limit == 0 || outside)
        return rc;
    mk_fail(err, MK_E_LIMIT, "the call needs more than its memory budget of %zu bytes",
            arena->limit);
    mk_err_hint(err, "ask for less: fewer seeds or hops, a narrower filter, a shorter window");
    mk_err_extra(err, "\"limit\":\"memory\"", 16);
    return MK_E_LIMIT;
}

mk_code mk_call_run(mk_store *store, mk_view *view, mk_str op, mk_str args,
                    const mk_call_options *options, mk_arena *arena, mk_call_result *result,
                    mk_err *err)
{
    static const mk_call_options plain;
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_view *own = NULL;
    prepared call;
    mk_code rc;

    if (options == NULL)
        options = &plain;
    mk_buf_clear(&result->args_echo);
    mk_buf_clear(&result->completeness);
    mk_payload_begin(&result->payload, arena);
    MK_TRY(rc, prepare(op, args, options, arena, &call, err));
    const mk_json *as_of = mk_json_get(call.args, "as_of_tt");
    const bool current = as_of == NULL || as_of->i >= MK_OPEN_END - 1; /* both mean now (2.2) */
    if (view == NULL || !current) {
        const mk_tt tt = {current ? MK_OPEN_END : as_of->i};
        MK_TRY(rc, mk_view_at(store, tt, options->mask, &own, err));
        view = own;
    }
    rc = run_on(view, &call, options, arena, result, err);

out:
    mk_view_close(own);
    mk_arena_rewind(arena, mark);
    return out_of_budget(arena, result, rc, err);
}

static void put_extent(const mk_call_result *result, mk_buf *out)
{
    mk_buf_z(out, "{\"vt_max\":");
    if (result->has_extent)
        mk_buf_i64(out, result->vt_max);
    else
        mk_buf_z(out, "null");
    mk_buf_z(out, ",\"vt_min\":");
    if (result->has_extent)
        mk_buf_i64(out, result->vt_min);
    else
        mk_buf_z(out, "null");
    mk_buf_c(out, '}');
}

/* ---- the envelope: two sorted lists of members, merged ---- */

enum { OWN_ARGS, OWN_CEILINGS, OWN_COMPLETENESS, OWN_EXTENT, OWN_ESTIMATE, OWN_OP, OWN_DIGEST, OWN_COUNT };

static const char *const own_names[OWN_COUNT] = {
    [OWN_ARGS] = "args_echo",       [OWN_CEILINGS] = "ceilings", [OWN_COMPLETENESS] = "completeness",
    [OWN_EXTENT] = "dataset_extent", [OWN_ESTIMATE] = "estimate", [OWN_OP] = "op",
    [OWN_DIGEST] = "result_digest",
};

static bool has_own(const mk_call_result *result, bool completeness, int which)
{
    switch (which) {
    case OWN_CEILINGS:
    case OWN_ESTIMATE:
        return result->explained;
    case OWN_COMPLETENESS:
        return completeness && !result->explained;
    case OWN_DIGEST:
        return !result->explained;
    default:
        return true;
    }
}

static void put_name(mk_buf *out, bool *first, const char *name)
{
    mk_buf_z(out, *first ? "\"" : ",\"");
    mk_buf_z(out, name);
    mk_buf_put(out, "\":", 2);
    *first = false;
}

static void put_own(const mk_call_result *result, int which, mk_buf *out)
{
    const mk_cost ceilings = {result->ceilings.rows_scanned_est, result->ceilings.expansions_est,
                              result->ceilings.time_est_ms};
    switch (which) {
    case OWN_ARGS:
        mk_buf_str(out, mk_buf_view(&result->args_echo));
        break;
    case OWN_CEILINGS:
        mk_cost_json(out, &ceilings);
        break;
    case OWN_COMPLETENESS:
        mk_buf_str(out, mk_buf_view(&result->completeness));
        break;
    case OWN_EXTENT:
        put_extent(result, out);
        break;
    case OWN_ESTIMATE:
        mk_cost_json(out, &result->cost);
        break;
    case OWN_OP:
        mk_canon_string(out, mk_str_of(result->op->name));
        break;
    default:
        mk_canon_string(out, mk_str_of(result->digest));
        break;
    }
}

mk_code mk_call_envelope(const mk_call_result *result, bool completeness, mk_buf *out, mk_err *err)
{
    const mk_payload *payload = &result->payload;
    const size_t count = result->explained ? 0 : payload->member_count;
    size_t at = 0;
    bool first = true;
    mk_buf_c(out, '{');
    for (int own = 0; own <= OWN_COUNT; own++) {
        if (own < OWN_COUNT && !has_own(result, completeness, own))
            continue;
        for (; at < count; at++) {
            const mk_payload_member *member = &payload->members[at];
            if (own < OWN_COUNT && strcmp(member->name, own_names[own]) > 0)
                break;
            put_name(out, &first, member->name);
            mk_buf_put(out, payload->text.p + member->start, member->end - member->start);
        }
        if (own < OWN_COUNT) {
            put_name(out, &first, own_names[own]);
            put_own(result, own, out);
        }
    }
    mk_buf_c(out, '}');
    return mk_buf_done(out, err);
}

mk_code mk_call_on_view(mk_store *store, mk_view *view, mk_str op, mk_str args,
                        const mk_call_options *options, mk_arena *arena, mk_buf *out, mk_err *err)
{
    const size_t before = out->n;
    mk_call_result result;
    mk_code rc;

    mk_call_result_init(&result, arena->alloc);
    MK_TRY(rc, mk_call_run(store, view, op, args, options, arena, &result, err));
    MK_TRY(rc, mk_call_envelope(&result, options != NULL && options->completeness, out, err));

out:
    mk_call_result_free(&result);
    if (rc != MK_OK)
        out->n = before;
    return rc;
}

mk_code mk_call(mk_store *store, const char *op, mk_str args, const mk_call_options *options,
                mk_arena *arena, mk_buf *out, mk_err *err)
{
    return mk_call_on_view(store, NULL, mk_str_of(op), args, options, arena, out, err);
}

/* run_trace.c — what a run leaves behind. See run_internal.h. Layer: plan.
 *
 * docs/trace-format.md has every byte. A call's record has no clock and no generation of the store in it, so
 * the same plan at the same belief gives the same names. */
#include <stdio.h>

#include "base/sha256.h"
#include "plan/run_internal.h"

static mk_code keep(mk_running *r, const mk_buf *text, char digest[65], mk_err *err)
{
    uint8_t sha[32];
    const mk_code rc = mk_buf_done(text, err);
    if (rc != MK_OK)
        return rc;
    mk_sha256_of(text->p, text->n, sha);
    mk_hex(digest, sha, sizeof sha);
    digest[64] = '\0';
    return r->objects != NULL ? r->objects->put(r->objects, digest, mk_buf_view(text), err) : MK_OK;
}

/* ---- completeness ---- */

/* Rows, numbers, whatever a step computes from a part is a part; where its page ends is not. */
static bool is_data(const char *name)
{
    return strcmp(name, "cursor") != 0 && strcmp(name, "truncated") != 0 && strcmp(name, "n_buckets") != 0 &&
           strcmp(name, "stride") != 0;
}

/* The call's own gaps, and in every field the reasons that came with the arguments. */
static mk_code merge_gaps(mk_running *r, size_t step, mk_err *err)
{
    mk_step_run *s = &r->steps[step];
    const mk_payload *payload = &s->result.payload;
    mk_json *own, *merged;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(r->arena, mk_buf_view(&s->result.completeness), NULL, &own, err));
    if (r->options->no_completeness)
        own->n = 0;
    s->gaps = own;
    if (s->inherited_count == 0 || r->options->no_completeness)
        goto out;
    merged = mk_arena_get0(r->arena, sizeof *merged);
    mk_member *members = mk_arena_get(r->arena, (payload->member_count + 1) * sizeof *members);
    if (merged == NULL || members == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    *merged = (mk_json){.kind = MK_JSON_OBJECT, .members = members};
    for (size_t i = 0; i < payload->member_count; i++) {
        const char *name = payload->members[i].name;
        const mk_json *there = mk_json_get(own, name);
        const size_t before = there != NULL ? there->n : 0, more = is_data(name) ? s->inherited_count : 0;
        if (before + more == 0)
            continue;
        mk_json list = {.kind = MK_JSON_ARRAY, .n = before + more};
        list.items = mk_arena_get(r->arena, list.n * sizeof *list.items);
        if (list.items == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        if (before != 0)
            memcpy(list.items, there->items, before * sizeof *list.items);
        if (more != 0)
            memcpy(list.items + before, s->inherited, more * sizeof *list.items);
        members[merged->n++] = (mk_member){mk_str_of(name), list};
    }
    s->gaps = merged;
out:
    return rc;
}

/* ---- the record of a call ---- */

static bool has_arg(const mk_operator *op, const char *name)
{
    for (const mk_arg *a = op->args; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return true;
    return false;
}

static mk_code write_record(mk_running *r, const mk_step_run *s, mk_buf *out, mk_err *err)
{
    const mk_plan_step *step = s->step;
    const char *comma = "";
    mk_buf_z(out, "{\"args\":");
    mk_buf_str(out, mk_buf_view(&s->result.args_echo));
    if (has_arg(step->op, "as_of_tt"))
        mk_buf_printf(out, ",\"as_of_tt\":%lld,\"completeness\":", (long long)r->tt);
    else
        mk_buf_z(out, ",\"as_of_tt\":null,\"completeness\":");
    const mk_code rc = mk_canon_tree(out, r->arena, s->gaps, err);
    if (rc != MK_OK)
        return rc;
    mk_buf_z(out, ",\"deps\":[");
    for (size_t i = 0; i < r->plan->step_count; i++) /* in the order of the plan */
        for (size_t k = 0; k < step->depend_count; k++)
            if (step->depends[k] == i) {
                mk_buf_printf(out, "%s{\"call_digest\":\"%s\",\"step_id\":\"%.*s\"}", comma,
                              r->steps[i].call_digest, MK_STR_ARG(r->plan->steps[i].id));
                comma = ",";
            }
    mk_buf_printf(out, "],\"op\":\"%s\",\"payload_digest\":\"%s\"}", step->op->name, s->result_digest);
    return mk_buf_done(out, err);
}

mk_code mk_run__record(mk_running *r, size_t step, mk_err *err)
{
    mk_step_run *s = &r->steps[step];
    char payload_digest[65];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, r->arena->alloc);
    MK_TRY(rc, merge_gaps(r, step, err));
    MK_TRY(rc, keep(r, &s->result.payload.text, payload_digest, err));
    MK_TRY(rc, write_record(r, s, &text, err));
    rc = keep(r, &text, s->call_digest, err);
out:
    mk_buf_free(&text);
    return rc;
}

/* ---- the answer ---- */

static bool stands_on(const mk_running *r, size_t step, size_t other)
{
    bool reached[MK_PLAN_STEPS_MAX] = {false};
    reached[step] = true;
    for (size_t round = 0; round < r->plan->step_count; round++)
        for (size_t i = 0; i < r->plan->step_count; i++)
            for (size_t k = 0; reached[i] && k < r->plan->steps[i].depend_count; k++)
                reached[r->plan->steps[i].depends[k]] = true;
    return reached[other];
}

typedef struct answering {
    size_t step; /* of the plan; step_count: none */
    const mk_json *value, *gaps;
    mk_str error;
} answering;

static mk_code text_copy(mk_running *r, const char *text, mk_str *out, mk_err *err)
{
    *out = mk_arena_copy(r->arena, mk_str_of(text));
    return out->p != NULL ? MK_OK : mk_fail_nomem(err);
}

static mk_code find_answer(mk_running *r, answering *a, mk_err *err)
{
    const mk_plan *plan = r->plan;
    char why[400];
    mk_ref ref;
    mk_err own;
    mk_json *gaps;
    size_t count = 0;
    mk_code rc;
    a->step = plan->step_count;
    if (mk_ref_parse(plan->from, true, &ref, &own) != MK_OK)
        return text_copy(r, own.message, &a->error, err);
    for (size_t i = 0; i < plan->step_count; i++)
        if (mk_str_eq(plan->steps[i].id, ref.step))
            a->step = i;
    if (a->step == plan->step_count) {
        snprintf(why, sizeof why, "there is no step %.*s", (int)(ref.step.n > 32 ? 32 : ref.step.n),
                 ref.step.p);
        return text_copy(r, why, &a->error, err);
    }
    const mk_step_run *s = &r->steps[a->step];
    if (s->status != MK_STEP_OK) {
        snprintf(why, sizeof why, "step %.*s did not complete: %.300s", MK_STR_ARG(s->step->id),
                 s->err.message);
        return text_copy(r, why, &a->error, err);
    }
    a->value = s->payload;
    rc = ref.count != 0 ? mk_ref_resolve(&ref, s->payload, r->arena, &a->value, &own) : MK_OK;
    if (rc == MK_E_NOMEM)
        return mk_fail_nomem(err);
    if (rc != MK_OK) {
        a->value = NULL;
        return text_copy(r, own.message, &a->error, err);
    }
    gaps = mk_arena_get0(r->arena, sizeof *gaps);
    mk_json *list = mk_arena_get(r->arena, MK_RUN_GAPS_MAX * sizeof *list);
    if (gaps == NULL || list == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_run__gaps_of(r, &ref, a->step, (mk_str){NULL, 0}, list, &count, MK_RUN_GAPS_MAX, err));
    *gaps = (mk_json){.kind = MK_JSON_ARRAY, .n = count, .items = list};
    a->gaps = gaps;
out:
    return rc;
}

/* ---- the trace ---- */

static void put_ms(mk_buf *out, double ms)
{
    char text[40];
    /* three decimals, as a canonical float: 1.9, 0.0 */
    int n = snprintf(text, sizeof text, "%.3f", ms < 0 ? 0.0 : ms);
    for (int i = 0; i < n; i++)
        if (text[i] == ',')
            text[i] = '.';
    while (n > 2 && text[n - 1] == '0' && text[n - 2] != '.')
        n--;
    mk_buf_put(out, text, (size_t)n);
}

static void put_error(mk_buf *out, mk_err *e)
{
    mk_buf json;
    mk_buf_init(&json, out->alloc);
    mk_err_json(&json, e);
    /* E_UPSTREAM is a code of traces only: no function ever returns it. */
    static const char state[] = "\"error\":\"E_STATE\"";
    const char *at =
        strcmp(e->reason, "upstream") == 0 ? memmem(json.p, json.n, state, sizeof state - 1) : NULL;
    if (at != NULL) {
        const size_t before = (size_t)(at - json.p);
        mk_buf_put(out, json.p, before);
        mk_buf_z(out, "\"error\":\"E_UPSTREAM\"");
        mk_buf_put(out, at + sizeof state - 1, json.n - before - (sizeof state - 1));
    } else {
        mk_buf_str(out, mk_buf_view(&json));
    }
    out->failed |= json.failed;
    mk_buf_free(&json);
}

static mk_code put_step(mk_running *r, mk_step_run *s, bool times, mk_buf *out, mk_err *err)
{
    static const char *const words[] = {"skipped", "ok", "failed", "skipped"};
    const bool ok = s->status == MK_STEP_OK;
    const char *comma = "";
    mk_buf_c(out, '{');
    if (ok) {
        mk_buf_printf(out, "\"call_digest\":\"%s\",\"completeness\":", s->call_digest);
        const mk_code rc = mk_canon_tree(out, r->arena, s->gaps, err);
        if (rc != MK_OK)
            return rc;
        comma = ",";
    } else {
        mk_buf_z(out, "\"error\":");
        put_error(out, &s->err);
        comma = ",";
    }
    mk_buf_printf(out, "%s\"op\":", comma);
    mk_canon_string(out, s->step->op_name);
    if (s->called)
        mk_buf_printf(out, ",\"resolved_args_sha\":\"%s\"", s->args_sha);
    if (ok)
        mk_buf_printf(out, ",\"result_digest\":\"%s\",\"rows_returned\":%llu,\"rows_total\":%llu",
                      s->result_digest, (unsigned long long)s->rows, (unsigned long long)s->rows_total);
    mk_buf_printf(out, ",\"status\":\"%s\",\"step_id\":\"%.*s\"", words[s->status], MK_STR_ARG(s->step->id));
    if (ok)
        mk_buf_z(out, s->truncated ? ",\"truncated\":true" : ",\"truncated\":false");
    if (s->called && times) {
        mk_buf_z(out, ",\"wall_ms\":");
        put_ms(out, s->wall_ms);
    }
    mk_buf_c(out, '}');
    return mk_buf_done(out, err);
}

static void put_warnings(mk_running *r, const answering *a, mk_buf *out)
{
    const char *comma = "";
    mk_buf_z(out, ",\"warnings\":[");
    for (size_t i = 0; i < r->plan->step_count; i++) {
        if (r->steps[i].status == MK_STEP_OK || a->step == r->plan->step_count || stands_on(r, a->step, i))
            continue;
        mk_buf_printf(out, "%s\"%.*s\"", comma, MK_STR_ARG(r->plan->steps[i].id));
        comma = ",";
    }
    mk_buf_c(out, ']');
}

static mk_code write_trace(mk_running *r, const answering *a, bool times, mk_buf *out, mk_err *err)
{
    const mk_plan *plan = r->plan;
    static const mk_json none = {.kind = MK_JSON_ARRAY}, null_json = {.kind = MK_JSON_NULL};
    mk_code rc;
    mk_buf_z(out, "{\"answer\":");
    MK_TRY(rc, mk_canon_tree(out, r->arena, a->value != NULL ? a->value : &null_json, err));
    mk_buf_z(out, ",\"answer_error\":");
    if (a->error.n != 0)
        mk_canon_string(out, a->error);
    else
        mk_buf_z(out, "null");
    mk_buf_z(out, ",\"answer_gaps\":");
    MK_TRY(rc, mk_canon_tree(out, r->arena, a->gaps != NULL ? a->gaps : &none, err));
    mk_buf_printf(out, ",\"as_of_tt\":%lld,\"ok\":%s,\"plan\":", (long long)r->tt,
                  a->value != NULL ? "true" : "false");
    MK_TRY(rc, mk_canon_tree(out, r->arena, plan->json, err));
    mk_buf_z(out, ",\"plan_id\":");
    mk_canon_string(out, plan->plan_id);
    mk_buf_z(out, ",\"steps\":[");
    for (size_t i = 0; i < plan->step_count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        MK_TRY(rc, put_step(r, &r->steps[plan->order[i]], times, out, err));
    }
    mk_buf_c(out, ']');
    if (times) {
        mk_buf_z(out, ",\"wall_ms\":");
        put_ms(out, (double)(r->clock->now_us(r->clock->ctx) - r->started_us) / 1000.0);
    }
    put_warnings(r, a, out);
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, err);
out:
    return rc;
}

mk_code mk_run__trace(mk_running *r, mk_trace *out, mk_err *err)
{
    answering a = {.value = NULL};
    uint8_t sha[32];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, r->arena->alloc);
    MK_TRY(rc, find_answer(r, &a, err));
    MK_TRY(rc, write_trace(r, &a, false, &text, err));
    mk_sha256_of(text.p, text.n, sha);
    mk_hex(out->digest, sha, sizeof sha);
    out->digest[64] = '\0';
    mk_buf_clear(&text);
    MK_TRY(rc, write_trace(r, &a, true, &text, err));
    out->json = mk_arena_copy(r->arena, mk_buf_view(&text));
    out->ok = a.value != NULL;
    out->answer = a.value;
    out->answer_gaps = a.gaps;
    out->as_of_tt = r->tt;
    if (out->json.p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_buf_free(&text);
    return rc;
}

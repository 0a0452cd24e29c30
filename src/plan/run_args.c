/* run_args.c — references put in, and what they leave out. See run_internal.h. Layer: plan.
 *
 * What a result leaves out is known per field, so a reference inherits the reasons of the field it reads and
 * no others: rows_total of a page is exact although its rows are not all there. Source: agent spec, 9, 18.1;
 * decisions.md 4. */
#include <stdio.h>

#include "base/canon.h"
#include "base/sha256.h"
#include "plan/run_internal.h"

/* ---- reasons ---- */

static bool text_is(const mk_json *object, const char *key, const char *value)
{
    const mk_json *member = mk_json_get(object, key);
    return member != NULL && member->kind == MK_JSON_STRING && mk_str_eq(member->text, mk_str_of(value));
}

/* Whether rows behind the ones that are there are all that is missing, so that the first are the first. */
static bool is_tail(const mk_json *reason)
{
    return mk_json_get(reason, "via") == NULL &&
           (text_is(reason, "reason", "page") || text_is(reason, "reason", "sublist") ||
            text_is(reason, "reason", "top_k"));
}

/* Whether a number computed over the list would be a wrong number, and not one over thin evidence. */
static bool is_missing_rows(const mk_json *reason)
{
    static const char *const words[] = {"page", "offset", "sublist", "budget"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_is(reason, "reason", words[i]))
            return true;
    return false;
}

static mk_code with_via(mk_running *r, const mk_json *reason, mk_str via, mk_json *out, mk_err *err)
{
    *out = *reason;
    if (via.n == 0 || mk_json_get(reason, "via") != NULL)
        return MK_OK;
    out->members = mk_arena_get(r->arena, (reason->n + 1) * sizeof *out->members);
    if (out->members == NULL)
        return mk_fail_nomem(err);
    memcpy(out->members, reason->members, reason->n * sizeof *out->members);
    out->members[out->n++] = (mk_member){MK_STR("via"), {.kind = MK_JSON_STRING, .text = via}};
    return MK_OK;
}

/* Taking one of several entities that a name may mean: unless its uid is the very text that was asked for. */
static bool is_ambiguous(const mk_running *r, const mk_ref *ref, size_t on, uint64_t *total)
{
    const mk_step_run *s = &r->steps[on];
    const mk_json *rows = mk_json_get(s->payload, "rows");
    if (strcmp(s->step->op->name, "resolve_entities") != 0 || ref->count == 0 ||
        ref->segments[0].index != MK_REF_AT || rows == NULL || rows->kind != MK_JSON_ARRAY ||
        s->rows_total < 2 || ref->segments[0].at >= rows->n)
        return false;
    size_t exact = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const mk_json *match = mk_json_get(&rows->items[i], "match");
        exact += match != NULL && match->kind == MK_JSON_INT && match->i == 0;
    }
    const mk_json *match = mk_json_get(&rows->items[ref->segments[0].at], "match");
    *total = s->rows_total;
    return !(exact == 1 && match != NULL && match->i == 0);
}

static mk_code add_ambiguous(mk_running *r, uint64_t total, mk_str via, mk_json *out, mk_err *err)
{
    mk_json plain = {.kind = MK_JSON_OBJECT, .n = 2};
    plain.members = mk_arena_get(r->arena, 2 * sizeof *plain.members);
    if (plain.members == NULL)
        return mk_fail_nomem(err);
    plain.members[0] = (mk_member){MK_STR("reason"), {.kind = MK_JSON_STRING, .text = MK_STR("ambiguous")}};
    plain.members[1] = (mk_member){MK_STR("total"), {.kind = MK_JSON_INT, .i = (int64_t)total}};
    return with_via(r, &plain, via, out, err);
}

mk_code mk_run__gaps_of(mk_running *r, const mk_ref *ref, size_t on, mk_str via, mk_json *list, size_t *count,
                        size_t max, mk_err *err)
{
    const mk_step_run *s = &r->steps[on];
    uint64_t total;
    mk_code rc = MK_OK;
    for (size_t f = 0; f < s->gaps->n; f++) {
        const mk_member *field = &s->gaps->members[f];
        if (ref->count != 0 && !mk_str_eq(field->key, ref->segments[0].name))
            continue;
        const bool one = ref->count != 0 && ref->segments[0].index == MK_REF_AT;
        for (size_t i = 0; i < field->value.n && *count < max; i++)
            if (!(one && is_tail(&field->value.items[i])))
                MK_TRY(rc, with_via(r, &field->value.items[i], via, &list[(*count)++], err));
    }
    if (*count < max && is_ambiguous(r, ref, on, &total))
        rc = add_ambiguous(r, total, via, &list[(*count)++], err);
out:
    return rc;
}

/* ---- putting references in ---- */

typedef struct binding {
    mk_running *r;
    mk_step_run *s;
    mk_err *err;
} binding;

static size_t dependency(const mk_running *r, const mk_plan_step *step, mk_str id)
{
    for (size_t i = 0; i < step->depend_count; i++)
        if (mk_str_eq(r->plan->steps[step->depends[i]].id, id))
            return step->depends[i];
    return r->plan->step_count;
}

static mk_code inherit(binding *b, const mk_ref *ref, size_t on)
{
    mk_step_run *s = b->s;
    if (s->inherited == NULL) {
        s->inherited = mk_arena_get(b->r->arena, MK_RUN_GAPS_MAX * sizeof *s->inherited);
        if (s->inherited == NULL)
            return mk_fail_nomem(b->err);
        s->inherited_cap = MK_RUN_GAPS_MAX;
    }
    const size_t before = s->inherited_count;
    const mk_code rc = mk_run__gaps_of(b->r, ref, on, ref->text, s->inherited, &s->inherited_count,
                                       s->inherited_cap, b->err);
    for (size_t i = before; rc == MK_OK && i < s->inherited_count; i++)
        if (!s->cut && is_missing_rows(&s->inherited[i])) {
            s->cut = true;
            s->cut_path = ref->text;
        }
    return rc;
}

static mk_code bind_ref(binding *b, mk_str path, mk_json *out)
{
    mk_running *r = b->r;
    mk_ref ref;
    const mk_json *value;
    mk_code rc;
    if (path.p == NULL)
        return mk_fail(b->err, MK_E_INVALID_ARG, "the value of $ref must be text");
    MK_TRY(rc, mk_ref_parse(path, false, &ref, b->err));
    const size_t on = dependency(r, b->s->step, ref.step);
    if (on == r->plan->step_count || r->steps[on].payload == NULL) {
        mk_fail(b->err, MK_E_INVALID_ARG, "%.*s reads a step that is not in depends_on",
                (int)(path.n > 120 ? 120 : path.n), path.p);
        return MK_E_INVALID_ARG;
    }
    MK_TRY(rc, mk_ref_resolve(&ref, r->steps[on].payload, r->arena, &value, b->err));
    MK_TRY(rc, inherit(b, &ref, on));
    *out = *value;
out:
    return rc;
}

/* Depth is that of the plan's text, which is limited. */
static mk_code bind(binding *b, const mk_json *value, mk_json *out)
{
    mk_str path;
    mk_code rc = MK_OK;
    *out = *value;
    if (value->kind == MK_JSON_OBJECT && mk_ref_of(value, &path))
        return bind_ref(b, path, out);
    if (value->kind == MK_JSON_ARRAY && value->n != 0) {
        out->items = mk_arena_get(b->r->arena, value->n * sizeof *out->items);
        if (out->items == NULL)
            return mk_fail_nomem(b->err);
        for (size_t i = 0; i < value->n; i++)
            MK_TRY(rc, bind(b, &value->items[i], &out->items[i]));
    } else if (value->kind == MK_JSON_OBJECT && value->n != 0) {
        out->members = mk_arena_get(b->r->arena, value->n * sizeof *out->members);
        if (out->members == NULL)
            return mk_fail_nomem(b->err);
        for (size_t i = 0; i < value->n; i++) {
            out->members[i].key = value->members[i].key;
            MK_TRY(rc, bind(b, &value->members[i].value, &out->members[i].value));
        }
    }
out:
    return rc;
}

/* ---- numbers over a part ---- */

static mk_code refuse_part(const mk_step_run *s, const mk_json *args, mk_err *err)
{
    static const char *const reducers[] = {"count", "sum",  "min",     "max",  "mean",   "median",
                                           "ratio", "diff", "percent", "topk", "compare"};
    const mk_json *fn = mk_json_get(args, "fn");
    if (!s->cut || strcmp(s->step->op->name, "compute") != 0 || fn == NULL || fn->kind != MK_JSON_STRING)
        return MK_OK;
    for (size_t i = 0; i < sizeof reducers / sizeof *reducers; i++) {
        if (!mk_str_eq(fn->text, mk_str_of(reducers[i])))
            continue;
        mk_fail(err, MK_E_LIMIT, "%s over %.*s would be a wrong number: a part of that list is missing",
                reducers[i], MK_STR_ARG(s->cut_path));
        mk_err_hint(err, "read rows_total, which is exact, or leave limit and cursor out of that step so "
                         "that it is computed whole");
        mk_err_extra(err, "\"limit\":\"page\"", 14);
        return MK_E_LIMIT;
    }
    return MK_OK;
}

/* ---- belief ---- */

static bool takes(const mk_operator *op, const char *name)
{
    for (const mk_arg *a = op->args; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return true;
    return false;
}

/* "Current", and whatever is later than what was current when the plan began, is that time. */
static mk_code pin(mk_running *r, const mk_operator *op, mk_json *args, mk_err *err)
{
    mk_json *given = (mk_json *)mk_json_get(args, "as_of_tt");
    const mk_json now = {.kind = MK_JSON_INT, .i = r->tt};
    if (!takes(op, "as_of_tt"))
        return MK_OK;
    if (given != NULL) {
        int64_t tt;
        if (given->kind == MK_JSON_STRING && mk_time_parse(given->text, &tt, NULL) == MK_OK)
            *given = (mk_json){.kind = MK_JSON_INT, .i = tt};
        if (given->kind == MK_JSON_INT && !given->b && given->i > r->tt && given->i <= MK_OPEN_END)
            *given = now;
        return MK_OK;
    }
    mk_member *members = mk_arena_get(r->arena, (args->n + 1) * sizeof *members);
    if (members == NULL)
        return mk_fail_nomem(err);
    if (args->n != 0)
        memcpy(members, args->members, args->n * sizeof *members);
    members[args->n++] = (mk_member){MK_STR("as_of_tt"), now};
    args->members = members;
    return MK_OK;
}

static mk_code canonical(mk_running *r, const mk_json *value, mk_str *out, mk_err *err)
{
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, r->arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, r->arena, value, err));
    *out = mk_arena_copy(r->arena, mk_buf_view(&text));
    if (out->p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_buf_free(&text);
    return rc;
}

mk_code mk_run__args(mk_running *r, size_t step, mk_err *err)
{
    mk_step_run *s = &r->steps[step];
    binding b = {.r = r, .s = s, .err = err};
    mk_json args;
    mk_str text;
    uint8_t sha[32];
    mk_code rc;
    MK_TRY(rc, bind(&b, s->step->args, &args));
    MK_TRY(rc, canonical(r, &args, &text, err));
    mk_sha256_of(text.p, text.n, sha);
    mk_hex(s->args_sha, sha, 8);
    s->args_sha[16] = '\0';
    if (!r->options->no_completeness)
        MK_TRY(rc, refuse_part(s, &args, err));
    MK_TRY(rc, pin(r, s->step->op, &args, err));
    rc = canonical(r, &args, &s->args, err);
out:
    return rc;
}

/* bundle.c — writing a bundle, and checking one without a store. Layer: claim.
 *
 * Every byte of a bundle is covered: calls and payloads by their names, everything else by `digests`, the
 * layout by being canonical, all of it once more by the root. Then the answer is verified anew, and a report
 * that promises more than that finds is a fault. The trace is kept without wall times, so that the same
 * question gives the same bundle. Source: agent spec, 18.10, 18.17. */
#include "claim/bundle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "claim/bundle_internal.h"

#define FAULTS_MAX 100

/* The members that `digests` names, beside the root. */
static const char *const digested[] = {"answer", "plan", "prompts", "question", "report", "trace",
                                       "versions"};
#define DIGESTED_COUNT (sizeof digested / sizeof *digested)

/* ---- writing ---- */

typedef struct writing {
    mk_arena *arena;
    mk_object_fn *get;
    void *ctx;
    mk_json *trace;
    mk_json calls, payloads; /* objects by name */
} writing;

static mk_code parse_part(mk_arena *arena, mk_str text, const char *what, mk_json_kind kind, mk_json **out,
                          mk_err *err)
{
    const mk_code rc = mk_json_parse(arena, text, NULL, out, err);
    if (rc != MK_OK)
        return rc;
    if ((*out)->kind != kind) {
        mk_fail(err, MK_E_SCHEMA, "the %s of a bundle is not of its kind", what);
        return MK_E_SCHEMA;
    }
    return MK_OK;
}

static void drop_member(mk_json *object, mk_str key)
{
    size_t kept = 0;
    if (object->kind != MK_JSON_OBJECT)
        return;
    for (size_t i = 0; i < object->n; i++)
        if (!mk_str_eq(object->members[i].key, key))
            object->members[kept++] = object->members[i];
    object->n = kept;
}

static mk_json *steps_of(mk_json *trace)
{
    for (size_t i = 0; trace->kind == MK_JSON_OBJECT && i < trace->n; i++)
        if (mk_str_eq(trace->members[i].key, MK_STR("steps")) &&
            trace->members[i].value.kind == MK_JSON_ARRAY)
            return &trace->members[i].value;
    return NULL;
}

static bool has_member(const mk_json *object, mk_str key) { return mk_json_get_n(object, key) != NULL; }

/* The object that the step names under `member`, into `into`, once. */
static mk_code collect(writing *w, const mk_json *step, const char *member, mk_json *into, mk_err *err)
{
    const mk_json *name = mk_json_get(step, member);
    char digest[65];
    mk_str text;
    mk_json *tree;
    mk_code rc;
    if (name == NULL || name->kind != MK_JSON_STRING || name->text.n != 64 || has_member(into, name->text))
        return MK_OK;
    memcpy(digest, name->text.p, 64);
    digest[64] = '\0';
    MK_TRY(rc, w->get(w->ctx, digest, w->arena, &text, err));
    MK_TRY(rc, mk_json_parse(w->arena, text, NULL, &tree, err));
    into->members[into->n++] = (mk_member){.key = name->text, .value = *tree};
out:
    return rc;
}

static mk_code collect_objects(writing *w, mk_err *err)
{
    mk_json *steps = steps_of(w->trace);
    mk_code rc = MK_OK;
    if (steps == NULL || steps->n > MK_CLAIM_STEPS_MAX)
        return mk_fail(err, MK_E_SCHEMA, "the trace of a bundle has no list of at most %d steps",
                       MK_CLAIM_STEPS_MAX);
    w->calls = w->payloads = (mk_json){.kind = MK_JSON_OBJECT};
    w->calls.members = mk_arena_get(w->arena, steps->n * sizeof *w->calls.members);
    w->payloads.members = mk_arena_get(w->arena, steps->n * sizeof *w->payloads.members);
    if (w->calls.members == NULL || w->payloads.members == NULL)
        return mk_fail_nomem(err);
    drop_member(w->trace, MK_STR("wall_ms"));
    for (size_t i = 0; i < steps->n; i++) {
        drop_member(&steps->items[i], MK_STR("wall_ms"));
        MK_TRY(rc, collect(w, &steps->items[i], "call_digest", &w->calls, err));
        MK_TRY(rc, collect(w, &steps->items[i], "result_digest", &w->payloads, err));
    }
out:
    return rc;
}

static mk_json string_value(mk_str text) { return (mk_json){.kind = MK_JSON_STRING, .text = text}; }

/* The digest of each member, and the root, as an object. */
static mk_code put_digests(const mk_json *bundle, const mk_bundle_tree *parts, mk_arena *arena, mk_json *out,
                           mk_err *err)
{
    mk_leaves leaves;
    mk_hash32 root;
    char hex[65];
    mk_code rc;
    *out = (mk_json){.kind = MK_JSON_OBJECT};
    out->members = mk_arena_get(arena, (DIGESTED_COUNT + 1) * sizeof *out->members);
    if (out->members == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < DIGESTED_COUNT; i++) {
        MK_TRY(rc, mk_bundle__digest(mk_json_get(bundle, digested[i]), arena, hex, err));
        out->members[out->n++] = (mk_member){.key = mk_str_of(digested[i]),
                                             .value = string_value(mk_arena_copy(arena, mk_str_of(hex)))};
    }
    MK_TRY(rc, mk_bundle__leaves(parts, arena, &leaves, err));
    MK_TRY(rc, mk_bundle__root(&leaves, arena, &root, err));
    mk_hex(hex, root.bytes, sizeof root.bytes);
    out->members[out->n++] =
        (mk_member){.key = MK_STR("root"), .value = string_value(mk_arena_copy(arena, (mk_str){hex, 64}))};
    for (size_t i = 0; i < out->n; i++)
        if (out->members[i].value.text.p == NULL)
            rc = mk_fail_nomem(err);
out:
    return rc;
}

static mk_str or_else(mk_str text, const char *otherwise) { return text.n > 0 ? text : mk_str_of(otherwise); }

mk_code mk_bundle_write(const mk_bundle_parts *parts, mk_object_fn *get, void *ctx, mk_arena *arena,
                        mk_buf *out, mk_err *err)
{
    writing w = {.arena = arena, .get = get, .ctx = ctx};
    mk_json *answer, *plan, *report, *prompts, *versions, digests;
    mk_code rc;
    MK_TRY(rc, parse_part(arena, parts->trace, "trace", MK_JSON_OBJECT, &w.trace, err));
    MK_TRY(rc, collect_objects(&w, err));
    MK_TRY(rc, parse_part(arena, parts->answer, "answer", MK_JSON_OBJECT, &answer, err));
    MK_TRY(rc, parse_part(arena, parts->plan, "plan", MK_JSON_OBJECT, &plan, err));
    MK_TRY(rc, parse_part(arena, parts->report, "report", MK_JSON_OBJECT, &report, err));
    MK_TRY(rc, parse_part(arena, or_else(parts->prompts, "[]"), "prompts", MK_JSON_ARRAY, &prompts, err));
    MK_TRY(rc, parse_part(arena, or_else(parts->versions, "{}"), "versions", MK_JSON_OBJECT, &versions, err));
    const mk_json *as_of = mk_json_get(w.trace, "as_of_tt");
    const mk_json nothing = {.kind = MK_JSON_NULL};
    mk_member members[] = {
        {MK_STR("answer"), *answer},
        {MK_STR("as_of_tt"), as_of != NULL ? *as_of : nothing},
        {MK_STR("bundle"), {.kind = MK_JSON_INT, .i = 1}},
        {MK_STR("calls"), w.calls},
        {MK_STR("payloads"), w.payloads},
        {MK_STR("plan"), *plan},
        {MK_STR("prompts"), *prompts},
        {MK_STR("question"), string_value(or_else(parts->question, ""))},
        {MK_STR("report"), *report},
        {MK_STR("trace"), *w.trace},
        {MK_STR("versions"), *versions},
        {MK_STR("digests"), nothing},
    };
    const size_t count = sizeof members / sizeof *members;
    mk_json bundle = {.kind = MK_JSON_OBJECT, .n = count, .members = members};
    const mk_bundle_tree tree = {.answer = answer, .calls = &w.calls, .payloads = &w.payloads, .plan = plan,
                                 .report = report, .trace = w.trace};
    MK_TRY(rc, put_digests(&bundle, &tree, arena, &digests, err));
    members[count - 1].value = digests;
    MK_TRY(rc, mk_canon_tree(out, arena, &bundle, err));
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- checking ---- */

typedef struct bundle_checking {
    mk_arena *arena;
    mk_bundle_tree tree;
    mk_bundle_check *out;
    bool nomem;
} bundle_checking;

static void add_fault(bundle_checking *c, const char *fmt, ...) MK_PRINTF(2, 3);
static void add_fault(bundle_checking *c, const char *fmt, ...)
{
    mk_err line = {0};
    char text[400];
    va_list args;
    if (c->out->fault_count == FAULTS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mk_fail(&line, MK_OK, "%s", text); /* makes hostile bytes printable */
    const mk_str copy = mk_arena_copy(c->arena, mk_str_of(line.message));
    c->nomem |= copy.p == NULL;
    c->out->faults[c->out->fault_count++] = copy;
}

static bool is_text(const mk_json *value, mk_str text)
{
    return value != NULL && value->kind == MK_JSON_STRING && mk_str_eq(value->text, text);
}

/* The bytes must be those that the content has in canonical form; says where they are not. */
static mk_code check_form(bundle_checking *c, mk_str text, mk_err *err)
{
    mk_buf canon;
    mk_buf_init(&canon, c->arena->alloc);
    const mk_code rc = mk_canon_tree(&canon, c->arena, c->tree.whole, err);
    size_t i = 0;
    while (rc == MK_OK && i < canon.n && i < text.n && canon.p[i] == text.p[i])
        i++;
    if (rc == MK_OK && (i < canon.n || i < text.n))
        add_fault(c, "byte %zu: the file is not in canonical form", i);
    mk_buf_free(&canon);
    return rc;
}

static mk_code check_digests(bundle_checking *c, mk_err *err)
{
    char hex[65];
    for (size_t i = 0; i < DIGESTED_COUNT; i++) {
        const mk_code rc = mk_bundle__digest(mk_json_get(c->tree.whole, digested[i]), c->arena, hex, err);
        if (rc != MK_OK)
            return rc;
        if (!is_text(mk_json_get(c->tree.digests, digested[i]), (mk_str){hex, 64}))
            add_fault(c, "%s: does not hash to digests.%s", digested[i], digested[i]);
    }
    if (c->tree.digests->n != DIGESTED_COUNT + 1)
        add_fault(c, "digests: does not have exactly the members it should");
    return MK_OK;
}

static bool is_named(const mk_json *steps, const char *member, mk_str name)
{
    for (size_t i = 0; i < steps->n; i++)
        if (is_text(mk_json_get(&steps->items[i], member), name))
            return true;
    return false;
}

static mk_code check_objects(bundle_checking *c, const char *where, const mk_json *objects,
                             const char *member, mk_err *err)
{
    const mk_json *steps = mk_json_get(c->tree.trace, "steps");
    char hex[65];
    for (size_t i = 0; i < objects->n; i++) {
        const mk_str name = objects->members[i].key;
        const mk_code rc = mk_bundle__digest(&objects->members[i].value, c->arena, hex, err);
        if (rc != MK_OK)
            return rc;
        const int shown = (int)(name.n > 64 ? 64 : name.n);
        const char *at = name.n > 0 ? name.p : "";
        if (!mk_str_eq(name, (mk_str){hex, 64}))
            add_fault(c, "%s.%.*s: does not hash to its name", where, shown, at);
        if (!is_named(steps, member, name))
            add_fault(c, "%s.%.*s: no step of the trace names it", where, shown, at);
    }
    for (size_t i = 0; i < steps->n; i++) {
        const mk_json *name = mk_json_get(&steps->items[i], member);
        if (name != NULL && (name->kind != MK_JSON_STRING || mk_json_get_n(objects, name->text) == NULL))
            add_fault(c, "trace.steps[%zu].%s: is not among the %s", i, member, where);
    }
    return MK_OK;
}

static mk_code check_root(bundle_checking *c, mk_err *err)
{
    mk_leaves leaves;
    mk_hash32 root;
    char hex[64];
    mk_code rc;
    MK_TRY(rc, mk_bundle__leaves(&c->tree, c->arena, &leaves, err));
    MK_TRY(rc, mk_bundle__root(&leaves, c->arena, &root, err));
    mk_hex(hex, root.bytes, sizeof root.bytes);
    if (!is_text(mk_json_get(c->tree.digests, "root"), (mk_str){hex, sizeof hex}))
        add_fault(c, "digests.root: is not the root over calls, rows, plan, answer and report");
out:
    return rc;
}

static void check_agreement(bundle_checking *c)
{
    const mk_json *as_of = mk_json_get(c->tree.trace, "as_of_tt"), *plan = mk_json_get(c->tree.trace, "plan");
    if (as_of == NULL ? c->tree.as_of_tt->kind != MK_JSON_NULL : !mk_claim__same(as_of, c->tree.as_of_tt))
        add_fault(c, "as_of_tt: is not the belief time of the trace");
    if (plan != NULL && plan->kind == MK_JSON_OBJECT && plan->n > 0 && !mk_claim__same(plan, c->tree.plan))
        add_fault(c, "plan: is not the plan of the trace");
}

/* ---- the answer again ---- */

static mk_code get_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const mk_bundle_tree *tree = ctx;
    const mk_json *object = mk_json_get_n(tree->calls, mk_str_of(digest));
    mk_buf buf;
    if (object == NULL)
        object = mk_json_get_n(tree->payloads, mk_str_of(digest));
    if (object == NULL)
        return mk_fail(err, MK_E_NOT_FOUND, "the bundle has no object %s", digest);
    mk_buf_init(&buf, arena->alloc);
    const mk_code rc = mk_canon_tree(&buf, arena, object, err);
    if (rc == MK_OK)
        return mk_claim__keep(&buf, arena, text, err);
    mk_buf_free(&buf);
    return rc;
}

static mk_code text_of(const mk_json *value, mk_arena *arena, mk_str *out, mk_err *err)
{
    mk_buf buf;
    mk_buf_init(&buf, arena->alloc);
    const mk_code rc = mk_canon_tree(&buf, arena, value, err);
    if (rc == MK_OK)
        return mk_claim__keep(&buf, arena, out, err);
    mk_buf_free(&buf);
    return rc;
}

static const mk_claim_result *result_of(const mk_answer_report *report, const mk_json *id)
{
    for (size_t i = 0; i < report->claim_count; i++)
        if (is_text(id, report->claims[i].id))
            return &report->claims[i];
    return NULL;
}

/* What was judged with a store may be judged lower without one. */
static bool needs_store(const mk_claim_result *result)
{
    const mk_str type = result->type;
    return mk_str_eq(type, MK_STR("pattern")) || mk_str_eq(type, MK_STR("temporal_pattern")) ||
           mk_str_eq(type, MK_STR("belief_change"));
}

static void check_report(bundle_checking *c, const mk_answer_report *found)
{
    const mk_json *claims = mk_json_get(c->tree.report, "claims");
    for (size_t i = 0; claims != NULL && claims->kind == MK_JSON_ARRAY && i < claims->n &&
         i < MK_CLAIMS_MAX; i++) {
        const mk_json *id = mk_json_get(&claims->items[i], "id");
        const mk_json *verdict = mk_json_get(&claims->items[i], "verdict");
        const mk_claim_result *result = result_of(found, id);
        const bool full = is_text(verdict, MK_STR("supported"));
        if (!full && !is_text(verdict, MK_STR("weakly_supported")))
            continue;
        if (result == NULL)
            add_fault(c, "report.claims[%zu]: the answer has no such claim", i);
        else if (result->verdict > (full ? MK_SUPPORTED : MK_WEAKLY_SUPPORTED) && !needs_store(result))
            add_fault(c, "report.claims[%zu]: promises more than the evidence shows, which makes it %s", i,
                      mk_verdict_name(result->verdict));
    }
}

static mk_code check_answer(bundle_checking *c, const mk_verify_options *options, mk_err *err)
{
    mk_evidence *evidence;
    mk_str trace, answer;
    mk_answer_report plain;
    mk_code rc;
    MK_TRY(rc, text_of(c->tree.trace, c->arena, &trace, err));
    MK_TRY(rc, text_of(c->tree.answer, c->arena, &answer, err));
    MK_TRY(rc, mk_evidence_open(trace, get_object, &c->tree, NULL, NULL, c->arena, &evidence, err));
    MK_TRY(rc, mk_answer_verify(answer, evidence, options, c->arena, &c->out->answer, err));
    MK_TRY(rc, mk_answer_gate(&c->out->answer, options, c->arena, &c->out->gated, err));
    if (options != NULL && options->strict)
        MK_TRY(rc, mk_answer_verify(answer, evidence, NULL, c->arena, &plain, err));
    else
        plain = c->out->answer;
    check_report(c, &plain);
out:
    return rc;
}

mk_code mk_bundle_verify(mk_str bundle, const mk_verify_options *options, mk_arena *arena,
                         mk_bundle_check *out, mk_err *err)
{
    bundle_checking c = {.arena = arena, .out = out};
    mk_code rc;
    *out = (mk_bundle_check){.sound = false};
    out->faults = mk_arena_get(arena, FAULTS_MAX * sizeof *out->faults);
    if (out->faults == NULL)
        return mk_fail_nomem(err);
    if (bundle.n > 0 && bundle.p[bundle.n - 1] == '\n')
        bundle.n--; /* files end in one */
    MK_TRY(rc, mk_bundle__read(bundle, arena, &c.tree, err));
    MK_TRY(rc, check_form(&c, bundle, err));
    MK_TRY(rc, check_root(&c, err)); /* a trace without steps is no bundle */
    MK_TRY(rc, check_digests(&c, err));
    MK_TRY(rc, check_objects(&c, "calls", c.tree.calls, "call_digest", err));
    MK_TRY(rc, check_objects(&c, "payloads", c.tree.payloads, "result_digest", err));
    check_agreement(&c);
    MK_TRY(rc, check_answer(&c, options, err));
    if (c.nomem)
        rc = mk_fail_nomem(err);
    out->sound = out->fault_count == 0;
out:
    return rc;
}

void mk_bundle_check_json(const mk_bundle_check *check, mk_buf *out)
{
    mk_buf_printf(out, "{\"emitted\":%s,\"faults\":[", check->gated.emitted ? "true" : "false");
    for (size_t i = 0; i < check->fault_count; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        mk_canon_string(out, check->faults[i]);
    }
    mk_buf_z(out, "],\"gated\":{\"answer\":");
    mk_buf_str(out, check->gated.answer);
    mk_buf_z(out, ",\"dropped\":");
    mk_buf_str(out, check->gated.dropped);
    mk_buf_z(out, ",\"unverified\":");
    mk_buf_str(out, check->gated.unverified);
    mk_buf_z(out, "},\"report\":");
    mk_answer_report_json(&check->answer, out);
    mk_buf_printf(out, ",\"sound\":%s}", check->sound ? "true" : "false");
}

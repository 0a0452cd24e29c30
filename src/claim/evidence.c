/* evidence.c — a trace, the objects it names, and what they leave out. Layer: claim.
 *
 * A step is evidence when its call record and its payload are there, hash to the names that the trace
 * gives them, and agree with it and with each other; otherwise it carries the reason why not. What a
 * field leaves out is read from the call record, and seen for oneself where the payload shows it: a list
 * shorter than its total is cut whatever anybody says about it. Source: agent spec, 8, 9, 12.2, 18.1. */
#include "base/sha256.h"
#include "claim/claim_internal.h"

#define GAPS_MAX 256          /* reasons of one result; operators give 16, plans add those of arguments */
#define REASON_SIZE_MAX 32

/* ---- what is left out ---- */

static bool is_word(mk_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!((text.p[i] >= 'a' && text.p[i] <= 'z') || text.p[i] == '_'))
            return false;
    return text.n > 0 && text.n <= REASON_SIZE_MAX;
}

static mk_str string_at(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : (mk_str){NULL, 0};
}

static mk_gap_note read_gap(mk_str field, const mk_json *gap)
{
    mk_gap_note note = {.field = field, .reason = string_at(gap, "reason")};
    if (!is_word(note.reason))
        note.reason = MK_STR("unknown");
    note.inherited = mk_json_get(gap, "via") != NULL;
    note.has_total = mk_claim__i64(mk_json_get(gap, "total"), &note.total);
    return note;
}

static bool declares(const mk_claim_step *step, mk_str field)
{
    for (size_t i = 0; i < step->gap_count; i++)
        if (mk_str_eq(step->gaps[i].field, field))
            return true;
    return false;
}

/* `total` of the list `field`: "rows" has rows_total, "edges_added" has edges_added_total. */
static bool total_of(const mk_json *payload, mk_str field, int64_t *total)
{
    char name[96];
    if (field.n > sizeof name - 6)
        return false;
    memcpy(name, field.p, field.n);
    memcpy(name + field.n, "_total", 6);
    return mk_claim__i64(mk_json_get_n(payload, (mk_str){name, field.n + 6}), total);
}

static bool says_true(const mk_json *payload, const char *key)
{
    const mk_json *value = mk_json_get(payload, key);
    return value != NULL && value->kind == MK_JSON_BOOL && value->b;
}

/* Whether the payload itself shows that the list is cut. */
static bool is_cut(const mk_claim_step *step, const mk_member *list, int64_t *total)
{
    const mk_json *cursor = mk_json_get(step->payload, "cursor");
    *total = -1;
    if (total_of(step->payload, list->key, total) && *total != (int64_t)list->value.n)
        return true;
    if (mk_str_eq(list->key, MK_STR("rows")))
        return cursor != NULL && cursor->kind == MK_JSON_STRING;
    if (mk_str_eq(list->key, MK_STR("edges")))
        return says_true(step->payload, "edges_truncated");
    if (mk_str_eq(list->key, MK_STR("nodes")))
        return says_true(step->payload, "nodes_truncated");
    /* A cut that nobody accounts for may be anywhere. */
    return step->gap_count == 0 && *total < 0 && says_true(step->payload, "truncated");
}

static mk_code read_declared(mk_claim_step *step, mk_arena *arena, mk_err *err)
{
    const mk_json *all = mk_json_get(step->call, "completeness");
    step->gaps = mk_arena_get(arena, GAPS_MAX * sizeof *step->gaps);
    if (step->gaps == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; all != NULL && all->kind == MK_JSON_OBJECT && i < all->n; i++) {
        const mk_member *field = &all->members[i];
        const bool list = field->value.kind == MK_JSON_ARRAY;
        for (size_t k = 0; k < (list ? field->value.n : 1) && step->gap_count < GAPS_MAX; k++)
            step->gaps[step->gap_count++] =
                read_gap(field->key, list ? &field->value.items[k] : &field->value);
    }
    return MK_OK;
}

/* A page that was asked for by a cursor does not start at the first row. */
static mk_str seen_reason(const mk_claim_step *step, mk_str field)
{
    const mk_json *cursor = mk_json_get(step->args, "cursor");
    if (!mk_str_eq(field, MK_STR("rows")))
        return MK_STR("sublist");
    return cursor != NULL && cursor->kind == MK_JSON_STRING ? MK_STR("offset") : MK_STR("page");
}

static void add_seen(mk_claim_step *step)
{
    const size_t declared = step->gap_count;
    for (size_t i = 0; i < step->payload->n && step->gap_count < GAPS_MAX; i++) {
        const mk_member *m = &step->payload->members[i];
        int64_t total;
        if (m->value.kind != MK_JSON_ARRAY || declares(step, m->key) || !is_cut(step, m, &total))
            continue;
        step->gaps[step->gap_count++] = (mk_gap_note){
            .field = m->key, .reason = seen_reason(step, m->key), .has_total = total >= 0, .total = total};
    }
    /* More reasons than there is room for: then nothing is complete. */
    if (declared == GAPS_MAX)
        step->fault = MK_STR("its call record gives too many reasons why it is incomplete");
}

mk_code mk_evidence__fill(mk_claim_step *step, mk_arena *arena, mk_err *err)
{
    static const mk_json no_args = {.kind = MK_JSON_OBJECT};
    const mk_json *args = mk_json_get(step->call, "args");
    step->op = string_at(step->call, "op");
    step->args = args != NULL && args->kind == MK_JSON_OBJECT ? args : &no_args;
    step->has_belief = mk_claim__i64(mk_json_get(step->args, "as_of_tt"), &step->belief);
    const mk_code rc = read_declared(step, arena, err);
    if (rc == MK_OK)
        add_seen(step);
    return rc;
}

/* ---- objects ---- */

typedef struct opening {
    mk_evidence *evidence;
    mk_object_fn *get;
    void *get_ctx;
    mk_arena *arena;
} opening;

static void spoil(mk_claim_step *step, const char *word, const char *fault)
{
    step->payload = NULL;
    step->word = word;
    step->fault = mk_str_of(fault);
}

static bool hashes_to(mk_str text, mk_str digest)
{
    uint8_t hash[32];
    char hex[64];
    mk_sha256_of(text.p, text.n, hash);
    mk_hex(hex, hash, sizeof hash);
    return mk_str_eq((mk_str){hex, sizeof hex}, digest);
}

/* One object into *out, NULL with the step spoilt when it cannot be had. Errors: MK_E_NOMEM. */
static mk_code load(opening *o, mk_claim_step *step, const char *member, const mk_json **out, mk_err *err)
{
    const mk_str digest = string_at(step->record, member);
    char name[65];
    mk_str text = {NULL, 0};
    mk_json *tree;
    *out = NULL;
    if (digest.n != 64) {
        spoil(step, "missing", "the trace does not name its result");
        return MK_OK;
    }
    memcpy(name, digest.p, 64);
    name[64] = '\0';
    mk_code rc = o->get(o->get_ctx, name, o->arena, &text, err);
    if (rc == MK_E_NOMEM)
        return rc;
    if (rc != MK_OK) {
        spoil(step, rc == MK_E_NOT_FOUND ? "missing" : "damaged",
              rc == MK_E_NOT_FOUND ? "its result is not there" : "its result cannot be read");
        return MK_OK;
    }
    if (!hashes_to(text, digest)) {
        spoil(step, "damaged", "its result does not hash to its name");
        return MK_OK;
    }
    rc = mk_json_parse(o->arena, text, NULL, &tree, err);
    if (rc == MK_E_NOMEM)
        return rc;
    if (rc != MK_OK || tree->kind != MK_JSON_OBJECT)
        spoil(step, "damaged", "its result is no JSON object");
    else
        *out = tree;
    return MK_OK;
}

/* Trace, call record and payload must tell the same story. */
static const char *contradiction(const opening *o, const mk_claim_step *step)
{
    const mk_json *said = mk_json_get(step->record, "completeness");
    const mk_json *known = mk_json_get(step->call, "completeness");
    int64_t as_of;
    if (!mk_str_eq(string_at(step->call, "op"), string_at(step->record, "op")))
        return "the call record is one of another operator";
    if (!mk_str_eq(string_at(step->call, "payload_digest"), string_at(step->record, "result_digest")))
        return "the call record names another result";
    if (mk_claim__i64(mk_json_get(step->call, "as_of_tt"), &as_of) && o->evidence->has_as_of &&
        as_of != o->evidence->as_of_tt)
        return "the call record is of another belief time";
    if (said != NULL && (known == NULL || !mk_claim__same(said, known)))
        return "the trace and the call record differ on what is incomplete";
    return NULL;
}

static mk_code open_step(opening *o, const mk_json *record, mk_claim_step *step, mk_err *err)
{
    const mk_json *call, *payload;
    mk_code rc;
    *step = (mk_claim_step){.id = string_at(record, "step_id"),
                            .op = string_at(record, "op"),
                            .record = record};
    if (!mk_str_eq(string_at(record, "status"), MK_STR("ok"))) {
        spoil(step, "failed", "it did not complete");
        return MK_OK;
    }
    MK_TRY(rc, load(o, step, "call_digest", &call, err));
    if (call == NULL)
        goto out;
    MK_TRY(rc, load(o, step, "result_digest", &payload, err));
    if (payload == NULL)
        goto out;
    step->call = call;
    const char *fault = contradiction(o, step);
    if (fault != NULL) {
        spoil(step, "damaged", fault);
        goto out;
    }
    step->payload = payload;
    rc = mk_evidence__fill(step, o->arena, err);
    if (rc == MK_OK && step->fault.n > 0)
        spoil(step, "damaged", "its call record gives too many reasons why it is incomplete");
out:
    return rc;
}

static mk_code read_trace(opening *o, mk_str text, const mk_json **steps, mk_err *err)
{
    mk_json *trace;
    const mk_code rc = mk_json_parse(o->arena, text, NULL, &trace, err);
    if (rc == MK_E_NOMEM)
        return rc;
    if (rc != MK_OK) {
        mk_fail(err, MK_E_SCHEMA, "the trace cannot be read as JSON");
        return MK_E_SCHEMA;
    }
    *steps = mk_json_get(trace, "steps");
    if (*steps == NULL || (*steps)->kind != MK_JSON_ARRAY) {
        mk_fail(err, MK_E_SCHEMA, "this is no trace: it has no list of steps");
        return MK_E_SCHEMA;
    }
    if ((*steps)->n > MK_CLAIM_STEPS_MAX) {
        mk_fail(err, MK_E_SCHEMA, "a trace may have %d steps, this one has %zu", MK_CLAIM_STEPS_MAX,
                (*steps)->n);
        return MK_E_SCHEMA;
    }
    o->evidence->has_as_of = mk_claim__i64(mk_json_get(trace, "as_of_tt"), &o->evidence->as_of_tt);
    return MK_OK;
}

static mk_evidence *new_evidence(size_t steps, mk_arena *arena)
{
    mk_evidence *evidence = mk_arena_get0(arena, sizeof *evidence);
    if (evidence == NULL)
        return NULL;
    evidence->arena = arena;
    evidence->work = MK_CLAIM_WORK_MAX;
    evidence->steps = mk_arena_get0(arena, steps * sizeof *evidence->steps);
    return evidence->steps != NULL ? evidence : NULL;
}

mk_code mk_evidence_open(mk_str trace, mk_object_fn *get, void *get_ctx, mk_reexec_fn *reexec,
                         void *reexec_ctx, mk_arena *arena, mk_evidence **out, mk_err *err)
{
    mk_evidence *evidence = new_evidence(MK_CLAIM_STEPS_MAX, arena);
    opening o = {.evidence = evidence, .get = get, .get_ctx = get_ctx, .arena = arena};
    const mk_json *steps;
    mk_code rc;
    if (evidence == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, read_trace(&o, trace, &steps, err));
    evidence->reexec = reexec;
    evidence->reexec_ctx = reexec_ctx;
    for (size_t i = 0; i < steps->n; i++)
        MK_TRY(rc, open_step(&o, &steps->items[i], &evidence->steps[evidence->step_count++], err));
    *out = evidence;
out:
    return rc;
}

mk_code mk_evidence__of_parts(const mk_claim_step *steps, size_t count, mk_arena *arena,
                              mk_evidence **out, mk_err *err)
{
    mk_evidence *evidence = new_evidence(count, arena);
    if (evidence == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        evidence->steps[i] = steps[i];
        const mk_code rc = mk_evidence__fill(&evidence->steps[i], arena, err);
        if (rc != MK_OK)
            return rc;
        if (evidence->steps[i].fault.n > 0)
            spoil(&evidence->steps[i], "damaged", "too many reasons why it is incomplete");
        evidence->has_as_of |= mk_claim__i64(mk_json_get(steps[i].call, "as_of_tt"), &evidence->as_of_tt);
    }
    evidence->step_count = count;
    *out = evidence;
    return MK_OK;
}

/* Of two steps of one id the first counts; plans have no such thing. */
mk_claim_step *mk_evidence__find(mk_evidence *evidence, mk_str id)
{
    for (size_t i = 0; i < evidence->step_count; i++)
        if (id.n > 0 && mk_str_eq(evidence->steps[i].id, id))
            return &evidence->steps[i];
    return NULL;
}

/* ---- what a result knows ---- */

bool mk_claim__is_compute(const mk_claim_step *step) { return mk_str_eq(step->op, MK_STR("compute")); }

mk_code mk_evidence__lexicon(mk_evidence *evidence, mk_claim_step *step, mk_lexicon **out, mk_err *err)
{
    *out = &step->lexicon;
    if (step->lexicon.built)
        return MK_OK;
    return mk_lexicon_build(step->payload, MK_STR(""), mk_claim__is_compute(step), evidence->arena,
                            &step->lexicon, err);
}

/* An identifier or a time, and where it is looked for. */
typedef struct lookup {
    mk_evidence *evidence;
    bool is_time;
    mk_str id;
    int64_t time;
} lookup;

/* The step that a call record names, if it is that very call. */
static mk_claim_step *dependency(mk_evidence *evidence, const mk_json *dep)
{
    mk_claim_step *step = mk_evidence__find(evidence, string_at(dep, "step_id"));
    if (step == NULL || step->record == NULL)
        return step;
    return mk_str_eq(string_at(step->record, "call_digest"), string_at(dep, "call_digest")) ? step : NULL;
}

/* Every step is marked when it is visited, so cycles and diamonds of dependencies cost nothing more. */
static mk_code known_to(const lookup *l, mk_claim_step *step, bool *known, mk_err *err)
{
    mk_lexicon *lexicon;
    if (step == NULL || step->payload == NULL || step->mark == l->evidence->marks)
        return MK_OK;
    step->mark = l->evidence->marks;
    if (!mk_claim__is_compute(step)) {
        const mk_code rc = mk_evidence__lexicon(l->evidence, step, &lexicon, err);
        if (rc == MK_OK)
            *known |= l->is_time ? mk_lexicon_has_time(lexicon, l->time) : mk_lexicon_has_id(lexicon, l->id);
        return rc;
    }
    const mk_json *deps = mk_json_get(step->call, "deps");
    for (size_t i = 0; deps != NULL && deps->kind == MK_JSON_ARRAY && i < deps->n && !*known; i++) {
        const mk_code rc = known_to(l, dependency(l->evidence, &deps->items[i]), known, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

mk_code mk_evidence__knows_id(mk_evidence *evidence, mk_claim_step *step, mk_str id, bool *known,
                              mk_err *err)
{
    const lookup l = {.evidence = evidence, .id = id};
    *known = false;
    evidence->marks++;
    return known_to(&l, step, known, err);
}

mk_code mk_evidence__knows_time(mk_evidence *evidence, mk_claim_step *step, int64_t time, bool *known,
                                mk_err *err)
{
    const lookup l = {.evidence = evidence, .is_time = true, .time = time};
    *known = false;
    evidence->marks++;
    return known_to(&l, step, known, err);
}

/* ---- what a result was asked about ---- */

/* Joins the beliefs of all that a step rests on. False: two of them differ. */
static bool join_belief(mk_evidence *evidence, mk_claim_step *step, bool *has, int64_t *belief)
{
    if (step == NULL || step->payload == NULL || step->mark == evidence->marks)
        return true;
    step->mark = evidence->marks;
    if (step->has_belief) {
        if (*has && *belief != step->belief)
            return false;
        *has = true;
        *belief = step->belief;
        return true;
    }
    const mk_json *deps = mk_json_get(step->call, "deps");
    for (size_t i = 0; deps != NULL && deps->kind == MK_JSON_ARRAY && i < deps->n; i++)
        if (!join_belief(evidence, dependency(evidence, &deps->items[i]), has, belief))
            return false;
    return true;
}

bool mk_evidence__belief(mk_evidence *evidence, mk_claim_step *step, int64_t *out)
{
    bool has = false;
    evidence->marks++;
    return join_belief(evidence, step, &has, out) && has;
}

static bool rests_on_store(mk_evidence *evidence, mk_claim_step *step)
{
    bool grounded = false;
    if (step == NULL || step->payload == NULL || step->mark == evidence->marks)
        return false;
    step->mark = evidence->marks;
    if (!mk_claim__is_compute(step))
        return true;
    const mk_json *deps = mk_json_get(step->call, "deps");
    for (size_t i = 0; deps != NULL && deps->kind == MK_JSON_ARRAY && i < deps->n && !grounded; i++)
        grounded = rests_on_store(evidence, dependency(evidence, &deps->items[i]));
    return grounded;
}

bool mk_evidence__is_grounded(mk_evidence *evidence, mk_claim_step *step)
{
    evidence->marks++;
    return rests_on_store(evidence, step);
}

/* ---- running a call again ---- */

bool mk_claim__is_parameter(mk_str name)
{
    return !mk_str_eq(name, MK_STR("limit")) && !mk_str_eq(name, MK_STR("cursor")) &&
           !mk_str_eq(name, MK_STR("as_of_tt"));
}

static mk_code put_parameters(mk_buf *out, mk_arena *arena, const mk_json *args, mk_err *err)
{
    mk_json kept = {.kind = MK_JSON_OBJECT};
    kept.members = mk_arena_get(arena, args->n * sizeof *kept.members);
    if (kept.members == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < args->n; i++)
        if (mk_claim__is_parameter(args->members[i].key))
            kept.members[kept.n++] = args->members[i];
    return mk_canon_tree(out, arena, &kept, err);
}

mk_code mk_claim__reexec(mk_checking *c, mk_str op, const mk_json *args, int64_t tt, const mk_json **payload,
                         mk_err *why, mk_err *err)
{
    mk_buf text;
    mk_str result = {NULL, 0};
    mk_json *tree;
    mk_code rc;
    *payload = NULL;
    mk_buf_init(&text, c->arena->alloc);
    MK_TRY(rc, put_parameters(&text, c->arena, args, err));
    rc = c->evidence->reexec(c->evidence->reexec_ctx, op, mk_buf_view(&text), tt, c->arena, &result, why);
    if (rc == MK_OK)
        rc = mk_json_parse(c->arena, result, NULL, &tree, why);
    if (rc == MK_E_NOMEM)
        mk_fail_nomem(err);
    else if (rc == MK_OK)
        *payload = tree;
    rc = rc == MK_E_NOMEM ? rc : MK_OK;
out:
    mk_buf_free(&text);
    return rc;
}

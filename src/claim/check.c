/* check.c — one claim against the steps it cites. Layer: claim.
 *
 * The order is the spec's: load what is cited; a `from` that names an uncited step is unverifiable,
 * because small numbers occur by chance elsewhere; no evidence is unverifiable; then the type's check;
 * then what the evidence leaves out. Source: agent spec, 12.2, 18.1; decisions.md 5. */
#include <stdarg.h>
#include <stdio.h>

#include "claim/claim_internal.h"

#define SHOWN_MAX 200

/* ---- verdicts ---- */

static void add_reason(mk_claim_result *result, const char *word)
{
    const size_t most = sizeof result->reasons / sizeof *result->reasons;
    for (size_t i = 0; i < result->reason_count; i++)
        if (strcmp(result->reasons[i], word) == 0)
            return;
    if (result->reason_count < most)
        result->reasons[result->reason_count++] = word;
}

static void say(mk_checking *c, const char *text)
{
    mk_err line = {0};
    mk_fail(&line, MK_OK, "%s", text); /* makes hostile bytes printable */
    c->result->reason = mk_arena_copy(c->arena, mk_str_of(line.message));
}

void mk_claim__settle(mk_checking *c, mk_verdict verdict, const char *word, const char *fmt, ...)
{
    char text[sizeof((mk_err *)NULL)->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->result->verdict = verdict;
    c->result->reason_count = 0;
    if (word != NULL)
        add_reason(c->result, word);
    say(c, text);
}

/* ---- completeness ---- */

static bool is(mk_str text, const char *word) { return mk_str_eq(text, mk_str_of(word)); }

/* Operators whose rows only become more when their input does. */
static bool only_grows(const mk_claim_step *step)
{
    static const char *const fns[] = {"filter", "union", "intersect", "derive"};
    const mk_json *fn = mk_json_get(step->args, "fn"), *how = mk_json_get(step->args, "how");
    if (!mk_claim__is_compute(step) || fn == NULL || fn->kind != MK_JSON_STRING)
        return false;
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        if (is(fn->text, fns[i]))
            return true;
    return is(fn->text, "join") && (how == NULL || (how->kind == MK_JSON_STRING && is(how->text, "inner")));
}

/* Whether a reason touches what was read in this way. A page cut at its end still shows every row that
 * it shows, at its place; one that starts later shows it elsewhere; and what an incomplete argument does
 * to a result is only known where more input can only mean more output. */
static bool touches(const mk_claim_step *step, const mk_gap_note *gap, mk_need need)
{
    const bool cut = is(gap->reason, "page") || is(gap->reason, "sublist") || is(gap->reason, "top_k");
    const bool moved = is(gap->reason, "offset") || is(gap->reason, "budget");
    if (gap->inherited || is(gap->reason, "ref_cut"))
        return !((cut || moved || is(gap->reason, "ref_cut")) && need == MK_NEED_MEMBER &&
                 only_grows(step));
    if (cut)
        return need != MK_NEED_PLACE && need != MK_NEED_MEMBER;
    if (moved || is(gap->reason, "excluded"))
        return need != MK_NEED_MEMBER;
    if (is(gap->reason, "censored"))
        return need != MK_NEED_MEMBER && need != MK_NEED_LEAST;
    return true;
}

/* The reason as a word that lives as long as the arena; the usual ones need no copy. */
static const char *word_of(mk_checking *c, mk_str reason)
{
    static const char *const usual[] = {"page", "offset", "sublist", "top_k", "budget", "excluded",
                                        "ref_cut", "sampled", "approximate", "ambiguous", "narrowed",
                                        "censored", "stale", "unproven"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (is(reason, usual[i]))
            return usual[i];
    char *copy = mk_arena_get0(c->arena, reason.n + 1);
    if (copy == NULL)
        return "unknown";
    memcpy(copy, reason.p, reason.n);
    return copy;
}

bool mk_claim__touched(const mk_checking *c, const mk_claim_step *step, mk_str field, mk_need need)
{
    for (size_t i = 0; i < step->gap_count && !c->options->no_completeness; i++)
        if (mk_str_eq(step->gaps[i].field, field) && touches(step, &step->gaps[i], need))
            return true;
    return false;
}

void mk_claim__weaken(mk_checking *c, const mk_claim_step *step, mk_str field, mk_need need)
{
    mk_claim_result *result = c->result;
    if ((result->verdict != MK_SUPPORTED && result->verdict != MK_WEAKLY_SUPPORTED) ||
        !mk_claim__touched(c, step, field, need))
        return;
    for (size_t i = 0; i < step->gap_count; i++)
        if (mk_str_eq(step->gaps[i].field, field) && touches(step, &step->gaps[i], need))
            add_reason(result, word_of(c, step->gaps[i].reason));
    if (result->verdict == MK_SUPPORTED) {
        char text[sizeof((mk_err *)NULL)->message];
        snprintf(text, sizeof text, "%.*s; but %.*s.%.*s is incomplete", (int)result->reason.n,
                 result->reason.n ? result->reason.p : "", MK_STR_ARG(step->id), MK_STR_ARG(field));
        result->verdict = MK_WEAKLY_SUPPORTED;
        say(c, text);
    }
}

void mk_claim__weaken_all(mk_checking *c, const mk_claim_step *step)
{
    for (size_t i = 0; i < step->gap_count; i++)
        mk_claim__weaken(c, step, step->gaps[i].field, MK_NEED_WHOLE);
}

/* ---- members of the claim ---- */

const mk_json *mk_claim__member(const mk_checking *c, const char *name)
{
    const mk_json *value = mk_json_get(c->claim, name);
    return value != NULL && value->kind != MK_JSON_NULL ? value : NULL;
}

mk_str mk_claim__string(const mk_checking *c, const char *name)
{
    const mk_json *value = mk_claim__member(c, name);
    if (value == NULL || value->kind != MK_JSON_STRING)
        return (mk_str){NULL, 0};
    return value->text.p != NULL ? value->text : MK_STR("");
}

static const mk_json *from_of(const mk_checking *c)
{
    const mk_json *from = mk_claim__member(c, "from");
    return from != NULL || c->outer == NULL ? from : mk_json_get(c->outer, "from");
}

bool mk_claim__has_from(const mk_checking *c)
{
    const mk_json *from = from_of(c);
    return from != NULL && from->kind == MK_JSON_STRING && from->text.n > 0;
}

bool mk_claim__spend(mk_checking *c, uint64_t values)
{
    if (c->evidence->work < values) {
        c->evidence->work = 0;
        mk_claim__settle(c, MK_UNVERIFIABLE, "too_large",
                         "the answer asks for more checking than is done for one answer");
        return false;
    }
    c->evidence->work -= values;
    return true;
}

mk_str mk_claim__show(mk_checking *c, const mk_json *value, size_t max)
{
    mk_buf buf;
    mk_str shown = MK_STR("...");
    if (value->kind == MK_JSON_ARRAY || value->kind == MK_JSON_OBJECT)
        return value->kind == MK_JSON_ARRAY ? MK_STR("a list") : MK_STR("an object");
    mk_buf_init(&buf, c->arena->alloc);
    if (value->kind == MK_JSON_STRING && value->text.n > max)
        mk_canon_string(&buf, MK_STR("..."));
    else if (mk_canon_tree(&buf, c->arena, value, NULL) != MK_OK)
        buf.failed = true;
    if (!buf.failed && buf.n <= max + 2)
        shown = mk_arena_copy(c->arena, mk_buf_view(&buf));
    mk_buf_free(&buf);
    return shown.p != NULL ? shown : MK_STR("...");
}

mk_json mk_claim__as_number(const mk_json *value)
{
    return value->kind == MK_JSON_ARRAY ? (mk_json){.kind = MK_JSON_INT, .i = (int64_t)value->n}
                                        : *value;
}

/* ---- paths ---- */

static bool is_cited(const mk_checking *c, mk_str step)
{
    for (size_t i = 0; i < c->cites->n; i++)
        if (mk_str_eq(c->cites->items[i].text, step))
            return true;
    return false;
}

/* The id before the first dot, whether or not the rest is a path. */
static mk_str step_name(mk_str path)
{
    const char *dot = path.n > 0 ? memchr(path.p, '.', path.n) : NULL;
    return (mk_str){path.p, dot != NULL ? (size_t)(dot - path.p) : path.n};
}

static mk_need need_of(const mk_ref *ref, const mk_json *value)
{
    if (ref->segments[0].index == MK_REF_ALL)
        return MK_NEED_WHOLE;
    if (ref->segments[0].index == MK_REF_AT)
        return MK_NEED_PLACE;
    return ref->count == 1 && value->kind == MK_JSON_ARRAY ? MK_NEED_WHOLE : MK_NEED_SCALAR;
}

static bool is_typed(const mk_ref *ref)
{
    for (size_t i = 0; i + 1 < ref->count; i++)
        if (!mk_claim__enters(ref->segments[i].name))
            return false;
    const mk_str last = ref->segments[ref->count - 1].name;
    return mk_claim__enters(last) || mk_claim__role(last) != MK_ROLE_NONE;
}

mk_code mk_claim__follow(mk_checking *c, mk_str path, mk_found *out, bool *ok, mk_err *err)
{
    mk_ref ref;
    mk_err local = {0};
    *ok = false;
    if (!is_cited(c, step_name(path))) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "uncited", "%.*s names a step that the claim does not cite",
                         MK_STR_ARG(path));
        return MK_OK;
    }
    if (mk_ref_parse(path, false, &ref, &local) != MK_OK) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "not_a_path", "%s", local.message);
        return MK_OK;
    }
    mk_claim_step *step = mk_evidence__find(c->evidence, ref.step);
    if (step == NULL || step->payload == NULL) {
        mk_claim__settle(c, MK_UNVERIFIABLE, step != NULL ? step->word : "missing",
                         "%.*s is no evidence: %.*s", MK_STR_ARG(ref.step),
                         MK_STR_ARG(step != NULL ? step->fault : MK_STR("there is no such step")));
        return MK_OK;
    }
    const mk_code rc = mk_ref_resolve(&ref, step->payload, c->arena, &out->value, &local);
    if (rc == MK_E_NOMEM)
        return mk_fail_nomem(err);
    if (rc != MK_OK) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "not_a_path", "%s", local.message);
        return MK_OK;
    }
    out->step = step;
    out->field = ref.segments[0].name;
    out->last = ref.segments[ref.count - 1].name;
    out->need = need_of(&ref, out->value);
    out->typed = mk_claim__is_compute(step) || is_typed(&ref);
    *ok = mk_claim__spend(c, 1 + (out->value->kind == MK_JSON_ARRAY ? out->value->n : 0));
    return MK_OK;
}

mk_code mk_claim__from(mk_checking *c, mk_found *out, bool *ok, mk_err *err)
{
    *ok = false;
    return mk_claim__has_from(c) ? mk_claim__follow(c, from_of(c)->text, out, ok, err) : MK_OK;
}

/* ---- the order ---- */

static const struct {
    const char *type;
    mk_claim_check *check;
    bool needs_from; /* in strict mode */
} types[] = {
    {"count", mk_claim__value, true},
    {"value", mk_claim__value, true},
    {"boolean", mk_claim__boolean, true},
    {"entity", mk_claim__entity, true},
    {"set_equal", mk_claim__set_equal, true},
    {"ordering", mk_claim__ordering, true},
    {"interval", mk_claim__interval, true},
    {"absence", mk_claim__absence, true},
    {"lower_bound", mk_claim__bound, true},
    {"upper_bound", mk_claim__bound, true},
    {"comparison", mk_claim__comparison, false},
    {"ratio", mk_claim__ratio, false},
    {"path", mk_claim__path, true},
    {"belief", mk_claim__belief, false},
    {"belief_change", mk_claim__belief_change, true},
    {"pattern", mk_claim__pattern, true},
    {"temporal_pattern", mk_claim__pattern, true},
};

static size_t type_index(mk_str type)
{
    size_t i = 0;
    while (i < sizeof types / sizeof *types && !is(type, types[i].type))
        i++;
    return i;
}

mk_claim_check *mk_claim__check_of(mk_str type)
{
    const size_t i = type_index(type);
    return i < sizeof types / sizeof *types ? types[i].check : NULL;
}

/* The cited steps that are evidence; *why is that of the first that is none. */
static mk_code load_cited(mk_checking *c, const mk_claim_step **faulty, mk_err *err)
{
    *faulty = NULL;
    c->cited_count = 0;
    c->cited = mk_arena_get(c->arena, MK_CLAIM_STEPS_MAX * sizeof(mk_claim_step *));
    if (c->cited == NULL)
        return mk_fail_nomem(err);
    c->evidence->marks++;
    for (size_t i = 0; i < c->cites->n; i++) {
        mk_claim_step *step = mk_evidence__find(c->evidence, c->cites->items[i].text);
        if (step == NULL || step->mark == c->evidence->marks)
            continue;
        step->mark = c->evidence->marks;
        if (step->payload != NULL)
            c->cited[c->cited_count++] = step;
        else if (*faulty == NULL)
            *faulty = step;
    }
    return MK_OK;
}

static void settle_no_evidence(mk_checking *c, const mk_claim_step *faulty)
{
    if (faulty != NULL)
        mk_claim__settle(c, MK_UNVERIFIABLE, faulty->word, "no evidence: %.*s: %.*s", MK_STR_ARG(faulty->id),
                         MK_STR_ARG(faulty->fault));
    else
        mk_claim__settle(c, MK_UNVERIFIABLE, "missing",
                         "no evidence: none of the cited steps is in the trace");
}

mk_code mk_claim__run(mk_checking *c, mk_err *err)
{
    const mk_claim_step *faulty;
    const size_t type = type_index(mk_claim__string(c, "type"));
    mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "there is no such type of claim");
    if (type == sizeof types / sizeof *types || !mk_claim__spend(c, 1 + c->cites->n))
        return MK_OK;
    const mk_code rc = load_cited(c, &faulty, err);
    if (rc != MK_OK)
        return rc;
    if (mk_claim__has_from(c) && !is_cited(c, step_name(from_of(c)->text))) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "uncited", "from names a step that the claim does not cite");
        return MK_OK;
    }
    if (c->cited_count == 0) {
        settle_no_evidence(c, faulty);
        return MK_OK;
    }
    if (c->options->strict && types[type].needs_from && !mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    return types[type].check(c, err);
}

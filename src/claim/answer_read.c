/* answer_read.c — the answer object, read strictly. Layer: claim.
 *
 * Whoever wrote it, a model included, gets the first thing that is wrong with it as a sentence. Members
 * are known and of their type, ids are unique, no object names a member twice, numbers are finite, and
 * 5.0 is 5. Which members a type needs is its check's business: what is missing makes that one claim
 * unverifiable. Source: agent spec, 11.3, O-28; decisions.md 5. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "claim/claim_internal.h"

#define ANSWER_SIZE_MAX ((size_t)16 << 20)
#define TEXT_SIZE_MAX ((size_t)1 << 20) /* far beyond what anybody reads, and cheap to look through */
#define FAULT_SIZE_MAX 400

typedef enum member_type {
    A_STRING,
    A_STRINGS,
    A_SCALAR,
    A_WHEN,
    A_RELATION,
    A_INT,
    A_OBJECT,
    A_HOPS,
    A_OPERAND, /* a path or a number */
    A_ANY
} member_type;

static const struct {
    const char *name;
    member_type type;
} members[] = {
    {"id", A_STRING},          {"type", A_STRING},        {"evidence", A_STRINGS},
    {"from", A_STRING},        {"value", A_SCALAR},       {"uids", A_STRINGS},
    {"a", A_WHEN},             {"b", A_WHEN},             {"relation", A_RELATION},
    {"interval", A_WHEN},      {"assertion", A_STRING},   {"direction", A_STRING},
    {"op", A_STRING},          {"args", A_OBJECT},        {"where", A_OBJECT},
    {"left", A_OPERAND},       {"cmp", A_STRING},         {"right", A_OPERAND},
    {"num", A_OPERAND},        {"den", A_OPERAND},        {"hops", A_HOPS},
    {"as_of_tt", A_INT},       {"claim", A_OBJECT},       {"tt_before", A_INT},
    {"tt_after", A_INT},       {"before", A_ANY},         {"after", A_ANY},
    {"cause_tt", A_INT},       {"from_before", A_STRING},
};

typedef struct reading {
    mk_arena *arena;
    mk_str *fault;
    bool nomem;
} reading;

static bool fault(reading *r, const char *fmt, ...) MK_PRINTF(2, 3);
static bool fault(reading *r, const char *fmt, ...)
{
    mk_err line = {0};
    char text[FAULT_SIZE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* Cut at a character and cleaned of what is no text, as messages of errors are. */
    mk_fail(&line, MK_E_SCHEMA, "%s", text);
    *r->fault = mk_arena_copy(r->arena, mk_str_of(line.message));
    r->nomem |= r->fault->p == NULL;
    return false;
}

static bool is_strings(const mk_json *value)
{
    if (value->kind != MK_JSON_ARRAY)
        return false;
    for (size_t i = 0; i < value->n; i++)
        if (value->items[i].kind != MK_JSON_STRING)
            return false;
    return true;
}

static bool is_when(const mk_json *value)
{
    static const char *const keys[] = {"t", "start", "end", "t_a", "t_b"};
    if (value->kind != MK_JSON_OBJECT || value->n == 0 || value->n > 2)
        return false;
    for (size_t i = 0; i < value->n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            known |= mk_str_eq(value->members[i].key, mk_str_of(keys[k]));
        if (!known || value->members[i].value.kind != MK_JSON_INT)
            return false;
    }
    return true;
}

static bool is_relation(const mk_json *value)
{
    if (value->kind == MK_JSON_STRING)
        return true;
    return value->kind == MK_JSON_OBJECT && value->n == 1 &&
           mk_claim__is_number(mk_json_get(value, "within"));
}

static bool is_hops(const mk_json *value)
{
    if (value->kind != MK_JSON_ARRAY)
        return false;
    for (size_t i = 0; i < value->n; i++)
        if (value->items[i].kind != MK_JSON_OBJECT)
            return false;
    return true;
}

static bool is_of(const mk_json *value, member_type type)
{
    const bool scalar = value->kind != MK_JSON_ARRAY && value->kind != MK_JSON_OBJECT;
    switch (type) {
    case A_STRING:
        return value->kind == MK_JSON_STRING;
    case A_STRINGS:
        return is_strings(value);
    case A_SCALAR:
        return scalar;
    case A_WHEN:
        return is_when(value);
    case A_RELATION:
        return is_relation(value);
    case A_INT:
        return value->kind == MK_JSON_INT && !value->b;
    case A_OBJECT:
        return value->kind == MK_JSON_OBJECT;
    case A_HOPS:
        return is_hops(value);
    case A_OPERAND:
        return value->kind == MK_JSON_STRING || mk_claim__is_number(value);
    default:
        return true;
    }
}

static bool read_member(reading *r, const mk_member *m, const char *where)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!mk_str_eq(m->key, mk_str_of(members[i].name)))
            continue;
        return is_of(&m->value, members[i].type) ||
               fault(r, "%s.%s: the value is not of the right type", where, members[i].name);
    }
    return fault(r, "%s: a claim has no member \"%.*s\"", where, (int)(m->key.n > 60 ? 60 : m->key.n),
                 m->key.n ? m->key.p : "");
}

static mk_json *member_of(mk_json *object, const char *name)
{
    for (size_t i = 0; object->kind == MK_JSON_OBJECT && i < object->n; i++)
        if (mk_str_eq(object->members[i].key, mk_str_of(name)))
            return &object->members[i].value;
    return NULL;
}

/* A member that is null is not there, except where null is a value that was believed. */
static void drop_nulls(mk_json *claim)
{
    size_t kept = 0;
    for (size_t i = 0; claim->kind == MK_JSON_OBJECT && i < claim->n; i++) {
        const mk_member *m = &claim->members[i];
        if (m->value.kind != MK_JSON_NULL || mk_str_eq(m->key, MK_STR("before")) ||
            mk_str_eq(m->key, MK_STR("after")))
            claim->members[kept++] = *m;
    }
    if (claim->kind == MK_JSON_OBJECT)
        claim->n = kept;
}

static bool read_claim(reading *r, mk_json *claim, const char *where, bool nested)
{
    drop_nulls(claim);
    const mk_json *type = mk_json_get(claim, "type"), *id = mk_json_get(claim, "id");
    const mk_json *evidence = mk_json_get(claim, "evidence");
    mk_json *inner = member_of(claim, "claim");
    if (claim->kind != MK_JSON_OBJECT)
        return fault(r, "%s: a claim is an object", where);
    for (size_t i = 0; i < claim->n; i++)
        if (!read_member(r, &claim->members[i], where))
            return false;
    if (type == NULL || mk_claim__check_of(type->text) == NULL)
        return fault(r, "%s.type: %s", where, type == NULL ? "is missing" : "there is no such type of claim");
    if (!nested && (id == NULL || id->text.n == 0))
        return fault(r, "%s.id: is missing", where);
    if (nested ? evidence != NULL && evidence->n == 0 : evidence == NULL || evidence->n == 0)
        return fault(r, "%s.evidence: at least one step must be named", where);
    if (inner == NULL)
        return true;
    if (nested)
        return fault(r, "%s.claim: a claim inside a belief claim has none of its own", where);
    char inside[80];
    snprintf(inside, sizeof inside, "%s.claim", where);
    return read_claim(r, inner, inside, true);
}

/* ---- the whole ---- */

static int by_text(const void *a, const void *b)
{
    return mk_str_cmp(*(const mk_str *)a, *(const mk_str *)b);
}

static bool ids_differ(reading *r, const mk_json *claims)
{
    mk_str *ids = mk_arena_get(r->arena, claims->n * sizeof *ids);
    if (ids == NULL) {
        r->nomem = true;
        return false;
    }
    for (size_t i = 0; i < claims->n; i++)
        ids[i] = mk_json_get(&claims->items[i], "id")->text;
    if (claims->n > 0)
        qsort(ids, claims->n, sizeof *ids, by_text);
    for (size_t i = 1; i < claims->n; i++)
        if (mk_str_eq(ids[i - 1], ids[i]))
            return fault(r, "claims: two have the id \"%.*s\"", (int)(ids[i].n > 60 ? 60 : ids[i].n),
                         ids[i].p);
    return true;
}

static bool read_answer(reading *r, mk_json *answer)
{
    const mk_json *text = mk_json_get(answer, "text");
    mk_json *claims = member_of(answer, "claims");
    char where[64];
    if (answer->kind != MK_JSON_OBJECT)
        return fault(r, "an answer is an object with text and claims");
    if (text == NULL || text->kind != MK_JSON_STRING)
        return fault(r, "text: a string is needed");
    if (text->text.n > TEXT_SIZE_MAX)
        return fault(r, "text: at most %zu bytes", TEXT_SIZE_MAX);
    if (claims == NULL || claims->kind != MK_JSON_ARRAY)
        return fault(r, "claims: a list is needed");
    if (answer->n != 2)
        return fault(r, "an answer has text and claims and nothing else");
    if (claims->n > MK_CLAIMS_MAX)
        return fault(r, "claims: at most %d, not %zu", MK_CLAIMS_MAX, claims->n);
    for (size_t i = 0; i < claims->n; i++) {
        snprintf(where, sizeof where, "claims[%zu]", i);
        if (!read_claim(r, &claims->items[i], where, false))
            return false;
    }
    return ids_differ(r, claims);
}

/* ---- members named twice ---- */

static size_t count_members(const mk_json *value, int depth)
{
    size_t count = 0;
    if (depth == 0)
        return 0;
    if (value->kind == MK_JSON_ARRAY)
        for (size_t i = 0; i < value->n; i++)
            count += count_members(&value->items[i], depth - 1);
    else if (value->kind == MK_JSON_OBJECT)
        for (size_t i = 0; i < value->n; i++)
            count += 1 + count_members(&value->members[i].value, depth - 1);
    return count;
}

/* The reader keeps the last of two members of one name, so a tree with fewer members than the text has
 * keys had doubles. */
mk_code mk_json__has_doubles(mk_str text, const mk_json *tree, mk_arena *arena, bool *out, mk_err *err)
{
    mk_json_limits limits = mk_json_limits_default;
    mk_json_reader reader;
    size_t keys = 0;
    mk_code rc;
    limits.depth = 256;
    mk_json_open(&reader, arena->alloc, text, &limits);
    do {
        MK_TRY(rc, mk_json_next(&reader, err));
        keys += reader.token == MK_TOK_KEY;
    } while (reader.token != MK_TOK_END);
    *out = keys != count_members(tree, 256);
out:
    mk_json_close(&reader);
    return rc;
}

/* ---- 5.0 is 5 ---- */

static bool normalise(mk_json *value, int depth)
{
    if (value->kind == MK_JSON_FLOAT) {
        if (!isfinite(value->d))
            return false;
        if (fabs(value->d) < 9007199254740992.0 && value->d == trunc(value->d))
            *value = (mk_json){.kind = MK_JSON_INT, .i = (int64_t)value->d};
        return true;
    }
    bool finite = depth > 0;
    if (value->kind == MK_JSON_ARRAY)
        for (size_t i = 0; i < value->n && finite; i++)
            finite = normalise(&value->items[i], depth - 1);
    else if (value->kind == MK_JSON_OBJECT)
        for (size_t i = 0; i < value->n && finite; i++)
            finite = normalise(&value->members[i].value, depth - 1);
    return finite;
}

mk_code mk_answer__read(mk_str text, mk_arena *arena, const mk_json **out, mk_str *why, mk_err *err)
{
    reading r = {.arena = arena, .fault = why};
    mk_json *tree = NULL;
    bool doubles;
    mk_code rc = MK_OK;
    *why = (mk_str){NULL, 0};
    *out = NULL;
    if (text.n > ANSWER_SIZE_MAX) {
        fault(&r, "an answer has at most %zu bytes", ANSWER_SIZE_MAX);
        goto done;
    }
    mk_err local = {0};
    rc = mk_json_parse(arena, text, NULL, &tree, &local);
    if (rc == MK_E_NOMEM)
        return mk_fail_nomem(err);
    if (rc != MK_OK) {
        fault(&r, "%s (byte %lld)", local.message, (long long)local.offset);
        goto done;
    }
    rc = mk_json__has_doubles(text, tree, arena, &doubles, err);
    if (rc != MK_OK)
        return rc;
    if (doubles)
        fault(&r, "an object names a member twice");
    else if (!normalise(tree, MK_CLAIM_DEPTH_MAX + 1))
        fault(&r, "a number is not finite");
    else if (read_answer(&r, tree))
        *out = tree;
done:
    return r.nomem ? mk_fail_nomem(err) : MK_OK;
}

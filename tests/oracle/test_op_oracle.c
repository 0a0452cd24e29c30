/* test_op_oracle.c — every operator agrees with its slow twin.
 *
 * Goal: payloads and error codes are those that follow from the definitions, on stores that nobody
 * designed. Method: random histories go into a store, whose rows are sealed, merged and reopened at random,
 * and into the slow model; random arguments go to the operator and to its oracle. On the way three laws are
 * checked for every operator: a result about a past belief is the same after later writes; the pages of a
 * list joined are the whole list; what is cut is said.
 * A failure prints MK_SEED=... and, with it set, only that history runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/oracles.h"
#include "../support/twin.h"
#include "base/canon.h"
#include "op/call.h"

enum {
    HISTORIES = 50,
    BATCHES = 24,
    CALLS = 11,  /* a history and operator, after the last batch */
    PINNED = 3,  /* the same, made half way and repeated at the end */
    ORACLES_MAX = 40
};

#define ORACLE_ADDRESS(name) &oracle_##name,
static const oracle *const oracles[] = {MK_ORACLES(ORACLE_ADDRESS) NULL};
#undef ORACLE_ADDRESS

typedef struct bench {
    twin twin;
    mk_arena arena; /* the calls' own */
    mk_arena scratch;
    mk_call_result result;
    mk_buf args;
    oracle_answer expected;
} bench;

static void bench_open(bench *b, uint64_t seed)
{
    genops_options options = genops_default;
    options.ingest_percent = seed % 3 == 0 ? 40 : 10;
    options.failing_percent = 2;
    options.uid_count = 4 + (int)(seed % 6);
    if (seed % 5 == 0)
        options.vt_max = 12;
    twin_open(&b->twin, seed, &options, seed % 2 ? 7 : 40);
    mk_arena_init(&b->arena, &mk_alloc_default);
    mk_arena_init(&b->scratch, &mk_alloc_default);
    mk_call_result_init(&b->result, &mk_alloc_default);
    mk_buf_init(&b->args, &mk_alloc_default);
    mk_buf_init(&b->expected.payload, &mk_alloc_default);
}

static void bench_close(bench *b)
{
    mk_buf_free(&b->expected.payload);
    mk_buf_free(&b->args);
    mk_call_result_free(&b->result);
    mk_arena_free(&b->scratch);
    mk_arena_free(&b->arena);
    twin_close(&b->twin);
}

static oracle_world world_of(bench *b, int64_t as_of)
{
    return (oracle_world){.gen = &b->twin.gen,
                          .m = b->twin.model,
                          .vt_min = b->twin.gen.options.vt_min,
                          .vt_max = b->twin.gen.options.vt_max,
                          .as_of = as_of};
}

static mk_code call(bench *b, const oracle *o, mk_str args, size_t row_budget, mk_err *err)
{
    const mk_call_options options = {.row_budget = row_budget};
    return mk_call_run(b->twin.store, NULL, mk_str_of(o->op), args, &options, &b->arena, &b->result,
                       err);
}

#define FAIL(b, o, ...)                                                                            \
    do {                                                                                           \
        print_error("MK_SEED=%llu %s %.*s\n", (unsigned long long)(b)->twin.seed, (o)->op,         \
                    (int)(b)->args.n, (b)->args.p);                                                \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static void make_args(bench *b, const oracle *o, int64_t as_of)
{
    const oracle_world world = world_of(b, as_of);
    mk_buf_clear(&b->args);
    o->args(&world, &b->args);
}

static const mk_json *parse(bench *b, const oracle *o, mk_str text)
{
    mk_json *tree = NULL;
    mk_err err;
    if (mk_json_parse(&b->scratch, text, NULL, &tree, &err) != MK_OK)
        FAIL(b, o, "not JSON: %s", err.message);
    return tree;
}

/* ---- the answer itself ---- */

static void check_answer(bench *b, const oracle *o, int64_t as_of)
{
    mk_err err;
    const oracle_world world = world_of(b, as_of);
    const mk_json *args = parse(b, o, mk_buf_view(&b->args));
    b->expected.code = MK_OK;
    b->expected.undecided = false;
    mk_buf_clear(&b->expected.payload);
    o->answer(&world, args, &b->scratch, &b->expected);
    const mk_code rc = call(b, o, mk_buf_view(&b->args), 0, &err);
    if (rc != b->expected.code)
        FAIL(b, o, "%s (%s), expected %s", mk_code_name(rc), rc != MK_OK ? err.message : "",
             mk_code_name(b->expected.code));
    if (rc == MK_OK && !b->expected.undecided &&
        !mk_str_eq(mk_buf_view(&b->result.payload.text), mk_buf_view(&b->expected.payload)))
        FAIL(b, o, "\ngot      %.*s\nexpected %.*s", (int)b->result.payload.text.n,
             b->result.payload.text.p, (int)b->expected.payload.n, b->expected.payload.p);
}

/* ---- what is cut is said ---- */

static void check_completeness(bench *b, const oracle *o)
{
    const mk_json *payload = parse(b, o, mk_buf_view(&b->result.payload.text));
    const mk_json *gaps = parse(b, o, mk_buf_view(&b->result.completeness));
    const mk_json *truncated = mk_json_get(payload, "truncated");
    const mk_json *rows = mk_json_get(payload, "rows");
    const mk_json *total = mk_json_get(payload, "rows_total");
    if (truncated == NULL || truncated->kind != MK_JSON_BOOL)
        FAIL(b, o, "no `truncated` in %.*s", (int)b->result.payload.text.n,
             b->result.payload.text.p);
    if (truncated->b && gaps->n == 0)
        FAIL(b, o, "truncated, and no reason given");
    if (rows != NULL && total != NULL && (int64_t)rows->n < total->i &&
        mk_json_get(gaps, "rows") == NULL)
        FAIL(b, o, "%zu of %lld rows, and no reason given", rows->n, (long long)total->i);
}

/* ---- the declared shape ---- */

static void check_members(bench *b, const oracle *o, const mk_json *object, const mk_field *fields);

static void check_value(bench *b, const oracle *o, const mk_json *value, const mk_field *field)
{
    const mk_json_kind kind = value->kind;
    if (kind == MK_JSON_NULL && field->nullable)
        return;
    bool fits = true;
    switch (field->type) {
    case MK_FIELD_INTEGER:
    case MK_FIELD_TIME: fits = kind == MK_JSON_INT; break;
    case MK_FIELD_FLOAT: fits = kind == MK_JSON_FLOAT; break;
    case MK_FIELD_NUMBER: fits = kind == MK_JSON_INT || kind == MK_JSON_FLOAT; break;
    case MK_FIELD_BOOLEAN: fits = kind == MK_JSON_BOOL; break;
    case MK_FIELD_STRING: fits = kind == MK_JSON_STRING; break;
    case MK_FIELD_LIST: fits = kind == MK_JSON_ARRAY; break;
    case MK_FIELD_OBJECT: fits = kind == MK_JSON_OBJECT; break;
    default: break;
    }
    if (!fits)
        FAIL(b, o, "`%s` is not of its declared type: %.*s", field->name,
             (int)b->result.payload.text.n, b->result.payload.text.p);
    if (field->type == MK_FIELD_LIST && field->item != NULL)
        for (size_t i = 0; i < value->n; i++)
            check_value(b, o, &value->items[i], field->item);
    if (field->type == MK_FIELD_OBJECT && field->members != NULL)
        check_members(b, o, value, field->members);
}

static void check_members(bench *b, const oracle *o, const mk_json *object, const mk_field *fields)
{
    size_t known = 0;
    for (const mk_field *field = fields; field->name != NULL; field++) {
        const mk_json *value = mk_json_get(object, field->name);
        if (value == NULL && !field->optional)
            FAIL(b, o, "`%s` is missing", field->name);
        if (value == NULL)
            continue;
        known++;
        check_value(b, o, value, field);
    }
    if (known != object->n)
        FAIL(b, o, "members beside the declared ones in %.*s", (int)b->result.payload.text.n,
             b->result.payload.text.p);
}

static void check_shape(bench *b, const oracle *o)
{
    const mk_operator *op = mk_operator_find(mk_str_of(o->op));
    check_members(b, o, parse(b, o, mk_buf_view(&b->result.payload.text)), op->fields);
}

/* ---- the pages joined are the whole ---- */

/* The arguments without limit and cursor, then with these (limit 0: none). */
static mk_str with_page(bench *b, const mk_json *args, int limit, mk_str cursor, mk_buf *out)
{
    bool first = true;
    mk_buf_clear(out);
    mk_buf_c(out, '{');
    for (size_t i = 0; i < args->n; i++) {
        const mk_str key = args->members[i].key;
        if (mk_str_eq(key, MK_STR("limit")) || mk_str_eq(key, MK_STR("cursor")))
            continue;
        if (!first)
            mk_buf_c(out, ',');
        first = false;
        mk_canon_string(out, key);
        mk_buf_c(out, ':');
        assert_int_equal(mk_canon_tree(out, &b->scratch, &args->members[i].value, NULL), MK_OK);
    }
    if (limit > 0)
        mk_buf_printf(out, "%s\"limit\":%d", first ? "" : ",", limit);
    if (cursor.n > 0) {
        mk_buf_z(out, ",\"cursor\":");
        mk_canon_string(out, cursor);
    }
    mk_buf_c(out, '}');
    return mk_buf_view(out);
}

static void append_rows(bench *b, const mk_json *rows, mk_buf *out)
{
    for (size_t i = 0; i < rows->n; i++) {
        assert_int_equal(mk_canon_tree(out, &b->scratch, &rows->items[i], NULL), MK_OK);
        mk_buf_c(out, '\n');
    }
}

static bool takes(const char *op, const char *name)
{
    for (const mk_arg *arg = mk_operator_find(mk_str_of(op))->args; arg->name != NULL; arg++)
        if (strcmp(arg->name, name) == 0)
            return true;
    return false;
}

static void check_pages(bench *b, const oracle *o)
{
    mk_err err;
    mk_buf text, whole, joined;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&whole, &mk_alloc_default);
    mk_buf_init(&joined, &mk_alloc_default);
    const mk_json *args = parse(b, o, mk_buf_view(&b->args));
    if (call(b, o, with_page(b, args, 0, MK_STR(""), &text), 1000000, &err) != MK_OK)
        FAIL(b, o, "whole: %s", err.message);
    const mk_json *payload = parse(b, o, mk_buf_view(&b->result.payload.text));
    if (takes(o->op, "limit") && mk_json_get(payload, "truncated")->b)
        FAIL(b, o, "the whole result says that it is truncated");
    const mk_json *rows = mk_json_get(payload, "rows");
    if (rows != NULL && takes(o->op, "cursor")) {
        const int limit = 1 + (int)genops_below(&b->twin.gen, 4);
        mk_str cursor = MK_STR("");
        append_rows(b, rows, &whole);
        for (size_t i = 0; i <= rows->n; i++) {
            if (call(b, o, with_page(b, args, limit, cursor, &text), 0, &err) != MK_OK)
                FAIL(b, o, "page at '%.*s': %s", MK_STR_ARG(cursor), err.message);
            const mk_json *page = parse(b, o, mk_buf_view(&b->result.payload.text));
            append_rows(b, mk_json_get(page, "rows"), &joined);
            const mk_json *next = mk_json_get(page, "cursor");
            if (next->kind == MK_JSON_NULL)
                break;
            cursor = next->text;
        }
        if (!mk_str_eq(mk_buf_view(&whole), mk_buf_view(&joined)))
            FAIL(b, o, "pages of %d joined:\n%.*s\nwhole:\n%.*s", limit, (int)joined.n, joined.p,
                 (int)whole.n, whole.p);
    }
    mk_buf_free(&joined);
    mk_buf_free(&whole);
    mk_buf_free(&text);
}

/* ---- what a refusal offers is let through ---- */

static void put_offer(bench *b, const mk_json *offer, mk_buf *out)
{
    const mk_json *value = mk_json_get(offer, "value");
    if (value != NULL) {
        assert_int_equal(mk_canon_tree(out, &b->scratch, value, NULL), MK_OK);
        return;
    }
    const int64_t most = mk_json_get(offer, "items_max")->i;
    mk_buf_c(out, '[');
    for (int64_t i = 0; i < most; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, model_entity(b->twin.model, 0));
    }
    mk_buf_c(out, ']');
}

/* The arguments with one of them as offered. */
static mk_str with_offer(bench *b, const mk_json *args, const mk_json *offer, mk_buf *out)
{
    const mk_str name = mk_json_get(offer, "arg")->text;
    mk_buf_clear(out);
    mk_buf_c(out, '{');
    for (size_t i = 0; i < args->n; i++) {
        if (mk_str_eq(args->members[i].key, name))
            continue;
        mk_canon_string(out, args->members[i].key);
        mk_buf_c(out, ':');
        assert_int_equal(mk_canon_tree(out, &b->scratch, &args->members[i].value, NULL), MK_OK);
        mk_buf_c(out, ',');
    }
    mk_canon_string(out, name);
    mk_buf_c(out, ':');
    put_offer(b, offer, out);
    mk_buf_c(out, '}');
    return mk_buf_view(out);
}

static void check_offers(bench *b, const oracle *o)
{
    mk_err err;
    mk_buf text;
    const mk_json *args = parse(b, o, mk_buf_view(&b->args));
    const mk_call_options options = {
        .explain_only = false,
        .ceilings = {.rows_scanned_est = 1 + (int64_t)genops_below(&b->twin.gen, 60),
                     .expansions_est = 1 + (int64_t)genops_below(&b->twin.gen, 60)}};
    if (mk_call_run(b->twin.store, NULL, mk_str_of(o->op), mk_buf_view(&b->args), &options,
                    &b->arena, &b->result, &err) != MK_E_COST ||
        strstr(err.extra, "\"counter_offers\"") == NULL)
        return;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_printf(&text, "{%s}", err.extra);
    const mk_json *offers = mk_json_get(parse(b, o, mk_buf_view(&text)), "counter_offers");
    for (size_t i = 0; i < offers->n; i++) {
        const mk_code rc = mk_call_run(b->twin.store, NULL, mk_str_of(o->op),
                                       with_offer(b, args, &offers->items[i], &text), &options,
                                       &b->arena, &b->result, &err);
        if (rc == MK_E_COST && strstr(err.extra, "\"counter_offers\"") != NULL)
            FAIL(b, o, "offered and then refused: %.*s", (int)text.n, text.p);
    }
    mk_buf_free(&text);
}

static void check_call(bench *b, const oracle *o, int64_t as_of)
{
    make_args(b, o, as_of);
    check_answer(b, o, as_of);
    if (b->expected.code == MK_OK) {
        check_shape(b, o);
        check_completeness(b, o);
        if (genops_chance(&b->twin.gen, 30))
            check_pages(b, o);
        check_offers(b, o);
    }
    mk_arena_reset(&b->scratch);
}

/* ---- a past belief never changes ---- */

typedef struct pinned {
    const oracle *o;
    mk_buf args;
    char digest[65];
    bool ok;
} pinned;

static void pin(bench *b, const oracle *o, pinned *p)
{
    mk_err err;
    const int64_t as_of = 1 + (int64_t)genops_below(&b->twin.gen, (uint64_t)b->twin.tt);
    make_args(b, o, as_of);
    mk_buf_init(&p->args, &mk_alloc_default);
    mk_buf_str(&p->args, mk_buf_view(&b->args));
    p->o = o;
    p->ok = call(b, o, mk_buf_view(&b->args), 0, &err) == MK_OK;
    memcpy(p->digest, b->result.digest, sizeof p->digest);
}

static void check_pinned(bench *b, pinned *p)
{
    mk_err err;
    mk_buf_clear(&b->args);
    mk_buf_str(&b->args, mk_buf_view(&p->args));
    if (p->ok && call(b, p->o, mk_buf_view(&p->args), 0, &err) != MK_OK)
        FAIL(b, p->o, "answered before, and now: %s", err.message);
    if (p->ok && strcmp(p->digest, b->result.digest) != 0)
        FAIL(b, p->o, "the past changed: %.*s", (int)b->result.payload.text.n,
             b->result.payload.text.p);
    mk_buf_free(&p->args);
}

/* ---- histories ---- */

static void write_batches(bench *b, int count)
{
    for (int i = 0; i < count; i++) {
        twin_step(&b->twin);
        if (genops_chance(&b->twin.gen, 20))
            twin_upset(&b->twin);
    }
    mk_err err;
    assert_int_equal(mk_store_replay_flush(b->twin.store, &err), MK_OK);
}

static bool wanted(const oracle *o)
{
    const char *only = getenv("MK_OP");
    return only == NULL || strcmp(only, o->op) == 0;
}

static void run_history(uint64_t seed)
{
    static pinned pins[ORACLES_MAX * PINNED];
    size_t pin_count = 0;
    bench b;
    bench_open(&b, seed);
    write_batches(&b, BATCHES / 2);
    for (size_t i = 0; oracles[i] != NULL; i++)
        for (int k = 0; k < PINNED && wanted(oracles[i]) && !oracles[i]->no_belief; k++)
            pin(&b, oracles[i], &pins[pin_count++]);
    write_batches(&b, BATCHES / 2);
    for (size_t i = 0; i < pin_count; i++)
        check_pinned(&b, &pins[i]);
    for (size_t i = 0; oracles[i] != NULL; i++)
        for (int k = 0; k < CALLS && wanted(oracles[i]); k++) {
            const bool past = !oracles[i]->no_belief && genops_chance(&b.twin.gen, 40);
            check_call(&b, oracles[i],
                       past ? 1 + (int64_t)genops_below(&b.twin.gen, (uint64_t)b.twin.tt)
                            : MK_OPEN_END);
        }
    bench_close(&b);
}

static void test_operators__agree_with_their_oracles(void **state)
{
    (void)state;
    const char *only = getenv("MK_SEED");
    const char *rounds = getenv("MK_ROUNDS");
    if (only != NULL) {
        run_history(strtoull(only, NULL, 10));
        return;
    }
    const uint64_t count = rounds != NULL ? strtoull(rounds, NULL, 10) : HISTORIES;
    for (uint64_t seed = 1; seed <= count; seed++)
        run_history(seed);
}

static void test_operators__each_has_an_oracle(void **state)
{
    (void)state;
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (oracles[k] != NULL && strcmp(oracles[k]->op, ops[i]->name) != 0)
            k++;
        if (oracles[k] == NULL)
            fail_msg("%s has no oracle", ops[i]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators__each_has_an_oracle),
        cmocka_unit_test(test_operators__agree_with_their_oracles),
    };
    return cmocka_run_group_tests_name("op_oracle", tests, NULL, NULL);
}

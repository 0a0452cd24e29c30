/* test_offer.c — a refused call is told what would be let through, and it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/offer.h"
#include "op/schema.h"

/* Costs one row a unit of the window covered, times 10 a hop, less for a short filter. */
static void dummy_cost(const mk_cost_input *in, mk_cost *out)
{
    const mk_json *filter = mk_json_get(in->args, "node_filter");
    out->rows_scanned_est = mk_cost_scan(in);
    if (filter != NULL && filter->kind == MK_JSON_ARRAY && filter->n > 0 &&
        (int64_t)filter->n < out->rows_scanned_est)
        out->rows_scanned_est = (int64_t)filter->n;
    out->expansions_est = out->rows_scanned_est * mk_json_get(in->args, "hops")->i;
}

static const mk_arg dummy_args[] = {
    MK_ARG_WINDOW,
    {.name = "hops", .type = MK_ARG_INTEGER, .min = 1, .max = 9, .default_json = "3"},
    {.name = "node_filter", .type = MK_ARG_LIST, .nullable = true, .max = 50, .item = &mk_arg_uid,
     .default_json = "null"},
    {.name = "k", .type = MK_ARG_INTEGER, .min = 1, .max = 9, .default_json = "3"},
    {0},
};
static const mk_field dummy_fields[] = {{0}};
static const mk_operator dummy = {
    .name = "dummy", .args = dummy_args, .fields = dummy_fields, .cost = dummy_cost};

static void assert_offers(const char *args_text, mk_ceilings ceilings, const char *expected)
{
    mk_arena arena;
    mk_buf out;
    mk_json *args;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(args_text), NULL, &args, NULL), MK_OK);
    assert_int_equal(mk_args_check(&dummy, &arena, args, NULL), MK_OK);
    const mk_cost_input in = {
        .args = args,
        .stats = {.edge_versions = 1000, .has_extent = true, .vt_min = 0, .vt_max = 1000},
        .scale = 1.0};
    assert_int_equal(mk_offers_json(&dummy, &in, &ceilings, &arena, &out, NULL), MK_OK);
    mk_buf_c(&out, '\0');
    assert_string_equal(out.p, expected);
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void test_offer__each_lever_is_pulled_as_little_as_possible(void **state)
{
    (void)state;
    assert_offers("{\"window\":{\"t_a\":0,\"t_b\":1000}}",
                  (mk_ceilings){.rows_scanned_est = 5000, .expansions_est = 2000, .time_est_ms = 9},
                  "[{\"arg\":\"window\",\"value\":{\"t_a\":0,\"t_b\":666}},{\"arg\":\"hops\",\"value\":2},"
                  "{\"arg\":\"node_filter\",\"items_max\":50}]");
    assert_offers("{\"node_filter\":[\"a\",\"b\",\"c\",\"d\"],\"window\":{\"t_a\":100,\"t_b\":900}}",
                  (mk_ceilings){.rows_scanned_est = 3, .expansions_est = 99, .time_est_ms = 9},
                  "[{\"arg\":\"window\",\"value\":{\"t_a\":100,\"t_b\":103}},"
                  "{\"arg\":\"node_filter\",\"items_max\":3}]");
}

static void test_offer__what_cannot_help_is_not_offered(void **state)
{
    (void)state;
    assert_offers("{\"hops\":9,\"window\":{\"t_a\":0,\"t_b\":1000}}",
                  (mk_ceilings){.rows_scanned_est = 5000, .expansions_est = 9, .time_est_ms = 9},
                  "[{\"arg\":\"window\",\"value\":{\"t_a\":0,\"t_b\":1}},"
                  "{\"arg\":\"node_filter\",\"items_max\":1}]");
    assert_offers("{\"node_filter\":[\"a\",\"b\"],\"hops\":2,\"window\":{\"t_a\":0,\"t_b\":1}}",
                  (mk_ceilings){.rows_scanned_est = 9, .expansions_est = 0, .time_est_ms = 9},
                  "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offer__each_lever_is_pulled_as_little_as_possible),
        cmocka_unit_test(test_offer__what_cannot_help_is_not_offered),
    };
    return cmocka_run_group_tests_name("offer", tests, NULL, NULL);
}

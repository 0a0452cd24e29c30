/* test_claim_fields.c — the claim folder's lists of fields for identifiers and times against the results
 * that the operators declare, which that folder must not know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "claim/claim_internal.h"
#include "op/registry.h"

/* Where people's own values stand; nothing below is typed. */
static bool is_stored(const char *name)
{
    return strcmp(name, "props") == 0 || strcmp(name, "from") == 0 || strcmp(name, "to") == 0 ||
           strcmp(name, "prop_coercion") == 0;
}

static void check_field(const char *op, const mk_field *field, const char *name, int depth);

static void check_table(const char *op, const mk_field *fields, int depth)
{
    for (const mk_field *f = fields; f != NULL && f->name != NULL && depth > 0; f++)
        check_field(op, f, f->name, depth);
}

/* `name` is that of the member, also for the items of a list. */
static void check_field(const char *op, const mk_field *field, const char *name, int depth)
{
    const mk_role role = mk_claim__role(mk_str_of(name));
    if (is_stored(name))
        return;
    if (field->type == MK_FIELD_LIST || field->type == MK_FIELD_OBJECT) {
        if (!mk_claim__enters(mk_str_of(name)))
            fail_msg("%s: claims do not look into %s", op, name);
        if (field->type == MK_FIELD_LIST && field->item != NULL)
            check_field(op, field->item, name, depth - 1);
        check_table(op, field->members, depth - 1);
    } else if ((role == MK_ROLE_TIME) != (field->type == MK_FIELD_TIME)) {
        /* Columns of other kinds may be nullable times of another name, never the other way round. */
        fail_msg("%s: %s is %s time", op, name, field->type == MK_FIELD_TIME ? "declared a" : "declared no");
    } else if (role == MK_ROLE_ID && field->type != MK_FIELD_STRING) {
        fail_msg("%s: %s is no text and cannot be an identifier", op, name);
    }
}

static void test_claim_fields__are_those_of_the_operators(void **state)
{
    (void)state;
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ops[i]->name, "compute") == 0)
            continue; /* its columns have names of the plan's choosing */
        check_table(ops[i]->name, ops[i]->fields, 8);
    }
}

/* The identifiers of the graph, by name, so that a new operator cannot bring in another unnoticed. */
static void test_claim_fields__identifiers_are_listed(void **state)
{
    (void)state;
    static const char *const ids[] = {"uid", "src", "dst", "eid", "vid", "neighbors_gained", "neighbors_lost",
                                      "nodes_added", "nodes_removed"};
    static const char *const others[] = {"label", "name", "source", "provenance_ref", "rel_type", "kind",
                                         "disc",
                                         "cursor", "src_label", "dst_label", "args_echo", "op",
                                             "result_digest"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(mk_claim__role(mk_str_of(ids[i])), MK_ROLE_ID);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(mk_claim__role(mk_str_of(others[i])), MK_ROLE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim_fields__are_those_of_the_operators),
        cmocka_unit_test(test_claim_fields__identifiers_are_listed),
    };
    return cmocka_run_group_tests_name("claim_fields", tests, NULL, NULL);
}

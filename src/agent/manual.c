/* manual.c — see manual.h. Layer: agent. */
#include "agent/manual.h"

#include "op/schema.h"

/* Arguments that mean the same everywhere are explained once, before the operators. */
static bool is_common(const mk_arg *arg)
{
    static const char *const names[] = {"as_of_tt", "limit", "cursor", "rel_types"};
    if (arg->type == MK_ARG_OBJECT && arg->members == mk_arg_window)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(arg->name, names[i]) == 0)
            return true;
    return false;
}

static const char common[] =
    "Arguments named without more mean the same everywhere: window {\"t_a\":T,\"t_b\":T}, required where "
    "it is\n"
    "named; as_of_tt, a time of belief; limit (1 to 10000) and cursor, a page; rel_types, a list of "
    "relation\n"
    "types. A time T is an integer of microseconds.\n\n";

static void put_expects(mk_buf *out, const mk_arg *arg)
{
    char expects[300];
    if (arg->type == MK_ARG_TIMESTAMP) {
        mk_buf_z(out, "a time");
        return;
    }
    mk_op__expects(expects, sizeof expects, arg);
    mk_buf_z(out, expects);
}

static void put_arg(mk_buf *out, const mk_arg *arg)
{
    mk_buf_printf(out, "- %s%s: ", arg->name, arg->required ? " (required)" : "");
    put_expects(out, arg);
    if (arg->default_json != NULL && strcmp(arg->default_json, "null") != 0)
        mk_buf_printf(out, "; default %s", arg->default_json);
    mk_buf_c(out, '\n');
    const mk_arg *members = arg->type == MK_ARG_LIST && arg->item != NULL ? arg->item->members : arg->members;
    for (; members != NULL && members->name != NULL; members++) {
        mk_buf_printf(out, "  - %s%s: ", members->name, members->required ? " (required)" : "");
        put_expects(out, members);
        mk_buf_c(out, '\n');
    }
}

static void put_args(mk_buf *out, const mk_operator *op)
{
    const char *before = "- ";
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++)
        if (!is_common(arg))
            put_arg(out, arg);
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++) {
        if (!is_common(arg))
            continue;
        mk_buf_printf(out, "%s%s", before, arg->name);
        before = ", ";
    }
    if (before[0] == ',')
        mk_buf_c(out, '\n');
}

void mk_manual_fields(mk_buf *out, const mk_field *fields)
{
    for (const mk_field *f = fields; f->name != NULL; f++) {
        if (f != fields)
            mk_buf_z(out, ", ");
        mk_buf_z(out, f->name);
        const mk_field *inner = f->type == MK_FIELD_LIST && f->item != NULL ? f->item : f;
        if (f->type == MK_FIELD_LIST)
            mk_buf_z(out, "[]");
        if (inner->members != NULL) {
            mk_buf_z(out, " {");
            mk_manual_fields(out, inner->members);
            mk_buf_c(out, '}');
        }
    }
}

static bool same_fields(const mk_field *a, const mk_field *b)
{
    size_t i = 0;
    while (a[i].name != NULL && b[i].name != NULL && strcmp(a[i].name, b[i].name) == 0)
        i++;
    return a[i].name == NULL && b[i].name == NULL;
}

/* What each choice of the deciding argument returns; choices whose results have the same members share
 * a line. */
static void put_variants(mk_buf *out, const mk_operator *op)
{
    for (const mk_variant *v = op->variants; v->choice != NULL; v++) {
        const mk_variant *first = op->variants;
        while (!same_fields(first->fields, v->fields))
            first++;
        if (first != v)
            continue;
        mk_buf_printf(out, "Returns for %s", op->variant_arg);
        for (const mk_variant *same = v; same->choice != NULL; same++)
            if (same_fields(same->fields, v->fields))
                mk_buf_printf(out, " %s%s", same->choice, same->grouped ? " with group_by" : "");
        mk_buf_z(out, ": ");
        for (const mk_field *f = v->fields; f->name != NULL; f++)
            mk_buf_printf(out, "%s%s", f != v->fields ? ", " : "", f->name);
        mk_buf_c(out, '\n');
    }
}

static void put_operator(mk_buf *out, const mk_operator *op)
{
    mk_buf_printf(out, "## %s\n%s.\n", op->name, op->summary);
    if (op->help != NULL)
        mk_buf_printf(out, "%s\n", op->help);
    put_args(out, op);
    if (op->variants != NULL) {
        put_variants(out, op);
    } else {
        mk_buf_z(out, "Returns ");
        mk_manual_fields(out, op->fields);
        mk_buf_c(out, '\n');
    }
    mk_buf_printf(out, "Example: %s\n\n", op->example);
}

void mk_manual_put(mk_buf *out)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    mk_buf_z(out, common);
    for (size_t i = 0; i < count; i++)
        put_operator(out, ops[i]);
}

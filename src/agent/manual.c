/* manual.c — see manual.h. Layer: agent. */
#include "agent/manual.h"

#include "op/schema.h"

static void put_arg(mk_buf *out, const mk_arg *arg)
{
    char expects[300];
    mk_op__expects(expects, sizeof expects, arg);
    mk_buf_printf(out, "- %s%s: %s%s", arg->name, arg->required ? " (required)" : "", expects,
                  arg->nullable ? ", or null" : "");
    if (arg->default_json != NULL && strcmp(arg->default_json, "null") != 0)
        mk_buf_printf(out, "; default %s", arg->default_json);
    mk_buf_c(out, '\n');
    /* What the members of objects are is said once, where they are objects of a list or differ. */
    const mk_arg *members = arg->type == MK_ARG_LIST && arg->item != NULL ? arg->item->members : arg->members;
    for (; members != NULL && members->name != NULL; members++) {
        mk_op__expects(expects, sizeof expects, members);
        mk_buf_printf(out, "  - %s%s: %s\n", members->name, members->required ? " (required)" : "", expects);
    }
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

/* What each choice of the deciding argument returns; choices with equal results share a line. */
static void put_variants(mk_buf *out, const mk_operator *op)
{
    for (const mk_variant *v = op->variants; v->choice != NULL; v++) {
        const mk_variant *first = op->variants;
        while (first->fields != v->fields)
            first++;
        if (first != v)
            continue;
        mk_buf_printf(out, "Returns for %s", op->variant_arg);
        for (const mk_variant *same = v; same->choice != NULL; same++)
            if (same->fields == v->fields)
                mk_buf_printf(out, " %s%s", same->choice, same->grouped ? " with group_by" : "");
        mk_buf_z(out, ": ");
        mk_manual_fields(out, v->fields);
        mk_buf_c(out, '\n');
    }
}

static void put_operator(mk_buf *out, const mk_operator *op)
{
    mk_buf_printf(out, "## %s\n%s.\n", op->name, op->summary);
    if (op->help != NULL)
        mk_buf_printf(out, "%s\n", op->help);
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++)
        put_arg(out, arg);
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
    for (size_t i = 0; i < count; i++)
        put_operator(out, ops[i]);
}

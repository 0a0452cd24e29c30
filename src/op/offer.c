/* offer.c — what a refused call could ask instead. See offer.h. Layer: op.
 *
 * Estimates grow with the end of a window, with a number of hops, with a waiting time and with the
 * length of a filter, and do not move with anything else; an argument whose smallest value is not let
 * through is no lever, so nothing has to be said about which arguments matter to which operator. */
#include "op/offer.h"

typedef struct offering {
    const mk_operator *op;
    mk_cost_input in;      /* its args are `args` */
    const mk_ceilings *ceilings;
    mk_json args;          /* a copy whose members may be put aside one at a time */
    mk_json *value;        /* the member being tried */
    mk_buf *out;
    bool first;
} offering;

/* ---- one value of one argument ---- */

static bool admitted(offering *o, const mk_json *value)
{
    const mk_json before = *o->value;
    mk_cost cost = {0};
    *o->value = *value;
    o->op->cost(&o->in, &cost);
    *o->value = before;
    return mk_cost_within(&cost, o->ceilings);
}

typedef bool try_fn(offering *o, int64_t number);

/* The largest number in [lo, hi) that is let through, by bisection; false when not even lo is. */
static bool largest(offering *o, try_fn *passes, int64_t lo, int64_t hi, int64_t *found)
{
    if (lo >= hi || !passes(o, lo))
        return false;
    while (hi - lo > 1) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (passes(o, middle))
            lo = middle;
        else
            hi = middle;
    }
    *found = lo;
    return true;
}

static void open_offer(offering *o, const char *name)
{
    mk_buf_z(o->out, o->first ? "{\"arg\":" : ",{\"arg\":");
    o->first = false;
    mk_canon_string(o->out, mk_str_of(name));
}

/* ---- windows ---- */

static bool passes_end(offering *o, int64_t t_b)
{
    mk_member members[2] = {o->value->members[0], o->value->members[1]};
    mk_json window = *o->value;
    window.members = members;
    for (int i = 0; i < 2; i++)
        if (mk_str_eq(members[i].key, MK_STR("t_b")))
            members[i].value.i = t_b;
    return admitted(o, &window);
}

static void offer_window(offering *o, const char *name)
{
    const int64_t t_a = mk_json_get(o->value, "t_a")->i, t_b = mk_json_get(o->value, "t_b")->i;
    int64_t end;
    if (!largest(o, passes_end, t_a + 1, t_b, &end))
        return;
    open_offer(o, name);
    mk_buf_printf(o->out, ",\"value\":{\"t_a\":%lld,\"t_b\":%lld}}", (long long)t_a, (long long)end);
}

/* ---- integers ---- */

static bool passes_integer(offering *o, int64_t number)
{
    const mk_json value = {.kind = MK_JSON_INT, .i = number};
    return admitted(o, &value);
}

static void offer_integer(offering *o, const mk_arg *arg)
{
    int64_t number;
    const int64_t now = o->value->b ? INT64_MAX : o->value->i; /* beyond int64: read as the nearest */
    if (!largest(o, passes_integer, arg->min, now, &number))
        return;
    open_offer(o, arg->name);
    mk_buf_printf(o->out, ",\"value\":%lld}", (long long)number);
}

/* ---- lists that restrict ---- */

/* Estimators look at the length of a filter and at nothing in it. */
static bool passes_length(offering *o, int64_t length)
{
    mk_json value = *o->value;
    value.kind = MK_JSON_ARRAY;
    value.n = (size_t)length;
    if (o->value->kind != MK_JSON_ARRAY)
        value.items = NULL;
    return admitted(o, &value);
}

static void offer_length(offering *o, const mk_arg *arg)
{
    int64_t length;
    const bool given = o->value->kind == MK_JSON_ARRAY && o->value->n > 0;
    const int64_t end = given ? (int64_t)o->value->n : arg->max < 10000 ? arg->max + 1 : 10001;
    if (!largest(o, passes_length, 1, end, &length))
        return;
    open_offer(o, arg->name);
    mk_buf_printf(o->out, ",\"items_max\":%lld}", (long long)length);
}

/* ---- all of them ---- */

static void offer_one(offering *o, const mk_arg *arg)
{
    o->value = (mk_json *)mk_json_get(&o->args, arg->name); /* of our own copy */
    if (o->value == NULL)
        return;
    if (arg->type == MK_ARG_OBJECT && arg->members == mk_arg_window &&
        o->value->kind == MK_JSON_OBJECT)
        offer_window(o, arg->name);
    else if (arg->type == MK_ARG_INTEGER && o->value->kind == MK_JSON_INT)
        offer_integer(o, arg);
    else if (arg->type == MK_ARG_LIST && arg->nullable)
        offer_length(o, arg);
}

mk_code mk_offers_json(const mk_operator *op, const mk_cost_input *in, const mk_ceilings *ceilings,
                       mk_arena *arena, mk_buf *out, mk_err *err)
{
    offering o = {.op = op, .in = *in, .ceilings = ceilings, .args = *in->args, .out = out,
                  .first = true};
    size_t size;
    if (!mk_size_mul(o.args.n, sizeof *o.args.members, &size) ||
        (o.args.members = mk_arena_get(arena, size)) == NULL)
        return mk_fail_nomem(err);
    memcpy(o.args.members, in->args->members, size);
    o.in.args = &o.args;
    mk_buf_c(out, '[');
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++)
        offer_one(&o, arg);
    mk_buf_c(out, ']');
    return mk_buf_done(out, err);
}

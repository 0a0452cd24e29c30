/* schema_gbnf.c — the grammar of chains of steps. See schema_gbnf.h. Layer: agent.
 *
 * A state is what a step leaves behind: an operator's result, the rows that were filtered or ranked, a
 * number. It knows the paths that lead into it, each with its type. For every place in the chain and
 * every state there is a rule for what may follow: the end, with an answer taken from this state, or a
 * step that reads it. */
#include "agent/schema_gbnf.h"

#include <stdio.h>

#include "agent/gbnf_internal.h"

#define PATHS_MAX 48
#define STATES_MAX 64
#define ROWS_MAX 24
#define PATH_TEXT_MAX 64

typedef enum path_type {
    PATH_COUNT,    /* an integer that is no time */
    PATH_NUMBER,
    PATH_TIME,
    PATH_TEXT,
    PATH_UID,      /* one identifier */
    PATH_UIDS,     /* a list of identifiers */
    PATH_ROWS,     /* a list of objects */
    PATH_LIST,     /* a list of objects whose members the arguments decide */
    PATH_INTERVAL, /* an object with t_a and t_b */
} path_type;

typedef struct path {
    char text[PATH_TEXT_MAX];
    path_type type;
    const mk_field *row; /* ROWS: what the objects are */
} path;

typedef struct state {
    const mk_operator *op; /* NULL: of compute */
    const mk_arg *switched; /* the flag that is on in this state; NULL: none */
    const mk_field *row;    /* of compute: rows of this kind were filtered or ranked */
    path paths[PATHS_MAX];
    size_t path_count;
} state;

typedef struct grammar {
    mk_buf *out;
    state states[STATES_MAX];
    size_t count;
    const mk_field *rows[ROWS_MAX]; /* the kinds of rows that there are */
    size_t row_count;
    size_t counted, computed; /* states of a count and of another number */
} grammar;

/* ---- paths ---- */

static bool is_identifier(const char *name)
{
    return strcmp(name, "uid") == 0 || strcmp(name, "src") == 0 || strcmp(name, "dst") == 0;
}

static void add_path(state *s, path_type type, const mk_field *row, const char *a, const char *b,
                     const char *c)
{
    if (s->path_count == PATHS_MAX)
        return; /* the language gets smaller, nothing else */
    path *p = &s->paths[s->path_count++];
    snprintf(p->text, sizeof p->text, "%s%s%s", a, b, c);
    p->type = type;
    p->row = row;
}

static bool type_of_scalar(const mk_field *field, path_type *type)
{
    switch (field->type) {
    case MK_FIELD_INTEGER:
        *type = PATH_COUNT;
        return true;
    case MK_FIELD_FLOAT:
    case MK_FIELD_NUMBER:
        *type = PATH_NUMBER;
        return true;
    case MK_FIELD_TIME:
        *type = PATH_TIME;
        return true;
    case MK_FIELD_STRING:
        *type = is_identifier(field->name) ? PATH_UID : PATH_TEXT;
        return true;
    default:
        return false;
    }
}

static bool has_member(const mk_field *row, const char *name)
{
    for (const mk_field *m = row->members; m != NULL && m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return true;
    return false;
}

static void add_row_kind(grammar *g, const mk_field *row)
{
    for (size_t i = 0; i < g->row_count; i++)
        if (g->rows[i] == row)
            return;
    if (g->row_count < ROWS_MAX)
        g->rows[g->row_count++] = row;
}

/* The list itself, its first row, and members of the first and of all. */
static void add_list(state *s, const char *name, const mk_field *item)
{
    path_type type;
    if (item->type == MK_FIELD_STRING) {
        add_path(s, PATH_UIDS, NULL, name, "", "");
        return;
    }
    if (item->type == MK_FIELD_OBJECT && item->members == NULL)
        add_path(s, PATH_LIST, NULL, name, "", "");
    if (item->type != MK_FIELD_OBJECT || item->members == NULL)
        return;
    add_path(s, PATH_ROWS, item, name, "", "");
    if (has_member(item, "t_a") && has_member(item, "t_b"))
        add_path(s, PATH_INTERVAL, NULL, name, "[0]", "");
    for (const mk_field *m = item->members; m->name != NULL; m++) {
        if (m->nullable || m->optional || !type_of_scalar(m, &type))
            continue;
        add_path(s, type, NULL, name, "[0].", m->name);
        if (type == PATH_UID)
            add_path(s, PATH_UIDS, NULL, name, "[*].", m->name);
    }
}

/* Whether a field that may be absent is there. */
static bool is_there(const state *s, const mk_field *field)
{
    return !field->optional || (s->switched != NULL && field->when != NULL &&
                                strcmp(field->when, s->switched->name) == 0);
}

static void add_fields(grammar *g, state *s, const mk_field *fields)
{
    path_type type;
    for (const mk_field *f = fields; f->name != NULL; f++) {
        if (f->nullable || !is_there(s, f))
            continue;
        if (type_of_scalar(f, &type))
            add_path(s, type, NULL, f->name, "", "");
        else if (f->type == MK_FIELD_LIST && f->item != NULL) {
            add_list(s, f->name, f->item);
            if (f->item->type == MK_FIELD_OBJECT && f->item->members != NULL)
                add_row_kind(g, f->item);
        }
    }
}

/* ---- states ---- */

static state *new_state(grammar *g)
{
    if (g->count == STATES_MAX)
        return NULL;
    g->states[g->count] = (state){0};
    return &g->states[g->count++];
}

static void add_operator(grammar *g, const mk_operator *op, const mk_arg *switched)
{
    state *s = new_state(g);
    if (s == NULL)
        return;
    s->op = op;
    s->switched = switched;
    add_fields(g, s, op->fields);
}

/* A flag that some field waits for. */
static bool brings_fields(const mk_operator *op, const mk_arg *flag)
{
    for (const mk_field *f = op->fields; f->name != NULL; f++)
        if (f->optional && f->when != NULL && strcmp(f->when, flag->name) == 0)
            return true;
    return false;
}

/* compute has variants instead: what it returns is in the states of rows and numbers. */
static void add_states(grammar *g)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->variants != NULL)
            continue;
        add_operator(g, ops[i], NULL);
        for (const mk_arg *arg = ops[i]->args; arg->name != NULL; arg++)
            if (arg->type == MK_ARG_BOOLEAN && brings_fields(ops[i], arg))
                add_operator(g, ops[i], arg);
    }
    for (size_t i = 0; i < g->row_count; i++) {
        state *s = new_state(g);
        if (s == NULL)
            break;
        s->row = g->rows[i];
        add_list(s, "rows", g->rows[i]);
        add_path(s, PATH_COUNT, NULL, "rows_total", "", "");
    }
    for (int i = 0; i < 2; i++) {
        state *s = new_state(g);
        if (s == NULL)
            break;
        *(i == 0 ? &g->counted : &g->computed) = g->count - 1;
        add_path(s, i == 0 ? PATH_COUNT : PATH_NUMBER, NULL, "value", "", "");
    }
}

static size_t state_of_rows(const grammar *g, const mk_field *row)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->states[i].op == NULL && g->states[i].row == row)
            return i;
    return g->count;
}

static bool has_type(const state *s, path_type type)
{
    for (size_t i = 0; i < s->path_count; i++)
        if (s->paths[i].type == type)
            return true;
    return false;
}

/* ---- references ---- */

/* Which paths may stand in for an argument; false: none may. */
static bool fits(const mk_arg *arg, path_type *type)
{
    if (arg->type == MK_ARG_STRING && is_identifier(arg->name))
        *type = PATH_UID;
    else if (arg->type == MK_ARG_LIST && arg->item != NULL && arg->item->type == MK_ARG_STRING &&
             (strcmp(arg->name, "seeds") == 0 || strcmp(arg->name, "node_filter") == 0 ||
              strcmp(arg->name, "uids") == 0))
        *type = PATH_UIDS;
    else if (arg->type == MK_ARG_TIMESTAMP && strcmp(arg->name, "as_of_tt") != 0)
        *type = PATH_TIME;
    else
        return false;
    return true;
}

static const char *const type_names[] = {
    [PATH_TIME] = "time", [PATH_UID] = "uid", [PATH_UIDS] = "uids"};

/* `ref-2-7-uid ::= "{\"$ref\":\"s2." ("rows[0].uid" | ...) "\"}"` for each type that an argument takes. */
static void put_ref_rules(grammar *g, size_t step, size_t n)
{
    static const path_type types[] = {PATH_TIME, PATH_UID, PATH_UIDS};
    const state *s = &g->states[n];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        bool first = true;
        if (!has_type(s, types[t]))
            continue;
        mk_buf_printf(g->out, "ref-%zu-%zu-%s ::= \"{\\\"$ref\\\":\\\"s%zu.\" (", step, n,
                      type_names[types[t]],
                      step);
        for (size_t i = 0; i < s->path_count; i++) {
            if (s->paths[i].type != types[t])
                continue;
            mk_buf_z(g->out, first ? "" : " | ");
            mk_gbnf__quote(g->out, s->paths[i].text);
            first = false;
        }
        mk_buf_z(g->out, ") \"\\\"}\"\n");
    }
}

/* ---- arguments ---- */

/* Whether an argument, or a member of one that is an object, takes references to identifiers or times. Times
 * inside of objects are left out: a window is what the question says. */
static bool takes_refs(const mk_arg *arg)
{
    path_type type;
    if (fits(arg, &type))
        return true;
    for (const mk_arg *m = arg->type == MK_ARG_OBJECT ? arg->members : NULL; m != NULL && m->name != NULL;
         m++)
        if (fits(m, &type) && type != PATH_TIME)
            return true;
    return false;
}

/* `value-7-2`: the literal values of argument 2 of state 7's operator. */
static void put_value_rules(grammar *g, size_t n)
{
    const mk_arg *args = g->states[n].op->args;
    for (size_t i = 0; args[i].name != NULL; i++) {
        mk_buf_printf(g->out, "value-%zu-%zu ::= ", n, i);
        mk_gbnf__value(g->out, &args[i]);
        mk_buf_c(g->out, '\n');
    }
}

/* The arguments that no reference can stand in for and nobody must give, once for each operator. */
static void put_optional_rule(grammar *g, size_t n)
{
    const state *s = &g->states[n];
    mk_buf_printf(g->out, "optional-%zu ::=", n);
    for (size_t i = 0; s->op->args[i].name != NULL; i++) {
        const mk_arg *arg = &s->op->args[i];
        if (arg->required || takes_refs(arg))
            continue;
        mk_buf_z(g->out, s->switched == arg ? " \",\" " : " (\",\" ");
        mk_gbnf__key(g->out, arg->name);
        if (s->switched == arg)
            mk_buf_z(g->out, "\"true\"");
        else
            mk_buf_printf(g->out, "value-%zu-%zu)?", n, i);
    }
    mk_buf_z(g->out, " \"}\"\n");
}

/* Whether state `from` has what an argument, or a member of it, may refer to. */
static bool can_refer(const grammar *g, const mk_arg *arg, size_t from)
{
    path_type type;
    if (from == SIZE_MAX)
        return false;
    if (fits(arg, &type))
        return has_type(&g->states[from], type);
    for (const mk_arg *m = arg->type == MK_ARG_OBJECT ? arg->members : NULL; m != NULL && m->name != NULL;
         m++)
        if (fits(m, &type) && type != PATH_TIME && has_type(&g->states[from], type))
            return true;
    return false;
}

/* One member of an object: `"name":` and a reference, or a literal value. */
static void put_member(grammar *g, const mk_arg *member, size_t step, size_t from)
{
    path_type type;
    mk_gbnf__key(g->out, member->name);
    const bool refers = fits(member, &type) && type != PATH_TIME && has_type(&g->states[from], type);
    if (refers)
        mk_buf_printf(g->out, "(ref-%zu-%zu-%s | ", step, from, type_names[type]);
    mk_gbnf__value(g->out, member);
    if (refers)
        mk_buf_c(g->out, ')');
}

/* An object with at least one member; which ones are optional is as in mk_gbnf__value. */
static void put_open_object(grammar *g, const mk_arg *arg, size_t step, size_t from)
{
    bool first = true;
    mk_buf_z(g->out, "\"{\" ");
    for (int pass = 0; pass < 2; pass++) {
        for (const mk_arg *m = arg->members; m->name != NULL; m++) {
            if (m->required != (pass == 0) || (pass == 1 && first))
                continue;
            mk_buf_z(g->out, pass ? "(\",\" " : first ? "" : "\",\" ");
            put_member(g, m, step, from);
            mk_buf_z(g->out, pass ? ")? " : " ");
            first = first && pass == 1;
        }
    }
    for (const mk_arg *m = arg->members; first && m->name != NULL; m++) {
        mk_buf_z(g->out, m == arg->members ? "(" : " | ");
        put_member(g, m, step, from);
    }
    mk_buf_z(g->out, first ? ") \"}\"" : "\"}\"");
}

/* A literal value, or a reference into state `from` of the step before (SIZE_MAX: none). */
static void put_hole(grammar *g, size_t n, size_t i, size_t step, size_t from)
{
    const mk_arg *arg = &g->states[n].op->args[i];
    path_type type;
    if (!can_refer(g, arg, from)) {
        mk_buf_printf(g->out, "value-%zu-%zu", n, i);
    } else if (fits(arg, &type)) {
        mk_buf_printf(g->out, "(ref-%zu-%zu-%s | value-%zu-%zu)", step, from, type_names[type], n, i);
    } else {
        mk_buf_c(g->out, '(');
        put_open_object(g, arg, step, from);
        mk_buf_printf(g->out, " | value-%zu-%zu)", n, i);
    }
}

static void put_args(grammar *g, size_t n, size_t step, size_t from)
{
    const mk_arg *args = g->states[n].op->args;
    bool first = true;
    for (size_t i = 0; args[i].name != NULL; i++) {
        if (!args[i].required)
            continue;
        mk_buf_z(g->out, first ? "\"{\" " : " \",\" ");
        mk_gbnf__key(g->out, args[i].name);
        put_hole(g, n, i, step, from);
        first = false;
    }
    for (size_t i = 0; args[i].name != NULL; i++) {
        if (args[i].required || !takes_refs(&args[i]))
            continue;
        mk_buf_z(g->out, " (\",\" ");
        mk_gbnf__key(g->out, args[i].name);
        put_hole(g, n, i, step, from);
        mk_buf_z(g->out, ")?");
    }
    mk_buf_printf(g->out, " optional-%zu", n);
}

/* ---- steps ----
 * What steps have in common at their beginning is written once, so that a server that walks all
 * alternatives at once has few to walk. */

/* Ends a step and goes on in state `next`. `reads`: it depends on the step before. */
static void close_step(grammar *g, size_t step, bool reads, size_t next)
{
    if (reads)
        mk_buf_printf(g->out, " \",\\\"depends_on\\\":[\\\"s%zu\\\"]}\" after-%zu-%zu", step - 1, step, next);
    else
        mk_buf_printf(g->out, " \",\\\"depends_on\\\":[]}\" after-%zu-%zu", step, next);
}

static void put_operator_name(grammar *g, const char *name, const char *before)
{
    mk_buf_printf(g->out, "%s\"%s\\\",\\\"args\\\":\" ", before, name);
}

/* `fresh-2`: from the name of an operator on, steps that read nothing. */
static void put_fresh_rule(grammar *g, size_t step)
{
    const char *before = "";
    mk_buf_printf(g->out, "fresh-%zu ::= ", step);
    for (size_t n = 0; n < g->count; n++) {
        if (g->states[n].op == NULL)
            continue;
        put_operator_name(g, g->states[n].op->name, before);
        mk_buf_printf(g->out, "args-%zu", n);
        close_step(g, step, false, n);
        before = " | ";
    }
    mk_buf_c(g->out, '\n');
}

/* Whether some argument of the operator of state n can be a reference into state `from`. */
static bool can_read(const grammar *g, size_t n, size_t from)
{
    for (const mk_arg *arg = g->states[n].op->args; arg->name != NULL; arg++)
        if (can_refer(g, arg, from))
            return true;
    return false;
}

/* ---- compute ---- */

/* Whether rows can be computed with by this member: any scalar, or only a number or a time. */
static bool is_usable(const mk_field *member, bool numeric)
{
    path_type type;
    return !member->optional && !member->nullable && type_of_scalar(member, &type) &&
           !(numeric && (type == PATH_TEXT || type == PATH_UID));
}

static bool has_members(const mk_field *row, bool numeric)
{
    for (const mk_field *m = row->members; m->name != NULL; m++)
        if (is_usable(m, numeric))
            return true;
    return false;
}

/* `numeric-3` and `member-3`: names of members of the rows of kind 3, as JSON strings. */
static void put_member_rules(grammar *g, size_t kind)
{
    for (int numeric = 0; numeric < 2; numeric++) {
        const char *before = "";
        if (!has_members(g->rows[kind], numeric))
            continue;
        mk_buf_printf(g->out, "%s-%zu ::= ", numeric ? "numeric" : "member", kind);
        for (const mk_field *m = g->rows[kind]->members; m->name != NULL; m++) {
            if (!is_usable(m, numeric))
                continue;
            mk_buf_printf(g->out, "%s\"\\\"%s\\\"\"", before, m->name);
            before = " | ";
        }
        mk_buf_c(g->out, '\n');
    }
}

static size_t kind_of_row(const grammar *g, const mk_field *row)
{
    size_t kind = 0;
    while (kind < g->row_count && g->rows[kind] != row)
        kind++;
    return kind;
}

/* `fn","input":{"$ref":"s1.` and the paths of these types, as alternatives, up to the end of the step. */
static void put_reduction(grammar *g, size_t step, size_t from, const char *fns, const char *arg,
                          unsigned types, const char *rest, size_t next)
{
    const state *s = &g->states[from];
    const char *before = "";
    for (size_t i = 0; i < s->path_count; i++) {
        if ((types >> s->paths[i].type & 1) == 0)
            continue;
        if (before[0] == '\0')
            mk_buf_printf(g->out, " | %s \"\\\",\\\"%s\\\":{\\\"$ref\\\":\\\"s%zu.\" (", fns, arg, step - 1);
        mk_buf_z(g->out, before);
        mk_gbnf__quote(g->out, s->paths[i].text);
        before = " | ";
    }
    if (before[0] == '\0')
        return;
    mk_buf_printf(g->out, ") \"\\\"}\" %s", rest);
    close_step(g, step, true, next);
}

/* Functions over the rows at one path that name a member of them. */
static void put_row_functions(grammar *g, size_t step, const path *p)
{
    static const struct {
        const char *fns;
        bool numeric, keeps; /* keeps: the result is rows again */
        const char *rest;
    } list[] = {{"(\"sum\" | \"min\" | \"max\" | \"mean\" | \"median\")", true, false, "\"}\""},
                {"\"topk\"", true, true, "ranking"},
                {"\"filter\"", false, true, "condition"}};
    const size_t kind = kind_of_row(g, p->row);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const size_t next = list[i].keeps ? state_of_rows(g, p->row) : g->computed;
        if (kind == g->row_count || next == g->count || !has_members(p->row, list[i].numeric))
            continue;
        mk_buf_printf(g->out,
                      " | %s \"\\\",\\\"input\\\":{\\\"$ref\\\":\\\"s%zu.%s\\\"},\\\"field\\\":\" %s-%zu %s",
                      list[i].fns, step - 1, p->text, list[i].numeric ? "numeric"
                          : "member", kind, list[i].rest);
        close_step(g, step, true, next);
    }
}

/* Every function that has something to read in state `from`; the first alternative has none before it. */
static void put_compute(grammar *g, size_t step, size_t from)
{
    const state *s = &g->states[from];
    const unsigned lists = 1u << PATH_ROWS | 1u << PATH_LIST | 1u << PATH_UIDS;
    const unsigned numbers = 1u << PATH_COUNT | 1u << PATH_NUMBER;
    const size_t start = g->out->n;
    put_reduction(g, step, from, "\"count\"", "input", lists, "\"}\"", g->counted);
    for (size_t i = 0; i < s->path_count; i++)
        if (s->paths[i].type == PATH_ROWS)
            put_row_functions(g, step, &s->paths[i]);
    put_reduction(g, step, from, "(\"diff\" | \"ratio\" | \"percent\")", "x", numbers,
                  "\",\\\"y\\\":\" number \"}\"", g->computed);
    if (g->out->n > start && !g->out->failed)
        memcpy(g->out->p + start, "  ", 2); /* the bar before the first */
}

/* `next-1-7`: what step 2 may be when step 1 left state 7, from the name of its operator on. */
static void put_next_rule(grammar *g, size_t step, size_t from)
{
    mk_buf_printf(g->out, "next-%zu-%zu ::= fresh-%zu", step, from, step + 1);
    for (size_t n = 0; n < g->count; n++) {
        if (g->states[n].op == NULL || !can_read(g, n, from))
            continue;
        put_operator_name(g, g->states[n].op->name, " | ");
        put_args(g, n, step, from);
        close_step(g, step + 1, true, n);
    }
    const size_t before = g->out->n;
    mk_buf_z(g->out, " | \"compute\\\",\\\"args\\\":{\\\"fn\\\":\\\"\" (");
    const size_t start = g->out->n;
    put_compute(g, step + 1, from);
    if (g->out->n > start)
        mk_buf_c(g->out, ')');
    else
        g->out->n = before; /* there is nothing to compute with */
    mk_buf_c(g->out, '\n');
}

/* ---- answers ---- */

/* The kinds of answer that a value of some type can be. */
static const char *kinds_of(const path *p)
{
    switch (p->type) {
    case PATH_COUNT:
        return "(\"count\" | \"value\")";
    case PATH_UIDS:
        return "\"entity_set\"";
    case PATH_LIST:
        return "\"series\"";
    case PATH_ROWS:
        return has_member(p->row, "edges") ? "\"paths\""
               : has_member(p->row, "uid") || has_member(p->row, "src") ? "(\"entity_set\" | \"series\")"
                                                                        : "\"series\"";
    case PATH_INTERVAL:
        return "\"interval\"";
    default:
        return "\"value\"";
    }
}

static void put_after_rule(grammar *g, size_t step, size_t n)
{
    const state *s = &g->states[n];
    mk_buf_printf(g->out, "after-%zu-%zu ::= \"],\\\"answer_spec\\\":{\\\"kind\\\":\\\"\" (", step, n);
    for (size_t i = 0; i < s->path_count; i++)
        mk_buf_printf(g->out, "%s%s \"\\\",\\\"from\\\":\\\"s%zu.%s\"", i ? " | " : "",
                      kinds_of(&s->paths[i]), step,
                      s->paths[i].text);
    mk_buf_z(g->out, ") \"\\\"}}\"");
    if (step < MK_GRAMMAR_STEPS)
        mk_buf_printf(g->out, " | \",{\\\"id\\\":\\\"s%zu\\\",\\\"op\\\":\\\"\" next-%zu-%zu", step + 1,
                      step, n);
    mk_buf_c(g->out, '\n');
}

/* ---- the whole ---- */

static void put_shared_rules(grammar *g)
{
    mk_buf_z(g->out, "root ::= \"{\\\"plan_id\\\":\" plan-name (\",\\\"question\\\":\" string)? "
                     "\",\\\"steps\\\":[{\\\"id\\\":\\\"s1\\\",\\\"op\\\":\\\"\" fresh-1\n");
    /* bounded: a small model that may write any text there writes nothing else */
    mk_buf_z(g->out, "plan-name ::= \"\\\"\" [-A-Za-z0-9_.:]{1,64} \"\\\"\"\n");
    mk_gbnf__terms(g->out);
    mk_buf_z(g->out, "limit ::= (\",\\\"limit\\\":\" ");
    mk_gbnf__range(g->out, 1, 10000);
    mk_buf_z(g->out, ")? \"}\"\nranking ::= \",\\\"k\\\":\" ");
    mk_gbnf__range(g->out, 1, 1000);
    mk_buf_z(g->out, " (\",\\\"side\\\":\" (\"\\\"top\\\"\" | \"\\\"bottom\\\"\"))? limit\n"
                     "condition ::= \",\\\"cmp\\\":\" (\"\\\"eq\\\"\" | \"\\\"ne\\\"\" | \"\\\"lt\\\"\" "
                     "| \"\\\"le\\\"\" | "
                     "\"\\\"gt\\\"\" | \"\\\"ge\\\"\") \",\\\"value\\\":\" scalar limit\n");
    for (size_t kind = 0; kind < g->row_count; kind++)
        put_member_rules(g, kind);
    for (size_t n = 0; n < g->count; n++) {
        if (g->states[n].op == NULL)
            continue;
        put_value_rules(g, n);
        put_optional_rule(g, n);
        mk_buf_printf(g->out, "args-%zu ::= ", n);
        put_args(g, n, 0, SIZE_MAX);
        mk_buf_c(g->out, '\n');
    }
}

mk_code mk_plan_grammar(mk_buf *out, mk_err *err)
{
    grammar *g = mk_new0(out->alloc, sizeof *g);
    if (g == NULL)
        return mk_fail_nomem(err);
    g->out = out;
    add_states(g);
    put_shared_rules(g);
    for (size_t step = 1; step <= MK_GRAMMAR_STEPS; step++) {
        put_fresh_rule(g, step);
        for (size_t n = 0; n < g->count; n++) {
            if (step == 1 && g->states[n].op == NULL)
                continue; /* compute reads something, so it does not come first */
            put_after_rule(g, step, n);
            if (step < MK_GRAMMAR_STEPS) {
                put_ref_rules(g, step, n);
                put_next_rule(g, step, n);
            }
        }
    }
    mk_free(out->alloc, g, sizeof *g);
    return mk_buf_done(out, err);
}

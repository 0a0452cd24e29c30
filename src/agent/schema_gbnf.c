/* schema_gbnf.c — the grammar of chains of steps. See schema_gbnf.h. Layer: agent.
 *
 * A state is what a step leaves behind: an operator's result, the rows that were filtered or ranked, a number.
 * It knows the paths that lead into it, each with its type. For every place in the chain and every state there
 * is a rule for what may follow: the end, with an answer taken from this state, or a step that reads it. */
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

static void add_path(state *s, path_type type, const mk_field *row, const char *a, const char *b, const char *c)
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

/* Whether a field that may be absent is there: include_edges brings edges and edges_truncated. */
static bool is_there(const state *s, const mk_field *field)
{
    if (!field->optional)
        return true;
    return s->switched != NULL &&
           strncmp(field->name, s->switched->name + 8, strlen(s->switched->name + 8)) == 0;
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
            if (arg->type == MK_ARG_BOOLEAN && strncmp(arg->name, "include_", 8) == 0)
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
             (strcmp(arg->name, "seeds") == 0 || strcmp(arg->name, "node_filter") == 0))
        *type = PATH_UIDS;
    else if (arg->type == MK_ARG_TIMESTAMP && strcmp(arg->name, "as_of_tt") != 0)
        *type = PATH_TIME;
    else
        return false;
    return true;
}

static const char *const type_names[] = {"count", "number", "time", "text", "uid", "uids", "rows", "interval"};

/* `ref-2-7-uid ::= "{\"$ref\":\"s2." ("rows[0].uid" | ...) "\"}"` for each type that an argument takes. */
static void put_ref_rules(grammar *g, size_t step, size_t n)
{
    static const path_type types[] = {PATH_TIME, PATH_UID, PATH_UIDS};
    const state *s = &g->states[n];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        bool first = true;
        if (!has_type(s, types[t]))
            continue;
        mk_buf_printf(g->out, "ref-%zu-%zu-%s ::= \"{\\\"$ref\\\":\\\"s%zu.\" (", step, n, type_names[types[t]],
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

static void put_ref(mk_buf *out, size_t step, const char *text)
{
    mk_buf_printf(out, "\"{\\\"$ref\\\":\\\"s%zu.%s\\\"}\"", step, text);
}

/* ---- arguments ---- */

/* The arguments that no reference can stand in for and nobody must give, once for each operator. */
static void put_optional_rule(grammar *g, size_t n)
{
    const state *s = &g->states[n];
    path_type type;
    mk_buf_printf(g->out, "optional-%zu ::=", n);
    for (const mk_arg *arg = s->op->args; arg->name != NULL; arg++) {
        if (arg->required || fits(arg, &type))
            continue;
        if (s->switched == arg) {
            mk_buf_z(g->out, " \",\" ");
            mk_gbnf__key(g->out, arg->name);
            mk_buf_z(g->out, "\"true\"");
            continue;
        }
        mk_buf_z(g->out, " (\",\" ");
        mk_gbnf__key(g->out, arg->name);
        mk_gbnf__value(g->out, arg);
        mk_buf_z(g->out, ")?");
    }
    mk_buf_z(g->out, " \"}\"\n");
}

/* A value, or a reference into state `from` of the step before (SIZE_MAX: none). */
static void put_hole(grammar *g, const mk_arg *arg, size_t step, size_t from)
{
    path_type type;
    const bool open = from != SIZE_MAX && fits(arg, &type) && has_type(&g->states[from], type);
    if (open)
        mk_buf_printf(g->out, "(ref-%zu-%zu-%s | ", step, from, type_names[type]);
    mk_gbnf__value(g->out, arg);
    if (open)
        mk_buf_c(g->out, ')');
}

static void put_args(grammar *g, size_t n, size_t step, size_t from)
{
    const mk_operator *op = g->states[n].op;
    path_type type;
    bool first = true;
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++) {
        if (!arg->required)
            continue;
        mk_buf_z(g->out, first ? "\"{\" " : " \",\" ");
        mk_gbnf__key(g->out, arg->name);
        put_hole(g, arg, step, from);
        first = false;
    }
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++) {
        if (arg->required || !fits(arg, &type))
            continue;
        mk_buf_z(g->out, " (\",\" ");
        mk_gbnf__key(g->out, arg->name);
        put_hole(g, arg, step, from);
        mk_buf_z(g->out, ")?");
    }
    mk_buf_printf(g->out, " optional-%zu", n);
}

/* ---- steps ---- */

static void open_step(grammar *g, size_t step, const char *op)
{
    mk_buf_printf(g->out, "\"{\\\"id\\\":\\\"s%zu\\\",\\\"op\\\":\\\"%s\\\",\\\"args\\\":\" ", step, op);
}

/* Ends a step and goes on in state `next`. `reads`: it depends on the step before. */
static void close_step(grammar *g, size_t step, bool reads, size_t next)
{
    if (reads)
        mk_buf_printf(g->out, " \",\\\"depends_on\\\":[\\\"s%zu\\\"]}\" after-%zu-%zu", step - 1, step, next);
    else
        mk_buf_printf(g->out, " \",\\\"depends_on\\\":[]}\" after-%zu-%zu", step, next);
}

/* `step-2-7 ::= ...`: operators that read nothing. */
static void put_fresh_rule(grammar *g, size_t step)
{
    bool first = true;
    mk_buf_printf(g->out, "fresh-%zu ::= ", step);
    for (size_t n = 0; n < g->count; n++) {
        if (g->states[n].op == NULL)
            continue;
        mk_buf_z(g->out, first ? "" : " | ");
        open_step(g, step, g->states[n].op->name);
        mk_buf_printf(g->out, "args-%zu", n);
        close_step(g, step, false, n);
        first = false;
    }
    mk_buf_c(g->out, '\n');
}

/* Whether some argument of the operator of state n can be a reference into state `from`. */
static bool can_read(const grammar *g, size_t n, size_t from)
{
    path_type type;
    for (const mk_arg *arg = g->states[n].op->args; arg->name != NULL; arg++)
        if (fits(arg, &type) && has_type(&g->states[from], type))
            return true;
    return false;
}

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

/* Their names as JSON strings. */
static void put_member_names(mk_buf *out, const mk_field *row, bool numeric)
{
    const char *before = "(";
    for (const mk_field *m = row->members; m->name != NULL; m++) {
        if (!is_usable(m, numeric))
            continue;
        mk_buf_printf(out, "%s\"\\\"%s\\\"\"", before, m->name);
        before = " | ";
    }
    mk_buf_c(out, ')');
}

static void open_compute(grammar *g, size_t step, const char *fns)
{
    mk_buf_z(g->out, " | ");
    open_step(g, step, "compute");
    mk_buf_printf(g->out, "\"{\\\"fn\\\":\" %s ", fns);
}

/* What compute can do with a list at `p`. */
static void put_list_steps(grammar *g, size_t step, const path *p)
{
    open_compute(g, step, "\"\\\"count\\\"\" \",\\\"input\\\":\"");
    put_ref(g->out, step - 1, p->text);
    mk_buf_z(g->out, " \"}\"");
    close_step(g, step, true, g->counted);
    const size_t next = p->type == PATH_ROWS ? state_of_rows(g, p->row) : g->count;
    if (next == g->count)
        return;
    if (has_members(p->row, true)) {
        open_compute(g, step, "(\"\\\"sum\\\"\" | \"\\\"min\\\"\" | \"\\\"max\\\"\" | \"\\\"mean\\\"\" | "
                              "\"\\\"median\\\"\") \",\\\"input\\\":\"");
        put_ref(g->out, step - 1, p->text);
        mk_buf_z(g->out, " \",\\\"field\\\":\" ");
        put_member_names(g->out, p->row, true);
        mk_buf_z(g->out, " \"}\"");
        close_step(g, step, true, g->computed);
        open_compute(g, step, "\"\\\"topk\\\"\" \",\\\"input\\\":\"");
        put_ref(g->out, step - 1, p->text);
        mk_buf_z(g->out, " \",\\\"field\\\":\" ");
        put_member_names(g->out, p->row, true);
        mk_buf_z(g->out, " ranking");
        close_step(g, step, true, next);
    }
    if (has_members(p->row, false)) {
        open_compute(g, step, "\"\\\"filter\\\"\" \",\\\"input\\\":\"");
        put_ref(g->out, step - 1, p->text);
        mk_buf_z(g->out, " \",\\\"field\\\":\" ");
        put_member_names(g->out, p->row, false);
        mk_buf_z(g->out, " condition");
        close_step(g, step, true, next);
    }
}

/* A number compared with one that the plan gives. */
static void put_number_steps(grammar *g, size_t step, const path *p)
{
    open_compute(g, step, "(\"\\\"diff\\\"\" | \"\\\"ratio\\\"\" | \"\\\"percent\\\"\") \",\\\"x\\\":\"");
    put_ref(g->out, step - 1, p->text);
    mk_buf_z(g->out, " \",\\\"y\\\":\" number \"}\"");
    close_step(g, step, true, g->computed);
}

/* `next-1-7`: what step 2 may be when step 1 left state 7. */
static void put_next_rule(grammar *g, size_t step, size_t from)
{
    const state *s = &g->states[from];
    mk_buf_printf(g->out, "next-%zu-%zu ::= fresh-%zu", step, from, step + 1);
    for (size_t n = 0; n < g->count; n++) {
        if (g->states[n].op == NULL || !can_read(g, n, from))
            continue;
        mk_buf_z(g->out, " | ");
        open_step(g, step + 1, g->states[n].op->name);
        put_args(g, n, step, from);
        close_step(g, step + 1, true, n);
    }
    for (size_t i = 0; i < s->path_count; i++) {
        if (s->paths[i].type == PATH_ROWS || s->paths[i].type == PATH_UIDS)
            put_list_steps(g, step + 1, &s->paths[i]);
        else if (s->paths[i].type == PATH_COUNT || s->paths[i].type == PATH_NUMBER)
            put_number_steps(g, step + 1, &s->paths[i]);
    }
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
        mk_buf_printf(g->out, "%s%s \"\\\",\\\"from\\\":\\\"s%zu.%s\"", i ? " | " : "", kinds_of(&s->paths[i]), step,
                      s->paths[i].text);
    mk_buf_z(g->out, ") \"\\\"}}\"");
    if (step < MK_GRAMMAR_STEPS)
        mk_buf_printf(g->out, " | \",\" next-%zu-%zu", step, n);
    mk_buf_c(g->out, '\n');
}

/* ---- the whole ---- */

static void put_shared_rules(grammar *g)
{
    mk_buf_z(g->out, "root ::= \"{\\\"plan_id\\\":\" text (\",\\\"question\\\":\" string)? \",\\\"steps\\\":[\" fresh-1\n");
    mk_gbnf__terms(g->out);
    mk_buf_z(g->out, "limit ::= (\",\\\"limit\\\":\" ");
    mk_gbnf__range(g->out, 1, 10000);
    mk_buf_z(g->out, ")? \"}\"\nranking ::= \",\\\"k\\\":\" ");
    mk_gbnf__range(g->out, 1, 1000);
    mk_buf_z(g->out, " (\",\\\"side\\\":\" (\"\\\"top\\\"\" | \"\\\"bottom\\\"\"))? limit\n"
                     "condition ::= \",\\\"cmp\\\":\" (\"\\\"eq\\\"\" | \"\\\"ne\\\"\" | \"\\\"lt\\\"\" | \"\\\"le\\\"\" | "
                     "\"\\\"gt\\\"\" | \"\\\"ge\\\"\") \",\\\"value\\\":\" scalar limit\n");
    for (size_t n = 0; n < g->count; n++) {
        if (g->states[n].op == NULL)
            continue;
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

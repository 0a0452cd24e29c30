/* gbnf.c — see gbnf.h. A rule is a tree of nodes; sampling walks it with random choices, matching walks
 * it with the rest of the work as a continuation. */
#include "gbnf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

typedef enum node_kind { LITERAL, CLASS, SEQUENCE, CHOICE, REPEAT, RULE } node_kind;

typedef struct node node;
struct node {
    node_kind kind;
    mk_str text;      /* LITERAL */
    bool negated;     /* CLASS */
    uint8_t set[32];  /* CLASS: bits of the bytes below 128 */
    node **parts;     /* SEQUENCE, CHOICE; REPEAT: one */
    size_t count, cap;
    size_t least, most; /* REPEAT */
    uint32_t rule;      /* RULE */
};

struct gbnf {
    mk_arena *arena;
    mk_intern names;
    node **rules;
    size_t cap;
};

typedef struct parser {
    gbnf *g;
    const char *p, *end;
} parser;

static void die(const parser *p, const char *what)
{
    fprintf(stderr, "gbnf: %s at: %.*s\n", what, (int)(p->end - p->p > 60 ? 60 : p->end - p->p), p->p);
    exit(1);
}

/* ---- reading ---- */

static node *new_node(gbnf *g, node_kind kind)
{
    node *n = mk_arena_get0(g->arena, sizeof *n);
    n->kind = kind;
    return n;
}

static void add_part(gbnf *g, node *n, node *part)
{
    if (n->count == n->cap) {
        node **more = mk_arena_get(g->arena, (n->cap * 2 + 4) * sizeof *more);
        if (n->count != 0)
            memcpy(more, n->parts, n->count * sizeof *more);
        n->parts = more;
        n->cap = n->cap * 2 + 4;
    }
    n->parts[n->count++] = part;
}

static uint32_t rule_code(gbnf *g, mk_str name)
{
    uint32_t code;
    if (mk_intern_add(&g->names, name, &code, NULL) != MK_OK)
        exit(1);
    while (g->cap <= code) {
        node **more = mk_arena_get0(g->arena, (g->cap * 2 + 64) * sizeof *more);
        if (g->cap != 0)
            memcpy(more, g->rules, g->cap * sizeof *more);
        g->rules = more;
        g->cap = g->cap * 2 + 64;
    }
    return code;
}

static void skip(parser *p)
{
    while (p->p < p->end && *p->p == ' ')
        p->p++;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static mk_str take_name(parser *p)
{
    const char *start = p->p;
    while (p->p < p->end && is_name(*p->p))
        p->p++;
    if (p->p == start)
        die(p, "a name was expected");
    return (mk_str){start, (size_t)(p->p - start)};
}

static char take_char(parser *p)
{
    char hex[3] = "";
    if (p->p >= p->end)
        die(p, "a character was expected");
    if (*p->p != '\\')
        return *p->p++;
    p->p++;
    const char c = *p->p++;
    switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'x':
        memcpy(hex, p->p, 2);
        p->p += 2;
        return (char)strtol(hex, NULL, 16);
    default:
        if (c != '\\' && c != '"' && c != '[' && c != ']')
            die(p, "an escape that is none");
        return c;
    }
}

static node *take_literal(parser *p)
{
    node *n = new_node(p->g, LITERAL);
    char text[1024];
    size_t size = 0;
    for (p->p++; p->p < p->end && *p->p != '"';) {
        if (size == sizeof text)
            die(p, "a literal is too long");
        text[size++] = take_char(p);
    }
    if (p->p >= p->end)
        die(p, "a literal does not end");
    p->p++;
    n->text = mk_arena_copy(p->g->arena, (mk_str){text, size});
    return n;
}

static node *take_class(parser *p)
{
    node *n = new_node(p->g, CLASS);
    p->p++;
    n->negated = *p->p == '^';
    p->p += n->negated;
    while (p->p < p->end && *p->p != ']') {
        const unsigned char from = (unsigned char)take_char(p);
        unsigned char to = from;
        if (*p->p == '-') {
            p->p++;
            to = (unsigned char)take_char(p);
        }
        if (from > to || to > 127)
            die(p, "a range that is none");
        for (unsigned c = from; c <= to; c++)
            n->set[c / 8] |= (uint8_t)(1u << c % 8);
    }
    p->p++;
    return n;
}

static node *take_choice(parser *p);

static node *repeat(parser *p, node *what, size_t least, size_t most)
{
    node *n = new_node(p->g, REPEAT);
    add_part(p->g, n, what);
    n->least = least;
    n->most = most;
    return n;
}

static size_t take_number(parser *p)
{
    char *end;
    const size_t n = strtoul(p->p, &end, 10);
    if (end == p->p)
        die(p, "a number was expected");
    p->p = end;
    return n;
}

static node *take_repeat(parser *p, node *what)
{
    size_t least, most;
    switch (*p->p) {
    case '?': p->p++; return repeat(p, what, 0, 1);
    case '*': p->p++; return repeat(p, what, 0, SIZE_MAX);
    case '+': p->p++; return repeat(p, what, 1, SIZE_MAX);
    case '{':
        p->p++;
        least = most = take_number(p);
        if (*p->p == ',') {
            p->p++;
            most = *p->p == '}' ? SIZE_MAX : take_number(p);
        }
        if (*p->p++ != '}' || most < least)
            die(p, "a repetition that is none");
        return repeat(p, what, least, most);
    default: return what;
    }
}

static node *take_sequence(parser *p)
{
    node *n = new_node(p->g, SEQUENCE), *part;
    for (;;) {
        skip(p);
        if (p->p >= p->end || *p->p == '\n' || *p->p == '|' || *p->p == ')')
            return n;
        if (*p->p == '"') {
            part = take_literal(p);
        } else if (*p->p == '[') {
            part = take_class(p);
        } else if (*p->p == '(') {
            p->p++;
            part = take_choice(p);
            if (p->p >= p->end || *p->p++ != ')')
                die(p, "a group does not end");
        } else {
            part = new_node(p->g, RULE);
            part->rule = rule_code(p->g, take_name(p));
        }
        add_part(p->g, n, p->p < p->end ? take_repeat(p, part) : part);
    }
}

static node *take_choice(parser *p)
{
    node *n = new_node(p->g, CHOICE);
    add_part(p->g, n, take_sequence(p));
    while (p->p < p->end && *p->p == '|') {
        p->p++;
        add_part(p->g, n, take_sequence(p));
    }
    return n;
}

gbnf *gbnf_read(mk_str text, mk_arena *arena)
{
    gbnf *g = mk_arena_get0(arena, sizeof *g);
    parser p = {g, text.p, text.p + text.n};
    g->arena = arena;
    mk_intern_init(&g->names, &mk_alloc_default, 1);
    (void)rule_code(g, MK_STR("root"));
    while (p.p < p.end) {
        const uint32_t code = rule_code(g, take_name(&p));
        skip(&p);
        if (p.end - p.p < 3 || memcmp(p.p, "::=", 3) != 0 || g->rules[code] != NULL)
            die(&p, "a rule was expected, each once");
        p.p += 3;
        node *body = take_choice(&p);
        g->rules[code] = body;
        if (p.p < p.end && *p.p != '\n')
            die(&p, "the end of a rule was expected");
        p.p++;
    }
    for (size_t i = 0; i < g->names.count; i++) {
        if (g->rules[i] == NULL) {
            fprintf(stderr, "gbnf: there is no rule %.*s\n", MK_STR_ARG(g->names.strings[i]));
            exit(1);
        }
    }
    g->cap = g->names.count;
    mk_intern_free(&g->names);
    return g;
}

size_t gbnf_rule_count(const gbnf *grammar) { return grammar->cap; }

/* ---- sampling ---- */

static uint64_t random_below(uint64_t *seed, uint64_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % n;
}

static bool in_set(const node *n, unsigned char c)
{
    return ((n->set[c / 8] >> c % 8) & 1) != 0;
}

static void sample_class(const node *n, uint64_t *seed, mk_buf *out)
{
    static const char *const wide[] = {"\xc3\xa9", "\xe5\x8c\x97", "\xf0\x9f\x98\x80", "\xe2\x80\xae"};
    if (n->negated && random_below(seed, 8) == 0) {
        mk_buf_z(out, wide[random_below(seed, 4)]);
        return;
    }
    for (;;) {
        const unsigned char c = (unsigned char)random_below(seed, 128);
        if (in_set(n, c) != n->negated) {
            mk_buf_c(out, (char)c);
            return;
        }
    }
}

static void sample(const gbnf *g, const node *n, uint64_t *seed, mk_buf *out)
{
    size_t times;
    switch (n->kind) {
    case LITERAL:
        mk_buf_str(out, n->text);
        return;
    case CLASS:
        sample_class(n, seed, out);
        return;
    case SEQUENCE:
        for (size_t i = 0; i < n->count; i++)
            sample(g, n->parts[i], seed, out);
        return;
    case CHOICE:
        sample(g, n->parts[random_below(seed, n->count)], seed, out);
        return;
    case REPEAT:
        times = n->most == n->least ? n->least : n->least + random_below(seed, n->most - n->least < 3
                                                                         ? n->most - n->least + 1 : 4);
        for (size_t i = 0; i < times; i++)
            sample(g, n->parts[0], seed, out);
        return;
    case RULE:
        sample(g, g->rules[n->rule], seed, out);
        return;
    }
}

void gbnf_sample(const gbnf *grammar, uint64_t *seed, mk_buf *out)
{
    sample(grammar, grammar->rules[0], seed, out);
}

/* ---- matching ---- */

typedef struct task task;
struct task {
    const node *node;
    size_t part;      /* SEQUENCE: the next part; REPEAT: how often already */
    const task *next;
};

typedef struct matcher {
    const gbnf *g;
    mk_str text;
    size_t reached;
} matcher;

static bool match(matcher *m, const node *n, size_t part, size_t at, const task *rest);

static bool go_on(matcher *m, size_t at, const task *rest)
{
    m->reached = at > m->reached ? at : m->reached;
    return rest != NULL ? match(m, rest->node, rest->part, at, rest->next) : at == m->text.n;
}

static size_t char_size(const node *n, mk_str text, size_t at)
{
    if (at >= text.n)
        return 0;
    const unsigned char c = (unsigned char)text.p[at];
    if (c < 128)
        return in_set(n, c) != n->negated;
    return !n->negated ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

static bool match(matcher *m, const node *n, size_t part, size_t at, const task *rest)
{
    const task again = {n, part + 1, rest};
    size_t size;
    switch (n->kind) {
    case LITERAL:
        return m->text.n - at >= n->text.n && memcmp(m->text.p + at, n->text.p, n->text.n) == 0 &&
               go_on(m, at + n->text.n, rest);
    case CLASS:
        size = char_size(n, m->text, at);
        return size != 0 && go_on(m, at + size, rest);
    case SEQUENCE:
        return part == n->count ? go_on(m, at, rest) : match(m, n->parts[part], 0, at, &again);
    case CHOICE:
        for (size_t i = 0; i < n->count; i++)
            if (match(m, n->parts[i], 0, at, rest))
                return true;
        return false;
    case REPEAT:
        if (part < n->most && match(m, n->parts[0], 0, at, &again))
            return true;
        return part >= n->least && go_on(m, at, rest);
    case RULE:
        return match(m, m->g->rules[n->rule], 0, at, rest);
    }
    return false;
}

bool gbnf_matches(const gbnf *grammar, mk_str text, size_t *reached)
{
    matcher m = {.g = grammar, .text = text};
    const bool matches = match(&m, grammar->rules[0], 0, 0, NULL);
    if (reached != NULL)
        *reached = m.reached;
    return matches;
}

/* csv_map.c — the column mapping of tables.
 *
 *   src=from,dst=to,vt_s=start,vt_e=end,rel_type='KNOWS',props=amount:int,note
 *   uid=id,label=kind,vt_s=since,props=*
 *
 * Items are separated by commas. ROLE=COLUMN names a column, ROLE='TEXT' a constant (rel_type, label
 * and disc only); items behind `props=` without an equals sign are further properties, COLUMN or
 * COLUMN:TYPE; `*` is every column that has no role. Columns are called as in the header, or by number
 * from 1 when there is none; a name with commas or equals signs goes in double quotes. */
#include "load/csv_map_internal.h"

typedef struct mapper {
    mk_load *load;
    csv_table *table;
    csv_map *map;
    size_t prop_cap;
    bool *used; /* by column: has a role */
} mapper;

static const struct role {
    const char *name;
    size_t offset; /* of its csv_source in csv_map */
    bool constant; /* may be 'TEXT' */
    const char *usual; /* header names tried without a mapping */
} roles[] = {
    {"src", offsetof(csv_map, src), false, "src source from subject sender"},
    {"dst", offsetof(csv_map, dst), false, "dst target to object receiver"},
    {"rel_type", offsetof(csv_map, rel_type), true, "rel_type relation predicate rel type kind"},
    {"vt_s", offsetof(csv_map, vt_s), false, "vt_s start time timestamp date since valid_from"},
    {"vt_e", offsetof(csv_map, vt_e), false, "vt_e end until valid_to"},
    {"disc", offsetof(csv_map, disc), true, "disc"},
    {"uid", offsetof(csv_map, uid), false, "uid id"},
    {"label", offsetof(csv_map, label), true, "label kind type"},
};
#define ROLE_COUNT (sizeof roles / sizeof roles[0])

static csv_source *source_of(csv_map *map, const struct role *role)
{
    return (csv_source *)(void *)((char *)map + role->offset);
}

/* ---- columns by name ---- */

static bool equal_names(mk_str a, mk_str b, bool fold)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        char c = a.p[i], d = b.p[i];
        if (fold && c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        if (fold && d >= 'A' && d <= 'Z')
            d = (char)(d | 0x20);
        if (c != d)
            return false;
    }
    return true;
}

static bool find_column(const mapper *m, mk_str name, size_t *column)
{
    int64_t number;

    if (m->load->options->no_header) {
        if (!mk_str_to_i64(name, &number) || number < 1 || (uint64_t)number > m->table->columns)
            return false;
        *column = (size_t)number - 1;
        return true;
    }
    for (int fold = 0; fold < 2; fold++) {
        for (size_t i = 0; i < m->table->columns; i++) {
            if (equal_names(m->table->fields[i], name, fold == 1)) {
                *column = i;
                return true;
            }
        }
    }
    return false;
}

/* Tells what there is: the header's names, as far as they fit. */
static void hint_columns(const mapper *m, mk_err *err)
{
    char text[280];
    size_t n = 0;

    if (m->load->options->no_header) {
        mk_err_hint(err, "without a header the columns are called 1 to %zu", m->table->columns);
        return;
    }
    for (size_t i = 0; i < m->table->columns; i++) {
        const mk_str name = m->table->fields[i];
        if (n + name.n + 4 > sizeof text)
            break;
        if (n > 0) {
            text[n++] = ',';
            text[n++] = ' ';
        }
        memcpy(text + n, name.p, name.n);
        n += name.n;
    }
    mk_err_hint(err, "the header has: %.*s", (int)n, text);
}

static mk_code no_column(const mapper *m, mk_str name, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "there is no column '%.*s'", MK_LOAD_QUOTE(name));
    mk_err_path(err, "mapping");
    hint_columns(m, err);
    return MK_E_INVALID_ARG;
}

/* ---- items ---- */

/* Takes one item off the text: up to the next comma outside quotes. */
static mk_str next_item(mk_str *rest)
{
    size_t i = 0;
    char quote = 0;

    for (; i < rest->n; i++) {
        const char c = rest->p[i];
        if (quote != 0)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == ',')
            break;
    }
    const mk_str item = {rest->p, i};
    *rest = i < rest->n ? (mk_str){rest->p + i + 1, rest->n - i - 1} : (mk_str){rest->p + i, 0};
    return item;
}

/* The first `c` outside quotes, or NULL. */
static const char *find_outside(mk_str text, char c)
{
    char quote = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (quote != 0)
            quote = text.p[i] == quote ? 0 : quote;
        else if (text.p[i] == c)
            return text.p + i;
        else if (text.p[i] == '"' || text.p[i] == '\'')
            quote = text.p[i];
    }
    return NULL;
}

/* 'text' or "text" without its quotes; false when it is not quoted by `quote`. */
static bool strip_quotes(mk_str *text, char quote)
{
    if (text->n < 2 || text->p[0] != quote || text->p[text->n - 1] != quote)
        return false;
    *text = (mk_str){text->p + 1, text->n - 2};
    return true;
}

static mk_code add_prop(mapper *m, size_t column, mk_str name, mk_load_type type, mk_err *err)
{
    csv_map *map = m->map;
    mk_code rc;

    if (map->prop_count == m->prop_cap) {
        /* In the arena: the few lists that are outgrown die with it. */
        const size_t cap = m->prop_cap * 2 + 8;
        mk_load_prop *props = mk_arena_get(&m->table->arena, cap * sizeof *props);
        if (props == NULL)
            return mk_fail_nomem(err);
        if (map->prop_count > 0)
            memcpy(props, map->props, map->prop_count * sizeof *props);
        map->props = props;
        m->prop_cap = cap;
    }
    const mk_str copy = mk_arena_copy(&m->table->arena, name);
    rc = copy.p == NULL ? mk_fail_nomem(err) : MK_OK;
    if (rc == MK_OK)
        map->props[map->prop_count++] =
            (mk_load_prop){.name = copy, .type = type, .column = column};
    return rc;
}

/* Every column without a role; decided last, hence only noted here by the caller. */
static mk_code add_others(mapper *m, mk_err *err)
{
    for (size_t i = 0; i < m->table->columns; i++) {
        char number[24];
        if (m->used[i])
            continue;
        const mk_str name = m->load->options->no_header
                                ? (mk_str){number, mk_u64_text(number, i + 1)}
                                : m->table->fields[i];
        if (name.n == 0)
            continue;
        const mk_code rc = add_prop(m, i, name, MK_LOAD_T_AUTO, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code prop_item(mapper *m, mk_str item, mk_err *err)
{
    const char *colon = find_outside(item, ':');
    mk_load_type type = MK_LOAD_T_AUTO;
    mk_str name = item;
    size_t column;

    /* A header may itself hold colons, so the whole item is tried first. */
    if (find_column(m, item, &column))
        colon = NULL;
    if (colon != NULL) {
        const mk_str word = {colon + 1, (size_t)(item.p + item.n - colon) - 1};
        name.n = (size_t)(colon - item.p);
        if (!mk_load__type_named(word, &type)) {
            mk_fail(err, MK_E_INVALID_ARG, "'%.*s' is no type", MK_LOAD_QUOTE(word));
            mk_err_path(err, "mapping");
            mk_err_hint(err, "one of auto, int, float, bool, string, json, time");
            return MK_E_INVALID_ARG;
        }
    }
    strip_quotes(&name, '"');
    if (!find_column(m, name, &column))
        return no_column(m, name, err);
    m->used[column] = true;
    return add_prop(m, column, name, type, err);
}

static mk_code role_item(mapper *m, mk_str key, mk_str value, mk_err *err)
{
    const struct role *role = NULL;

    for (size_t i = 0; i < ROLE_COUNT; i++)
        if (mk_str_eq(key, mk_str_of(roles[i].name)))
            role = &roles[i];
    if (role == NULL) {
        mk_fail(err, MK_E_INVALID_ARG, "'%.*s' is no part of a mapping", MK_LOAD_QUOTE(key));
        mk_err_path(err, "mapping");
        mk_err_hint(err, "one of src, dst, rel_type, vt_s, vt_e, disc, uid, label, props");
        return MK_E_INVALID_ARG;
    }
    csv_source *source = source_of(m->map, role);
    if (source->kind != CSV_ABSENT) {
        mk_fail(err, MK_E_INVALID_ARG, "%s is mapped twice", role->name);
        mk_err_path(err, "mapping");
        return MK_E_INVALID_ARG;
    }
    if (strip_quotes(&value, '\'')) {
        if (!role->constant) {
            mk_fail(err, MK_E_INVALID_ARG, "%s cannot be the constant '%.*s'", role->name,
                    MK_LOAD_QUOTE(value));
            mk_err_path(err, "mapping");
            mk_err_hint(err, "constants are for rel_type, label and disc; name a column");
            return MK_E_INVALID_ARG;
        }
        *source = (csv_source){.kind = CSV_CONSTANT, .constant = value};
        return MK_OK;
    }
    strip_quotes(&value, '"');
    if (!find_column(m, value, &source->column))
        return no_column(m, value, err);
    source->kind = CSV_COLUMN;
    m->used[source->column] = true;
    return MK_OK;
}

static mk_code read_mapping(mapper *m, mk_str text, bool *others, mk_err *err)
{
    bool in_props = false;
    mk_code rc = MK_OK;

    while (text.n > 0) {
        mk_str item = next_item(&text);
        const char *equals = find_outside(item, '=');
        if (equals != NULL) {
            const mk_str key = {item.p, (size_t)(equals - item.p)};
            item = (mk_str){equals + 1, (size_t)(item.p + item.n - equals) - 1};
            in_props = mk_str_eq(key, MK_STR("props"));
            if (!in_props) {
                MK_TRY(rc, role_item(m, key, item, err));
                continue;
            }
        } else if (!in_props) {
            rc = mk_fail(err, MK_E_INVALID_ARG, "'%.*s' is no ROLE=COLUMN", MK_LOAD_QUOTE(item));
            mk_err_path(err, "mapping");
            mk_err_hint(err, "for example src=from,dst=to,vt_s=start,rel_type='KNOWS'");
            goto out;
        }
        if (mk_str_eq(item, MK_STR("*")))
            *others = true;
        else if (item.n > 0)
            MK_TRY(rc, prop_item(m, item, err));
    }

out:
    return rc;
}

/* Without a mapping: the usual names, everything else a property. */
static void guess(mapper *m)
{
    bool edges = false;

    for (size_t i = 0; i < ROLE_COUNT; i++) {
        csv_source *source = source_of(m->map, &roles[i]);
        mk_str words = mk_str_of(roles[i].usual);
        if (edges && i >= 6) /* uid and label are for nodes */
            break;
        while (words.n > 0 && source->kind == CSV_ABSENT) {
            const char *space = memchr(words.p, ' ', words.n);
            const size_t n = space != NULL ? (size_t)(space - words.p) : words.n;
            if (find_column(m, (mk_str){words.p, n}, &source->column) && !m->used[source->column]) {
                source->kind = CSV_COLUMN;
                m->used[source->column] = true;
            }
            words = (mk_str){words.p + n, words.n - n};
            if (words.n > 0)
                words = (mk_str){words.p + 1, words.n - 1};
        }
        edges = m->map->src.kind != CSV_ABSENT && m->map->dst.kind != CSV_ABSENT;
    }
}

/* ---- the whole ---- */

static mk_code check_map(mapper *m, mk_err *err)
{
    csv_map *map = m->map;
    const bool src = map->src.kind != CSV_ABSENT, dst = map->dst.kind != CSV_ABSENT;
    const bool uid = map->uid.kind != CSV_ABSENT;
    const char *problem = NULL;

    if (uid && (src || dst))
        problem = "a row is a node (uid) or an edge (src, dst), not both";
    else if (!uid && !(src && dst))
        problem = "the mapping needs src and dst for edges, or uid for nodes";
    else if (!uid && map->vt_s.kind == CSV_ABSENT)
        problem = "the mapping needs vt_s, the time of the event";
    else if (!uid && map->label.kind != CSV_ABSENT)
        problem = "edges have no label";
    if (problem != NULL) {
        mk_fail(err, MK_E_INVALID_ARG, "%s", problem);
        mk_err_path(err, "mapping");
        hint_columns(m, err);
        return MK_E_INVALID_ARG;
    }
    map->nodes = uid;
    if (!uid && map->rel_type.kind == CSV_ABSENT)
        map->rel_type = (csv_source){.kind = CSV_CONSTANT,
                                     .constant = mk_load__option(m->load->options->rel_type, "EDGE")};
    return MK_OK;
}

mk_code mk_csv__map(mk_load *load, csv_table *table, mk_err *err)
{
    const char *mapping = load->options->mapping;
    mapper m = {.load = load, .table = table, .map = &table->map};
    bool others = mapping == NULL;
    mk_code rc;

    m.used = mk_arena_get0(&table->arena, table->columns + 1);
    if (m.used == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    if (mapping == NULL)
        guess(&m);
    else
        MK_TRY(rc, read_mapping(&m, mk_str_of(mapping), &others, err));
    MK_TRY(rc, check_map(&m, err));
    if (others)
        MK_TRY(rc, add_others(&m, err));
    MK_TRY(rc, mk_load__props_prepare(&table->arena, table->map.props, table->map.prop_count, err));

out:
    return rc;
}

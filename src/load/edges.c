/* edges.c — edge lists: SRC DST TIME [WEIGHT...], one event a line.
 *
 * A plan, made once, says which column is what; each line is split into at most MK_EDGE_COLUMNS
 * fields that point into the read buffer and turned into one event without copying. Blank lines and
 * lines starting with '#' or '%' are skipped, order is that of the file.
 * Source: store spec, 21. Where it leaves a choice (other column orders, units, detection) we are
 * stricter than split(): a missing or extra column is a bad row. */
#include "load/load_internal.h"

/* SNAP files have three to five columns; the rest is room for exports with many weights. */
#define MK_EDGE_COLUMNS 64
#define NO_COLUMN SIZE_MAX
/* Rows and bytes that are looked at before the unit is told. */
#define PROBE_ROWS 1000
#define PROBE_BYTES 65536

typedef enum extra_rule {
    EXTRA_REFUSED, /* columns were named: more of them is a bad row */
    EXTRA_WEIGHTS, /* weight, weight2, ... */
    EXTRA_IGNORED  /* presets that look at the first fields only */
} extra_rule;

typedef struct edge_plan {
    char separator; /* 0: runs of blanks */
    size_t src, dst, time, end, rel_type, disc;
    size_t columns; /* fewer fields are a bad row */
    extra_rule extra;
    bool order_given;
    mk_load_prop props[MK_EDGE_COLUMNS];
    size_t prop_count;
    mk_load_times times, end_times;
    mk_str prefix, rel_type_text;
    mk_arena arena; /* names */
} edge_plan;

/* ---- the plan ---- */

static mk_code column_clash(mk_str name, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "column '%.*s' is named twice", MK_LOAD_QUOTE(name));
    mk_err_path(err, "columns");
    mk_err_hint(err, "write - for a column to skip, as in src,dst,-,time");
    return MK_E_INVALID_ARG;
}

/* Places one name of the column list. */
static mk_code plan_column(edge_plan *plan, mk_str name, size_t column, mk_err *err)
{
    const struct {
        const char *name;
        size_t *column;
    } roles[] = {
        {"src", &plan->src},   {"dst", &plan->dst},           {"time", &plan->time},
        {"vt_s", &plan->time}, {"end", &plan->end},           {"vt_e", &plan->end},
        {"disc", &plan->disc}, {"rel_type", &plan->rel_type},
    };

    if (mk_str_eq(name, MK_STR("-")))
        return MK_OK;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (!mk_str_eq(name, mk_str_of(roles[i].name)))
            continue;
        if (*roles[i].column != NO_COLUMN)
            return column_clash(name, err);
        *roles[i].column = column;
        return MK_OK;
    }
    mk_load_prop prop = {.name = name, .column = column};
    const char *colon = memchr(name.p, ':', name.n);
    if (colon != NULL) {
        const mk_str type = {colon + 1, (size_t)(name.p + name.n - colon) - 1};
        prop.name.n = (size_t)(colon - name.p);
        if (!mk_load__type_named(type, &prop.type)) {
            mk_fail(err, MK_E_INVALID_ARG, "'%.*s' is no type", MK_LOAD_QUOTE(type));
            mk_err_path(err, "columns");
            mk_err_hint(err, "one of auto, int, float, bool, string, json, time");
            return MK_E_INVALID_ARG;
        }
    }
    if (prop.name.n == 0 || mk_utf8_check(prop.name) != prop.name.n) {
        mk_fail(err, MK_E_INVALID_ARG, "column %zu has no usable name", column + 1);
        mk_err_path(err, "columns");
        mk_err_hint(err, "write - to skip it");
        return MK_E_INVALID_ARG;
    }
    plan->props[plan->prop_count++] = prop;
    return MK_OK;
}

static mk_code plan_columns(edge_plan *plan, mk_str list, mk_err *err)
{
    mk_code rc;

    for (;;) {
        const char *comma = list.n > 0 ? memchr(list.p, ',', list.n) : NULL;
        const mk_str name = {list.p, comma != NULL ? (size_t)(comma - list.p) : list.n};
        if (plan->columns == MK_EDGE_COLUMNS) {
            mk_fail(err, MK_E_LIMIT, "more than %d columns", MK_EDGE_COLUMNS);
            mk_err_path(err, "columns");
            mk_err_hint(err, "load wide tables with --format csv");
            return MK_E_LIMIT;
        }
        MK_TRY(rc, plan_column(plan, name, plan->columns++, err));
        if (comma == NULL)
            break;
        list = (mk_str){comma + 1, (size_t)(list.p + list.n - comma) - 1};
    }
    if (plan->src == NO_COLUMN || plan->dst == NO_COLUMN || plan->time == NO_COLUMN) {
        rc = mk_fail(err, MK_E_INVALID_ARG, "the column list needs src, dst and time");
        mk_err_path(err, "columns");
        mk_err_hint(err, "for example src,dst,time or src,dst,rating,time");
    }

out:
    return rc;
}

/* Names the columns behind src,dst,time: weight, weight2, ... A row without them has no property. */
static mk_code plan_weights(edge_plan *plan, mk_err *err)
{
    plan->extra = EXTRA_WEIGHTS;
    for (size_t column = 3; column < MK_EDGE_COLUMNS; column++) {
        mk_buf name;
        mk_buf_init(&name, plan->arena.alloc);
        mk_buf_z(&name, "weight");
        if (column > 3)
            mk_buf_u64(&name, column - 2);
        const mk_str copy = mk_arena_copy(&plan->arena, mk_buf_view(&name));
        const bool failed = name.failed || copy.p == NULL;
        mk_buf_free(&name);
        if (failed)
            return mk_fail_nomem(err);
        plan->props[plan->prop_count++] = (mk_load_prop){.name = copy, .column = column};
    }
    return MK_OK;
}

static const struct preset {
    const char *rel_type;
    const char *columns;
    mk_load_separator separator;
    extra_rule extra;
    mk_load_number number;
} presets[] = {
    [MK_LOAD_PRESET_COLLEGEMSG] = {"MSG", "src,dst,time", MK_LOAD_SEP_BLANKS, EXTRA_IGNORED,
                                   MK_LOAD_NUMBER_INTEGER},
    [MK_LOAD_PRESET_EMAIL_EU] = {"EMAIL", "src,dst,time", MK_LOAD_SEP_BLANKS, EXTRA_IGNORED,
                                 MK_LOAD_NUMBER_INTEGER},
    [MK_LOAD_PRESET_BITCOINOTC] = {"TRUST", "src,dst,rating:int,time", MK_LOAD_SEP_COMMA,
                                   EXTRA_REFUSED, MK_LOAD_NUMBER_DOUBLE},
};

static mk_code make_plan(mk_load *load, edge_plan *plan, mk_load_separator *separator, mk_err *err)
{
    const mk_load_options *options = load->options;
    mk_code rc;

    plan->src = plan->dst = plan->time = plan->end = plan->rel_type = plan->disc = NO_COLUMN;
    plan->prefix = mk_load__option(options->prefix, "n");
    plan->rel_type_text = mk_load__option(options->rel_type, "EDGE");
    plan->times.unit = plan->end_times.unit = options->unit;
    *separator = options->separator;
    if (options->preset != MK_LOAD_PRESET_NONE) {
        const struct preset *preset = &presets[options->preset];
        plan->order_given = true;
        plan->extra = preset->extra;
        plan->times = (mk_load_times){.unit = MK_LOAD_UNIT_S, .number = preset->number};
        plan->rel_type_text = mk_load__option(options->rel_type, preset->rel_type);
        *separator = preset->separator;
        MK_TRY(rc, plan_columns(plan, mk_str_of(preset->columns), err));
    } else if (options->columns != NULL) {
        plan->order_given = true;
        MK_TRY(rc, plan_columns(plan, mk_str_of(options->columns), err));
    } else {
        MK_TRY(rc, plan_columns(plan, MK_STR("src,dst,time"), err));
        MK_TRY(rc, plan_weights(plan, err));
    }
    MK_TRY(rc, mk_load__props_prepare(&plan->arena, plan->props, plan->prop_count, err));

out:
    return rc;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static mk_str trim(mk_str s)
{
    while (s.n > 0 && is_blank(s.p[0]))
        s = (mk_str){s.p + 1, s.n - 1};
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool is_data(mk_str line)
{
    if (line.n > 0 && (unsigned char)line.p[0] > '%')
        return true;
    line = trim(line);
    return line.n > 0 && line.p[0] != '#' && line.p[0] != '%';
}

/* Fields between separators, blanks around them dropped; at most MK_EDGE_COLUMNS + 1 are counted. */
static size_t split_at(char separator, mk_str line, mk_str *fields)
{
    const char *p = line.p, *const end = line.p + line.n;
    size_t n = 0;

    for (;;) {
        const char *stop = p;
        while (stop < end && *stop != separator)
            stop++;
        if (n < MK_EDGE_COLUMNS)
            fields[n] = trim((mk_str){p, (size_t)(stop - p)});
        n++;
        if (stop == end || n > MK_EDGE_COLUMNS)
            return n;
        p = stop + 1;
    }
}

static size_t split_blanks(mk_str line, mk_str *fields)
{
    const char *p = line.p, *const end = line.p + line.n;
    size_t n = 0;

    for (;;) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end || n > MK_EDGE_COLUMNS)
            return n;
        const char *start = p;
        /* Anything above a blank is decided by one comparison. */
        do
            p++;
        while (p < end && ((unsigned char)*p > ' ' || !is_blank(*p)));
        if (n < MK_EDGE_COLUMNS)
            fields[n] = (mk_str){start, (size_t)(p - start)};
        n++;
    }
}

static size_t split(const edge_plan *plan, mk_str line, mk_str *fields)
{
    return plan->separator != 0 ? split_at(plan->separator, line, fields)
                                : split_blanks(line, fields);
}

static mk_code check_width(mk_load *load, const edge_plan *plan, mk_str line, size_t n, mk_err *err)
{
    if (n < plan->columns) {
        mk_load__bad(load, NULL, err, "%zu columns where %zu are needed: '%.*s'", n, plan->columns,
                     MK_LOAD_QUOTE(line));
        mk_err_hint(err, "check --columns and --sep, or skip such rows with --skip-bad N");
        return MK_E_INVALID_ARG;
    }
    if (n > MK_EDGE_COLUMNS || (n > plan->columns && plan->extra == EXTRA_REFUSED)) {
        mk_load__bad(load, NULL, err, "more than %zu columns: '%.*s'",
                     plan->extra == EXTRA_REFUSED ? plan->columns : (size_t)MK_EDGE_COLUMNS,
                     MK_LOAD_QUOTE(line));
        mk_err_hint(err, "name the further columns in --columns, or skip them with -");
        return MK_E_INVALID_ARG;
    }
    return MK_OK;
}

/* The end of an interval: an empty cell means that it still holds. */
static mk_code read_end(mk_load *load, edge_plan *plan, mk_str field, mk_event *event, mk_err *err)
{
    if (plan->end == NO_COLUMN)
        return MK_OK;
    event->has_vt_e = true;
    event->vt_e = MK_OPEN_END;
    if (field.n == 0)
        return MK_OK;
    plan->end_times.unit = plan->times.unit;
    const mk_code rc = mk_load__time(load, &plan->end_times, field, &event->vt_e, err);
    if (rc == MK_OK && event->vt_e <= event->vt_s)
        return mk_load__bad(load, field.p, err, "the end '%.*s' is not after the start",
                            MK_LOAD_QUOTE(field));
    return rc;
}

static mk_code read_row(mk_load *load, edge_plan *plan, mk_str line, mk_event *event, mk_err *err)
{
    mk_str fields[MK_EDGE_COLUMNS];
    const size_t n = split(plan, line, fields);
    mk_code rc;

    /* Member by member: clearing the whole struct first costs more than the rest of this function. */
    event->rel_type = plan->rel_type_text;
    event->disc = event->props = (mk_str){NULL, 0};
    event->disc_kind = MK_DISC_DEFAULT;
    event->vt_e = 0;
    event->has_vt_e = false;
    MK_TRY(rc, check_width(load, plan, line, n, err));
    MK_TRY(rc, mk_load__check_utf8(load, line, err));
    MK_TRY(rc, mk_load__time(load, &plan->times, fields[plan->time], &event->vt_s, err));
    MK_TRY(rc, read_end(load, plan, fields[plan->end == NO_COLUMN ? 0 : plan->end], event, err));
    if (plan->rel_type != NO_COLUMN) {
        event->rel_type = fields[plan->rel_type];
        if (event->rel_type.n == 0) {
            rc = mk_load__bad(load, event->rel_type.p, err, "the relation type is empty");
            goto out;
        }
    }
    if (plan->disc != NO_COLUMN) {
        event->disc = fields[plan->disc];
        event->disc_kind = MK_DISC_GIVEN;
    }
    if (plan->prop_count > 0 && (plan->extra != EXTRA_WEIGHTS || n > plan->columns))
        MK_TRY(rc, mk_load__props_text(load, &plan->times, plan->props, plan->prop_count, fields, n,
                                       &event->props, err));
    /* Last, because they write into the line. */
    MK_TRY(rc, mk_load__uid(load, plan->prefix, fields[plan->src], &event->src, err));
    MK_TRY(rc, mk_load__uid(load, plan->prefix, fields[plan->dst], &event->dst, err));

out:
    return rc;
}

/* ---- looking ahead ---- */

/* What the first rows show: the largest class of each column. */
typedef struct probe {
    size_t rows;
    mk_load_unit class[MK_EDGE_COLUMNS];
} probe;

static char separator_of(mk_load_separator separator, mk_str line)
{
    if (separator == MK_LOAD_SEP_TAB || separator == MK_LOAD_SEP_COMMA)
        return separator == MK_LOAD_SEP_TAB ? '\t' : ',';
    if (separator == MK_LOAD_SEP_BLANKS)
        return 0;
    line = trim(line);
    return memchr(line.p, '\t', line.n) != NULL ? '\t' : memchr(line.p, ',', line.n) != NULL ? ',' : 0;
}

static void probe_line(edge_plan *plan, mk_load_separator separator, mk_str line, probe *seen)
{
    mk_str fields[MK_EDGE_COLUMNS];

    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (!is_data(line))
        return;
    if (seen->rows++ == 0)
        plan->separator = separator_of(separator, line);
    size_t n = split(plan, line, fields);
    if (n > MK_EDGE_COLUMNS)
        n = MK_EDGE_COLUMNS;
    for (size_t i = 0; i < n; i++) {
        const mk_load_unit class = mk_load__unit_class(fields[i]);
        if (class > seen->class[i])
            seen->class[i] = class;
    }
}

/* Rating before time is common (SRC,DST,RATING,TIME) and would load as nonsense in silence. */
static mk_code check_order(const edge_plan *plan, const probe *seen, mk_err *err)
{
    if (plan->order_given || seen->class[plan->time] != MK_LOAD_UNIT_AUTO)
        return MK_OK;
    for (size_t i = 3; i < MK_EDGE_COLUMNS; i++) {
        if (seen->class[i] == MK_LOAD_UNIT_AUTO)
            continue;
        mk_fail(err, MK_E_INVALID_ARG,
                "column 3 holds small numbers and column %zu looks like the time", i + 1);
        mk_err_path(err, "columns");
        mk_err_hint(err, "say the order, for example --columns src,dst,%stime",
                    i == 3 ? "weight," : "-,-,");
        return MK_E_INVALID_ARG;
    }
    return MK_OK;
}

/* Tells separator and unit from the lines in memory, without consuming them. */
static mk_code look_ahead(mk_load *load, edge_plan *plan, mk_load_separator separator, mk_err *err)
{
    mk_load_reader *reader = load->reader;
    probe seen = {0};
    bool grew = true;
    mk_code rc = MK_OK;

    while (grew && mk_load__window(reader).n < PROBE_BYTES)
        MK_TRY(rc, mk_load__grow(reader, &grew, err));
    mk_str rest = mk_load__window(reader);
    while (rest.n > 0 && seen.rows < PROBE_ROWS) {
        const char *lf = memchr(rest.p, '\n', rest.n);
        if (lf == NULL && !reader->ended && seen.rows > 0)
            break;
        const size_t size = lf != NULL ? (size_t)(lf - rest.p) : rest.n;
        probe_line(plan, separator, (mk_str){rest.p, size}, &seen);
        rest = (mk_str){rest.p + size, rest.n - size};
        if (rest.n > 0)
            rest = (mk_str){rest.p + 1, rest.n - 1};
    }
    if (seen.rows == 0)
        plan->separator = separator_of(separator, (mk_str){"", 0});
    MK_TRY(rc, check_order(plan, &seen, err));
    if (plan->times.unit == MK_LOAD_UNIT_AUTO && seen.rows > 0) {
        const mk_load_unit class = seen.class[plan->time];
        plan->times.unit = class == MK_LOAD_UNIT_AUTO ? MK_LOAD_UNIT_S : class;
        plan->times.detected = plan->end_times.detected = true;
    }

out:
    return rc;
}

/* ---- the loop ---- */

static mk_code next_row(mk_load *load, edge_plan *plan, mk_str line, mk_event *event, mk_err *err)
{
    const uint64_t number = load->reader->line;
    mk_code rc;

    if (!is_data(line))
        return MK_OK;
    MK_TRY(rc, mk_load__count_row(load, err));
    rc = read_row(load, plan, line, event, err);
    if (rc != MK_OK)
        return mk_load__tolerate(load, number, rc, err);
    MK_TRY(rc, load->sink->event(load->sink, event, number, err));

out:
    return rc;
}

mk_code mk_load__edges(mk_load *load, mk_err *err)
{
    edge_plan plan = {0};
    mk_event event = {0};
    mk_load_separator separator;
    mk_str line;
    bool more;
    mk_code rc;

    mk_arena_init(&plan.arena, load->sink->arena->alloc);
    MK_TRY(rc, make_plan(load, &plan, &separator, err));
    MK_TRY(rc, mk_load__skip_bom(load->reader, err));
    MK_TRY(rc, look_ahead(load, &plan, separator, err));
    for (;;) {
        MK_TRY(rc, mk_load__line(load->reader, &line, &more, err));
        if (!more)
            break;
        MK_TRY(rc, next_row(load, &plan, line, &event, err));
    }

out:
    load->report->unit = plan.times.unit;
    mk_arena_free(&plan.arena);
    return rc;
}

/* csv.c — tables with a header: a record is an event with a start and maybe an end, or a node.
 *
 * Records follow RFC 4180: a field in double quotes may hold separators, line ends and doubled
 * quotes. The end of a record is found first, quotes minded, so that a record split over reads is
 * never half looked at; then it is split in place and doubled quotes are folded. A quote inside an
 * unquoted field is an ordinary character.
 * Source: RFC 4180; store spec, 7.3 and 7.7. The mapping is in csv_map.c. */
#include "load/csv_map_internal.h"

/* Looks this far ahead for the unit of times. */
#define PROBE_BYTES 65536

/* ---- records ---- */

/* One record found in the window, `at` bytes behind its start. */
typedef struct record_end {
    size_t at;      /* where the record starts */
    size_t size;    /* without its line end */
    size_t whole;   /* with it */
    uint64_t lines; /* LFs in it, the last included */
    bool open_quote;
} record_end;

/* Searches the window from end->at on; grows it as needed when `grow`. *found false when there is no
 * further record, or it is not whole and may not grow. */
static mk_code find_record(mk_load_reader *reader, char separator, bool grow, record_end *end,
                           bool *found, mk_err *err)
{
    size_t i = end->at;
    bool quoted = false, closed = false, field_start = true, grew = true;
    const size_t at = end->at;

    *end = (record_end){.at = at};
    for (;;) {
        const mk_str window = mk_load__window(reader);
        for (; i < window.n; i++) {
            const char c = window.p[i];
            if (quoted) {
                /* A doubled quote closes and opens again, which comes to the same. */
                quoted = c != '"';
                closed = !quoted;
                end->lines += c == '\n';
                continue;
            }
            if (c == '"' && (field_start || closed)) {
                quoted = true;
            } else if (c == '\n') {
                end->lines++;
                end->size = i - at;
                end->whole = end->size + 1;
                *found = true;
                goto trim;
            }
            field_start = c == separator;
            closed = false;
        }
        if (grow) {
            const mk_code rc = mk_load__grow(reader, &grew, err);
            if (rc != MK_OK)
                return rc;
        }
        if (!grow || !grew) {
            end->size = end->whole = i - at;
            end->open_quote = quoted;
            *found = end->size > 0 && reader->ended;
            break;
        }
    }
trim:
    if (end->size > 0 && mk_load__window(reader).p[at + end->size - 1] == '\r')
        end->size--;
    return MK_OK;
}

/* Folds a quoted field in place; *p is behind the opening quote and ends behind the closing one.
 * False when the closing quote is missing. */
static bool unquote(char **p, char *end, mk_str *field)
{
    char *from = *p, *to = *p, *const start = *p;

    for (; from < end; from++) {
        if (*from == '"') {
            if (from + 1 == end || from[1] != '"')
                break;
            from++;
        }
        *to++ = *from;
    }
    *field = (mk_str){start, (size_t)(to - start)};
    *p = from + 1;
    return from < end;
}

static mk_code add_field(csv_table *table, mk_str field, mk_err *err)
{
    if (table->field_count == MK_CSV_COLUMNS) {
        mk_fail(err, MK_E_LIMIT, "more than %d columns", MK_CSV_COLUMNS);
        return MK_E_LIMIT;
    }
    void *fields = table->fields;
    const mk_code rc = mk_grow(table->alloc, &fields, &table->field_cap, table->field_count + 1,
                               sizeof *table->fields, err);
    table->fields = fields;
    if (rc == MK_OK)
        table->fields[table->field_count++] = field;
    return rc;
}

static mk_code split_record(mk_load *load, csv_table *table, char *p, size_t size, mk_err *err)
{
    char *const end = p + size;
    mk_code rc;

    table->field_count = 0;
    for (;;) {
        mk_str field;
        if (p < end && *p == '"') {
            const char *quote = p++;
            if (!unquote(&p, end, &field) || (p < end && *p != table->separator)) {
                rc = mk_load__bad(load, quote, err,
                                  "a quoted field is not followed by a separator or the line's end");
                mk_err_hint(err, "double the quotes inside a quoted field: \"say \"\"hi\"\"\"");
                goto out;
            }
        } else {
            char *stop = memchr(p, table->separator, (size_t)(end - p));
            field = (mk_str){p, (size_t)((stop != NULL ? stop : end) - p)};
            p = stop != NULL ? stop : end;
        }
        MK_TRY(rc, add_field(table, field, err));
        if (p == end)
            break;
        p++;
    }

out:
    return rc;
}

/* The next record that is not a blank line, split; *more false at the end. The record is consumed
 * even when splitting it fails. */
static mk_code next_record(mk_load *load, csv_table *table, bool *more, mk_err *err)
{
    record_end end;
    bool found;

    for (;;) {
        end.at = 0;
        const mk_code rc = find_record(load->reader, table->separator, true, &end, &found, err);
        *more = rc == MK_OK && found;
        if (!*more)
            return rc;
        char *start = load->reader->at;
        mk_load__take(load->reader, end.whole, end.size, end.lines);
        if (end.size == 0)
            continue;
        if (end.open_quote) {
            mk_load__bad(load, NULL, err, "a quote that is opened in this record is never closed");
            mk_err_hint(err, "close it, or double it if it belongs to the text");
            return MK_E_INVALID_ARG;
        }
        return split_record(load, table, start, end.size, err);
    }
}

/* ---- rows ---- */

static mk_str cell(const csv_table *table, const csv_source *source)
{
    if (source->kind == CSV_CONSTANT)
        return source->constant;
    return source->kind == CSV_COLUMN ? table->fields[source->column] : (mk_str){NULL, 0};
}

static mk_code needed(mk_load *load, const csv_table *table, const csv_source *source,
                      const char *role, mk_str *out, mk_err *err)
{
    *out = cell(table, source);
    if (out->n > 0)
        return MK_OK;
    mk_load__bad(load, out->p, err, "%s is empty", role);
    mk_err_hint(err, "fill in the cell, or skip such rows with --skip-bad N");
    return MK_E_INVALID_ARG;
}

static mk_code read_interval(mk_load *load, csv_table *table, int64_t *vt_s, int64_t *vt_e,
                             bool *has_vt_e, mk_err *err)
{
    const csv_map *map = &table->map;
    const mk_str start = cell(table, &map->vt_s), end = cell(table, &map->vt_e);
    mk_code rc = MK_OK;

    *vt_e = MK_OPEN_END;
    *has_vt_e = map->vt_e.kind != CSV_ABSENT;
    if (start.n > 0)
        MK_TRY(rc, mk_load__time(load, &table->times, start, vt_s, err));
    if (end.n > 0) {
        MK_TRY(rc, mk_load__time(load, &table->times, end, vt_e, err));
        if (*vt_e <= *vt_s) {
            rc = mk_load__bad(load, end.p, err, "vt_e '%.*s' is not after vt_s '%.*s'",
                              MK_LOAD_QUOTE(end), MK_LOAD_QUOTE(start));
            mk_err_hint(err, "swap the two, or leave the end empty if the fact still holds");
        }
    }

out:
    return rc;
}

static mk_code props_of(mk_load *load, csv_table *table, mk_str *props, mk_err *err)
{
    return mk_load__props_text(load, &table->times, table->map.props, table->map.prop_count,
                               table->fields, table->field_count, props, err);
}

static mk_code read_event(mk_load *load, csv_table *table, mk_event *event, mk_err *err)
{
    const csv_map *map = &table->map;
    mk_str src, dst, start;
    mk_code rc;

    *event = (mk_event){.disc_kind = MK_DISC_DEFAULT};
    MK_TRY(rc, needed(load, table, &map->src, "src", &src, err));
    MK_TRY(rc, needed(load, table, &map->dst, "dst", &dst, err));
    MK_TRY(rc, needed(load, table, &map->rel_type, "rel_type", &event->rel_type, err));
    MK_TRY(rc, needed(load, table, &map->vt_s, "vt_s", &start, err));
    MK_TRY(rc, read_interval(load, table, &event->vt_s, &event->vt_e, &event->has_vt_e, err));
    if (map->disc.kind != CSV_ABSENT) {
        event->disc = cell(table, &map->disc);
        event->disc_kind = MK_DISC_GIVEN;
    }
    MK_TRY(rc, props_of(load, table, &event->props, err));
    MK_TRY(rc, mk_load__uid(load, table->prefix, src, &event->src, err));
    MK_TRY(rc, mk_load__uid(load, table->prefix, dst, &event->dst, err));

out:
    return rc;
}

static mk_code read_node(mk_load *load, csv_table *table, mk_op *op, mk_err *err)
{
    const csv_map *map = &table->map;
    const char *reference = load->options->provenance_ref;
    bool has_vt_e;
    mk_str uid;
    mk_code rc;

    *op = (mk_op){.kind = MK_OP_ASSERT_NODE,
                  .source = mk_load__option(load->options->source, "ingest"),
                  .provenance_null = reference == NULL,
                  .provenance_ref = mk_load__option(reference, "")};
    MK_TRY(rc, needed(load, table, &map->uid, "uid", &uid, err));
    op->label = cell(table, &map->label);
    if (op->label.n == 0)
        op->label = mk_load__option(load->options->node_label, "Node");
    MK_TRY(rc, read_interval(load, table, &op->vt_s, &op->vt_e, &has_vt_e, err));
    MK_TRY(rc, props_of(load, table, &op->props, err));
    if (op->props.n == 0)
        op->props = MK_STR("{}");
    MK_TRY(rc, mk_load__uid(load, table->prefix, uid, &op->uid, err));

out:
    return rc;
}

static mk_code check_width(mk_load *load, const csv_table *table, mk_err *err)
{
    if (table->field_count == table->columns)
        return MK_OK;
    mk_load__bad(load, NULL, err, "%zu columns where the table has %zu: '%.*s'",
                 table->field_count, table->columns, MK_LOAD_QUOTE(table->fields[0]));
    mk_err_hint(err, "quote a field that holds the separator");
    return MK_E_INVALID_ARG;
}

static mk_code read_row(mk_load *load, csv_table *table, mk_event *event, mk_op *op, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, check_width(load, table, err));
    MK_TRY(rc, mk_load__check_utf8(
                   load, (mk_str){load->reader->record, load->reader->record_size}, err));
    rc = table->map.nodes ? read_node(load, table, op, err) : read_event(load, table, event, err);

out:
    return rc;
}

static mk_code next_row(mk_load *load, csv_table *table, bool *more, mk_err *err)
{
    mk_event event;
    mk_op op;
    mk_code rc = next_record(load, table, more, err);

    if (!*more)
        return rc;
    const uint64_t line = load->reader->line;
    const mk_code counted = mk_load__count_row(load, err);
    if (counted != MK_OK)
        return counted;
    if (rc == MK_OK)
        rc = read_row(load, table, &event, &op, err);
    else if (rc == MK_E_LIMIT)
        mk_load__path(load, line, NULL, err);
    if (rc != MK_OK)
        return mk_load__tolerate(load, line, rc, err);
    return table->map.nodes ? load->sink->op(load->sink, &op, line, err)
                            : load->sink->event(load->sink, &event, line, err);
}

/* ---- header and unit ---- */

/* Names of the columns: the first record, or 1, 2, ... when there is no header. Without a header the
 * first record is only looked at. */
static mk_code read_header(mk_load *load, csv_table *table, bool *more, mk_err *err)
{
    mk_load_reader *reader = load->reader;
    record_end end = {0};
    mk_code rc = MK_OK;

    if (!load->options->no_header) {
        MK_TRY(rc, next_record(load, table, more, err));
        if (*more)
            MK_TRY(rc, mk_load__check_utf8(load, (mk_str){reader->record, reader->record_size}, err));
    } else {
        MK_TRY(rc, find_record(reader, table->separator, true, &end, more, err));
        if (*more) {
            /* A copy, since splitting folds quotes in place. */
            mk_buf copy;
            mk_buf_init(&copy, table->alloc);
            mk_buf_put(&copy, reader->at, end.size);
            reader->line = 1;
            rc = mk_buf_done(&copy, err);
            if (rc == MK_OK)
                rc = split_record(load, table, copy.p, end.size, err);
            mk_buf_free(&copy);
        }
    }
    table->columns = table->field_count;

out:
    return rc;
}

/* Digits, a sign before them and a point among them: enough to tell numbers from dates. */
static bool is_plain_number(mk_str text)
{
    size_t i = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
    const size_t first = i;

    while (i < text.n && ((text.p[i] >= '0' && text.p[i] <= '9') || text.p[i] == '.'))
        i++;
    return i == text.n && i > first;
}

/* The unit of the first rows' largest start. Quoted numbers are looked at without their quotes. */
static mk_code look_ahead(mk_load *load, csv_table *table, mk_err *err)
{
    mk_load_reader *reader = load->reader;
    const csv_source *source = &table->map.vt_s;
    mk_load_unit largest = MK_LOAD_UNIT_AUTO;
    bool grew = true, found = true, numbers = false;
    record_end end = {0};
    mk_code rc = MK_OK;

    if (table->times.unit != MK_LOAD_UNIT_AUTO || source->kind != CSV_COLUMN)
        return MK_OK;
    while (grew && mk_load__window(reader).n < PROBE_BYTES)
        MK_TRY(rc, mk_load__grow(reader, &grew, err));
    while (end.at < PROBE_BYTES) {
        MK_TRY(rc, find_record(reader, table->separator, false, &end, &found, err));
        if (!found)
            break;
        const char *p = mk_load__window(reader).p + end.at, *const stop = p + end.size;
        size_t column = 0;
        bool quoted = false;
        for (; p < stop && column < source->column; p++) {
            quoted ^= *p == '"';
            column += !quoted && *p == table->separator;
        }
        mk_str text = {p, 0};
        while (p + text.n < stop && p[text.n] != table->separator)
            text.n++;
        if (text.n >= 2 && text.p[0] == '"')
            text = (mk_str){text.p + 1, text.n - 2};
        const mk_load_unit class = mk_load__unit_class(text);
        numbers = numbers || is_plain_number(text);
        if (class > largest)
            largest = class;
        end.at += end.whole;
    }
    if (numbers) {
        table->times.unit = largest == MK_LOAD_UNIT_AUTO ? MK_LOAD_UNIT_S : largest;
        table->times.detected = true;
    }

out:
    return rc;
}

mk_code mk_load__csv(mk_load *load, char separator, mk_err *err)
{
    csv_table table = {.alloc = load->sink->arena->alloc,
                       .separator = separator,
                       .times.unit = load->options->unit,
                       .prefix = mk_load__option(load->options->prefix, "")};
    bool more = false;
    mk_code rc;

    mk_arena_init(&table.arena, table.alloc);
    MK_TRY(rc, mk_load__skip_bom(load->reader, err));
    MK_TRY(rc, read_header(load, &table, &more, err));
    if (!more)
        goto out;
    MK_TRY(rc, mk_csv__map(load, &table, err));
    MK_TRY(rc, look_ahead(load, &table, err));
    while (more)
        MK_TRY(rc, next_row(load, &table, &more, err));

out:
    load->report->unit = table.times.unit;
    mk_arena_free(&table.arena);
    if (table.fields != NULL)
        mk_free(table.alloc, table.fields, table.field_cap * sizeof *table.fields);
    return rc;
}

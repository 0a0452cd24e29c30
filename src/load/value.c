/* value.c — cells and tokens: times, typed properties, uids.
 *
 * Everything here turns text of a foreign file into what the log keeps: microseconds, canonical JSON,
 * UTF-8. A cell that cannot be read is a bad row that names the cell. */
#include "load/load_internal.h"

#include <math.h>

#include "base/num.h"

/* Longest number that is looked at (STORAGE.md, Limits). */
#define NUMBER_MAX 4096

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- numbers ---- */

/* What a token is by its spelling. Signs "+" and "-" are taken, leading zeros are told apart because
 * JSON has none and "007" is more likely a name than a number. */
typedef struct spelling {
    bool integer, decimal; /* neither: no number */
    bool leading_zero;
} spelling;

static spelling spell(mk_str s)
{
    spelling out = {0};
    size_t i = 0, digits, fraction = 0;
    bool dot = false, exponent = false;

    if (s.n == 0 || s.n > NUMBER_MAX)
        return out;
    if (s.p[0] == '-' || s.p[0] == '+')
        i++;
    const size_t first = i;
    while (i < s.n && is_digit(s.p[i]))
        i++;
    digits = i - first;
    if (i < s.n && s.p[i] == '.') {
        dot = true;
        i++;
        const size_t start = i;
        while (i < s.n && is_digit(s.p[i]))
            i++;
        fraction = i - start;
    }
    if (digits + fraction == 0)
        return out;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        exponent = true;
        i++;
        if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
            i++;
        const size_t start = i;
        while (i < s.n && is_digit(s.p[i]))
            i++;
        if (i == start)
            return out;
    }
    if (i != s.n)
        return out;
    out.leading_zero = digits > 1 && s.p[first] == '0';
    out.integer = !dot && !exponent;
    out.decimal = !out.integer;
    return out;
}

/* A number spelled as above to the nearest double. The token is brought into JSON's grammar first:
 * no "+", digits on both sides of the point. */
static mk_code to_double(mk_load *load, mk_str s, double *out, mk_err *err)
{
    mk_buf *buf = &load->scratch;
    int64_t whole;

    /* Exact below 2^53, which is nearly always. */
    if (s.n <= 15 && mk_str_to_i64(s, &whole) && whole != 0) {
        *out = (double)whole;
        return MK_OK;
    }
    const size_t start = buf->n;
    size_t i = 0;

    if (s.p[i] == '-' || s.p[i] == '+') {
        if (s.p[i] == '-')
            mk_buf_c(buf, '-');
        i++;
    }
    while (i + 1 < s.n && s.p[i] == '0' && is_digit(s.p[i + 1]))
        i++;
    if (!is_digit(s.p[i]))
        mk_buf_c(buf, '0');
    for (; i < s.n; i++) {
        mk_buf_c(buf, s.p[i]);
        if (s.p[i] == '.' && (i + 1 == s.n || !is_digit(s.p[i + 1])))
            mk_buf_c(buf, '0');
    }
    const mk_code rc = mk_buf_done(buf, err);
    if (rc == MK_OK)
        *out = mk_double_parse((mk_str){buf->p + start, buf->n - start});
    buf->n = start;
    return rc;
}

/* ---- times ---- */

static int64_t unit_scale(mk_load_unit unit)
{
    return unit == MK_LOAD_UNIT_US ? 1 : unit == MK_LOAD_UNIT_MS ? 1000 : 1000000;
}

const char *mk_load_unit_name(mk_load_unit unit)
{
    static const char *const names[] = {"auto", "s", "ms", "us"};

    return names[unit];
}

bool mk_load_unit_named(const char *name, mk_load_unit *out)
{
    for (mk_load_unit unit = MK_LOAD_UNIT_AUTO; unit <= MK_LOAD_UNIT_US; unit++) {
        if (strcmp(name, mk_load_unit_name(unit)) == 0) {
            *out = unit;
            return true;
        }
    }
    return false;
}

/* The classes meet where seconds reach the year 5138 and milliseconds 1973. */
static mk_load_unit class_of_digits(size_t digits)
{
    return digits <= 8    ? MK_LOAD_UNIT_AUTO
           : digits <= 11 ? MK_LOAD_UNIT_S
           : digits <= 14 ? MK_LOAD_UNIT_MS
                          : MK_LOAD_UNIT_US;
}

mk_load_unit mk_load__unit_class(mk_str text)
{
    const spelling kind = spell(text);
    size_t i = 0, digits = 0;

    if (!kind.integer && !kind.decimal)
        return MK_LOAD_UNIT_AUTO;
    if (text.p[0] == '-' || text.p[0] == '+')
        i++;
    while (i < text.n && text.p[i] == '0')
        i++;
    while (i < text.n && is_digit(text.p[i])) {
        i++;
        digits++;
    }
    if (i < text.n && kind.decimal && memchr(text.p, 'e', text.n) == NULL &&
        memchr(text.p, 'E', text.n) == NULL)
        return class_of_digits(digits);
    return kind.decimal ? MK_LOAD_UNIT_AUTO : class_of_digits(digits);
}

static mk_code out_of_range(mk_load *load, mk_str text, mk_err *err)
{
    mk_load__bad(load, text.p, err, "time '%.*s' is out of range", MK_LOAD_QUOTE(text));
    mk_err_hint(err, "times go from -2^62 to 2^62 microseconds; is the unit right?");
    return MK_E_INVALID_ARG;
}

/* Tells the unit by the first number, or holds a later number against it. */
static mk_code agree_on_unit(mk_load *load, mk_load_times *times, mk_str text, mk_err *err)
{
    const mk_load_unit class = mk_load__unit_class(text);

    if (times->unit == MK_LOAD_UNIT_AUTO) {
        times->unit = class == MK_LOAD_UNIT_AUTO ? MK_LOAD_UNIT_S : class;
        times->detected = true;
        return MK_OK;
    }
    if (!times->detected || class == MK_LOAD_UNIT_AUTO || class == times->unit)
        return MK_OK;
    mk_load__bad(load, text.p, err,
                 "time '%.*s' looks like %s, but the first rows were read as %s",
                 MK_LOAD_QUOTE(text), mk_load_unit_name(class), mk_load_unit_name(times->unit));
    mk_err_hint(err, "say which it is with --unit s, --unit ms or --unit us");
    return MK_E_INVALID_ARG;
}

static mk_code time_of_integer(mk_load *load, const mk_load_times *times, mk_str text,
                               int64_t *out, mk_err *err)
{
    int64_t value;

    if (!mk_str_to_i64(text, &value) ||
        __builtin_mul_overflow(value, unit_scale(times->unit), &value) || value < MK_TIME_MIN ||
        value > MK_OPEN_END)
        return out_of_range(load, text, err);
    *out = value;
    return MK_OK;
}

static mk_code time_of_double(mk_load *load, const mk_load_times *times, mk_str text, int64_t *out,
                              mk_err *err)
{
    double value;
    const mk_code rc = to_double(load, text, &value, err);

    if (rc != MK_OK)
        return rc;
    value = trunc(value * (double)unit_scale(times->unit));
    if (!(value >= (double)MK_TIME_MIN && value <= (double)MK_OPEN_END))
        return out_of_range(load, text, err);
    *out = (int64_t)value;
    return MK_OK;
}

static mk_code time_of_text(mk_load *load, const mk_load_times *times, mk_str text, int64_t *out,
                            mk_err *err)
{
    if (times->number == MK_LOAD_NUMBER_ANY && mk_time_parse(text, out, err) == MK_OK)
        return MK_OK;
    mk_load__bad(load, text.p, err, "'%.*s' is no time", MK_LOAD_QUOTE(text));
    if (times->number == MK_LOAD_NUMBER_INTEGER)
        mk_err_hint(err, "this format takes whole seconds such as 1082040961");
    else if (times->number == MK_LOAD_NUMBER_DOUBLE)
        mk_err_hint(err, "this format takes seconds such as 1289241911.72836");
    else
        mk_err_hint(err, "write a number such as 1082040961 or a date such as 2004-04-15T14:56:01Z");
    return MK_E_INVALID_ARG;
}

/* Eight digits at once; false when one of them is none. The bytes are in the order of the text, the
 * first digit lowest on a little-endian machine.
 * Source: Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019, section 3.1.4. */
static inline bool eight_digits(const char *p, int64_t *out)
{
    uint64_t v;

    memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    if (((v & UINT64_C(0xF0F0F0F0F0F0F0F0)) |
         (((v + UINT64_C(0x0606060606060606)) & UINT64_C(0xF0F0F0F0F0F0F0F0)) >> 4)) !=
        UINT64_C(0x3333333333333333))
        return false;
    v = (v & UINT64_C(0x0F0F0F0F0F0F0F0F)) * 2561 >> 8;
    v = (v & UINT64_C(0x00FF00FF00FF00FF)) * 6553601 >> 16;
    *out = (int64_t)((v & UINT64_C(0x0000FFFF0000FFFF)) * UINT64_C(42949672960001) >> 32);
    return true;
}

/* The common case by itself: 9 to 18 plain digits of the class that was agreed on. */
static inline bool plain_time(const mk_load_times *times, mk_str text, int64_t *out)
{
    int64_t value;

    if (text.n < 9 || text.n > 18 || times->unit == MK_LOAD_UNIT_AUTO ||
        times->number == MK_LOAD_NUMBER_DOUBLE || text.p[0] == '0' ||
        (times->detected && class_of_digits(text.n) != times->unit) ||
        !eight_digits(text.p, &value))
        return false;
    for (size_t i = 8; i < text.n; i++) {
        if (!is_digit(text.p[i]))
            return false;
        value = value * 10 + (text.p[i] - '0');
    }
    return !__builtin_mul_overflow(value, unit_scale(times->unit), out) && *out <= MK_OPEN_END;
}

mk_code mk_load__time(mk_load *load, mk_load_times *times, mk_str text, int64_t *out, mk_err *err)
{
    if (plain_time(times, text, out))
        return MK_OK;
    const spelling kind = spell(text);
    if (!kind.integer && !(kind.decimal && times->number != MK_LOAD_NUMBER_INTEGER))
        return time_of_text(load, times, text, out, err);
    const mk_code rc = agree_on_unit(load, times, text, err);
    if (rc != MK_OK)
        return rc;
    if (kind.integer && times->number != MK_LOAD_NUMBER_DOUBLE)
        return time_of_integer(load, times, text, out, err);
    return time_of_double(load, times, text, out, err);
}

/* ---- properties ---- */

static const struct {
    const char *name;
    mk_load_type type;
} type_names[] = {
    {"auto", MK_LOAD_T_AUTO}, {"int", MK_LOAD_T_INT},       {"float", MK_LOAD_T_FLOAT},
    {"bool", MK_LOAD_T_BOOL}, {"string", MK_LOAD_T_STRING}, {"json", MK_LOAD_T_JSON},
    {"time", MK_LOAD_T_TIME},
};

bool mk_load__type_named(mk_str name, mk_load_type *out)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (mk_str_eq(name, mk_str_of(type_names[i].name))) {
            *out = type_names[i].type;
            return true;
        }
    }
    return false;
}

/* Canonical decimal: no "+", no leading zeros, no "-0". Any number of digits. */
static void put_integer(mk_buf *out, mk_str s)
{
    const bool negative = s.p[0] == '-';

    if (s.p[0] == '-' || s.p[0] == '+')
        s = (mk_str){s.p + 1, s.n - 1};
    while (s.n > 1 && s.p[0] == '0')
        s = (mk_str){s.p + 1, s.n - 1};
    if (negative && s.p[0] != '0')
        mk_buf_c(out, '-');
    mk_buf_str(out, s);
}

static mk_code not_a(mk_load *load, const mk_load_prop *prop, mk_str cell, const char *what,
                     mk_err *err)
{
    return mk_load__bad(load, cell.p, err, "'%.*s' in column %.*s is no %s", MK_LOAD_QUOTE(cell),
                        MK_LOAD_QUOTE(prop->name), what);
}

static mk_code put_float(mk_load *load, const mk_load_prop *prop, mk_str cell, mk_err *err)
{
    double value;
    const mk_code rc = to_double(load, cell, &value, err);

    if (rc != MK_OK)
        return rc;
    if (!isfinite(value))
        return not_a(load, prop, cell, "number that a double can hold", err);
    mk_canon_double(&load->scratch, value);
    return MK_OK;
}

static bool read_bool(mk_str cell, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "f", "t", "0", "1", "n", "y"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t k = 0;
        while (k < cell.n && words[i][k] != '\0' &&
               (cell.p[k] | (is_digit(words[i][k]) ? 0 : 0x20)) == words[i][k])
            k++;
        if (k == cell.n && words[i][k] == '\0') {
            *out = i % 2 == 1;
            return true;
        }
    }
    return false;
}

static mk_code put_json(mk_load *load, const mk_load_prop *prop, mk_str cell, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(load->sink->arena);
    const mk_code rc = mk_canon_text(&load->scratch, load->sink->arena, cell, NULL, err);

    mk_arena_rewind(load->sink->arena, mark);
    return rc == MK_E_SCHEMA ? not_a(load, prop, cell, "JSON", err) : rc;
}

static mk_code put_value(mk_load *load, mk_load_times *times, const mk_load_prop *prop, mk_str cell,
                         mk_err *err)
{
    mk_buf *out = &load->scratch;
    const spelling kind = spell(cell);
    int64_t time;
    bool truth;
    mk_code rc;

    switch (prop->type) {
    case MK_LOAD_T_AUTO:
        if (kind.integer && !kind.leading_zero)
            put_integer(out, cell);
        else if (kind.decimal && !kind.leading_zero)
            return put_float(load, prop, cell, err);
        else
            mk_canon_string(out, cell);
        return MK_OK;
    case MK_LOAD_T_INT:
        if (!kind.integer)
            return not_a(load, prop, cell, "integer", err);
        put_integer(out, cell);
        return MK_OK;
    case MK_LOAD_T_FLOAT:
        if (!kind.integer && !kind.decimal)
            return not_a(load, prop, cell, "number", err);
        return put_float(load, prop, cell, err);
    case MK_LOAD_T_BOOL:
        if (!read_bool(cell, &truth))
            return not_a(load, prop, cell, "truth value (true, false, yes, no, 1, 0)", err);
        mk_buf_z(out, truth ? "true" : "false");
        return MK_OK;
    case MK_LOAD_T_STRING:
        mk_canon_string(out, cell);
        return MK_OK;
    case MK_LOAD_T_JSON:
        return put_json(load, prop, cell, err);
    case MK_LOAD_T_TIME:
        rc = mk_load__time(load, times, cell, &time, err);
        if (rc == MK_OK)
            mk_buf_i64(out, time);
        return rc;
    }
    return MK_OK;
}

mk_code mk_load__props_prepare(mk_arena *arena, mk_load_prop *props, size_t count, mk_err *err)
{
    mk_buf key;
    mk_code rc = MK_OK;

    mk_buf_init(&key, arena->alloc);
    for (size_t i = 1; i < count; i++) {
        const mk_load_prop prop = props[i];
        size_t k = i;
        for (; k > 0 && mk_str_cmp(props[k - 1].name, prop.name) > 0; k--)
            props[k] = props[k - 1];
        props[k] = prop;
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && mk_str_eq(props[i - 1].name, props[i].name)) {
            rc = mk_fail(err, MK_E_INVALID_ARG, "two columns are called '%.*s'",
                         MK_LOAD_QUOTE(props[i].name));
            mk_err_hint(err, "name the columns yourself, and skip one");
            goto out;
        }
        mk_buf_clear(&key);
        mk_canon_string(&key, props[i].name);
        mk_buf_c(&key, ':');
        MK_TRY(rc, mk_buf_done(&key, err));
        props[i].key = mk_arena_copy(arena, mk_buf_view(&key));
        if (props[i].key.p == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
    }

out:
    mk_buf_free(&key);
    return rc;
}

mk_code mk_load__props_text(mk_load *load, mk_load_times *times, const mk_load_prop *props,
                            size_t count, const mk_str *fields, size_t field_count, mk_str *out,
                            mk_err *err)
{
    mk_buf *buf = &load->scratch;
    mk_code rc;

    mk_buf_clear(buf);
    for (size_t i = 0; i < count; i++) {
        if (props[i].column >= field_count || fields[props[i].column].n == 0)
            continue;
        mk_buf_c(buf, buf->n == 0 ? '{' : ',');
        mk_buf_str(buf, props[i].key);
        MK_TRY(rc, put_value(load, times, &props[i], fields[props[i].column], err));
    }
    *out = (mk_str){NULL, 0};
    if (buf->n == 0)
        return MK_OK;
    mk_buf_c(buf, '}');
    MK_TRY(rc, mk_buf_done(buf, err));
    *out = mk_arena_copy(load->sink->arena, mk_buf_view(buf));
    if (out->p == NULL)
        rc = mk_fail_nomem(err);

out:
    return rc;
}

/* ---- text ---- */

mk_code mk_load__uid_slow(mk_load *load, mk_str prefix, mk_str text, mk_str *out, mk_err *err)
{
    if (text.n == 0) {
        mk_load__bad(load, text.p, err, "a node has an empty name");
        mk_err_hint(err, "fill in the cell, or skip the row with --skip-bad");
        return MK_E_INVALID_ARG;
    }
    if (prefix.n == 0) {
        *out = text;
        return MK_OK;
    }
    const size_t size = prefix.n + text.n;
    char *p = mk_arena_get(load->sink->arena, size);
    if (p == NULL)
        return mk_fail_nomem(err);
    memcpy(p, prefix.p, prefix.n);
    memcpy(p + prefix.n, text.p, text.n);
    *out = (mk_str){p, size};
    return MK_OK;
}

/* Whether any byte has its high bit set, eight at a time. */
static bool is_ascii(mk_str s)
{
    const char *p = s.p;
    uint64_t word, any = 0;

    for (; s.n >= 8; p += 8, s.n -= 8) {
        memcpy(&word, p, 8);
        any |= word;
    }
    for (; s.n > 0; p++, s.n--)
        any |= (uint64_t)(unsigned char)*p;
    return (any & UINT64_C(0x8080808080808080)) == 0;
}

mk_code mk_load__check_utf8(mk_load *load, mk_str record, mk_err *err)
{
    if (is_ascii(record))
        return MK_OK;
    const size_t wrong = mk_utf8_check(record);
    if (wrong == record.n)
        return MK_OK;
    mk_load__bad(load, record.p + wrong, err, "byte 0x%02x is not UTF-8",
                 (unsigned)(unsigned char)record.p[wrong]);
    mk_err_hint(err, "convert the file first, for example with iconv -f latin1 -t utf-8");
    return MK_E_INVALID_ARG;
}

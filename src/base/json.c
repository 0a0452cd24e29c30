/* json.c — the pull reader.
 *
 * The reader is an offset, a count of open containers with one bit each for their kind, and what is
 * expected next. Invariant between calls: everything before `at` is a valid prefix of a JSON text;
 * `expect` says what may follow it. A call that fails commits nothing, so calling again reports the
 * same error again. A name takes its colon with it, so no state is needed between the two.
 *
 * Log replay runs on this file, hence the reading of eight bytes at a time: a word of text is
 * tested for the bytes that end or break a string, and a word of digits becomes a number, with a
 * few operations on all eight at once (Mycroft 1987; Lamport 1975).
 * Source: store spec, section 3. */
#include "base/json.h"

#include <stdio.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/num.h"

#define DEPTH_MAX 256 /* bits in mk_json_reader.stack */

/* The common way through a token is one straight piece of code; everything else is out of line. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((cold, noinline))
#define LIKELY(x) __builtin_expect((x), 1)

const mk_json_limits mk_json_limits_default = {
    .depth = 128,
    .string_size = (size_t)16 << 20,
    .number_size = 4096,
    .members = (size_t)16 << 20,
};

enum { EXPECT_VALUE = 0, EXPECT_ITEM_OR_END, EXPECT_KEY_OR_END, EXPECT_SEPARATOR };

static_assert(sizeof(((mk_json_reader *)0)->stack) * 8 == DEPTH_MAX, "one bit a level");

void mk_json_open(mk_json_reader *reader, const mk_alloc *alloc, mk_str input,
                  const mk_json_limits *limits)
{
    *reader = (mk_json_reader){.input = input, .expect = EXPECT_VALUE};
    reader->limits = limits != NULL ? limits : &mk_json_limits_default;
    mk_buf_init(&reader->scratch, alloc);
}

void mk_json_close(mk_json_reader *reader) { mk_buf_free(&reader->scratch); }

/* ---- errors ---- */


static COLD mk_code fail_found(const mk_json_reader *reader, size_t at, const char *expected,
                               mk_err *err)
{
    char found[32] = "the end of the text";
    if (at < reader->input.n) {
        const unsigned char c = (unsigned char)reader->input.p[at];
        const bool printable = c > 0x20 && c < 0x7F;
        snprintf(found, sizeof found, printable ? "'%c'" : "byte 0x%02X", c);
    }
    mk_fail(err, MK_E_SCHEMA, "invalid JSON at byte %zu: expected %s, found %s", at, expected,
            found);
    mk_err_offset(err, (int64_t)at);
    return MK_E_SCHEMA;
}

static COLD mk_code fail_limit(size_t at, const char *reason, size_t limit, const char *unit,
                               mk_err *err)
{
    mk_fail(err, MK_E_LIMIT, "JSON beyond a limit at byte %zu: more than %zu %s", at, limit, unit);
    mk_err_offset(err, (int64_t)at);
    mk_err_reason(err, reason);
    mk_err_hint(err, "stay within %zu %s", limit, unit);
    return MK_E_LIMIT;
}

static COLD mk_code fail_number_size(const mk_json_reader *reader, size_t at, mk_err *err)
{
    return fail_limit(at, "json_number_size", reader->limits->number_size,
                      "characters in one number", err);
}

static COLD mk_code fail_string_size(const mk_json_reader *reader, size_t at, mk_err *err)
{
    return fail_limit(at, "json_string_size", reader->limits->string_size, "bytes in one string",
                      err);
}

static COLD mk_code fail_value(const mk_json_reader *reader, size_t at, mk_err *err)
{
    const mk_str rest = {reader->input.p + at, reader->input.n - at};
    mk_code rc = fail_found(reader, at, "a value", err);
    if (mk_str_starts(rest, MK_STR("\xEF\xBB\xBF")))
        mk_err_hint(err, "leave out the byte order mark (EF BB BF)");
    else if (mk_str_starts(rest, MK_STR("'")))
        mk_err_hint(err, "write strings in double quotes");
    return rc;
}

static COLD mk_code fail_control(const mk_json_reader *reader, size_t at, mk_err *err)
{
    mk_code rc = fail_found(reader, at, "no bare control character in a string", err);
    mk_err_hint(err, "write it as \\u%04x", (unsigned)(unsigned char)reader->input.p[at]);
    return rc;
}

static COLD mk_code fail_surrogate(size_t at, unsigned unit, mk_err *err)
{
    mk_fail(err, MK_E_SCHEMA,
            "invalid JSON at byte %zu: expected a pair of surrogates, found \\u%04x alone", at,
            unit);
    mk_err_offset(err, (int64_t)at);
    mk_err_hint(err, "write both halves of the pair, or \\ufffd in its place");
    return MK_E_SCHEMA;
}

/* ---- eight bytes at a time ---- */

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))
#define HIGH_BITS EACH_BYTE(0x80)

/* The byte at p becomes the lowest. */
static inline uint64_t load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The high bit of every byte below `limit` (at most 0x80). A borrow may mark a byte above a marked
 * one as well, so only the lowest mark counts. */
static inline uint64_t bytes_below(uint64_t word, uint8_t limit)
{
    return (word - EACH_BYTE(limit)) & ~word & HIGH_BITS;
}

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Marks the bytes that are not plain. */
static inline uint64_t string_stops(uint64_t word)
{
    return bytes_below(word ^ EACH_BYTE('"'), 1) | bytes_below(word ^ EACH_BYTE('\\'), 1) |
           bytes_below(word, 0x20) | (word & HIGH_BITS);
}

#ifdef __SSE2__
/* Marks quotes, backslashes, control characters and what is not ASCII, one bit a byte: as a signed
 * number the last two are below a space. */
static inline unsigned text_marks(const char *p)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i escapes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const __m128i others = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, escapes), others));
}
#endif

/* The first byte from p on that is not plain text of a string: a quote, a backslash, a control
 * character, the start of a character beyond ASCII; `end` when there is none. */
static ALWAYS_INLINE const char *skip_plain(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; LIKELY(end - p >= 16); p += 16) {
        const unsigned marks = text_marks(p);
        if (LIKELY(marks != 0))
            return p + __builtin_ctz(marks);
    }
#endif
    for (; end - p >= 8; p += 8) {
        const uint64_t stops = string_stops(load8(p));
        if (stops != 0)
            return p + __builtin_ctzll(stops) / 8;
    }
    while (p < end && is_plain((unsigned char)*p))
        p++;
    return p;
}

static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* Adding 6 to a digit leaves its high half at 3; adding it to ':'..'?' does not. */
static inline bool all_digits(uint64_t word)
{
    const uint64_t high = EACH_BYTE(0xF0);
    return (word & high) == EACH_BYTE(0x30) && ((word + EACH_BYTE(6)) & high) == EACH_BYTE(0x30);
}

/* Neighbours are joined three times: digits to pairs, pairs to fours, fours to eight. */
static inline uint64_t eight_digits(uint64_t word)
{
    word -= EACH_BYTE('0');
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    return (word * 10000 + (word >> 32)) & UINT64_C(0xFFFFFFFF);
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static COLD size_t skip_spaces(const mk_json_reader *reader, size_t at)
{
    const mk_str in = reader->input;
    while (at < in.n && is_space(in.p[at]))
        at++;
    return at;
}

/* Canonical text has no white space, so the way round it is kept out of line. */
static ALWAYS_INLINE size_t skip_space(const mk_json_reader *reader, size_t at)
{
    if (LIKELY(at < reader->input.n && reader->input.p[at] > ' '))
        return at;
    return skip_spaces(reader, at);
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The code unit of the four digits at p, -1 when there are not four before `end`. */
static int hex_unit(const char *p, const char *end)
{
    int unit = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *put_utf8(char *out, unsigned c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (char)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *out++ = (char)(0xE0 | c >> 12);
        } else {
            *out++ = (char)(0xF0 | c >> 18);
            *out++ = (char)(0x80 | (c >> 12 & 0x3F));
        }
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
    }
    *out++ = (char)(0x80 | (c & 0x3F));
    return out;
}

/* Where decoding stands: reads from p up to `end`, the closing quote, and writes to out. */
typedef struct decoder {
    const char *p;
    const char *end;
    char *out;
} decoder;

/* p stands on the backslash of \uXXXX. */
static mk_code decode_unicode(const mk_json_reader *reader, decoder *d, mk_err *err)
{
    const size_t at = (size_t)(d->p - reader->input.p);
    const int unit = hex_unit(d->p + 2, d->end);
    if (unit < 0)
        return fail_found(reader, at, "\\u and four hexadecimal digits", err);
    unsigned c = (unsigned)unit;
    d->p += 6;
    if (c >= 0xD800 && c <= 0xDFFF) {
        const bool more = d->end - d->p >= 6 && d->p[0] == '\\' && d->p[1] == 'u';
        const int low = more ? hex_unit(d->p + 2, d->end) : -1;
        if (c >= 0xDC00 || low < 0xDC00 || low > 0xDFFF)
            return fail_surrogate(at, c, err);
        c = 0x10000 + ((c - 0xD800) << 10) + ((unsigned)low - 0xDC00);
        d->p += 6;
    }
    d->out = put_utf8(d->out, c);
    return MK_OK;
}

static mk_code decode_escape(const mk_json_reader *reader, decoder *d, mk_err *err)
{
    char c = d->p[1];
    switch (c) {
    case '"':
    case '\\':
    case '/':
        break;
    case 'b':
        c = '\b';
        break;
    case 'f':
        c = '\f';
        break;
    case 'n':
        c = '\n';
        break;
    case 'r':
        c = '\r';
        break;
    case 't':
        c = '\t';
        break;
    case 'u':
        return decode_unicode(reader, d, err);
    default:
        return fail_found(reader, (size_t)(d->p + 1 - reader->input.p),
                          "one of \" \\ / b f n r t u behind a backslash", err);
    }
    *d->out++ = c;
    d->p += 2;
    return MK_OK;
}

/* Decoded text is never longer than its source, so one request for room is enough. */
static mk_code decode(mk_json_reader *reader, const char *p, const char *end, mk_err *err)
{
    mk_buf_clear(&reader->scratch);
    decoder d = {p, end, mk_buf_room(&reader->scratch, (size_t)(end - p))};
    if (d.out == NULL)
        return mk_fail_nomem(err);
    while (d.p < end) {
        const char *escape = memchr(d.p, '\\', (size_t)(end - d.p));
        const size_t plain = (size_t)((escape != NULL ? escape : end) - d.p);
        memcpy(d.out, d.p, plain);
        d.out += plain;
        d.p += plain;
        if (escape == NULL)
            break;
        const mk_code rc = decode_escape(reader, &d, err);
        if (rc != MK_OK)
            return rc;
    }
    reader->scratch.n = (size_t)(d.out - reader->scratch.p);
    return MK_OK;
}

/* Finds the closing quote of a string that may hold anything. */
static mk_code find_quote(const mk_json_reader *reader, const char *p, const char **quote,
                          mk_err *err)
{
    const char *const end = reader->input.p + reader->input.n;
    for (;;) {
        p = skip_plain(p, end);
        while (p < end && (unsigned char)*p >= 0x80)
            p++;
        if (p < end && is_plain((unsigned char)*p))
            continue;
        if (p < end && *p == '\\' && end - p >= 2) {
            p += 2;
            continue;
        }
        if (p == end || *p == '\\')
            return fail_found(reader, reader->input.n, "a closing '\"'", err);
        if (*p != '"')
            return fail_control(reader, (size_t)(p - reader->input.p), err);
        *quote = p;
        return MK_OK;
    }
}

static mk_code check_utf8(const mk_json_reader *reader, mk_str raw, mk_err *err)
{
    const size_t bad = mk_utf8_check(raw);
    if (bad == raw.n)
        return MK_OK;
    return fail_found(reader, (size_t)(raw.p - reader->input.p) + bad, "UTF-8 text", err);
}

/* Everything that the short way of read_string below does not do. */
static NOINLINE mk_code read_any_string(mk_json_reader *reader, size_t at, mk_err *err)
{
    const char *const first = reader->input.p + at + 1;
    const size_t limit = reader->limits->string_size;
    const char *quote = first;
    mk_code rc;

    MK_TRY(rc, find_quote(reader, first, &quote, err));
    const mk_str raw = {first, (size_t)(quote - first)};
    /* Not even all escapes in their longest form would bring it below the limit. */
    if (raw.n / 6 > limit)
        return fail_string_size(reader, at, err);
    MK_TRY(rc, check_utf8(reader, raw, err));
    reader->borrowed = memchr(raw.p, '\\', raw.n) == NULL;
    reader->text = raw;
    if (!reader->borrowed) {
        MK_TRY(rc, decode(reader, first, quote, err));
        reader->text = mk_buf_view(&reader->scratch);
    }
    if (reader->text.n > limit)
        return fail_string_size(reader, at, err);
    reader->start = at;
    reader->at = at + raw.n + 2;

out:
    return rc;
}

/* `at` is the opening quote. Plain ASCII text is its own decoded form. */
static ALWAYS_INLINE mk_code read_string(mk_json_reader *reader, size_t at, mk_err *err)
{
    const mk_str in = reader->input;
    const char *const first = in.p + at + 1;
    const char *const quote = skip_plain(first, in.p + in.n);
    const size_t size = (size_t)(quote - first);
    if (LIKELY(quote < in.p + in.n && *quote == '"' && size <= reader->limits->string_size)) {
        reader->text = (mk_str){first, size};
        reader->borrowed = true;
        reader->start = at;
        reader->at = at + size + 2;
        return MK_OK;
    }
    return read_any_string(reader, at, err);
}

/* ---- other scalars ---- */

static void set_token(mk_json_reader *reader, mk_json_token token, size_t at, size_t end)
{
    reader->token = token;
    reader->start = at;
    reader->at = end;
    reader->text = (mk_str){reader->input.p + at, end - at};
    reader->borrowed = true;
    reader->expect = EXPECT_SEPARATOR;
}

static mk_code read_word(mk_json_reader *reader, size_t at, mk_str word, mk_json_token token,
                         double d, mk_err *err)
{
    const mk_str rest = {reader->input.p + at, reader->input.n - at};
    if (!mk_str_starts(rest, word))
        return fail_value(reader, at, err);
    set_token(reader, token, at, at + word.n);
    reader->d = d;
    return MK_OK;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

/* p stands on the '.' or 'e' behind the digits of a number that starts at `at`. */
static mk_code read_float(mk_json_reader *reader, size_t at, const char *p, mk_err *err)
{
    const char *const end = reader->input.p + reader->input.n;
    if (*p == '.') {
        const char *const fraction = p + 1;
        p = skip_digits(fraction, end);
        if (p == fraction)
            return fail_found(reader, (size_t)(p - reader->input.p), "a digit", err);
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        const char *const exponent = p;
        p = skip_digits(exponent, end);
        if (p == exponent)
            return fail_found(reader, (size_t)(p - reader->input.p), "a digit", err);
    }
    const size_t stop = (size_t)(p - reader->input.p);
    if (stop - at > reader->limits->number_size)
        return fail_number_size(reader, at, err);
    set_token(reader, MK_TOK_FLOAT, at, stop);
    reader->d = mk_double_parse(reader->text);
    return MK_OK;
}

static COLD mk_code fail_digits(mk_json_reader *reader, size_t first, size_t count, bool negative,
                                mk_err *err)
{
    const mk_str in = reader->input;
    if (count > 0) {
        const mk_code rc = fail_found(reader, first + 1, "no digit behind a leading 0", err);
        mk_err_hint(err, "leave out the leading zeros");
        return rc;
    }
    if (negative && first < in.n && in.p[first] == 'I')
        return read_word(reader, first - 1, MK_STR("-Infinity"), MK_TOK_FLOAT, -__builtin_inf(),
                         err);
    return fail_found(reader, first, "a digit", err);
}

static NOINLINE mk_code read_number(mk_json_reader *reader, size_t at, mk_err *err)
{
    const char *const end = reader->input.p + reader->input.n;
    const bool negative = reader->input.p[at] == '-';
    const char *const first = reader->input.p + at + negative;
    const char *p = first;
    uint64_t value = 0; /* meaningless beyond 19 digits, and then not used */
    for (; end - p >= 8; p += 8) {
        const uint64_t word = load8(p);
        if (!all_digits(word))
            break;
        value = value * 100000000 + eight_digits(word);
    }
    for (; p < end && is_digit(*p); p++)
        value = value * 10 + (uint64_t)(*p - '0');

    const size_t count = (size_t)(p - first);
    if (count == 0 || (count > 1 && *first == '0'))
        return fail_digits(reader, at + negative, count, negative, err);
    if (p < end && (*p == '.' || (*p | 0x20) == 'e'))
        return read_float(reader, at, p, err);
    if (count + negative > reader->limits->number_size)
        return fail_number_size(reader, at, err);
    set_token(reader, MK_TOK_INT, at, at + negative + count);
    reader->big = count > 19 || (count == 19 && value > (uint64_t)INT64_MAX + negative);
    reader->i = reader->big ? 0 : negative ? (int64_t)(0 - value) : (int64_t)value;
    return MK_OK;
}

/* ---- containers ---- */

/* The innermost open container; there is one. */
static inline bool in_object(const mk_json_reader *reader)
{
    const size_t level = reader->depth - 1;
    return (reader->stack[level / 64] >> level % 64 & 1) != 0;
}

static mk_code read_open(mk_json_reader *reader, size_t at, bool object, mk_err *err)
{
    const size_t level = reader->depth;
    const size_t limit = reader->limits->depth < DEPTH_MAX ? reader->limits->depth : DEPTH_MAX;
    if (level >= limit)
        return fail_limit(at, "json_depth", limit, "nested arrays and objects", err);
    const uint64_t bit = UINT64_C(1) << level % 64;
    if (object)
        reader->stack[level / 64] |= bit;
    else
        reader->stack[level / 64] &= ~bit;
    reader->depth++;
    set_token(reader, object ? MK_TOK_OBJECT : MK_TOK_ARRAY, at, at + 1);
    reader->expect = object ? EXPECT_KEY_OR_END : EXPECT_ITEM_OR_END;
    return MK_OK;
}

/* Reads the end of the innermost container; `expected` is for the message when it is not there. */
static NOINLINE mk_code read_close(mk_json_reader *reader, size_t at, const char *expected,
                                   mk_err *err)
{
    const bool object = in_object(reader);
    if (at == reader->input.n || reader->input.p[at] != (object ? '}' : ']'))
        return fail_found(reader, at, expected, err);
    reader->depth--;
    set_token(reader, object ? MK_TOK_OBJECT_END : MK_TOK_ARRAY_END, at, at + 1);
    return MK_OK;
}

/* `at` is the opening quote of a member's name. */
static ALWAYS_INLINE mk_code read_name(mk_json_reader *reader, size_t at, mk_err *err)
{
    const mk_str in = reader->input;
    const size_t before = reader->at;
    const mk_code rc = read_string(reader, at, err);
    if (rc != MK_OK)
        return rc;
    size_t colon = reader->at;
    if (colon == in.n || in.p[colon] != ':') {
        colon = skip_spaces(reader, colon);
        if (colon == in.n || in.p[colon] != ':') {
            reader->at = before;
            return fail_found(reader, colon, "':' behind a member's name", err);
        }
    }
    reader->token = MK_TOK_KEY;
    reader->at = colon + 1;
    reader->expect = EXPECT_VALUE;
    return MK_OK;
}

static mk_code read_key(mk_json_reader *reader, size_t at, const char *expected, mk_err *err)
{
    if (at == reader->input.n || reader->input.p[at] != '"')
        return fail_found(reader, at, expected, err);
    return read_name(reader, at, err);
}

static NOINLINE mk_code read_value(mk_json_reader *reader, size_t at, mk_err *err)
{
    if (at == reader->input.n)
        return fail_value(reader, at, err);
    mk_code rc;
    switch (reader->input.p[at]) {
    case '"':
        rc = read_string(reader, at, err);
        if (rc == MK_OK) {
            reader->token = MK_TOK_STRING;
            reader->expect = EXPECT_SEPARATOR;
        }
        return rc;
    case '{':
        return read_open(reader, at, true, err);
    case '[':
        return read_open(reader, at, false, err);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(reader, at, err);
    case 'n':
        return read_word(reader, at, MK_STR("null"), MK_TOK_NULL, 0, err);
    case 't':
        return read_word(reader, at, MK_STR("true"), MK_TOK_TRUE, 0, err);
    case 'f':
        return read_word(reader, at, MK_STR("false"), MK_TOK_FALSE, 0, err);
    case 'N':
        return read_word(reader, at, MK_STR("NaN"), MK_TOK_FLOAT, __builtin_nan(""), err);
    case 'I':
        return read_word(reader, at, MK_STR("Infinity"), MK_TOK_FLOAT, __builtin_inf(), err);
    default:
        return fail_value(reader, at, err);
    }
}

static mk_code read_end(mk_json_reader *reader, size_t at, mk_err *err)
{
    if (at != reader->input.n)
        return fail_found(reader, at, "the end of the text", err);
    set_token(reader, MK_TOK_END, at, at);
    return MK_OK;
}

/* In front of an item, a member or the end of a container or of the text. */
static NOINLINE mk_code read_other(mk_json_reader *reader, size_t at, mk_err *err)
{
    const mk_str in = reader->input;
    if (reader->expect == EXPECT_SEPARATOR) {
        if (reader->depth == 0)
            return read_end(reader, at, err);
        if (at == in.n || in.p[at] != ',')
            return read_close(reader, at, in_object(reader) ? "',' or '}'" : "',' or ']'", err);
        const size_t next = skip_space(reader, at + 1);
        return in_object(reader) ? read_key(reader, next, "'\"' and a member's name", err)
                                 : read_value(reader, next, err);
    }
    const bool object = reader->expect == EXPECT_KEY_OR_END;
    if (at < in.n && in.p[at] == (object ? '}' : ']'))
        return read_close(reader, at, "", err);
    if (object)
        return read_key(reader, at, "'\"' and a member's name, or '}'", err);
    return read_value(reader, at, err);
}

mk_code mk_json_next(mk_json_reader *reader, mk_err *err)
{
    const mk_str in = reader->input;
    const size_t at = reader->at;
    if (reader->expect == EXPECT_VALUE)
        return read_value(reader, skip_space(reader, at), err);
    /* Canonical text in front of a member; the same with white space is left to read_other. */
    const bool at_member = reader->expect == EXPECT_SEPARATOR && reader->depth > 0 &&
                           in.n - at >= 2 && in.p[at] == ',' && in.p[at + 1] == '"';
    if (LIKELY(at_member && in_object(reader)))
        return read_name(reader, at + 1, err);
    return read_other(reader, skip_space(reader, at), err);
}

/* Nothing is taken on trust: what is skipped is read like the rest, only not handed out. A name is
 * taken for the value that follows it. */
mk_code mk_json_skip(mk_json_reader *reader, mk_str *raw, mk_err *err)
{
    mk_code rc = MK_OK;
    if (reader->token == MK_TOK_KEY)
        MK_TRY(rc, mk_json_next(reader, err));
    const size_t start = reader->start;
    if (reader->token == MK_TOK_OBJECT || reader->token == MK_TOK_ARRAY) {
        const size_t outside = reader->depth - 1;
        while (reader->depth > outside)
            MK_TRY(rc, mk_json_next(reader, err));
    }
    *raw = (mk_str){reader->input.p + start, reader->at - start};

out:
    return rc;
}

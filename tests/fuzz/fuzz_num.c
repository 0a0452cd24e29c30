/* fuzz_num.c — doubles and number tokens, against the C library.
 *
 * The first eight bytes are a double: its text reads back, to us and to strtod, and rounding is
 * what "%.9f" does. The rest picks the characters of a well-formed token, which must read as
 * strtod reads it in the C locale. */
#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "base/num.h"

#define TOKEN_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool law)
{
    if (!law)
        abort();
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void check_double(double d)
{
    char text[MK_DOUBLE_TEXT_MAX + 1];
    char rounded[400];
    const size_t n = mk_double_text(text, d);
    require(n <= MK_DOUBLE_TEXT_MAX);
    text[n] = '\0';
    if (!__builtin_isfinite(d))
        return;
    require(same(strtod(text, NULL), d));
    require(same(mk_double_parse((mk_str){text, n}), d));
    snprintf(rounded, sizeof rounded, "%.9f", d);
    require(same(mk_round9(d), strtod(rounded, NULL)));
}

/* Digits from bytes: an optional sign, one digit at least, then maybe a fraction, then maybe an
 * exponent. */
static void check_token(const uint8_t *data, size_t size)
{
    char text[TOKEN_MAX + 16];
    size_t n = 0;
    if (size < 4 || size > TOKEN_MAX)
        return;
    const int exponent = (int)(data[0] | (data[1] & 3) << 8) - 512;
    const size_t point = 1 + data[2] % (size - 3);
    if ((data[1] & 4) != 0)
        text[n++] = '-';
    for (size_t i = 3; i < size; i++) {
        if (i - 3 == point)
            text[n++] = '.';
        text[n++] = (char)('0' + data[i] % 10);
    }
    if ((data[1] & 8) != 0)
        n += (size_t)snprintf(text + n, sizeof text - n, "%c%d", (data[1] & 16) != 0 ? 'e' : 'E',
                              exponent);
    text[n] = '\0';
    require(same(mk_double_parse((mk_str){text, n}), strtod(text, NULL)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double d;
    if (size < sizeof d)
        return 0;
    memcpy(&d, data, sizeof d);
    check_double(d);
    check_token(data + sizeof d, size - sizeof d);
    return 0;
}

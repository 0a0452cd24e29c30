/* oracle_paper.c — see oracle_paper.h. */
#include "oracle_paper.h"

#include <math.h>
#include <string.h>

void paper_add(int8_t sum[PAPER_DIGITS], mk_str digits)
{
    const bool minus = digits.p[0] == '-';
    int carry = 0;
    for (size_t i = 0; i < PAPER_DIGITS; i++) {
        const size_t from_right = digits.n - (minus ? 1 : 0);
        const int digit = i < from_right ? digits.p[digits.n - 1 - i] - '0' : 0;
        int v = sum[i] + (minus ? -digit : digit) + carry;
        carry = v < 0 ? -1 : v / 10;
        sum[i] = (int8_t)(v < 0 ? v + 10 : v % 10);
    }
}

int64_t paper_divide(int8_t sum[PAPER_DIGITS], int64_t n, char *text)
{
    const bool minus = sum[PAPER_DIGITS - 1] == 9;
    int8_t quotient[PAPER_DIGITS];
    int64_t rest = 0;
    if (minus) { /* -s = ceil, so that floor(s / n) = -ceil(-s / n) */
        int8_t positive[PAPER_DIGITS];
        int carry = 1;
        for (size_t i = 0; i < PAPER_DIGITS; i++) {
            const int v = 9 - sum[i] + carry;
            positive[i] = (int8_t)(v % 10);
            carry = v / 10;
        }
        memcpy(sum, positive, sizeof positive);
    }
    for (size_t i = PAPER_DIGITS; i-- > 0;) {
        rest = rest * 10 + sum[i];
        quotient[i] = (int8_t)(rest / n);
        rest %= n;
    }
    if (minus && rest != 0) {
        paper_add(quotient, MK_STR("1"));
        rest = n - rest;
    }
    size_t top = PAPER_DIGITS - 1;
    while (top > 0 && quotient[top] == 0)
        top--;
    if (minus && (top > 0 || quotient[0] != 0))
        *text++ = '-';
    for (size_t i = top + 1; i-- > 0;)
        *text++ = (char)('0' + quotient[i]);
    *text = '\0';
    return rest;
}

void paper_expand(paper_expansion *e, double x)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++) {
        double y = e->part[i];
        if (fabs(x) < fabs(y)) {
            const double swap = x;
            x = y;
            y = swap;
        }
        const double high = x + y, low = y - (high - x);
        if (low != 0.0)
            e->part[kept++] = low;
        x = high;
    }
    if (x != 0.0) /* so a sum of zeros is +0.0 */
        e->part[kept++] = x;
    e->n = kept;
}

double paper_round(const paper_expansion *e)
{
    size_t n = e->n;
    double high = 0.0, low = 0.0;
    if (n > 0)
        high = e->part[--n];
    while (n > 0) {
        const double x = high, y = e->part[--n];
        high = x + y;
        low = y - (high - x);
        if (low != 0.0)
            break;
    }
    /* Half-way cases look at the next partial. */
    if (n > 0 && ((low < 0.0 && e->part[n - 1] < 0.0) || (low > 0.0 && e->part[n - 1] > 0.0))) {
        const double y = low * 2.0, x = high + y;
        if (y == x - high)
            high = x;
    }
    return high;
}

/* oracle_paper.h — exact sums the slow way, for oracles. Test support.
 *
 * Integers digit by digit in decimal, floats by the growing expansions of Shewchuk 1997, "Adaptive precision
 * floating-point arithmetic and fast robust geometric predicates". */
#ifndef MK_TESTS_ORACLE_PAPER_H
#define MK_TESTS_ORACLE_PAPER_H

#include "base/str.h"

enum { PAPER_DIGITS = 200, PAPER_PARTIALS = 64 };

/* A sum of integers, least digit first, negative ones in ten's complement. Zeroed: 0. */
void paper_add(int8_t sum[PAPER_DIGITS], mk_str digits);
/* Floor division by n > 0, which uses the sum up: the quotient's digits and a NUL at text (PAPER_DIGITS + 2
 * bytes), the remainder as the result. */
int64_t paper_divide(int8_t sum[PAPER_DIGITS], int64_t n, char *text);

/* A sum of doubles as parts that do not overlap, the largest last. Zeroed: 0. */
typedef struct paper_expansion {
    double part[PAPER_PARTIALS];
    size_t n;
} paper_expansion;
void paper_expand(paper_expansion *e, double x);
/* The double nearest to the sum, ties to even. */
double paper_round(const paper_expansion *e);

#endif

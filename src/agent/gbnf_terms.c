/* gbnf_terms.c — literal values as expressions of a grammar. See schema_gbnf.h. Layer: agent. */
#include <math.h>

#include "agent/gbnf_internal.h"

#define ITEMS_MAX 32 /* of a literal list: longer ones come through references */

void mk_gbnf__quote(mk_buf *out, const char *text)
{
    mk_buf_c(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            mk_buf_c(out, '\\');
        mk_buf_c(out, *text);
    }
    mk_buf_c(out, '"');
}

void mk_gbnf__key(mk_buf *out, const char *name)
{
    mk_buf_z(out, "\"\\\"");
    mk_buf_z(out, name);
    mk_buf_z(out, "\\\":\" ");
}

/* A string literal of JSON. */
static void put_json_string(mk_buf *out, const char *text)
{
    mk_buf_z(out, "\"\\\"");
    mk_buf_z(out, text);
    mk_buf_z(out, "\\\"\"");
}

/* ---- ranges of integers ----
 * A range is cut where its numbers get another digit in front, until what is left is a common beginning, one
 * digit of a range, and any digits: 27..381 is 2[7-9] | [3-9][0-9] | [1-2][0-9]{2} | 3[0-7][0-9] |
 * 38[0-1]. */

static void put_digit(mk_buf *out, unsigned from, unsigned to)
{
    if (from == to)
        mk_buf_printf(out, "[%u]", from);
    else
        mk_buf_printf(out, "[%u-%u]", from, to);
}

/* low and high have the same number of digits and agree but for `free` last ones, which are 0s and 9s,
 * and the one before those. */
static void put_block(mk_buf *out, uint64_t low, uint64_t high, unsigned free, uint64_t power, bool *first)
{
    const uint64_t front = low / power / 10;
    if (!*first)
        mk_buf_z(out, " | ");
    *first = false;
    if (front != 0)
        mk_buf_printf(out, "\"%llu\" ", (unsigned long long)front);
    put_digit(out, (unsigned)(low / power % 10), (unsigned)(high / power % 10));
    if (free == 1)
        mk_buf_z(out, " [0-9]");
    else if (free > 1)
        mk_buf_printf(out, " [0-9]{%u}", free);
}

static void put_unsigned(mk_buf *out, uint64_t min, uint64_t max, bool *first)
{
    while (min <= max) {
        /* The most last digits that can all run from 0 to 9 from min on without passing max, then the most of
         * the digit before them. */
        uint64_t power = 1;
        unsigned free = 0;
        while (min % (power * 10) == 0 && min != 0 && power <= max / 10 && min + power * 10 - 1 <= max) {
            power *= 10;
            free++;
        }
        uint64_t high = min;
        while (high / power % 10 < 9 && high + power <= max && high + power + (power - 1) <= max)
            high += power;
        put_block(out, min, high, free, power, first);
        if (max - high < power)
            break;
        min = high + power;
    }
}

void mk_gbnf__range(mk_buf *out, int64_t min, int64_t max)
{
    bool first = true;
    mk_buf_z(out, "(");
    if (min < 0) {
        mk_buf_z(out, "\"-\" (");
        put_unsigned(out, max < 0 ? (uint64_t)0 - (uint64_t)max : 1, (uint64_t)0 - (uint64_t)min, &first);
        mk_buf_c(out, ')');
        first = false;
    }
    if (max >= 0)
        put_unsigned(out, min > 0 ? (uint64_t)min : 0, (uint64_t)max, &first);
    mk_buf_c(out, ')');
}

/* ---- values ---- */

/* Numbers above `above`, at most `upto`: an integer part between them with any fraction, or the upper
 * bound. */
static void put_bounded(mk_buf *out, const mk_arg *arg)
{
    const int64_t low = (int64_t)floor(arg->above) + 1;
    const int64_t high = arg->upto < 1e15 ? (int64_t)arg->upto : INT64_C(1000000000000000);
    mk_buf_z(out, "(");
    if (low < high) {
        mk_gbnf__range(out, low, high - 1);
        mk_buf_z(out, " (\".\" [0-9]{1,9})? | ");
    }
    mk_gbnf__range(out, high, high);
    mk_buf_c(out, ')');
}

static void put_enum(mk_buf *out, const mk_arg *arg)
{
    mk_buf_c(out, '(');
    for (size_t i = 0; arg->choices[i] != NULL; i++) {
        if (i != 0)
            mk_buf_z(out, " | ");
        put_json_string(out, arg->choices[i]);
    }
    mk_buf_c(out, ')');
}

static void put_list(mk_buf *out, const mk_arg *arg)
{
    const int64_t most = arg->max < ITEMS_MAX ? arg->max : ITEMS_MAX;
    const int64_t least = arg->min;
    mk_buf_z(out, least == 0 ? "\"[\" (" : "\"[\" ");
    for (int pass = 0; pass < 2; pass++) {
        mk_buf_z(out, pass ? " (\",\" " : "");
        if (arg->item != NULL)
            mk_gbnf__value(out, arg->item);
        else
            mk_buf_z(out, "scalar");
    }
    mk_buf_printf(out, "){%lld,%lld}", (long long)(least > 0 ? least - 1 : 0), (long long)(most - 1));
    mk_buf_z(out, least == 0 ? ")? \"]\"" : " \"]\"");
}

/* Required members, then others, each in the order of the table; every object has a required one. */
static void put_object(mk_buf *out, const mk_arg *members)
{
    bool first = true;
    mk_buf_z(out, "\"{\" ");
    for (const mk_arg *m = members; m->name != NULL; m++) {
        if (!m->required)
            continue;
        mk_buf_z(out, first ? "" : "\",\" ");
        mk_gbnf__key(out, m->name);
        mk_gbnf__value(out, m);
        mk_buf_c(out, ' ');
        first = false;
    }
    for (const mk_arg *m = members; !first && m->name != NULL; m++) {
        if (m->required)
            continue;
        mk_buf_z(out, "(\",\" ");
        mk_gbnf__key(out, m->name);
        mk_gbnf__value(out, m);
        mk_buf_z(out, ")? ");
    }
    /* Members that may all be absent: one of them, or none. */
    for (const mk_arg *m = members; first && m->name != NULL; m++) {
        mk_buf_z(out, m == members ? "(" : " | ");
        mk_gbnf__key(out, m->name);
        mk_gbnf__value(out, m);
    }
    mk_buf_z(out, first ? ")? \"}\"" : "\"}\"");
}

static void put_literal(mk_buf *out, const mk_arg *arg)
{
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
        mk_buf_z(out, "time");
        break;
    case MK_ARG_INTEGER:
        mk_gbnf__range(out, arg->min, arg->max);
        break;
    case MK_ARG_NUMBER:
        if (arg->bounded)
            put_bounded(out, arg);
        else
            mk_buf_z(out, "number");
        break;
    case MK_ARG_BOOLEAN:
        mk_buf_z(out, "(\"true\" | \"false\")");
        break;
    case MK_ARG_STRING:
        mk_buf_z(out, arg->min > 0 ? "text" : "string");
        break;
    case MK_ARG_ENUM:
        put_enum(out, arg);
        break;
    case MK_ARG_LIST:
        put_list(out, arg);
        break;
    case MK_ARG_OBJECT:
        put_object(out, arg->members);
        break;
    case MK_ARG_ANY:
        mk_buf_z(out, "scalar");
        break;
    }
}

void mk_gbnf__value(mk_buf *out, const mk_arg *arg)
{
    if (arg->nullable)
        mk_buf_z(out, "(\"null\" | ");
    put_literal(out, arg);
    if (arg->nullable)
        mk_buf_c(out, ')');
}

void mk_gbnf__terms(mk_buf *out)
{
    mk_buf_z(out, "char ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"\\\\/bfnrt]\n"
                  "text ::= \"\\\"\" char+ \"\\\"\"\n"
                  "string ::= \"\\\"\" char* \"\\\"\"\n"
                  "number ::= \"-\"? (\"0\" | [1-9] [0-9]{0,17}) (\".\" [0-9]{1,9})?\n"
                  "scalar ::= string | number | \"true\" | \"false\"\n"
                  "time ::= ");
    mk_gbnf__range(out, 0, MK_OPEN_END);
    mk_buf_c(out, '\n');
}

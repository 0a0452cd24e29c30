/* timetext.h — times as people write them. Layer: base. No allocation, no I/O, no time zone data.
 *
 * Inside, every time is an int64 of microseconds since 1970-01-01T00:00:00Z on the proleptic
 * Gregorian calendar. At the edge both integers and ISO 8601 text are read, and both are printed. */
#ifndef MK_BASE_TIMETEXT_H
#define MK_BASE_TIMETEXT_H

#include "base/str.h"

#define MK_OPEN_END INT64_C(4611686018427387904) /* 2^62: "no end" (store spec, section 2) */
#define MK_TIME_MIN (-MK_OPEN_END)               /* 2^62 before: "no known start" (decisions.md 3) */

/* The two axes are separate types, so that swapping them does not compile. */
typedef struct mk_vt { int64_t us; } mk_vt; /* valid time: when it held in the world */
typedef struct mk_tt { int64_t us; } mk_tt; /* transaction time: when the store believed it */

/* Reads a decimal integer (microseconds), "open" or ".." (MK_OPEN_END), or ISO 8601: YYYY, YYYY-MM,
 * YYYY-MM-DD, with time T or space HH:MM[:SS[.f...]] (fraction cut to microseconds), zone Z or
 * +HH[:MM] or -HH[:MM]; no zone means UTC; years -9999 to 9999 with sign allowed, 24:00 allowed.
 * A bare four-digit number is an integer, not a year. Whole text must match.
 * Errors: MK_E_INVALID_ARG saying the offending part, its offset, and an example that passes. */
MK_CHECK mk_code mk_time_parse(mk_str text, int64_t *out_us, mk_err *err);

#define MK_TIME_TEXT_MAX 40
/* "2024-05-01T00:00:00Z", with a fraction of as many digits as needed (up to 6); "open" for
 * MK_OPEN_END; a plain decimal integer when the year has more than four digits. Returns the size. */
size_t mk_time_text(char *p, int64_t us);

/* Civil date to days since 1970-01-01 and back, any year in +-10 million. */
int64_t mk_days_of_civil(int64_t year, unsigned month, unsigned day);
void mk_civil_of_days(int64_t days, int64_t *year, unsigned *month, unsigned *day);

/* Wall clock in microseconds, behind a hook so tests can replace it. */
typedef struct mk_clock {
    int64_t (*now_us)(void *ctx);
    void *ctx;
} mk_clock;
extern const mk_clock mk_clock_system;

#endif

/* oracles.h — the list of all oracles, sorted by name. Test support. */
#ifndef MK_TESTS_ORACLES_H
#define MK_TESTS_ORACLES_H

#include "oracle.h"

#define MK_ORACLES(X)

#define MK_ORACLE_DECLARE(name) extern const oracle oracle_##name;
MK_ORACLES(MK_ORACLE_DECLARE)
#undef MK_ORACLE_DECLARE

#endif

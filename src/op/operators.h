/* operators.h — the list of all operators. Layer: op.
 *
 * One line here and one file beside it make an operator. Sorted by name; a test holds the order. */
#ifndef MK_OP_OPERATORS_H
#define MK_OP_OPERATORS_H

#include "op/registry.h"

#define MK_OPERATORS(X)                                                                            \
    X(entity_history)                                                                              \
    X(resolve_entities)                                                                            \
    X(snapshot_subgraph)

#define MK_OPERATOR_DECLARE(name) extern const mk_operator mk_operator_##name;
MK_OPERATORS(MK_OPERATOR_DECLARE)
#undef MK_OPERATOR_DECLARE

#endif

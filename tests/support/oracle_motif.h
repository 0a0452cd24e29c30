/* oracle_motif.h — what the oracles of the two motif operators share. Test support.
 *
 * The functions are in oracle_count_temporal_motifs.c. Source: operators spec, 7.6. */
#ifndef MK_TESTS_ORACLE_MOTIF_H
#define MK_TESTS_ORACLE_MOTIF_H

#include "oracle.h"

/* Appends the arguments that both have, without the closing brace. */
void oracle_motif_args(const oracle_world *world, mk_buf *out);

/* The event list in its total order. False, with the error in `out`, when the arguments are refused. */
bool oracle_motif_events(const oracle_world *world, const mk_json *args, mk_arena *arena,
                         model_list *events, oracle_answer *out);

/* Whether three events, in this order, are an instance of args.motif within args.delta. */
bool oracle_motif_is_instance(const mk_json *args, const model_row *e1, const model_row *e2,
                              const model_row *e3);

#endif

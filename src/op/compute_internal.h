/* compute_internal.h — what the files of compute share. Layer: op, internal. */
#ifndef MK_OP_COMPUTE_INTERNAL_H
#define MK_OP_COMPUTE_INTERNAL_H

#include "op/arith.h"
#include "op/registry.h"
#include "op/value.h"

/* Values by reference: rows stay where they were read. */
typedef struct mk_values {
    const mk_json **list;
    size_t n;
} mk_values;

/* Errors name the argument that is at fault: mk_compute__refuse(run, "field", "...", ...). */
mk_code mk_compute__refuse(const char *arg, mk_err *err, const char *fmt, ...) MK_PRINTF(3, 4);
/* Names `arg` in an MK_E_INVALID_ARG that arithmetic gave, which knows numbers and no arguments. Returns rc. */
mk_code mk_compute__blame(const char *arg, mk_code rc, mk_err *err);

/* args.input or args.other as values; refused when null. */
MK_CHECK mk_code mk_compute__rows(const mk_run *run, const char *arg, mk_values *out, mk_err *err);
/* COL: the elements' member `field`, or the elements themselves when field.p is NULL. */
MK_CHECK mk_code mk_compute__column(const mk_run *run, const mk_values *rows, mk_str field,
                                    const char *arg, mk_values *out, mk_err *err);
/* A string argument; p NULL when null or absent. */
mk_str mk_compute__name(const mk_run *run, const char *arg);
/* As above, "" counting as absent. */
mk_str mk_compute__name_or(const mk_run *run, const char *arg, mk_str otherwise);

/* ---- keys ---- */

/* A place in a table of keys. The tag is the hash's lower half: it says where the slot belongs and tells
 * almost all different keys apart, so that growing reads no keys and looking up reads one. */
typedef struct mk_key_slot {
    uint32_t place; /* + 1; 0: free */
    uint32_t tag;
} mk_key_slot;

/* Distinct scalars in the order of their first occurrence; equality of 4.3. */
typedef struct mk_key_set {
    mk_arena *arena;
    uint64_t seed;
    const mk_json **keys;
    size_t count, cap;
    mk_key_slot *slots;
    size_t mask;
} mk_key_set;

MK_CHECK mk_code mk_key_set_init(mk_key_set *set, mk_arena *arena, mk_err *err);
/* The place of an equal key, which is put in when there is none (*added). */
MK_CHECK mk_code mk_key_set_add(mk_key_set *set, const mk_json *key, size_t *place, bool *added,
                                mk_err *err);
/* SIZE_MAX when there is none. */
size_t mk_key_set_find(const mk_key_set *set, const mk_json *key);
/* Places in key order (4.4). */
MK_CHECK mk_code mk_key_set_order(const mk_key_set *set, uint32_t **order, mk_err *err);

/* Rows by the value of one member, groups in key order. */
typedef struct mk_groups {
    const mk_json **keys;
    mk_values *rows; /* by group, in the order of the input */
    size_t count;
} mk_groups;
MK_CHECK mk_code mk_compute__group(const mk_run *run, const mk_values *rows, mk_str by,
                                   mk_groups *out, mk_err *err);

/* ---- results ---- */

/* {"truncated":false,"value":...} */
MK_CHECK mk_code mk_compute__value(mk_run *run, mk_json *value, mk_err *err);
/* A first page of rows. Row i is given by `row`, which may make it in the arena; NULL is out of memory. */
typedef mk_json *mk_row_fn(void *ctx, size_t i);
MK_CHECK mk_code mk_compute__page(mk_run *run, size_t n, mk_row_fn *row, void *ctx, mk_err *err);
/* Rows as they are. */
MK_CHECK mk_code mk_compute__page_of(mk_run *run, const mk_values *rows, mk_err *err);

/* ---- the families of functions ---- */

MK_CHECK mk_code mk_compute__reduce(mk_run *run, mk_str fn, mk_err *err);  /* with or without group_by */
MK_CHECK mk_code mk_compute__topk(mk_run *run, mk_err *err);
MK_CHECK mk_code mk_compute__filter(mk_run *run, mk_err *err);
MK_CHECK mk_code mk_compute__set(mk_run *run, mk_str fn, mk_err *err);
MK_CHECK mk_code mk_compute__derive(mk_run *run, mk_err *err);
MK_CHECK mk_code mk_compute__join(mk_run *run, mk_err *err);

#endif

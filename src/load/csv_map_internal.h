/* csv_map_internal.h — which column of a table is what. Layer: load, inside only. */
#ifndef MK_LOAD_CSV_MAP_INTERNAL_H
#define MK_LOAD_CSV_MAP_INTERNAL_H

#include "load/load_internal.h"

/* Wider tables are refused: nobody means them, and a lost line end makes them. */
#define MK_CSV_COLUMNS 4096

typedef enum csv_source_kind { CSV_ABSENT = 0, CSV_COLUMN, CSV_CONSTANT } csv_source_kind;

/* Where the value of a role comes from. */
typedef struct csv_source {
    csv_source_kind kind;
    size_t column;
    mk_str constant;
} csv_source;

typedef struct csv_map {
    bool nodes; /* rows are assert_node, not events */
    csv_source src, dst, rel_type, vt_s, vt_e, disc, uid, label;
    mk_load_prop *props;
    size_t prop_count;
} csv_map;

typedef struct csv_table {
    const mk_alloc *alloc;
    char separator;
    mk_str *fields; /* of the record at hand; of the header while mapping */
    size_t field_count, field_cap;
    size_t columns; /* of the table */
    mk_load_times times;
    mk_str prefix;
    mk_arena arena; /* the mapping's strings */
    csv_map map;
} csv_table;

/* Fills table->map from the options and the header in table->fields (with no header only their number
 * counts). Errors: MK_E_INVALID_ARG with path "mapping", naming what the header has. */
MK_CHECK mk_code mk_csv__map(mk_load *load, csv_table *table, mk_err *err);

#endif

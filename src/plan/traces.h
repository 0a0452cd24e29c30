/* traces.h — traces kept in a folder beside their objects, oldest out. Layer: plan.
 *
 * DIR holds objects (DIR/<digest>.json) and runs (DIR/<number>.run, a trace each, counted from 1); a file
 * DIR/<number>.pin keeps a run. When the folder grows too large the oldest runs without a pin leave, and with
 * them the objects that no other run names. Source: decisions.md 11. */
#ifndef MK_PLAN_TRACES_H
#define MK_PLAN_TRACES_H

#include "base/fs.h"
#include "base/json.h"

#define MK_TRACE_MAX ((size_t)64 << 20)

typedef struct mk_trace_entry {
    uint32_t number;
    bool pinned;
} mk_trace_entry;

/* Keeps a trace; gives its number. Errors: those of writing. */
MK_CHECK mk_code mk_traces_save(const mk_alloc *alloc, const mk_fs *fs, const char *dir, mk_str trace,
                                uint32_t *number, mk_err *err);
/* All runs, newest first, in `arena`. A folder that is not there has none. */
MK_CHECK mk_code mk_traces_list(const mk_fs *fs, const char *dir, mk_arena *arena, mk_trace_entry **out,
                                size_t *count, mk_err *err);
/* One trace as text and tree in `arena`. MK_E_NOT_FOUND; MK_E_STATE reason "damaged" when it is no JSON. */
MK_CHECK mk_code mk_traces_read(const mk_fs *fs, const char *dir, uint32_t number, mk_arena *arena,
                                mk_str *text, const mk_json **tree, mk_err *err);
/* MK_E_NOT_FOUND when there is no such run. */
MK_CHECK mk_code mk_traces_pin(const mk_alloc *alloc, const mk_fs *fs, const char *dir, uint32_t number,
                               bool on, mk_err *err);
/* Brings the folder down to `bytes_max`: unpinned runs leave, the oldest first, and all objects that no run
 * names. */
MK_CHECK mk_code mk_traces_gc(const mk_alloc *alloc, const mk_fs *fs, const char *dir, uint64_t bytes_max,
                              uint64_t *freed, mk_err *err);

#endif

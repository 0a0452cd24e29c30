/* simfs.h — a disk in memory that can fail, fill up and lose power.
 *
 * The model is a disk behind a page cache, promising no more than what ext4 promises after the
 * syncs that were done. Everything the program does is visible to it at once, and *pending* until
 * synced:
 *
 *   files        bytes written, in pieces of 512 (one sector), and changes of size (by writes,
 *                truncate, reserve, open with TRUNCATE). sync makes those of its file permanent.
 *   folders      creations, renames, removals and new folders. sync_dir makes those of its folder
 *                permanent; a rename counts for both folders. sync of a file does not save its
 *                name.
 *
 * simfs_power_cut decides about each pending item at random from a seed:
 *
 *   - A sector holds the permanent bytes or any of the versions written since, independently of all
 *     other sectors, so writes survive in part and in any order. A sector itself is never torn.
 *   - The changes of size of one file happened up to some point, in their order, whatever became of
 *     the bytes; bytes beyond the size are lost, missing ones read as zeros, never as old data.
 *   - Names: each change happened or not, except that changes of one name happen in order. A rename
 *     is atomic. A file that was created and whose folder was not synced may be missing, and so
 *     may a synced file in a folder that was itself never synced into its parent.
 *
 * A sync that fails gives up, as Linux does: what was pending then stays at risk for ever, and a
 * later sync that succeeds saves only what was written (to the same sectors) after the failure.
 *
 * Calls that change something are counted from 1: open with CREATE or TRUNCATE, write_at, truncate,
 * reserve, sync, sync_dir, rename, remove, make_dir. Faults name a call by that number. All
 * functions may be called from several threads. Paths start at the root with or without a slash;
 * ".." is not known. Misuse and lack of memory end the test program. */
#ifndef MK_TESTS_SIMFS_H
#define MK_TESTS_SIMFS_H

#include "base/fs.h"

typedef struct simfs simfs;

/* All zero: nothing goes wrong. */
typedef struct simfs_faults {
    uint64_t fail_at;        /* this call fails and does nothing; 0 none */
    uint64_t fail_count;     /* so many calls from there on fail; 0 means 1 */
    const char *fail_reason; /* "no_space", "io", ...; NULL means "io". Static storage */
    size_t fail_prefix;      /* a failing write_at first writes so many bytes */
    uint64_t cut_at;         /* power is gone after this call: every later one fails with reason
                                "power" until simfs_power_cut; 0 never */
    uint64_t ignore_sync_at; /* this sync or sync_dir, counted among those only, from 1, says MK_OK
                                and does nothing; 0 none */
    const char *ignore_sync_of; /* so does every one whose path contains this; NULL none. Static */
    uint64_t capacity; /* bytes that all files may have together, then "no_space"; 0 no limit */
} simfs_faults;

simfs *simfs_new(void);
/* Files still open are leaked by the caller; close them first. */
void simfs_free(simfs *sim);

/* The disk as a file layer; valid until simfs_free. */
const mk_fs *simfs_fs(simfs *sim);

/* Replaces the faults; counters go on counting. */
void simfs_set_faults(simfs *sim, const simfs_faults *faults);

#define SIMFS_SEED_DROP_ALL 0 /* nothing pending survives */
#define SIMFS_SEED_KEEP_ALL 1 /* everything pending survives */

/* Loses power, if it is not lost already, and gives it back: the disk then holds what survived,
 * nothing is pending, no lock is held, and files opened before only fail (they must still be
 * closed). */
void simfs_power_cut(simfs *sim, uint64_t seed);

/* Kills the process but not the machine: the page cache survives, handles and locks do not. */
void simfs_kill(simfs *sim);

uint64_t simfs_calls(simfs *sim); /* changing calls so far, failed ones included */
uint64_t simfs_syncs(simfs *sim); /* sync and sync_dir calls among them, without failed ones */
size_t simfs_pending(simfs *sim); /* writes, size changes and name changes not yet permanent */
uint64_t simfs_used(simfs *sim);  /* bytes that all files have together */
bool simfs_is_off(simfs *sim);    /* power was lost through cut_at */

#endif

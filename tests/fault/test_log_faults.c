/* test_log_faults.c — the log on a simulated disk: full disks, failing calls, killed processes, power
 * cuts at every call, and the proof that each sync is needed.
 *
 * A workload runs against a shim over the simulated disk. The shim counts changing calls and can, from
 * a given one on, refuse everything without touching the disk: that is the process dying there. What
 * the machine does then is up to simfs: keep the page cache (kill) or lose it at random (power cut).
 *
 * After every accident the log must open, hold records 1..m in order with m at least the number that
 * was acknowledged, hold none in part (every frame's lines are compared), and take further records
 * that survive a power cut in which nothing unsynced survives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/log_frame.h"
#include "../support/simfs.h"

static const mk_alloc *const alloc = &mk_alloc_default;

/* ---- the shim ---- */

/* Where a sync happens: while opening or appending, of which file or folder. */
enum { SITE_TMP, SITE_LOG_FILE, SITE_LOG_DIR, SITE_STORE_DIR, SITE_COUNT };
static const char *const site_names[2][SITE_COUNT] = {
    {"open: new file", "open: last file", "open: log folder", "open: store folder"},
    {"append: new file", "append: frame", "append: log folder", "append: store folder"}};

typedef struct shim {
    mk_fs fs; /* what the log gets */
    simfs *sim;
    const mk_fs *under;
    uint64_t calls, die_after; /* die_after 0: never */
    uint64_t syncs, ignore_sync; /* 0: none */
    uint64_t fail_write;       /* this write is done and then reported as failed; 0: none */
    uint64_t writes;
    bool appending;
    int site_of[64]; /* by number of the sync */
    mk_file *files[16];
    char paths[16][128];
} shim;

static mk_code dead(mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the process is dead");
    mk_err_reason(err, "io");
    return MK_E_STATE;
}

/* True when the call may go through. */
static bool alive(shim *s)
{
    if (s->die_after != 0 && s->calls >= s->die_after)
        return false;
    s->calls++;
    return true;
}

static bool is_dead(const shim *s)
{
    return s->die_after != 0 && s->calls >= s->die_after;
}

static mk_code shim_open(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    shim *s = ctx;
    if (flags & (MK_OPEN_CREATE | MK_OPEN_TRUNCATE) ? !alive(s) : is_dead(s))
        return dead(err);
    const mk_code rc = s->under->open(s->under->ctx, path, flags, out, err);
    for (int i = 0; rc == MK_OK && i < 16; i++) {
        if (s->files[i] == NULL) {
            s->files[i] = *out;
            snprintf(s->paths[i], sizeof s->paths[i], "%s", path);
            break;
        }
        assert_int_not_equal(i, 15);
    }
    return rc;
}

static const char *path_of(const shim *s, const mk_file *file)
{
    for (int i = 0; i < 16; i++)
        if (s->files[i] == file)
            return s->paths[i];
    fail_msg("unknown file");
    return "";
}

static void shim_close(void *ctx, mk_file *file)
{
    shim *s = ctx;
    for (int i = 0; i < 16; i++)
        if (s->files[i] == file)
            s->files[i] = NULL;
    s->under->close(s->under->ctx, file);
}

static mk_code shim_read_at(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got,
                            mk_err *err)
{
    shim *s = ctx;
    return is_dead(s) ? dead(err) : s->under->read_at(s->under->ctx, file, p, n, at, got, err);
}

static mk_code shim_write_at(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at, mk_err *err)
{
    shim *s = ctx;
    if (!alive(s))
        return dead(err);
    const mk_code rc = s->under->write_at(s->under->ctx, file, p, n, at, err);
    return ++s->writes == s->fail_write ? dead(err) : rc;
}

static mk_code shim_size(void *ctx, mk_file *file, uint64_t *size, mk_err *err)
{
    shim *s = ctx;
    return is_dead(s) ? dead(err) : s->under->size(s->under->ctx, file, size, err);
}

static mk_code shim_truncate(void *ctx, mk_file *file, uint64_t size, mk_err *err)
{
    shim *s = ctx;
    return alive(s) ? s->under->truncate(s->under->ctx, file, size, err) : dead(err);
}

static mk_code shim_reserve(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    shim *s = ctx;
    /* The test would read 16 MiB of zeros each time; a few KiB show the same. */
    return alive(s) ? s->under->reserve(s->under->ctx, file, at, n < 4096 ? n : 4096, err) : dead(err);
}

static bool ignored(shim *s, int site)
{
    assert_true(s->syncs < 63);
    s->site_of[++s->syncs] = site;
    return s->syncs == s->ignore_sync;
}

static mk_code shim_sync(void *ctx, mk_file *file, mk_err *err)
{
    shim *s = ctx;
    const char *path = path_of(s, file);
    if (!alive(s))
        return dead(err);
    if (ignored(s, strstr(path, ".tmp") != NULL ? SITE_TMP : SITE_LOG_FILE))
        return MK_OK;
    return s->under->sync(s->under->ctx, file, err);
}

static mk_code shim_sync_dir(void *ctx, const char *path, mk_err *err)
{
    shim *s = ctx;
    if (!alive(s))
        return dead(err);
    if (ignored(s, strstr(path, "/log") != NULL ? SITE_LOG_DIR : SITE_STORE_DIR))
        return MK_OK;
    return s->under->sync_dir(s->under->ctx, path, err);
}

static mk_code shim_rename(void *ctx, const char *from, const char *to, mk_err *err)
{
    shim *s = ctx;
    return alive(s) ? s->under->rename(s->under->ctx, from, to, err) : dead(err);
}

static mk_code shim_remove(void *ctx, const char *path, mk_err *err)
{
    shim *s = ctx;
    return alive(s) ? s->under->remove(s->under->ctx, path, err) : dead(err);
}

static mk_code shim_make_dir(void *ctx, const char *path, mk_err *err)
{
    shim *s = ctx;
    return alive(s) ? s->under->make_dir(s->under->ctx, path, err) : dead(err);
}

static mk_code shim_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
                         void *arg, mk_err *err)
{
    shim *s = ctx;
    return is_dead(s) ? dead(err) : s->under->list(s->under->ctx, path, each, arg, err);
}

static void shim_init(shim *s, simfs *sim)
{
    *s = (shim){.sim = sim, .under = simfs_fs(sim)};
    s->fs = (mk_fs){.ctx = s, .open = shim_open, .close = shim_close, .read_at = shim_read_at,
                    .write_at = shim_write_at, .size = shim_size, .truncate = shim_truncate,
                    .reserve = shim_reserve, .sync = shim_sync, .sync_dir = shim_sync_dir,
                    .rename = shim_rename, .remove = shim_remove, .make_dir = shim_make_dir,
                    .list = shim_list};
}

/* ---- the workload ---- */

#define STORE "store"

/* Record number tt, of a size that depends on it: some within a sector, some over several. */
static mk_str record(int64_t tt, char room[4096])
{
    const size_t size = 20 + (size_t)(tt * 397 % 1500);
    size_t n = (size_t)sprintf(room, "{\"tt\":%lld,\"x\":\"", (long long)tt);
    while (n < size)
        room[n] = (char)('a' + (n * 7 + (size_t)tt) % 26), n++;
    n += (size_t)sprintf(room + n, "\"}\n");
    return (mk_str){room, n};
}

typedef struct reading {
    mk_code rc;
    mk_err err;
    mk_log_pos end;
    bool right; /* every record is the one expected there */
} reading;

static reading read_all(const mk_fs *fs)
{
    reading r = {.end = mk_log_start(), .right = true};
    const mk_log_pos start = r.end;
    mk_log_reader *reader = NULL;
    char room[4096];
    mk_frame frame;
    mk_log_end end;

    r.rc = mk_log_reader_open(alloc, fs, STORE, &start, &reader, &r.err);
    while (r.rc == MK_OK) {
        r.rc = mk_log_read(reader, NULL, &frame, &end, &r.err);
        if (r.rc != MK_OK || end != MK_LOG_MORE)
            break;
        r.end = frame.next;
        r.right = r.right && frame.tt_first.us == (int64_t)r.end.frames &&
                  mk_str_eq(frame.lines, record(frame.tt_first.us, room));
    }
    mk_log_reader_close(reader);
    return r;
}

static mk_code append_next(mk_log_writer *writer, mk_err *err)
{
    char room[4096];
    const int64_t tt = mk_log_writer_end(writer)->tt.us + 1;
    return mk_log_append(writer, MK_FRAME_BATCH, record(tt, room), 1, (mk_tt){tt}, (mk_tt){tt}, NULL,
                         err);
}

/* One process: opens, appends `count` records over small files, closes. *acked is raised to the number
 * of records that a caller could rely on. */
static mk_code session(shim *s, int count, uint64_t *acked, mk_err *err)
{
    mk_log_writer *writer = NULL;
    mk_code rc;

    s->appending = false;
    const reading r = read_all(&s->fs);
    if (r.rc != MK_OK) {
        *err = r.err;
        return r.rc;
    }
    MK_TRY(rc, mk_log_writer_open(alloc, &s->fs, STORE, &r.end, &writer, err));
    *acked = *acked > r.end.frames ? *acked : r.end.frames; /* shown to readers from now on */
    s->appending = true;
    mk_log__writer_set_file_max(writer, 2500);
    const uint64_t before = s->syncs;
    for (int i = 0; i < count; i++) {
        MK_TRY(rc, append_next(writer, err));
        *acked = mk_log_writer_end(writer)->frames;
    }
    for (uint64_t i = before + 1; i <= s->syncs; i++)
        s->site_of[i] += SITE_COUNT;
out:
    mk_log_writer_close(writer);
    return rc;
}

/* NULL when all is well after the accident, else what is wrong. */
static const char *trouble(simfs *sim, uint64_t acked)
{
    shim s;
    mk_err err = {.offset = -1};
    uint64_t again = acked;

    for (int round = 0; round < 2; round++) {
        shim_init(&s, sim);
        reading r = read_all(&s.fs);
        if (r.rc != MK_OK)
            return "the log does not open";
        if (!r.right)
            return "a record is not the one that was written";
        if (r.end.frames < again)
            return "an acknowledged record is lost";
        if (round == 1)
            break;
        if (session(&s, 3, &again, &err) != MK_OK)
            return "the log takes no records";
        simfs_power_cut(sim, SIMFS_SEED_DROP_ALL);
    }
    return NULL;
}

/* The disk of a store folder that exists and nothing else. */
static simfs *new_disk(void)
{
    simfs *sim = simfs_new();
    const mk_fs *fs = simfs_fs(sim);
    assert_int_equal(fs->make_dir(fs->ctx, STORE, NULL), MK_OK);
    assert_int_equal(fs->sync_dir(fs->ctx, "", NULL), MK_OK);
    return sim;
}

static void assert_no_trouble(simfs *sim, uint64_t acked, const char *when, uint64_t a, uint64_t b)
{
    const char *what = trouble(sim, acked);
    if (what != NULL)
        fail_msg("%s, %s at call %llu, seed %llu; %llu records were acknowledged", what, when,
                 (unsigned long long)a, (unsigned long long)b, (unsigned long long)acked);
}

enum { RECORDS = 8, SEEDS = 16 };

static uint64_t calls_of_a_session(void)
{
    simfs *sim = new_disk();
    shim s;
    mk_err err;
    uint64_t acked = 0;
    shim_init(&s, sim);
    assert_int_equal(session(&s, RECORDS, &acked, &err), MK_OK);
    assert_int_equal(acked, RECORDS);
    simfs_free(sim);
    return s.calls;
}

/* ---- power cuts ---- */

static void test_log_faults__power_cut_at_any_call_loses_nothing_acknowledged(void **state)
{
    (void)state;
    const uint64_t calls = calls_of_a_session();

    for (uint64_t at = 1; at <= calls; at++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            simfs *sim = new_disk();
            shim s;
            mk_err err;
            uint64_t acked = 0;
            shim_init(&s, sim);
            s.die_after = at;
            (void)session(&s, RECORDS, &acked, &err);
            simfs_power_cut(sim, seed);
            assert_no_trouble(sim, acked, "power cut", at, seed);
            simfs_free(sim);
        }
    }
}

/* The first accident leaves head and log in all kinds of states; the second one hits the opening that
 * deals with them, at every call. */
static void test_log_faults__power_cut_while_recovering_loses_nothing_acknowledged(void **state)
{
    (void)state;
    const uint64_t calls = calls_of_a_session();
    uint64_t copies = 0;

    for (uint64_t first = 2; first <= calls; first++) {
        for (int kill = 0; kill < 2; kill++) {
            for (uint64_t at = 1;; at++) {
                const uint64_t seed = first * 1000 + at + 2;
                simfs *sim = new_disk();
                shim s;
                mk_err err;
                uint64_t acked = 0;
                shim_init(&s, sim);
                s.die_after = first;
                (void)session(&s, RECORDS, &acked, &err);
                if (kill)
                    simfs_kill(sim);
                else
                    simfs_power_cut(sim, seed);
                shim_init(&s, sim);
                s.die_after = at;
                const mk_code rc = session(&s, 2, &acked, &err);
                copies += s.site_of[1] == SITE_TMP;
                simfs_power_cut(sim, seed / 3);
                assert_no_trouble(sim, acked, "second power cut", at, seed);
                simfs_free(sim);
                if (rc == MK_OK)
                    break;
            }
        }
    }
    assert_true(copies > 100); /* the interesting path was taken */
}

static void test_log_faults__a_killed_process_loses_nothing_acknowledged(void **state)
{
    (void)state;
    const uint64_t calls = calls_of_a_session();

    for (uint64_t at = 1; at <= calls; at++) {
        for (int without_head = 0; without_head < 2; without_head++) {
            simfs *sim = new_disk();
            shim s;
            mk_err err;
            uint64_t acked = 0;
            shim_init(&s, sim);
            s.die_after = at;
            (void)session(&s, RECORDS, &acked, &err);
            simfs_kill(sim);
            if (without_head)
                (void)s.under->remove(s.under->ctx, STORE "/head", NULL);
            assert_no_trouble(sim, acked, "kill", at, 0);
            simfs_free(sim);
        }
    }
}

/* ---- mutants ---- */

/* How often a sync at this site was ignored, and how often that was noticed. */
typedef struct tally {
    unsigned tried, noticed;
} tally;

/* The second process ignores sync number `mutant` and lives for `at` calls, then power is cut. */
static bool mutant_noticed(uint64_t first, bool without_head, uint64_t mutant, uint64_t at,
                           uint64_t seed, int *site, bool *finished)
{
    simfs *sim = new_disk();
    shim s;
    mk_err err;
    uint64_t acked = 0;

    shim_init(&s, sim);
    if (first > 0) {
        s.die_after = first;
        (void)session(&s, RECORDS, &acked, &err);
        simfs_kill(sim);
        if (without_head)
            (void)s.under->remove(s.under->ctx, STORE "/head", NULL);
        shim_init(&s, sim);
    }
    s.ignore_sync = mutant;
    s.die_after = at;
    *finished = session(&s, 3, &acked, &err) == MK_OK;
    *site = s.syncs >= mutant ? s.site_of[mutant] : -1;
    simfs_power_cut(sim, seed);
    const bool noticed = trouble(sim, acked) != NULL;
    simfs_free(sim);
    return noticed;
}

/* Goal: no sync is there in vain, and the tests above would see it go. Method: a process that takes over
 * from one that was killed (or starts afresh) leaves out one sync; some power cut must do harm. */
static void test_log_faults__leaving_out_any_sync_is_noticed(void **state)
{
    (void)state;
    const uint64_t calls = calls_of_a_session();
    tally tallies[2 * SITE_COUNT] = {{0, 0}};

    for (uint64_t first = 0; first <= calls; first++) {
        for (int without_head = 0; without_head < 2; without_head++) {
            for (uint64_t mutant = 1; mutant < 12; mutant++) {
                bool noticed = false, finished = false;
                int site = -1, seen = -1;
                for (uint64_t at = 1; !finished && !noticed; at++) {
                    noticed = mutant_noticed(first, without_head, mutant, at, 0, &seen, &finished) ||
                              mutant_noticed(first, without_head, mutant, at, at + 2, &seen, &finished);
                    site = seen >= 0 ? seen : site;
                }
                if (site < 0)
                    break; /* fewer syncs than that */
                /* A process that dies before its appends return marks all its syncs as of opening;
                 * one that lives tells which is which. */
                (void)mutant_noticed(first, without_head, mutant, 0, 0, &site, &finished);
                tallies[site].tried++;
                tallies[site].noticed += noticed;
            }
        }
    }
    for (int i = 0; i < 2 * SITE_COUNT; i++) {
        const char *name = site_names[i / SITE_COUNT][i % SITE_COUNT];
        if (tallies[i].tried > 0 && tallies[i].noticed == 0)
            fail_msg("%s: sync left out %u times, never noticed", name, tallies[i].tried);
        if (getenv("MK_VERBOSE") != NULL)
            print_message("%-22s noticed %u of %u\n", name, tallies[i].noticed, tallies[i].tried);
    }
    assert_true(tallies[SITE_TMP].tried > 0 && tallies[SITE_LOG_FILE].tried > 0);
    assert_true(tallies[SITE_LOG_DIR].tried > 0 && tallies[SITE_STORE_DIR].tried > 0);
    assert_true(tallies[SITE_COUNT + SITE_TMP].tried > 0);
    assert_true(tallies[SITE_COUNT + SITE_LOG_FILE].tried > 0);
    assert_true(tallies[SITE_COUNT + SITE_LOG_DIR].tried > 0);
}

/* In an uninterrupted first session every single sync matters, not only every kind of it. */
static void test_log_faults__every_sync_of_a_new_log_is_needed(void **state)
{
    (void)state;
    for (uint64_t mutant = 1;; mutant++) {
        bool noticed = false, finished = false;
        int site = -1, seen = -1;
        for (uint64_t at = 1; !finished && !noticed; at++) {
            for (uint64_t seed = 0; seed < SEEDS && !noticed; seed++)
                noticed = mutant_noticed(0, false, mutant, at, seed, &seen, &finished);
            site = seen >= 0 ? seen : site;
        }
        if (site < 0) {
            assert_true(mutant > 6);
            break;
        }
        if (!noticed)
            fail_msg("sync %llu can be left out", (unsigned long long)mutant);
    }
}

/* ---- failing calls ---- */

/* Any one call fails; the process carries on as the rules allow: it opens again when the writer has
 * stopped or did not open. Then power is cut. */
static void test_log_faults__any_failing_call_loses_nothing_acknowledged(void **state)
{
    (void)state;
    const uint64_t calls = calls_of_a_session() + 1; /* make_dir of the store comes before */

    for (uint64_t at = 3; at <= calls + 2; at++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            simfs *sim = new_disk();
            simfs_faults faults = {.fail_at = at, .fail_reason = seed % 2 ? "io" : "no_space",
                                   .fail_prefix = (size_t)seed * 37};
            shim s;
            mk_err err = {.offset = -1};
            uint64_t acked = 0;
            shim_init(&s, sim);
            simfs_set_faults(sim, &faults);
            mk_code rc = session(&s, RECORDS, &acked, &err);
            for (int i = 0; i < 2; i++) { /* the second one begins where the first has healed */
                shim_init(&s, sim);
                rc = session(&s, 3, &acked, &err);
                if (rc != MK_OK)
                    fail_msg("%s, after call %llu failed", err.message, (unsigned long long)at);
            }
            simfs_power_cut(sim, seed);
            assert_no_trouble(sim, acked, "failing call", at, seed);
            simfs_free(sim);
        }
    }
}

static mk_log_writer *open_writer(shim *s)
{
    mk_log_writer *writer = NULL;
    mk_err err = {.offset = -1};
    const reading r = read_all(&s->fs);
    assert_int_equal(r.rc, MK_OK);
    if (mk_log_writer_open(alloc, &s->fs, STORE, &r.end, &writer, &err) != MK_OK)
        fail_msg("%s", err.message);
    return writer;
}

static void test_log_faults__a_failing_sync_stops_the_writer(void **state)
{
    (void)state;
    simfs *sim = new_disk();
    shim s;
    mk_err err = {.offset = -1};
    shim_init(&s, sim);
    mk_log_writer *writer = open_writer(&s);

    assert_int_equal(append_next(writer, &err), MK_OK);
    /* The next append writes and then syncs; it needs no space that is not reserved. */
    simfs_set_faults(sim, &(simfs_faults){.fail_at = simfs_calls(sim) + 2});
    const mk_log_pos end = *mk_log_writer_end(writer);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(append_next(writer, &err), MK_E_STATE);
        assert_string_equal(err.reason, "writer_stopped");
        assert_memory_equal(&end, mk_log_writer_end(writer), sizeof end);
    }
    mk_log_writer_close(writer);

    /* The frame is whole in the page cache, and the system thinks that it is on the disk. */
    shim_init(&s, sim);
    writer = open_writer(&s);
    assert_int_equal(mk_log_writer_end(writer)->frames, 2);
    assert_int_equal(mk_log_writer_end(writer)->file, 2);
    mk_log_writer_close(writer);
    simfs_power_cut(sim, SIMFS_SEED_DROP_ALL);
    assert_no_trouble(sim, 2, "failed sync", 0, 0);
    simfs_free(sim);
}

static void test_log_faults__a_full_disk_refuses_and_recovers(void **state)
{
    (void)state;
    for (uint64_t room = 0; room < 4000; room += 100) {
        simfs *sim = new_disk();
        shim s;
        mk_err err = {.offset = -1};
        char text[4096];
        uint64_t written = 0;
        shim_init(&s, sim);
        mk_log_writer *writer = open_writer(&s);
        assert_int_equal(append_next(writer, &err), MK_OK);
        /* So little that reserving fails, and at some point writing. */
        simfs_set_faults(sim, &(simfs_faults){.capacity = simfs_used(sim) + room});
        while (append_next(writer, &err) == MK_OK)
            assert_true(++written < 100);
        assert_string_equal(err.reason, "no_space");
        const mk_log_pos end = *mk_log_writer_end(writer);
        assert_int_equal(append_next(writer, &err), MK_E_STATE);
        assert_memory_equal(&end, mk_log_writer_end(writer), sizeof end);
        /* A smaller record may still fit where a larger one did not. */
        simfs_set_faults(sim, &(simfs_faults){0});
        const int64_t tt = end.tt.us + 1;
        assert_int_equal(mk_log_append(writer, MK_FRAME_BATCH, record(tt, text), 1, (mk_tt){tt},
                                       (mk_tt){tt}, NULL, &err), MK_OK);
        assert_int_equal(append_next(writer, &err), MK_OK);
        const uint64_t acked = mk_log_writer_end(writer)->frames;
        mk_log_writer_close(writer);
        simfs_power_cut(sim, room);
        assert_no_trouble(sim, acked, "full disk", room, 0);
        simfs_free(sim);
    }
}

/* The write reports an error although every byte has arrived; the caller is told that the batch was
 * refused, so it must not come back. `ignore` leaves out the sync of the cut. True when it came back. */
static bool refused_record_returns(bool ignore, uint64_t seed)
{
    simfs *sim = new_disk();
    shim s;
    mk_err err = {.offset = -1};
    shim_init(&s, sim);
    mk_log_writer *writer = open_writer(&s);
    assert_int_equal(append_next(writer, &err), MK_OK);
    s.fail_write = s.writes + 1;
    s.ignore_sync = ignore ? s.syncs + 1 : 0;
    assert_int_equal(append_next(writer, &err), MK_E_STATE);
    assert_string_equal(err.reason, "io");
    mk_log_writer_close(writer);
    simfs_power_cut(sim, seed);
    const reading r = read_all(simfs_fs(sim));
    assert_int_equal(r.rc, MK_OK);
    assert_true(r.right);
    assert_true(r.end.frames >= 1);
    simfs_free(sim);
    return r.end.frames > 1;
}

static void test_log_faults__a_refused_record_never_returns(void **state)
{
    (void)state;
    bool mutant = false;
    for (uint64_t seed = 0; seed < 200; seed++) {
        assert_false(refused_record_returns(false, seed));
        mutant = mutant || refused_record_returns(true, seed);
    }
    assert_true(mutant);
}

static void test_log_faults__a_failing_cut_stops_the_writer(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) { /* the truncate, or its sync */
        simfs *sim = new_disk();
        shim s;
        mk_err err = {.offset = -1};
        shim_init(&s, sim);
        mk_log_writer *writer = open_writer(&s);
        assert_int_equal(append_next(writer, &err), MK_OK);
        s.fail_write = s.writes + 1;
        simfs_set_faults(sim, &(simfs_faults){.fail_at = simfs_calls(sim) + 2 + (uint64_t)which});
        for (int i = 0; i < 2; i++) {
            assert_int_equal(append_next(writer, &err), MK_E_STATE);
            assert_string_equal(err.reason, "writer_stopped");
        }
        mk_log_writer_close(writer);
        simfs_power_cut(sim, 5);
        assert_no_trouble(sim, 1, "failing cut", (uint64_t)which, 5);
        simfs_free(sim);
    }
}

static void test_log_faults__head_that_cannot_be_written_does_not_fail_an_append(void **state)
{
    (void)state;
    simfs *sim = new_disk();
    shim s;
    mk_err err = {.offset = -1};
    mk_log_pos head;
    bool found;
    shim_init(&s, sim);
    mk_log_writer *writer = open_writer(&s);

    for (int i = 0; i < 4; i++) {
        s.fail_write = i < 2 ? s.writes + 2 : 0;
        assert_int_equal(append_next(writer, &err), MK_OK);
        assert_true(mk_log__writer_head_behind(writer) == (i < 2));
    }
    assert_int_equal(mk_log_head_read(&s.fs, STORE, &head, &found, NULL), MK_OK);
    assert_true(found);
    assert_int_equal(head.frames, 4);
    mk_log_writer_close(writer);
    simfs_free(sim);
}

/* One append: one write and one sync of the log, one small write of head, nothing else. */
static void test_log_faults__an_append_costs_two_writes_and_one_sync(void **state)
{
    (void)state;
    simfs *sim = new_disk();
    shim s;
    mk_err err = {.offset = -1};
    shim_init(&s, sim);
    mk_log_writer *writer = open_writer(&s);
    assert_int_equal(append_next(writer, &err), MK_OK);
    const uint64_t calls = simfs_calls(sim), syncs = simfs_syncs(sim);
    assert_int_equal(append_next(writer, &err), MK_OK);
    assert_int_equal(simfs_calls(sim) - calls, 3);
    assert_int_equal(simfs_syncs(sim) - syncs, 1);
    mk_log_writer_close(writer);
    simfs_free(sim);
}

/* ---- memory ---- */

typedef struct failing {
    uint64_t left;
    int64_t balance;
} failing;

static void *failing_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    failing *f = ctx;
    if (new_size > old_size && f->left-- == 0) {
        f->left = 0;
        return NULL;
    }
    f->balance += (int64_t)new_size - (int64_t)old_size;
    return mk_alloc_default.resize(mk_alloc_default.ctx, p, old_size, new_size);
}

static void test_log_faults__running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    for (uint64_t n = 0;; n++) {
        simfs *sim = new_disk();
        failing f = {.left = n};
        const mk_alloc counting = {failing_resize, &f};
        const mk_log_pos start = mk_log_start();
        mk_log_writer *writer = NULL;
        mk_log_reader *reader = NULL;
        mk_frame frame;
        mk_log_end end = MK_LOG_MORE;
        char *big = malloc(100000);
        mk_code rc;

        memset(big, 'x', 100000);
        big[99999] = '\n';
        MK_TRY(rc, mk_log_writer_open(&counting, simfs_fs(sim), STORE, &start, &writer, NULL));
        MK_TRY(rc, mk_log_append(writer, MK_FRAME_BATCH, MK_STR("a\n"), 1, (mk_tt){1}, (mk_tt){1}, NULL,
                                 NULL));
        MK_TRY(rc, mk_log_append(writer, MK_FRAME_BATCH, (mk_str){big, 100000}, 1, (mk_tt){2}, (mk_tt){2},
                                 NULL, NULL));
        MK_TRY(rc, mk_log_reader_open(&counting, simfs_fs(sim), STORE, &start, &reader, NULL));
        while (end == MK_LOG_MORE)
            MK_TRY(rc, mk_log_read(reader, NULL, &frame, &end, NULL));
    out:
        mk_log_writer_close(writer);
        mk_log_reader_close(reader);
        free(big);
        simfs_free(sim);
        assert_int_equal(f.balance, 0);
        if (rc == MK_OK) {
            assert_true(n > 5);
            break;
        }
        assert_int_equal(rc, MK_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_faults__power_cut_at_any_call_loses_nothing_acknowledged),
        cmocka_unit_test(test_log_faults__power_cut_while_recovering_loses_nothing_acknowledged),
        cmocka_unit_test(test_log_faults__a_killed_process_loses_nothing_acknowledged),
        cmocka_unit_test(test_log_faults__leaving_out_any_sync_is_noticed),
        cmocka_unit_test(test_log_faults__every_sync_of_a_new_log_is_needed),
        cmocka_unit_test(test_log_faults__any_failing_call_loses_nothing_acknowledged),
        cmocka_unit_test(test_log_faults__a_failing_sync_stops_the_writer),
        cmocka_unit_test(test_log_faults__a_full_disk_refuses_and_recovers),
        cmocka_unit_test(test_log_faults__a_refused_record_never_returns),
        cmocka_unit_test(test_log_faults__a_failing_cut_stops_the_writer),
        cmocka_unit_test(test_log_faults__head_that_cannot_be_written_does_not_fail_an_append),
        cmocka_unit_test(test_log_faults__an_append_costs_two_writes_and_one_sync),
        cmocka_unit_test(test_log_faults__running_out_of_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("log_faults", tests, NULL, NULL);
}

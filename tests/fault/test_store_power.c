/* test_store_power.c — the power is cut at every call that changes the disk, and the proof that each
 * sync is needed.
 *
 * After a cut the disk keeps of what was not synced any part in any order (tests/support/simfs.h). The
 * store must then open, hold every acknowledged batch and, of the one in flight, all or nothing, verify
 * its log and go on. The second half takes the syncs away one at a time: the same check must then fail
 * for every sync that acknowledged data hangs on, and must not fail for those of checkpoint files, which
 * the log can always replace. MK_LONG=1 tries every call with more seeds. */
#include "store_world.h"

typedef struct run {
    world w;
    simfs *sim;
    tap t;
    uint64_t at, seed;
    bool in_flight; /* a batch was being written when the power went */
    char why[1200];
} run;

static void begin(run *r)
{
    *r = (run){.sim = world_disk()};
    tap_init(&r->t, simfs_fs(r->sim));
    r->w = (world){.alloc = &mk_alloc_default, .fs = &r->t.fs};
}

/* Steps until the power goes, or as many as there are. Returns how many were done. */
static size_t play(run *r, size_t steps)
{
    mk_err err;
    for (size_t step = 0; step < steps; step++) {
        const step_kind kind = world_steps[step];
        if (world_step(&r->w, kind, &err) == MK_OK)
            continue;
        r->in_flight = kind == WRITE || kind == TXN;
        if (!simfs_is_off(r->sim))
            fail_msg("step %zu fails without a cut: %s", step, err.message);
        return step;
    }
    return steps;
}

/* Opens after the cut. False, with r->why, when something acknowledged is lost or something is there in
 * part. A checkpoint that does not read is `rebuilt`, as the error message asks for. */
static bool survived(run *r, bool *rebuilt)
{
    mk_err err = {0};
    const simfs_faults none = {0};
    const int most = r->w.acked + r->in_flight;
    *rebuilt = false;
    if (r->w.store != NULL)
        world_close(&r->w);
    simfs_power_cut(r->sim, r->seed);
    simfs_set_faults(r->sim, &none);
    mk_code rc = world_open(&r->w, MK_OPEN_CREATE_WRITER, false, &r->w.store, &err);
    int held = rc == MK_OK ? batches_in(r->w.store, 0, &err) : -1;
    if (rc == MK_OK && held < 0 && strcmp(err.reason, "damaged") == 0) {
        *rebuilt = true;
        rc = world_step(&r->w, REBUILD, &err);
        held = rc == MK_OK ? batches_in(r->w.store, 0, &err) : -1;
    }
    if (rc == MK_OK && held >= r->w.acked && held <= most && log_verifies(r->w.fs, &err)) {
        r->w.acked = held;
        return true;
    }
    snprintf(r->why, sizeof r->why, "call %llu, seed %llu: %d of %d to %d batches (%s)",
             (unsigned long long)r->at, (unsigned long long)r->seed, held, r->w.acked, most,
             err.code ? err.message : "");
    return false;
}

/* The store takes a further batch and a checkpoint, and nothing that it then acknowledges hangs on
 * anything that was at risk. */
static bool goes_on(run *r, bool checkpoint)
{
    mk_err err = {0};
    bool rebuilt;
    r->in_flight = false;
    if (r->w.acked < BATCHES && world_step(&r->w, WRITE, &err) != MK_OK)
        fail_msg("call %llu, seed %llu: no further batch: %s", (unsigned long long)r->at,
                 (unsigned long long)r->seed, err.message);
    if (checkpoint && world_step(&r->w, CHECKPOINT, &err) != MK_OK)
        fail_msg("call %llu, seed %llu: no further checkpoint: %s", (unsigned long long)r->at,
                 (unsigned long long)r->seed, err.message);
    r->seed = SIMFS_SEED_DROP_ALL;
    return survived(r, &rebuilt) && !rebuilt;
}

static void end(run *r)
{
    if (r->w.store != NULL)
        world_close(&r->w);
    simfs_free(r->sim);
}

static void test_store_power__a_cut_at_any_call_loses_nothing(void **state)
{
    (void)state;
    static run r;
    const char *only = getenv("MK_CUT_AT");
    const bool at_length = getenv("MK_LONG") != NULL;
    const uint64_t seeds = at_length ? 8 : 2;
    const uint64_t stride = at_length || only ? 1 : 5;
    bool cut = true, rebuilt;
    expect_digests(false);
    uint64_t at = only ? strtoull(only, NULL, 10) : 1;
    for (; cut; at += stride)
        for (uint64_t i = 0; i < seeds && cut; i++) {
            begin(&r);
            r.at = at;
            /* Nothing survives, everything does, and a different chance each time. */
            r.seed = (at + i) % 4 < 2 ? (at + i) % 4 : at * 31 + i;
            const simfs_faults faults = {.cut_at = simfs_calls(r.sim) + at};
            simfs_set_faults(r.sim, &faults);
            cut = play(&r, STEPS) < STEPS;
            if (!survived(&r, &rebuilt) || rebuilt)
                fail_msg("%s%s", r.why, rebuilt ? ": a checkpoint is damaged" : "");
            if (!goes_on(&r, r.seed % 2 == 0))
                fail_msg("later, %s", r.why);
            end(&r);
        }
    assert_true(at > 100);
}

/* ---- without one sync ---- */

/* Which file or folder a sync is for, numbers left out, so that all its like are one site. */
static void site_of(const char *path, char out[64])
{
    size_t n = 0;
    for (; *path != 0 && n < 63; path++)
        if (*path < '0' || *path > '9')
            out[n++] = *path;
        else if (n == 0 || out[n - 1] != 'N')
            out[n++] = 'N';
    out[n] = 0;
}

typedef struct site {
    char name[64];
    unsigned syncs, needed, losses;
} site;

static site sites[32];
static size_t site_count;

static site *find_site(const char *path)
{
    char name[64];
    site_of(path, name);
    for (size_t i = 0; i < site_count; i++)
        if (strcmp(sites[i].name, name) == 0)
            return &sites[i];
    assert_true(site_count < 32);
    snprintf(sites[site_count].name, sizeof sites[0].name, "%s", name);
    return &sites[site_count++];
}

/* The scenario up to `steps`, with the n-th sync left out and the power cut at the end. */
static bool lost_without(unsigned n, size_t steps, uint64_t seed)
{
    static run r;
    bool rebuilt;
    begin(&r);
    r.at = n;
    r.seed = seed;
    const simfs_faults faults = {.ignore_sync_at = simfs_syncs(r.sim) + n};
    simfs_set_faults(r.sim, &faults);
    assert_int_equal(play(&r, steps), steps);
    const bool lost = !survived(&r, &rebuilt);
    end(&r);
    return lost;
}

/* Syncs done after each step of a run without accident, and what each was for. */
static void survey(unsigned after[STEPS + 1], site *of[TAP_SYNCS])
{
    static run r;
    begin(&r);
    after[0] = 0;
    for (size_t step = 0; step < STEPS; step++) {
        mk_err err;
        assert_int_equal(world_step(&r.w, world_steps[step], &err), MK_OK);
        after[step + 1] = r.t.syncs;
    }
    assert_true(r.t.syncs < TAP_SYNCS);
    for (unsigned n = 1; n <= r.t.syncs; n++) {
        of[n] = find_site(r.t.sync_paths[n]);
        of[n]->syncs++;
    }
    end(&r);
}

/* Sites whose every loss is a loss of acknowledged batches. What else is synced is derived from the
 * log, or is synced a second time before anything is acknowledged. */
static const char *const load_bearing[] = {
    "dir/s/log/N.mlog",     /* a frame, before its batches are acknowledged */
    "dir/s/log/N.mlog.tmp", /* the header of a log file, which later frames hang on */
    "dir/s/merkhet.json.tmp",
    "folder dir/s/log",
    "folder dir/s", /* twice: merkhet.json and log/; the second saves the first one's name too */
    "folder dir",
};

static bool bears_load(const char *name)
{
    for (size_t i = 0; i < sizeof load_bearing / sizeof *load_bearing; i++)
        if (strcmp(load_bearing[i], name) == 0)
            return true;
    return false;
}

static void test_store_power__each_sync_of_the_log_is_needed(void **state)
{
    (void)state;
    static unsigned after[STEPS + 1];
    static site *of[TAP_SYNCS];
    const uint64_t seeds = getenv("MK_LONG") != NULL ? 12 : 3;
    expect_digests(false);
    site_count = 0;
    memset(sites, 0, sizeof sites);
    survey(after, of);
    for (size_t step = 0; step < STEPS; step++)
        for (unsigned n = after[step] + 1; n <= after[step + 1]; n++) {
            bool lost = false;
            /* Right after the step; for what opening makes, also after the first batch. */
            for (size_t steps = step + 1; steps <= step + 2 && steps <= STEPS; steps++)
                for (uint64_t seed = 0; seed < seeds && !lost; seed++)
                    lost |= lost_without(n, steps, seed == 0 ? SIMFS_SEED_DROP_ALL : seed * 977 + n);
            of[n]->losses += lost;
        }
    for (size_t i = 0; i < site_count; i++) {
        print_message("%-28s %3u syncs, %3u of them lose a batch when left out\n", sites[i].name,
                      sites[i].syncs, sites[i].losses);
        if (bears_load(sites[i].name) != (sites[i].losses > 0))
            fail_msg("%s: %s", sites[i].name,
                     sites[i].losses ? "a loss nobody expected" : "nothing is lost without it");
    }
}

/* All syncs of one kind left out, and cuts everywhere: the log replaces what is broken. */
static void no_sync_of(const char *what, uint64_t stride)
{
    static run r;
    bool cut = true, rebuilt;
    unsigned repaired = 0;
    for (uint64_t at = 1; cut; at += getenv("MK_LONG") != NULL ? 1 : stride) {
        begin(&r);
        r.at = at;
        r.seed = at % 3 == 0 ? SIMFS_SEED_DROP_ALL : at * 17 + 3;
        const simfs_faults faults = {.cut_at = simfs_calls(r.sim) + at, .ignore_sync_of = what};
        simfs_set_faults(r.sim, &faults);
        cut = play(&r, STEPS) < STEPS;
        if (!survived(&r, &rebuilt))
            fail_msg("without syncs of %s: %s", what, r.why);
        repaired += rebuilt || r.w.warnings > 0;
        /* Once repaired it is whole: the next opening finds a checkpoint that reads. */
        if (!goes_on(&r, true))
            fail_msg("without syncs of %s, later: %s", what, r.why);
        end(&r);
    }
    print_message("without syncs of %s: %u times repaired from the log\n", what, repaired);
    assert_true(repaired > 0);
}

static void test_store_power__syncs_of_checkpoints_are_not_needed(void **state)
{
    (void)state;
    expect_digests(false);
    no_sync_of("/data", 9);
    no_sync_of(".seg", 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_power__a_cut_at_any_call_loses_nothing),
        cmocka_unit_test(test_store_power__each_sync_of_the_log_is_needed),
        cmocka_unit_test(test_store_power__syncs_of_checkpoints_are_not_needed),
    };
    return cmocka_run_group_tests_name("store_power", tests, NULL, NULL);
}

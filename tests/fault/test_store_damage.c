/* test_store_damage.c — files that are cut, flipped, missing, foreign or not ours at all.
 *
 * A store is made once in a fresh folder: most batches before its last checkpoint, some after it, and
 * the state of `head` before the last batch kept aside, which is what a torn frame leaves behind. Each
 * case works on a copy. What only concerns data/ must be replaced by folding the log; what concerns the
 * log must be refused with file and offset, and refusing must change nothing. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_world.h"
#include "../support/tmpdir.h"

/* ---- files in memory ---- */

#define FILES_MAX 64

typedef struct file {
    char name[64]; /* below the store */
    char *p;
    size_t n;
} file;

typedef struct image {
    file files[FILES_MAX];
    size_t count;
} image;

static tmpdir dir;
static image base;          /* of the whole store */
static file old_head;       /* before the last batch */
static uint64_t last_frame; /* where the last frame starts in the log file, and where it ends */
static uint64_t log_end;
static int warnings;
static char warned[1024];

static void at(char out[TMPDIR_PATH_MAX], const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "s/%s", name);
    tmpdir_join(&dir, path, out);
}

static void keep(image *to, const char *name)
{
    char path[TMPDIR_PATH_MAX];
    struct stat info;
    at(path, name);
    assert_int_equal(stat(path, &info), 0);
    if (S_ISDIR(info.st_mode))
        return;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_true(to->count < FILES_MAX);
    file *f = &to->files[to->count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    /* The log is longer than what was written: room is reserved ahead. */
    f->n = (size_t)info.st_size;
    if (strstr(name, ".mlog") != NULL && log_end != 0 && log_end < f->n)
        f->n = log_end;
    f->p = malloc(f->n + 1);
    assert_non_null(f->p);
    assert_int_equal(fread(f->p, 1, f->n, in), f->n);
    fclose(in);
}

static void keep_folder(image *to, const char *name)
{
    char path[TMPDIR_PATH_MAX], inside[320];
    at(path, name);
    DIR *d = opendir(path);
    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            snprintf(inside, sizeof inside, "%s%s%s", name, *name ? "/" : "", e->d_name);
            keep(to, inside);
        }
    closedir(d);
}

static void keep_all(image *to)
{
    to->count = 0;
    keep_folder(to, "");
    keep_folder(to, "data");
    keep_folder(to, "log");
}

static void drop(image *i)
{
    for (size_t k = 0; k < i->count; k++)
        free(i->files[k].p);
    i->count = 0;
}

static void put(const char *name, const void *p, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "s/%s", name);
    tmpdir_put(&dir, path, p, n);
}

static void take_away(const char *name)
{
    char path[TMPDIR_PATH_MAX];
    at(path, name);
    unlink(path);
}

/* The store as it was made, and nothing else. */
static void restore(void)
{
    char path[TMPDIR_PATH_MAX];
    image there = {.count = 0};
    keep_all(&there);
    for (size_t i = 0; i < there.count; i++)
        take_away(there.files[i].name);
    drop(&there);
    at(path, "");
    mkdir(path, 0777);
    at(path, "data");
    mkdir(path, 0777);
    at(path, "log");
    mkdir(path, 0777);
    for (size_t i = 0; i < base.count; i++)
        put(base.files[i].name, base.files[i].p, base.files[i].n);
    warnings = 0;
    warned[0] = 0;
}

static file *find(const char *part)
{
    for (size_t i = 0; i < base.count; i++)
        if (strstr(base.files[i].name, part) != NULL)
            return &base.files[i];
    fail_msg("the store has no file %s", part);
    return NULL;
}

/* Every name with size and time of change, which opening to read must leave alone. */
static void fingerprint(mk_buf *out)
{
    static const char *const folders[] = {"", "data", "log"};
    char path[TMPDIR_PATH_MAX];
    mk_buf_clear(out);
    for (size_t i = 0; i < 3; i++) {
        struct dirent **names = NULL;
        at(path, folders[i]);
        const int n = scandir(path, &names, NULL, alphasort);
        for (int k = 0; k < n; k++) {
            struct stat info;
            char inside[TMPDIR_PATH_MAX + 300];
            snprintf(inside, sizeof inside, "%s/%s", path, names[k]->d_name);
            if (strcmp(names[k]->d_name, "..") != 0 && stat(inside, &info) == 0)
                mk_buf_printf(out, "%s %lld %lld.%09ld\n", inside, (long long)info.st_size,
                              (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
            free(names[k]);
        }
        free(names);
    }
    assert_false(out->failed);
}

/* ---- opening ---- */

static void note(void *ctx, mk_log_level level, const char *module, const char *text)
{
    (void)ctx, (void)module;
    warnings += level != MK_LOG_INFO;
    snprintf(warned, sizeof warned, "%s", text);
}

static mk_code open_at(const char *name, mk_open_mode mode, bool rebuild, mk_store **store, mk_err *err)
{
    char path[TMPDIR_PATH_MAX];
    const mk_store_options options = {.mode = mode, .clock = &still_clock, .log = note, .tail_rows = 3,
                                      .manual = true, .rebuild = rebuild};
    *store = NULL;
    return mk_store_open(tmpdir_join(&dir, name, path), &options, store, err);
}

static mk_code open_store(mk_open_mode mode, mk_store **store, mk_err *err)
{
    return open_at("s", mode, false, store, err);
}

static void close_store(mk_store *store) { assert_int_equal(mk_store_close(store, NULL), MK_OK); }

static void write_next(mk_store *store, int acked)
{
    mk_err err;
    world w = {.alloc = &mk_alloc_default, .store = store, .acked = acked};
    if (write_batch(&w, &err) != MK_OK)
        fail_msg("batch %d: %s", acked, err.message);
}

static void expect_batches(const char *what, mk_store *store, int batches)
{
    mk_err err = {0};
    const int held = batches_in(store, 0, &err);
    if (held != batches)
        fail_msg("%s: %d batches, not %d: %s", what, held, batches, err.code ? err.message : "");
}

static void expect_refused(const char *what, mk_open_mode mode, const char *reason, mk_err *err)
{
    mk_store *store;
    mk_buf before, after;
    mk_buf_init(&before, &mk_alloc_default);
    mk_buf_init(&after, &mk_alloc_default);
    fingerprint(&before);
    const mk_code rc = open_store(mode, &store, err);
    if (rc == MK_OK)
        fail_msg("%s: it opens", what);
    if (rc != MK_E_STATE || strcmp(err->reason, reason) != 0)
        fail_msg("%s: %s (%s, %s)", what, err->message, mk_code_name(rc), err->reason);
    assert_true(err->hint[0] != 0);
    fingerprint(&after);
    if (!mk_str_eq(mk_buf_view(&before), mk_buf_view(&after)) && mode == MK_OPEN_READER)
        fail_msg("%s: opening wrote something", what);
    mk_buf_free(&before);
    mk_buf_free(&after);
}

static int set_up(void **state)
{
    mk_store *store;
    mk_err err;
    mk_disk_stats stats;
    char path[TMPDIR_PATH_MAX];
    (void)state;
    expect_digests(false);
    tmpdir_make(&dir);
    assert_int_equal(open_store(MK_OPEN_CREATE_WRITER, &store, &err), MK_OK);
    for (int i = 0; i < BATCHES; i++) {
        if (i == BATCHES - 1) {
            image heads = {.count = 0};
            assert_int_equal(mk_store_disk_stats(store, &stats, &err), MK_OK);
            last_frame = stats.log_bytes;
            keep(&heads, "head");
            old_head = heads.files[0];
        }
        write_next(store, i);
        if (i % 3 == 1 && i < BATCHES - 2)
            assert_int_equal(mk_store_checkpoint(store, &err), MK_OK);
    }
    assert_int_equal(mk_store_disk_stats(store, &stats, &err), MK_OK);
    log_end = stats.log_bytes;
    close_store(store);
    keep_all(&base);
    tmpdir_join(&dir, "other", path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    drop(&base);
    free(old_head.p);
    tmpdir_remove(&dir);
    return 0;
}

/* ---- a torn frame ---- */

static void test_store_damage__a_torn_frame_is_cut_off_with_a_warning(void **state)
{
    (void)state;
    const file *log = find(".mlog");
    mk_store *store;
    mk_err err;
    const uint64_t stride = getenv("MK_LONG") != NULL ? 1 : 7;
    assert_true(log_end > last_frame + 50);
    for (uint64_t cut = last_frame; cut < log_end; cut++) {
        char what[64];
        snprintf(what, sizeof what, "cut at %llu", (unsigned long long)cut);
        restore();
        put(log->name, log->p, cut);
        put("head", old_head.p, old_head.n);
        if (open_store(MK_OPEN_READER, &store, &err) != MK_OK)
            fail_msg("%s: a reader does not open: %s", what, err.message);
        expect_batches(what, store, BATCHES - 1);
        close_store(store);
        if ((cut - last_frame) % stride != 0)
            continue;
        warnings = 0;
        if (open_store(MK_OPEN_WRITER, &store, &err) != MK_OK)
            fail_msg("%s: %s", what, err.message);
        assert_true(warnings == (cut > last_frame));
        expect_batches(what, store, BATCHES - 1);
        write_next(store, BATCHES - 1);
        close_store(store);
        assert_int_equal(open_store(MK_OPEN_READER, &store, &err), MK_OK);
        expect_batches(what, store, BATCHES);
        close_store(store);
    }
}

/* Bytes flipped inside the last frame, with zeros behind it, as a power cut leaves them. */
static void test_store_damage__a_spoiled_last_frame_is_cut_off(void **state)
{
    (void)state;
    const file *log = find(".mlog");
    char *copy = malloc(log->n + 4096);
    mk_store *store;
    mk_err err;
    assert_non_null(copy);
    for (uint64_t flip = last_frame; flip < log_end; flip += 5) {
        restore();
        memcpy(copy, log->p, log->n);
        memset(copy + log->n, 0, 4096);
        copy[flip] ^= 0x40;
        put(log->name, copy, log->n + 4096);
        put("head", old_head.p, old_head.n);
        if (open_store(MK_OPEN_WRITER, &store, &err) != MK_OK) {
            /* A version or kind that is not known may be a newer one's: that is refused, not cut. */
            if (strcmp(err.reason, "newer_format") != 0)
                fail_msg("byte %llu: %s", (unsigned long long)flip, err.message);
            continue;
        }
        const int held = batches_in(store, BATCHES - 1, &err);
        assert_true(held == BATCHES - 1 || held == BATCHES); /* the latter: a byte of the padding */
        close_store(store);
    }
    free(copy);
}

/* What was acknowledged does not vanish quietly. */
static void test_store_damage__a_lost_frame_that_was_synced_is_refused(void **state)
{
    (void)state;
    const file *log = find(".mlog");
    mk_err err;
    restore();
    put(log->name, log->p, last_frame);
    expect_refused("a synced frame is gone", MK_OPEN_WRITER, "damaged", &err);
    assert_non_null(strstr(err.path, ".mlog"));
    assert_int_equal(err.offset, (int64_t)last_frame);
}

/* ---- damage before the end ---- */

static void test_store_damage__earlier_damage_is_refused_with_file_and_offset(void **state)
{
    (void)state;
    const file *log = find(".mlog");
    char *copy = malloc(log->n);
    mk_store *store;
    mk_err err;
    const uint64_t stride = getenv("MK_LONG") != NULL ? 1 : 17;
    unsigned refused = 0;
    assert_non_null(copy);
    for (uint64_t flip = 0; flip < last_frame; flip += stride) {
        char what[64];
        snprintf(what, sizeof what, "byte %llu", (unsigned long long)flip);
        restore();
        memcpy(copy, log->p, log->n);
        copy[flip] ^= 0x10;
        put(log->name, copy, log->n);
        if (open_at("s", MK_OPEN_READER, true, &store, &err) == MK_OK) {
            expect_batches(what, store, BATCHES); /* padding or room kept for later */
            close_store(store);
            continue;
        }
        if (err.code != MK_E_STATE || strstr(err.path, ".mlog") == NULL || err.offset < 0 ||
            (strcmp(err.reason, "damaged") != 0 && strcmp(err.reason, "newer_format") != 0))
            fail_msg("%s: %s (%s, path %s, offset %lld)", what, err.message, err.reason, err.path,
                     (long long)err.offset);
        refused++;
        image now = {.count = 0};
        mk_err again;
        const mk_code rc = open_at("s", MK_OPEN_WRITER, true, &store, &again);
        assert_int_equal(rc, MK_E_STATE);
        keep_all(&now);
        for (size_t i = 0; i < now.count; i++)
            if (strcmp(now.files[i].name, log->name) == 0)
                assert_memory_equal(now.files[i].p, copy, log->n);
        drop(&now);
    }
    free(copy);
    assert_true(refused * stride > last_frame / 2);
}

/* ---- data/ ---- */

typedef enum harm { REMOVED, EMPTIED, HALVED, ONE_SHORT, FLIPPED, LONGER, GARBAGE } harm;
#define HARMS 7
static const char *const harm_names[HARMS] = {"removed", "emptied", "halved", "one byte short", "flipped",
                                              "longer", "garbage"};

static void do_harm(const file *f, harm how, size_t where)
{
    char *copy = malloc(f->n + 100000);
    assert_non_null(copy);
    memcpy(copy, f->p, f->n);
    size_t n = f->n;
    switch (how) {
    case REMOVED: take_away(f->name); free(copy); return;
    case EMPTIED: n = 0; break;
    case HALVED: n /= 2; break;
    case ONE_SHORT: n -= n > 0; break;
    case FLIPPED: copy[where % f->n] ^= 0x20; break;
    case LONGER: memset(copy + n, 'x', 100000); n += 100000; break;
    case GARBAGE: memset(copy, 'x', n); break;
    }
    put(f->name, copy, n);
    free(copy);
}

/* Opens, with a warning or without, and holds everything; or reading says "damaged", and a rebuild holds
 * everything. Never anything else. */
static void expect_everything(const char *what, mk_open_mode mode)
{
    mk_store *store;
    mk_err err = {0};
    warnings = 0;
    if (open_store(mode, &store, &err) != MK_OK)
        fail_msg("%s: it does not open: %s", what, err.message);
    int held = batches_in(store, 0, &err);
    if (held < 0 && strcmp(err.reason, "damaged") == 0) {
        assert_non_null(strstr(err.hint, "rebuild"));
        close_store(store);
        if (open_at("s", mode, true, &store, &err) != MK_OK)
            fail_msg("%s: no rebuild: %s", what, err.message);
        held = batches_in(store, 0, &err);
    }
    if (held != BATCHES)
        fail_msg("%s: %d batches: %s", what, held, err.code ? err.message : "another digest");
    if (mode == MK_OPEN_READER) {
        close_store(store);
        return;
    }
    /* Repaired by the next checkpoint. */
    if (mk_store_checkpoint(store, &err) != MK_OK)
        fail_msg("%s: no checkpoint: %s", what, err.message);
    close_store(store);
    warnings = 0;
    assert_int_equal(open_store(mode, &store, &err), MK_OK);
    if (warnings != 0)
        fail_msg("%s: still damaged: %s", what, warned);
    expect_batches(what, store, BATCHES);
    close_store(store);
}

static void test_store_damage__a_damaged_checkpoint_is_replaced_by_the_log(void **state)
{
    (void)state;
    mk_err err;
    mk_store *store;
    for (size_t i = 0; i < base.count; i++) {
        const file *f = &base.files[i];
        if (strncmp(f->name, "data/", 5) != 0 || f->n == 0)
            continue;
        for (int how = 0; how < HARMS; how++)
            for (size_t where = 0; where < (how == FLIPPED ? f->n : 1); where += f->n / 3 + 1) {
                char what[128];
                snprintf(what, sizeof what, "%s %s at %zu", f->name, harm_names[how], where);
                restore();
                do_harm(f, (harm)how, where);
                expect_everything(what, MK_OPEN_READER);
                if ((how + i) % 2 != 0 && getenv("MK_LONG") == NULL)
                    continue;
                restore();
                do_harm(f, (harm)how, where);
                expect_everything(what, MK_OPEN_WRITER);
            }
        /* What cannot be overlooked at opening is told. */
        restore();
        do_harm(f, HALVED, 0);
        assert_int_equal(open_store(MK_OPEN_WRITER, &store, &err), MK_OK);
        if (warnings == 0)
            fail_msg("%s halved: no warning", f->name);
        close_store(store);
    }
}

static void test_store_damage__without_a_checkpoint_the_log_is_folded(void **state)
{
    (void)state;
    restore();
    for (size_t i = 0; i < base.count; i++)
        if (strncmp(base.files[i].name, "data/", 5) == 0)
            take_away(base.files[i].name);
    expect_everything("no data", MK_OPEN_READER);
    expect_everything("no data", MK_OPEN_WRITER);
}

/* ---- a checkpoint and a log that do not belong together ---- */

static void make_other(void)
{
    mk_store *store;
    mk_err err;
    assert_int_equal(open_at("other", MK_OPEN_CREATE_WRITER, false, &store, &err), MK_OK);
    for (int i = 0; i < 3; i++) {
        const mk_op op = {.kind = MK_OP_ASSERT_NODE, .uid = MK_STR("other"), .label = MK_STR("L"),
                          .props = MK_STR("{}"), .vt_s = i, .vt_e = MK_OPEN_END, .source = MK_STR("x"),
                          .provenance_null = true};
        assert_int_equal(mk_store_write(store, &op, 1, NULL, NULL, &err), MK_OK);
    }
    close_store(store);
}

static void test_store_damage__a_log_shorter_than_its_checkpoint_is_refused(void **state)
{
    (void)state;
    const file *log = find(".mlog");
    mk_err err;
    for (int with_head = 0; with_head < 2; with_head++)
        for (uint64_t cut = 0; cut <= 800; cut += 400) {
            restore();
            if (!with_head)
                take_away("head");
            if (cut == 0)
                take_away(log->name);
            else
                put(log->name, log->p, cut);
            expect_refused("a short log", MK_OPEN_READER, cut ? "log_mismatch" : "damaged", &err);
            expect_refused("a short log", MK_OPEN_WRITER, cut ? "log_mismatch" : "damaged", &err);
        }
    restore();
    take_away("head");
    put(log->name, log->p, last_frame / 2);
    expect_refused("half a log", MK_OPEN_WRITER, "log_mismatch", &err);
}

static void test_store_damage__a_foreign_log_is_refused(void **state)
{
    (void)state;
    const file *log = find(".mlog");
    char path[TMPDIR_PATH_MAX], inside[128];
    mk_err err;
    restore();
    make_other();
    snprintf(inside, sizeof inside, "other/%s", log->name);
    FILE *in = fopen(tmpdir_join(&dir, inside, path), "rb");
    assert_non_null(in);
    char *bytes = calloc(1, 1 << 20);
    const size_t n = fread(bytes, 1, 1 << 20, in);
    fclose(in);
    put(log->name, bytes, n);
    free(bytes);
    expect_refused("a foreign log", MK_OPEN_READER, "log_mismatch", &err);
    take_away("head");
    expect_refused("a foreign log, for writing", MK_OPEN_WRITER, "log_mismatch", &err);
}

/* ---- not a store ---- */

static void test_store_damage__what_is_no_store_is_refused(void **state)
{
    (void)state;
    mk_store *store;
    mk_err err;
    char path[TMPDIR_PATH_MAX];
    restore();
    static const char newer[] = "{\"format\":2,\"id\":\"0123456789abcdef0123456789abcdef\"}\n";
    put("merkhet.json", newer, sizeof newer - 1);
    expect_refused("a newer format", MK_OPEN_READER, "newer_format", &err);
    expect_refused("a newer format", MK_OPEN_WRITER, "newer_format", &err);
    static const char *const bad[] = {
        "", "{", "[]", "{\"format\":1}", "{\"format\":\"1\",\"id\":1}", "\xff\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put("merkhet.json", bad[i], strlen(bad[i]));
        expect_refused(bad[i], MK_OPEN_READER, "not_a_store", &err);
        expect_refused(bad[i], MK_OPEN_WRITER, "not_a_store", &err);
    }
    take_away("merkhet.json");
    expect_refused("no merkhet.json", MK_OPEN_READER, "not_a_store", &err);
    expect_refused("no merkhet.json", MK_OPEN_CREATE_WRITER, "not_a_store", &err);
    tmpdir_put(&dir, "plain", "text", 4);
    assert_int_not_equal(open_at("plain", MK_OPEN_READER, false, &store, &err), MK_OK);
    assert_int_not_equal(open_at("plain", MK_OPEN_CREATE_WRITER, false, &store, &err), MK_OK);
    assert_int_equal(open_at("absent", MK_OPEN_READER, false, &store, &err), MK_E_NOT_FOUND);
    assert_int_equal(open_at("absent", MK_OPEN_WRITER, false, &store, &err), MK_E_NOT_FOUND);
    assert_int_not_equal(access(tmpdir_join(&dir, "absent", path), F_OK), 0);
    /* A creation that died half-way can be repeated. */
    tmpdir_join(&dir, "half", path);
    assert_int_equal(mkdir(path, 0777), 0);
    tmpdir_put(&dir, "half/merkhet.json.tmp", "{\"for", 5);
    assert_int_equal(open_at("half", MK_OPEN_CREATE_WRITER, false, &store, &err), MK_OK);
    expect_batches("half made", store, 0);
    close_store(store);
}

/* ---- readers write nothing ---- */

static void read_without_a_trace(const char *what)
{
    mk_buf before, after;
    mk_store *store;
    mk_err err;
    mk_buf_init(&before, &mk_alloc_default);
    mk_buf_init(&after, &mk_alloc_default);
    fingerprint(&before);
    if (open_store(MK_OPEN_READER, &store, &err) != MK_OK)
        fail_msg("%s: %s", what, err.message);
    assert_int_equal(mk_store_refresh(store, &err), MK_OK);
    expect_batches(what, store, BATCHES);
    close_store(store);
    fingerprint(&after);
    if (!mk_str_eq(mk_buf_view(&before), mk_buf_view(&after)))
        fail_msg("%s: a reader wrote:\n%.*sbefore:\n%.*s", what, (int)after.n, after.p, (int)before.n,
                 before.p);
    mk_buf_free(&before);
    mk_buf_free(&after);
}

static void test_store_damage__a_reader_writes_nothing(void **state)
{
    (void)state;
    static const char *const folders[] = {"data", "log", ""};
    char path[TMPDIR_PATH_MAX];
    mk_store *store, *writer;
    mk_err err;
    restore();
    read_without_a_trace("a whole store");
    take_away("data/MANIFEST");
    read_without_a_trace("without a manifest");
    take_away("head");
    take_away("lock");
    read_without_a_trace("without head and lock");
    restore();
    for (size_t i = 0; i < 3; i++) {
        at(path, folders[i]);
        assert_int_equal(chmod(path, 0555), 0);
    }
    read_without_a_trace("read-only folders");
    if (access(path, W_OK) != 0) { /* the superuser may write anyway */
        assert_int_equal(open_store(MK_OPEN_WRITER, &store, &err), MK_E_STATE);
        assert_true(strcmp(err.reason, "permission") == 0 || strcmp(err.reason, "read_only") == 0);
    }
    for (size_t i = 0; i < 3; i++) {
        at(path, folders[i]);
        assert_int_equal(chmod(path, 0777), 0);
    }
    restore();
    assert_int_equal(open_store(MK_OPEN_WRITER, &writer, &err), MK_OK);
    read_without_a_trace("beside a writer");
    assert_int_equal(open_store(MK_OPEN_WRITER, &store, &err), MK_E_STATE);
    assert_string_equal(err.reason, "locked");
    close_store(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_damage__a_torn_frame_is_cut_off_with_a_warning),
        cmocka_unit_test(test_store_damage__a_spoiled_last_frame_is_cut_off),
        cmocka_unit_test(test_store_damage__a_lost_frame_that_was_synced_is_refused),
        cmocka_unit_test(test_store_damage__earlier_damage_is_refused_with_file_and_offset),
        cmocka_unit_test(test_store_damage__a_damaged_checkpoint_is_replaced_by_the_log),
        cmocka_unit_test(test_store_damage__without_a_checkpoint_the_log_is_folded),
        cmocka_unit_test(test_store_damage__a_log_shorter_than_its_checkpoint_is_refused),
        cmocka_unit_test(test_store_damage__a_foreign_log_is_refused),
        cmocka_unit_test(test_store_damage__what_is_no_store_is_refused),
        cmocka_unit_test(test_store_damage__a_reader_writes_nothing),
    };
    return cmocka_run_group_tests_name("store_damage", tests, set_up, tear_down);
}

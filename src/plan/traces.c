/* traces.c — the folder of traces. See traces.h. Layer: plan. */
#include "plan/traces.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

#define PATH_SIZE 4200

/* ---- names ---- */

static void run_path(char path[PATH_SIZE], const char *dir, uint32_t number, const char *ending)
{
    snprintf(path, PATH_SIZE, "%.4000s/%u.%s", dir, number, ending);
}

/* "12.run" gives 12; 0: another name. */
static uint32_t number_of(const char *name, const char *ending)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; name[i] >= '0' && name[i] <= '9' && i < 9; i++)
        n = n * 10 + (uint64_t)(name[i] - '0');
    return i > 0 && name[0] != '0' && name[i] == '.' && strcmp(name + i + 1, ending) == 0 ? (uint32_t)n : 0;
}

/* ---- listing ---- */

typedef struct listing {
    const mk_alloc *alloc;
    mk_trace_entry *runs;
    size_t count, cap;
    uint32_t *pins;
    size_t pin_count, pin_cap;
    char (*objects)[72]; /* names of files */
    size_t object_count, object_cap;
    bool nomem;
} listing;

static void on_name(void *arg, const char *name)
{
    listing *l = arg;
    const uint32_t run = number_of(name, "run"), pin = number_of(name, "pin");
    const size_t n = strlen(name);
    if (run != 0) {
        if (mk_grow(l->alloc, (void **)&l->runs, &l->cap, l->count + 1, sizeof *l->runs, NULL) == MK_OK)
            l->runs[l->count++] = (mk_trace_entry){.number = run};
        else
            l->nomem = true;
    } else if (pin != 0) {
        if (mk_grow(l->alloc, (void **)&l->pins, &l->pin_cap, l->pin_count + 1, sizeof *l->pins, NULL) ==
            MK_OK)
            l->pins[l->pin_count++] = pin;
        else
            l->nomem = true;
    } else if (n == 69 && strcmp(name + 64, ".json") == 0) {
        if (mk_grow(l->alloc, (void **)&l->objects, &l->object_cap, l->object_count + 1, sizeof *l->objects,
                    NULL) == MK_OK)
            memcpy(l->objects[l->object_count++], name, n + 1);
        else
            l->nomem = true;
    }
}

static int newest_first(const void *x, const void *y)
{
    const mk_trace_entry *a = x, *b = y;
    return a->number < b->number ? 1 : a->number > b->number ? -1 : 0;
}

static void listing_free(listing *l)
{
    mk_free(l->alloc, l->runs, l->cap * sizeof *l->runs);
    mk_free(l->alloc, l->pins, l->pin_cap * sizeof *l->pins);
    mk_free(l->alloc, l->objects, l->object_cap * sizeof *l->objects);
}

static mk_code list_dir(const mk_alloc *alloc, const mk_fs *fs, const char *dir, listing *l, mk_err *err)
{
    *l = (listing){.alloc = alloc};
    mk_code rc = fs->list(fs->ctx, dir, on_name, l, err);
    if (rc == MK_E_NOT_FOUND || (rc == MK_E_STATE && err != NULL && strcmp(err->reason, "missing") == 0))
        rc = MK_OK; /* nothing was kept yet */
    if (rc == MK_OK && l->nomem)
        rc = mk_fail_nomem(err);
    if (rc != MK_OK)
        return rc;
    if (l->count > 1)
        qsort(l->runs, l->count, sizeof *l->runs, newest_first);
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < l->pin_count; k++)
            l->runs[i].pinned |= l->pins[k] == l->runs[i].number;
    return MK_OK;
}

mk_code mk_traces_list(const mk_fs *fs, const char *dir, mk_arena *arena, mk_trace_entry **out, size_t *count,
                       mk_err *err)
{
    listing l;
    mk_err own;
    mk_code rc;
    MK_TRY(rc, list_dir(arena->alloc, fs, dir, &l, err != NULL ? err : &own));
    *count = l.count;
    *out = mk_arena_get(arena, (l.count + 1) * sizeof **out);
    if (*out == NULL)
        rc = mk_fail_nomem(err);
    else if (l.count != 0)
        memcpy(*out, l.runs, l.count * sizeof **out);
out:
    listing_free(&l);
    return rc;
}

/* ---- one run ---- */

static mk_code write_file(const mk_fs *fs, const char *path, mk_str text, mk_err *err)
{
    char beside[PATH_SIZE + 40];
    mk_file *file = NULL;
    snprintf(beside, sizeof beside, "%s.%016llx.tmp", path, (unsigned long long)mk_entropy64());
    mk_code rc = fs->open(fs->ctx, beside, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE, &file, err);
    if (rc != MK_OK)
        return rc;
    rc = fs->write_at(fs->ctx, file, text.p, text.n, 0, err);
    fs->close(fs->ctx, file);
    if (rc == MK_OK)
        rc = fs->rename(fs->ctx, beside, path, err);
    if (rc != MK_OK) {
        const mk_code gone = fs->remove(fs->ctx, beside, NULL);
        (void)gone;
    }
    return rc;
}

mk_code mk_traces_save(const mk_alloc *alloc, const mk_fs *fs, const char *dir, mk_str trace,
                       uint32_t *number, mk_err *err)
{
    char path[PATH_SIZE];
    listing l;
    mk_err own;
    mk_code rc;
    MK_TRY(rc, fs->make_dir(fs->ctx, dir, err));
    MK_TRY(rc, list_dir(alloc, fs, dir, &l, err != NULL ? err : &own));
    *number = l.count != 0 ? l.runs[0].number + 1 : 1;
    listing_free(&l);
    run_path(path, dir, *number, "run");
    rc = write_file(fs, path, trace, err);
out:
    return rc;
}

static mk_code no_run(uint32_t number, mk_err *err)
{
    mk_fail(err, MK_E_NOT_FOUND, "there is no trace %u", number);
    mk_err_hint(
        err,
        "merkhet trace list shows those that are kept; older ones leave: repeat the command that made it");
    return MK_E_NOT_FOUND;
}

mk_code mk_traces_read(const mk_fs *fs, const char *dir, uint32_t number, mk_arena *arena, mk_str *text,
                       const mk_json **tree, mk_err *err)
{
    char path[PATH_SIZE];
    mk_buf file;
    mk_json *json;
    mk_code rc;
    mk_buf_init(&file, arena->alloc);
    run_path(path, dir, number, "run");
    rc = mk_fs_read_all(fs, path, MK_TRACE_MAX, &file, err);
    if (rc == MK_E_NOT_FOUND)
        rc = no_run(number, err);
    MK_TRY(rc, rc);
    *text = mk_arena_copy(arena, mk_buf_view(&file));
    if (text->p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    rc = mk_json_parse(arena, *text, NULL, &json, err);
    if (rc == MK_E_SCHEMA) {
        rc = mk_fail(err, MK_E_STATE, "the trace %u is damaged: it is no JSON", number);
        mk_err_reason(err, "damaged");
        mk_err_path(err, "%s", path);
    }
    MK_TRY(rc, rc);
    *tree = json;
out:
    mk_buf_free(&file);
    return rc;
}

mk_code mk_traces_pin(const mk_alloc *alloc, const mk_fs *fs, const char *dir, uint32_t number, bool on,
                      mk_err *err)
{
    char path[PATH_SIZE];
    listing l;
    mk_err own;
    bool there = false;
    mk_code rc;
    MK_TRY(rc, list_dir(alloc, fs, dir, &l, err != NULL ? err : &own));
    for (size_t i = 0; i < l.count; i++)
        there |= l.runs[i].number == number;
    run_path(path, dir, number, "pin");
    if (!there)
        rc = no_run(number, err);
    else
        rc = on ? write_file(fs, path, MK_STR("pinned\n"), err) : fs->remove(fs->ctx, path, err);
out:
    listing_free(&l);
    return rc;
}

/* ---- cleaning ---- */

static uint64_t size_of(const mk_fs *fs, const char *path)
{
    mk_file *file;
    uint64_t size = 0;
    if (fs->open(fs->ctx, path, MK_OPEN_READ, &file, NULL) != MK_OK)
        return 0;
    if (fs->size(fs->ctx, file, &size, NULL) != MK_OK)
        size = 0;
    fs->close(fs->ctx, file);
    return size;
}

/* Marks the objects that a trace names, and the payloads that its calls name: both stand in the trace. */
static void mark(const listing *l, bool *used, mk_str text)
{
    for (size_t i = 0; i < l->object_count; i++)
        if (!used[i])
            used[i] = memmem(text.p, text.n, l->objects[i], 64) != NULL;
}

static mk_code drop(const mk_fs *fs, const char *path, uint64_t *freed, mk_err *err)
{
    const uint64_t size = size_of(fs, path);
    const mk_code rc = fs->remove(fs->ctx, path, err);
    if (rc == MK_OK)
        *freed += size;
    return rc;
}

/* Removes objects that none of the first `keep` runs names. */
static mk_code sweep(const mk_alloc *alloc, const mk_fs *fs, const char *dir, const listing *l,
                     const bool *gone, uint64_t *freed, mk_err *err)
{
    bool *used = mk_new0(alloc, l->object_count + 1);
    mk_buf text;
    char path[PATH_SIZE];
    mk_code rc = MK_OK;
    if (used == NULL)
        return mk_fail_nomem(err);
    mk_buf_init(&text, alloc);
    for (size_t i = 0; i < l->count; i++) {
        run_path(path, dir, l->runs[i].number, "run");
        if (!gone[i] && mk_fs_read_all(fs, path, MK_TRACE_MAX, &text, NULL) == MK_OK)
            mark(l, used, mk_buf_view(&text));
    }
    for (size_t i = 0; i < l->object_count; i++) {
        snprintf(path, sizeof path, "%.4000s/%.71s", dir, l->objects[i]);
        if (!used[i])
            MK_TRY(rc, drop(fs, path, freed, err));
    }
out:
    mk_buf_free(&text);
    mk_free(alloc, used, l->object_count + 1);
    return rc;
}

static uint64_t total_size(const mk_fs *fs, const char *dir, const listing *l)
{
    char path[PATH_SIZE];
    uint64_t total = 0;
    for (size_t i = 0; i < l->count; i++) {
        run_path(path, dir, l->runs[i].number, "run");
        total += size_of(fs, path);
    }
    for (size_t i = 0; i < l->object_count; i++) {
        snprintf(path, sizeof path, "%.4000s/%.71s", dir, l->objects[i]);
        total += size_of(fs, path);
    }
    return total;
}

mk_code mk_traces_gc(const mk_alloc *alloc, const mk_fs *fs, const char *dir, uint64_t bytes_max,
                     uint64_t *freed, mk_err *err)
{
    char path[PATH_SIZE];
    listing l;
    mk_err own;
    bool *gone = NULL;
    mk_code rc;
    *freed = 0;
    MK_TRY(rc, list_dir(alloc, fs, dir, &l, err != NULL ? err : &own));
    const uint64_t total = total_size(fs, dir, &l);
    if (total <= bytes_max)
        goto out;
    gone = mk_new0(alloc, l.count + 1);
    if (gone == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    /* Oldest first, in steps of an eighth, because only the sweep says what a run's leaving frees. */
    for (size_t left = l.count; left > 0 && total - *freed > bytes_max;) {
        const size_t step = l.count / 8 + 1;
        for (size_t k = 0; k < step && left > 0; left--) {
            if (l.runs[left - 1].pinned)
                continue;
            run_path(path, dir, l.runs[left - 1].number, "run");
            MK_TRY(rc, drop(fs, path, freed, err));
            gone[left - 1] = true;
            k++;
        }
        MK_TRY(rc, sweep(alloc, fs, dir, &l, gone, freed, err));
    }
out:
    mk_free(alloc, gone, l.count + 1);
    listing_free(&l);
    return rc;
}

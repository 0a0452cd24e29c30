/* store_fixture.h — a store in a fresh folder, as a cmocka fixture. Test support. */
#ifndef MK_TESTS_STORE_FIXTURE_H
#define MK_TESTS_STORE_FIXTURE_H

#include "store_support.h"

typedef struct fixture {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX];
    mk_store *store;
} fixture;

static void reopen(fixture *f, bool rebuild)
{
    if (f->store != NULL)
        close_store(f->store);
    f->store = open_store(f->path, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER,
                                                      .tail_rows = 64,
                                                      .manual = true,
                                                      .rebuild = rebuild});
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    tmpdir_make(&f->dir);
    tmpdir_join(&f->dir, "store", f->path);
    reopen(f, false);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    if (f->store != NULL)
        close_store(f->store);
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

#endif

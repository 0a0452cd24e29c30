/* tmpdir.h — a fresh folder for a test's files, removed with all it holds.
 *
 * Made below $TMPDIR, or /tmp without it. A folder that cannot be made or removed ends the test
 * program with a message: no test means anything then. */
#ifndef MK_TESTS_TMPDIR_H
#define MK_TESTS_TMPDIR_H

#include <stddef.h>

#define TMPDIR_PATH_MAX 1024

typedef struct tmpdir {
    char path[TMPDIR_PATH_MAX]; /* absolute unless $TMPDIR is relative; no slash at the end */
} tmpdir;

void tmpdir_make(tmpdir *dir);
/* Removes everything below it; does not follow symbolic links. Doing it twice is fine. */
void tmpdir_remove(tmpdir *dir);

/* "<dir>/<name>" in `out`, which is returned. */
const char *tmpdir_join(const tmpdir *dir, const char *name, char out[TMPDIR_PATH_MAX]);
/* Writes a file with these bytes, replacing what was there. `name` is relative to the folder. */
void tmpdir_put(const tmpdir *dir, const char *name, const void *p, size_t size);

/* cmocka fixtures: *state is a tmpdir*. */
int tmpdir_setup(void **state);
int tmpdir_teardown(void **state);

#endif

/* tmpdir.c — see tmpdir.h. */
#include "tmpdir.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders kept open at the same time while removing; deeper trees only get slower. */
#define OPEN_DIRS_MAX 16

static _Noreturn void die(const char *what, const char *path)
{
    fprintf(stderr, "tmpdir: cannot %s %s: errno %d\n", what, path, errno);
    abort();
}

void tmpdir_make(tmpdir *dir)
{
    const char *base = getenv("TMPDIR");
    const char *below = base != NULL && base[0] != '\0' ? base : "/tmp";
    const int n = snprintf(dir->path, sizeof dir->path, "%s/merkhet-test-XXXXXX", below);

    if (n < 0 || (size_t)n >= sizeof dir->path)
        die("name a folder below", below);
    if (mkdtemp(dir->path) == NULL)
        die("make", dir->path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* A test may have taken away the permissions it needs to be cleaned up. */
static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if ((type == FTW_D || type == FTW_DNR) && (st->st_mode & S_IRWXU) != S_IRWXU)
        return chmod(path, 0700);
    return 0;
}

void tmpdir_remove(tmpdir *dir)
{
    if (dir->path[0] == '\0')
        return;
    nftw(dir->path, open_up, OPEN_DIRS_MAX, FTW_PHYS);
    if (nftw(dir->path, remove_one, OPEN_DIRS_MAX, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        die("remove", dir->path);
    dir->path[0] = '\0';
}

const char *tmpdir_join(const tmpdir *dir, const char *name, char out[TMPDIR_PATH_MAX])
{
    const int n = snprintf(out, TMPDIR_PATH_MAX, "%s/%s", dir->path, name);

    if (n < 0 || n >= TMPDIR_PATH_MAX)
        die("name", name);
    return out;
}

void tmpdir_put(const tmpdir *dir, const char *name, const void *p, size_t size)
{
    char path[TMPDIR_PATH_MAX];
    FILE *file = fopen(tmpdir_join(dir, name, path), "wb");

    if (file == NULL || (size > 0 && fwrite(p, 1, size, file) != size) || fclose(file) != 0)
        die("write", path);
}

int tmpdir_setup(void **state)
{
    tmpdir *dir = malloc(sizeof *dir);

    if (dir == NULL)
        return -1;
    tmpdir_make(dir);
    *state = dir;
    return 0;
}

int tmpdir_teardown(void **state)
{
    tmpdir_remove(*state);
    free(*state);
    return 0;
}

/* fs.c — mk_fs over POSIX, and two helpers that work over any mk_fs.
 *
 * An open file is a descriptor and its path, kept only so that an error can name it. Nothing is
 * buffered here: after write_at the bytes are in the page cache, after sync on the disk. Every call
 * that a signal may interrupt is repeated, every short transfer is continued, and every descriptor
 * is closed on exec, so that no child keeps a lock alive. */
#include "base/fs.h"

#include "base/fs_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct mk_file {
    int fd;
    size_t block_size; /* of this allocation */
    char path[];
};

/* The longest path we build ourselves; Linux's PATH_MAX. */
#define PATH_SIZE_MAX 4096
/* Unknown growth of a file while it is read is followed in steps of this size. */
#define READ_ALL_STEP 65536

/* ---- errors ---- */

static const char *reason_of(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return "no_space";
    case EROFS:
        return "read_only";
    case EACCES:
    case EPERM:
        return "permission";
    case ENOENT:
    case ENOTDIR:
        return "missing";
    case EEXIST:
    case ENOTEMPTY:
        return "exists";
    default:
        return "io";
    }
}

static const char *hint_of(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return "free space on the file system or raise the quota, then try again";
    case EROFS:
        return "the file system is mounted read-only; use a folder that can be written";
    case EACCES:
    case EPERM:
        return "check the owner and the mode of the file and of the folders above it";
    case EMFILE:
    case ENFILE:
        return "too many files are open; raise the limit (ulimit -n) or close some";
    default:
        return "";
    }
}

/* The system's text in English whatever the locale, and safe to ask for from several threads. */
static const char *system_text(int errnum, char *room, size_t size)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
    const char *text = strerrordesc_np(errnum);
    if (text != NULL)
        return text;
#endif
    snprintf(room, size, "system error %d", errnum);
    return room;
}

mk_code mk_fs__fail(mk_err *err, mk_code code, int errnum, const char *what, const char *path)
{
    char room[48];

    mk_fail(err, code, "cannot %s %s: %s", what, path, system_text(errnum, room, sizeof room));
    mk_err_path(err, "%s", path);
    mk_err_reason(err, reason_of(errnum));
    mk_err_hint(err, "%s", hint_of(errnum));
    return code;
}

static mk_code fail_errno(mk_err *err, int errnum, const char *what, const char *path)
{
    return mk_fs__fail(err, MK_E_STATE, errnum, what, path);
}

static mk_code fail_at(mk_err *err, int errnum, const char *what, const mk_file *file, uint64_t at)
{
    const mk_code rc = fail_errno(err, errnum, what, file->path);
    mk_err_offset(err, at <= INT64_MAX ? (int64_t)at : -1);
    return rc;
}

/* ---- files ---- */

static int open_flags(unsigned flags)
{
    int os_flags = O_CLOEXEC | ((flags & MK_OPEN_WRITE) ? O_RDWR : O_RDONLY);

    MK_ASSERT((flags & MK_OPEN_WRITE) || flags == MK_OPEN_READ);
    MK_ASSERT(!(flags & MK_OPEN_EXCLUSIVE) || (flags & MK_OPEN_CREATE));
    if (flags & MK_OPEN_CREATE)
        os_flags |= O_CREAT;
    if (flags & MK_OPEN_EXCLUSIVE)
        os_flags |= O_EXCL;
    if (flags & MK_OPEN_TRUNCATE)
        os_flags |= O_TRUNC;
    return os_flags;
}

static mk_code posix_open(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    const size_t path_size = strlen(path) + 1;
    const size_t block_size = sizeof(mk_file) + path_size;
    mk_file *file = mk_new(&mk_alloc_default, block_size);

    (void)ctx;
    if (file == NULL)
        return mk_fail_nomem(err);
    file->block_size = block_size;
    memcpy(file->path, path, path_size);
    do
        file->fd = open(path, open_flags(flags), 0666);
    while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0) {
        const int errnum = errno;
        const mk_code code = errnum == ENOENT || errnum == ENOTDIR ? MK_E_NOT_FOUND : MK_E_STATE;
        mk_free(&mk_alloc_default, file, block_size);
        return mk_fs__fail(err, code, errnum, "open", path);
    }
    *out = file;
    return MK_OK;
}

static void posix_close(void *ctx, mk_file *file)
{
    (void)ctx;
    if (file == NULL)
        return;
    /* Never repeated: on Linux the descriptor is gone even when close says EINTR. What close could
     * report about data was reported by sync, and unsynced data is promised nothing. */
    close(file->fd);
    mk_free(&mk_alloc_default, file, file->block_size);
}

/* True when [at, at + n) has offsets that the system can express. */
static bool range_fits(uint64_t at, uint64_t n)
{
    return at <= INT64_MAX && n <= INT64_MAX - at;
}

static mk_code posix_read_at(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got,
                             mk_err *err)
{
    size_t done = 0;

    (void)ctx;
    *got = 0;
    if (!range_fits(at, n))
        return fail_at(err, EOVERFLOW, "read", file, at);
    while (done < n) {
        const ssize_t k = pread(file->fd, (char *)p + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_at(err, errno, "read", file, at + done);
        if (k == 0)
            break;
        done += (size_t)k;
    }
    *got = done;
    return MK_OK;
}

static mk_code posix_write_at(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at,
                              mk_err *err)
{
    size_t done = 0;

    (void)ctx;
    if (!range_fits(at, n))
        return fail_at(err, EFBIG, "write", file, at);
    while (done < n) {
        const ssize_t k = pwrite(file->fd, (const char *)p + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_at(err, errno, "write", file, at + done);
        if (k == 0) /* never for regular files; without this a strange one would loop for ever */
            return fail_at(err, EIO, "write", file, at + done);
        done += (size_t)k;
    }
    return MK_OK;
}

static mk_code posix_size(void *ctx, mk_file *file, uint64_t *size, mk_err *err)
{
    struct stat st;

    (void)ctx;
    if (fstat(file->fd, &st) != 0)
        return fail_errno(err, errno, "look at", file->path);
    *size = (uint64_t)st.st_size;
    return MK_OK;
}

static mk_code posix_truncate(void *ctx, mk_file *file, uint64_t size, mk_err *err)
{
    int rc;

    (void)ctx;
    if (!range_fits(size, 0))
        return fail_at(err, EFBIG, "set the size of", file, size);
    do
        rc = ftruncate(file->fd, (off_t)size);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? MK_OK : fail_at(err, errno, "set the size of", file, size);
}

/* fallocate itself and not posix_fallocate: the C library's stand-in for file systems that cannot
 * reserve writes into every block, which is slow and races with writers of the same range. */
static mk_code posix_reserve(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    uint64_t size;
    mk_code rc;
    int failed;

    if (n == 0)
        return MK_OK;
    if (!range_fits(at, n))
        return fail_at(err, EFBIG, "reserve space in", file, at);
    do
        failed = fallocate(file->fd, 0, (off_t)at, (off_t)n);
    while (failed != 0 && errno == EINTR);
    if (failed == 0)
        return MK_OK;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return fail_at(err, errno, "reserve space in", file, at);

    MK_TRY(rc, posix_size(ctx, file, &size, err));
    if (size < at + n)
        MK_TRY(rc, posix_truncate(ctx, file, at + n, err));
out:
    return rc;
}

static mk_code posix_sync(void *ctx, mk_file *file, mk_err *err)
{
    int rc;

    (void)ctx;
    do
        rc = fdatasync(file->fd);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? MK_OK : fail_errno(err, errno, "sync", file->path);
}

/* Open file description locks: they die with the last descriptor, so a killed process leaves none
 * behind, and unlike classic POSIX locks they belong to the open file, so that two handles of one
 * process exclude each other and closing an unrelated handle releases nothing. */
static mk_code posix_lock(void *ctx, mk_file *file, bool take, bool *held_by_other, mk_err *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* l_len 0: the whole file */
    int rc;

    (void)ctx;
    do
        rc = fcntl(file->fd, take ? F_OFD_SETLK : F_OFD_GETLK, &lock);
    while (rc != 0 && errno == EINTR);
    if (rc != 0 && !(take && (errno == EAGAIN || errno == EACCES)))
        return fail_errno(err, errno, "lock", file->path);
    *held_by_other = take ? rc != 0 : lock.l_type != F_UNLCK;
    return MK_OK;
}

/* ---- names ---- */

static mk_code posix_sync_dir(void *ctx, const char *path, mk_err *err)
{
    mk_code code = MK_OK;
    int fd, rc;

    (void)ctx;
    do
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail_errno(err, errno, "open folder", path);
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    /* EINVAL is how a file system says that folders need no sync or cannot have one; refusing to
     * work there would help nobody. */
    if (rc != 0 && errno != EINVAL)
        code = fail_errno(err, errno, "sync folder", path);
    close(fd);
    return code;
}

static mk_code posix_rename(void *ctx, const char *from, const char *to, mk_err *err)
{
    (void)ctx;
    return rename(from, to) == 0 ? MK_OK : fail_errno(err, errno, "rename", from);
}

/* Files and empty folders. */
static mk_code posix_remove(void *ctx, const char *path, mk_err *err)
{
    (void)ctx;
    if (unlink(path) == 0 || errno == ENOENT)
        return MK_OK;
    if (errno == EISDIR) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return MK_OK;
    }
    return fail_errno(err, errno, "remove", path);
}

static mk_code posix_make_dir(void *ctx, const char *path, mk_err *err)
{
    struct stat st;

    (void)ctx;
    if (mkdir(path, 0777) == 0)
        return MK_OK;
    const int errnum = errno;
    if (errnum == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return MK_OK;
    return fail_errno(err, errnum, "make folder", path);
}

static mk_code posix_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
                          void *arg, mk_err *err)
{
    DIR *dir = opendir(path);
    mk_code rc = MK_OK;

    (void)ctx;
    if (dir == NULL)
        return fail_errno(err, errno, "list folder", path);
    for (;;) {
        errno = 0; /* the only way to tell an error from the end */
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                rc = fail_errno(err, errno, "list folder", path);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(arg, entry->d_name);
    }
    closedir(dir);
    return rc;
}

const mk_fs mk_fs_posix = {
    .ctx = NULL,
    .open = posix_open,
    .close = posix_close,
    .read_at = posix_read_at,
    .write_at = posix_write_at,
    .size = posix_size,
    .truncate = posix_truncate,
    .reserve = posix_reserve,
    .sync = posix_sync,
    .sync_dir = posix_sync_dir,
    .rename = posix_rename,
    .remove = posix_remove,
    .make_dir = posix_make_dir,
    .list = posix_list,
    .lock = posix_lock,
};

/* ---- helpers over any mk_fs ---- */

static mk_code fail_too_large(mk_err *err, const char *path, size_t max)
{
    mk_fail(err, MK_E_LIMIT, "%s is larger than %zu bytes", path, max);
    mk_err_path(err, "%s", path);
    return MK_E_LIMIT;
}

/* Reads to the end even when the file grows meanwhile: one byte more than expected is asked for,
 * and only a short answer ends the loop. */
static mk_code read_to_end(const mk_fs *fs, mk_file *file, const char *path, size_t max,
                           mk_buf *buf, mk_err *err)
{
    uint64_t size;
    mk_code rc;

    MK_TRY(rc, fs->size(fs->ctx, file, &size, err));
    if (size > max)
        return fail_too_large(err, path, max);
    for (size_t step = (size_t)size + 1;; step = READ_ALL_STEP) {
        size_t got;
        char *room = mk_buf_room(buf, step);
        if (room == NULL)
            return mk_fail_nomem(err);
        MK_TRY(rc, fs->read_at(fs->ctx, file, room, step, buf->n, &got, err));
        buf->n += got;
        if (buf->n > max)
            return fail_too_large(err, path, max);
        if (got < step)
            break;
    }
out:
    return rc;
}

mk_code mk_fs_read_all(const mk_fs *fs, const char *path, size_t max, mk_buf *buf, mk_err *err)
{
    mk_file *file = NULL;
    mk_code rc;

    mk_buf_clear(buf);
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_READ, &file, err));
    MK_TRY(rc, read_to_end(fs, file, path, max, buf, err));
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

static mk_code join_path(char out[PATH_SIZE_MAX], const char *dir, const char *name,
                         const char *suffix, mk_err *err)
{
    const int n = snprintf(out, PATH_SIZE_MAX, "%s/%s%s", dir, name, suffix);

    if (n < 0 || n >= PATH_SIZE_MAX)
        return mk_fail(err, MK_E_LIMIT, "path is longer than %d bytes: %s", PATH_SIZE_MAX - 1, dir);
    return MK_OK;
}

static mk_code write_synced(const mk_fs *fs, const char *path, mk_str content, mk_err *err)
{
    mk_file *file = NULL;
    mk_code rc;

    MK_TRY(rc,
           fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE, &file, err));
    MK_TRY(rc, fs->write_at(fs->ctx, file, content.p, content.n, 0, err));
    MK_TRY(rc, fs->sync(fs->ctx, file, err));
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

/* The order is the whole point: content on disk before the name points to it, the name on disk
 * before we say so. Source: Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014. */
mk_code mk_fs_replace(const mk_fs *fs, const char *dir, const char *name, mk_str content,
                      mk_err *err)
{
    char path[PATH_SIZE_MAX], tmp[PATH_SIZE_MAX];
    bool tmp_exists = false;
    mk_code rc;

    MK_TRY(rc, join_path(path, dir, name, "", err));
    MK_TRY(rc, join_path(tmp, dir, name, ".tmp", err));
    tmp_exists = true;
    MK_TRY(rc, write_synced(fs, tmp, content, err));
    MK_TRY(rc, fs->rename(fs->ctx, tmp, path, err));
    tmp_exists = false;
    MK_TRY(rc, fs->sync_dir(fs->ctx, dir, err));
out:
    if (tmp_exists) /* best effort: the error that counts is the first one */
        (void)fs->remove(fs->ctx, tmp, NULL);
    return rc;
}

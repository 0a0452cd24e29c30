/* fs.h — files behind a table of functions. Layer: base.
 *
 * Everything the store does to the disk goes through an mk_fs, so that tests can fail the n-th call
 * or run the store on a simulated disk that loses power (tests/support/simfs). mk_fs_posix is the
 * real one. Errors come back as MK_E_STATE with the path, the system's text and a reason: "no_space",
 * "read_only", "permission", "missing", "exists", "io"; MK_E_NOT_FOUND only from open. */
#ifndef MK_BASE_FS_H
#define MK_BASE_FS_H

#include "base/str.h"

typedef struct mk_file mk_file; /* defined by the implementation */

enum {
    MK_OPEN_READ = 0,       /* existing file, reading only */
    MK_OPEN_WRITE = 1,      /* reading and writing */
    MK_OPEN_CREATE = 2,     /* with WRITE: create when missing */
    MK_OPEN_EXCLUSIVE = 4,  /* with CREATE: must not exist */
    MK_OPEN_TRUNCATE = 8    /* with WRITE: cut to nothing */
};

typedef struct mk_fs mk_fs;
struct mk_fs {
    void *ctx;
    mk_code (*open)(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err);
    void (*close)(void *ctx, mk_file *file);
    /* Reads up to n bytes; *got < n only at the end of the file. Interrupted calls are repeated. */
    mk_code (*read_at)(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got,
                       mk_err *err);
    /* Writes all n bytes or fails; how much reached the file is then unknown. */
    mk_code (*write_at)(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at,
                        mk_err *err);
    mk_code (*size)(void *ctx, mk_file *file, uint64_t *size, mk_err *err);
    mk_code (*truncate)(void *ctx, mk_file *file, uint64_t size, mk_err *err);
    /* Reserves disk blocks for [at, at + n); the file's size covers them afterwards, reading as zeros.
     * A file system that cannot do it returns MK_OK and does nothing but extend. */
    mk_code (*reserve)(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err);
    mk_code (*sync)(void *ctx, mk_file *file, mk_err *err); /* fdatasync: data and size */
    mk_code (*sync_dir)(void *ctx, const char *path, mk_err *err);
    mk_code (*rename)(void *ctx, const char *from, const char *to, mk_err *err);
    mk_code (*remove)(void *ctx, const char *path, mk_err *err); /* a missing file is fine */
    mk_code (*make_dir)(void *ctx, const char *path, mk_err *err); /* an existing one is fine */
    /* Calls `each` for every name but "." and ".."; no order. */
    mk_code (*list)(void *ctx, const char *path, void (*each)(void *arg, const char *name),
                    void *arg, mk_err *err);
    /* Takes (or with try_lock false only tests) the advisory exclusive lock on an open file, without
     * waiting. *held_by_other says that another process has it. Released by close. */
    mk_code (*lock)(void *ctx, mk_file *file, bool take, bool *held_by_other, mk_err *err);
};

extern const mk_fs mk_fs_posix;

/* Whole small file into buf (cleared first). MK_E_NOT_FOUND when missing; MK_E_LIMIT over max. */
MK_CHECK mk_code mk_fs_read_all(const mk_fs *fs, const char *path, size_t max, mk_buf *buf,
                                mk_err *err);
/* Writes path.tmp, syncs it, renames it over path, syncs the directory: all or nothing. */
MK_CHECK mk_code mk_fs_replace(const mk_fs *fs, const char *dir, const char *name, mk_str content,
                               mk_err *err);

#endif

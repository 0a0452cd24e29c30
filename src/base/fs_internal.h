/* fs_internal.h — how this folder words a failed system call. Layer: base, this folder only. */
#ifndef MK_BASE_FS_INTERNAL_H
#define MK_BASE_FS_INTERNAL_H

#include "base/err.h"

/* Fills err with "cannot <what> <path>: <system's text>", the reason that fs.h lists for errnum,
 * and a hint where there is one. Returns `code`. */
mk_code mk_fs__fail(mk_err *err, mk_code code, int errnum, const char *what, const char *path);

#endif

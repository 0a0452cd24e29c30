/* instream.h — reading a file or stdin, decompressing on the way. Layer: base.
 *
 * gzip and zstd are recognised by their magic bytes, several members or frames in a row are read as
 * one, and lines come out of one reused buffer. */
#ifndef MK_BASE_INSTREAM_H
#define MK_BASE_INSTREAM_H

#include "base/str.h"

typedef struct mk_instream mk_instream;

/* "-" is standard input. Errors: MK_E_NOT_FOUND, MK_E_STATE, MK_E_NOMEM. */
MK_CHECK mk_code mk_instream_open(const mk_alloc *alloc, const char *path, mk_instream **out,
                                  mk_err *err);
void mk_instream_close(mk_instream *in); /* NULL is fine */

/* Up to n decompressed bytes; *got 0 at the end. A cut or damaged compressed stream is MK_E_STATE
 * with the compressed offset, not an end. */
MK_CHECK mk_code mk_instream_read(mk_instream *in, void *p, size_t n, size_t *got, mk_err *err);

/* The next line without its LF (a CR before it is dropped when `strip_cr`); valid until the next
 * call. *more false at the end. A last line without LF is a line; *ended_by_lf tells. Lines over
 * max_line bytes are MK_E_LIMIT. */
MK_CHECK mk_code mk_instream_line(mk_instream *in, size_t max_line, bool strip_cr, mk_str *line,
                                  bool *more, bool *ended_by_lf, mk_err *err);

/* For progress: compressed bytes read so far, and the file's size or 0 when unknown. */
uint64_t mk_instream_read_bytes(const mk_instream *in);
uint64_t mk_instream_total_bytes(const mk_instream *in);
uint64_t mk_instream_line_number(const mk_instream *in); /* of the line last returned, from 1 */

#endif

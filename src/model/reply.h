/* reply.h — from the bytes of a response to the text of a reply. Layer: model.
 *
 * A response is either one JSON text or server-sent events, each a JSON text with a piece of the reply; which
 * one is seen from its first byte, since servers ignore `stream` at will. Bytes are fed as they come, sizes
 * are counted as they come, and no state of the peer's making outlives a line.
 * Source: agent spec, 10.2; HTML standard, 9.2 (event streams). */
#ifndef MK_MODEL_REPLY_H
#define MK_MODEL_REPLY_H

#include "base/json.h"

typedef struct mk_reply_reader {
    mk_arena *scratch; /* rewound after each event */
    size_t body_max, text_max;
    size_t body_size;  /* bytes fed */
    enum { MK_REPLY_START, MK_REPLY_WHOLE, MK_REPLY_EVENTS } form;
    mk_buf line;  /* the event line, or the whole text, so far */
    mk_buf text;  /* of the reply */
    bool done;    /* a finish reason came, or the end of the stream */
    bool ended;   /* the end of the stream: what follows is not looked at */
    bool cut;     /* finish_reason "length" */
    bool skip_lf; /* a CR was seen; an LF belongs to it */
    int64_t prompt_tokens, reply_tokens; /* -1: not said, or no whole number */
    bool doubtful;                       /* said, but not as a number that can be */
} mk_reply_reader;

void mk_reply_open(mk_reply_reader *reader, const mk_alloc *alloc, mk_arena *scratch, size_t body_max,
                   size_t text_max);
void mk_reply_close(mk_reply_reader *reader);
/* Takes more bytes. Errors: MK_E_MODEL ("too_large", "malformed", "refused" for an error the peer
 * reports inside a stream), MK_E_NOMEM; the reader takes no more after one. */
MK_CHECK mk_code mk_reply_feed(mk_reply_reader *reader, const char *p, size_t n, mk_err *err);
/* No more bytes will come; reader->text is then the reply, UTF-8. Errors: as above, "cut_off" for a
 * stream without an end, "empty" for a reply without text. */
MK_CHECK mk_code mk_reply_end(mk_reply_reader *reader, mk_err *err);

/* MK_E_MODEL, to be tried again as it is, with a reason. */
mk_code mk_model__fail(mk_err *err, const char *reason, const char *fmt, ...) MK_PRINTF(3, 4);

#endif

/* record_decoder.h — the state of the lenient reader, shared by its three files. Layer: store.
 *
 * record.c walks the line, record_events.c reads the events of a bulk op, record_build.c judges what
 * was found and puts the op together. */
#ifndef MK_STORE_RECORD_DECODER_H
#define MK_STORE_RECORD_DECODER_H

#include "store/record_internal.h"


typedef enum mk_found {
    MK_FOUND_NOTHING = 0,
    MK_FOUND_TEXT,
    MK_FOUND_NULL,
    MK_FOUND_INT,
    MK_FOUND_ZERO,  /* 0.0, which an event's vt_e may be */
    MK_FOUND_RAW,   /* props: the text of any value; ref and events: read into their own place */
    MK_FOUND_OTHER  /* a type that this member never has */
} mk_found;

typedef struct mk_record_fields {
    uint8_t got[MK_FIELD_COUNT]; /* enum mk_found */
    mk_str text[MK_FIELD_COUNT];
    int64_t number[MK_FIELD_COUNT];
} mk_record_fields;

typedef struct mk_event_list {
    mk_event *events;
    size_t count, cap;
    size_t start; /* offset of the array in the line */
    bool bad; /* one of them is malformed: which, and why */
    size_t bad_index;
    const char *bad_what;
} mk_event_list;

typedef struct mk_record_decoder {
    mk_json_reader json;
    mk_arena *arena;
    mk_record *out;
    size_t op_cap;
    size_t op_index; /* of the op being read; passes out->op_count behind a malformed one */
    bool guessed;    /* the one generous guess at a number of events is used up */
    bool has_id, has_ops, has_tt;
    bool has_others; /* members that no record has */
    mk_str ops_text; /* the array as in the line */
    mk_record_fields own, ref; /* of the op being read and of its ref */
    mk_event_list list;
} mk_record_decoder;

/* Reads the value behind a name, whatever it is, and says what was found; *text and *number are
 * written only with MK_FOUND_TEXT and MK_FOUND_INT. */
MK_CHECK mk_code mk_record__read_scalar(mk_record_decoder *d, uint8_t *got, mk_str *text,
                                        int64_t *number, mk_err *err);

/* Reads the value behind the name "events" into d->list. */
MK_CHECK mk_code mk_record__read_events(mk_record_decoder *d, uint8_t *got, mk_err *err);

/* Puts together the op whose members are in d->own, d->ref and d->list. False when it is malformed,
 * which the record then says. */
bool mk_record__build_op(mk_record_decoder *d, mk_op *op);

/* Marks the record, for its first malformed op only. `where` is a path inside the op or "". */
void mk_record__malformed(mk_record_decoder *d, const char *where, const char *message);

#endif

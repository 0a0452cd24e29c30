/* record_events.c — the events of a bulk op, as a log holds them. Layer: store.
 *
 * Events are the mass of every log. Each may be read token by token, with its members in any order;
 * but once one has been, those behind it that stand in canonical form with plain strings are matched
 * literally, several times as fast. The pull reader is moved past them, which is right because it
 * stands behind an item of the array before and after.
 * Source: store spec, 7.1, 7.7. */
#include "store/record_decoder.h"

#define EVENTS_START 16   /* events that a list gets room for at first */
#define EVENT_SIZE_MIN 40 /* bytes; an event with its four members is not shorter */
/* Digits of a time that cannot leave int64, whatever they are. */
#define PLAIN_DIGITS_MAX 18

/* ---- one event, token by token ---- */

enum { NEED_SRC = 1, NEED_DST = 2, NEED_REL_TYPE = 4, NEED_VT_S = 8, NEED_ALL = 15 };

static void event_bad(mk_record_decoder *d, const char *what)
{
    if (!d->list.bad) {
        d->list.bad = true;
        d->list.bad_index = d->list.count;
        d->list.bad_what = what;
    }
}

/* Where the next event goes. The first growth of a record guesses the rest of the line to be events
 * of the same size, which for the usual record is right and saves copying; only once, so that a
 * hostile line cannot multiply it. */
static mk_event *event_slot(mk_record_decoder *d)
{
    mk_event_list *list = &d->list;

    if (list->count < list->cap)
        return &list->events[list->count];
    size_t cap = list->cap == 0 ? EVENTS_START : list->cap * 2;
    if (list->cap != 0 && !d->guessed) {
        const size_t rest = d->json.input.n - d->json.at;
        const size_t each = (d->json.at - list->start) / list->count;
        d->guessed = true;
        if (each >= EVENT_SIZE_MIN && each < rest)
            cap = list->count + rest / each + rest / each / 64 + EVENTS_START;
    }
    size_t size;
    mk_event *grown = mk_size_mul(cap, sizeof *grown, &size) ? mk_arena_get(d->arena, size) : NULL;
    if (grown == NULL)
        return NULL;
    if (list->count != 0)
        memcpy(grown, list->events, list->count * sizeof *grown);
    list->events = grown;
    list->cap = cap;
    return &list->events[list->count];
}

typedef struct event_state {
    mk_event event;
    unsigned have, wrong; /* one bit a member */
} event_state;

static unsigned event_need(mk_record_field field)
{
    switch (field) {
    case MK_FIELD_SRC:
        return NEED_SRC;
    case MK_FIELD_DST:
        return NEED_DST;
    case MK_FIELD_REL_TYPE:
        return NEED_REL_TYPE;
    case MK_FIELD_VT_S:
        return NEED_VT_S;
    default:
        return 1u << (4 + field);
    }
}

/* The name was read last. */
static mk_code event_member(mk_record_decoder *d, mk_record_field field, event_state *state,
                            mk_err *err)
{
    mk_event *event = &state->event;
    mk_str text = {NULL, 0};
    int64_t number = 0;
    uint8_t got;

    if (field == MK_FIELD_PROPS)
        return mk_json_skip(&d->json, &event->props, err);
    mk_code rc = mk_record__read_scalar(d, &got, &text, &number, err);
    if (rc != MK_OK)
        return rc;
    bool fine = got == MK_FOUND_TEXT;
    switch (field) {
    case MK_FIELD_SRC:
        event->src = text;
        break;
    case MK_FIELD_DST:
        event->dst = text;
        break;
    case MK_FIELD_REL_TYPE:
        event->rel_type = text;
        break;
    case MK_FIELD_DISC:
        event->disc = text;
        event->disc_kind = got == MK_FOUND_NULL ? MK_DISC_NULL : MK_DISC_GIVEN;
        fine = fine || got == MK_FOUND_NULL;
        break;
    case MK_FIELD_VT_S:
        event->vt_s = number;
        fine = got == MK_FOUND_INT;
        break;
    case MK_FIELD_VT_E:
        /* The reference reads null and zero as absent (store spec, 7.7). */
        event->vt_e = number;
        event->has_vt_e = got == MK_FOUND_INT && number != 0;
        fine = got == MK_FOUND_INT || got == MK_FOUND_NULL || got == MK_FOUND_ZERO;
        break;
    default:
        return MK_OK; /* no member of an event; ignored */
    }
    const unsigned bit = event_need(field);
    state->have |= bit;
    state->wrong = fine ? state->wrong & ~bit : state->wrong | bit;
    return MK_OK;
}

static const char *event_complaint(const event_state *state)
{
    static const struct {
        unsigned bit;
        const char *absent, *wrong;
    } needed[] = {
        {NEED_SRC, "has no src", "has a src that is not a string"},
        {NEED_DST, "has no dst", "has a dst that is not a string"},
        {NEED_REL_TYPE, "has no rel_type", "has a rel_type that is not a string"},
        {NEED_VT_S, "has no vt_s", "has a vt_s that is not an integer in the range of int64"},
    };

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if ((state->have & needed[i].bit) == 0)
            return needed[i].absent;
        if ((state->wrong & needed[i].bit) != 0)
            return needed[i].wrong;
    }
    if ((state->wrong & event_need(MK_FIELD_DISC)) != 0)
        return "has a disc that is not a string";
    if ((state->wrong & event_need(MK_FIELD_VT_E)) != 0)
        return "has a vt_e that is not an integer in the range of int64";
    /* Its end would be one microsecond later. */
    if (!state->event.has_vt_e && state->event.vt_s == INT64_MAX)
        return "ends beyond the range of int64";
    return NULL;
}

static mk_record_field event_field(mk_str name)
{
    switch (name.n) {
    case 3:
        return memcmp(name.p, "src", 3) == 0   ? MK_FIELD_SRC
               : memcmp(name.p, "dst", 3) == 0 ? MK_FIELD_DST
                                               : MK_FIELD_COUNT;
    case 4:
        return memcmp(name.p, "vt_s", 4) == 0   ? MK_FIELD_VT_S
               : memcmp(name.p, "vt_e", 4) == 0 ? MK_FIELD_VT_E
               : memcmp(name.p, "disc", 4) == 0 ? MK_FIELD_DISC
                                                : MK_FIELD_COUNT;
    case 5:
        return memcmp(name.p, "props", 5) == 0 ? MK_FIELD_PROPS : MK_FIELD_COUNT;
    case 8:
        return memcmp(name.p, "rel_type", 8) == 0 ? MK_FIELD_REL_TYPE : MK_FIELD_COUNT;
    default:
        return MK_FIELD_COUNT;
    }
}

/* The current token starts the event. */
static mk_code read_event(mk_record_decoder *d, mk_err *err)
{
    event_state state;
    mk_str raw;
    mk_code rc;

    if (d->json.token != MK_TOK_OBJECT) {
        event_bad(d, "is not an object");
        return mk_json_skip(&d->json, &raw, err);
    }
    memset(&state, 0, sizeof state);
    state.event.disc_kind = MK_DISC_DEFAULT;
    for (;;) {
        MK_TRY(rc, mk_json_next(&d->json, err));
        if (d->json.token == MK_TOK_OBJECT_END)
            break;
        MK_TRY(rc, event_member(d, event_field(d->json.text), &state, err));
    }
    const char *complaint = event_complaint(&state);
    if (complaint != NULL)
        event_bad(d, complaint);
    if (!d->list.bad) {
        mk_event *slot = event_slot(d);
        if (slot == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        *slot = state.event;
        d->list.count++;
    }

out:
    return rc;
}

/* ---- events in canonical form ---- */

/* Matches a literal at *p; what follows may be shorter than it. */
static inline bool match(const char **p, const char *end, const char *literal, size_t n)
{
    if ((size_t)(end - *p) < n || memcmp(*p, literal, n) != 0)
        return false;
    *p += n;
    return true;
}
#define MATCH(p, end, literal) match(&(p), end, literal, sizeof(literal) - 1)

/* The rest of a string up to its quote, when it has no escapes. */
static inline bool match_text(const char **p, const char *end, mk_str *out)
{
    const size_t rest = (size_t)(end - *p);
    size_t n = mk_record__plain_span(*p, rest, true);

    if (n < rest && (unsigned char)(*p)[n] >= 0x80) {
        n += mk_record__plain_span(*p + n, rest - n, false);
        if (mk_utf8_check((mk_str){*p, n}) != n)
            return false;
    }
    if (n == rest || (*p)[n] != '"')
        return false;
    *out = (mk_str){*p, n};
    *p += n + 1;
    return true;
}

/* Any value, read by a pull reader of its own. What that one refuses is read again by the reader of
 * the line, which reports it. */
static bool match_value(const char **p, const char *end, const mk_alloc *alloc, mk_str *out)
{
    mk_json_reader json;

    mk_json_open(&json, alloc, (mk_str){*p, (size_t)(end - *p)}, NULL);
    const bool read = mk_json_next(&json, NULL) == MK_OK && mk_json_skip(&json, out, NULL) == MK_OK;
    mk_json_close(&json);
    if (!read || out->p != *p)
        return false;
    *p += out->n;
    return true;
}

static inline bool match_i64(const char **p, const char *end, int64_t *out)
{
    const char *at = *p;
    const bool negative = at < end && *at == '-';
    int64_t value = 0;

    at += negative;
    const char *first = at;
    while (at < end && (unsigned)(*at - '0') < 10 && at - first < PLAIN_DIGITS_MAX)
        value = value * 10 + (*at++ - '0');
    if (at == first || at == end || (*first == '0' && (negative || at - first > 1)))
        return false;
    *out = negative ? -value : value;
    *p = at;
    return true;
}

/* An event in canonical form with its comma before it; NULL when it is anything else, however
 * harmless. Gives the end of the event. */
static const char *match_event(const char *p, const char *end, const mk_alloc *alloc,
                               mk_event *event)
{
    if (!MATCH(p, end, ",{\""))
        return NULL;
    event->disc_kind = MK_DISC_DEFAULT;
    event->disc = (mk_str){NULL, 0};
    if (MATCH(p, end, "disc\":\"")) {
        event->disc_kind = MK_DISC_GIVEN;
        if (!match_text(&p, end, &event->disc) || !MATCH(p, end, ",\""))
            return NULL;
    }
    if (!MATCH(p, end, "dst\":\"") || !match_text(&p, end, &event->dst))
        return NULL;
    event->props = (mk_str){NULL, 0};
    if (MATCH(p, end, ",\"props\":") && !match_value(&p, end, alloc, &event->props))
        return NULL;
    if (!MATCH(p, end, ",\"rel_type\":\"") || !match_text(&p, end, &event->rel_type))
        return NULL;
    if (!MATCH(p, end, ",\"src\":\"") || !match_text(&p, end, &event->src))
        return NULL;
    event->vt_e = 0;
    event->has_vt_e = false;
    if (MATCH(p, end, ",\"vt_e\":")) {
        if (!match_i64(&p, end, &event->vt_e) || event->vt_e == 0)
            return NULL;
        event->has_vt_e = true;
    }
    if (!MATCH(p, end, ",\"vt_s\":") || !match_i64(&p, end, &event->vt_s))
        return NULL;
    return MATCH(p, end, "}") ? p : NULL;
}

/* The pull reader stands behind an event. */
static mk_code read_plain_events(mk_record_decoder *d, mk_err *err)
{
    const char *const start = d->json.input.p;
    const char *const end = start + d->json.input.n;
    const char *p = start + d->json.at;
    mk_code rc = MK_OK;

    while (p != NULL && !d->list.bad && p < end && *p == ',') {
        mk_event *slot = event_slot(d);
        if (slot == NULL) {
            rc = mk_fail_nomem(err);
            break;
        }
        p = match_event(p, end, d->arena->alloc, slot);
        if (p != NULL) {
            d->list.count++;
            d->json.at = (size_t)(p - start);
        }
    }
    return rc;
}

/* The name "events" was read last. */
mk_code mk_record__read_events(mk_record_decoder *d, uint8_t *got, mk_err *err)
{
    mk_str raw;
    mk_code rc;

    d->list.count = 0;
    d->list.bad = false;
    d->list.start = d->json.at;
    *got = MK_FOUND_OTHER;
    MK_TRY(rc, mk_json_next(&d->json, err));
    if (d->json.token != MK_TOK_ARRAY)
        return mk_json_skip(&d->json, &raw, err);
    *got = MK_FOUND_RAW;
    for (;;) {
        MK_TRY(rc, mk_json_next(&d->json, err));
        if (d->json.token == MK_TOK_ARRAY_END)
            break;
        MK_TRY(rc, read_event(d, err));
        MK_TRY(rc, read_plain_events(d, err));
    }

out:
    return rc;
}

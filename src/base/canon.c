/* canon.c — canonical JSON.
 *
 * The writer walks a tree with a small stack of frames, one for each open container. An object
 * whose members are in order already, as in every text that was canonical, is walked in place; another
 * gets an array of pointers to its members, sorted by merging. Runs of text that need no escape are
 * found eight bytes at a time and copied whole. Source: store spec, section 3. */
#include "base/canon.h"

#include "base/num.h"

/* Frames on the C stack. A tree deeper than this continues in a nested call, so that the depth of
 * calls is a thirty-second of the depth of the tree, which for input is at most 256. */
#define FRAMES 32

/* ---- scalars ---- */

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* The high bit of every byte below `limit`, and maybe of bytes above such a byte; 0 means none. */
static inline uint64_t bytes_below(uint64_t word, uint8_t limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

static inline bool needs_escape(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }

/* Bytes from p on that are written as they are. */
static size_t plain_size(const char *p, size_t n)
{
    size_t i = 0;
    while (n - i >= 8) {
        uint64_t word;
        memcpy(&word, p + i, sizeof word);
        if ((bytes_below(word ^ EACH_BYTE('"'), 1) | bytes_below(word ^ EACH_BYTE('\\'), 1) |
             bytes_below(word, 0x20)) != 0)
            break;
        i += 8;
    }
    while (i < n && !needs_escape((unsigned char)p[i]))
        i++;
    return i;
}

static void put_escape(mk_buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', (char)c};
    size_t n = 2;
    switch (c) {
    case '"':
    case '\\':
        break;
    case '\b':
        text[1] = 'b';
        break;
    case '\f':
        text[1] = 'f';
        break;
    case '\n':
        text[1] = 'n';
        break;
    case '\r':
        text[1] = 'r';
        break;
    case '\t':
        text[1] = 't';
        break;
    default:
        memcpy(text, "\\u00", 4);
        text[4] = hex[c >> 4];
        text[5] = hex[c & 15];
        n = 6;
        break;
    }
    mk_buf_put(out, text, n);
}

void mk_canon_string(mk_buf *out, mk_str text)
{
    char *p = text.n < SIZE_MAX - 2 ? mk_buf_room(out, text.n + 2) : NULL;
    if (p == NULL) {
        out->failed = true;
        return;
    }
    size_t i = plain_size(text.p, text.n);
    p[0] = '"';
    if (i > 0)
        memcpy(p + 1, text.p, i);
    out->n += i + 1;
    while (i < text.n) {
        put_escape(out, (unsigned char)text.p[i++]);
        const size_t plain = plain_size(text.p + i, text.n - i);
        mk_buf_put(out, text.p + i, plain);
        i += plain;
    }
    mk_buf_c(out, '"');
}

void mk_canon_double(mk_buf *out, double d)
{
    char *p = mk_buf_room(out, MK_DOUBLE_TEXT_MAX);
    if (p != NULL)
        out->n += mk_double_text(p, d);
}

static void put_scalar(mk_buf *out, const mk_json *value)
{
    switch (value->kind) {
    case MK_JSON_BOOL:
        mk_buf_z(out, value->b ? "true" : "false");
        break;
    case MK_JSON_INT:
        if (value->b)
            mk_buf_str(out, value->text);
        else
            mk_buf_i64(out, value->i);
        break;
    case MK_JSON_FLOAT:
        mk_canon_double(out, value->d);
        break;
    case MK_JSON_STRING:
        mk_canon_string(out, value->text);
        break;
    default:
        mk_buf_z(out, "null");
        break;
    }
}

/* ---- order of members ---- */

static bool in_order(const mk_json *object)
{
    for (size_t i = 1; i < object->n; i++)
        if (mk_str_cmp(object->members[i - 1].key, object->members[i].key) > 0)
            return false;
    return true;
}

static void merge_runs(const mk_member **to, const mk_member *const *from, size_t left,
                       size_t middle, size_t right)
{
    size_t i = left, j = middle;
    for (size_t k = left; k < right; k++) {
        const bool take_left =
            i < middle && (j == right || mk_str_cmp(from[i]->key, from[j]->key) <= 0);
        to[k] = take_left ? from[i++] : from[j++];
    }
}

/* Bottom-up merge sort: stable, no recursion, no worst case, and no memory but the two arrays. */
static const mk_member **sorted_members(mk_arena *arena, const mk_json *object)
{
    size_t size;
    if (!mk_size_mul(object->n, 2 * sizeof(const mk_member *), &size))
        return NULL;
    const mk_member **from = mk_arena_get(arena, size);
    if (from == NULL)
        return NULL;
    const mk_member **to = from + object->n;
    const size_t n = object->n;
    for (size_t i = 0; i < n; i++)
        from[i] = &object->members[i];
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t left = 0; left < n; left += 2 * width) {
            const size_t middle = left + width < n ? left + width : n;
            const size_t right = middle + width < n ? middle + width : n;
            merge_runs(to, from, left, middle, right);
        }
        const mk_member **swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* ---- trees ---- */

/* An open container: the next child is number i. */
typedef struct frame {
    const mk_json *container;
    const mk_member **order; /* NULL: as they stand */
    size_t i;
} frame;

static bool is_container(const mk_json *value)
{
    return value->kind == MK_JSON_ARRAY || value->kind == MK_JSON_OBJECT;
}

static mk_code open_frame(mk_buf *out, mk_arena *arena, const mk_json *container, frame *f,
                          mk_err *err)
{
    const bool object = container->kind == MK_JSON_OBJECT;
    *f = (frame){.container = container};
    if (object && !in_order(container)) {
        MK_ASSERT(arena != NULL);
        if (arena == NULL)
            return mk_fail(err, MK_E_INTERNAL, "members out of order and no arena to sort them in");
        f->order = sorted_members(arena, container);
        if (f->order == NULL)
            return mk_fail_nomem(err);
    }
    mk_buf_c(out, object ? '{' : '[');
    return MK_OK;
}

/* Writes what stands before the next child and returns it. */
static const mk_json *next_child(mk_buf *out, frame *f)
{
    const size_t i = f->i++;
    if (i > 0)
        mk_buf_c(out, ',');
    if (f->container->kind == MK_JSON_ARRAY)
        return &f->container->items[i];
    const mk_member *member = f->order != NULL ? f->order[i] : &f->container->members[i];
    mk_canon_string(out, member->key);
    mk_buf_c(out, ':');
    return &member->value;
}

static mk_code put_tree(mk_buf *out, mk_arena *arena, const mk_json *value, mk_err *err)
{
    frame stack[FRAMES];
    size_t depth = 0;
    mk_code rc = MK_OK;

    if (!is_container(value)) {
        put_scalar(out, value);
        return MK_OK;
    }
    MK_TRY(rc, open_frame(out, arena, value, &stack[depth++], err));
    while (depth > 0) {
        frame *const top = &stack[depth - 1];
        if (top->i == top->container->n) {
            mk_buf_c(out, top->container->kind == MK_JSON_OBJECT ? '}' : ']');
            depth--;
            continue;
        }
        const mk_json *child = next_child(out, top);
        if (!is_container(child))
            put_scalar(out, child);
        else if (depth == FRAMES)
            MK_TRY(rc, put_tree(out, arena, child, err));
        else
            MK_TRY(rc, open_frame(out, arena, child, &stack[depth++], err));
    }

out:
    return rc;
}

mk_code mk_canon_tree(mk_buf *out, mk_arena *arena, const mk_json *value, mk_err *err)
{
    mk_arena_mark mark = {0};
    mk_code rc;

    if (arena != NULL)
        mark = mk_arena_save(arena);
    MK_TRY(rc, put_tree(out, arena, value, err));
    rc = mk_buf_done(out, err);

out:
    if (rc == MK_E_NOMEM)
        out->failed = true;
    if (arena != NULL)
        mk_arena_rewind(arena, mark);
    return rc;
}

mk_code mk_canon_text(mk_buf *out, mk_arena *arena, mk_str text, const mk_json_limits *limits,
                      mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_json *value;
    mk_code rc;

    MK_TRY(rc, mk_json_parse(arena, text, limits, &value, err));
    MK_TRY(rc, mk_canon_tree(out, arena, value, err));

out:
    mk_arena_rewind(arena, mark);
    return rc;
}

bool mk_json_round9(mk_json *value)
{
    struct {
        mk_json *container;
        size_t i;
    } stack[FRAMES];
    size_t depth = 0;
    mk_json *next = value;

    for (;;) {
        if (next->kind == MK_JSON_FLOAT) {
            if (!__builtin_isfinite(next->d))
                return false;
            next->d = mk_round9(next->d);
        } else if (is_container(next) && depth < FRAMES) {
            stack[depth].container = next;
            stack[depth++].i = 0;
        } else if (is_container(next) && !mk_json_round9(next)) {
            return false;
        }
        while (depth > 0 && stack[depth - 1].i == stack[depth - 1].container->n)
            depth--;
        if (depth == 0)
            return true;
        mk_json *const container = stack[depth - 1].container;
        const size_t i = stack[depth - 1].i++;
        next = container->kind == MK_JSON_ARRAY ? &container->items[i]
                                                : &container->members[i].value;
    }
}

/* ---- errors ---- */

static void put_member(mk_buf *out, const char *key, mk_str value)
{
    if (value.n == 0)
        return;
    mk_canon_string(out, mk_str_of(key));
    mk_buf_c(out, ':');
    mk_canon_string(out, value);
    mk_buf_c(out, ',');
}

static const char *retry_word(mk_retry retry)
{
    return retry == MK_RETRY_AS_IS ? "as_is" : retry == MK_RETRY_NEVER ? "never" : "after_fix";
}

/* The members of `details` that every error may have, in order; the last is always there. */
static void put_details(mk_buf *out, const mk_err *err)
{
    const bool no_memory = err->code == MK_E_NOMEM;
    put_member(out, "hint", mk_str_of(err->hint));
    if (err->offset >= 0) {
        mk_buf_z(out, "\"offset\":");
        mk_buf_i64(out, err->offset);
        mk_buf_c(out, ',');
    }
    put_member(out, "path", mk_str_of(err->path));
    put_member(out, "reason", no_memory ? MK_STR("no_memory") : mk_str_of(err->reason));
    mk_buf_z(out, "\"retry\":");
    mk_canon_string(out, mk_str_of(retry_word(err->retry)));
}

/* With extra members the object is written as it comes and then made canonical, which sorts them;
 * ours stand last and win over extra ones of the same name. False when that did not work, and `out`
 * is then as before. */
static bool put_details_with_extra(mk_buf *out, const mk_err *err)
{
    const size_t before = out->n;
    const bool failed_before = out->failed;
    mk_arena arena;
    mk_buf text;

    mk_arena_init(&arena, out->alloc);
    mk_buf_init(&text, out->alloc);
    mk_buf_c(&text, '{');
    mk_buf_z(&text, err->extra);
    mk_buf_c(&text, ',');
    put_details(&text, err);
    mk_buf_c(&text, '}');
    const bool ok = mk_buf_done(&text, NULL) == MK_OK &&
                    mk_canon_text(out, &arena, mk_buf_view(&text), NULL, NULL) == MK_OK;
    if (!ok) {
        out->n = before;
        out->failed = failed_before;
    }
    mk_buf_free(&text);
    mk_arena_free(&arena);
    return ok;
}

void mk_err_json(mk_buf *out, const mk_err *err)
{
    mk_buf_z(out, "{\"details\":");
    if (err->extra[0] == '\0' || !put_details_with_extra(out, err)) {
        mk_buf_c(out, '{');
        put_details(out, err);
        mk_buf_c(out, '}');
    }
    const bool no_memory = err->code == MK_E_NOMEM;
    mk_buf_z(out, ",\"error\":");
    mk_canon_string(out, mk_str_of(mk_code_name(no_memory ? MK_E_INTERNAL : err->code)));
    mk_buf_z(out, ",\"message\":");
    mk_canon_string(out, mk_str_of(err->message));
    mk_buf_c(out, '}');
}

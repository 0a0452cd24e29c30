/* json_tree.c — a JSON value as a tree, built from the pull reader's tokens.
 *
 * Values are collected on one stack: a container is pushed as an empty value, its members behind
 * it, and when it ends they move into the arena in one piece and leave the stack. `base` remembers
 * for each open container where its members start, so there is no recursion, and the stack never
 * holds more than the members of the containers that are open.
 *
 * Duplicate names: the last value wins, at the place of the first. Names in ascending order, which
 * is how canonical text comes, have none, and one pass shows it; otherwise a few are compared with
 * each other and many go through a hash table, seeded because the names come from outside. */
#include "base/hash.h"
#include "base/json.h"

#define DEPTH_MAX 256
#define MEMBERS_COMPARED 16
/* Slots of the hash table are 32 bits wide. */
#define MEMBERS_MAX ((size_t)1 << 30)

typedef struct builder {
    mk_json_reader *reader;
    mk_arena *arena;
    mk_member *pending;
    size_t count;
    size_t cap;
    size_t base[DEPTH_MAX];
    size_t depth;
} builder;

static mk_code copy_text(mk_arena *arena, mk_str text, mk_str *out, mk_err *err)
{
    *out = (mk_str){"", 0};
    if (text.n == 0)
        return MK_OK;
    *out = mk_arena_copy(arena, text);
    return out->p != NULL ? MK_OK : mk_fail_nomem(err);
}

static mk_code fail_members(const builder *b, size_t limit, mk_err *err)
{
    mk_fail(err, MK_E_LIMIT,
            "JSON beyond a limit at byte %zu: more than %zu members or items in one container",
            b->reader->start, limit);
    mk_err_offset(err, (int64_t)b->reader->start);
    mk_err_reason(err, "json_members");
    mk_err_hint(err, "stay within %zu members or items", limit);
    return MK_E_LIMIT;
}

static mk_code push(builder *b, mk_str key, mk_json value, mk_err *err)
{
    const size_t asked = b->reader->limits->members;
    const size_t limit = asked < MEMBERS_MAX ? asked : MEMBERS_MAX;
    if (b->depth > 0 && b->count - b->base[b->depth - 1] >= limit)
        return fail_members(b, limit, err);
    if (b->count == b->cap) {
        void *p = b->pending;
        const mk_code rc =
            mk_grow(b->arena->alloc, &p, &b->cap, b->count + 1, sizeof *b->pending, err);
        if (rc != MK_OK)
            return rc;
        b->pending = p;
    }
    b->pending[b->count++] = (mk_member){key, value};
    return MK_OK;
}

/* ---- duplicate names ---- */

static bool names_ascend(const mk_member *members, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (mk_str_cmp(members[i - 1].key, members[i].key) >= 0)
            return false;
    return true;
}

static size_t merge_few(mk_member *members, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (j < kept && !mk_str_eq(members[j].key, members[i].key))
            j++;
        if (j < kept)
            members[j].value = members[i].value;
        else
            members[kept++] = members[i];
    }
    return kept;
}

/* Slots hold the index of a kept member plus 1; 0 is free. At most half are taken. */
static size_t merge_many(mk_member *members, size_t count, uint32_t *slots, size_t slot_count)
{
    const uint64_t seed = mk_entropy64();
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const mk_str key = members[i].key;
        size_t slot = mk_hash64(key.p, key.n, seed) & (slot_count - 1);
        while (slots[slot] != 0 && !mk_str_eq(members[slots[slot] - 1].key, key))
            slot = (slot + 1) & (slot_count - 1);
        if (slots[slot] != 0) {
            members[slots[slot] - 1].value = members[i].value;
        } else {
            members[kept++] = members[i];
            slots[slot] = (uint32_t)kept;
        }
    }
    return kept;
}

static mk_code merge_duplicates(mk_arena *arena, mk_member *members, size_t *count, mk_err *err)
{
    if (names_ascend(members, *count))
        return MK_OK;
    if (*count <= MEMBERS_COMPARED) {
        *count = merge_few(members, *count);
        return MK_OK;
    }
    const mk_arena_mark mark = mk_arena_save(arena);
    size_t slot_count = 2 * MEMBERS_COMPARED;
    while (slot_count < *count * 2)
        slot_count *= 2;
    uint32_t *slots = mk_arena_get0(arena, slot_count * sizeof *slots);
    if (slots == NULL)
        return mk_fail_nomem(err);
    *count = merge_many(members, *count, slots, slot_count);
    mk_arena_rewind(arena, mark);
    return MK_OK;
}

/* ---- building ---- */

static mk_code move_members(builder *b, mk_member *from, size_t count, mk_json *out, mk_err *err)
{
    const mk_code rc = merge_duplicates(b->arena, from, &count, err);
    if (rc != MK_OK)
        return rc;
    out->n = count;
    out->members = mk_arena_get(b->arena, count * sizeof *from);
    if (out->members == NULL)
        return mk_fail_nomem(err);
    if (count > 0)
        memcpy(out->members, from, count * sizeof *from);
    return MK_OK;
}

static mk_code move_items(builder *b, const mk_member *from, size_t count, mk_json *out,
                          mk_err *err)
{
    out->n = count;
    out->items = mk_arena_get(b->arena, count * sizeof *out->items);
    if (out->items == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        out->items[i] = from[i].value;
    return MK_OK;
}

/* The innermost container has ended; its own value lies right below its members. */
static mk_code close_container(builder *b, mk_err *err)
{
    const size_t base = b->base[--b->depth];
    const size_t count = b->count - base;
    mk_member *const from = b->pending + base;
    mk_json *const container = &b->pending[base - 1].value;
    b->count = base;
    return container->kind == MK_JSON_OBJECT ? move_members(b, from, count, container, err)
                                             : move_items(b, from, count, container, err);
}

static mk_code open_container(builder *b, mk_str key, mk_json_kind kind, mk_err *err)
{
    const mk_code rc = push(b, key, (mk_json){.kind = kind}, err);
    if (rc != MK_OK)
        return rc;
    MK_ASSERT(b->depth < DEPTH_MAX);
    b->base[b->depth++] = b->count;
    return MK_OK;
}

static mk_code push_scalar(builder *b, mk_str key, mk_err *err)
{
    const mk_json_reader *reader = b->reader;
    mk_json value = {.kind = MK_JSON_NULL};
    mk_code rc = MK_OK;
    switch (reader->token) {
    case MK_TOK_FALSE:
    case MK_TOK_TRUE:
        value = (mk_json){.kind = MK_JSON_BOOL, .b = reader->token == MK_TOK_TRUE};
        break;
    case MK_TOK_INT:
        value = (mk_json){.kind = MK_JSON_INT, .b = reader->big, .i = reader->i};
        if (reader->big)
            rc = copy_text(b->arena, reader->text, &value.text, err);
        break;
    case MK_TOK_FLOAT:
        value = (mk_json){.kind = MK_JSON_FLOAT, .d = reader->d};
        break;
    case MK_TOK_STRING:
        value.kind = MK_JSON_STRING;
        rc = copy_text(b->arena, reader->text, &value.text, err);
        break;
    default:
        MK_ASSERT(reader->token == MK_TOK_NULL);
        break;
    }
    return rc != MK_OK ? rc : push(b, key, value, err);
}

/* Takes in the reader's current token. *key is the name that waits for its value. */
static mk_code take_token(builder *b, mk_str *key, mk_err *err)
{
    const mk_str name = *key;
    *key = (mk_str){"", 0};
    switch (b->reader->token) {
    case MK_TOK_KEY:
        return copy_text(b->arena, b->reader->text, key, err);
    case MK_TOK_OBJECT:
        return open_container(b, name, MK_JSON_OBJECT, err);
    case MK_TOK_ARRAY:
        return open_container(b, name, MK_JSON_ARRAY, err);
    case MK_TOK_OBJECT_END:
    case MK_TOK_ARRAY_END:
        return close_container(b, err);
    default:
        return push_scalar(b, name, err);
    }
}

mk_code mk_json_read_tree(mk_json_reader *reader, mk_arena *arena, mk_json *out, mk_err *err)
{
    builder b = {.reader = reader, .arena = arena};
    mk_str key = {"", 0};
    mk_code rc;

    MK_TRY(rc, take_token(&b, &key, err));
    while (b.depth > 0) {
        MK_TRY(rc, mk_json_next(reader, err));
        MK_TRY(rc, take_token(&b, &key, err));
    }
    *out = b.pending[0].value;

out:
    mk_free(arena->alloc, b.pending, b.cap * sizeof *b.pending);
    return rc;
}

mk_code mk_json_parse(mk_arena *arena, mk_str text, const mk_json_limits *limits, mk_json **out,
                      mk_err *err)
{
    mk_json_reader reader;
    mk_code rc;

    mk_json_open(&reader, arena->alloc, text, limits);
    mk_json *value = mk_arena_get(arena, sizeof *value);
    if (value == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_json_next(&reader, err));
    MK_TRY(rc, mk_json_read_tree(&reader, arena, value, err));
    MK_TRY(rc, mk_json_next(&reader, err)); /* nothing but the end may follow */
    *out = value;

out:
    mk_json_close(&reader);
    return rc;
}

const mk_json *mk_json_get_n(const mk_json *object, mk_str key)
{
    if (object == NULL || object->kind != MK_JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < object->n; i++)
        if (mk_str_eq(object->members[i].key, key))
            return &object->members[i].value;
    return NULL;
}

const mk_json *mk_json_get(const mk_json *object, const char *key)
{
    return mk_json_get_n(object, mk_str_of(key));
}

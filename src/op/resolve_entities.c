/* resolve_entities.c — entities by part of a uid or name. Layer: op.
 *
 * One scan over the believed node versions gives every entity its best score, in one byte each. A uid
 * is scored once, in a search over blocks of lower-cased uids; names only of entities whose uid does not match.
 * Labels and names are those of the latest version, looked up for the rows that are shown, and for all matches
 * only when a label was asked for. */
#include "op/resolve_entities.h"

#include "base/lower.h"
#include "base/sha256.h"
#include "op/operators.h"
#include "store/lowered.h"

/* The last three: of entities of which no version came by so far. */
enum { EXACT = 0, IN_UID = 1, IN_NAME = 2, NO_MATCH = 3, UNSEEN = 4, UNSEEN_MATCH = 5, UNSEEN_OTHER = 6 };

#define PROPS_SLOTS 256u /* texts remembered; a power of two */

/* What a text of props says. Equal texts are stored once in a segment, so their address stands for them. */
typedef struct props_slot {
    const char *p;
    bool match;
} props_slot;

typedef struct finder {
    mk_view *view;
    mk_arena *arena;
    mk_guard *guard;
    mk_str query;   /* as given */
    mk_str lowered; /* in lower case */
    mk_buf text;    /* lower-case text being searched */
    mk_buf decoded; /* a name without its escapes */
    uint8_t *score; /* by dense id */
    props_slot seen[PROPS_SLOTS];
    size_t match_count;
    mk_code rc;
    mk_err *err;
} finder;

static uint8_t score_uid(finder *f, uint32_t id)
{
    const mk_str uid = mk_view_uid(f->view, id);
    if (mk_str_eq(uid, f->query))
        return EXACT;
    return mk_lower_contains(&f->text, uid, f->lowered) ? IN_UID : NO_MATCH;
}

/* The canonical escapes (operators spec, 3.2); `raw` is a string with its quotes. */
static mk_str decode(mk_buf *out, mk_str raw)
{
    const mk_str inner = {raw.p + 1, raw.n - 2};
    if (memchr(inner.p, '\\', inner.n) == NULL)
        return inner;
    out->n = 0; /* not cleared: running out of memory stays noted */
    for (size_t i = 0; i < inner.n; i++) {
        if (inner.p[i] != '\\' || i + 1 >= inner.n) {
            mk_buf_c(out, inner.p[i]);
            continue;
        }
        const char kind = inner.p[++i];
        static const char kinds[] = "bfnrt", meanings[] = "\b\f\n\r\t";
        const char *at = memchr(kinds, kind, sizeof kinds - 1);
        uint8_t code;
        if (kind == 'u' && i + 4 < inner.n &&
            mk_unhex((mk_str){inner.p + i + 3, 2}, &code, 1)) {
            mk_buf_c(out, (char)code); /* only U+0000 to U+001F are written so */
            i += 4;
        } else {
            mk_buf_c(out, at ? meanings[at - kinds] : kind);
        }
    }
    return mk_buf_view(out);
}

static bool name_matches(finder *f, mk_str props)
{
    mk_str raw;
    props_slot *slot = &f->seen[((uintptr_t)props.p >> 4 ^ (uintptr_t)props.p >> 12) & (PROPS_SLOTS - 1)];
    if (slot->p != props.p)
        *slot = (props_slot){props.p, mk_canon_member(props, "name", &raw) && raw.n > 2 && raw.p[0] == '"' &&
                                          mk_lower_contains(&f->text, decode(&f->decoded, raw), f->lowered)};
    return slot->match;
}

static mk_code score_name(finder *f, const mk_node_ref *ref, uint8_t *score)
{
    mk_str props;
    const mk_code rc = mk_view_node_props(f->view, ref, &props, f->err);
    if (rc == MK_OK && name_matches(f, props))
        *score = IN_NAME;
    return rc;
}

static bool score_version(void *ctx, const mk_node_ref *ref)
{
    finder *f = ctx;
    uint8_t *score = &f->score[ref->uid];
    if (!mk_guard_ok(f->guard))
        return false;
    const bool was_match = *score < NO_MATCH;
    if (*score >= UNSEEN)
        *score = *score == UNSEEN_OTHER ? NO_MATCH : score_uid(f, ref->uid);
    if (*score == NO_MATCH)
        f->rc = score_name(f, ref, score);
    f->match_count += *score < NO_MATCH && !was_match;
    if (f->rc == MK_OK && (f->text.failed || f->decoded.failed))
        f->rc = mk_fail_nomem(f->err);
    return f->rc == MK_OK;
}

/* Marks the uids of a block that contain the query. */
static void search_block(const finder *f, const mk_lowered *block, uint8_t *score)
{
    const char *text = block->text;
    const size_t n = block->start[MK_LOWERED_BLOCK];
    uint32_t id = 0;
    for (size_t at = 0; at < n;) {
        const char *hit = memmem(text + at, n - at, f->lowered.p, f->lowered.n);
        if (hit == NULL)
            return;
        at = (size_t)(hit - text);
        while (block->start[id + 1] <= at)
            id++;
        const bool inside = at + f->lowered.n <= block->start[id + 1];
        if (inside)
            score[id] = UNSEEN_MATCH;
        at = inside ? block->start[id + 1] : at + 1;
    }
}

/* Which uids of whole blocks contain the query; those of the last block are looked at one by one. */
static mk_code search_uids(finder *f, uint32_t entities, mk_err *err)
{
    for (uint32_t i = 0; i < entities / MK_LOWERED_BLOCK; i++) {
        const mk_lowered *block;
        uint8_t *score = f->score + (size_t)i * MK_LOWERED_BLOCK;
        const mk_code rc = mk_view_lowered(f->view, i, &block, err);
        if (rc != MK_OK)
            return rc;
        if (!mk_guard_done(f->guard, 1))
            return mk_guard_result(f->guard, err);
        memset(score, UNSEEN_OTHER, MK_LOWERED_BLOCK);
        search_block(f, block, score);
    }
    return MK_OK;
}

static mk_code scan(finder *f, mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(f->view);
    f->score = mk_arena_get(f->arena, entities);
    if (f->score == NULL)
        return mk_fail_nomem(err);
    memset(f->score, UNSEEN, entities);
    mk_code rc = search_uids(f, entities, err);
    if (rc != MK_OK)
        return rc;
    rc = mk_view_nodes(f->view, INT64_MIN, INT64_MAX, score_version, f, err);
    return f->rc != MK_OK ? f->rc : mk_guard_or(f->guard, rc, err);
}

static mk_code latest(mk_view *view, mk_arena *arena, uint32_t id, mk_node_ref *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_node_ref *refs;
    size_t count;
    const mk_code rc = mk_view_node_refs(view, arena, id, &refs, &count, err);
    if (rc == MK_OK) {
        MK_ASSERT(count > 0); /* a version of it was in the scan */
        *out = refs[count - 1];
    }
    mk_arena_rewind(arena, mark);
    return rc;
}

/* The matches, those of another label left out. */
static mk_code gather(finder *f, const mk_find_args *args, mk_found *out, size_t *count,
                      mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(f->view);
    const bool any = args->label.p == NULL;
    const uint32_t wanted = any ? MK_NO_ID : mk_view_name_code(f->view, args->label);
    size_t size;
    *count = 0;
    out->list = mk_size_mul(f->match_count, sizeof *out->list, &size)
                    ? mk_arena_get(f->arena, size)
                    : NULL;
    if (out->list == NULL)
        return mk_fail_nomem(err);
    for (uint32_t id = 0; id < entities; id++) {
        mk_node_ref last = {.label = wanted};
        if (f->score[id] >= NO_MATCH)
            continue;
        if (!mk_guard_ok(f->guard))
            return mk_guard_result(f->guard, err);
        const mk_code rc = any ? MK_OK : latest(f->view, f->arena, id, &last, err);
        if (rc != MK_OK)
            return rc;
        if (last.label == wanted)
            out->list[(*count)++] = (mk_ranked){.rank = f->score[id], .id = id};
    }
    return MK_OK;
}

mk_code mk_find_entities(mk_view *view, mk_arena *arena, const mk_find_args *args,
                         mk_guard *guard, mk_found *out, mk_err *err)
{
    finder f = {.view = view, .arena = arena, .guard = guard, .query = args->query,
                .rc = MK_OK, .err = err};
    mk_buf lowered;
    size_t count;
    mk_code rc;

    *out = (mk_found){0};
    mk_buf_init(&lowered, arena->alloc);
    mk_buf_init(&f.text, arena->alloc);
    mk_buf_init(&f.decoded, arena->alloc);
    mk_lower(&lowered, args->query);
    MK_TRY(rc, mk_buf_done(&lowered, err));
    f.lowered = mk_buf_view(&lowered);
    MK_TRY(rc, scan(&f, err));
    MK_TRY(rc, gather(&f, args, out, &count, err));
    MK_TRY(rc, mk_page_span(&args->page, count, &out->span, err));
    MK_TRY(rc, mk_ranked_first(view, arena, out->list, count, out->span.end, err));

out:
    mk_buf_free(&lowered);
    mk_buf_free(&f.text);
    mk_buf_free(&f.decoded);
    return rc;
}

/* Label and name are those of the latest version; the name keeps its JSON type, null when there is none. */
static mk_code write_row(mk_run *run, const mk_ranked *hit, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(run->arena);
    mk_buf *text = &run->out->text;
    mk_node_ref last;
    mk_str props, raw = MK_STR("null");
    mk_code rc;

    MK_TRY(rc, latest(run->view, run->arena, hit->id, &last, err));
    MK_TRY(rc, mk_view_node_props(run->view, &last, &props, err));
    (void)mk_canon_member(props, "name", &raw);
    mk_payload_item(run->out);
    mk_buf_z(text, "{\"label\":");
    mk_canon_string(text, mk_view_name(run->view, last.label));
    mk_buf_z(text, ",\"match\":");
    mk_buf_i64(text, hit->rank);
    mk_buf_z(text, ",\"name\":");
    MK_TRY(rc, mk_payload_json(run->out, raw, err));
    mk_buf_z(text, ",\"uid\":");
    mk_canon_string(text, hit->uid);
    mk_buf_c(text, '}');

out:
    mk_arena_rewind(run->arena, mark);
    return rc;
}

static mk_code run_resolve_entities(mk_run *run, mk_err *err)
{
    const mk_find_args args = {
        .query = mk_arg_str(run->args, "query"),
        .label = mk_arg_str(run->args, "label"),
        .page = run->page,
    };
    mk_found found;
    const mk_code rc = mk_find_entities(run->view, run->arena, &args, run->guard, &found, err);
    if (rc != MK_OK)
        return rc;

    mk_payload_cursor(run->out, &found.span);
    mk_payload_list(run->out, "rows");
    for (size_t i = found.span.start; i < found.span.end; i++) {
        const mk_code row_rc = write_row(run, &found.list[i], err);
        if (row_rc != MK_OK)
            return row_rc;
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)found.span.total);
    mk_payload_bool(run->out, "truncated", found.span.truncated);
    mk_payload_page_gaps(run->out, "rows", &found.span);
    return MK_OK;
}

static void cost_resolve_entities(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 170.0, out);
}

static const mk_arg args_resolve_entities[] = {
    {.name = "query",
     .type = MK_ARG_STRING,
     .required = true,
     .min = 1,
     .doc = "Part of a uid or of a name; case does not matter."},
    {.name = "label",
     .type = MK_ARG_STRING,
     .nullable = true,
     .default_json = "null",
     .doc = "Only entities whose latest version has this label."},
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field found_members[] = {
    {.name = "uid", .type = MK_FIELD_STRING, .doc = "The entity."},
    {.name = "label", .type = MK_FIELD_STRING, .doc = "Label of its latest version."},
    {.name = "name",
     .type = MK_FIELD_ANY,
     .nullable = true,
     .doc = "Property `name` of its latest version; null when it has none."},
    {.name = "match",
     .type = MK_FIELD_INTEGER,
     .doc = "0: the uid is the query; 1: the uid contains it; 2: a name does."},
    {0},
};
static const mk_field found_row = {
    .name = "entity", .type = MK_FIELD_OBJECT, .members = found_members};

static const mk_field fields_resolve_entities[] = {
    MK_FIELD_ROWS(&found_row, "Entities by (match, uid)."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {0},
};

const mk_operator mk_operator_resolve_entities = {
    .name = "resolve_entities",
    .group = "graph",
    .summary = "entities whose uid or name contains a text",
    .help = "Turns what a person calls something into the uids that the other operators take. "
            "Every believed version counts, so an old name finds its entity; label and name in "
            "the row are the latest. Ends of edges without a version of their own are not found.",
    .example = "{\"query\":\"ann\"}",
    .args = args_resolve_entities,
    .fields = fields_resolve_entities,
    .cost = cost_resolve_entities,
    .run = run_resolve_entities,
};

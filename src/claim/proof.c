/* proof.c — one claim, shown with the rows it needs and their way to the root. Layer: claim.
 *
 * Needed are: the claim; of every step it cites the call record, the plain members of the payload and
 * the length of each list; and those rows that its type and its paths read. Whoever checks a proof builds
 * the payloads again with nulls for the rows that were left out, and verifies the claim on them: a null has
 * no identifier, no time and no value, so what was left out can only make a claim fail.
 * Source: agent spec, 18.11. */
#include <stdlib.h>

#include "claim/bundle_internal.h"

#define PATHS_MAX 8          /* of one claim: from, from_before, left, right, num, den, and one inside */
#define LEAVES_MAX 200000    /* of a proof that is checked */
#define LIST_MAX ((size_t)1 << 20) /* length of a list that is built again */

/* ---- what a claim needs ---- */

typedef struct needing {
    mk_arena *arena;
    const mk_bundle_tree *bundle;
    const mk_leaves *leaves;
    const mk_json *claim;
    mk_str type; /* of the claim inside when there is one */
    mk_ref paths[PATHS_MAX];
    size_t path_count;
    mk_str *uids;
    size_t uid_count;
    int64_t times[4];
    size_t time_count;
    mk_str steps[MK_CLAIM_STEPS_MAX];  /* cited, then those they were computed from */
    size_t step_count, cited_count;
    mk_str claim_path;
} needing;

static void add_path(needing *n, const mk_json *value)
{
    if (value == NULL || value->kind != MK_JSON_STRING || n->path_count == PATHS_MAX)
        return;
    n->path_count += mk_ref_parse(value->text, false, &n->paths[n->path_count], NULL) == MK_OK;
}

static void add_time(needing *n, const mk_json *when)
{
    mk_when read;
    if (!mk_claim__when(when, &read) || n->time_count + 2 > sizeof n->times / sizeof *n->times)
        return;
    n->times[n->time_count++] = read.start;
    n->times[n->time_count++] = read.end;
}

static void add_need_step(needing *n, mk_str id)
{
    for (size_t i = 0; i < n->step_count; i++)
        if (mk_str_eq(n->steps[i], id))
            return;
    if (n->step_count < MK_CLAIM_STEPS_MAX)
        n->steps[n->step_count++] = id;
}

static mk_code read_needs(needing *n, const mk_json *claim, mk_err *err)
{
    static const char *const names[] = {"from", "from_before", "left", "right", "num", "den"};
    const mk_json *cites = mk_json_get(claim, "evidence"), *uids = mk_json_get(claim, "uids");
    const mk_json *type = mk_json_get(claim, "type");
    n->type = type != NULL && type->kind == MK_JSON_STRING ? type->text : n->type;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_path(n, mk_json_get(claim, names[i]));
    for (size_t i = 0; cites != NULL && cites->kind == MK_JSON_ARRAY && i < cites->n; i++)
        if (cites->items[i].kind == MK_JSON_STRING)
            add_need_step(n, cites->items[i].text);
    add_time(n, mk_json_get(claim, "a"));
    add_time(n, mk_json_get(claim, "b"));
    if (uids == NULL || uids->kind != MK_JSON_ARRAY)
        return MK_OK;
    n->uids = mk_arena_get(n->arena, uids->n * sizeof *n->uids);
    if (n->uids == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < uids->n; i++)
        if (uids->items[i].kind == MK_JSON_STRING)
            n->uids[n->uid_count++] = uids->items[i].text;
    n->uid_count = mk_lexicon_sort(n->uids, n->uid_count);
    return MK_OK;
}

static const mk_json *find_leaf(const mk_leaves *leaves, mk_str path)
{
    for (size_t i = 0; i < leaves->count; i++)
        if (mk_str_eq(leaves->items[i].path, path))
            return &leaves->items[i].value;
    return NULL;
}

/* Computed steps need what they were computed from. */
static void follow_dependencies(needing *n)
{
    n->cited_count = n->step_count;
    for (size_t i = 0; i < n->step_count; i++) {
        const mk_json *call = find_leaf(n->leaves, n->steps[i]);
        const mk_json *op = call != NULL ? mk_json_get(call, "op") : NULL, *deps = mk_json_get(call, "deps");
        if (op == NULL || op->kind != MK_JSON_STRING || !mk_str_eq(op->text, MK_STR("compute")))
            continue;
        for (size_t k = 0; deps != NULL && deps->kind == MK_JSON_ARRAY && k < deps->n; k++) {
            const mk_json *id = mk_json_get(&deps->items[k], "step_id");
            if (id != NULL && id->kind == MK_JSON_STRING)
                add_need_step(n, id->text);
        }
    }
}

static int by_text(const void *a, const void *b)
{
    return mk_str_cmp(*(const mk_str *)a, *(const mk_str *)b);
}

/* Whether an item holds one of the claim's identifiers or times, in whatever field. */
static bool holds_any(const needing *n, const mk_json *value, int depth)
{
    bool found = false;
    if (depth == 0)
        return false;
    if (value->kind == MK_JSON_STRING)
        return n->uid_count > 0 && bsearch(&value->text, n->uids, n->uid_count, sizeof *n->uids,
                                           by_text) != NULL;
    for (size_t i = 0; value->kind == MK_JSON_INT && !value->b && i < n->time_count; i++)
        found |= value->i == n->times[i];
    for (size_t i = 0; value->kind == MK_JSON_ARRAY && i < value->n && !found; i++)
        found = holds_any(n, &value->items[i], depth - 1);
    for (size_t i = 0; value->kind == MK_JSON_OBJECT && i < value->n && !found; i++)
        found = holds_any(n, &value->members[i].value, depth - 1);
    return found;
}

/* ---- which leaves ---- */

/* "s2.rows[7]" taken apart; "s2" has no name, "s2.rows[]" an empty index. */
typedef struct leaf_path {
    mk_str step, name;
    bool listed, item;
    uint64_t index;
} leaf_path;

static bool split_path(mk_str path, leaf_path *out)
{
    const char *dot = path.n > 0 ? memchr(path.p, '.', path.n) : NULL;
    *out = (leaf_path){.step = {path.p, dot != NULL ? (size_t)(dot - path.p) : path.n}};
    if (path.n < 2 || path.p[0] != 's' || path.p[1] < '0' || path.p[1] > '9')
        return false;
    if (dot == NULL)
        return true;
    out->name = (mk_str){dot + 1, path.n - out->step.n - 1};
    if (out->name.n < 2 || out->name.p[out->name.n - 1] != ']')
        return out->name.n > 0;
    size_t open = out->name.n - 2, digits = 0;
    while (open > 0 && out->name.p[open] >= '0' && out->name.p[open] <= '9' && digits < 18) {
        digits++;
        open--;
    }
    if (out->name.p[open] != '[')
        return false;
    out->listed = true;
    out->item = digits > 0;
    for (size_t i = open + 1; i + 1 < out->name.n; i++)
        out->index = out->index * 10 + (uint64_t)(out->name.p[i] - '0');
    out->name.n = open;
    return open > 0;
}

static bool is_needed_step(const needing *n, mk_str step, bool *cited)
{
    for (size_t i = 0; i < n->step_count; i++)
        if (mk_str_eq(n->steps[i], step)) {
            *cited = i < n->cited_count;
            return true;
        }
    return false;
}

static bool is_type(const needing *n, const char *type) { return mk_str_eq(n->type, mk_str_of(type)); }

static bool needs_item(const needing *n, const leaf_path *path, const mk_json *item, bool cited)
{
    const bool by_content = is_type(n, "entity") || is_type(n, "ordering");
    if (by_content && holds_any(n, item, MK_CLAIM_DEPTH_MAX))
        return true;
    if (cited && n->path_count == 0)
        return is_type(n, "pattern") || is_type(n, "temporal_pattern");
    for (size_t i = 0; cited && i < n->path_count; i++) {
        const mk_ref *ref = &n->paths[i];
        /* A change of belief follows its path in every step that it cites, a pattern reads all rows. */
        const bool any_step = is_type(n, "belief_change");
        if ((!any_step && !mk_str_eq(ref->step, path->step)) || !mk_str_eq(ref->segments[0].name, path->name))
            continue;
        if (ref->segments[0].index == MK_REF_AT && !is_type(n, "pattern") &&
            !is_type(n, "temporal_pattern")) {
            if (ref->segments[0].at == path->index)
                return true;
        } else if (!by_content) {
            return true;
        }
    }
    return false;
}

static bool needs_leaf(const needing *n, const mk_leaf *leaf)
{
    leaf_path path;
    bool cited;
    if (mk_str_eq(leaf->path, n->claim_path))
        return true;
    if (!split_path(leaf->path, &path) || !is_needed_step(n, path.step, &cited))
        return false;
    return !path.item || needs_item(n, &path, &leaf->value, cited);
}

/* ---- writing a proof ---- */

static void put_hash(mk_buf *out, const mk_hash32 *hash)
{
    char hex[64];
    mk_hex(hex, hash->bytes, sizeof hash->bytes);
    mk_buf_c(out, '"');
    mk_buf_put(out, hex, sizeof hex);
    mk_buf_c(out, '"');
}

static mk_code put_leaf(mk_buf *out, const mk_leaves *leaves, const mk_merkle_tree *tree, size_t index,
                        mk_arena *arena, mk_err *err)
{
    mk_hash32 path[MK_MERKLE_PATH_MAX];
    const size_t n = mk_merkle_path(tree, index, path);
    mk_buf_printf(out, "{\"index\":%zu,\"leaf\":[", index);
    mk_canon_string(out, leaves->items[index].path);
    mk_buf_c(out, ',');
    const mk_code rc = mk_canon_tree(out, arena, &leaves->items[index].value, err);
    mk_buf_z(out, "],\"path\":[");
    for (size_t i = 0; i < n; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        put_hash(out, &path[i]);
    }
    mk_buf_z(out, "]}");
    return rc;
}

static mk_code find_claim(needing *n, mk_str id, mk_err *err)
{
    const mk_json *claims = mk_json_get(n->bundle->answer, "claims");
    for (size_t i = 0; claims != NULL && claims->kind == MK_JSON_ARRAY && i < claims->n; i++) {
        const mk_json *named = mk_json_get(&claims->items[i], "id");
        if (named == NULL || named->kind != MK_JSON_STRING || !mk_str_eq(named->text, id))
            continue;
        mk_buf path;
        mk_buf_init(&path, n->arena->alloc);
        mk_buf_printf(&path, "answer.claims[%zu]", i);
        n->claim = &claims->items[i];
        return mk_claim__keep(&path, n->arena, &n->claim_path, err);
    }
    mk_fail(err, MK_E_NOT_FOUND, "the answer has no claim \"%.*s\"", MK_STR_ARG(id));
    mk_err_hint(err, "`merkhet verify BUNDLE` lists its claims");
    return MK_E_NOT_FOUND;
}

static mk_code put_needed(const needing *n, mk_buf *out, mk_err *err)
{
    const mk_leaves *leaves = n->leaves;
    mk_hash32 *hashes = mk_arena_get(n->arena, leaves->count * sizeof *hashes);
    mk_hash32 *room = mk_arena_get(n->arena, (leaves->count + MK_MERKLE_PATH_MAX) * sizeof *room);
    mk_merkle_tree tree;
    bool first = true;
    mk_code rc = MK_OK;
    if (hashes == NULL || room == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < leaves->count; i++)
        hashes[i] = leaves->items[i].hash;
    mk_merkle_build(hashes, leaves->count, room, &tree);
    for (size_t i = 0; i < leaves->count && rc == MK_OK; i++) {
        if (!needs_leaf(n, &leaves->items[i]))
            continue;
        mk_buf_z(out, first ? "" : ",");
        first = false;
        rc = put_leaf(out, leaves, &tree, i, n->arena, err);
    }
    mk_buf_z(out, "],\"proof\":1,\"root\":");
    put_hash(out, &tree.levels[tree.height][0]);
    mk_buf_printf(out, ",\"size\":%zu}", leaves->count);
    return rc;
}

mk_code mk_bundle_prove(mk_str bundle, mk_str claim_id, mk_arena *arena, mk_buf *out, mk_err *err)
{
    mk_bundle_tree tree;
    mk_leaves leaves;
    needing *n = mk_arena_get0(arena, sizeof *n);
    mk_code rc;
    if (n == NULL)
        return mk_fail_nomem(err);
    *n = (needing){.arena = arena, .bundle = &tree, .leaves = &leaves};
    MK_TRY(rc, mk_bundle__read(bundle, arena, &tree, err));
    MK_TRY(rc, mk_bundle__leaves(&tree, arena, &leaves, err));
    MK_TRY(rc, find_claim(n, claim_id, err));
    MK_TRY(rc, read_needs(n, n->claim, err));
    if (mk_json_get(n->claim, "claim") != NULL)
        MK_TRY(rc, read_needs(n, mk_json_get(n->claim, "claim"), err));
    follow_dependencies(n);
    mk_buf_z(out, "{\"claim\":");
    mk_canon_string(out, claim_id);
    mk_buf_z(out, ",\"leaves\":[");
    MK_TRY(rc, put_needed(n, out, err));
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- checking a proof ---- */

typedef struct proving {
    mk_arena *arena;
    mk_str why;
    mk_hash32 root;
    size_t size;
    const mk_json *claim;
    mk_claim_step *steps;
    size_t step_count;
    size_t room; /* items of lists that may still be built */
} proving;

static bool reject(proving *p, const char *why)
{
    p->why = mk_str_of(why);
    return false;
}

static bool read_hash(const mk_json *value, mk_hash32 *out)
{
    return value->kind == MK_JSON_STRING && mk_unhex(value->text, out->bytes, sizeof out->bytes);
}

/* *ok: the leaf has its way to the root. */
static mk_code climb(proving *p, const mk_json *leaf, const mk_json *text, bool *ok, mk_err *err)
{
    const mk_json *path = mk_json_get(leaf, "path");
    mk_hash32 hashes[MK_MERKLE_PATH_MAX], hash, root;
    int64_t index;
    size_t bytes = 0;
    *ok = false;
    if (!mk_claim__i64(mk_json_get(leaf, "index"), &index) || index < 0 || path == NULL ||
        path->kind != MK_JSON_ARRAY || path->n > MK_MERKLE_PATH_MAX)
        return MK_OK;
    for (size_t i = 0; i < path->n; i++)
        if (!read_hash(&path->items[i], &hashes[i]))
            return MK_OK;
    const mk_code rc = mk_bundle__leaf_hash(text->items[0].text, &text->items[1], p->arena, &hash, &bytes,
                                            err);
    if (rc == MK_OK)
        *ok = mk_merkle_climb(hash, (size_t)index, p->size, hashes, path->n, &root) &&
              memcmp(root.bytes, p->root.bytes, sizeof root.bytes) == 0;
    return rc;
}

/* The step of a leaf; a call record starts one. NULL: out of place. */
static mk_claim_step *step_of(proving *p, const leaf_path *path, const mk_json *value)
{
    mk_claim_step *last = p->step_count > 0 ? &p->steps[p->step_count - 1] : NULL;
    if (path->name.n > 0)
        return last != NULL && mk_str_eq(last->id, path->step) ? last : NULL;
    for (size_t i = 0; i < p->step_count; i++)
        if (mk_str_eq(p->steps[i].id, path->step))
            return NULL;
    if (p->step_count == MK_CLAIM_STEPS_MAX || value->kind != MK_JSON_OBJECT)
        return NULL;
    mk_claim_step *step = &p->steps[p->step_count++];
    *step = (mk_claim_step){.id = path->step, .call = value};
    return step;
}

/* The payload under construction grows by one member; NULL: too many, or no memory. */
static mk_json *new_member(proving *p, mk_claim_step *step, mk_str name)
{
    const size_t most = 64;
    mk_json *payload = (mk_json *)step->payload;
    if (payload == NULL) {
        payload = mk_arena_get0(p->arena, sizeof *payload);
        mk_member *members = mk_arena_get0(p->arena, most * sizeof *members);
        if (payload == NULL || members == NULL)
            return NULL;
        *payload = (mk_json){.kind = MK_JSON_OBJECT, .members = members};
        step->payload = payload;
    }
    if (payload->n == most || mk_json_get_n(payload, name) != NULL)
        return NULL;
    payload->members[payload->n].key = name;
    return &payload->members[payload->n++].value;
}

static bool add_list(proving *p, mk_claim_step *step, mk_str name, const mk_json *length)
{
    int64_t n;
    if (!mk_claim__i64(length, &n) || n < 0 || (uint64_t)n > p->room)
        return reject(p, "a list is too long");
    mk_json *list = new_member(p, step, name);
    mk_json *items = mk_arena_get0(p->arena, (size_t)n * sizeof *items);
    if (list == NULL || items == NULL)
        return reject(p, "a payload has too many members");
    p->room -= (size_t)n;
    *list = (mk_json){.kind = MK_JSON_ARRAY, .n = (size_t)n, .items = items};
    return true;
}

static bool add_item(proving *p, const mk_claim_step *step, const leaf_path *path, const mk_json *value)
{
    const mk_json *list = step->payload != NULL ? mk_json_get_n(step->payload, path->name) : NULL;
    if (list == NULL || list->kind != MK_JSON_ARRAY || path->index >= list->n)
        return reject(p, "a row stands outside its list");
    list->items[path->index] = *value;
    return true;
}

static bool take_leaf(proving *p, mk_str text, const mk_json *value)
{
    leaf_path path;
    if (mk_str_starts(text, MK_STR("answer.claims["))) {
        p->claim = value;
        return true;
    }
    if (!split_path(text, &path))
        return reject(p, "a leaf is neither a claim nor evidence");
    mk_claim_step *step = step_of(p, &path, value);
    if (step == NULL)
        return reject(p, "a leaf stands outside its step");
    if (path.name.n == 0)
        return true;
    if (path.item)
        return add_item(p, step, &path, value);
    if (path.listed)
        return add_list(p, step, path.name, value);
    mk_json *member = new_member(p, step, path.name);
    if (member == NULL)
        return reject(p, "a payload has too many members");
    *member = *value;
    return true;
}

static mk_code take_leaves(proving *p, const mk_json *leaves, bool *ok, mk_err *err)
{
    int64_t last = -1, index;
    *ok = true;
    for (size_t i = 0; *ok && i < leaves->n; i++) {
        const mk_json *text = mk_json_get(&leaves->items[i], "leaf");
        if (text == NULL || text->kind != MK_JSON_ARRAY || text->n != 2 ||
            text->items[0].kind != MK_JSON_STRING ||
            !mk_claim__i64(mk_json_get(&leaves->items[i], "index"), &index) || index <= last) {
            *ok = reject(p, "the leaves are not a list of [path, value] in their order");
            break;
        }
        last = index;
        const mk_code rc = climb(p, &leaves->items[i], text, ok, err);
        if (rc != MK_OK)
            return rc;
        if (*ok)
            *ok = take_leaf(p, text->items[0].text, &text->items[1]);
        else
            reject(p, "a leaf does not lead to the root");
    }
    return MK_OK;
}

/* Call records are found by their names, as dependencies give them. */
static mk_code name_steps(proving *p, mk_err *err)
{
    static const mk_json empty = {.kind = MK_JSON_OBJECT};
    for (size_t i = 0; i < p->step_count; i++) {
        mk_json *record = mk_arena_get0(p->arena, sizeof *record);
        mk_member *member = mk_arena_get0(p->arena, sizeof *member);
        char hex[65];
        if (record == NULL || member == NULL)
            return mk_fail_nomem(err);
        const mk_code rc = mk_bundle__digest(p->steps[i].call, p->arena, hex, err);
        if (rc != MK_OK)
            return rc;
        member->key = MK_STR("call_digest");
        member->value = (mk_json){.kind = MK_JSON_STRING, .text = mk_arena_copy(p->arena, mk_str_of(hex))};
        *record = (mk_json){.kind = MK_JSON_OBJECT, .n = 1, .members = member};
        p->steps[i].record = record;
        if (p->steps[i].payload == NULL)
            p->steps[i].payload = &empty;
    }
    return MK_OK;
}

static mk_code judge(proving *p, const mk_json *proof, bool *holds, mk_err *err)
{
    const mk_json *id = mk_json_get(proof, "claim"), *named = mk_json_get(p->claim, "id");
    mk_evidence *evidence;
    mk_answer_report report;
    mk_buf answer;
    mk_code rc = MK_OK;
    mk_buf_init(&answer, p->arena->alloc);
    if (id == NULL || named == NULL || !mk_claim__same(id, named)) {
        reject(p, "the claim is not the one that the proof names");
        goto out;
    }
    MK_TRY(rc, name_steps(p, err));
    MK_TRY(rc, mk_evidence__of_parts(p->steps, p->step_count, p->arena, &evidence, err));
    mk_buf_z(&answer, "{\"claims\":[");
    MK_TRY(rc, mk_canon_tree(&answer, p->arena, p->claim, err));
    mk_buf_z(&answer, "],\"text\":\"\"}");
    MK_TRY(rc, mk_buf_done(&answer, err));
    MK_TRY(rc, mk_answer_verify(mk_buf_view(&answer), evidence, NULL, p->arena, &report, err));
    *holds = report.schema_valid && report.claim_count == 1 &&
             report.claims[0].verdict <= MK_WEAKLY_SUPPORTED;
    p->why = report.claim_count == 1 ? report.claims[0].reason : report.schema_error;
out:
    mk_buf_free(&answer);
    return rc;
}

static bool read_head(proving *p, const mk_json *proof, const char root[65])
{
    const mk_json *leaves = mk_json_get(proof, "leaves"), *named = mk_json_get(proof, "root");
    int64_t version, size;
    if (!mk_claim__i64(mk_json_get(proof, "proof"), &version) || version != 1 || leaves == NULL ||
        leaves->kind != MK_JSON_ARRAY || leaves->n > LEAVES_MAX ||
            !mk_claim__i64(mk_json_get(proof, "size"), &size) ||
        size < 1)
        return reject(p, "this is no proof");
    if (!mk_unhex(mk_str_of(root), p->root.bytes, sizeof p->root.bytes) || named == NULL ||
        named->kind != MK_JSON_STRING || !mk_str_eq(named->text, mk_str_of(root)))
        return reject(p, "the proof is for another root");
    p->size = (size_t)size;
    return true;
}

mk_code mk_proof_verify(mk_str proof, const char root[65], mk_arena *arena, bool *holds, mk_str *why,
                        mk_err *err)
{
    proving p = {.arena = arena, .room = LIST_MAX};
    mk_json *tree;
    bool ok;
    mk_code rc;
    *holds = false;
    p.steps = mk_arena_get0(arena, MK_CLAIM_STEPS_MAX * sizeof *p.steps);
    if (p.steps == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_json_parse(arena, proof, NULL, &tree, err));
    if (read_head(&p, tree, root)) {
        MK_TRY(rc, take_leaves(&p, mk_json_get(tree, "leaves"), &ok, err));
        if (ok && p.claim == NULL)
            ok = reject(&p, "the claim itself is missing");
        if (ok)
            MK_TRY(rc, judge(&p, tree, holds, err));
    }
    *why = p.why;
out:
    return rc;
}

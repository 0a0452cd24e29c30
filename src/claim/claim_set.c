/* claim_set.c — claims about which identifiers and rows a result holds. Layer: claim.
 *
 * entity says that some are there, set_equal that exactly these are, absence that no row is of a kind.
 * The first survives a cut, the other two do not. Without `from` an entity claim reads all of what it
 * cites and is weak when any of that is cut. Source: agent spec, 12.4, 18.3, 19.7; decisions.md 5. */
#include <stdlib.h>

#include "claim/claim_internal.h"

#define LISTED_MAX 5

/* ---- identifiers of a list ---- */

static bool is_id_key(mk_str key)
{
    return mk_str_eq(key, MK_STR("uid")) || mk_str_eq(key, MK_STR("src")) || mk_str_eq(key, MK_STR("dst"));
}

/* Every string under uid, src or dst at any depth; counts only while `out` is NULL. */
static size_t ids_in(const mk_json *value, mk_str *out, int depth)
{
    size_t count = 0;
    if (depth == 0)
        return 0;
    for (size_t i = 0; value->kind == MK_JSON_ARRAY && i < value->n; i++)
        count += ids_in(&value->items[i], out != NULL ? out + count : NULL, depth - 1);
    for (size_t i = 0; value->kind == MK_JSON_OBJECT && i < value->n; i++) {
        const mk_member *m = &value->members[i];
        if (m->value.kind == MK_JSON_STRING && is_id_key(m->key)) {
            if (out != NULL)
                out[count] = m->value.text;
            count++;
        } else {
            count += ids_in(&m->value, out != NULL ? out + count : NULL, depth - 1);
        }
    }
    return count;
}

mk_code mk_claim__uids_of(const mk_json *list, mk_arena *arena, mk_str **uids, size_t *count, bool *all,
                          mk_err *err)
{
    size_t most = 0, n = 0, size;
    *all = true;
    for (size_t i = 0; i < list->n; i++) {
        const mk_json *item = &list->items[i];
        const size_t here = item->kind == MK_JSON_STRING ? 1 : ids_in(item, NULL, MK_CLAIM_DEPTH_MAX);
        *all &= here > 0;
        most += here;
    }
    *uids = mk_size_mul(most, sizeof **uids, &size) ? mk_arena_get(arena, size) : NULL;
    if (*uids == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        const mk_json *item = &list->items[i];
        if (item->kind == MK_JSON_STRING) {
            (*uids)[n++] = item->text;
            continue;
        }
        const size_t here = ids_in(item, *uids + n, MK_CLAIM_DEPTH_MAX);
        n += mk_lexicon_sort(*uids + n, here);
    }
    *count = n;
    return MK_OK;
}

/* ---- entity ---- */

/* The identifiers that are missing, as a sentence names them. */
typedef struct missing {
    char text[400];
    size_t at, count;
} missing;

static void note_missing(missing *m, mk_str uid)
{
    if (m->count++ >= LISTED_MAX)
        return;
    const size_t most = 60, n = uid.n > most ? most : uid.n;
    if (m->at + n + 3 >= sizeof m->text)
        return;
    if (m->at > 0)
        m->text[m->at++] = ' ';
    memcpy(m->text + m->at, uid.n > 0 ? uid.p : "", n);
    m->at += n;
    m->text[m->at] = '\0';
}

/* Whether the cited step has the identifier in its own rows, and has it from the store. */
static mk_code step_has(mk_checking *c, mk_claim_step *step, mk_str uid, bool *has, mk_err *err)
{
    mk_lexicon *lexicon;
    const mk_code rc = mk_evidence__lexicon(c->evidence, step, &lexicon, err);
    *has = false;
    if (rc != MK_OK || !mk_lexicon_has_id(lexicon, uid))
        return rc;
    *has = true;
    return mk_claim__is_compute(step) ? mk_evidence__knows_id(c->evidence, step, uid, has, err) : MK_OK;
}

static mk_code look_in_from(mk_checking *c, const mk_json *uids, const mk_found *found, missing *lost,
                            mk_err *err)
{
    const bool untyped = mk_claim__is_compute(found->step);
    mk_lexicon lexicon;
    mk_code rc = mk_lexicon_build(found->value, found->last, untyped, c->arena, &lexicon, err);
    for (size_t i = 0; rc == MK_OK && i < uids->n; i++) {
        bool has = mk_lexicon_has_id(&lexicon, uids->items[i].text);
        if (has && untyped)
            rc = mk_evidence__knows_id(c->evidence, found->step, uids->items[i].text, &has, err);
        if (!has)
            note_missing(lost, uids->items[i].text);
    }
    return rc;
}

/* `used` notes which of the cited steps gave something. */
static mk_code look_in_cited(mk_checking *c, const mk_json *uids, bool *used, missing *lost, mk_err *err)
{
    for (size_t i = 0; i < uids->n; i++) {
        bool has = false;
        for (size_t k = 0; k < c->cited_count && !has; k++) {
            const mk_code rc = step_has(c, c->cited[k], uids->items[i].text, &has, err);
            if (rc != MK_OK)
                return rc;
            used[k] |= has;
        }
        if (!has)
            note_missing(lost, uids->items[i].text);
    }
    return MK_OK;
}

mk_code mk_claim__entity(mk_checking *c, mk_err *err)
{
    const mk_json *uids = mk_claim__member(c, "uids");
    bool used[MK_CLAIM_STEPS_MAX] = {false}, ok;
    missing lost = {.at = 0};
    mk_found found;
    mk_code rc;
    if (uids == NULL || uids->kind != MK_JSON_ARRAY || uids->n == 0) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_value",
                         "nothing is claimed: the list of identifiers is empty");
        return MK_OK;
    }
    if (!mk_claim__spend(c, uids->n * (1 + c->cited_count)))
        return MK_OK;
    MK_TRY(rc, mk_claim__from(c, &found, &ok, err));
    if (mk_claim__has_from(c) && !ok)
        goto out;
    if (ok && !found.typed) {
        mk_claim__settle(c, MK_UNSUPPORTED, "not_ids", "what stands there is stored text and no identifier");
        goto out;
    }
    if (ok)
        MK_TRY(rc, look_in_from(c, uids, &found, &lost, err));
    else
        MK_TRY(rc, look_in_cited(c, uids, used, &lost, err));
    if (lost.count > 0) {
        mk_claim__settle(c, MK_UNSUPPORTED, "not_found", "not in the evidence: %s", lost.text);
        goto out;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "all identifiers are in the evidence");
    if (ok)
        mk_claim__weaken(c, found.step, found.field, MK_NEED_MEMBER);
    for (size_t k = 0; !ok && k < c->cited_count; k++)
        if (used[k])
            mk_claim__weaken_all(c, c->cited[k]);
out:
    return rc;
}

/* ---- set_equal ---- */

static mk_code sorted_claimed(mk_checking *c, const mk_json *uids, mk_str **out, size_t *count, mk_err *err)
{
    *out = mk_arena_get(c->arena, uids->n * sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < uids->n; i++)
        (*out)[i] = uids->items[i].text;
    *count = mk_lexicon_sort(*out, uids->n);
    return MK_OK;
}

/* Both sorted. Names the first that only one of them has. */
static void settle_sets(mk_checking *c, const mk_str *said, size_t said_count, const mk_str *read,
                        size_t read_count)
{
    size_t i = 0;
    while (i < said_count && i < read_count && mk_str_eq(said[i], read[i]))
        i++;
    if (i == said_count && i == read_count) {
        mk_claim__settle(c, MK_SUPPORTED, NULL, "exactly these are there");
        return;
    }
    const bool added = i == read_count || (i < said_count && mk_str_cmp(said[i], read[i]) < 0);
    const mk_str which = added ? said[i] : read[i];
    mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", added ? "not in the evidence: %.*s" : "left out: %.*s",
                     MK_STR_ARG(which));
}

mk_code mk_claim__set_equal(mk_checking *c, mk_err *err)
{
    const mk_json *uids = mk_claim__member(c, "uids");
    mk_str *said, *read;
    size_t said_count = 0, read_count;
    bool ok, all;
    mk_found found;
    mk_code rc;
    if (uids == NULL || !mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, uids == NULL ? "no_value" : "no_from",
                         uids == NULL ? "the claim has no list" : "the claim does not say where it was read");
        return MK_OK;
    }
    MK_TRY(rc, mk_claim__from(c, &found, &ok, err));
    if (!ok || !mk_claim__spend(c, uids->n))
        goto out;
    if (found.value->kind != MK_JSON_ARRAY) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there is no list");
        goto out;
    }
    MK_TRY(rc, mk_claim__uids_of(found.value, c->arena, &read, &read_count, &all, err));
    if (!all) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "not_ids", "not every item there has an identifier");
        goto out;
    }
    if (mk_claim__is_compute(found.step) && read_count > 0 &&
        !mk_evidence__is_grounded(c->evidence, found.step)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "uncited", "what was computed came from no result");
        goto out;
    }
    read_count = mk_lexicon_sort(read, read_count);
    MK_TRY(rc, sorted_claimed(c, uids, &said, &said_count, err));
    settle_sets(c, said, said_count, read, read_count);
    mk_claim__weaken(c, found.step, found.field, found.need);
out:
    return rc;
}

/* ---- absence ---- */

typedef struct condition {
    mk_str field; /* n 0: the item itself */
    mk_str cmp;
    const mk_json *value;
} condition;

/* What a value has to be. False: the claim's own condition is none. */
static bool read_condition(const mk_json *where, condition *out)
{
    static const mk_json null = {.kind = MK_JSON_NULL};
    const mk_json *field = mk_json_get(where, "field"), *cmp = mk_json_get(where, "cmp");
    const mk_json *value = mk_json_get(where, "value");
    *out = (condition){.value = value != NULL ? value : &null};
    if (where == NULL || cmp == NULL || cmp->kind != MK_JSON_STRING || !mk_claim__is_cmp(cmp->text) ||
        where->n != 1u + (field != NULL) + (value != NULL))
        return false;
    if (field != NULL && field->kind != MK_JSON_STRING && field->kind != MK_JSON_NULL)
        return false;
    out->field = field != NULL && field->kind == MK_JSON_STRING ? field->text : (mk_str){NULL, 0};
    out->cmp = cmp->text;
    return true;
}

/* NULL when the item has nothing to be looked at. */
static const mk_json *looked_at(const mk_json *item, const condition *where)
{
    if (where->field.n == 0)
        return item->kind == MK_JSON_NULL ? NULL : item;
    return mk_json_get_n(item, where->field);
}

static void settle_absence(mk_checking *c, const mk_json *list, const condition *where)
{
    for (size_t i = 0; i < list->n; i++) {
        const mk_json *value = looked_at(&list->items[i], where);
        bool known;
        if (value == NULL) {
            mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "item %zu has no such field", i);
            return;
        }
        if (mk_claim__holds(value, where->cmp, where->value, &known)) {
            mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "item %zu is one", i);
            return;
        }
        /* A null is neither more nor less than anything; of other kinds one cannot say that there is none. */
        if (!known && value->kind != MK_JSON_NULL) {
            mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "item %zu cannot be compared in this way", i);
            return;
        }
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "none of the %zu items is one", list->n);
}

mk_code mk_claim__absence(mk_checking *c, mk_err *err)
{
    condition where;
    mk_found found;
    bool ok;
    if (!read_condition(mk_claim__member(c, "where"), &where)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed",
                         "where must have field, cmp (eq, ne, lt, le, gt, ge, contains) and value");
        return MK_OK;
    }
    if (!mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    const mk_code rc = mk_claim__from(c, &found, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    if (found.value->kind != MK_JSON_ARRAY) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there is no list");
        return MK_OK;
    }
    settle_absence(c, found.value, &where);
    mk_claim__weaken(c, found.step, found.field, found.need);
    return MK_OK;
}

/* offline_names.c — entities, relation types and properties of this very store. See offline_internal.h.
 * Layer: agent.
 *
 * A stretch of the question is an entity when its text, with underscores for spaces if need be, is a uid, or
 * when exactly one entity has that name. Several of one name are a question back and no guess. Relation types
 * are compared word by word without their endings, and the words of one may have an entity between them:
 * "threaten South Korea with military force". Source: agent spec, 18.9, 18.16. */
#include "agent/offline_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "op/call.h"

#define SPAN_MAX 7      /* words of a name */
#define LOOKUPS_MAX 60  /* searches among names in one question */
#define FOUND_MAX 5000 /* that have the text in their name */
#define CANDIDATES_MAX 30 /* of one name that are named back: a form has no more choices */

/* ---- entities ---- */

static bool add_name(mk_off *q, mk_str uid, size_t first, size_t last)
{
    if (q->name_count == MK_OFF_NAMES_MAX)
        return false;
    mk_name *n = &q->names[q->name_count++];
    *n = (mk_name){.uid = mk_arena_copy(q->arena, uid), .first = first, .last = last};
    for (size_t i = 0; i < q->options->allowed_count; i++)
        n->from_task |= mk_str_eq(q->options->allowed[i], uid);
    for (size_t i = first; i <= last; i++)
        q->tokens[i].used = true;
    return n->uid.p != NULL;
}

/* The words of a span with `between` between them. */
static mk_str joined(mk_off *q, size_t first, size_t last, char between)
{
    size_t n = last - first;
    for (size_t i = first; i <= last; i++)
        n += q->tokens[i].text.n;
    char *p = mk_arena_get(q->arena, n + 1);
    if (p == NULL)
        return (mk_str){NULL, 0};
    size_t at = 0;
    for (size_t i = first; i <= last; i++) {
        if (i > first)
            p[at++] = between;
        memcpy(p + at, q->tokens[i].text.p, q->tokens[i].text.n);
        at += q->tokens[i].text.n;
    }
    return (mk_str){p, at};
}

static bool is_uid(const mk_off *q, mk_str text)
{
    return text.n != 0 && mk_view_entity(q->view, text) != MK_NO_ID;
}

/* Without regard to ASCII case. */
static bool same_text(mk_str a, mk_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        const char x = a.p[i] >= 'A' && a.p[i] <= 'Z' ? (char)(a.p[i] - 'A' + 'a') : a.p[i];
        const char y = b.p[i] >= 'A' && b.p[i] <= 'Z' ? (char)(b.p[i] - 'A' + 'a') : b.p[i];
        if (x != y)
            return false;
    }
    return true;
}

/* Entities of one name. */
typedef struct namesakes {
    mk_str uids[CANDIDATES_MAX];
    size_t count;        /* of all, also beyond the list */
    mk_str chosen;       /* the one that came with the task */
    size_t chosen_count;
} namesakes;

static bool is_task_id(const mk_off *q, mk_str text)
{
    for (size_t i = 0; i < q->options->allowed_count; i++)
        if (mk_str_eq(q->options->allowed[i], text))
            return true;
    return false;
}

/* Entities whose name, or whose uid behind a prefix such as "file:", is the text. */
static mk_code find_by_name(mk_off *q, mk_str text, namesakes *found)
{
    const mk_call_options options = {.row_budget = FOUND_MAX, .cancelled = q->options->cancelled};
    mk_call_result result;
    mk_arena scratch;
    mk_json *payload;
    mk_buf args;
    mk_code rc;
    *found = (namesakes){.count = 0};
    mk_buf_init(&args, q->arena->alloc);
    mk_arena_init(&scratch, q->arena->alloc);
    mk_call_result_init(&result, q->arena->alloc);
    mk_buf_z(&args, "{\"query\":");
    mk_canon_string(&args, text);
    mk_buf_c(&args, '}');
    MK_TRY(rc, mk_buf_done(&args, q->err));
    rc = mk_call_run(q->store, q->view, MK_STR("resolve_entities"), mk_buf_view(&args), &options, &scratch,
                     &result, q->err);
    if (rc == MK_E_LIMIT || rc == MK_E_COST) { /* so many that no name is meant */
        rc = MK_OK;
        goto out;
    }
    MK_TRY(rc, rc);
    MK_TRY(rc, mk_json_parse(&scratch, mk_buf_view(&result.payload.text), NULL, &payload, q->err));
    const mk_json *rows = mk_json_get(payload, "rows");
    for (size_t i = 0; rows != NULL && i < rows->n; i++) {
        const mk_json *uid = mk_json_get(&rows->items[i], "uid"),
                      *name = mk_json_get(&rows->items[i], "name");
        const char *colon = memchr(uid->text.p, ':', uid->text.n);
        const mk_str behind =
            colon != NULL ? (mk_str){colon + 1, uid->text.n - (size_t)(colon + 1 - uid->text.p)} : uid->text;
        if (!mk_str_eq(behind, text) &&
            !(name != NULL && name->kind == MK_JSON_STRING && same_text(name->text, text)))
            continue;
        const bool chosen = is_task_id(q, uid->text), listed = found->count < CANDIDATES_MAX;
        const mk_str copy = chosen || listed ? mk_arena_copy(q->arena, uid->text) : uid->text;
        if (copy.p == NULL) {
            rc = mk_fail_nomem(q->err);
            goto out;
        }
        if (listed)
            found->uids[found->count] = copy;
        if (chosen) {
            found->chosen = copy;
            found->chosen_count++;
        }
        found->count++;
    }
out:
    mk_call_result_free(&result);
    mk_arena_free(&scratch);
    mk_buf_free(&args);
    return rc;
}

/* Whether a word looks like part of a name and not of a sentence. */
static bool may_be_name(const mk_off *q, size_t i)
{
    const mk_token *t = &q->tokens[i];
    if (t->used)
        return false;
    for (size_t k = 0; k < t->text.n; k++)
        if (strchr("_/@:.#", t->text.p[k]) != NULL || (t->text.p[k] >= '0' && t->text.p[k] <= '9') ||
            (unsigned char)t->text.p[k] >= 0x80)
            return true;
    return t->concept == C_UNKNOWN || (t->capital && i > 0);
}

/* "account 1810" is n1810 where that is how accounts are called. */
static bool try_number(mk_off *q, size_t i)
{
    char text[40];
    mk_token *t = &q->tokens[i];
    if (t->text.n > 18 || strspn(t->low, "0123456789") != t->text.n || i == 0 ||
        q->tokens[i - 1].concept != C_NODE)
        return false;
    const int n = snprintf(text, sizeof text, "n%s", t->low);
    return is_uid(q, (mk_str){text, (size_t)n}) && add_name(q, (mk_str){text, (size_t)n}, i, i);
}

/* Several of one name: whoever asked is told which, and may choose. */
static mk_code ambiguous(mk_off *q, mk_str text, const namesakes *found)
{
    const size_t n = found->count < CANDIDATES_MAX ? found->count : CANDIDATES_MAX;
    q->ambiguous = true;
    if (q->out->candidate_count == 0) { /* of the first such name: a choice is about one */
        q->out->candidates = mk_arena_get0(q->arena, n * sizeof *q->out->candidates);
        if (q->out->candidates == NULL)
            return mk_fail_nomem(q->err);
        memcpy(q->out->candidates, found->uids, n * sizeof *found->uids);
        q->out->candidate_count = n;
    }
    return mk_off__missing(q, "\"%.*s\" could be %zu entities: say which by its uid",
                           (int)(text.n > 80 ? 80 : text.n), text.p, found->count);
}

/* The longest span from word i on that is an entity. */
static mk_code try_span(mk_off *q, size_t i, size_t *lookups)
{
    mk_code rc = MK_OK;
    namesakes found;
    for (size_t length = SPAN_MAX; length > 0; length--) {
        const size_t last = i + length - 1;
        bool free = last < q->count && may_be_name(q, i);
        for (size_t k = i; free && k <= last; k++)
            free = !q->tokens[k].used && (k == last || !q->tokens[k].ends || length == 1);
        if (!free || (length > 1 && !may_be_name(q, last)))
            continue;
        const mk_str spaced = joined(q, i, last, ' '), underscored = joined(q, i, last, '_');
        if (is_uid(q, spaced) || is_uid(q, underscored)) {
            if (!add_name(q, is_uid(q, spaced) ? spaced : underscored, i, last))
                return MK_OK;
            return MK_OK;
        }
        if (++*lookups > LOOKUPS_MAX || spaced.n < 2)
            continue;
        MK_TRY(rc, find_by_name(q, spaced, &found));
        if (found.count == 1 || found.chosen_count == 1) {
            (void)add_name(q, found.chosen_count == 1 ? found.chosen : found.uids[0], i, last);
            return MK_OK;
        }
        if (found.count > 1)
            return ambiguous(q, spaced, &found);
    }
out:
    return rc;
}

static mk_code find_names(mk_off *q)
{
    size_t lookups = 0;
    mk_code rc = MK_OK;
    for (size_t i = 0; i < q->count; i++) {
        mk_token *t = &q->tokens[i];
        if (t->used)
            continue;
        const bool plain = t->concept == C_UNKNOWN || strpbrk(t->low, "0123456789") != NULL;
        if (plain && (is_task_id(q, t->text) || is_uid(q, t->text)))
            (void)add_name(q, t->text, i, i);
        else if (!try_number(q, i))
            MK_TRY(rc, try_span(q, i, &lookups));
    }
out:
    return rc;
}

/* ---- words without their endings ---- */

/* Crude on purpose: both sides go through it. */
static void stem(const char *word, char out[48])
{
    static const struct {
        const char *from, *to;
    } odd[] = {{"made", "make"}, {"sent", "send"},    {"gave", "give"},  {"given", "give"}, {"met", "meet"},
               {"held", "hold"}, {"fought", "fight"}, {"led", "lead"},   {"paid", "pay"},   {"won", "win"},
               {"said", "say"},  {"took", "take"},    {"taken", "take"}, {"wrote", "write"}};
    snprintf(out, 48, "%.47s", word);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (strcmp(out, odd[i].from) == 0)
            snprintf(out, 48, "%s", odd[i].to);
    size_t n = strlen(out);
    if (n > 3 && out[n - 1] == 's' && out[n - 2] != 's') /* ratings, rating */
        out[--n] = '\0';
    static const char *const endings[] = {"ing", "ied", "ie", "ed", "e", "y", "i"};
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        const size_t e = strlen(endings[k]);
        if (n > e + 2 && strcmp(out + n - e, endings[k]) == 0) {
            n -= e;
            out[n] = '\0';
            break;
        }
    }
    if (n > 3 && out[n - 1] == out[n - 2] && strchr("aeiou", out[n - 1]) == NULL) /* permit, permitted */
        out[--n] = '\0';
    if (n > 3 && (out[n - 1] == 'e' || out[n - 1] == 'i' || out[n - 1] == 'y'))
        out[--n] = '\0';
}

static mk_code find_labels(mk_off *q);
static mk_code find_property(mk_off *q);

/* ---- relation types ---- */

#define REL_WORDS_MAX 16

typedef struct rel_words {
    char stems[REL_WORDS_MAX][48];
    size_t n;
} rel_words;

static void split_rel(mk_str rel, rel_words *out)
{
    out->n = 0;
    for (size_t i = 0; i < rel.n && out->n < REL_WORDS_MAX;) {
        char word[48];
        size_t n = 0;
        while (i < rel.n && (rel.p[i] == '_' || rel.p[i] == ' ' || rel.p[i] == ',' || rel.p[i] == '(' ||
                             rel.p[i] == ')' || rel.p[i] == '-'))
            i++;
        for (; i < rel.n && strchr("_ ,()-", rel.p[i]) == NULL; i++)
            if (n < sizeof word - 1)
                word[n++] = rel.p[i] >= 'A' && rel.p[i] <= 'Z' ? (char)(rel.p[i] - 'A' + 'a') : rel.p[i];
        word[n] = '\0';
        if (n != 0)
            stem(word, out->stems[out->n++]);
    }
}

/* "commits" behind "how many" is a label's noun where there is one, and no verb. */
static bool is_label_noun(const mk_off *q, size_t i)
{
    const size_t n = strlen(q->tokens[i].low);
    for (size_t k = 0; k < q->label_count; k++)
        if (q->label_tokens[k] == i)
            return n < 3 || strcmp(q->tokens[i].low + n - 2, "ed") != 0;
    return false;
}

/* Where the words of a relation type begin at token i, entities between them aside; the last token, or 0. */
static size_t match_rel(const mk_off *q, size_t i, const rel_words *rel)
{
    size_t at = i, last = 0;
    char word[48];
    for (size_t w = 0; w < rel->n; w++) {
        while (w > 0 && at < q->count &&
               (q->tokens[at].used || mk_off__is_any(&q->tokens[at], "a an the to with"))) {
            stem(q->tokens[at].low, word);
            if (!q->tokens[at].used && strcmp(word, rel->stems[w]) == 0)
                break;
            at++;
        }
        if (at >= q->count || q->tokens[at].used)
            return 0;
        stem(q->tokens[at].low, word);
        if (strcmp(word, rel->stems[w]) != 0)
            return 0;
        last = ++at;
    }
    return last;
}

static void use_rel(mk_off *q, mk_str rel, size_t first, size_t end, const rel_words *words)
{
    size_t w = 0;
    char word[48];
    q->rel_first[q->rel_count] = first;
    q->rel_last[q->rel_count] = end - 1;
    q->rels[q->rel_count++] = rel;
    for (size_t i = first; i < end; i++) {
        stem(q->tokens[i].low, word);
        if (!q->tokens[i].used && w < words->n && strcmp(word, words->stems[w]) == 0) {
            q->tokens[i].used = true;
            w++;
        }
    }
}

/* The most words win, so that Accuse does not take what Accuse_of_espionage was meant for. */
static mk_code find_relations(mk_off *q)
{
    mk_rel_count *counts;
    size_t n;
    mk_code rc;
    MK_TRY(rc, mk_view_rel_counts(q->view, q->arena, &counts, &n, q->err));
    q->rel_types = n;
    if (n == 1)
        q->only_rel = counts[0].rel_type;
    rel_words *words = mk_arena_get(q->arena, (n + 1) * sizeof *words);
    if (words == NULL) {
        rc = mk_fail_nomem(q->err);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        split_rel(counts[i].rel_type, &words[i]);
    for (size_t i = 0; i < q->count && q->rel_count < MK_OFF_RELS_MAX; i++) {
        size_t best = n, end = 0;
        if (q->tokens[i].used || is_label_noun(q, i) || (q->prop.n != 0 && q->tokens[i].concept == C_EVENT))
            continue;
        for (size_t k = 0; k < n; k++) {
            const size_t last = match_rel(q, i, &words[k]);
            if (last != 0 && (best == n || words[k].n > words[best].n)) {
                best = k;
                end = last;
            }
        }
        if (best < n)
            use_rel(q, counts[best].rel_type, i, end, &words[best]);
    }
out:
    return rc;
}

/* ---- properties ---- */

/* "rating", "ratings": a verb of the same stem is a relation type's business. */
static bool is_word_or_plural(const char *asked, const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && strncmp(asked, name, n) == 0 &&
           (asked[n] == '\0' || (asked[n] == 's' && asked[n + 1] == '\0'));
}

/* A number property of edges whose name is a word of the question, from the first edges that the store
 * gives. */
static mk_code find_property(mk_off *q)
{
    const mk_edge_filter filter = {.vt_lo = INT64_MIN, .vt_hi = INT64_MAX};
    const mk_arena_mark mark = mk_arena_save(q->arena);
    const mk_edge_block *block;
    mk_edge_stream *stream;
    char found[48] = "", name[48];
    mk_code rc;
    MK_TRY(rc, mk_view_stream(q->view, q->arena, &filter, false, &stream, q->err));
    MK_TRY(rc, mk_edge_stream_next(stream, &block, q->err));
    for (uint32_t i = 0; block != NULL && i < block->count && i < 64; i++) {
        const mk_edge_ref ref = mk_edge_block_ref(block, i);
        mk_json *props;
        mk_str text;
        MK_TRY(rc, mk_view_edge_props(q->view, &ref, &text, q->err));
        if (text.n <= 2)
            continue;
        MK_TRY(rc, mk_json_parse(q->arena, text, NULL, &props, q->err));
        for (size_t p = 0; props->kind == MK_JSON_OBJECT && p < props->n; p++) {
            const mk_json *value = &props->members[p].value;
            if ((value->kind != MK_JSON_INT && value->kind != MK_JSON_FLOAT) ||
                props->members[p].key.n >= sizeof found)
                continue;
            snprintf(name, sizeof name, "%.*s", (int)props->members[p].key.n, props->members[p].key.p);
            for (size_t t = 0; t < q->count; t++) {
                if (!q->tokens[t].used && is_word_or_plural(q->tokens[t].low, name))
                    snprintf(found, sizeof found, "%.*s", (int)props->members[p].key.n,
                             props->members[p].key.p);
            }
        }
    }
out:
    mk_arena_rewind(q->arena, mark);
    if (rc != MK_OK || found[0] == '\0')
        return rc;
    q->prop = mk_arena_copy(q->arena, mk_str_of(found));
    for (size_t t = 0; t < q->count; t++) { /* the property stands for the events that carry it */
        if (!q->tokens[t].used && is_word_or_plural(q->tokens[t].low, found)) {
            q->tokens[t].concept = C_EVENT;
            q->prop_token = q->prop_token < q->count ? q->prop_token : t;
        }
    }
    return q->prop.p != NULL ? MK_OK : mk_fail_nomem(q->err);
}

/* ---- labels ---- */

typedef struct label_search {
    mk_off *q;
    uint32_t seen[64];
    size_t count, nodes;
} label_search;

static bool take_label(void *ctx, const mk_node_ref *ref)
{
    label_search *l = ctx;
    for (size_t i = 0; i < l->count; i++)
        if (l->seen[i] == ref->label)
            return ++l->nodes < 20000;
    if (l->count < 64)
        l->seen[l->count++] = ref->label;
    return ++l->nodes < 20000;
}

/* "commits" where nodes have the label Commit: nodes, and the only kind that is meant. */
static mk_code find_labels(mk_off *q)
{
    label_search l = {.q = q};
    char label[48], word[48], asked[48];
    mk_code rc = mk_view_nodes(q->view, INT64_MIN, INT64_MAX, take_label, &l, q->err);
    if (rc != MK_OK && rc != MK_E_CANCELLED)
        return rc;
    for (size_t i = 0; i < l.count; i++) {
        const mk_str name = mk_view_name(q->view, l.seen[i]);
        size_t n = 0;
        for (; n < name.n && n < sizeof label - 1; n++)
            label[n] = name.p[n] >= 'A' && name.p[n] <= 'Z' ? (char)(name.p[n] - 'A' + 'a') : name.p[n];
        label[n] = '\0';
        stem(label, word);
        for (size_t t = 0; t < q->count && n != 0 && n == name.n; t++) {
            stem(q->tokens[t].low, asked);
            if (q->tokens[t].used || strcmp(asked, word) != 0 || q->tokens[t].concept == C_EVENT)
                continue;
            q->tokens[t].concept = C_NODE;
            if (strcmp(label, "node") != 0 && q->label_count < 4) {
                q->labels[q->label_count] = mk_arena_copy(q->arena, name);
                q->label_tokens[q->label_count++] = t;
            }
        }
    }
    return MK_OK;
}

/* ---- what events are called here ---- */

/* A single relation type names the events: MSG is what "messages" begins with, TRUST is "trusted". */
static void name_events(mk_off *q)
{
    static const struct {
        const char *rel, *words;
    } called[] = {{"msg", "message messages messaged messaging"},
                  {"message", "message messages messaged"},
                  {"mail", "mail mails mailed email emails emailed"},
                  {"email", "email emails emailed mail mails"},
                  {"call", "call calls called"},
                  {"trust", "trust trusts trusted rating ratings rate rated rates"}};
    char rel[48] = "";
    for (size_t i = 0; i < q->only_rel.n && i < sizeof rel - 1; i++) {
        const char c = q->only_rel.p[i];
        rel[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        rel[i + 1] = '\0';
    }
    for (size_t k = 0; k < sizeof called / sizeof *called && rel[0] != '\0'; k++)
        for (size_t i = 0; i < q->count && strcmp(rel, called[k].rel) == 0; i++)
            if (!q->tokens[i].used && mk_off__is_any(&q->tokens[i], called[k].words))
                q->tokens[i].concept = C_EVENT;
}

static long long number_word(const char *low)
{
    static const char *const words[] = {"two",   "three", "four", "five", "six",
                                        "seven", "eight", "nine", "ten"};
    for (int i = 0; i < 9; i++)
        if (strcmp(low, words[i]) == 0)
            return i + 2;
    return 0;
}

static void find_numbers(mk_off *q)
{
    for (size_t i = 0; i < q->count; i++) {
        char *end;
        const char *low = q->tokens[i].low;
        if (q->tokens[i].used || q->number_count == 4)
            continue;
        long long v = number_word(low);
        if (v == 0 && strcmp(low, "zero") != 0) {
            if (low[0] != '-' && (low[0] < '0' || low[0] > '9'))
                continue;
            v = strtoll(low, &end, 10);
            if (*end != '\0' || end == low)
                continue;
        }
        q->numbers[q->number_count] = v;
        q->number_tokens[q->number_count++] = i;
        q->tokens[i].concept = C_NUMBER;
    }
}

mk_code mk_off__names(mk_off *q)
{
    mk_code rc;
    q->prop_token = q->count;
    MK_TRY(rc, find_names(q));
    MK_TRY(rc, find_labels(q));
    MK_TRY(rc, find_property(q));
    MK_TRY(rc, find_relations(q));
    name_events(q);
    find_numbers(q);
out:
    return rc;
}

/* ---- what was done by whom ---- */

mk_code mk_off__aggregate(mk_off *q, mk_str args, mk_arena *scratch, const mk_json **rows)
{
    const mk_call_options options = {.row_budget = 50000, .cancelled = q->options->cancelled};
    mk_call_result result;
    mk_json *payload;
    mk_code rc;
    *rows = NULL;
    mk_call_result_init(&result, q->arena->alloc);
    rc = mk_call_run(q->store, NULL, MK_STR("aggregate_events"), args, &options, scratch, &result, q->err);
    if (rc != MK_OK && rc != MK_E_NOMEM && rc != MK_E_CANCELLED) {
        rc = MK_OK; /* too dear, or too much: what is not known is not taken for granted */
        goto out;
    }
    MK_TRY(rc, rc);
    MK_TRY(rc, mk_json_parse(scratch, mk_buf_view(&result.payload.text), NULL, &payload, q->err));
    *rows = mk_json_get(payload, "rows");
out:
    mk_call_result_free(&result);
    return rc;
}

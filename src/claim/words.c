/* words.c — claims as sentences. Layer: claim.
 *
 * What a claim says, in words that name nothing the claim does not: a text made of these sentences rests
 * on its claims by construction. Stored text stands in them as it is. Source: agent spec, 11.4, 18.5. */
#include "base/timetext.h"
#include "claim/claim_internal.h"

#define LISTED_MAX 50 /* identifiers in a sentence; the claim has all of them */
/* A number from here on (5 March 1973) is probably a time in microseconds. */
#define TIME_LIKE INT64_C(100000000000000)

static void put_time(mk_buf *out, int64_t us)
{
    char text[MK_TIME_TEXT_MAX];
    if (us == MK_OPEN_END)
        mk_buf_z(out, "no end");
    else if (us >= TIME_LIKE || us <= -TIME_LIKE)
        mk_buf_put(out, text, mk_time_text(text, us));
    else
        mk_buf_i64(out, us);
}

void mk_claim__number_words(mk_buf *out, const mk_json *value)
{
    char text[MK_TIME_TEXT_MAX];
    if (value->kind == MK_JSON_FLOAT)
        mk_canon_double(out, value->d);
    else if (value->b)
        mk_buf_str(out, value->text);
    else if (value->i == MK_OPEN_END)
        mk_buf_z(out, "no end");
    else
        mk_buf_i64(out, value->i);
    if (value->kind != MK_JSON_INT || value->b || value->i < TIME_LIKE || value->i >= MK_OPEN_END)
        return;
    mk_buf_z(out, " (");
    mk_buf_put(out, text, mk_time_text(text, value->i));
    mk_buf_c(out, ')');
}

static void put_value(mk_buf *out, const mk_json *value)
{
    if (value == NULL || value->kind == MK_JSON_NULL)
        mk_buf_z(out, "nothing");
    else if (mk_claim__is_number(value))
        mk_claim__number_words(out, value);
    else if (value->kind == MK_JSON_STRING)
        mk_buf_str(out, value->text);
    else if (value->kind == MK_JSON_BOOL)
        mk_buf_z(out, value->b ? "true" : "false");
    else
        mk_buf_z(out, value->kind == MK_JSON_ARRAY ? "what the list holds" : "what the record holds");
}

static void put_interval(mk_buf *out, const mk_json *value)
{
    mk_when when;
    if (!mk_claim__when(value, &when))
        return;
    if (when.instant) {
        put_time(out, when.start);
        return;
    }
    mk_buf_c(out, '[');
    put_time(out, when.start);
    mk_buf_z(out, ", ");
    put_time(out, when.end);
    mk_buf_c(out, ')');
}

void mk_claim__list_words(mk_buf *out, const mk_json *uids)
{
    for (size_t i = 0; i < uids->n && i < LISTED_MAX; i++) {
        mk_buf_z(out, i > 0 ? ", " : "");
        mk_buf_str(out, uids->items[i].text);
    }
    if (uids->n > LISTED_MAX)
        mk_buf_z(out, " and more");
}

/* ---- one function a family ---- */

static bool is(const mk_json *value, const char *word)
{
    return value != NULL && value->kind == MK_JSON_STRING && mk_str_eq(value->text, mk_str_of(word));
}

static void put_set(mk_buf *out, const mk_json *claim)
{
    const mk_json *uids = mk_json_get(claim, "uids");
    if (uids == NULL || uids->kind != MK_JSON_ARRAY)
        return;
    if (uids->n == 0) {
        mk_buf_z(out, "There are none");
        return;
    }
    mk_buf_z(out, is(mk_json_get(claim, "type"), "entity") ? "The results name " : "These are all: ");
    mk_claim__list_words(out, uids);
}

static void put_ordering(mk_buf *out, const mk_json *claim)
{
    const mk_json *relation = mk_json_get(claim, "relation");
    put_interval(out, mk_json_get(claim, "a"));
    if (relation != NULL && relation->kind == MK_JSON_OBJECT) {
        mk_buf_z(out, " starts within ");
        put_value(out, mk_json_get(relation, "within"));
        mk_buf_z(out, " microseconds of ");
    } else {
        mk_buf_z(out, " lies ");
        put_value(out, relation);
        mk_buf_c(out, ' ');
    }
    put_interval(out, mk_json_get(claim, "b"));
}

static const char *cmp_words(const mk_json *cmp)
{
    static const char *const words[][2] = {
        {"eq", "equal to"},  {"ne", "other than"},    {"lt", "less than"},      {"le", "at most"},
        {"gt", "more than"}, {"ge", "at least"}, {"contains", "containing"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(cmp, words[i][0]))
            return words[i][1];
    return "like";
}

static void put_absence(mk_buf *out, const mk_json *claim)
{
    const mk_json *where = mk_json_get(claim, "where"), *field = mk_json_get(where, "field");
    mk_buf_z(out, "There is none with ");
    put_value(out, field != NULL && field->kind == MK_JSON_STRING ? field : NULL);
    mk_buf_c(out, ' ');
    mk_buf_z(out, cmp_words(mk_json_get(where, "cmp")));
    mk_buf_c(out, ' ');
    put_value(out, mk_json_get(where, "value"));
}

/* A path says where a number stands, which is no matter for a sentence. */
static void put_operand(mk_buf *out, const mk_json *value, const char *otherwise)
{
    if (mk_claim__is_number(value))
        put_value(out, value);
    else
        mk_buf_z(out, otherwise);
}

static void put_comparison(mk_buf *out, const mk_json *claim)
{
    put_operand(out, mk_json_get(claim, "left"), "The first");
    mk_buf_z(out, " is ");
    mk_buf_z(out, cmp_words(mk_json_get(claim, "cmp")));
    mk_buf_c(out, ' ');
    put_operand(out, mk_json_get(claim, "right"), "the second");
}

static void put_path(mk_buf *out, const mk_json *claim)
{
    const mk_json *hops = mk_json_get(claim, "hops"), *t;
    mk_buf_z(out, "The path goes ");
    for (size_t i = 0; hops != NULL && hops->kind == MK_JSON_ARRAY && i < hops->n; i++) {
        mk_buf_z(out, i > 0 ? ", then " : "");
        put_value(out, mk_json_get(&hops->items[i], "src"));
        mk_buf_z(out, " to ");
        put_value(out, mk_json_get(&hops->items[i], "dst"));
        t = mk_json_get(&hops->items[i], "t");
        mk_buf_z(out, " at ");
        if (t != NULL && t->kind == MK_JSON_INT && !t->b)
            put_time(out, t->i);
    }
}

static void put_pattern(mk_buf *out, const mk_json *claim)
{
    const mk_json *assertion = mk_json_get(claim, "assertion");
    if (is(assertion, "burst"))
        mk_buf_z(out, "There was an unusual burst of activity in ");
    else if (is(assertion, "concentration"))
        mk_buf_z(out, "Activity was highest in ");
    else
        mk_buf_z(out, is(mk_json_get(claim, "direction"), "decreasing") ? "There was less and less in "
                                                                        : "There was more and more in ");
    put_interval(out, mk_json_get(claim, "interval"));
}

static void put_tt(mk_buf *out, const mk_json *claim, const char *name)
{
    const mk_json *value = mk_json_get(claim, name);
    if (value != NULL && value->kind == MK_JSON_INT && !value->b)
        put_time(out, value->i);
}

static void put_belief_change(mk_buf *out, const mk_json *claim)
{
    mk_buf_z(out, "As believed at ");
    put_tt(out, claim, "tt_before");
    mk_buf_z(out, " it was ");
    put_value(out, mk_json_get(claim, "before"));
    mk_buf_z(out, ", as believed at ");
    put_tt(out, claim, "tt_after");
    mk_buf_z(out, " it was ");
    put_value(out, mk_json_get(claim, "after"));
    if (mk_json_get(claim, "cause_tt") == NULL)
        return;
    mk_buf_z(out, "; the change was recorded at ");
    put_tt(out, claim, "cause_tt");
}

static void put_stated(mk_buf *out, const char *before, const mk_json *claim)
{
    mk_buf_z(out, before);
    put_value(out, mk_json_get(claim, "value"));
}

static void put_belief(mk_buf *out, const mk_json *claim)
{
    const mk_json *inner = mk_json_get(claim, "claim");
    mk_buf_z(out, "As believed at ");
    put_tt(out, claim, "as_of_tt");
    mk_buf_z(out, ": ");
    /* Claims inside have none inside them, so this ends. */
    if (inner != NULL && mk_json_get(inner, "claim") == NULL)
        mk_claim__words(out, inner);
}

typedef void put_words(mk_buf *out, const mk_json *claim);

void mk_claim__words(mk_buf *out, const mk_json *claim)
{
    static const struct {
        const char *type;
        const char *before; /* what stands before the value; NULL: `put` does it */
        put_words *put;
    } types[] = {
        {"count", "The count is ", NULL},        {"value", "The value is ", NULL},
        {"boolean", "It is ", NULL},             {"lower_bound", "It is at least ", NULL},
        {"upper_bound", "It is at most ", NULL}, {"ratio", "The ratio is ", NULL},
        {"entity", NULL, put_set},               {"set_equal", NULL, put_set},
        {"ordering", NULL, put_ordering},        {"absence", NULL, put_absence},
        {"comparison", NULL, put_comparison},    {"path", NULL, put_path},
        {"pattern", NULL, put_pattern},          {"temporal_pattern", NULL, put_pattern},
        {"belief", NULL, put_belief},            {"belief_change", NULL, put_belief_change},
    };
    const mk_json *type = mk_json_get(claim, "type");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!is(type, types[i].type))
            continue;
        if (types[i].put != NULL)
            types[i].put(out, claim);
        else
            put_stated(out, types[i].before, claim);
        return;
    }
    if (is(type, "interval")) {
        mk_buf_z(out, "The interval is ");
        put_interval(out, mk_json_get(claim, "interval"));
    }
}

/* ---- why it is weak ---- */

void mk_claim__qualifier(mk_buf *out, const mk_claim_result *result)
{
    static const char *const words[][2] = {
        {"page", "only part of the rows was read"},
        {"offset", "the rows were not read from the first on"},
        {"sublist", "one of the lists was cut"},
        {"top_k", "only the best were listed"},
        {"budget", "the work was stopped before its end"},
        {"excluded", "some rows were left out"},
        {"ref_cut", "only part of an earlier result was used"},
        {"sampled", "it was estimated from part of the data"},
        {"approximate", "it is an estimate"},
        {"ambiguous", "the name could mean others"},
        {"narrowed", "less was asked than the question says"},
        {"censored", "it had not ended by then"},
        {"stale", "the results are older than asked for"},
        {"unproven", "the rows were not read from the store"},
        {"cause_unproved", "what made the difference is not proved"},
    };
    size_t count = 0;
    for (size_t r = 0; r < result->reason_count; r++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strcmp(result->reasons[r], words[i][0]) == 0) {
                mk_buf_z(out, count++ > 0 ? " and " : "");
                mk_buf_z(out, words[i][1]);
            }
    if (count == 0)
        mk_buf_z(out, "the results are incomplete");
}

/* offline_remarks.c — words of a question that say what is assumed anyway. See offline_internal.h.
 * Layer: agent.
 *
 * "Answer yes or no", "events of the same day may follow one another", "whether as sender or as receiver":
 * such words are silenced, so that what remains can be read; those that fix a reading are noted, so that
 * another reading is refused. A remark that contradicts what would be computed is never silenced. */
#include "agent/offline_internal.h"

static const char *const source_words =
    "sender senders source sources giver givers rater raters caller callers acting actor author subject";
static const char *const target_words =
    "receiver receivers recipient recipients target targets rated called object receiving";

static bool free_is(const mk_off *q, size_t i, const char *words)
{
    return i < q->count && !q->tokens[i].used && mk_off__is_any(&q->tokens[i], words);
}

static bool is_sequence(const mk_off *q, size_t i, const char *const words[])
{
    for (size_t k = 0; words[k] != NULL; k++)
        if (!free_is(q, i + k, words[k]))
            return false;
    return true;
}

/* The tokens mean nothing more, numbers among them neither. */
static void hush(mk_off *q, size_t first, size_t n)
{
    for (size_t i = first; i < first + n && i < q->count; i++) {
        q->tokens[i].concept = C_STOP;
        for (size_t k = 0; k < q->number_count; k++)
            if (q->number_tokens[k] == i) {
                q->number_tokens[k] = q->number_tokens[q->number_count - 1];
                q->numbers[k] = q->numbers[--q->number_count];
            }
    }
}

/* "the entire six months" is all of the data when they extend over about six months. */
static bool is_whole_extent(const mk_off *q, size_t number)
{
    static const struct {
        const char *unit;
        double days;
    } units[] = {{"days", 1}, {"weeks", 7}, {"months", 30.4}, {"years", 365.2}};
    double asked = 0;
    if (number + 1 >= q->count || !q->has_extent)
        return false;
    for (size_t k = 0; k < q->number_count; k++)
        if (q->number_tokens[k] == number)
            for (size_t u = 0; u < 4; u++)
                if (mk_off__is(&q->tokens[number + 1], units[u].unit))
                    asked = (double)q->numbers[k] * units[u].days * 86400e6;
    const double whole = (double)(q->vt_max - q->vt_min);
    return asked > whole * 0.75 && asked < whole * 1.25;
}

/* Tokens from i on that are all among `glue`, source words or target words; both of the latter must occur.
 * The order says which came first. 0: it is no such phrase. */
static size_t roles_from(const mk_off *q, size_t i, const char *glue, bool *source_first)
{
    bool source = false, target = false;
    size_t end = i;
    for (; end < q->count && end < i + 14 && !q->tokens[end].used; end++) {
        const bool s = free_is(q, end, source_words), t = free_is(q, end, target_words);
        if (!s && !t && !free_is(q, end, glue))
            break;
        if (s && !target && !source)
            *source_first = true;
        if (t && !target && !source)
            *source_first = false;
        source |= s;
        target |= t;
        if (source && target &&
            (q->tokens[end].ends || end + 1 == q->count || !free_is(q, end + 1, "side end one"))) {
            end++;
            break;
        }
    }
    return source && target ? end - i : 0;
}

/* "from the rater to the rated": the way that edges point. The other way round nothing here computes. */
static void direction(mk_off *q, size_t i)
{
    bool source_first = false;
    if (!free_is(q, i, "from"))
        return;
    const size_t n = roles_from(q, i, "from the to side end one a party", &source_first);
    if (n == 0)
        return;
    if (source_first)
        hush(q, i, n);
    else
        q->backwards = true;
}

/* "whether as the one acting or as the target", "as sender or receiver". */
static void either_role(mk_off *q, size_t i)
{
    bool source_first;
    if (!free_is(q, i, "whether as either in"))
        return;
    const size_t n = roles_from(
        q, i, "whether as the one or a an either both in role roles side it they is was were", &source_first);
    if (n == 0)
        return;
    q->either_role = true;
    hush(q, i, n);
}

/* "counting both those it rated and those that rated it". */
static void counting_both(mk_off *q, size_t i)
{
    size_t end = i + 2, verbs = 0;
    if (!free_is(q, i, "counting including considering") || !free_is(q, i + 1, "both"))
        return;
    for (; end < q->count && !q->tokens[end].used; end++) {
        const mk_concept c = q->tokens[end].concept;
        verbs += c == C_SEND || c == C_RECEIVE || c == C_EVENT;
        if (c != C_STOP && c != C_SEND && c != C_RECEIVE && c != C_EVENT && c != C_NODE)
            return;
        if (q->tokens[end].ends) {
            end++;
            break;
        }
    }
    if (verbs < 2)
        return;
    q->either_role = true;
    hush(q, i, end - i);
}

/* "events of the same day may follow one another": equal times may be passed through, as they are. */
static void same_may_follow(mk_off *q, size_t i)
{
    if (!free_is(q, i, "same") || !free_is(q, i + 1, "day date second instant time moment"))
        return;
    for (size_t k = i + 2; k < i + 5; k++)
        if (free_is(q, k, "may can could")) {
            hush(q, i, 2);
            return;
        }
}

/* "(e.g., Monday, Tuesday)". */
static void for_example(mk_off *q, size_t i)
{
    static const char *const days =
        "monday tuesday wednesday thursday friday saturday sunday and or etc like";
    size_t end = i + 1;
    if (!free_is(q, i, "e.g eg i.e like") || !q->tokens[i].opens)
        return;
    while (end < q->count && free_is(q, end, days))
        end++;
    if (q->tokens[end - 1].ends)
        hush(q, i, end - i);
}

/* "(A, B) where A rated B and B also rated A": two statements with the variables swapped. */
static void variables(mk_off *q)
{
    size_t at[MK_OFF_TOKENS_MAX], n = 0;
    bool forward = false, back = false;
    if (mk_off__find(q, C_PAIR) == q->count)
        return;
    for (size_t i = 0; i < q->count; i++)
        if (!q->tokens[i].used && q->tokens[i].text.n == 1 && q->tokens[i].capital && i > 0)
            at[n++] = i;
    for (size_t k = 0; k + 1 < n; k++) {
        const char a = q->tokens[at[k]].text.p[0], b = q->tokens[at[k + 1]].text.p[0];
        bool verb = false;
        for (size_t i = at[k] + 1; i < at[k + 1]; i++) {
            const mk_token *t = &q->tokens[i];
            verb |= t->concept == C_SEND || mk_off__is_event_verb(t);
            if (t->concept == C_RECEIVE || mk_off__is_any(t, "by from") || t->concept == C_NOT)
                return;
        }
        if (!verb || a == b)
            continue;
        forward |= a < b;
        back |= a > b;
    }
    if (!forward || !back)
        return;
    q->mutual = true;
    for (size_t k = 0; k < n; k++)
        hush(q, at[k], 1);
}

/* "in the first seven days after the first message": from where the data begin. */
static void first_stretch(mk_off *q, size_t i)
{
    const mk_length *l = &q->lengths[0];
    size_t end = i + 1;
    bool data = false;
    if (!free_is(q, i, "first initial") || q->length_count != 1 || q->has_window || !q->has_extent ||
        l->token != i + 1)
        return;
    while (end < q->count && (end == l->token || end == l->token + 1))
        end++;
    for (; end < q->count && !q->tokens[end].used; end++) {
        const mk_token *t = &q->tokens[end];
        data |= mk_off__is_any(t, "log data dataset network graph") ||
                (t->concept == C_EVENT && mk_off__is(&q->tokens[end - 1], "first"));
        if (t->concept != C_EVENT &&
            !mk_off__is_any(t, "after from of the first timestamp time in log data dataset network graph "
                               "start beginning since very entire whole"))
            break;
    }
    if (!data)
        return;
    hush(q, i, end - i);
    q->has_window = true;
    q->t_a = q->vt_min;
    q->t_b = q->vt_min + l->us;
    q->length_count = 0;
}

/* "counting each time it was created": what a number of lives counts anyway. */
static void counting_each(mk_off *q, size_t i)
{
    size_t end = i + 1;
    if (!free_is(q, i, "counting") || !free_is(q, i + 1, "each every"))
        return;
    while (end < q->count &&
           free_is(q, end, "each every time it was is were they are created added made anew again started"))
        end++;
    if (end == q->count || q->tokens[end - 1].ends)
        hush(q, i, end - i);
}

/* "since it was recorded": a correction always comes after that. */
static void since_recorded(mk_off *q, size_t i)
{
    size_t end = i;
    if (!free_is(q, i, "since after"))
        return;
    while (end < q->count && free_is(q, end,
                                     "since after it they was were being had been having ever first recorded "
                                     "loaded entered stored written"))
        end++;
    if (end > i + 2 && (end == q->count || q->tokens[end - 1].ends))
        hush(q, i, end - i);
}

void mk_off__remarks(mk_off *q)
{
    static const char *const answer[] = {"answer", "yes", "or", "no", NULL},
                             *const yes_no[] = {"yes", "or", "no", NULL},
                             *const no_matter[] = {"no", "matter", NULL};
    variables(q);
    for (size_t i = 0; i < q->count; i++) {
        const mk_token *before = i > 0 ? &q->tokens[i - 1] : NULL;
        const mk_token *next = i + 1 < q->count ? &q->tokens[i + 1] : NULL;
        if (q->tokens[i].used)
            continue;
        direction(q, i);
        either_role(q, i);
        counting_both(q, i);
        same_may_follow(q, i);
        counting_each(q, i);
        for_example(q, i);
        first_stretch(q, i);
        since_recorded(q, i);
        if (is_sequence(q, i, answer))
            hush(q, i, 4);
        else if (is_sequence(q, i, yes_no))
            hush(q, i, 3);
        else if (is_sequence(q, i, no_matter))
            hush(q, i, 2);
        else if (before != NULL && mk_off__is_any(before, "whole entire full complete") &&
                 is_whole_extent(q, i))
            hush(q, i, 2);
        /* "the largest number of different senders": one superlative, and nothing to count */
        else if (before != NULL && before->concept == C_MOST && free_is(q, i, "number count total"))
            hush(q, i, 1);
        else if (free_is(q, i, "exactly precisely") && ((next != NULL && next->concept == C_NUMBER) ||
                                                        (before != NULL && before->concept == C_WHEN)))
            hush(q, i, 1); /* the number is read with it; of a moment it says nothing */
        else if (next != NULL && !next->used && next->concept == C_EVENT && free_is(q, i, "new"))
            hush(q, i, 1);
        else if (next != NULL && !next->used && next->concept == C_PATH && free_is(q, i, "only"))
            hush(q, i, 1);
    }
}

/* offline_words.c — a question as tokens, and what its words can mean. See offline_internal.h.
 * Layer: agent.
 *
 * The table holds no sentence and no name of any data set: kinds of thing that every temporal graph has, in
 * the words that people use for them. Source: agent spec, 18.9. */
#include "agent/offline_internal.h"

#include <stdlib.h>

/* ---- words ---- */

static const struct {
    mk_concept concept;
    const char *words;
} table[] = {
    {C_STOP,
     "a an the of in on at to from for and or with by as is are was were be been being it its that this "
     "these those "
     "there then than such into onto over within during between among along out up off about any all "
     "either also please can could would should may might will shall do does tell me us show "
     "let i we you my our your have has had having so if whenever while where  via under upon through "
     "throughout across utc gmt z inclusive exclusive included excluded including include respectively "
     "namely "
     "i.e e.g ie eg etc ids id uids they them their he she him her his hers using use used based "
     "according suppose say whether matter be along exact how one became become becomes already calendar "
     "considering among amongst in-between valid versus vs direction ago different-from at-most everything"},
    {C_COUNT, "count counts counted number numbers many total tally"},
    {C_WHICH, "which what name list identify find report state compute calculate determine return pick"},
    {C_WHO, "who whom whose whoever"},
    {C_WHEN, "when"},
    {C_DID, "did does has"},
    {C_NODE, "node nodes account accounts entity entities user users people person persons vertex vertices "
             "member members "
             "actor actors party parties participant participants individual individuals contacts everyone "
             "everything thing things"},
    {C_EVENT,
     "event events edge edges interaction interactions communication communications occurrence occurrences "
     "link links "
     "contact connection connections relation relations relationship relationships tie ties activity"},
    {C_PAIR, "pair pairs"},
    {C_VERSION, "version versions history revision revisions"},
    {C_BUCKET, "split divide divided cut bucket buckets interval intervals period periods slot slots bin "
               "bins stretch stretches"},
    {C_NEIGHBOUR,
     "together interact interacts interacted talk talks talked communicate communicates communicated "
     "neighbor neighbors neighbour neighbours partner partners counterpart counterparts"},
    {C_SEND, "send sends sent sending sender senders give gives gave given giving giver hand handed hands "
             "direct directed directs initiate initiated initiates source "
             "sources originate originated issue issued"},
    {C_RECEIVE, "receive receives received receiving receiver receivers recipient recipients get gets got "
                "target targets"},
    {C_TOUCH, "touch touches touching touched incident attached adjacent"},
    {C_DEGREE, "degree degrees"},
    {C_REACH, "reach reaches reached reachable reaching spread spreads spreading spreadable arrive arrives "
              "arrived arrival infect "
              "infected inform informed propagate propagates propagated"},
    {C_FIRST, "first earliest soonest initial initially"},
    {C_LAST, "last final"},
    {C_MOST, "most peak peaks peaked busiest highest largest greatest maximum maximal max top biggest"},
    {C_LEAST, "fewest least lowest smallest minimum minimal min quietest"},
    {C_DISTINCT, "distinct different unique"},
    {C_BURST,
     "burst bursts bursty bursting bursted spike spikes spiked surge surges surged flagged flag outbreak"},
    {C_NEW, "newcomer newcomers new newly joined join joins debut debuts debuted appearance appearances "
            "appear appears appeared"},
    {C_RECIPROCAL,
     "reciprocity reciprocal reciprocated reciprocate mutual reverse reversed opposite back bidirectional"},
    {C_SHARE, "share fraction proportion percentage percent ratio rate"},
    {C_BELIEF, "belief beliefs believed believe transaction recorded knew known state pin pinned"},
    {C_NOW, "now current currently presently today nowadays latest"},
    {C_EXIST, "exist exists existed existing lives existences lifetimes live alive present there makes make "
              "made up contain contains contained"},
    {C_NOT, "no not absent never without didn't wasn't weren't didnt missing"},
    {C_ADDED, "added add adds gained gain gains"},
    {C_REMOVED, "removed remove lost lose vanished disappeared gone dropped"},
    {C_GAP, "gap gaps separated separate apart"},
    {C_BEFORE, "before precede precedes preceded preceding related next ends ended"},
    {C_START, "start starts started starting begin begins beginning began"},
    {C_END, "end ending"},
    {C_AVERAGE, "average mean avg"},
    {C_POSITIVE, "positive"},
    {C_NEGATIVE, "negative"},
    {C_VALUE, "value values"},
    {C_ABOVE, "above exceeding greater more"},
    {C_BELOW, "below less fewer under"},
    {C_TIME, "time times moment instant date snapshot snapshots often"},
    {C_LENGTH, "length long wide width"},
    {C_EVER, "ever overall entire whole dataset data log graph network store stored far very"},
    {C_OTHER, "other others else another"},
    {C_PATH, "go goes going walk walking travel path paths respecting traversed traverse order ordered "
             "forward follow following followed chain hop hops via route "
             "routes must message word news information rumour rumor"},
    {C_THRESHOLD, "z score zscore threshold rolling trailing prior window"},
    {C_INVOLVED, "involved involving involve involves mentioned mention mentions turn turns occur occurs "
                 "occurred occurring took take taken place happen happened happens saw "
                 "see seen had fell fall falls active observed"},
    {C_TYPE, "type types kind kinds"},
    {C_PERIOD, "day days week weeks month months quarter quarters hour hours minute minutes year years"},
    {C_ORDER, "outgoing leaving outbound"},
    {C_CORRECTED,
     "corrected correction corrections withdrawn retracted revised amended superseded overwritten"},
    {C_SELF, "itself themselves himself herself oneself self"},
    {C_CORRECTION, "later"},
    {C_ONLY, "only exclusively solely merely just exactly precisely"},
    {C_EACH, "each every per"},
    {C_BUT, "but yet although though nevertheless"},
    {C_BOTH, "both"},
    {C_SAME, "same"},
    {C_TOTAL, "volume"},
    {C_ONCE, "once twice single"},
};

/* A hash of the table is not worth it: a question has thirty words. */
static mk_concept concept_of(const char *low)
{
    const size_t n = strlen(low);
    for (size_t i = 0; n != 0 && i < sizeof table / sizeof *table; i++)
        for (const char *at = strstr(table[i].words, low); at != NULL; at = strstr(at + 1, low))
            if ((at == table[i].words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
                return table[i].concept;
    return C_UNKNOWN;
}

bool mk_off__is(const mk_token *t, const char *word) { return strcmp(t->low, word) == 0; }

bool mk_off__is_any(const mk_token *t, const char *words)
{
    const size_t n = strlen(t->low);
    for (const char *at = n ? strstr(words, t->low) : NULL; at != NULL; at = strstr(at + 1, t->low))
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* ---- tokens ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Marks that may stand around a word. */
static bool is_mark(char c) { return c != '\0' && strchr(",.;:?!()[]{}\"'<>=", c) != NULL; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* U+2019, the apostrophe of word processors, and U+2014 and U+2013, dashes between words, as ASCII. */
static mk_str plain_marks(mk_off *q)
{
    char *copy = mk_arena_get(q->arena, q->question.n + 1);
    size_t n = 0;
    if (copy == NULL)
        return (mk_str){NULL, 0};
    for (size_t i = 0; i < q->question.n; i++) {
        const char *p = q->question.p + i;
        const bool three =
            i + 2 < q->question.n && (unsigned char)p[0] == 0xE2 && (unsigned char)p[1] == 0x80;
        const unsigned char third = three ? (unsigned char)p[2] : 0;
        if (three && (third == 0x98 || third == 0x99)) {
            copy[n++] = '\'';
            i += 2;
        } else if (three && (third == 0x9C || third == 0x9D)) {
            copy[n++] = '"';
            i += 2;
        } else if (three && (third == 0x93 || third == 0x94)) {
            copy[n++] = ' ';
            i += 2;
        } else {
            copy[n++] = p[0];
        }
    }
    return (mk_str){copy, n};
}

static void add_token(mk_off *q, mk_str text, bool opens, bool ends)
{
    if (q->count == MK_OFF_TOKENS_MAX || text.n == 0)
        return;
    mk_token *t = &q->tokens[q->count++];
    *t = (mk_token){.opens = opens, .ends = ends};
    if (text.n > 2 && text.p[text.n - 2] == '\'' &&
        (text.p[text.n - 1] == 's' || text.p[text.n - 1] == 'S')) {
        t->possessive = true;
        text.n -= 2;
    } else if (text.n > 2 && text.p[text.n - 1] == '\'') {
        t->possessive = true;
        text.n -= 1;
    }
    t->text = text;
    t->capital = text.p[0] >= 'A' && text.p[0] <= 'Z';
    const size_t n = text.n < sizeof t->low - 1 ? text.n : sizeof t->low - 1;
    for (size_t i = 0; i < n; i++)
        t->low[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] - 'A' + 'a') : text.p[i];
    t->low[n] = '\0';
    /* A word with a NUL in it looks shorter than it is. */
    t->concept = text.n < sizeof t->low && strlen(t->low) == text.n ? concept_of(t->low) : C_UNKNOWN;
}

static bool is_date_like(mk_str s)
{
    return s.n >= 8 && is_digit(s.p[0]) && is_digit(s.p[1]) && is_digit(s.p[2]) && is_digit(s.p[3]) &&
           s.p[4] == '-';
}

static bool is_known(const mk_off *q, mk_str text)
{
    return mk_view_entity(q->view, text) != MK_NO_ID;
}

/* "5.2-day" is two words, "first-ever" too; "Al-Shabaab" is one where the store has such an entity. */
static void add_word(mk_off *q, mk_str word, bool opens, bool ends)
{
    const char *dash = word.n > 1 ? memchr(word.p + 1, '-', word.n - 1) : NULL;
    const bool path = memchr(word.p, '/', word.n) != NULL || memchr(word.p, '@', word.n) != NULL ||
                      memchr(word.p, '_', word.n) != NULL;
    if (dash == NULL || path || is_date_like(word) || word.p[0] == '-' || is_known(q, word)) {
        add_token(q, word, opens, ends);
        return;
    }
    while (dash != NULL) {
        add_token(q, (mk_str){word.p, (size_t)(dash - word.p)}, opens, false);
        word.n -= (size_t)(dash - word.p) + 1;
        word.p = dash + 1;
        opens = false;
        dash = word.n > 1 ? memchr(word.p + 1, '-', word.n - 1) : NULL;
    }
    add_token(q, word, opens, ends);
}

void mk_off__tokens(mk_off *q)
{
    const mk_str text = plain_marks(q);
    for (size_t i = 0; i < text.n;) {
        bool opens = false, ends = false;
        while (i < text.n && (is_space(text.p[i]) || is_mark(text.p[i]))) {
            opens = opens || text.p[i] == '(' || text.p[i] == '[';
            i++;
        }
        size_t end = i;
        while (end < text.n && !is_space(text.p[end]) &&
               !(is_mark(text.p[end]) && strchr("()[]\"", text.p[end]) != NULL))
            end++;
        size_t last = end;
        while (last > i && is_mark(text.p[last - 1])) {
            ends = true;
            last--;
        }
        if (last > i)
            add_word(q, (mk_str){text.p + i, last - i}, opens, ends || (end < text.n && text.p[end] == ')'));
        i = end > i ? end : i + 1;
    }
}

/* ---- looking ---- */

uint64_t mk_off__concepts(const mk_off *q)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < q->count; i++)
        if (!q->tokens[i].used)
            bits |= MK_C(q->tokens[i].concept);
    return bits;
}

size_t mk_off__find(const mk_off *q, mk_concept concept)
{
    for (size_t i = 0; i < q->count; i++)
        if (!q->tokens[i].used && q->tokens[i].concept == concept)
            return i;
    return q->count;
}

/* run_baseline.c — what a system that always says the same would score. Layer: eval.
 *
 * A suite whose right answers hardly differ flatters everybody. For every kind of answer the most frequent
 * right answer of the suite is given to every task of that kind; tasks where abstaining is right are answered
 * too, and wrongly. Source: evaluation spec, 22, item 1. */
#include <stdlib.h>

#include "base/sha256.h"
#include "eval/run_internal.h"
#include "eval/score.h"

typedef struct gold {
    mk_str kind;
    uint8_t digest[32]; /* of the right answer's canonical text */
    size_t task;
} gold;

static int by_answer(const void *a, const void *b)
{
    const gold *x = a, *y = b;
    int order = mk_str_cmp(x->kind, y->kind);
    if (order == 0)
        order = memcmp(x->digest, y->digest, sizeof x->digest);
    return order != 0 ? order : (x->task > y->task) - (x->task < y->task);
}

static mk_code digest_of(const mk_json *value, mk_arena *arena, uint8_t out[32], mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, arena, value, err));
    MK_TRY(rc, mk_buf_done(&text, err));
    mk_sha256_of(text.p, text.n, out);
out:
    mk_buf_free(&text);
    mk_arena_rewind(arena, mark);
    return rc;
}

/* Among golds[from..until) of one kind, sorted: a task with the most frequent answer; the first in the suite
 * where several are. */
static size_t most_frequent(const gold *golds, size_t from, size_t until)
{
    size_t best = golds[from].task, most = 0;
    for (size_t i = from; i < until;) {
        size_t end = i;
        while (end < until && memcmp(golds[i].digest, golds[end].digest, sizeof golds[i].digest) == 0)
            end++;
        if (end - i > most || (end - i == most && golds[i].task < best)) {
            most = end - i;
            best = golds[i].task;
        }
        i = end;
    }
    return best;
}

static mk_code score_kind(const mk_eval_suite *suite, const gold *golds, size_t from, size_t until,
                          mk_arena *arena, double *baseline, mk_err *err)
{
    if (mk_task_wants_abstention(&suite->tasks[golds[from].task]))
        return MK_OK;
    const mk_json *constant = suite->tasks[most_frequent(golds, from, until)].gold;
    for (size_t i = from; i < until; i++) {
        const mk_eval_task *task = &suite->tasks[golds[i].task];
        mk_score s;
        const mk_code rc = mk_score_answer(task->kind, task->gold, constant, arena, &s, err);
        if (rc != MK_OK)
            return rc;
        baseline[golds[i].task] = s.em;
    }
    return MK_OK;
}

mk_code mk_eval__baseline(const mk_eval_suite *suite, mk_arena *arena, double **baseline, mk_err *err)
{
    gold *golds = mk_arena_get(arena, suite->count * sizeof *golds);
    mk_code rc = MK_OK;
    *baseline = mk_arena_get0(arena, suite->count * sizeof **baseline);
    if (golds == NULL || *baseline == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < suite->count; i++) {
        golds[i] = (gold){.kind = suite->tasks[i].kind, .task = i};
        MK_TRY(rc, digest_of(suite->tasks[i].gold, arena, golds[i].digest, err));
    }
    if (suite->count > 0)
        qsort(golds, suite->count, sizeof *golds, by_answer);
    for (size_t i = 0, end; i < suite->count; i = end) {
        for (end = i; end < suite->count && mk_str_eq(golds[i].kind, golds[end].kind);)
            end++;
        MK_TRY(rc, score_kind(suite, golds, i, end, arena, *baseline, err));
    }
out:
    return rc;
}

/* fuzz_suite.c — any text as a suite: typed errors only, and every task that is read can be scored. */
#include <stdlib.h>

#include "eval/score.h"
#include "eval/suite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mk_arena arena;
    mk_eval_suite suite;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    if (mk_suite_read((mk_str){(const char *)data, size}, &arena, &suite, &err) == MK_OK) {
        for (size_t i = 0; i < suite.count; i++) {
            const mk_eval_task *task = &suite.tasks[i];
            const mk_json *value;
            mk_score score;
            if (mk_score_extract(task->kind, task->gold, &arena, &value, &err) != MK_OK ||
                mk_score_answer(task->kind, task->gold, value, &arena, &score, &err) != MK_OK)
                continue;
            if (!(score.f1 >= 0 && score.f1 <= 1) || (score.em != 0 && score.em != 1))
                abort();
        }
    } else if (err.code == MK_OK || err.code == MK_E_INTERNAL) {
        abort();
    }
    mk_arena_free(&arena);
    return 0;
}

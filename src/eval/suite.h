/* suite.h — suites of questions with right answers. Layer: eval.
 *
 * Two forms are read. A frozen suite is an object with the lists `dev` and `test`, whose tasks carry the plan
 * that defines the right answer and the identifiers that a system is handed. A list is a JSON array of
 * {"id","question","kind","gold"}; it may add "family" and "input_uids". Kind `abstain` is right when no
 * answer is given. Source: evaluation spec, 2; issue 4, "For scripts". */
#ifndef MK_EVAL_SUITE_H
#define MK_EVAL_SUITE_H

#include "base/json.h"

#define MK_SUITE_SIZE_MAX ((size_t)64 << 20)
#define MK_SUITE_TASKS_MAX 100000
#define MK_SUITE_UIDS_MAX 10000 /* identifiers of one task */

typedef struct mk_eval_task {
    mk_str id, family, question;
    mk_str kind;          /* "count", "value", "entity_set", "interval", "abstain", ... */
    const mk_json *gold;  /* JSON null for kind abstain when the suite has none */
    mk_str plan;          /* canonical JSON; n 0: none */
    bool plan_is_gold;    /* gold is what running the plan gives, not what a manifest says */
    const mk_str *uids;   /* identifiers that the task hands to the system */
    size_t uid_count;
} mk_eval_task;

/* Everything lives in the arena it was read into. */
typedef struct mk_eval_suite {
    mk_str dataset; /* n 0: the suite does not say */
    mk_eval_task *tasks; /* dev, then test */
    size_t count;
    mk_str split_sha; /* of the tasks in `test`, as the file states it; n 0: it states none */
    char split_sha_found[65]; /* as computed; "" for a list */
} mk_eval_suite;

/* Errors: MK_E_SCHEMA with the path of what is wrong ("test[3].gold", "[4].kind"), MK_E_LIMIT for too many
 * tasks, MK_E_STATE when `test_split_sha` is not that of the tasks, MK_E_NOMEM. */
MK_CHECK mk_code mk_suite_read(mk_str text, mk_arena *arena, mk_eval_suite *out, mk_err *err);

/* True for kind `abstain`. */
bool mk_task_wants_abstention(const mk_eval_task *task);

#endif

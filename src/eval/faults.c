/* faults.c — drawing mutants and counting what the verifier notices. Layer: eval.
 *
 * First the right answers are verified as they are; those it rejects are false positives and are not
 * mutated. Then, class by class in their order, a stream of its own finds the answers that the class
 * applies to, and the main stream draws among them, with repetition, until there are enough.
 * Source: evaluation spec, 17, 18. */
#include "eval/faults.h"

#include "base/canon.h"
#include "eval/generate.h"
#include "load/synth_random.h"

#define PROBING UINT64_C(0x5EED)
#define PROBES 8 /* draws before a class is said not to apply to an answer */
#define DRAWS_FOR_EACH 50 /* draws that may come to nothing, for each mutant wanted */
#define SHOWN_MAX 400 /* bytes of a claim */
#define OBJECTS_MAX ((size_t)2 << 30)

typedef struct counting {
    mk_fault_pool *pool;
    const mk_faults_options *options;
    mk_faults_report *out;
    mk_arena scratch; /* of one answer */
    mk_random random, probe;
    uint32_t *applicable; /* answers, by index */
    size_t applicable_count;
    size_t missed; /* of the class at hand */
    mk_err *err;
} counting;

/* ---- verifying ---- */

static mk_code verify(counting *c, const mk_fault_answer *answer, mk_str text, mk_answer_report *report)
{
    const mk_verify_options options = {.strict = true, .no_completeness = c->options->no_completeness};
    return mk_answer_verify(text, answer->evidence, &options, &c->scratch, report, c->err);
}

static bool is_bad(const mk_claim_result *claim)
{
    return claim->verdict == MK_UNSUPPORTED || claim->verdict == MK_UNVERIFIABLE;
}

static bool is_rejected(const mk_answer_report *report)
{
    bool rejected = !report->schema_valid;
    for (size_t i = 0; i < report->claim_count; i++)
        rejected |= is_bad(&report->claims[i]);
    return rejected;
}

/* "entity_add: task-007: {claim}" */
static mk_code note_surprise(counting *c, const char *what, const mk_fault_answer *answer,
                             const mk_json *claim, mk_str reason)
{
    mk_faults_report *out = c->out;
    mk_buf text;
    mk_code rc;
    if (c->missed++ >= 2 || out->surprise_count == sizeof out->surprises / sizeof *out->surprises)
        return MK_OK;
    mk_buf_init(&text, c->scratch.alloc);
    mk_buf_printf(&text, "%s: %.*s: ", what, MK_STR_ARG(answer->task));
    if (claim != NULL)
        MK_TRY(rc, mk_canon_tree(&text, &c->scratch, claim, c->err));
    if (text.n > SHOWN_MAX)
        text.n = mk_utf8_check((mk_str){text.p, SHOWN_MAX}); /* at the end of a character */
    mk_buf_printf(&text, " (%.*s)", MK_STR_ARG(reason));
    MK_TRY(rc, mk_buf_done(&text, c->err));
    out->surprises[out->surprise_count] = mk_arena_copy(c->pool->arena, mk_buf_view(&text));
    if (out->surprises[out->surprise_count++].p == NULL)
        rc = mk_fail_nomem(c->err);
out:
    mk_buf_free(&text);
    return rc;
}

/* ---- the clean pool ---- */

#define TYPES_MAX 32

static void note_types(counting *c, const mk_answer_report *report, mk_str types[TYPES_MAX])
{
    for (size_t i = 0; i < report->claim_count; i++) {
        size_t k = 0;
        while (k < c->out->types && !mk_str_eq(types[k], report->claims[i].type))
            k++;
        if (k < c->out->types || k == TYPES_MAX)
            continue;
        types[k] = mk_arena_copy(c->pool->arena, report->claims[i].type);
        c->out->types += types[k].p != NULL;
    }
}

static mk_code note_rejected(counting *c, const mk_fault_answer *answer, const mk_answer_report *report)
{
    for (size_t i = 0; i < report->claim_count; i++)
        if (is_bad(&report->claims[i]))
            return note_surprise(c, "clean", answer, report->claims[i].claim, report->claims[i].reason);
    return note_surprise(c, "clean", answer, NULL, report->schema_error);
}

static mk_code verify_clean(counting *c)
{
    mk_str types[TYPES_MAX];
    mk_code rc = MK_OK;
    c->missed = 0;
    for (size_t i = 0; rc == MK_OK && i < c->pool->count; i++) {
        mk_fault_answer *answer = &c->pool->answers[i];
        mk_answer_report report;
        MK_TRY(rc, verify(c, answer, answer->answer, &report));
        answer->rejected = is_rejected(&report);
        c->out->answers++;
        c->out->rejected += answer->rejected;
        note_types(c, &report, types);
        if (answer->rejected)
            rc = note_rejected(c, answer, &report);
        mk_arena_reset(&c->scratch);
    }
out:
    return rc;
}

/* ---- mutants ---- */

/* *made false: the class does not apply to the answer, or to what was drawn. */
static mk_code mutate(counting *c, mk_fault fault, const mk_fault_answer *answer, mk_random *random,
                      mk_mutation *m, bool *made)
{
    bool nomem = false;
    mk_code rc;
    *m = (mk_mutation){.random = random, .arena = &c->scratch, .pool = c->pool, .answer = answer};
    MK_TRY(rc, mk_json_parse(&c->scratch, answer->answer, NULL, &m->tree, c->err));
    *made = mk_fault_mutate(fault, m, &nomem);
    if (nomem)
        rc = mk_fail_nomem(c->err);
out:
    return rc;
}

static mk_code find_applicable(counting *c, mk_fault fault)
{
    mk_mutation m;
    bool made;
    mk_code rc = MK_OK;
    mk_random_seed(&c->probe, c->options->seed ^ PROBING);
    c->applicable_count = 0;
    for (uint32_t i = 0; rc == MK_OK && i < c->pool->count; i++) {
        made = c->pool->answers[i].rejected;
        for (int tries = 0; rc == MK_OK && !made && tries < PROBES; tries++) {
            rc = mutate(c, fault, &c->pool->answers[i], &c->probe, &m, &made);
            if (rc == MK_OK && made)
                c->applicable[c->applicable_count++] = i;
            mk_arena_reset(&c->scratch);
        }
    }
    return rc;
}

/* What is only incomplete, or only another belief, need not be called false; it must not be called
 * supported. Source: evaluation spec, 18. */
static bool is_detected(mk_fault fault, const mk_answer_report *report, size_t claim)
{
    if (fault != MK_FAULT_TRUNCATED_COUNT && fault != MK_FAULT_WRONG_BELIEF_STATE)
        return is_rejected(report);
    return is_rejected(report) || claim >= report->claim_count ||
           report->claims[claim].verdict != MK_SUPPORTED;
}

static mk_code judge(counting *c, mk_fault fault, const mk_mutation *m)
{
    mk_fault_result *result = &c->out->classes[fault];
    mk_answer_report report;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, c->scratch.alloc);
    MK_TRY(rc, mk_canon_tree(&text, &c->scratch, m->tree, c->err));
    MK_TRY(rc, mk_buf_done(&text, c->err));
    MK_TRY(rc, verify(c, m->answer, mk_buf_view(&text), &report));
    result->mutants++;
    if (is_detected(fault, &report, m->claim))
        result->detected++;
    else
        rc = note_surprise(c, mk_fault_name(fault), m->answer,
                           &mk_json_get(m->tree, "claims")->items[m->claim],
                           m->claim < report.claim_count ? report.claims[m->claim].reason : (mk_str){0});
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code draw_mutants(counting *c, mk_fault fault)
{
    const size_t wanted = c->out->wanted;
    mk_mutation m;
    bool made;
    mk_code rc;
    MK_TRY(rc, find_applicable(c, fault));
    c->missed = 0;
    c->out->classes[fault].answers = c->applicable_count;
    for (size_t draws = 0; c->applicable_count > 0 && draws < DRAWS_FOR_EACH * wanted; draws++) {
        if (c->out->classes[fault].mutants == wanted)
            break;
        if (c->options->cancelled != NULL && atomic_load(c->options->cancelled))
            return mk_fail(c->err, MK_E_CANCELLED, "cancelled while mutants were drawn");
        const size_t at = (size_t)mk_random_below(&c->random, c->applicable_count);
        MK_TRY(rc, mutate(c, fault, &c->pool->answers[c->applicable[at]], &c->random, &m, &made));
        if (made)
            MK_TRY(rc, judge(c, fault, &m));
        mk_arena_reset(&c->scratch);
    }
out:
    return rc;
}

mk_code mk_faults_on_pool(mk_fault_pool *pool, const mk_faults_options *options, mk_faults_report *out,
                          mk_err *err)
{
    counting c = {.pool = pool, .options = options, .out = out, .err = err};
    mk_code rc;
    *out = (mk_faults_report){.wanted = options->mutants > 0 ? options->mutants : MK_FAULT_MUTANTS};
    c.applicable = mk_arena_get(pool->arena, pool->count * sizeof *c.applicable);
    if (c.applicable == NULL)
        return mk_fail_nomem(err);
    mk_arena_init(&c.scratch, pool->arena->alloc);
    mk_random_seed(&c.random, options->seed);
    MK_TRY(rc, verify_clean(&c));
    for (int fault = 0; fault < MK_FAULT_CLASSES; fault++)
        MK_TRY(rc, draw_mutants(&c, (mk_fault)fault));
out:
    mk_arena_free(&c.scratch);
    return rc;
}

mk_code mk_faults_run(mk_store *store, const mk_eval_suite *suite, const mk_faults_options *options,
                      mk_arena *arena, mk_faults_report *out, mk_err *err)
{
    mk_fault_pool pool = {.arena = arena};
    mk_objects *objects = NULL;
    mk_eval_task *made = NULL;
    size_t count = 0;
    mk_code rc;
    MK_TRY(rc, mk_objects_memory(arena->alloc, OBJECTS_MAX, &objects, err));
    MK_TRY(rc, mk_fault_pool_fill(store, suite->tasks, suite->count, options->mask, options->cancelled,
                                  objects, &pool, err));
    if (!options->no_generated)
        MK_TRY(rc, mk_eval_generate(store, options->mask, options->seed, arena, &made, &count, err));
    MK_TRY(rc, mk_fault_pool_fill(store, made, count, options->mask, options->cancelled, objects, &pool,
                                  err));
    rc = mk_faults_on_pool(&pool, options, out, err);
out:
    mk_objects_close(objects);
    return rc;
}

/* ---- what it comes to ---- */

mk_code mk_faults_verdict(const mk_faults_report *report, mk_err *err)
{
    if (report->answers < MK_FAULT_ANSWERS || report->types < MK_FAULT_TYPES) {
        mk_fail(err, MK_E_STATE, "the clean pool has %zu answers of %zu claim types, %d of %d are needed",
                report->answers, report->types, MK_FAULT_ANSWERS, MK_FAULT_TYPES);
        mk_err_hint(err, "use a store with more events and corrections, or a suite with more plans");
        return MK_E_STATE;
    }
    if (report->rejected > 0)
        return mk_fail(err, MK_E_STATE, "%zu of %zu right answers were rejected", report->rejected,
                       report->answers);
    for (int i = 0; i < MK_FAULT_CLASSES; i++) {
        const mk_fault_result *r = &report->classes[i];
        if (r->mutants < report->wanted) {
            mk_fail(err, MK_E_STATE, "class %s has %zu mutants of %zu: it applies to %zu answers",
                    mk_fault_name((mk_fault)i), r->mutants, report->wanted, r->answers);
            mk_err_hint(err, "beliefs need a store with corrections; other classes more events");
            return MK_E_STATE;
        }
        if (r->detected < r->mutants)
            return mk_fail(err, MK_E_STATE, "%zu of %zu mutants of class %s were not noticed",
                           r->mutants - r->detected, r->mutants, mk_fault_name((mk_fault)i));
    }
    return MK_OK;
}

void mk_faults_report_json(const mk_faults_report *report, mk_buf *out)
{
    static const mk_fault by_name[MK_FAULT_CLASSES] = {
        MK_FAULT_COUNT_PM1,       MK_FAULT_ENTITY_ADD,      MK_FAULT_ENTITY_DROP,   MK_FAULT_INTERVAL_SHIFT,
        MK_FAULT_INTERVAL_UNITS,  MK_FAULT_ORDERING_INVERT, MK_FAULT_ORDERING_SWAP, MK_FAULT_TRUNCATED_COUNT,
        MK_FAULT_UID_SWAP,        MK_FAULT_WRONG_BELIEF_STATE, MK_FAULT_WRONG_STEP_CITATION,
    };
    mk_buf_z(out, "{\"applicable\":{");
    for (size_t i = 0; i < MK_FAULT_CLASSES; i++)
        mk_buf_printf(out, "%s\"%s\":%zu", i > 0 ? "," : "", mk_fault_name(by_name[i]),
                      report->classes[by_name[i]].answers);
    mk_buf_printf(out, "},\"claim_types\":%zu,\"classes\":{", report->types);
    for (size_t i = 0; i < MK_FAULT_CLASSES; i++) {
        const mk_fault_result *r = &report->classes[by_name[i]];
        mk_buf_printf(out, "%s\"%s\":{\"detected\":%zu,\"mutants\":%zu}", i > 0 ? "," : "",
                      mk_fault_name(by_name[i]), r->detected, r->mutants);
    }
    mk_buf_printf(out, "},\"clean\":{\"answers\":%zu,\"rejected\":%zu},\"surprises\":[", report->answers,
                  report->rejected);
    for (size_t i = 0; i < report->surprise_count; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        mk_canon_string(out, report->surprises[i]);
    }
    mk_buf_z(out, "]}");
}

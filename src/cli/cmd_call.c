/* cmd_call.c — call, ops: the operators and their manual. Layer: cli. */
#include <stdio.h>

#include "api_json.h"
#include "base/instream.h"
#include "cli/cli.h"
#include "cli/result_text.h"
#include "op/call.h"
#include "op/schema.h"

#define ARGS_MAX ((size_t)64 << 20)      /* arguments: four of the longest strings there may be */
#define CALL_MEMORY_MAX ((size_t)4 << 30) /* scratch of one call; above it the call is E_LIMIT */

#define MEMORY_MIB_MAX (UINT64_C(1) << 30)
#define TIMEOUT_MS_MAX (UINT64_C(1) << 40)

typedef struct calling {
    mk_cli *cli;
    mk_store *store;
    mk_arena arena;
    mk_buf args, out;
    mk_call_options options;
    bool has_as_of_tt, has_as_of;
    int64_t as_of_tt, as_of;
    uint64_t timeout_ms; /* of each call; 0: none */
} calling;

/* ---- options ---- */

static mk_code read_ceiling(const mk_options *o, const char *name, int64_t *out, mk_err *err)
{
    uint64_t value = 0;
    const mk_code rc = mk_options_u64(o, name, 1, INT64_MAX, &value, err);
    *out = (int64_t)value;
    return rc;
}

static mk_code read_options(calling *c, mk_err *err)
{
    const mk_options *o = &c->cli->options;
    uint64_t memory_mib = 0;
    mk_code rc;
    MK_TRY(rc, mk_cli__mask(c->cli, &c->options.mask, err));
    c->has_as_of_tt = mk_options_has(o, "as-of-tt");
    c->has_as_of = mk_options_has(o, "as-of");
    MK_TRY(rc, mk_options_time(o, "as-of-tt", &c->as_of_tt, err));
    MK_TRY(rc, mk_options_time(o, "as-of", &c->as_of, err));
    c->options.explain_only = mk_options_has(o, "explain");
    c->options.completeness = true;
    MK_TRY(rc, read_ceiling(o, "rows-max", &c->options.ceilings.rows_scanned_est, err));
    MK_TRY(rc, read_ceiling(o, "expansions-max", &c->options.ceilings.expansions_est, err));
    MK_TRY(rc, read_ceiling(o, "time-max", &c->options.ceilings.time_est_ms, err));
    MK_TRY(rc, mk_options_u64(o, "timeout", 1, TIMEOUT_MS_MAX, &c->timeout_ms, err));
    MK_TRY(rc, mk_options_u64(o, "memory-max", 1, MEMORY_MIB_MAX, &memory_mib, err));
    if (memory_mib != 0)
        c->arena.limit = (size_t)memory_mib << 20;
out:
    return rc;
}

/* ---- one call ---- */

/* --as-of is valid time, and exists only where an operator asks about one instant of it. */
static mk_code check_as_of(const calling *c, const char *op, mk_err *err)
{
    const mk_operator *found = mk_operator_find(mk_str_of(op));
    if (!c->has_as_of || found == NULL) /* an unknown operator is mk_call's to refuse */
        return MK_OK;
    for (const mk_arg *arg = found->args; arg->name != NULL; arg++)
        if (strcmp(arg->name, "t_valid") == 0)
            return MK_OK;
    mk_fail(err, MK_E_INVALID_ARG, "%s does not ask about one instant of valid time", op);
    mk_err_path(err, "--as-of");
    mk_err_hint(err, "leave it out; --as-of-tt is what was believed at a time");
    return MK_E_INVALID_ARG;
}

static mk_code call_text(calling *c, const char *op, mk_str args, mk_err *err)
{
    mk_buf with_tt, with_vt;
    mk_code rc;
    mk_buf_init(&with_tt, c->cli->alloc);
    mk_buf_init(&with_vt, c->cli->alloc);
    mk_buf_clear(&c->out);
    MK_TRY(rc, check_as_of(c, op, err));
    if (c->has_as_of_tt) {
        MK_TRY(rc, mk_api_args_add_time(&c->arena, args, "as_of_tt", c->as_of_tt, &with_tt, err));
        MK_TRY(rc, mk_buf_done(&with_tt, err));
        args = mk_buf_view(&with_tt);
    }
    if (c->has_as_of) {
        MK_TRY(rc, mk_api_args_add_time(&c->arena, args, "t_valid", c->as_of, &with_vt, err));
        MK_TRY(rc, mk_buf_done(&with_vt, err));
        args = mk_buf_view(&with_vt);
    }
    c->options.deadline_us =
        c->timeout_ms != 0 ? mk_clock_system.now_us(mk_clock_system.ctx) + (int64_t)c->timeout_ms * 1000 : 0;
    rc = mk_call(c->store, op, args, &c->options, &c->arena, &c->out, err);
out:
    mk_buf_free(&with_vt);
    mk_buf_free(&with_tt);
    mk_arena_reset(&c->arena);
    return rc;
}

static mk_code call_one(calling *c, mk_err *err)
{
    const mk_options *o = &c->cli->options;
    mk_str args = MK_STR("{}");
    mk_code rc;
    if (o->word_count == 0) {
        rc = mk_fail_usage(err, "name an operator");
        mk_err_hint(err, "`merkhet ops` lists them");
        goto out;
    }
    if (o->word_count == 2 && strcmp(o->words[1], "-") == 0) {
        MK_TRY(rc, mk_cli__read_all("-", ARGS_MAX, "the arguments on standard input", &c->args, err));
        args = mk_buf_view(&c->args);
    } else if (o->word_count == 2) {
        args = mk_str_of(o->words[1]);
    }
    MK_TRY(rc, mk_cli__open(c->cli, mk_cli__store_dir(c->cli), MK_OPEN_READER, false, &c->store, err));
    MK_TRY(rc, call_text(c, o->words[0], args, err));
    if (c->cli->json)
        rc = mk_cli__put_json(c->cli, mk_buf_view(&c->out), err);
    else
        rc = mk_result_put(c->cli, &c->arena, mk_operator_find(mk_str_of(o->words[0])),
                           mk_buf_view(&c->out), err);
out:
    return rc;
}

/* ---- many calls ---- */

/* Splits {"op":...,"args":{...}} into the two; args may be left out. */
static mk_code split_request(calling *c, mk_str line, char *op, size_t op_size, mk_err *err)
{
    mk_json *tree;
    mk_code rc;
    mk_buf_clear(&c->args);
    MK_TRY(rc, mk_json_parse(&c->arena, line, NULL, &tree, err));
    const mk_json *name = mk_json_get(tree, "op"), *args = mk_json_get(tree, "args");
    if (name == NULL || name->kind != MK_JSON_STRING || tree->n != (args != NULL ? 2u : 1u)) {
        rc = mk_fail(err, MK_E_SCHEMA, "not a call: an object with members \"op\" and \"args\" is needed");
        mk_err_hint(err, "write {\"op\":\"entity_history\",\"args\":{\"uid\":\"ada\"}}");
        goto out;
    }
    if (name->text.n >= op_size || memchr(name->text.p, '\0', name->text.n) != NULL) {
        rc = mk_fail(err, MK_E_INVALID_ARG, "no operator has a name like that");
        mk_err_path(err, "op");
        goto out;
    }
    memcpy(op, name->text.p, name->text.n);
    op[name->text.n] = '\0';
    if (args != NULL)
        MK_TRY(rc, mk_canon_tree(&c->args, &c->arena, args, err));
    else
        mk_buf_z(&c->args, "{}");
    rc = mk_buf_done(&c->args, err);
out:
    return rc;
}

static mk_code answer_line(calling *c, mk_str line, mk_err *err)
{
    char op[256];
    mk_code rc;
    MK_TRY(rc, split_request(c, line, op, sizeof op, err));
    MK_TRY(rc, mk_store_refresh(c->store, err));
    rc = call_text(c, op, mk_buf_view(&c->args), err);
out:
    mk_arena_reset(&c->arena);
    return rc;
}

/* A call that fails is answered by its error, and the next is read. */
static mk_code call_many(calling *c, mk_err *err)
{
    mk_instream *in = NULL;
    mk_code rc;
    MK_TRY(rc, mk_instream_open(c->cli->alloc, mk_options_value(&c->cli->options, "batch"), &in, err));
    MK_TRY(rc, mk_cli__open(c->cli, mk_cli__store_dir(c->cli), MK_OPEN_READER, false, &c->store, err));
    for (;;) {
        mk_str line;
        bool more, ended;
        mk_err own;
        MK_TRY(rc, mk_instream_line(in, ARGS_MAX, true, &line, &more, &ended, err));
        if (!more)
            break;
        if (answer_line(c, line, &own) != MK_OK) {
            mk_buf_clear(&c->out);
            mk_err_json(&c->out, &own);
            MK_TRY(rc, mk_buf_done(&c->out, err));
        }
        MK_TRY(rc, mk_cli__put_json(c->cli, mk_buf_view(&c->out), err));
        MK_TRY(rc, mk_cli__flush(err)); /* whoever asks line by line waits for it */
    }
out:
    mk_instream_close(in);
    return rc;
}

static mk_code run_call(mk_cli *cli, mk_err *err)
{
    const bool batch = mk_options_has(&cli->options, "batch");
    calling c = {.cli = cli};
    mk_code rc;
    mk_arena_init(&c.arena, cli->alloc);
    c.arena.limit = CALL_MEMORY_MAX;
    mk_buf_init(&c.args, cli->alloc);
    mk_buf_init(&c.out, cli->alloc);
    if (batch && cli->options.word_count != 0) {
        rc = mk_fail_usage(err, "with --batch the operators are named in the lines");
        goto out;
    }
    MK_TRY(rc, read_options(&c, err));
    rc = batch ? call_many(&c, err) : call_one(&c, err);
out:
    rc = mk_cli__close(c.store, rc, err);
    mk_buf_free(&c.out);
    mk_buf_free(&c.args);
    mk_arena_free(&c.arena);
    return rc;
}

/* ---- ops ---- */

static mk_code unknown_operator(const char *name, mk_err *err)
{
    const mk_operator *near = mk_operator_near(mk_str_of(name));
    mk_fail(err, MK_E_NOT_FOUND, "there is no operator \"%.100s\"", name);
    if (near != NULL)
        mk_err_hint(err, "did you mean %s?", near->name);
    else
        mk_err_hint(err, "`merkhet ops` lists them");
    return MK_E_NOT_FOUND;
}

static mk_code list_json(mk_arena *arena, mk_buf *out, mk_err *err)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    mk_code rc = MK_OK;
    (void)arena;
    mk_buf_c(out, '[');
    for (size_t i = 0; i < count; i++) {
        mk_buf_z(out, i ? ",{\"group\":" : "{\"group\":");
        mk_canon_string(out, mk_str_of(ops[i]->group));
        mk_buf_z(out, ",\"op\":");
        mk_canon_string(out, mk_str_of(ops[i]->name));
        mk_buf_z(out, ",\"summary\":");
        mk_canon_string(out, mk_str_of(ops[i]->summary));
        mk_buf_c(out, '}');
    }
    mk_buf_c(out, ']');
    rc = mk_buf_done(out, err);
    return rc;
}

/* Every manual page, an empty line after each. */
static void put_all_manuals(mk_buf *out)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        mk_op_manual(out, ops[i]);
        mk_buf_c(out, '\n');
    }
}

static mk_code run_ops(mk_cli *cli, mk_err *err)
{
    const char *name = cli->options.word_count ? cli->options.words[0] : NULL;
    const mk_operator *op = name != NULL ? mk_operator_find(mk_str_of(name)) : NULL;
    mk_arena arena;
    mk_buf out;
    mk_code rc = MK_OK;
    mk_arena_init(&arena, cli->alloc);
    mk_buf_init(&out, cli->alloc);
    if (name != NULL && op == NULL) {
        rc = unknown_operator(name, err);
        goto out;
    }
    if (cli->json) {
        MK_TRY(rc, op != NULL ? mk_op_schema_json(&out, &arena, op, err) : list_json(&arena, &out, err));
        rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
    } else {
        if (op != NULL)
            mk_op_manual(&out, op);
        else if (mk_options_has(&cli->options, "all"))
            put_all_manuals(&out);
        else
            mk_op_list(&out);
        rc = mk_cli__put_buf(cli, &out, err);
    }
out:
    mk_buf_free(&out);
    mk_arena_free(&arena);
    return rc;
}

/* ---- the table ---- */

static const mk_option call_options[] = {
    {.name = "as-of", .value = "TIME", .doc = "valid time of the question, for operators with t_valid"},
    {.name = "as-of-tt", .value = "TIME", .doc = "answer from what was believed then"},
    {.name = "show", .value = "CLASSES", .doc = "see these too: resolution,knowledge,notes"},
    {.name = "explain", .doc = "what the call would cost and the ceilings; runs nothing"},
    {.name = "rows-max", .value = "N", .doc = "refuse a call estimated to scan more rows"},
    {.name = "expansions-max", .value = "N", .doc = "refuse a call estimated to expand more"},
    {.name = "time-max", .value = "MS", .doc = "refuse a call estimated to take longer (10000)"},
    {.name = "timeout", .value = "MS", .doc = "end a call that runs longer, with E_LIMIT"},
    {.name = "memory-max", .value = "MIB", .doc = "end a call that needs more memory (4096)"},
    {.name = "batch", .letter = 'b', .value = "FILE",
     .doc = "JSON lines {\"op\":...,\"args\":{...}}; - is standard input"},
    {0},
};
static const mk_option ops_options[] = {
    {.name = "all", .doc = "the manual of every operator"},
    {0},
};

const mk_command mk_commands_call[] = {
    {.name = "call",
     .words = "OP [JSON|-]",
     .summary = "calls one operator, or with --batch many",
     .help = "JSON is the object of arguments, - reads it from standard input. Times in it are\n"
             "integers (microseconds) or ISO 8601 text. With --batch every line is answered by one\n"
             "line of canonical JSON, in order; the line of a call that fails is its error, and the\n"
             "next is called all the same. `merkhet ops OP` is the manual of an operator.",
     .example = "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                "merkhet call entity_history '{\"uid\":\"ada\"}' --store team\n"
                "echo '{\"op\":\"entity_history\",\"args\":{\"uid\":\"ada\"}}' | "
                "merkhet call --batch - --store team",
     .options = call_options,
     .words_max = 2,
     .run = run_call},
    {.name = "ops",
     .words = "[OP]",
     .summary = "lists the operators, or prints the manual of one",
     .help = "With --json: the list, or the JSON Schemas of arguments and result.",
     .example = "merkhet ops entity_history",
     .options = ops_options,
     .words_max = 1,
     .run = run_ops},
    {0},
};

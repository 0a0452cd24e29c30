/* cmd_trace.c — trace list, show, pin, gc: runs that were kept in the store's folder. Layer: cli. */
#include <stdio.h>

#include "base/canon.h"
#include "cli/plan_text.h"
#include "plan/traces.h"

#define LIST_MAX 200

static mk_code trace_dir(mk_cli *cli, char *path, size_t size, mk_err *err)
{
    const int n = snprintf(path, size, "%s/trace", mk_cli__store_dir(cli));
    if (n > 0 && (size_t)n < size)
        return MK_OK;
    return mk_fail(err, MK_E_LIMIT, "the path of the store is too long");
}

static mk_code read_number(mk_cli *cli, uint32_t *number, mk_err *err)
{
    int64_t value;
    const char *word = cli->options.words[0];
    if (!mk_str_to_i64(mk_str_of(word), &value) || value < 1 || value > 999999999) {
        mk_fail_usage(err, "\"%s\" is no number of a trace", word);
        mk_err_hint(err, "merkhet trace list shows them");
        return MK_E_INVALID_ARG;
    }
    *number = (uint32_t)value;
    return MK_OK;
}

/* ---- list ---- */

static mk_str member_text(const mk_json *object, const char *name)
{
    const mk_json *value = object != NULL ? mk_json_get(object, name) : NULL;
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

static mk_str asked(const mk_json *tree)
{
    const mk_str question = member_text(mk_json_get(tree, "plan"), "question");
    return question.n != 0 ? question : member_text(tree, "plan_id");
}

static void put_json_line(mk_buf *out, const mk_trace_entry *e, const mk_json *tree, bool first)
{
    const mk_json *ok = tree != NULL ? mk_json_get(tree, "ok") : NULL;
    mk_buf_printf(out, "%s{\"number\":%u,\"ok\":%s,\"pinned\":%s,\"question\":", first ? "" : ",", e->number,
                  ok != NULL && ok->b ? "true" : "false", e->pinned ? "true" : "false");
    mk_canon_string(out, tree != NULL ? asked(tree) : MK_STR(""));
    mk_buf_c(out, '}');
}

static mk_code put_row(mk_table *table, const mk_trace_entry *e, const mk_json *tree, mk_err *err)
{
    char number[16];
    const mk_json *ok = tree != NULL ? mk_json_get(tree, "ok") : NULL;
    mk_code rc;
    snprintf(number, sizeof number, "%u", e->number);
    MK_TRY(rc, mk_table_cell(table, mk_str_of(number), err));
    MK_TRY(rc, mk_table_cell(table, e->pinned ? MK_STR("pinned") : MK_STR(""), err));
    MK_TRY(rc, mk_table_cell(table,
                             tree == NULL          ? MK_STR("damaged")
                             : ok != NULL && ok->b ? MK_STR("ok")
                                                   : MK_STR("no answer"),
                             err));
    rc = mk_table_cell(table, tree != NULL ? asked(tree) : MK_STR(""), err);
out:
    return rc;
}

static mk_code run_list(mk_cli *cli, mk_err *err)
{
    static const char *const heads[] = {"trace", "", "", "question"};
    mk_trace_entry *list;
    mk_table table;
    mk_arena arena;
    mk_buf json;
    char dir[3800];
    size_t count;
    mk_code rc;
    mk_arena_init(&arena, cli->alloc);
    mk_buf_init(&json, cli->alloc);
    MK_TRY(rc, trace_dir(cli, dir, sizeof dir, err));
    MK_TRY(rc, mk_traces_list(&mk_fs_posix, dir, &arena, &list, &count, err));
    MK_TRY(rc, mk_table_begin(&table, &arena, heads, 4, err));
    table.numeric[0] = true;
    mk_buf_c(&json, '[');
    for (size_t i = 0; i < count && i < LIST_MAX; i++) {
        const mk_json *tree = NULL;
        mk_str text;
        mk_err why;
        if (mk_traces_read(&mk_fs_posix, dir, list[i].number, &arena, &text, &tree, &why) != MK_OK)
            tree = NULL;
        put_json_line(&json, &list[i], tree, i == 0);
        MK_TRY(rc, put_row(&table, &list[i], tree, err));
    }
    mk_buf_c(&json, ']');
    MK_TRY(rc, mk_buf_done(&json, err));
    if (cli->json)
        rc = mk_cli__put_json(cli, mk_buf_view(&json), err);
    else if (count == 0)
        rc = mk_cli__put(cli, MK_STR("no trace is kept; merkhet ask and merkhet plan run make them\n"), err);
    else
        rc = mk_table_put(cli, &table, err);
out:
    mk_buf_free(&json);
    mk_arena_free(&arena);
    return rc;
}

/* ---- show ---- */

static mk_code run_show(mk_cli *cli, mk_err *err)
{
    const mk_json *tree;
    mk_arena arena;
    uint32_t number;
    char dir[3800];
    mk_str text;
    mk_code rc;
    mk_arena_init(&arena, cli->alloc);
    MK_TRY(rc, trace_dir(cli, dir, sizeof dir, err));
    MK_TRY(rc, read_number(cli, &number, err));
    MK_TRY(rc, mk_traces_read(&mk_fs_posix, dir, number, &arena, &text, &tree, err));
    rc = cli->json ? mk_cli__put_json(cli, text, err) : mk_plan_put_trace(cli, &arena, text, number, err);
out:
    mk_arena_free(&arena);
    return rc;
}

/* ---- pin and gc ---- */

static mk_code run_pin(mk_cli *cli, mk_err *err)
{
    uint32_t number;
    char dir[3800];
    mk_code rc;
    MK_TRY(rc, trace_dir(cli, dir, sizeof dir, err));
    MK_TRY(rc, read_number(cli, &number, err));
    rc = mk_traces_pin(cli->alloc, &mk_fs_posix, dir, number, !mk_options_has(&cli->options, "off"), err);
out:
    return rc;
}

static mk_code run_gc(mk_cli *cli, mk_err *err)
{
    uint64_t mib = 1024, freed = 0;
    mk_buf out;
    char dir[3800];
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    MK_TRY(rc, trace_dir(cli, dir, sizeof dir, err));
    MK_TRY(rc, mk_options_u64(&cli->options, "max", 0, UINT64_C(1) << 30, &mib, err));
    MK_TRY(rc, mk_traces_gc(cli->alloc, &mk_fs_posix, dir, mib << 20, &freed, err));
    if (cli->json)
        mk_buf_printf(&out, "{\"freed_bytes\":%llu}\n", (unsigned long long)freed);
    else
        mk_text_bytes(&out, freed);
    if (!cli->json)
        mk_buf_z(&out, " freed\n");
    rc = mk_cli__put_buf(cli, &out, err);
out:
    mk_buf_free(&out);
    return rc;
}

/* ---- the commands ---- */

static const mk_option no_options[] = {{0}};
static const mk_option pin_options[] = {{.name = "off", .doc = "let it leave again"}, {0}};
static const mk_option gc_options[] = {
    {.name = "max", .value = "MIB", .doc = "how much may stay; default 1024"}, {0}};

#define MAKE_ONE                                                                                             \
    "merkhet init --store graph\n"                                                                           \
    "echo "                                                                                                  \
    "'{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"ada\"}" \
    "}],"                                                                                                    \
    "\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}' | merkhet plan run --store graph -\n"

const mk_command mk_commands_trace[] = {
    {.name = "trace list",
     .words = "",
     .summary = "shows the runs that are kept, newest first",
     .help = "A run is kept by merkhet ask and merkhet plan run, 1 GiB of them in all; the oldest leave.",
     .example = MAKE_ONE "merkhet trace list --store graph",
     .options = no_options,
     .run = run_list},
    {.name = "trace show",
     .words = "N",
     .summary = "shows one run: its answer, steps and errors",
     .help = NULL,
     .example = MAKE_ONE "merkhet trace show --store graph 1",
     .options = no_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_show},
    {.name = "trace pin",
     .words = "N",
     .summary = "keeps one run when older ones leave",
     .help = NULL,
     .example = MAKE_ONE "merkhet trace pin --store graph 1\nmerkhet trace pin --store graph 1 --off",
     .options = pin_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_pin},
    {.name = "trace gc",
     .words = "",
     .summary = "lets the oldest runs leave, and results that no run names",
     .help = NULL,
     .example = MAKE_ONE "merkhet trace gc --store graph --max 100",
     .options = gc_options,
     .run = run_gc},
    {0},
};

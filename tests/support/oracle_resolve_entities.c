/* oracle_resolve_entities.c — random calls, answered by the model. Source: operators spec, 7.12. */
#include "oracle_model.h"

/* A few characters of a uid that is known, or of a word that names are likely to hold. */
static void gen_query(const oracle_world *world, mk_buf *out)
{
    static const char *const words[] = {"a", "e", "N", "u", "U1", "1", "\xc3\x9c", "ss", ":", "zzz"};
    const size_t count = model_entity_count(world->m);
    if (count == 0 || genops_chance(world->gen, 40)) {
        mk_canon_string(out, mk_str_of(words[genops_below(world->gen, sizeof words / sizeof *words)]));
        return;
    }
    const mk_str uid = model_entity(world->m, genops_below(world->gen, count));
    mk_str part = uid;
    if (genops_chance(world->gen, 60)) {
        part.n = 1 + genops_below(world->gen, uid.n);
        part.p += genops_below(world->gen, uid.n - part.n + 1);
    }
    mk_canon_string(out, mk_utf8_check(part) == part.n ? part : uid);
}

static void gen_label(const oracle_world *world, mk_buf *out)
{
    size_t n;
    const model_row *rows = model_rows(world->m, MODEL_NODE, &n);
    if (n == 0 || genops_chance(world->gen, 20))
        mk_buf_z(out, genops_chance(world->gen, 50) ? "null" : "\"\"");
    else
        mk_canon_string(out, rows[genops_below(world->gen, n)].label);
}

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_z(out, "{\"query\":");
    gen_query(world, out);
    if (genops_chance(world->gen, 30)) {
        mk_buf_z(out, ",\"label\":");
        gen_label(world, out);
    }
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    (void)arena;
    oracle_from_model(world, "resolve_entities", args_, out);
}

const oracle oracle_resolve_entities = {.op = "resolve_entities", .args = args, .answer = answer};

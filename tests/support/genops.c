/* genops.c — see genops.h.
 *
 * Ops are written directly as canonical text, members in sorted order; a test holds the writer to
 * that. Lists of awkward texts and values stand first. */
#include "genops.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "base/timetext.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

const genops_options genops_default = {.seed = 1,
                                       .uid_count = 8,
                                       .vt_min = 0,
                                       .vt_max = 60,
                                       .ops_max = 6,
                                       .events_max = 5,
                                       .ingest_percent = 10,
                                       .open_percent = 20,
                                       .failing_percent = 5,
                                       .malformed_percent = 0};

/* Upper and lower case, quotes, separators of ids, characters outside the BMP, combining marks. */
static const char *const uids[GENOPS_UIDS_MAX] = {
    "a",        "b",         "n1",          "N1",
    "q\"s",     "b\\d:1",    "caf\u00e9",   "CAFE\u0301",
    "\u4e2d\u6587", "\U0001F3AF", "\u039f\u0394\u039f\u03a3", "\u0130stanbul",
    "tab\there", "line\nfeed", " lead ",    "\x7f\u2028"};
static const char *const rels[] = {"R", "S", "MSG", "REL\nT", "E\U0001F3AF"};
static const char *const discs[] = {"", "x", "#3", "#0", "#1", "d\tt"};
static const char *const labels[] = {"N", "M", "Person", "", "\u00dcn\u00ef"};
static const char *const sources[] = {"ingest", "ingest", "agent:a1", "", "m\u00e4nual"};
static const char *const provenances[] = {"null", "null", "\"\"", "\"doc#1\"", "\"\\\"q\\\"\""};

/* Values of props members, as canonical text. */
static const char *const values[] = {
    "0",         "1",        "-4",        "9007199254740993", "123456789012345678901234567890",
    "0.0",       "-0.0",     "1.0",       "1.5",              "0.1",
    "1e+16",     "1e-07",    "5e-10",     "0.0009765625",     "1234567.890123456",
    "true",      "false",    "null",      "\"\"",             "\"1\"",
    "[]",        "{}",       "[1,[2.5,null],{\"k\":0}]",      "{\"a\":{\"z\":[1,2.5,\"x\"]},\"b\":1}",
    "[\"\u03a9 mega\"]", "\"\\u0001\\n\\\\\""};
/* Values of the member "name", which entity resolution reads. */
static const char *const names[] = {"\"Ann\"", "\"UPPER Case\"", "\"o'n\"", "\"\u039f\u0394\u039f\u03a3\"",
                                    "\"\u0130\"", "\"Zo\u00eb 1\"", "\"\"", "7", "null",
                                    "{\"first\":\"Ann\"}", "0.3333333333333333"};

/* ---- randomness ---- */

static uint64_t next(genops *gen)
{
    uint64_t z = (gen->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The small bias of the remainder does not matter here, the same bytes everywhere do. */
uint64_t genops_below(genops *gen, uint64_t n) { return next(gen) % n; }

bool genops_chance(genops *gen, int percent) { return genops_below(gen, 100) < (uint64_t)percent; }

static int pick(genops *gen, size_t count) { return (int)genops_below(gen, count); }

static int64_t pick_time(genops *gen, int64_t from, int64_t to)
{
    return from >= to ? from : from + (int64_t)genops_below(gen, (uint64_t)(to - from) + 1);
}

static void pick_interval(genops *gen, int64_t *vt_s, int64_t *vt_e)
{
    const genops_options *o = &gen->options;
    *vt_s = pick_time(gen, o->vt_min, o->vt_max);
    *vt_e = genops_chance(gen, o->open_percent) ? MK_OPEN_END
                                                : *vt_s + pick_time(gen, 1, o->vt_max - *vt_s);
}

void genops_init(genops *gen, const genops_options *options)
{
    memset(gen, 0, sizeof *gen);
    gen->options = *options;
    if (gen->options.uid_count > GENOPS_UIDS_MAX)
        gen->options.uid_count = GENOPS_UIDS_MAX;
    gen->state = options->seed;
}

mk_str genops_uid(const genops *gen, int index)
{
    return mk_str_of(uids[index % gen->options.uid_count]);
}

/* ---- pieces of ops ---- */

static void put_text(mk_buf *out, const char *before, const char *text)
{
    mk_buf_z(out, before);
    mk_canon_string(out, mk_str_of(text));
}

static void put_int(mk_buf *out, const char *before, int64_t value)
{
    mk_buf_z(out, before);
    mk_buf_i64(out, value);
}

static void put_props(genops *gen, mk_buf *out, const char *before)
{
    bool first = true;
    mk_buf_z(out, before);
    if (genops_chance(gen, 3)) { /* any JSON value is accepted as props */
        mk_buf_z(out, values[pick(gen, COUNT(values))]);
        return;
    }
    mk_buf_c(out, '{');
    if (genops_chance(gen, 50)) {
        mk_buf_printf(out, "\"name\":%s", names[pick(gen, COUNT(names))]);
        first = false;
    }
    if (genops_chance(gen, 60)) {
        mk_buf_printf(out, "%s\"w\":%s", first ? "" : ",", values[pick(gen, COUNT(values))]);
        first = false;
    }
    if (genops_chance(gen, 15))
        mk_buf_printf(out, "%s\"\u00e9\":%s", first ? "" : ",", values[pick(gen, COUNT(values))]);
    mk_buf_c(out, '}');
}

static void put_provenance(genops *gen, mk_buf *out)
{
    mk_buf_z(out, ",\"provenance_ref\":");
    mk_buf_z(out, provenances[pick(gen, COUNT(provenances))]);
}

static void put_source(genops *gen, mk_buf *out)
{
    put_text(out, ",\"source\":", sources[pick(gen, COUNT(sources))]);
}

static void put_interval(mk_buf *out, int64_t vt_s, int64_t vt_e)
{
    put_int(out, ",\"vt_e\":", vt_e);
    put_int(out, ",\"vt_s\":", vt_s);
    mk_buf_c(out, '}');
}

static genops_past pick_identity(genops *gen)
{
    /* One statement a draw: an initialiser list has no order of evaluation. */
    const size_t n = (size_t)gen->options.uid_count;
    genops_past id;
    id.edge = genops_chance(gen, 50);
    id.uid = pick(gen, n);
    id.dst = pick(gen, n);
    id.rel = pick(gen, genops_chance(gen, 70) ? 2 : COUNT(rels));
    id.disc = pick(gen, genops_chance(gen, 70) ? 1 : COUNT(discs));
    pick_interval(gen, &id.vt_s, &id.vt_e);
    return id;
}

static void remember(genops *gen, genops_past id)
{
    gen->past[gen->past_count++ % GENOPS_MEMORY] = id;
}

/* Mostly something asserted before, sometimes anything. */
static genops_past pick_target(genops *gen)
{
    const size_t n = gen->past_count < GENOPS_MEMORY ? gen->past_count : GENOPS_MEMORY;
    return n == 0 || genops_chance(gen, 10) ? pick_identity(gen) : gen->past[pick(gen, n)];
}

static void put_ref(mk_buf *out, const genops_past *id)
{
    if (!id->edge) {
        put_text(out, ",\"ref\":{\"kind\":\"node\",\"uid\":", uids[id->uid]);
        mk_buf_c(out, '}');
        return;
    }
    put_text(out, ",\"ref\":{\"disc\":", discs[id->disc]);
    put_text(out, ",\"dst\":", uids[id->dst]);
    put_text(out, ",\"kind\":\"edge\",\"rel_type\":", rels[id->rel]);
    put_text(out, ",\"src\":", uids[id->uid]);
    mk_buf_c(out, '}');
}

/* ---- ops ---- */

static void put_assert(genops *gen, mk_buf *out, const genops_past *id)
{
    if (id->edge) {
        put_text(out, "{\"disc\":", discs[id->disc]);
        put_text(out, ",\"dst\":", uids[id->dst]);
        put_props(gen, out, ",\"op\":\"assert_edge\",\"props\":");
        put_provenance(gen, out);
        put_text(out, ",\"rel_type\":", rels[id->rel]);
        put_source(gen, out);
        put_text(out, ",\"src\":", uids[id->uid]);
    } else {
        put_text(out, "{\"label\":", labels[pick(gen, COUNT(labels))]);
        put_props(gen, out, ",\"op\":\"assert_node\",\"props\":");
        put_provenance(gen, out);
        put_source(gen, out);
        put_text(out, ",\"uid\":", uids[id->uid]);
    }
    put_interval(out, id->vt_s, id->vt_e);
}

static void gen_assert(genops *gen, mk_buf *out)
{
    const genops_past id = pick_identity(gen);
    put_assert(gen, out, &id);
    remember(gen, id);
}

static void put_retract(genops *gen, mk_buf *out, const genops_past *id, int64_t t)
{
    mk_buf_z(out, "{\"op\":\"retract\"");
    put_provenance(gen, out);
    put_ref(out, id);
    put_source(gen, out);
    put_int(out, ",\"t\":", t);
    mk_buf_c(out, '}');
}

static void gen_retract(genops *gen, mk_buf *out)
{
    const genops_past id = pick_target(gen);
    const int64_t last = id.vt_e == MK_OPEN_END ? gen->options.vt_max : id.vt_e - 1;
    put_retract(gen, out, &id, genops_chance(gen, 25) ? id.vt_s : pick_time(gen, id.vt_s, last));
}

static void gen_correct(genops *gen, mk_buf *out)
{
    genops_past id = pick_target(gen);
    if (genops_chance(gen, 70))
        pick_interval(gen, &id.vt_s, &id.vt_e); /* anywhere, so it may widen, fill or miss */
    put_props(gen, out, "{\"op\":\"correct\",\"props\":");
    put_provenance(gen, out);
    put_ref(out, &id);
    put_source(gen, out);
    put_interval(out, id.vt_s, id.vt_e);
    remember(gen, id);
}

static void put_event(genops *gen, mk_buf *out, int number)
{
    genops_past id = pick_identity(gen);
    const bool with_disc = genops_chance(gen, 30), with_end = genops_chance(gen, 40);
    mk_buf_c(out, '{');
    if (with_disc)
        put_text(out, "\"disc\":", discs[id.disc]);
    put_text(out, with_disc ? ",\"dst\":" : "\"dst\":", uids[id.dst]);
    if (genops_chance(gen, 40))
        put_props(gen, out, ",\"props\":");
    put_text(out, ",\"rel_type\":", rels[id.rel]);
    put_text(out, ",\"src\":", uids[id.uid]);
    if (with_end)
        put_int(out, ",\"vt_e\":", id.vt_e);
    put_int(out, ",\"vt_s\":", id.vt_s);
    mk_buf_c(out, '}');

    /* "#0" and "#1" are among the discs, so these events can be retracted and corrected. */
    id.edge = true;
    id.vt_e = with_end ? id.vt_e : id.vt_s + 1;
    id.disc = with_disc ? id.disc : number == 0 ? 3 : 4;
    if (with_disc || number < 2)
        remember(gen, id);
}

static void gen_ingest(genops *gen, mk_buf *out)
{
    const int count = pick(gen, (size_t)gen->options.events_max + 1);
    const int64_t offset = genops_chance(gen, 80) ? 0 : pick_time(gen, 1, 9);
    mk_buf_z(out, "{\"events\":[");
    for (int i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        put_event(gen, out, (int)offset + i);
    }
    put_text(out, "],\"node_label\":", labels[pick(gen, COUNT(labels))]);
    put_int(out, ",\"offset\":", offset);
    mk_buf_z(out, ",\"op\":\"ingest_events\"");
    put_provenance(gen, out);
    put_source(gen, out);
    mk_buf_c(out, '}');
}

/* Well-formed, and sure to fail. */
static void gen_failing(genops *gen, mk_buf *out)
{
    genops_past id = pick_identity(gen);
    switch (pick(gen, 4)) {
    case 0: /* an interval upside down, or empty */
        id.vt_e = id.vt_s - (int64_t)genops_below(gen, 2);
        put_assert(gen, out, &id);
        break;
    case 1:
        id.vt_e = id.vt_s;
        mk_buf_z(out, "{\"op\":\"correct\",\"props\":{},\"provenance_ref\":null");
        put_ref(out, &id);
        mk_buf_z(out, ",\"source\":\"ingest\"");
        put_interval(out, id.vt_s, id.vt_e);
        break;
    case 2: /* no version begins as early as that */
        put_retract(gen, out, &id, gen->options.vt_min - 1);
        break;
    default:
        mk_buf_z(out, "{\"op\":\"merge\"}");
        break;
    }
}

static void gen_malformed(genops *gen, mk_buf *out)
{
    static const char *const ops[] = {
        "{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{},\"vt_s\":0}",
        "{\"label\":\"N\",\"op\":\"assert_node\",\"uid\":\"a\",\"vt_s\":\"0\"}",
        "{\"label\":7,\"op\":\"assert_node\",\"uid\":\"a\",\"vt_s\":0}",
        "{\"dst\":\"b\",\"op\":\"assert_edge\",\"src\":\"a\",\"vt_s\":0}",
        "{\"dst\":\"b\",\"op\":\"assert_edge\",\"rel_type\":\"R\",\"src\":\"a\",\"vt_e\":null,\"vt_s\":0}",
        "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"\"},\"t\":1}",
        "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"t\":1.5}",
        "{\"op\":\"retract\",\"ref\":\"a\",\"t\":1}",
        "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"vt_s\":0}",
        "{\"op\":\"correct\",\"props\":{},\"ref\":{\"dst\":\"b\",\"kind\":\"edge\",\"src\":\"a\"},\"vt_s\":"
        "0}",
        "{\"events\":[{\"dst\":\"b\",\"src\":\"a\",\"vt_s\":1}],\"op\":\"ingest_events\"}",
        "{\"events\":[{\"dst\":\"b\",\"rel_type\":\"R\",\"src\":\"a\",\"vt_s\":true}],\"op\":\"ingest_"
        "events\"}",
        "{\"events\":{},\"op\":\"ingest_events\"}",
        "{\"op\":\"ingest_events\"}",
        "{\"op\":null}",
        "{}",
        "[]",
        "\"assert_node\""};
    mk_buf_z(out, ops[pick(gen, COUNT(ops))]);
}

static void gen_op(genops *gen, mk_buf *out)
{
    const genops_options *o = &gen->options;
    if (genops_chance(gen, o->malformed_percent))
        gen_malformed(gen, out);
    else if (genops_chance(gen, o->failing_percent))
        gen_failing(gen, out);
    else if (genops_chance(gen, o->ingest_percent))
        gen_ingest(gen, out);
    else if (genops_chance(gen, 55))
        gen_assert(gen, out);
    else if (genops_chance(gen, 45))
        gen_retract(gen, out);
    else
        gen_correct(gen, out);
}

void genops_next_text(genops *gen, mk_buf *out)
{
    const int count = 1 + pick(gen, (size_t)gen->options.ops_max);
    mk_buf_c(out, '[');
    for (int i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        gen_op(gen, out);
    }
    mk_buf_c(out, ']');
}

const mk_json *genops_next(genops *gen, mk_arena *arena)
{
    mk_buf text;
    mk_json *tree = NULL;
    mk_err err;
    mk_buf_init(&text, &mk_alloc_default);
    genops_next_text(gen, &text);
    if (text.failed || mk_json_parse(arena, mk_buf_view(&text), NULL, &tree, &err) != MK_OK) {
        fprintf(stderr, "genops: a batch was not made: %s\n",
                text.failed ? "no memory" : err.message);
        abort();
    }
    mk_buf_free(&text);
    return tree;
}

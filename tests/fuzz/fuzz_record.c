/* fuzz_record.c — any bytes as a line of a log and as an op at the door.
 *
 * No crash, and these laws: what the lenient reader takes as a canonical record without anything odd
 * is written back and read again to the same ops; what the door takes, the check takes, and the
 * record made of it is canonical with a right id. */
#include <stdlib.h>

#include "store/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool law)
{
    if (!law)
        abort();
}

/* Writes, reads, writes: the two texts agree, and the reader finds nothing to complain about. */
static void write_twice(mk_arena *arena, const mk_op *ops, size_t count)
{
    mk_record again;
    mk_buf first, second;
    bool canonical = false;
    mk_err err;

    mk_buf_init(&first, &mk_alloc_default);
    mk_buf_init(&second, &mk_alloc_default);
    must(mk_record_write(&first, ops, count, (mk_tt){7}, &err) == MK_OK);
    must(mk_record_read(arena, mk_buf_view(&first), true, &again, &canonical, &err) == MK_OK);
    must(canonical && !again.malformed && again.op_count == count && again.tt.us == 7);
    must(mk_record_write(&second, again.ops, again.op_count, again.tt, &err) == MK_OK);
    must(mk_str_eq(mk_buf_view(&first), mk_buf_view(&second)));
    mk_buf_free(&first);
    mk_buf_free(&second);
}

static void as_line(mk_arena *arena, mk_str line)
{
    mk_record record;
    bool canonical = false;
    mk_err err;

    (void)!mk_record_read(arena, line, true, &record, NULL, &err);
    /* Without the id, which input made by chance never has right. */
    if (mk_record_read(arena, line, false, &record, &canonical, &err) != MK_OK) {
        must(err.code == MK_E_STATE && err.message[0] != '\0');
        return;
    }
    if (record.malformed)
        must(record.why.message[0] != '\0' && record.why.path[0] != '\0');
    else
        write_twice(arena, record.ops, record.op_count);
}

static void as_op(mk_arena *arena, mk_str text)
{
    mk_json *json;
    mk_op op;
    mk_err err;

    if (mk_json_parse(arena, text, NULL, &json, NULL) != MK_OK)
        return;
    if (mk_op_from_json(json, arena, "ops[0]", &op, &err) != MK_OK) {
        must(err.message[0] != '\0' && err.path[0] != '\0');
        return;
    }
    const mk_code rc = mk_op_check(&op, 0, true, arena, &err);
    must(rc == MK_OK || op.kind == MK_OP_INGEST_EVENTS); /* only the check sees clashing discs */
    write_twice(arena, &op, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_str text = {(const char *)data, size};
    mk_arena arena;

    mk_arena_init(&arena, &mk_alloc_default);
    as_line(&arena, text);
    mk_arena_reset(&arena);
    as_op(&arena, text);
    mk_arena_free(&arena);
    return 0;
}

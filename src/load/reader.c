/* reader.c — records out of blocks that stay while they are borrowed.
 *
 * Bytes are read straight into a block and records point into it. When a block is full the unfinished
 * record at its end is copied to a new one and the old block is retired, marked with the number of
 * events handed over so far. It may be reused once the sink is done with that many. So a batch of
 * 50,000 events needs no copy of any string, and memory is bounded by the batch. */
#include "load/load_internal.h"

#define BLOCK_SIZE ((size_t)1 << 20)

struct mk_load_block {
    mk_load_block *next;
    size_t size;   /* of the whole allocation */
    uint64_t seen; /* once retired: events that may point into it */
};

/* The byte before the first record belongs to the block too: mk_load__uid writes there. */
static char *block_start(mk_load_block *block)
{
    return (char *)(block + 1) + 1;
}

static char *block_end(mk_load_block *block)
{
    return (char *)block + block->size;
}

void mk_load__reader_init(mk_load_reader *reader, const mk_alloc *alloc, mk_load_read_fn *read,
                          void *read_ctx, const mk_load_sink *sink)
{
    *reader = (mk_load_reader){.alloc = alloc, .read = read, .read_ctx = read_ctx, .sink = sink};
}

void mk_load__reader_free(mk_load_reader *reader)
{
    mk_load_block *block = reader->retired_first;

    while (block != NULL) {
        mk_load_block *next = block->next;
        mk_free(reader->alloc, block, block->size);
        block = next;
    }
    if (reader->current != NULL)
        mk_free(reader->alloc, reader->current, reader->current->size);
    *reader = (mk_load_reader){0};
}

/* A block with room for `need` bytes: the oldest retired one when nobody borrows from it. */
static mk_load_block *block_get(mk_load_reader *reader, size_t need)
{
    mk_load_block *oldest = reader->retired_first;

    while (oldest != NULL && oldest->seen <= reader->sink->done) {
        reader->retired_first = oldest->next;
        if (reader->retired_first == NULL)
            reader->retired_last = NULL;
        if ((size_t)(block_end(oldest) - block_start(oldest)) >= need)
            return oldest;
        mk_free(reader->alloc, oldest, oldest->size);
        oldest = reader->retired_first;
    }
    size_t size = BLOCK_SIZE;
    while (size < need + sizeof(mk_load_block) + 1)
        size *= 2;
    mk_load_block *block = mk_new(reader->alloc, size);
    if (block != NULL)
        block->size = size;
    return block;
}

static void block_retire(mk_load_reader *reader, mk_load_block *block)
{
    block->next = NULL;
    block->seen = reader->sink->seen;
    if (reader->retired_last != NULL)
        reader->retired_last->next = block;
    else
        reader->retired_first = block;
    reader->retired_last = block;
}

/* Moves the window to a block with room behind it. */
static mk_code make_room(mk_load_reader *reader, mk_err *err)
{
    const size_t kept = (size_t)(reader->end - reader->at);
    mk_load_block *block = block_get(reader, kept * 2 + 4096);

    if (block == NULL)
        return mk_fail_nomem(err);
    if (kept > 0)
        memcpy(block_start(block), reader->at, kept);
    if (reader->current != NULL)
        block_retire(reader, reader->current);
    reader->current = block;
    reader->at = block_start(block);
    reader->end = reader->at + kept;
    return MK_OK;
}

mk_code mk_load__grow(mk_load_reader *reader, bool *grew, mk_err *err)
{
    mk_code rc = MK_OK;
    size_t got = 0;

    *grew = false;
    if (reader->ended)
        return MK_OK;
    if ((size_t)(reader->end - reader->at) >= MK_LOAD_RECORD_MAX) {
        mk_fail(err, MK_E_LIMIT, "a record starting at line %llu is longer than %zu bytes",
                (unsigned long long)reader->lines + 1, MK_LOAD_RECORD_MAX);
        mk_err_hint(err, "look for a quote that is never closed, or for line ends that are missing");
        return MK_E_LIMIT;
    }
    if (reader->current == NULL || reader->end == block_end(reader->current))
        MK_TRY(rc, make_room(reader, err));
    MK_TRY(rc, reader->read(reader->read_ctx, reader->end,
                            (size_t)(block_end(reader->current) - reader->end), &got, err));
    reader->end += got;
    reader->bytes += got;
    reader->ended = got == 0;
    *grew = got > 0;

out:
    return rc;
}

void mk_load__take(mk_load_reader *reader, size_t n, size_t size, uint64_t lines)
{
    MK_ASSERT(n <= (size_t)(reader->end - reader->at));
    reader->record = reader->at;
    reader->record_size = size;
    reader->line = reader->lines + 1;
    reader->at += n;
    if (n > 0)
        reader->last = reader->lines + (lines > 0 ? lines : 1);
    reader->lines += lines;
}

mk_code mk_load__line(mk_load_reader *reader, mk_str *line, bool *more, mk_err *err)
{
    size_t looked_at = 0;
    const char *lf = NULL;
    bool grew = true;

    for (;;) {
        const size_t n = (size_t)(reader->end - reader->at);
        if (n > looked_at)
            lf = memchr(reader->at + looked_at, '\n', n - looked_at);
        if (lf != NULL)
            break;
        looked_at = n;
        const mk_code rc = mk_load__grow(reader, &grew, err);
        if (rc != MK_OK)
            return rc;
        if (!grew)
            break;
    }
    size_t size = lf != NULL ? (size_t)(lf - reader->at) : looked_at;
    const size_t consumed = size + (lf != NULL);
    *more = consumed > 0;
    if (size > 0 && !reader->keep_cr && reader->at[size - 1] == '\r')
        size--;
    *line = (mk_str){reader->at, size};
    mk_load__take(reader, consumed, size, lf != NULL);
    return MK_OK;
}

mk_code mk_load__skip_bom(mk_load_reader *reader, mk_err *err)
{
    bool grew = true;

    while (grew && reader->end - reader->at < 3) {
        const mk_code rc = mk_load__grow(reader, &grew, err);
        if (rc != MK_OK)
            return rc;
    }
    if (reader->end - reader->at >= 3 && memcmp(reader->at, "\xEF\xBB\xBF", 3) == 0)
        reader->at += 3;
    return MK_OK;
}

mk_code mk_load__memory_read(void *ctx, void *p, size_t n, size_t *got, mk_err *err)
{
    mk_load_memory *memory = ctx;

    (void)err;
    if (n > memory->text.n)
        n = memory->text.n;
    if (memory->step > 0 && n > memory->step)
        n = memory->step;
    if (n > 0)
        memcpy(p, memory->text.p, n);
    memory->text.p += n;
    memory->text.n -= n;
    *got = n;
    return MK_OK;
}

/* fuzz_instream.c — hostile bytes as plain, gzip or zstd input: no crash, no endless loop, bounded
 * memory, and an end or a typed error that stays the same. The first byte chooses how the input
 * arrives and how it is read. */
#include <stdlib.h>

#include "base/instream_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bombs are honest input; reading all of one would only slow the fuzzer down. */
#define OUTPUT_MAX ((uint64_t)16 << 20)

static mk_code read_step(mk_instream *in, bool lines, size_t *size, bool *more, mk_err *err)
{
    char room[4096];
    mk_str line = {NULL, 0};
    bool lf;
    mk_code rc;

    if (lines) {
        rc = mk_instream_line(in, 100000, true, &line, more, &lf, err);
        *size = line.n + 1;
    } else {
        rc = mk_instream_read(in, room, sizeof room, size, err);
        *more = rc == MK_OK && *size > 0;
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mk_instream *in = NULL;
    uint64_t sum = 0;
    bool more = true;
    mk_code rc = MK_OK;
    mk_err err;

    if (size == 0)
        return 0;
    const bool lines = data[0] & 1;
    const mk_str bytes = {(const char *)data + 1, size - 1};
    if (mk_instream__open_memory(&mk_alloc_default, bytes, data[0] >> 1, &in, &err) != MK_OK)
        abort();
    while (rc == MK_OK && more && sum < OUTPUT_MAX) {
        size_t step;
        rc = read_step(in, lines, &step, &more, &err);
        sum += step;
    }
    if (mk_instream_read_bytes(in) > bytes.n)
        abort();
    if (rc != MK_OK) {
        size_t step;
        mk_err again;
        if (err.code != rc || err.message[0] == '\0')
            abort();
        if (read_step(in, lines, &step, &more, &again) != rc)
            abort();
    }
    mk_instream_close(in);
    return 0;
}

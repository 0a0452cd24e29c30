/* JSON lines: any bytes as events and ops. */
#include "load_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mk_code front_end(mk_load *load, void *ctx, mk_err *err)
{
    (void)ctx;
    return mk_load__jsonl(load, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const unsigned choice = data[0];
    mk_load_options options = {.path = "fuzz", .skip_bad = choice & 64 ? 1000 : 0};
    options.source = choice & 1 ? "fuzz" : NULL;
    run_front_end(data, size, choice & 32 ? 7 : 0, &options, front_end, NULL);
    return 0;
}

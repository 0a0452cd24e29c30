/* Edge lists: any bytes, with the column order and separator chosen by the first byte. */
#include "load_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mk_code front_end(mk_load *load, void *ctx, mk_err *err)
{
    (void)ctx;
    return mk_load__edges(load, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const unsigned choice = data[0];
    mk_load_options options = {.path = "fuzz", .skip_bad = choice & 64 ? 1000 : 0};
    static const char *const orders[] = {NULL, "src,dst,time", "src,rel_type,dst,time,end,x:json",
                                         "time,dst,src,-,disc,n:int,t:time"};
    options.columns = orders[choice % 4];
    options.separator = (mk_load_separator)(choice / 4 % 4);
    options.preset = choice / 16 % 8 < 4 ? (mk_load_preset)(choice / 16 % 8) : MK_LOAD_PRESET_NONE;
    options.prefix = choice & 128 ? "long:" : NULL;
    run_front_end(data, size, choice & 32 ? 7 : 0, &options, front_end, NULL);
    return 0;
}

/* Tables: any bytes, with the mapping and separator chosen by the first byte. */
#include "load_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mk_code front_end(mk_load *load, void *ctx, mk_err *err)
{
    return mk_load__csv(load, *(const char *)ctx, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const unsigned choice = data[0];
    mk_load_options options = {.path = "fuzz", .skip_bad = choice & 64 ? 1000 : 0};
    static const char *const mappings[] = {
        NULL, "src=1,dst=2,vt_s=3,vt_e=4,props=*", "uid=1,label=2,vt_s=3,props=*",
        "src=a,dst=b,vt_s=c,rel_type=d,props=e:int,f:float,g:json,h:bool,i:time"};
    options.mapping = mappings[choice % 4];
    options.no_header = (choice & 4) != 0;
    options.prefix = choice & 8 ? "n" : NULL;
    char separator = choice & 16 ? '\t' : ',';
    run_front_end(data, size, choice & 32 ? 7 : 0, &options, front_end, &separator);
    return 0;
}

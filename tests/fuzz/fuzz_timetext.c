/* fuzz_timetext.c — any bytes as a time: no crash, and what is read prints and reads back. */
#include <stdlib.h>

#include "base/timetext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_str text = {(const char *)data, size};
    char room[MK_TIME_TEXT_MAX];
    int64_t us, back;
    mk_err err;

    if (mk_time_parse(text, &us, &err) != MK_OK) {
        if (err.code != MK_E_INVALID_ARG || err.message[0] == '\0' || err.hint[0] == '\0')
            abort();
        return 0;
    }
    if (us < MK_TIME_MIN || us > MK_OPEN_END)
        abort();
    const size_t n = mk_time_text(room, us);
    if (n > sizeof room || mk_time_parse((mk_str){room, n}, &back, NULL) != MK_OK || back != us)
        abort();
    return 0;
}

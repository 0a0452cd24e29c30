/* offline_steps.c — see offline_steps.h. Layer: agent. */
#include "agent/offline_steps.h"

#include <stdarg.h>
#include <stdio.h>

void mk_steps_init(mk_steps *steps, const mk_alloc *alloc)
{
    steps->count = 0;
    mk_buf_init(&steps->text, alloc);
}

void mk_steps_free(mk_steps *steps) { mk_buf_free(&steps->text); }

int mk_steps_open(mk_steps *steps, const char *op)
{
    steps->count++;
    mk_buf_printf(&steps->text, "%s{\"id\":\"s%d\",\"op\":\"%s\",\"args\":{", steps->count > 1 ? "," : "", steps->count, op);
    return steps->count;
}

void mk_steps_close(mk_steps *steps, int a, int b)
{
    mk_buf_c(&steps->text, '}');
    if (a != 0)
        mk_buf_printf(&steps->text, ",\"depends_on\":[\"s%d\"", a);
    if (a != 0 && b != 0 && b != a)
        mk_buf_printf(&steps->text, ",\"s%d\"", b);
    mk_buf_z(&steps->text, a != 0 ? "]}" : "}");
}

int mk_steps_compute(mk_steps *steps, int a, int b, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const int step = mk_steps_open(steps, "compute");
    if (n < 0 || (size_t)n >= sizeof text)
        steps->text.failed = true;
    else
        mk_buf_put(&steps->text, text, (size_t)n);
    mk_steps_close(steps, a, b);
    return step;
}

void mk_steps_window(mk_steps *steps, const mk_off *q, bool everywhen)
{
    mk_off all = *q;
    all.has_window = all.has_window && !everywhen;
    mk_off__put_window(&all, &steps->text);
}

mk_code mk_steps_plan(mk_off *q, const mk_steps *steps, const char *kind, int step, const char *member, const mk_buf *said)
{
    char from[80];
    if (steps->count > MK_STEPS_MAX)
        return mk_off__missing(q, "a shorter question: this one would take %d steps, and %d are allowed", steps->count, MK_STEPS_MAX);
    snprintf(from, sizeof from, "s%d.%s", step, member);
    return mk_off__plan(q, &steps->text, kind, from, said);
}

/* page_internal.h — the parts of the page. Layer: agent. */
#ifndef MK_AGENT_PAGE_INTERNAL_H
#define MK_AGENT_PAGE_INTERNAL_H

#include "agent/page.h"
#include "op/registry.h"
#include "plan/ref.h"

#define PAGE_CITED_MAX 256

/* What is shown. Trees are NULL or of any shape: nothing in them is trusted to be there. */
typedef struct mk_html {
    mk_buf *out;
    mk_arena *arena;
    const mk_json *ask, *bundle;
    const mk_json *plan, *trace, *calls, *payloads;
    mk_ref cited[PAGE_CITED_MAX]; /* every path that a claim names */
    size_t cited_count;
} mk_html;

/* ---- text (page_text.c) ---- */

/* Text between tags and inside quoted attributes. Controls and marks that reorder a line become visible. */
void mk_html__text(mk_buf *out, mk_str text);
/* The same of at most `max` bytes, with a sign that there was more. */
void mk_html__clipped(mk_buf *out, mk_str text, size_t max);
/* <time>2024-01-01T00:00:00Z</time> with the microseconds beside it. */
void mk_html__time(mk_buf *out, int64_t us);
/* Canonical JSON, escaped and clipped; `indent` breaks it into lines. */
void mk_html__json(mk_html *page, const mk_json *value, bool indent, size_t max);
void mk_html__base64(mk_buf *out, const void *p, size_t n);
/* The element that shows what `ref` leads to: "s1.rows-3", "s1.rows_total". */
void mk_html__anchor(mk_buf *out, const mk_ref *ref);

/* "" when absent or no string. */
mk_str mk_html__member(const mk_json *object, const char *key);
/* NULL when absent or no array. */
const mk_json *mk_html__list(const mk_json *object, const char *key);
/* *out is only written when the member is an integer of 64 bits. */
bool mk_html__integer(const mk_json *object, const char *key, int64_t *out);

/* ---- parts ---- */

void mk_html__plan(mk_html *page);   /* page_plan.c: the graph */
void mk_html__time_axes(mk_html *page); /* page_time.c: the two axes */
void mk_html__steps(mk_html *page);  /* page_steps.c: one card for each step */

/* The record of the step's call and its payload; NULL when it has none. */
const mk_json *mk_html__call(const mk_html *page, const mk_json *step);
const mk_json *mk_html__payload(const mk_html *page, const mk_json *step);

/* ---- style and script (page_assets.c) ---- */

mk_str mk_html__style(void);
mk_str mk_html__script(void);

#endif

/* page.h — an answer as one self-contained HTML page. Layer: agent.
 *
 * Question, answer, plan as a graph, steps with arguments and rows, claims linked to the evidence they cite,
 * the times on both axes, and a small verifier in script over the embedded bundle that can be tried by
 * tampering. The page asks nothing of the network (its policy forbids it), reads well without script, in
 * light and dark and by keyboard; every string of data in it is escaped. Source: agent spec, 15.3. */
#ifndef MK_AGENT_PAGE_H
#define MK_AGENT_PAGE_H

#include "base/canon.h"

#define MK_HTML_ROWS 25 /* rows of a list that are shown, beside those that a claim cites */
/* A larger bundle is not embedded: the page stays readable and says how to check it elsewhere. */
#define MK_HTML_EMBED_MAX ((size_t)8 << 20)

/* Writes the page of what mk_ask_json and mk_ask_bundle wrote. An abstention without a run has no bundle
 * (n 0). Errors: MK_E_SCHEMA when one of the two is not of its shape, MK_E_NOMEM. */
MK_CHECK mk_code mk_html_write(mk_str ask, mk_str bundle, mk_arena *arena, mk_buf *out, mk_err *err);

#endif

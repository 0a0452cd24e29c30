/* note_text.h — whether a text says the facts' numbers and no others. Layer: agent.
 *
 * Looked at are numbers as digits (sign, thousands, fraction, exponent), digits of other scripts and inside
 * words, percentages, and numbers written as words. When in doubt a text is refused: the sentence made of
 * numbers takes its place. Source: agent spec, 14 (acceptance rule) and 17 (O-22). */
#ifndef MK_AGENT_NOTE_TEXT_H
#define MK_AGENT_NOTE_TEXT_H

#include "base/json.h"

/* False with the reason in `why` (a sentence, NUL-terminated, cut to its size). `facts` is any JSON value;
 * every number in it may be said. */
bool mk_note_text_accept(mk_str text, const mk_json *facts, size_t words_max, char *why, size_t why_size);

#endif

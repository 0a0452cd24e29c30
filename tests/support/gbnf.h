/* gbnf.h — reads grammars in llama.cpp's notation, makes strings of their language, and says whether a
 * string is in it.
 *
 * Literals, character classes, groups, alternatives, ?, *, +, {n}, {m,n} and {m,}; slow and obvious. */
#ifndef MK_TESTS_GBNF_H
#define MK_TESTS_GBNF_H

#include "base/arena.h"

typedef struct gbnf gbnf;

/* Ends the test program with a message when the text is no grammar. Lives in the arena. */
gbnf *gbnf_read(mk_str text, mk_arena *arena);
size_t gbnf_rule_count(const gbnf *grammar);
/* A random string of the language, the same for the same seed. */
void gbnf_sample(const gbnf *grammar, uint64_t *seed, mk_buf *out);
/* `*reached`, which may be NULL, is how far some beginning of the text went. */
bool gbnf_matches(const gbnf *grammar, mk_str text, size_t *reached);

#endif

/* embed.h — files as they are on disk, inside the program. Layer: base.
 *
 * They stay files of their own, so that editors and browsers' tools know them. The assembler finds a file
 * from the folder in which make runs; the Makefile names it as a prerequisite of the object. */
#ifndef MK_BASE_EMBED_H
#define MK_BASE_EMBED_H

/* Declares `name` and `name_end`, the first byte and the one behind the last. */
#define MK_EMBED(name, file)                                                                       \
    __asm__(".pushsection .rodata\n"                                                               \
            ".hidden " #name "\n.global " #name "\n" #name ":\n"                                   \
            ".incbin \"" file "\"\n"                                                               \
            ".hidden " #name "_end\n.global " #name "_end\n" #name "_end:\n"                       \
            ".popsection\n");                                                                      \
    extern const char name[] __attribute__((visibility("hidden")));                                \
    extern const char name##_end[] __attribute__((visibility("hidden")))

#endif

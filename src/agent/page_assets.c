/* page_assets.c — page.css and page.js as they are on disk, inside the program. Layer: agent.
 *
 * They stay files of their own, so that editors and browsers' tools know them. */
#include "agent/page_internal.h"

/* The assembler finds the file from the folder in which make runs. */
#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".hidden " #name "\n.global " #name "\n" #name ":\n"                                   \
            ".incbin \"" file "\"\n"                                                               \
            ".hidden " #name "_end\n.global " #name "_end\n" #name "_end:\n"                       \
            ".popsection\n");                                                                      \
    extern const char name[] __attribute__((visibility("hidden")));                                \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(mk_html_css, "src/agent/page.css");
EMBED(mk_html_js, "src/agent/page.js");

mk_str mk_html__style(void)
{
    return (mk_str){mk_html_css, (size_t)(mk_html_css_end - mk_html_css)};
}

mk_str mk_html__script(void)
{
    return (mk_str){mk_html_js, (size_t)(mk_html_js_end - mk_html_js)};
}

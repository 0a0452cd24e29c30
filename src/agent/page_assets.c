/* page_assets.c — page.css and page.js as they are on disk, inside the program. Layer: agent. */
#include "agent/page_internal.h"
#include "base/embed.h"

MK_EMBED(mk_html_css, "src/agent/page.css");
MK_EMBED(mk_html_js, "src/agent/page.js");

mk_str mk_html__style(void)
{
    return (mk_str){mk_html_css, (size_t)(mk_html_css_end - mk_html_css)};
}

mk_str mk_html__script(void)
{
    return (mk_str){mk_html_js, (size_t)(mk_html_js_end - mk_html_js)};
}

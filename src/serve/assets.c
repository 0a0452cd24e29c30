/* assets.c — see assets.h. Layer: serve. */
#include "serve/assets.h"

#include "base/embed.h"

MK_EMBED(mk_web_index_html, "web/index.html");
MK_EMBED(mk_web_app_css, "web/app.css");
MK_EMBED(mk_web_app_js, "web/app.js");
MK_EMBED(mk_web_icon_svg, "web/icon.svg");
MK_EMBED(mk_web_api_js, "web/api.js");
MK_EMBED(mk_web_ask_js, "web/ask.js");
MK_EMBED(mk_web_chart_js, "web/chart.js");
MK_EMBED(mk_web_clocks_js, "web/clocks.js");
MK_EMBED(mk_web_dom_js, "web/dom.js");
MK_EMBED(mk_web_errors_js, "web/errors.js");
MK_EMBED(mk_web_evidence_js, "web/evidence.js");
MK_EMBED(mk_web_explore_js, "web/explore.js");
MK_EMBED(mk_web_graph_js, "web/graph.js");
MK_EMBED(mk_web_json_js, "web/json.js");
MK_EMBED(mk_web_table_js, "web/table.js");
MK_EMBED(mk_web_tamper_js, "web/tamper.js");
MK_EMBED(mk_web_tour_js, "web/tour.js");
MK_EMBED(mk_web_traces_js, "web/traces.js");

static const mk_asset assets[] = {
    {"/", "text/html; charset=utf-8", mk_web_index_html, mk_web_index_html_end},
    {"/app.css", "text/css; charset=utf-8", mk_web_app_css, mk_web_app_css_end},
    {"/app.js", "text/javascript; charset=utf-8", mk_web_app_js, mk_web_app_js_end},
    {"/icon.svg", "image/svg+xml", mk_web_icon_svg, mk_web_icon_svg_end},
    {"/api.js", "text/javascript; charset=utf-8", mk_web_api_js, mk_web_api_js_end},
    {"/ask.js", "text/javascript; charset=utf-8", mk_web_ask_js, mk_web_ask_js_end},
    {"/chart.js", "text/javascript; charset=utf-8", mk_web_chart_js, mk_web_chart_js_end},
    {"/clocks.js", "text/javascript; charset=utf-8", mk_web_clocks_js, mk_web_clocks_js_end},
    {"/dom.js", "text/javascript; charset=utf-8", mk_web_dom_js, mk_web_dom_js_end},
    {"/errors.js", "text/javascript; charset=utf-8", mk_web_errors_js, mk_web_errors_js_end},
    {"/evidence.js", "text/javascript; charset=utf-8", mk_web_evidence_js, mk_web_evidence_js_end},
    {"/explore.js", "text/javascript; charset=utf-8", mk_web_explore_js, mk_web_explore_js_end},
    {"/graph.js", "text/javascript; charset=utf-8", mk_web_graph_js, mk_web_graph_js_end},
    {"/json.js", "text/javascript; charset=utf-8", mk_web_json_js, mk_web_json_js_end},
    {"/table.js", "text/javascript; charset=utf-8", mk_web_table_js, mk_web_table_js_end},
    {"/tamper.js", "text/javascript; charset=utf-8", mk_web_tamper_js, mk_web_tamper_js_end},
    {"/tour.js", "text/javascript; charset=utf-8", mk_web_tour_js, mk_web_tour_js_end},
    {"/traces.js", "text/javascript; charset=utf-8", mk_web_traces_js, mk_web_traces_js_end},
};

const mk_asset *mk_asset_find(mk_str path)
{
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++)
        if (mk_str_eq(mk_str_of(assets[i].path), path))
            return &assets[i];
    return NULL;
}

const mk_asset *mk_assets(size_t *count)
{
    *count = sizeof assets / sizeof *assets;
    return assets;
}

/* page_plan.c — the plan as a graph from left to right. Layer: agent.
 *
 * A step's column is its longest distance from a step that depends on nothing; inside a column steps keep
 * the order of the plan. Boxes are links to the cards below. Source: agent spec, 15.3. */
#include "agent/page_internal.h"

#include "plan/plan.h"

enum { BOX_WIDTH = 190, BOX_HEIGHT = 52, GAP_X = 56, GAP_Y = 18, MARGIN = 6, NAME_MAX = 24 };

typedef struct graph {
    const mk_json *steps[MK_PLAN_STEPS_MAX];
    size_t count;
    bool edge[MK_PLAN_STEPS_MAX][MK_PLAN_STEPS_MAX]; /* [from][to] */
    size_t column[MK_PLAN_STEPS_MAX], row[MK_PLAN_STEPS_MAX];
    size_t columns, rows;
} graph;

static size_t find_step(const graph *g, mk_str id)
{
    size_t i = 0;
    while (i < g->count && !mk_str_eq(mk_html__member(g->steps[i], "id"), id))
        i++;
    return i;
}

static void read_graph(const mk_json *plan, graph *g)
{
    const mk_json *steps = mk_html__list(plan, "steps");
    for (size_t i = 0; steps != NULL && i < steps->n && g->count < MK_PLAN_STEPS_MAX; i++)
        g->steps[g->count++] = &steps->items[i];
    for (size_t to = 0; to < g->count; to++) {
        const mk_json *depends = mk_html__list(g->steps[to], "depends_on");
        for (size_t d = 0; depends != NULL && d < depends->n; d++) {
            const size_t from = depends->items[d].kind == MK_JSON_STRING
                                    ? find_step(g, depends->items[d].text)
                                    : g->count;
            if (from < g->count)
                g->edge[from][to] = true;
        }
    }
}

/* A longest path has fewer edges than there are steps, so as many rounds settle every column. */
static void lay_out(graph *g)
{
    size_t used[MK_PLAN_STEPS_MAX] = {0};
    for (size_t round = 0; round + 1 < g->count; round++)
        for (size_t from = 0; from < g->count; from++)
            for (size_t to = 0; to < g->count; to++)
                if (g->edge[from][to] && g->column[to] <= g->column[from] && g->column[from] + 1 < g->count)
                    g->column[to] = g->column[from] + 1;
    for (size_t i = 0; i < g->count; i++) {
        g->row[i] = used[g->column[i]]++;
        g->columns = g->column[i] >= g->columns ? g->column[i] + 1 : g->columns;
        g->rows = g->row[i] >= g->rows ? g->row[i] + 1 : g->rows;
    }
}

static int box_x(const graph *g, size_t i) { return MARGIN + (int)g->column[i] * (BOX_WIDTH + GAP_X); }
static int box_y(const graph *g, size_t i) { return MARGIN + (int)g->row[i] * (BOX_HEIGHT + GAP_Y); }

static const mk_json *step_of_trace(const mk_html *page, mk_str id)
{
    const mk_json *steps = mk_html__list(page->trace, "steps");
    for (size_t i = 0; steps != NULL && i < steps->n; i++)
        if (mk_str_eq(mk_html__member(&steps->items[i], "step_id"), id))
            return &steps->items[i];
    return NULL;
}

static void put_edges(const graph *g, mk_buf *out)
{
    for (size_t from = 0; from < g->count; from++)
        for (size_t to = 0; to < g->count; to++) {
            if (!g->edge[from][to])
                continue;
            const int x1 = box_x(g, from) + BOX_WIDTH, y1 = box_y(g, from) + BOX_HEIGHT / 2;
            const int x2 = box_x(g, to), y2 = box_y(g, to) + BOX_HEIGHT / 2;
            mk_buf_printf(out,
                          "<path class=edge d=\"M%d %dC%d %d %d %d %d %d\" marker-end=\"url(#arrow)\"/>",
                          x1, y1, x1 + GAP_X / 2, y1, x2 - GAP_X / 2, y2, x2 - 3, y2);
        }
}

static void put_box(mk_html *page, const graph *g, size_t i)
{
    mk_buf *out = page->out;
    const mk_str id = mk_html__member(g->steps[i], "id"), op = mk_html__member(g->steps[i], "op");
    const mk_json *ran = step_of_trace(page, id);
    const mk_str status = ran != NULL ? mk_html__member(ran, "status") : MK_STR("idle");
    const int x = box_x(g, i), y = box_y(g, i);
    mk_buf_z(out, "<a href=\"#");
    mk_html__text(out, id);
    mk_buf_z(out, "\"><rect class=\"box ");
    mk_html__text(out, status);
    mk_buf_printf(out, "\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>", x, y, BOX_WIDTH,
                  BOX_HEIGHT);
    mk_buf_printf(out, "<text class=id x=\"%d\" y=\"%d\">", x + 12, y + 21);
    mk_html__text(out, id);
    mk_buf_z(out, " · ");
    mk_html__text(out, status);
    mk_buf_printf(out, "</text><text x=\"%d\" y=\"%d\">", x + 12, y + 40);
    /* Names of operators are ASCII; others do not run, and lose at most the sign of their last character. */
    mk_html__text(out, (mk_str){op.p, op.n > NAME_MAX ? mk_utf8_check((mk_str){op.p, NAME_MAX}) : op.n});
    mk_buf_z(out, op.n > NAME_MAX ? "…</text></a>" : "</text></a>");
}

void mk_html__plan(mk_html *page)
{
    graph g = {0};
    read_graph(page->plan, &g);
    lay_out(&g);
    if (g.count == 0)
        return;
    const int width = 2 * MARGIN + (int)g.columns * (BOX_WIDTH + GAP_X) - GAP_X;
    const int height = 2 * MARGIN + (int)g.rows * (BOX_HEIGHT + GAP_Y) - GAP_Y;
    mk_buf_printf(page->out,
                  "<section aria-labelledby=h-plan><h2 id=h-plan>Plan</h2><div class=scroll>"
                  "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=group aria-label=\"steps "
                  "of the plan, "
                  "each a link to its card\"><defs><marker id=arrow viewBox=\"0 0 8 8\" refX=7 refY=4 "
                  "markerWidth=7 markerHeight=7 orient=auto><path class=head d=\"M0 0 8 4 0 8z\"/></"
                  "marker></defs>",
                  width, height, width, height);
    put_edges(&g, page->out);
    for (size_t i = 0; i < g.count; i++)
        put_box(page, &g, i);
    mk_buf_z(page->out, "</svg></div></section>\n");
}

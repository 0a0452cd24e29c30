/* page_time.c — what was asked and found, on both axes of time. Layer: agent.
 *
 * Valid time runs to the right, transaction time upwards. A version is the rectangle of when it held and when
 * it was believed; a window or an instant that a step asked about lies on the line of the belief it was asked
 * at. What has no end runs to the edge. */
#include "agent/page_internal.h"

#include "base/timetext.h"

enum { MARKS_MAX = 400, WIDTH = 860, LEFT = 196, RIGHT = 30, TOP = 22, PLOT = 170, BOTTOM = 48 };

typedef struct mark {
    const char *class; /* "version", "asked" */
    mk_str step;
    int64_t vt_s, vt_e, tt_s, tt_e; /* of an instant both ends are the same */
} mark;

typedef struct chart {
    mark *marks;
    size_t count, left_out;
    int64_t vt_min, vt_max, tt_min, tt_max; /* over ends that are known */
    int64_t as_of;
} chart;

static bool is_known(int64_t us) { return us > MK_TIME_MIN && us < MK_OPEN_END; }

static void widen(int64_t us, int64_t *min, int64_t *max)
{
    if (!is_known(us))
        return;
    *min = us < *min ? us : *min;
    *max = us > *max ? us : *max;
}

static void add_mark(chart *c, mark m)
{
    if (c->count == MARKS_MAX) {
        c->left_out++;
        return;
    }
    c->marks[c->count++] = m;
    widen(m.vt_s, &c->vt_min, &c->vt_max);
    widen(m.vt_e, &c->vt_min, &c->vt_max);
    widen(m.tt_s, &c->tt_min, &c->tt_max);
    widen(m.tt_e, &c->tt_min, &c->tt_max);
}

/* ---- what was asked ---- */

static void add_asked(chart *c, mk_str step, const mk_operator *op, const mk_json *args)
{
    int64_t as_of = c->as_of;
    if (mk_html__integer(args, "as_of_tt", &as_of) && !is_known(as_of))
        as_of = c->as_of;
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++) {
        const mk_json *value = mk_json_get(args, arg->name);
        int64_t from, to;
        if (arg->type == MK_ARG_OBJECT && mk_html__integer(value, "t_a", &from) &&
            mk_html__integer(value, "t_b", &to))
            add_mark(c, (mark){"asked", step, from, to, as_of, as_of});
        else if (arg->type == MK_ARG_TIMESTAMP && strcmp(arg->name, "as_of_tt") != 0 &&
                 mk_html__integer(args, arg->name, &from))
            add_mark(c, (mark){"asked", step, from, from, as_of, as_of});
    }
}

/* ---- what was found ---- */

static void add_versions(chart *c, mk_str step, const mk_json *payload)
{
    for (size_t m = 0; payload != NULL && payload->kind == MK_JSON_OBJECT && m < payload->n; m++) {
        const mk_json *list = &payload->members[m].value;
        for (size_t i = 0; list->kind == MK_JSON_ARRAY && i < list->n; i++) {
            mark found = {.class = "version", .step = step, .tt_s = c->as_of, .tt_e = c->as_of};
            if (!mk_html__integer(&list->items[i], "vt_s", &found.vt_s) ||
                !mk_html__integer(&list->items[i], "vt_e", &found.vt_e))
                continue;
            if (mk_html__integer(&list->items[i], "tt_s", &found.tt_s))
                found.tt_e = MK_OPEN_END;
            (void)mk_html__integer(&list->items[i], "tt_e", &found.tt_e);
            add_mark(c, found);
        }
    }
}

static void collect(mk_html *page, chart *c)
{
    const mk_json *steps = mk_html__list(page->trace, "steps");
    for (size_t i = 0; steps != NULL && i < steps->n; i++) {
        const mk_json *step = &steps->items[i];
        const mk_operator *op = mk_operator_find(mk_html__member(step, "op"));
        const mk_json *call = mk_html__call(page, step);
        if (op == NULL || call == NULL)
            continue;
        add_versions(c, mk_html__member(step, "step_id"), mk_html__payload(page, step));
        add_asked(c, mk_html__member(step, "step_id"), op, mk_json_get(call, "args"));
    }
}

/* A single instant lies in the middle of its axis. */
static void give_room(int64_t *min, int64_t *max)
{
    if (*min == *max) {
        *min -= 1;
        *max += 1;
    }
}

/* ---- drawing ---- */

/* Where `us` lies in [min, max], on a stretch of `size`; ends that are not known lie on the edge. */
static double place(int64_t us, int64_t min, int64_t max, double size)
{
    if (us <= min)
        return 0;
    return us >= max ? size : ((double)us - (double)min) / ((double)max - (double)min) * size;
}

static double x_of(const chart *c, int64_t us)
{
    return LEFT + place(us, c->vt_min, c->vt_max, WIDTH - LEFT - RIGHT - 14) + (us == MK_OPEN_END ? 14 : 0);
}
static double y_of(const chart *c, int64_t us)
{
    return TOP + PLOT - place(us, c->tt_min, c->tt_max, PLOT - 14) - (us == MK_OPEN_END ? 14 : 0);
}

/* Numbers of a drawing need no more than one digit behind the point; the locale has no say. */
static void put_number(mk_buf *out, const char *name, double value)
{
    const long tenths = (long)(value * 10 + 0.5);
    mk_buf_printf(out, " %s=\"%ld.%ld\"", name, tenths / 10, tenths % 10);
}

static void put_mark(const chart *c, const mark *m, mk_buf *out)
{
    const double x = x_of(c, m->vt_s), y = y_of(c, m->tt_e);
    double width = x_of(c, m->vt_e) - x, height = y_of(c, m->tt_s) - y;
    const bool line = height < 4;
    mk_buf_printf(out, "<rect class=%s", m->class);
    put_number(out, "x", width < 3 ? x - 1.5 : x);
    put_number(out, "y", line ? y - 3 : y);
    put_number(out, "width", width < 3 ? 3 : width);
    put_number(out, "height", line ? 6 : height);
    mk_buf_z(out, " rx=2><title>");
    mk_html__text(out, m->step);
    mk_buf_printf(out, ": %s, valid ", m->class);
    char text[MK_TIME_TEXT_MAX];
    mk_buf_put(out, text, mk_time_text(text, m->vt_s));
    mk_buf_z(out, " to ");
    mk_buf_put(out, text, mk_time_text(text, m->vt_e));
    mk_buf_z(out, ", believed ");
    mk_buf_put(out, text, mk_time_text(text, m->tt_s));
    mk_buf_z(out, " to ");
    mk_buf_put(out, text, mk_time_text(text, m->tt_e));
    mk_buf_z(out, "</title></rect>");
}

static void put_label(mk_buf *out, double x, double y, const char *anchor, int64_t us)
{
    char text[MK_TIME_TEXT_MAX];
    mk_buf_printf(out, "<text text-anchor=%s", anchor);
    put_number(out, "x", x);
    put_number(out, "y", y);
    mk_buf_c(out, '>');
    mk_buf_put(out, text, mk_time_text(text, us));
    mk_buf_z(out, "</text>");
}

static void put_axes(const chart *c, bool one_belief, mk_buf *out)
{
    const double base = TOP + PLOT, now = y_of(c, c->as_of);
    mk_buf_printf(out, "<path class=axis d=\"M%d %dV%dH%d\"/>", LEFT, TOP - 8, TOP + PLOT,
                  WIDTH - RIGHT + 10);
    put_label(out, LEFT, base + 16, "start", c->vt_min);
    put_label(out, WIDTH - RIGHT - 14, base + 16, "end", c->vt_max);
    mk_buf_printf(out, "<text class=name x=\"%d\" y=\"%d\" text-anchor=middle>valid time →</text>",
                  (LEFT + WIDTH - RIGHT) / 2, TOP + PLOT + 34);
    mk_buf_printf(out, "<text class=name x=\"%d\" y=\"%d\">↑ transaction time</text>", 4, TOP - 8);
    if (!one_belief && y_of(c, c->tt_min) - now > 14)
        put_label(out, LEFT - 8, y_of(c, c->tt_min) + 4, "end", c->tt_min);
    mk_buf_z(out, "<line class=belief");
    put_number(out, "x1", LEFT);
    put_number(out, "x2", WIDTH - RIGHT + 10);
    put_number(out, "y1", now);
    put_number(out, "y2", now);
    mk_buf_z(out, "/>");
    put_label(out, LEFT - 8, now + 4, "end", c->as_of);
}

static void put_chart(const chart *c, bool one_belief, mk_buf *out)
{
    mk_buf_printf(out,
                  "<div class=scroll><svg class=times width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                  "role=img "
                  "aria-label=\"%zu intervals on valid time and transaction time\">",
                  WIDTH, TOP + PLOT + BOTTOM, WIDTH, TOP + PLOT + BOTTOM, c->count);
    put_axes(c, one_belief, out);
    for (size_t i = 0; i < c->count; i++)
        put_mark(c, &c->marks[i], out);
    mk_buf_z(out, "</svg></div>");
}

void mk_html__time_axes(mk_html *page)
{
    chart c = {.vt_min = INT64_MAX, .vt_max = INT64_MIN, .tt_min = INT64_MAX, .tt_max = INT64_MIN};
    c.marks = mk_arena_get(page->arena, MARKS_MAX * sizeof *c.marks);
    if (c.marks == NULL) {
        page->out->failed = true;
        return;
    }
    (void)mk_html__integer(page->trace, "as_of_tt", &c.as_of);
    widen(c.as_of, &c.tt_min, &c.tt_max);
    collect(page, &c);
    mk_buf_z(page->out, "<section aria-labelledby=h-time><h2 id=h-time>Time</h2><p>Answered from what was "
                        "believed at ");
    mk_html__time(page->out, c.as_of);
    mk_buf_z(page->out, ", the dashed line. <span class=\"key version\"></span> versions found, "
                        "<span class=\"key asked\"></span> times asked about.</p>");
    if (c.count != 0 && c.vt_min <= c.vt_max && c.tt_min <= c.tt_max) {
        const bool one_belief = c.tt_min == c.tt_max;
        give_room(&c.vt_min, &c.vt_max);
        give_room(&c.tt_min, &c.tt_max);
        put_chart(&c, one_belief, page->out);
    }
    if (c.left_out != 0)
        mk_buf_printf(page->out, "<p class=more>%zu more intervals are not drawn.</p>", c.left_out);
    mk_buf_z(page->out, "</section>\n");
}

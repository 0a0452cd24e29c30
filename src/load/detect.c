/* detect.c — what a file is, by its name and its first line.
 *
 * The content decides where it can: an event log and JSON begin with a brace. Between tables and edge
 * lists the first data line decides: a line whose columns are all numbers has no header, so it is an
 * edge list even in a .csv file. The name decides the rest. */
#include "load/load_internal.h"

static const char *const format_names[] = {"auto",  "edges",    "csv", "tsv",
                                           "jsonl", "eventlog", "git"};
static const char *const preset_names[] = {"none", "collegemsg", "email-eu", "bitcoinotc"};

bool mk_load_format_named(const char *name, mk_load_format *out)
{
    for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++) {
        if (strcmp(name, format_names[i]) == 0) {
            *out = (mk_load_format)i;
            return true;
        }
    }
    return false;
}

const char *mk_load_format_name(mk_load_format format)
{
    return format_names[format];
}

bool mk_load_preset_named(const char *name, mk_load_preset *out)
{
    for (size_t i = 0; i < sizeof preset_names / sizeof preset_names[0]; i++) {
        if (strcmp(name, preset_names[i]) == 0) {
            *out = (mk_load_preset)i;
            return true;
        }
    }
    return false;
}

static bool drop_suffix(mk_str *name, const char *suffix)
{
    const size_t n = strlen(suffix);

    if (name->n < n || memcmp(name->p + name->n - n, suffix, n) != 0)
        return false;
    name->n -= n;
    return true;
}

/* The file's name without folders and compression. */
static mk_str base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    mk_str name = mk_str_of(slash != NULL ? slash + 1 : path);

    if (!drop_suffix(&name, ".gz"))
        drop_suffix(&name, ".zst");
    return name;
}

static mk_load_preset preset_of(mk_str name)
{
    if (mk_str_eq(name, MK_STR("CollegeMsg.txt")))
        return MK_LOAD_PRESET_COLLEGEMSG;
    if (mk_str_eq(name, MK_STR("email-Eu-core-temporal.txt")))
        return MK_LOAD_PRESET_EMAIL_EU;
    if (mk_str_eq(name, MK_STR("soc-sign-bitcoinotc.csv")))
        return MK_LOAD_PRESET_BITCOINOTC;
    return MK_LOAD_PRESET_NONE;
}

/* The first line that is neither blank nor a comment, without its line end. */
static mk_str first_line(mk_str head)
{
    while (head.n > 0) {
        const char *lf = memchr(head.p, '\n', head.n);
        mk_str line = {head.p, lf != NULL ? (size_t)(lf - head.p) : head.n};
        head = lf != NULL ? (mk_str){lf + 1, (size_t)(head.p + head.n - lf) - 1} : (mk_str){"", 0};
        while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
            line.n--;
        while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t'))
            line = (mk_str){line.p + 1, line.n - 1};
        if (line.n > 0 && line.p[0] != '#' && line.p[0] != '%')
            return line;
    }
    return (mk_str){"", 0};
}

/* Three or more columns, and digits, signs and points are all there is. */
static bool is_numbers(mk_str line)
{
    size_t columns = 0;
    bool in_column = false;

    for (size_t i = 0; i < line.n; i++) {
        const char c = line.p[i];
        if (c == ' ' || c == '\t' || c == ',') {
            in_column = false;
        } else if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.') {
            columns += !in_column;
            in_column = true;
        } else {
            return false;
        }
    }
    return columns >= 3;
}

/* Whether the third column by blanks is a number, as in "alice bob 1082040961". */
static bool third_is_number(mk_str line)
{
    size_t column = 0, i = 0;

    while (i < line.n) {
        while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
            i++;
        const size_t start = i;
        while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t')
            i++;
        if (++column == 3)
            return mk_load__unit_class((mk_str){line.p + start, i - start}) != MK_LOAD_UNIT_AUTO ||
                   (i > start && line.p[start] >= '0' && line.p[start] <= '9');
    }
    return false;
}

mk_load_format mk_load_detect(const char *path, mk_str head, mk_load_preset *preset)
{
    mk_str name = base_name(path);
    const mk_load_preset known = preset_of(name);

    *preset = MK_LOAD_PRESET_NONE;
    if (head.n >= 3 && memcmp(head.p, "\xEF\xBB\xBF", 3) == 0)
        head = (mk_str){head.p + 3, head.n - 3};
    const mk_str line = first_line(head);
    if (line.n > 0 && line.p[0] == '{')
        return mk_str_starts(line, MK_STR("{\"format\":\"tgms-eventlog\"")) ? MK_LOAD_EVENTLOG
                                                                            : MK_LOAD_JSONL;
    if (line.n == 0)
        return MK_LOAD_AUTO;
    if (is_numbers(line)) {
        *preset = known;
        return MK_LOAD_EDGES;
    }
    if (drop_suffix(&name, ".csv"))
        return MK_LOAD_CSV;
    if (drop_suffix(&name, ".tsv"))
        return MK_LOAD_TSV;
    return third_is_number(line) ? MK_LOAD_EDGES : MK_LOAD_AUTO;
}

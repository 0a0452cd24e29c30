/* manual.c — the registry as pages for people. Layer: op. */
#include "op/schema.h"

#include <stdio.h>

#define LINE_MAX_CHARS 100

static void spaces(mk_buf *out, size_t n)
{
    while (n-- > 0)
        mk_buf_c(out, ' ');
}

/* Words of `text` in lines that start at column `indent`; the first line is there already. */
static void wrap(mk_buf *out, size_t indent, const char *text)
{
    size_t column = indent;
    for (const char *word = text; *word != '\0';) {
        const size_t n = strcspn(word, " ");
        if (column > indent && column + 1 + n > LINE_MAX_CHARS) {
            mk_buf_c(out, '\n');
            spaces(out, indent);
            column = indent;
        } else if (column > indent) {
            mk_buf_c(out, ' ');
            column++;
        }
        mk_buf_put(out, word, n);
        column += n;
        word += n;
        word += strspn(word, " ");
    }
    mk_buf_c(out, '\n');
}

#define NAME_COLUMN 20

/* "  name            " up to the column where its description starts. */
static void entry(mk_buf *out, size_t indent, const char *name)
{
    size_t at = indent + strlen(name);
    spaces(out, indent);
    mk_buf_z(out, name);
    if (at + 1 > NAME_COLUMN + indent) {
        mk_buf_c(out, '\n');
        at = 0;
    }
    spaces(out, NAME_COLUMN + indent - at);
}

static void put_arg(mk_buf *out, const mk_arg *arg, size_t indent)
{
    char expects[300], line[480];
    mk_op__expects(expects, sizeof expects, arg);
    const bool keep_open = arg->default_json != NULL && strcmp(arg->default_json, "null") != 0;
    snprintf(line, sizeof line, "%s%s%s%s%s", expects, arg->nullable ? ", or null" : "",
             arg->required ? "; required" : "", keep_open ? "; default " : "",
             keep_open ? arg->default_json : "");
    entry(out, indent, arg->name);
    wrap(out, NAME_COLUMN + indent, line);
    if (arg->doc != NULL) {
        spaces(out, NAME_COLUMN + indent);
        wrap(out, NAME_COLUMN + indent, arg->doc);
    }
    const mk_arg *inner = arg->type == MK_ARG_OBJECT ? arg->members
                          : arg->item != NULL && arg->item->type == MK_ARG_OBJECT
                              ? arg->item->members
                              : NULL;
    for (; inner != NULL && inner->name != NULL; inner++)
        put_arg(out, inner, indent + 2);
}

static const char *field_type_name(const mk_field *field)
{
    static const char *const names[] = {
        [MK_FIELD_INTEGER] = "integer", [MK_FIELD_FLOAT] = "float",
        [MK_FIELD_NUMBER] = "number",   [MK_FIELD_BOOLEAN] = "true or false",
        [MK_FIELD_STRING] = "string",   [MK_FIELD_TIME] = "time",
        [MK_FIELD_LIST] = "list",       [MK_FIELD_OBJECT] = "object",
        [MK_FIELD_ANY] = "any value",
    };
    return names[field->type];
}

static void put_field(mk_buf *out, const mk_field *field, size_t indent)
{
    char line[480];
    snprintf(line, sizeof line, "%s%s%s. %s", field_type_name(field),
             field->nullable ? " or null" : "", field->optional ? ", may be absent" : "",
             field->doc ? field->doc : "");
    entry(out, indent, field->name);
    wrap(out, NAME_COLUMN + indent, line);
    const mk_field *inner = field->type == MK_FIELD_OBJECT ? field->members
                            : field->item != NULL          ? field->item->members
                                                           : NULL;
    for (; inner != NULL && inner->name != NULL; inner++)
        put_field(out, inner, indent + 2);
}

void mk_op_manual(mk_buf *out, const mk_operator *op)
{
    mk_buf_z(out, op->name);
    mk_buf_z(out, ": ");
    wrap(out, 0, op->summary);
    if (op->help != NULL) {
        mk_buf_c(out, '\n');
        wrap(out, 0, op->help);
    }
    mk_buf_z(out, "\nArguments\n");
    for (const mk_arg *arg = op->args; arg->name != NULL; arg++)
        put_arg(out, arg, 2);
    mk_buf_z(out, "\nResult\n");
    for (const mk_field *field = op->fields; field->name != NULL; field++)
        put_field(out, field, 2);
    mk_buf_z(out, "\nExample\n  merkhet call ");
    mk_buf_z(out, op->name);
    mk_buf_z(out, " '");
    mk_buf_z(out, op->example);
    mk_buf_z(out, "'\n");
}

/* The operators of one group, from the table's entry `first` on, which opens it. */
static void list_group(mk_buf *out, const mk_operator *const *ops, size_t first, size_t count)
{
    mk_buf_z(out, ops[first]->group);
    mk_buf_c(out, '\n');
    for (size_t i = first; i < count; i++) {
        if (strcmp(ops[i]->group, ops[first]->group) != 0)
            continue;
        char name[48];
        snprintf(name, sizeof name, "  %-32s", ops[i]->name);
        mk_buf_z(out, name);
        mk_buf_z(out, ops[i]->summary);
        mk_buf_c(out, '\n');
    }
}

void mk_op_list(mk_buf *out)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(ops[j]->group, ops[i]->group) == 0;
        if (!seen)
            list_group(out, ops, i, count);
    }
}

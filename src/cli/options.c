/* options.c — the option parser. Layer: cli.
 *
 * Two tables are searched in order, the command's own and the common one; an option's place in the two
 * together is its index into `given` and `values`. */
#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD_MAX 64 /* longest name that is compared for suggestions */

mk_code mk_fail_usage(mk_err *err, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mk_fail(err, MK_E_INVALID_ARG, "%s", text);
    mk_err_reason(err, "usage");
    return MK_E_INVALID_ARG;
}

bool mk_err_is_usage(const mk_err *err)
{
    return strcmp(err->reason, "usage") == 0;
}

/* ---- suggestions ---- */

/* Levenshtein 1966, with one row kept. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(b);
    size_t row[WORD_MAX + 1];
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t above = row[j];
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[n];
}

const char *mk_nearest(const char *word, const char *const *names)
{
    const size_t n = strlen(word);
    const char *best = NULL;
    size_t best_distance = n / 3 + 2; /* a name that shares less than that is no help */
    if (n == 0 || n > WORD_MAX)
        return NULL;
    for (size_t i = 0; names[i] != NULL; i++) {
        const size_t size = strlen(names[i]);
        if (size > WORD_MAX)
            continue;
        const size_t distance = edit_distance(word, names[i]);
        /* Every letter replaced is another word, not a misspelt one. */
        if (distance < best_distance && distance < size) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}

static mk_code unknown(const mk_options *options, const char *name, const char *shown, mk_err *err)
{
    const char *names[MK_OPTIONS_MAX + 1];
    size_t n = 0;
    for (int t = 0; t < 2; t++)
        for (const mk_option *o = options->tables[t]; o->name != NULL && n < MK_OPTIONS_MAX; o++)
            names[n++] = o->name;
    names[n] = NULL;
    const char *near = mk_nearest(name, names);
    mk_fail_usage(err, "unknown option %s", shown);
    if (near != NULL)
        mk_err_hint(err, "did you mean --%s?", near);
    else
        mk_err_hint(err, "--help lists the options of this command");
    return MK_E_INVALID_ARG;
}

/* ---- parsing ---- */

static const mk_option *by_name(const mk_options *options, const char *name, size_t n, size_t *index)
{
    *index = 0;
    for (int t = 0; t < 2; t++)
        for (const mk_option *o = options->tables[t]; o->name != NULL; o++, (*index)++)
            if (strncmp(o->name, name, n) == 0 && o->name[n] == '\0')
                return o;
    return NULL;
}

static const mk_option *by_letter(const mk_options *options, char letter, size_t *index)
{
    *index = 0;
    for (int t = 0; t < 2; t++)
        for (const mk_option *o = options->tables[t]; o->name != NULL; o++, (*index)++)
            if (o->letter == letter)
                return o;
    return NULL;
}

/* Takes the values of an option: `attached` behind = or the letter, else the arguments that follow. */
static mk_code take(mk_options *options, const mk_option *option, size_t index, const char *attached,
                    char **argv, int argc, int *at, mk_err *err)
{
    const int count = option->value == NULL ? 0 : option->count ? option->count : 1;
    options->given[index] = true;
    if (count == 0 && attached != NULL)
        return mk_fail_usage(err, "option --%s takes no value", option->name);
    if (count == 1 && attached != NULL) {
        options->values[index][0] = attached;
        return MK_OK;
    }
    if (attached != NULL || argc - *at - 1 < count) {
        mk_fail_usage(err, "option --%s needs %s", option->name, count > 1 ? "more values" : "a value");
        mk_err_hint(err, "write --%s %s", option->name, option->value);
        return MK_E_INVALID_ARG;
    }
    for (int i = 0; i < count; i++)
        options->values[index][i] = argv[++*at];
    return MK_OK;
}

static mk_code take_long(mk_options *options, char **argv, int argc, int *at, mk_err *err)
{
    const char *name = argv[*at] + 2;
    const size_t n = strcspn(name, "=");
    size_t index;
    const mk_option *option = by_name(options, name, n, &index);
    if (option != NULL)
        return take(options, option, index, name[n] == '=' ? name + n + 1 : NULL, argv, argc, at, err);
    char plain[WORD_MAX + 1];
    snprintf(plain, sizeof plain, "%.*s", (int)(n > WORD_MAX ? WORD_MAX : n), name);
    return unknown(options, plain, argv[*at], err);
}

/* Flags may share a dash; the first letter with a value takes the rest, or what follows. */
static mk_code take_letters(mk_options *options, char **argv, int argc, int *at, mk_err *err)
{
    for (const char *p = argv[*at] + 1; *p != '\0'; p++) {
        size_t index;
        const mk_option *option = by_letter(options, *p, &index);
        if (option == NULL) {
            const char shown[3] = {'-', *p, '\0'};
            return unknown(options, "", shown, err);
        }
        if (option->value != NULL)
            return take(options, option, index, p[1] != '\0' ? p + 1 : NULL, argv, argc, at, err);
        options->given[index] = true;
    }
    return MK_OK;
}

mk_code mk_options_parse(mk_options *options, const mk_option *own, const mk_option *common, int argc,
                         char **argv, mk_err *err)
{
    bool only_words = false;
    mk_code rc = MK_OK;
    memset(options, 0, sizeof *options);
    options->tables[0] = own;
    options->tables[1] = common;
    options->words = argv;
    for (int i = 0; i < argc && rc == MK_OK; i++) {
        char *arg = argv[i];
        if (only_words || arg[0] != '-' || arg[1] == '\0')
            options->words[options->word_count++] = arg;
        else if (strcmp(arg, "--") == 0)
            only_words = true;
        else if (arg[1] == '-')
            rc = take_long(options, argv, argc, &i, err);
        else
            rc = take_letters(options, argv, argc, &i, err);
    }
    return rc;
}

/* ---- what was given ---- */

bool mk_options_has(const mk_options *options, const char *name)
{
    size_t index;
    const mk_option *option = by_name(options, name, strlen(name), &index);
    MK_ASSERT(option != NULL);
    return option != NULL && options->given[index];
}

const char *const *mk_options_values(const mk_options *options, const char *name)
{
    size_t index;
    const mk_option *option = by_name(options, name, strlen(name), &index);
    MK_ASSERT(option != NULL);
    return option != NULL && options->given[index] ? options->values[index] : NULL;
}

const char *mk_options_value(const mk_options *options, const char *name)
{
    const char *const *values = mk_options_values(options, name);
    return values != NULL ? values[0] : NULL;
}

mk_code mk_options_u64(const mk_options *options, const char *name, uint64_t min, uint64_t max,
                       uint64_t *out, mk_err *err)
{
    const char *text = mk_options_value(options, name);
    int64_t value = -1;
    if (text == NULL)
        return MK_OK;
    const bool number = mk_str_to_i64(mk_str_of(text), &value) && value >= 0;
    if (!number || (uint64_t)value < min || (uint64_t)value > max) {
        mk_fail_usage(err, "--%s %.60s: not a whole number from %llu to %llu", name, text,
                      (unsigned long long)min, (unsigned long long)max);
        return MK_E_INVALID_ARG;
    }
    *out = (uint64_t)value;
    return MK_OK;
}

mk_code mk_options_time(const mk_options *options, const char *name, int64_t *out, mk_err *err)
{
    const char *text = mk_options_value(options, name);
    if (text == NULL)
        return MK_OK;
    const mk_code rc = mk_time_parse(mk_str_of(text), out, err);
    if (rc != MK_OK)
        mk_err_path(err, "--%s", name);
    return rc;
}

/* claim_value.c — claims about numbers and single values. Layer: claim.
 *
 * count, value, boolean, lower_bound, upper_bound, comparison, ratio. A list stands for its length where a
 * number is meant, and the length of a list that is cut is only the least that it can be: "at least" and
 * "more than" survive the cut, "exactly" and "at most" do not.
 * Source: agent spec, 12.3, 18.1, 18.3; decisions.md 5. */
#include <math.h>
#include <stdio.h>

#include "claim/claim_internal.h"

#define SHOWN_MAX 60
#define CANDIDATES_MAX 5

/* ---- count and value ---- */

static bool matches(const mk_json *value, const mk_json *candidate)
{
    if (mk_claim__is_number(value) && mk_claim__is_number(candidate))
        return mk_claim__same_number(value, candidate);
    if (value->kind == MK_JSON_STRING && candidate->kind == MK_JSON_STRING)
        return mk_str_eq(value->text, candidate->text);
    return value->kind == MK_JSON_BOOL && candidate->kind == MK_JSON_BOOL && value->b == candidate->b;
}

/* Text never equals a number, and the sentence says so. */
static const char *kinds_differ(const mk_json *value, const mk_json *candidate)
{
    if (value->kind == MK_JSON_STRING && mk_claim__is_number(candidate))
        return "; text never equals a number";
    if (mk_claim__is_number(value) && candidate->kind == MK_JSON_STRING)
        return "; a number never equals text";
    return "";
}

static void check_at(mk_checking *c, const mk_json *value, const mk_found *found)
{
    const mk_json candidate =
        mk_claim__is_number(value) ? mk_claim__as_number(found->value) : *found->value;
    const mk_str said = mk_claim__show(c, value, SHOWN_MAX);
    const mk_str read = mk_claim__show(c, &candidate, SHOWN_MAX);
    if (!matches(value, &candidate)) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "%.*s is not among the candidates [%.*s]%s",
                         MK_STR_ARG(said), MK_STR_ARG(read), kinds_differ(value, &candidate));
        return;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s is what %.*s gives", MK_STR_ARG(said),
                     MK_STR_ARG(found->step->id));
    mk_claim__weaken(c, found->step, found->field, found->need);
}

static const char *const usual_fields[] = {"count", "value", "rows_total"};

/* Without `from`: the usual fields of every cited step; a complete one is preferred. */
static void check_anywhere(mk_checking *c, const mk_json *value)
{
    const mk_claim_step *match = NULL;
    mk_str match_field = {NULL, 0};
    char shown[SHOWN_MAX * (CANDIDATES_MAX + 1) * 2] = "";
    size_t at = 0, count = 0;
    const char *kinds = "";
    for (size_t i = 0; i < c->cited_count; i++) {
        for (size_t k = 0; k < sizeof usual_fields / sizeof *usual_fields; k++) {
            const mk_json *candidate = mk_json_get(c->cited[i]->payload, usual_fields[k]);
            const mk_str field = mk_str_of(usual_fields[k]);
            if (candidate == NULL)
                continue;
            if (count++ < CANDIDATES_MAX)
                at += (size_t)snprintf(shown + at, sizeof shown - at, "%s%.*s", at > 0 ? "," : "",
                                       MK_STR_ARG(mk_claim__show(c, candidate, SHOWN_MAX)));
            kinds = *kinds != '\0' ? kinds : kinds_differ(value, candidate);
            if (matches(value, candidate) &&
                (match == NULL || mk_claim__touched(c, match, match_field, MK_NEED_SCALAR))) {
                match = c->cited[i];
                match_field = field;
            }
        }
    }
    const mk_str said = mk_claim__show(c, value, SHOWN_MAX);
    if (match == NULL) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "%.*s is not among the candidates [%s]%s",
                         MK_STR_ARG(said), shown, kinds);
        return;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s is what %.*s.%.*s gives", MK_STR_ARG(said),
                     MK_STR_ARG(match->id), MK_STR_ARG(match_field));
    mk_claim__weaken(c, match, match_field, MK_NEED_SCALAR);
}

mk_code mk_claim__value(mk_checking *c, mk_err *err)
{
    const mk_json *value = mk_claim__member(c, "value");
    mk_found found;
    bool ok;
    if (value == NULL || value->kind == MK_JSON_ARRAY || value->kind == MK_JSON_OBJECT) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_value", "the claim states no value");
        return MK_OK;
    }
    const mk_code rc = mk_claim__from(c, &found, &ok, err);
    if (rc != MK_OK)
        return rc;
    if (ok)
        check_at(c, value, &found);
    else if (!mk_claim__has_from(c))
        check_anywhere(c, value);
    return MK_OK;
}

/* ---- boolean ---- */

/* true also says that a list has rows or that a number is not zero, false that it is empty or is. */
mk_code mk_claim__boolean(mk_checking *c, mk_err *err)
{
    const mk_json *value = mk_claim__member(c, "value");
    mk_found found;
    bool ok;
    if (value == NULL || value->kind != MK_JSON_BOOL) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_value", "the claim states neither true nor false");
        return MK_OK;
    }
    if (!mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    const mk_code rc = mk_claim__from(c, &found, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    const mk_json number = mk_claim__as_number(found.value), zero = {.kind = MK_JSON_INT};
    if (!mk_claim__is_number(&number) && number.kind != MK_JSON_BOOL) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there is neither true nor false");
        return MK_OK;
    }
    const bool is = number.kind == MK_JSON_BOOL ? number.b : mk_claim__compare(&number, &zero) != 0;
    const bool list = found.value->kind == MK_JSON_ARRAY;
    if (is != value->b) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the result says %s", is ? "true" : "false");
        return MK_OK;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s says %s", MK_STR_ARG(found.step->id),
                     is ? "true" : "false");
    mk_claim__weaken(c, found.step, found.field, list && is ? MK_NEED_MEMBER : found.need);
    return MK_OK;
}

/* ---- bounds ---- */

/* What is known of a number: exactly `read`, or, of a list that is cut, at least that. */
typedef struct operand {
    mk_json read;
    bool text;      /* a string; compared for equality and order as text */
    bool at_least;  /* the true number is `read` or more */
    bool uncertain; /* nothing is known beyond what was read */
    const mk_claim_step *step;
    mk_str field;
    mk_need need;
} operand;

static void judge_operand(mk_checking *c, operand *o, bool list)
{
    if (o->step == NULL || !mk_claim__touched(c, o->step, o->field, o->need))
        return;
    o->at_least = list && !mk_claim__touched(c, o->step, o->field, MK_NEED_MEMBER);
    o->uncertain = !o->at_least;
}

static bool operand_of(mk_checking *c, const mk_found *found, operand *out)
{
    *out = (operand){.read = mk_claim__as_number(found->value),
                     .step = found->step,
                     .field = found->field,
                     .need = found->need};
    out->text = out->read.kind == MK_JSON_STRING;
    if (!out->text && !mk_claim__is_number(&out->read)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there is no number");
        return false;
    }
    judge_operand(c, out, found->value->kind == MK_JSON_ARRAY);
    return true;
}

/* The exact length of a list when it is cut and its total is known; read otherwise. */
static mk_json longest_known(const mk_checking *c, const operand *o)
{
    mk_json known = o->read;
    for (size_t i = 0; o->step != NULL && i < o->step->gap_count; i++) {
        const mk_gap_note *gap = &o->step->gaps[i];
        const mk_json total = {.kind = MK_JSON_INT, .i = gap->total};
        if (!c->options->no_completeness && mk_str_eq(gap->field, o->field) && gap->has_total &&
            !gap->inherited && mk_claim__compare(&total, &known) > 0)
            known = total;
    }
    return known;
}

static void settle_bound(mk_checking *c, const operand *o, const mk_json *value, bool lower)
{
    const mk_json most = o->at_least ? longest_known(c, o) : o->read;
    const mk_json *read = lower || mk_claim__compare(&o->read, value) > 0 ? &o->read : &most;
    const int order = mk_claim__compare(read, value);
    const bool equal = mk_claim__same_number(read, value);
    const mk_str shown = mk_claim__show(c, read, SHOWN_MAX), bound = mk_claim__show(c, value, SHOWN_MAX);
    if (!equal && (lower ? order < 0 : order > 0)) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "%.*s is %s than %.*s", MK_STR_ARG(shown),
                         lower ? "less" : "more", MK_STR_ARG(bound));
        return;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s is %s %.*s", MK_STR_ARG(shown),
                     lower ? "at least" : "at most", MK_STR_ARG(bound));
    mk_claim__weaken(c, o->step, o->field,
                     lower ? (o->at_least ? MK_NEED_MEMBER
                                          : (o->need == MK_NEED_SCALAR ? MK_NEED_LEAST : o->need))
                           : o->need);
}

mk_code mk_claim__bound(mk_checking *c, mk_err *err)
{
    const mk_json *value = mk_claim__member(c, "value");
    const bool lower = mk_str_eq(mk_claim__string(c, "type"), MK_STR("lower_bound"));
    mk_found found;
    operand o;
    bool ok;
    if (!mk_claim__is_number(value)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_value", "the claim states no bound");
        return MK_OK;
    }
    if (!mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    const mk_code rc = mk_claim__from(c, &found, &ok, err);
    if (rc != MK_OK || !ok || !operand_of(c, &found, &o))
        return rc;
    if (o.text)
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there is no number");
    else
        settle_bound(c, &o, value, lower);
    return MK_OK;
}

/* ---- comparison ---- */

static mk_code read_operand(mk_checking *c, const char *name, operand *out, bool *ok, mk_err *err)
{
    const mk_json *value = mk_claim__member(c, name);
    mk_found found;
    *ok = false;
    if (mk_claim__is_number(value)) {
        *out = (operand){.read = *value};
        *ok = true;
        return MK_OK;
    }
    if (value == NULL || value->kind != MK_JSON_STRING) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_value", "the claim has no %s", name);
        return MK_OK;
    }
    const mk_code rc = mk_claim__follow(c, value->text, &found, ok, err);
    if (rc == MK_OK && *ok)
        *ok = operand_of(c, &found, out);
    return rc;
}

/* Whether a comparison that holds for what was read holds whatever else there is: more on the side that
 * is to be more does no harm. */
static bool survives(const operand *left, mk_str cmp, const operand *right)
{
    const bool greater = mk_str_eq(cmp, MK_STR("gt")) || mk_str_eq(cmp, MK_STR("ge"));
    const bool less = mk_str_eq(cmp, MK_STR("lt")) || mk_str_eq(cmp, MK_STR("le"));
    if (left->uncertain || right->uncertain)
        return false;
    if (left->at_least && (!greater || right->at_least))
        return false;
    return !right->at_least || less;
}

static void weaken_operand(mk_checking *c, const operand *o)
{
    if (o->step != NULL)
        mk_claim__weaken(c, o->step, o->field, o->need);
}

static void settle_comparison(mk_checking *c, const operand *left, mk_str cmp, const operand *right)
{
    bool known;
    const bool holds = mk_claim__holds(&left->read, cmp, &right->read, &known);
    const mk_str l = mk_claim__show(c, &left->read, SHOWN_MAX);
    const mk_str r = mk_claim__show(c, &right->read, SHOWN_MAX);
    if (!known || left->text != right->text) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "%.*s and %.*s cannot be compared in this way",
                         MK_STR_ARG(l), MK_STR_ARG(r));
        return;
    }
    if (!holds) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "%.*s %.*s %.*s does not hold", MK_STR_ARG(l),
                         MK_STR_ARG(cmp), MK_STR_ARG(r));
        return;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s %.*s %.*s", MK_STR_ARG(l), MK_STR_ARG(cmp), MK_STR_ARG(r));
    if (!survives(left, cmp, right)) {
        weaken_operand(c, left);
        weaken_operand(c, right);
    }
}

mk_code mk_claim__comparison(mk_checking *c, mk_err *err)
{
    const mk_str cmp = mk_claim__string(c, "cmp");
    operand left, right;
    bool ok;
    if (!mk_claim__is_cmp(cmp) || mk_str_eq(cmp, MK_STR("contains"))) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "cmp must be one of eq, ne, lt, le, gt, ge");
        return MK_OK;
    }
    mk_code rc = read_operand(c, "left", &left, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    rc = read_operand(c, "right", &right, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    if (left.step == NULL && right.step == NULL)
        mk_claim__settle(c, MK_UNVERIFIABLE, "uncited", "neither side was read in a result");
    else
        settle_comparison(c, &left, cmp, &right);
    return MK_OK;
}

/* ---- ratio ---- */

static void settle_ratio(mk_checking *c, const operand *num, const operand *den, const mk_json *value)
{
    const double d = mk_claim__double(&den->read);
    if (num->text || den->text || d == 0) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "there is no ratio of text or to zero");
        return;
    }
    const double ratio = mk_claim__double(&num->read) / d, claimed = mk_claim__double(value);
    const mk_str said = mk_claim__show(c, value, SHOWN_MAX);
    if (!isfinite(ratio) || fabs(ratio - claimed) > 1e-9 * fmax(1.0, fabs(ratio))) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "%.*s is not the ratio of the two", MK_STR_ARG(said));
        return;
    }
    mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s is the ratio of the two", MK_STR_ARG(said));
    weaken_operand(c, num);
    weaken_operand(c, den);
}

mk_code mk_claim__ratio(mk_checking *c, mk_err *err)
{
    const mk_json *value = mk_claim__member(c, "value");
    operand num, den;
    bool ok;
    if (!mk_claim__is_number(value)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_value", "the claim states no ratio");
        return MK_OK;
    }
    mk_code rc = read_operand(c, "num", &num, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    rc = read_operand(c, "den", &den, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    if (num.step == NULL || den.step == NULL)
        mk_claim__settle(c, MK_UNVERIFIABLE, "uncited", "both parts of a ratio must be read in a result");
    else
        settle_ratio(c, &num, &den, value);
    return MK_OK;
}

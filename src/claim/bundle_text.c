/* bundle_text.c — what a check of a bundle found, for people. Layer: claim. */
#include "claim/bundle.h"

/* Stored text: what steers a terminal or reorders a line becomes a question mark. */
static void put_harmless(mk_buf *out, mk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];
        const unsigned char next = i + 1 < text.n ? (unsigned char)text.p[i + 1] : 0;
        const unsigned char last = i + 2 < text.n ? (unsigned char)text.p[i + 2] : 0;
        if (c < 0x20 || c == 0x7F) {
            mk_buf_c(out, '?');
        } else if (c == 0xC2 && next >= 0x80 && next <= 0x9F) {
            mk_buf_c(out, '?');
            i++;
        } else if (c == 0xE2 && ((next == 0x80 && (last == 0x8E || last == 0x8F ||
                                                   (last >= 0xA8 && last <= 0xAE))) ||
                                 (next == 0x81 && last >= 0xA6 && last <= 0xA9))) {
            mk_buf_c(out, '?');
            i += 2;
        } else {
            mk_buf_c(out, (char)c);
        }
    }
}

static void put_claim(mk_buf *out, const mk_claim_result *claim)
{
    mk_buf_z(out, "  ");
    put_harmless(out, claim->id);
    mk_buf_printf(out, "  %.*s  %s: ", MK_STR_ARG(claim->type), mk_verdict_name(claim->verdict));
    put_harmless(out, claim->reason);
    mk_buf_c(out, '\n');
}

bool mk_bundle_check_holds(const mk_bundle_check *check)
{
    bool holds = check->sound && check->answer.schema_valid;
    for (size_t i = 0; i < check->answer.claim_count; i++)
        holds &= check->answer.claims[i].verdict <= MK_WEAKLY_SUPPORTED;
    return holds;
}

void mk_bundle_check_text(const mk_bundle_check *check, mk_buf *out)
{
    const mk_answer_report *answer = &check->answer;
    size_t counts[MK_UNVERIFIABLE + 1] = {0};
    if (check->sound)
        mk_buf_z(out, "the bundle is sound: every digest and the root are right\n");
    else
        mk_buf_z(out, "the bundle is not sound:\n");
    for (size_t i = 0; i < check->fault_count; i++) {
        mk_buf_z(out, "  ");
        put_harmless(out, check->faults[i]);
        mk_buf_c(out, '\n');
    }
    if (!answer->schema_valid) {
        mk_buf_z(out, "its answer cannot be read: ");
        put_harmless(out, answer->schema_error);
        mk_buf_c(out, '\n');
        return;
    }
    mk_buf_printf(out, answer->claim_count == 1 ? "%zu claim:\n" : "%zu claims:\n", answer->claim_count);
    for (size_t i = 0; i < answer->claim_count; i++) {
        put_claim(out, &answer->claims[i]);
        counts[answer->claims[i].verdict]++;
    }
    mk_buf_printf(out, "%zu supported, %zu weakly supported, %zu unsupported, %zu unverifiable\n",
                  counts[MK_SUPPORTED],
                  counts[MK_WEAKLY_SUPPORTED], counts[MK_UNSUPPORTED], counts[MK_UNVERIFIABLE]);
}

/* ids.c — eids and vids, derived and never stored. Layer: store, internal.
 *
 * eid = first 24 hex of SHA-256(canonical JSON of [src,dst,rel_type,disc]),
 * vid = first 24 hex of SHA-256(identity ":" tt_s ":" vt_s). Source: store spec, section 4. */
#include "base/sha256.h"
#include "store/internal.h"

/* Names short and plain enough, which nearly all are, are written into a buffer on the stack. */
#define PLAIN_MAX 48u

/* Appends the text in quotes; false, with *p anywhere, when it is long or has something to escape. */
static bool put_plain(char **p, mk_str text)
{
    char *to = *p;
    bool plain = text.n <= PLAIN_MAX;
    *to++ = '"';
    for (size_t i = 0; plain && i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];
        plain = c >= 0x20 && c != '"' && c != '\\';
        to[i] = (char)c;
    }
    to[text.n <= PLAIN_MAX ? text.n : 0] = '"';
    *p = to + text.n + 1;
    return plain;
}

/* The canonical list of four plain texts; 0 when one of them is not. */
static size_t plain_identity(const mk_store *store, uint32_t src, uint32_t dst, uint32_t rel,
                             mk_str disc, char text[4 * (PLAIN_MAX + 3) + 2])
{
    char *p = text;
    *p++ = '[';
    if (!put_plain(&p, mk_dict_text(&store->entities, src)))
        return 0;
    *p++ = ',';
    if (!put_plain(&p, mk_dict_text(&store->entities, dst)))
        return 0;
    *p++ = ',';
    if (!put_plain(&p, mk_dict_text(&store->names, rel)))
        return 0;
    *p++ = ',';
    if (!put_plain(&p, disc))
        return 0;
    *p++ = ']';
    return (size_t)(p - text);
}

mk_code mk_ids__eid(const mk_store *store, mk_buf *scratch, uint32_t src, uint32_t dst,
                    uint32_t rel, int64_t disc, char eid[24], mk_err *err)
{
    char digits[MK_DISC_TEXT_MAX];
    bool null;
    const mk_str disc_text = mk_names__disc_text(store, disc, digits, &null);
    char plain[4 * (PLAIN_MAX + 3) + 2];
    const size_t size = null ? 0 : plain_identity(store, src, dst, rel, disc_text, plain);
    if (size > 0) {
        uint8_t sha[32];
        mk_sha256_of(plain, size, sha);
        mk_hex(eid, sha, 12);
        return MK_OK;
    }
    mk_buf_clear(scratch);
    mk_buf_c(scratch, '[');
    mk_canon_string(scratch, mk_dict_text(&store->entities, src));
    mk_buf_c(scratch, ',');
    mk_canon_string(scratch, mk_dict_text(&store->entities, dst));
    mk_buf_c(scratch, ',');
    mk_canon_string(scratch, mk_dict_text(&store->names, rel));
    mk_buf_c(scratch, ',');
    if (null)
        mk_buf_z(scratch, "null");
    else
        mk_canon_string(scratch, disc_text);
    mk_buf_c(scratch, ']');
    const mk_code rc = mk_buf_done(scratch, err);
    if (rc == MK_OK) {
        uint8_t sha[32];
        mk_sha256_of(scratch->p, scratch->n, sha);
        mk_hex(eid, sha, 12);
    }
    return rc;
}

void mk_ids__vid(mk_str identity, int64_t tt_s, int64_t vt_s, char vid[24])
{
    char text[48];
    size_t n = 0;
    text[n++] = ':';
    n += mk_i64_text(text + n, tt_s);
    text[n++] = ':';
    n += mk_i64_text(text + n, vt_s);
    mk_sha256 sha;
    uint8_t digest[32];
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, identity.p, identity.n);
    mk_sha256_add(&sha, text, n);
    mk_sha256_end(&sha, digest);
    mk_hex(vid, digest, 12);
}

typedef struct keyed {
    char vid[24];
    uint32_t row;
} keyed;

/* Stable insertion into place; groups of equal vt_s are small in event data, and large ones are first
 * brought near order by merging halves. */
static void merge_sort(keyed *items, keyed *other, size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t mid = low + width < count ? low + width : count;
            const size_t high = mid + width < count ? mid + width : count;
            size_t i = low, j = mid;
            for (size_t k = low; k < high; k++) {
                const bool left = i < mid && (j >= high || memcmp(items[i].vid, items[j].vid, 24) <= 0);
                other[k] = left ? items[i++] : items[j++];
            }
        }
        memcpy(items, other, count * sizeof *items);
    }
}

static mk_code vid_of(mk_store *store, mk_buf *scratch, const mk_rows *rows, uint32_t row,
                      char vid[24], mk_err *err)
{
    const uint32_t a = (uint32_t)rows->col[MK_C_A][row], b = (uint32_t)rows->col[MK_C_B][row];
    const int64_t tt = mk_batch_tt(store, (uint32_t)rows->col[MK_C_SEQ_S][row]);
    char eid[24];
    mk_str identity = {eid, sizeof eid};
    mk_code rc = MK_OK;
    if (b == MK_NONE)
        identity = mk_dict_text(&store->entities, a);
    else
        rc = mk_ids__eid(store, scratch, a, b, (uint32_t)rows->col[MK_C_REL][row],
                         rows->col[MK_C_DISC][row], eid, err);
    if (rc == MK_OK)
        mk_ids__vid(identity, tt, rows->col[MK_C_VT_S][row], vid);
    return rc;
}

mk_code mk_ids__tie(void *ctx, const mk_rows *rows, uint32_t *group, uint32_t count, mk_err *err)
{
    mk_store *store = ctx;
    mk_buf scratch;
    mk_buf_init(&scratch, store->alloc);
    mk_code rc = MK_OK;
    const size_t size = (size_t)count * 2 * sizeof(keyed);
    keyed *items = mk_new(store->alloc, size);
    if (items == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i].row = group[i];
        MK_TRY(rc, vid_of(store, &scratch, rows, group[i], items[i].vid, err));
    }
    merge_sort(items, items + count, count);
    for (uint32_t i = 0; i < count; i++)
        group[i] = items[i].row;
out:
    mk_free(store->alloc, items, size);
    mk_buf_free(&scratch);
    return rc;
}

/* cmd_store.c — init, digest, stats, rebuild, checkpoint, compact: the store as a whole. Layer: cli. */
#include <stdio.h>
#include <unistd.h>

#include "api_json.h"
#include "cli/cli.h"

/* ---- init ---- */

static mk_code run_init(mk_cli *cli, mk_err *err)
{
    const char *dir = mk_cli__store_dir(cli);
    char meta[4200];
    mk_store *store = NULL;
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    snprintf(meta, sizeof meta, "%.4000s/merkhet.json", dir);
    const bool existed = access(meta, F_OK) == 0;
    MK_TRY(rc, mk_cli__open(cli, dir, MK_OPEN_CREATE_WRITER, false, &store, err));
    if (cli->json) {
        mk_buf_printf(&out, "{\"created\":%s,\"store_id\":\"%s\"}", existed ? "false" : "true",
                      mk_store_id(store));
        MK_TRY(rc, mk_buf_done(&out, err));
        rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
    } else {
        mk_buf_z(&out, existed ? "a store was there already: " : "created an empty store: ");
        mk_text_safe(&out, mk_str_of(dir));
        mk_buf_printf(&out, " (id %s)\n", mk_store_id(store));
        rc = mk_cli__put_buf(cli, &out, err);
    }
out:
    mk_buf_free(&out);
    return mk_cli__close(store, rc, err);
}

/* ---- digest ---- */

static void digest_progress(void *ctx, uint64_t done, uint64_t total)
{
    if (total != 0)
        mk_cli__progress(ctx, "digest: %llu%% of %llu versions", (unsigned long long)(done * 100 / total),
                         (unsigned long long)total);
}

static mk_code put_digest(mk_cli *cli, mk_store *store, mk_err *err)
{
    char digest[65], line[96];
    mk_code rc;
    MK_TRY(rc, mk_store_digest(store, digest, digest_progress, cli, err));
    snprintf(line, sizeof line, cli->json ? "{\"digest\":\"%s\"}\n" : "%s\n", digest);
    mk_cli__progress_end(cli);
    rc = mk_cli__put(cli, mk_str_of(line), err);
out:
    return rc;
}

static mk_code run_digest(mk_cli *cli, mk_err *err)
{
    mk_store *store = NULL;
    mk_code rc;
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_READER, false, &store, err));
    rc = put_digest(cli, store, err);
out:
    return mk_cli__close(store, rc, err);
}

static mk_code run_rebuild(mk_cli *cli, mk_err *err)
{
    mk_store *store = NULL;
    mk_code rc;
    mk_cli__progress(cli, "folding the log");
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_WRITER, true, &store, err));
    MK_TRY(rc, mk_store_checkpoint(store, err));
    rc = put_digest(cli, store, err);
out:
    return mk_cli__close(store, rc, err);
}

/* ---- checkpoint, compact ---- */

static mk_code run_upkeep(mk_cli *cli, bool compact, mk_err *err)
{
    mk_store *store = NULL;
    mk_disk_stats before, after;
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_WRITER, false, &store, err));
    MK_TRY(rc, mk_store_disk_stats(store, &before, err));
    if (compact)
        MK_TRY(rc, mk_store_compact(store, err));
    MK_TRY(rc, mk_store_checkpoint(store, err));
    MK_TRY(rc, mk_store_disk_stats(store, &after, err));
    const uint64_t was = mk_api_disk_total(&before), is = mk_api_disk_total(&after);
    if (cli->json) {
        mk_buf_printf(&out, "{\"bytes_after\":%llu,\"bytes_before\":%llu}", (unsigned long long)is,
                      (unsigned long long)was);
        MK_TRY(rc, mk_buf_done(&out, err));
        rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
    } else {
        mk_buf_z(&out, compact ? "compacted: " : "checkpointed: ");
        mk_text_bytes(&out, was);
        mk_buf_z(&out, " before, ");
        mk_text_bytes(&out, is);
        mk_buf_z(&out, " after\n");
        rc = mk_cli__put_buf(cli, &out, err);
    }
out:
    mk_buf_free(&out);
    return mk_cli__close(store, rc, err);
}

static mk_code run_checkpoint(mk_cli *cli, mk_err *err)
{
    return run_upkeep(cli, false, err);
}

static mk_code run_compact(mk_cli *cli, mk_err *err)
{
    return run_upkeep(cli, true, err);
}

/* ---- stats ---- */

static void put_count(mk_buf *out, const char *name, uint64_t value)
{
    mk_buf_printf(out, "%-18s ", name);
    mk_text_count(out, value);
    mk_buf_c(out, '\n');
}

static void put_time(mk_buf *out, const char *name, bool given, int64_t value)
{
    mk_buf_printf(out, "%-18s ", name);
    if (given)
        mk_text_time(out, value);
    else
        mk_buf_c(out, '-');
    mk_buf_c(out, '\n');
}

static void put_bytes(mk_buf *out, const char *name, uint64_t value)
{
    mk_buf_printf(out, "  %-16s ", name);
    mk_text_bytes(out, value);
    mk_buf_c(out, '\n');
}

static void stats_for_people(const mk_store *store, const mk_api_stats *stats, mk_buf *out)
{
    mk_buf_printf(out, "%-18s ", "store");
    mk_text_safe(out, mk_str_of(mk_store_dir(store)));
    mk_buf_printf(out, " (id %s)\n", mk_store_id(store));
    put_count(out, "entities", stats->view.entities);
    put_count(out, "node versions", stats->view.node_versions);
    put_count(out, "edge versions", stats->view.edge_versions);
    put_time(out, "first valid", stats->view.has_extent, stats->view.vt_min);
    put_time(out, "last valid", stats->view.has_extent, stats->view.vt_max);
    put_time(out, "last belief", stats->last_tt.us != 0, stats->last_tt.us);
    put_count(out, "largest out-degree", stats->view.max_out_degree);
    put_count(out, "batches", stats->batches);
    put_count(out, "frames of the log", stats->frames);
    mk_buf_z(out, "edge versions by relation type\n");
    for (size_t i = 0; i < stats->rel_type_count; i++) {
        mk_buf_z(out, "  ");
        mk_text_safe(out, stats->rel_types[i].rel_type);
        mk_buf_z(out, "  ");
        mk_text_count(out, stats->rel_types[i].count);
        mk_buf_c(out, '\n');
    }
    mk_buf_z(out, "on disk            ");
    mk_text_bytes(out, mk_api_disk_total(&stats->disk));
    mk_buf_c(out, '\n');
    put_bytes(out, "log", stats->disk.log_bytes);
    put_bytes(out, "segments", stats->disk.segment_bytes);
    put_bytes(out, "indexes", stats->disk.index_bytes);
    put_bytes(out, "dictionary", stats->disk.dictionary_bytes);
    put_bytes(out, "traces", stats->disk.trace_bytes);
    put_bytes(out, "other", stats->disk.other_bytes);
}

static mk_code run_stats(mk_cli *cli, mk_err *err)
{
    mk_store *store = NULL;
    mk_api_stats stats;
    mk_arena arena;
    mk_buf out;
    unsigned mask;
    mk_code rc;
    mk_arena_init(&arena, cli->alloc);
    mk_buf_init(&out, cli->alloc);
    MK_TRY(rc, mk_cli__mask(cli, &mask, err));
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_READER, false, &store, err));
    MK_TRY(rc, mk_api_stats_read(store, mask, &arena, &stats, err));
    if (cli->json) {
        mk_api_stats_json(store, &stats, &out);
        MK_TRY(rc, mk_buf_done(&out, err));
        rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
    } else {
        stats_for_people(store, &stats, &out);
        rc = mk_cli__put_buf(cli, &out, err);
    }
out:
    rc = mk_cli__close(store, rc, err);
    mk_buf_free(&out);
    mk_arena_free(&arena);
    return rc;
}

/* ---- the table ---- */

static const mk_option no_options[] = {{0}};
static const mk_option stats_options[] = {
    {.name = "show", .value = "CLASSES", .doc = "count these too: resolution,knowledge,notes"},
    {0},
};

#define MAKE_TEAM "merkhet assert --store team --node ada --label Person\n"

const mk_command mk_commands_store[] = {
    {.name = "init",
     .words = "",
     .summary = "creates an empty store, or does nothing where one is",
     .help = "Commands that write create the store too.",
     .example = "merkhet init --store team",
     .options = no_options,
     .run = run_init},
    {.name = "digest",
     .words = "",
     .summary = "prints the digest of the store, equal for equal contents",
     .help = "SHA-256 over every version, in an order that does not depend on how the store was\n"
             "written. It reads the whole store.",
     .example = MAKE_TEAM "merkhet digest --store team",
     .options = no_options,
     .run = run_digest},
    {.name = "stats",
     .words = "",
     .summary = "prints counts, the extent of valid time, and bytes on disk by part",
     .help = "Counts and extent are over all versions, superseded ones included.",
     .example = MAKE_TEAM "merkhet stats --store team --json",
     .options = stats_options,
     .run = run_stats},
    {.name = "rebuild",
     .words = "",
     .summary = "folds the log again, replaces all that is derived from it, prints the digest",
     .example = MAKE_TEAM "merkhet rebuild --store team",
     .options = no_options,
     .run = run_rebuild},
    {.name = "checkpoint",
     .words = "",
     .summary = "writes what is only in the log and in memory as column files",
     .help = "The store does this by itself; use it before copying a store's folder.",
     .example = MAKE_TEAM "merkhet checkpoint --store team",
     .options = no_options,
     .run = run_checkpoint},
    {.name = "compact",
     .words = "",
     .summary = "merges column files and moves superseded versions apart",
     .help = "The store does this by itself, bit by bit.",
     .example = MAKE_TEAM "merkhet compact --store team",
     .options = no_options,
     .run = run_compact},
    {0},
};

/* golden.c — see golden.h. One line buffer and one arena per reader, reused line after line. */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>

#include "base/sha256.h"

struct golden {
    gzFile gz;
    char path[GOLDEN_PATH_MAX];
    int line_number;
    mk_buf line;
    mk_arena arena;
    uint64_t offset;
    char chain[17];
};

static void broken(const golden *file, const char *what)
{
    fprintf(stderr, "golden: %s:%d: %s\n", file->path, file->line_number, what);
    abort();
}

static bool find_below(char path[GOLDEN_PATH_MAX], const char *variable, const char *folder,
                       const char *name)
{
    const char *root = getenv(variable);
    if (root == NULL || *root == '\0')
        return false;
    const int n = snprintf(path, GOLDEN_PATH_MAX, "%s%s/%s", root, folder, name);
    return n > 0 && n < GOLDEN_PATH_MAX && access(path, R_OK) == 0;
}

bool golden_test_path(char path[GOLDEN_PATH_MAX], const char *name)
{
    return find_below(path, "MK_TEST_DATA", "/golden", name);
}

bool golden_shared_path(char path[GOLDEN_PATH_MAX], const char *name)
{
    return find_below(path, "MK_SHARED_DATA", "", name);
}

golden *golden_open(const char *path)
{
    golden *file = mk_new0(&mk_alloc_default, sizeof *file);
    if (file == NULL)
        abort();
    snprintf(file->path, sizeof file->path, "%s", path);
    mk_buf_init(&file->line, &mk_alloc_default);
    mk_arena_init(&file->arena, &mk_alloc_default);
    file->gz = gzopen(path, "rb");
    if (file->gz == NULL)
        broken(file, "cannot be opened");
    return file;
}

void golden_close(golden *file)
{
    if (file == NULL)
        return;
    gzclose(file->gz);
    mk_arena_free(&file->arena);
    mk_buf_free(&file->line);
    mk_free(&mk_alloc_default, file, sizeof *file);
}

/* Reads up to and with the next LF, or to the end of the file. */
static void read_piece(golden *file)
{
    enum { PIECE = 1 << 16 };
    for (;;) {
        char *room = mk_buf_room(&file->line, PIECE);
        if (room == NULL)
            broken(file, "out of memory");
        if (gzgets(file->gz, room, PIECE) == NULL)
            break;
        file->line.n += strlen(room);
        if (file->line.p[file->line.n - 1] == '\n')
            return;
    }
    int code;
    gzerror(file->gz, &code);
    if (code != Z_OK && code != Z_STREAM_END)
        broken(file, "damaged or cut short");
}

bool golden_line(golden *file, mk_str *line)
{
    mk_arena_reset(&file->arena);
    mk_buf_clear(&file->line);
    file->line_number++;
    read_piece(file);
    file->offset += file->line.n;
    if (file->line.n == 0)
        return false;
    *line = mk_buf_view(&file->line);
    if (line->p[line->n - 1] == '\n')
        line->n--;
    return true;
}

static const mk_json *parse(golden *file, mk_str text)
{
    mk_json *value = NULL;
    mk_err err;
    if (mk_json_parse(&file->arena, text, NULL, &value, &err) != MK_OK)
        broken(file, err.message);
    return value;
}

bool golden_json(golden *file, mk_str *line, const mk_json **value)
{
    if (!golden_line(file, line))
        return false;
    *value = parse(file, *line);
    return true;
}

const mk_json *golden_all(golden *file)
{
    mk_arena_reset(&file->arena);
    mk_buf_clear(&file->line);
    size_t before;
    do {
        before = file->line.n;
        read_piece(file);
    } while (file->line.n > before);
    return parse(file, mk_buf_view(&file->line));
}

static const mk_json *member(const golden *file, const mk_json *object, const char *name,
                             mk_json_kind kind)
{
    const mk_json *value = mk_json_get(object, name);
    if (value == NULL || value->kind != kind) {
        fprintf(stderr, "golden: member %s is missing or of another kind\n", name);
        broken(file, "not in the expected form");
    }
    return value;
}

golden *golden_log_open(const char *path)
{
    golden *log = golden_open(path);
    mk_str line;
    if (!golden_line(log, &line) ||
        !mk_str_eq(line, MK_STR("{\"format\":\"tgms-eventlog\",\"version\":1}")))
        broken(log, "not an event log");
    memcpy(log->chain, "e3b0c44298fc1c14", sizeof log->chain);
    return log;
}

static void extend_chain(golden *log)
{
    mk_sha256 sha;
    uint8_t hash[32];
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, log->chain, 16);
    mk_sha256_add(&sha, log->line.p, log->line.n);
    mk_sha256_end(&sha, hash);
    mk_hex(log->chain, hash, 8);
}

bool golden_log_next(golden *log, golden_batch *batch)
{
    const mk_json *record;
    if (!golden_json(log, &batch->line, &record))
        return false;
    extend_chain(log);
    batch->batch_id = member(log, record, "batch_id", MK_JSON_STRING)->text;
    batch->tt = member(log, record, "tt", MK_JSON_INT)->i;
    batch->ops = member(log, record, "ops", MK_JSON_ARRAY);
    batch->end = log->offset;
    memcpy(batch->chain, log->chain, sizeof batch->chain);
    return true;
}

bool golden_call_next(golden *calls, golden_call *call)
{
    mk_str line;
    const mk_json *record;
    if (!golden_json(calls, &line, &record))
        return false;
    *call = (golden_call){.op = member(calls, record, "op", MK_JSON_STRING)->text,
                          .args = member(calls, record, "args", MK_JSON_OBJECT),
                          .ok = member(calls, record, "ok", MK_JSON_BOOL)->b,
                          .line = calls->line_number};
    if (call->ok) {
        call->digest = member(calls, record, "digest", MK_JSON_STRING)->text;
        call->extent = member(calls, record, "extent", MK_JSON_OBJECT);
        call->payload = mk_json_get(record, "payload");
    } else {
        const mk_json *error = member(calls, record, "error", MK_JSON_OBJECT);
        call->code = member(calls, error, "error", MK_JSON_STRING)->text;
        call->details = member(calls, error, "details", MK_JSON_OBJECT);
    }
    return true;
}

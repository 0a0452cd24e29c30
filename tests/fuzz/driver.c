/* driver.c — runs a fuzz target over a corpus and over seeded mutations of it, without libFuzzer.
 *
 *   fuzz_json [--runs N] [--seconds N] [--seed N] [--dict FILE] [--crash FILE] PATH...
 *
 * Every PATH is a file, or a folder whose files are read in name order. Each file runs once as it is;
 * then N inputs are derived from them by a generator that depends on the seed alone, so a failure is
 * repeated by the same command on any machine. The input that is running is kept aside: when the
 * target dies or takes longer than HANG_SECONDS, it is written to the crash file, which can be given
 * back as a PATH. Coverage-guided search is what `make fuzz` does with clang; this makes ordinary
 * builds replay what that search found, and look around it.
 *
 * Prints TAP: one result for the corpus, one for the mutations. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Told by the sanitizers' run-time just before it ends the process; absent in a plain build. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

#define INPUT_SIZE_MAX (64u * 1024u) /* mutation beyond this finds nothing that less does not */
#define FILE_SIZE_MAX (16u * 1024u * 1024u)
#define FILES_MAX 4096u
#define WORDS_MAX 256u
#define WORD_SIZE_MAX 64u
#define HANG_SECONDS 20u

typedef struct blob {
    uint8_t *data;
    size_t size;
} blob;

typedef struct options {
    uint64_t runs;
    uint64_t seed;
    unsigned seconds;
    const char *dict;
    const char *crash;
} options;

static blob files[FILES_MAX];
static size_t file_count;
static blob words[WORDS_MAX];
static size_t word_count;

/* Read by the handlers below, which may call nothing that allocates. */
static const uint8_t *volatile current_data;
static volatile size_t current_size;
static const char *crash_path = "crash";

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "driver: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

static void *checked(void *p)
{
    if (p == NULL) {
        fputs("driver: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* ---- keeping the input that broke the target ------------------------------------------------- */

static void keep_input(void)
{
    static const char said[] = "\n# the input is in the crash file: ";
    const int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        return;
    size_t done = 0;
    while (done < current_size) {
        const ssize_t n = write(fd, current_data + done, current_size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    close(fd);
    if (write(STDERR_FILENO, said, sizeof said - 1) < 0 ||
        write(STDERR_FILENO, crash_path, strlen(crash_path)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0)
        return;
}

static void on_signal(int number)
{
    keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_hang(int number)
{
    static const char said[] = "# one input ran for too long\n";
    (void)number;
    if (write(STDERR_FILENO, said, sizeof said - 1) < 0)
        _exit(1);
    keep_input();
    _exit(1);
}

static void install_handlers(void)
{
    signal(SIGALRM, on_hang);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(keep_input);
        signal(SIGABRT, on_signal);
        return;
    }
    const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], on_signal);
}

/* The target gets a block of exactly `size` bytes, so that a sanitizer sees a read one past it. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = checked(malloc(size > 0 ? size : 1));
    if (size > 0)
        memcpy(copy, data, size);
    current_data = data;
    current_size = size;
    alarm(HANG_SECONDS);
    (void)LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
}

/* ---- reading corpus and dictionary ------------------------------------------------------------ */

static blob read_file(const char *path)
{
    blob b = {NULL, 0};
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail("cannot open", path);
    struct stat st;
    if (fstat(fileno(f), &st) != 0)
        fail("cannot read", path);
    if (st.st_size > (off_t)FILE_SIZE_MAX) {
        errno = EFBIG;
        fail("cannot use", path);
    }
    b.data = checked(malloc((size_t)st.st_size + 1));
    b.size = fread(b.data, 1, (size_t)st.st_size, f);
    b.data[b.size] = 0;
    fclose(f);
    return b;
}

static int no_dot_files(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_file(const char *path)
{
    if (file_count < FILES_MAX)
        files[file_count++] = read_file(path);
}

/* A folder that is not there is an empty corpus: a new target has none yet. */
static void add_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        if (errno == ENOENT)
            return;
        fail("cannot read", path);
    }
    if (!S_ISDIR(st.st_mode)) {
        add_file(path);
        return;
    }
    struct dirent **entries;
    const int n = scandir(path, &entries, no_dot_files, alphasort);
    if (n < 0)
        fail("cannot list", path);
    for (int i = 0; i < n; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        add_file(name);
        free(entries[i]);
    }
    free(entries);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One word between quotes, in libFuzzer's notation: \\, \" and \xNN. */
static size_t read_word(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (const char *p = text; *p != '\0' && *p != '"' && n < WORD_SIZE_MAX; p++) {
        if (*p != '\\') {
            out[n++] = (uint8_t)*p;
        } else if (p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
            out[n++] = (uint8_t)(hex_digit(p[2]) * 16 + hex_digit(p[3]));
            p += 3;
        } else if (p[1] != '\0') {
            out[n++] = (uint8_t)*++p;
        }
    }
    return n;
}

static void read_dictionary(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    blob text = read_file(path);
    for (char *line = (char *)text.data; line != NULL && word_count < WORDS_MAX;) {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        const char *quote = line[0] == '#' ? NULL : strchr(line, '"');
        if (quote != NULL) {
            uint8_t word[WORD_SIZE_MAX];
            const size_t n = read_word(quote + 1, word);
            blob *w = &words[word_count++];
            w->data = checked(malloc(n + 1));
            w->size = n;
            memcpy(w->data, word, n);
        }
        line = next;
    }
    free(text.data);
}

/* ---- mutation ---------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea and Flood 2014): one word of state, every seed is a good one. */
static uint64_t random_state;

static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n == 0 ? 0 : (size_t)(next_random() % n);
}

static uint8_t input[INPUT_SIZE_MAX];
static size_t input_size;

static void erase(size_t at, size_t n)
{
    memmove(input + at, input + at + n, input_size - at - n);
    input_size -= n;
}

static void insert(size_t at, const uint8_t *data, size_t n)
{
    if (n > INPUT_SIZE_MAX - input_size)
        return;
    memmove(input + at + n, input + at, input_size - at);
    memcpy(input + at, data, n);
    input_size += n;
}

static void overwrite(size_t at, const uint8_t *data, size_t n)
{
    if (n > input_size - at)
        n = input_size - at;
    memcpy(input + at, data, n);
}

/* Repeats a piece many times: the way to deep nesting and long tokens. */
static void repeat_piece(void)
{
    uint8_t piece[32];
    const size_t at = below(input_size);
    size_t n = 1 + below(sizeof piece);
    if (n > input_size - at)
        n = input_size - at;
    memcpy(piece, input + at, n);
    for (size_t i = 1 + below(200); i > 0; i--)
        insert(at, piece, n);
}

static void splice_other(void)
{
    const blob *other = &files[below(file_count)];
    if (other->size == 0)
        return;
    const size_t from = below(other->size);
    size_t n = 1 + below(other->size - from);
    if (n > 4096)
        n = 4096;
    insert(below(input_size + 1), other->data + from, n);
}

static void put_number(void)
{
    static const uint64_t edges[] = {0,      1,          0x7f,       0x80,       0xff,
                                     0x7fff, 0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                     INT64_MAX, 1ull << 62, 1ull << 63, UINT64_MAX};
    const uint64_t value = edges[below(sizeof edges / sizeof edges[0])];
    if (below(2) == 0) {
        char text[32];
        const int n = snprintf(text, sizeof text, "%lld", (long long)value);
        insert(below(input_size + 1), (const uint8_t *)text, (size_t)n);
    } else {
        uint8_t bytes[8];
        memcpy(bytes, &value, sizeof bytes);
        overwrite(below(input_size), bytes, (size_t)1 << below(4));
    }
}

static void mutate_once(void)
{
    const size_t at = below(input_size);
    const uint8_t byte = (uint8_t)next_random();
    if (input_size == 0) {
        insert(0, &byte, 1);
        return;
    }
    switch (below(9)) {
    case 0: input[at] ^= (uint8_t)(1u << below(8)); break;
    case 1: input[at] = byte; break;
    case 2: insert(at, &byte, 1); break;
    case 3: erase(at, 1 + below(input_size - at < 64 ? input_size - at : 64)); break;
    case 4: input_size = at; break;
    case 5: repeat_piece(); break;
    case 6: splice_other(); break;
    case 7: put_number(); break;
    default:
        if (word_count > 0) {
            const blob *w = &words[below(word_count)];
            insert(at, w->data, w->size);
        }
        break;
    }
}

static void make_input(void)
{
    const blob *base = &files[below(file_count)];
    input_size = base->size < INPUT_SIZE_MAX ? base->size : INPUT_SIZE_MAX;
    if (input_size > 0)
        memcpy(input, base->data, input_size);
    for (size_t i = (size_t)1 << below(5); i > 0; i--)
        mutate_once();
}

/* ---- the two passes ----------------------------------------------------------------------------- */

static uint64_t parse_number(const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        fprintf(stderr, "driver: not a number: %s\n", text);
        exit(2);
    }
    return n;
}

static void read_options(int argc, char **argv, options *opt)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strncmp(name, "--", 2) != 0) {
            add_path(name);
            continue;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "driver: %s needs a value\n", name);
            exit(2);
        }
        const char *value = argv[++i];
        if (strcmp(name, "--runs") == 0)
            opt->runs = parse_number(value);
        else if (strcmp(name, "--seed") == 0)
            opt->seed = parse_number(value);
        else if (strcmp(name, "--seconds") == 0)
            opt->seconds = (unsigned)parse_number(value);
        else if (strcmp(name, "--dict") == 0)
            opt->dict = value;
        else if (strcmp(name, "--crash") == 0)
            opt->crash = value;
        else {
            fprintf(stderr, "driver: no such option: %s\n", name);
            exit(2);
        }
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    options opt = {.runs = 10000, .seed = 1, .seconds = 0, .dict = NULL, .crash = "crash"};
    read_options(argc, argv, &opt);
    if (opt.dict != NULL)
        read_dictionary(opt.dict);
    crash_path = opt.crash;
    install_handlers();
    puts("1..2");

    const size_t found = file_count;
    for (size_t i = 0; i < found; i++)
        run(files[i].data, files[i].size);
    run(input, 0);
    printf("ok 1 - corpus: %zu files and the empty input\n", found);
    fflush(stdout);

    if (file_count == 0)
        file_count = 1; /* files[0] is the empty input: mutations grow from nothing */
    random_state = opt.seed;
    const double end = now() + (double)opt.seconds;
    uint64_t done = 0;
    while (done < opt.runs && (opt.seconds == 0 || now() < end)) {
        make_input();
        run(input, input_size);
        done++;
    }
    printf("ok 2 - mutations: %llu runs from seed %llu\n", (unsigned long long)done,
           (unsigned long long)opt.seed);

    for (size_t i = 0; i < found; i++)
        free(files[i].data);
    for (size_t i = 0; i < word_count; i++)
        free(words[i].data);
    return 0;
}

#!/bin/bash
# The library as a stranger uses it: installed, found by pkg-config, linked both ways.
. "$(dirname "$0")/lib.sh"
build=${MK_BUILD:-$repo/build}
if ! [ -e "$build/libmerkhet.so" ] || ! [ -e "$build/libmerkhet.a" ]; then
    skip "the libraries are not built: $build"
    finish
fi
# What `make install` does, from what is built already.
mkdir -p root/lib/pkgconfig root/include
cp -a "$build"/libmerkhet.* root/lib/
cp "$repo/include/merkhet.h" root/include/
version=$(sed -n 's/^VERSION = //p' "$repo/Makefile")
sed -e "s|@PREFIX@|$work/root|" -e "s|@LIBDIR@|$work/root/lib|" -e "s|@VERSION@|$version|" \
    "$repo/merkhet.pc.in" >root/lib/pkgconfig/merkhet.pc
export PKG_CONFIG_PATH=$work/root/lib/pkgconfig

cat >use.c <<'C'
#include <merkhet.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(int holds, const char *what)
{
    printf("%s %s\n", holds ? "holds:" : "BROKEN:", what);
    failures += !holds;
}

int main(void)
{
    mk_db_options options = {.size = sizeof options, .mode = MK_DB_CREATE};
    mk_db_write_options origin = {.size = sizeof origin, .source = "library", .request_id = "r1"};
    mk_db_error error = {.size = sizeof error};
    mk_db_text text = {0}, again = {0};
    mk_db *db, *reader, *second;
    int64_t tt = 0, repeated = 0;
    char digest[65], other[65];
    static const char ops[] =
        "[{\"op\":\"assert_node\",\"uid\":\"ada\",\"label\":\"Person\",\"props\":{},\"vt_s\":0},"
        "{\"op\":\"assert_edge\",\"src\":\"ada\",\"dst\":\"bob\",\"rel_type\":\"KNOWS\",\"vt_s\":5}]";
    static const char bad[] = "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"nobody\"},\"t\":1}";
    static const char args[] = "{\"uid\":\"ada\"}";

    check(strcmp(mk_db_version(), MERKHET_VERSION) == 0, "header and library are of one version");
    check(mk_db_open("none", NULL, &db, &error) == MK_DB_E_NOT_FOUND && db == NULL, "no store, no handle");
    check(strcmp(error.name, "E_NOT_FOUND") == 0 && error.message[0] != 0, "the error says so");
    check(error.details[0] == '{' && error.details[strlen(error.details) - 1] == '}', "details are an object");
    check(mk_db_open("store", &options, &db, &error) == MK_DB_OK, "a store is created");
    check(mk_db_open("store", &options, &second, &error) == MK_DB_E_STATE, "a second writer is refused");
    check(strstr(error.details, "\"reason\":\"locked\"") != NULL, "because it is locked");

    check(mk_db_write(db, ops, strlen(ops), &origin, &tt, &error) == MK_DB_OK && tt > 0, "a batch is written");
    check(mk_db_write(db, ops, strlen(ops), &origin, &repeated, &error) == MK_DB_OK && repeated == tt,
          "a repeated request gives the first time");
    check(mk_db_write(db, bad, strlen(bad), NULL, NULL, &error) == MK_DB_E_NOT_FOUND, "a failing batch is refused");
    check(mk_db_write(db, "[", 1, NULL, NULL, NULL) == MK_DB_E_SCHEMA, "bad JSON is refused, without an error struct");

    check(mk_db_open("store", NULL, &reader, &error) == MK_DB_OK, "a reader opens beside the writer");
    check(mk_db_write(reader, ops, strlen(ops), NULL, NULL, &error) == MK_DB_E_STATE, "a reader does not write");
    check(mk_db_call(db, "entity_history", args, strlen(args), &text, &error) == MK_DB_OK &&
          strstr(text.text, "\"source\":\"library\"") != NULL && strlen(text.text) == text.size,
          "a call answers");
    check(mk_db_call(reader, "entity_history", args, strlen(args), &again, &error) == MK_DB_OK &&
          strcmp(text.text, again.text) == 0, "a reader gives the same answer");
    mk_db_text_free(&again);
    mk_db_text_free(&text);
    mk_db_text_free(&text);
    check(mk_db_call(db, "nope", "{}", 2, &text, &error) == MK_DB_E_INVALID_ARG && text.text == NULL,
          "an unknown operator is refused");

    origin.request_id = NULL;
    check(mk_db_write(db, ops, strlen(ops), &origin, NULL, &error) == MK_DB_OK, "the same again as a new batch");
    check(mk_db_refresh(reader, &error) == MK_DB_OK, "a reader follows");
    check(mk_db_digest(db, digest, &error) == MK_DB_OK && mk_db_digest(reader, other, &error) == MK_DB_OK &&
          strcmp(digest, other) == 0 && strlen(digest) == 64, "both have the same digest");
    check(mk_db_stats(reader, &text, &error) == MK_DB_OK && strstr(text.text, "\"n_edge_versions\":2") != NULL,
          "statistics");
    mk_db_text_free(&text);
    check(mk_db_close(reader, &error) == MK_DB_OK && mk_db_close(db, &error) == MK_DB_OK, "closing");
    check(mk_db_close(NULL, NULL) == MK_DB_OK, "closing nothing");
    puts(digest);
    return failures;
}
C
flags=$(pkg-config --cflags --libs merkhet 2>/dev/null)
contains "pkg-config knows the library" "$flags" "-lmerkhet"
# shellcheck disable=SC2086
works "a program compiles against the shared library" gcc -std=c17 -Wall -Wextra -Werror -o use use.c $flags "-Wl,-rpath,$work/root/lib"
said=$(./use 2>&1); rc=$?
while read -r line; do
    case $line in holds:*) ok "shared: ${line#holds: }" ;; BROKEN:*) not_ok "shared: ${line#BROKEN: }" ;; esac
done <<<"$said"
is "the program ends well" "$rc" 0
is "the program and merkhet see the same store" "$("$merkhet" digest --store store)" "$(tail -n 1 <<<"$said")"

rm -rf store
# shellcheck disable=SC2046
works "it links statically" gcc -std=c17 -o use-static use.c -Iroot/include root/lib/libmerkhet.a \
    $(pkg-config --static --libs-only-l merkhet | sed 's/-lmerkhet//')
./use-static >/dev/null 2>&1
is "and runs" "$?" 0
works "the header is C++ too" sh -c "command -v g++ >/dev/null || exit 0; echo '#include <merkhet.h>' | g++ -fsyntax-only -Iroot/include -x c++ -"
works "the libraries export what the header declares and nothing else" \
    "$repo/tools/exports.sh" check "$repo/include/merkhet.h" root/lib/libmerkhet.so root/lib/libmerkhet.a
finish

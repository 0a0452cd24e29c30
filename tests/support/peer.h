/* peer.h — SQLite, asked the same questions in the same run.
 *
 * The library is looked for when a program starts, so that building tests and benchmarks needs nothing more
 * than Merkhet does; where it is absent, what needs it is left out and says so. */
#ifndef MK_TESTS_PEER_H
#define MK_TESTS_PEER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct peer peer;
typedef struct peer_query peer_query;

/* An empty database in a new file, or ":memory:". NULL when there is no SQLite (package libsqlite3-0). */
peer *peer_open(const char *path);
void peer_close(peer *db); /* NULL is fine */
const char *peer_version(const peer *db);

/* Everything below ends the program when SQLite reports an error. */
void peer_run(peer *db, const char *sql);
peer_query *peer_prepare(peer *db, const char *sql);
void peer_finish(peer_query *query);
void peer_bind_int(peer_query *query, int at, int64_t value); /* `at` counts from 1 */
void peer_bind_text(peer_query *query, int at, const char *text);
bool peer_step(peer_query *query); /* true: a row is there; false: done, and reset for the next time */
int64_t peer_int(peer_query *query, int column);

#endif

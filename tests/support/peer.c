/* peer.c — see peer.h. Only the few functions we call are declared, as SQLite's own manual gives them. */
#include "peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define ROW 100
#define DONE 101

struct peer {
    void *library, *db;
    int (*open)(const char *, void **);
    int (*close)(void *);
    int (*exec)(void *, const char *, void *, void *, char **);
    int (*prepare)(void *, const char *, int, void **, const char **);
    int (*finalize)(void *);
    int (*step)(void *);
    int (*reset)(void *);
    int (*bind_int)(void *, int, long long);
    int (*bind_text)(void *, int, const char *, int, void (*)(void *));
    long long (*column)(void *, int);
    const char *(*message)(void *);
    const char *(*version)(void);
};

struct peer_query {
    peer *db;
    void *statement;
};

static void want(peer *db, int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "SQLite: %s: %s\n", what, db->db ? db->message(db->db) : "?");
    exit(1);
}

static bool look_up(peer *db)
{
    const struct {
        void **to;
        const char *name;
    } wanted[] = {
        {(void **)&db->open, "sqlite3_open"},
        {(void **)&db->close, "sqlite3_close"},
        {(void **)&db->exec, "sqlite3_exec"},
        {(void **)&db->prepare, "sqlite3_prepare_v2"},
        {(void **)&db->finalize, "sqlite3_finalize"},
        {(void **)&db->step, "sqlite3_step"},
        {(void **)&db->reset, "sqlite3_reset"},
        {(void **)&db->bind_int, "sqlite3_bind_int64"},
        {(void **)&db->bind_text, "sqlite3_bind_text"},
        {(void **)&db->column, "sqlite3_column_int64"},
        {(void **)&db->message, "sqlite3_errmsg"},
        {(void **)&db->version, "sqlite3_libversion"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].to = dlsym(db->library, wanted[i].name);
        if (*wanted[i].to == NULL)
            return false;
    }
    return true;
}

peer *peer_open(const char *path)
{
    peer *db = calloc(1, sizeof *db);
    if (db == NULL)
        abort();
    db->library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (db->library == NULL || !look_up(db)) {
        if (db->library != NULL)
            dlclose(db->library);
        free(db);
        return NULL;
    }
    remove(path);
    want(db, db->open(path, &db->db), path);
    return db;
}

void peer_close(peer *db)
{
    if (db == NULL)
        return;
    db->close(db->db);
    dlclose(db->library);
    free(db);
}

const char *peer_version(const peer *db) { return db->version(); }

void peer_run(peer *db, const char *sql) { want(db, db->exec(db->db, sql, NULL, NULL, NULL), sql); }

peer_query *peer_prepare(peer *db, const char *sql)
{
    peer_query *query = calloc(1, sizeof *query);
    if (query == NULL)
        abort();
    query->db = db;
    want(db, db->prepare(db->db, sql, -1, &query->statement, NULL), sql);
    return query;
}

void peer_finish(peer_query *query)
{
    query->db->finalize(query->statement);
    free(query);
}

void peer_bind_int(peer_query *query, int at, int64_t value)
{
    want(query->db, query->db->bind_int(query->statement, at, value), "binding a number");
}

void peer_bind_text(peer_query *query, int at, const char *text)
{
    /* No destructor: the text outlives the step. */
    want(query->db, query->db->bind_text(query->statement, at, text, -1, NULL), "binding a text");
}

bool peer_step(peer_query *query)
{
    const int rc = query->db->step(query->statement);
    if (rc == ROW)
        return true;
    if (rc != DONE)
        want(query->db, rc, "step");
    want(query->db, query->db->reset(query->statement), "reset");
    return false;
}

int64_t peer_int(peer_query *query, int column)
{
    return query->db->column(query->statement, column);
}

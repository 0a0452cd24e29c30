/* metrics.c — see metrics.h. Layer: serve. */
#include "serve/metrics.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Upper bounds of the histogram's buckets, us: from what a history costs to the longest deadline. */
static const int64_t bounds[MK_METRIC_BUCKETS] = {10,    50,     100,    500,     1000,    5000,
                                                  10000, 50000, 100000, 500000, 1000000, 10000000};

static const char *const methods[] = {"initialize",
                                      "server/discover",
                                      "ping",
                                      "tools/list",
                                      "tools/call",
                                      "resources/list",
                                      "resources/templates/list",
                                      "resources/read",
                                      "prompts/list",
                                      "prompts/get",
                                      "completion/complete",
                                      "resources/subscribe",
                                      "resources/unsubscribe",
                                      "logging/setLevel",
                                      "subscriptions/listen",
                                      "notifications/initialized",
                                      "notifications/cancelled"};
#define METHODS (sizeof methods / sizeof *methods)

static size_t op_index(const mk_operator *op)
{
    size_t count;
    const mk_operator *const *all = mk_operators(&count);
    for (size_t i = 0; i < count && i < MK_METRIC_OPS; i++)
        if (all[i] == op)
            return i;
    return MK_METRIC_OPS;
}

void mk_metrics_op(mk_metrics *m, const mk_operator *op, int64_t us, bool ok)
{
    const size_t i = op_index(op);
    if (i == MK_METRIC_OPS)
        return;
    mk_histogram *h = &m->ops[i][ok ? 0 : 1];
    size_t b = 0;
    while (b < MK_METRIC_BUCKETS && us > bounds[b])
        b++;
    atomic_fetch_add_explicit(&h->counts[b], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_us, (uint64_t)(us > 0 ? us : 0), memory_order_relaxed);
}

void mk_metrics_http(mk_metrics *m, size_t route, unsigned status)
{
    const size_t r = route < MK_METRIC_ROUTES ? route : MK_METRIC_ROUTES;
    const size_t c = status >= 100 && status < 600 ? status / 100 - 1 : 4;
    atomic_fetch_add_explicit(&m->http[r][c], 1, memory_order_relaxed);
}

void mk_metrics_mcp(mk_metrics *m, mk_str method, bool modern, bool ok)
{
    size_t i = 0;
    while (i < METHODS && !mk_str_eq(method, mk_str_of(methods[i])))
        i++;
    atomic_fetch_add_explicit(&m->mcp[i < METHODS ? i : MK_METRIC_METHODS][modern ? 1 : 0][ok ? 0 : 1], 1,
                              memory_order_relaxed);
}

/* ---- text ---- */

static void put_ops(const mk_metrics *m, mk_buf *out)
{
    size_t count;
    const mk_operator *const *all = mk_operators(&count);
    static const char *const outcomes[] = {"ok", "error"};
    mk_buf_z(out, "# HELP merkhet_op_duration_seconds How long operators took.\n# TYPE "
                  "merkhet_op_duration_seconds histogram\n");
    for (size_t i = 0; i < count && i < MK_METRIC_OPS; i++)
        for (int o = 0; o < 2; o++) {
            const mk_histogram *h = &m->ops[i][o];
            uint64_t n = 0;
            for (size_t b = 0; b <= MK_METRIC_BUCKETS; b++)
                n += atomic_load(&h->counts[b]);
            if (n == 0)
                continue;
            uint64_t below = 0;
            for (size_t b = 0; b < MK_METRIC_BUCKETS; b++) {
                below += atomic_load(&h->counts[b]);
                mk_buf_printf(out,
                              "merkhet_op_duration_seconds_bucket{op=\"%s\",outcome=\"%s\",le=\"%g\"} %llu\n",
                              all[i]->name, outcomes[o], (double)bounds[b] / 1e6, (unsigned long long)below);
            }
            mk_buf_printf(out,
                          "merkhet_op_duration_seconds_bucket{op=\"%s\",outcome=\"%s\",le=\"+Inf\"} %llu\n",
                          all[i]->name, outcomes[o], (unsigned long long)n);
            mk_buf_printf(out, "merkhet_op_duration_seconds_sum{op=\"%s\",outcome=\"%s\"} %.6f\n",
                          all[i]->name, outcomes[o], (double)atomic_load(&h->sum_us) / 1e6);
            mk_buf_printf(out, "merkhet_op_duration_seconds_count{op=\"%s\",outcome=\"%s\"} %llu\n",
                          all[i]->name, outcomes[o], (unsigned long long)n);
        }
}

static void put_requests(const mk_metrics *m, const mk_metrics_facts *facts, mk_buf *out)
{
    mk_buf_z(out, "# HELP merkhet_http_requests_total Requests by route and class of status.\n# TYPE "
                  "merkhet_http_requests_total counter\n");
    for (size_t r = 0; r <= facts->route_count && r <= MK_METRIC_ROUTES; r++)
        for (int c = 0; c < 5; c++) {
            const uint64_t n = atomic_load(&m->http[r == facts->route_count ? MK_METRIC_ROUTES : r][c]);
            if (n != 0)
                mk_buf_printf(out, "merkhet_http_requests_total{route=\"%s\",code=\"%dxx\"} %llu\n",
                              r == facts->route_count ? "none" : facts->routes[r], c + 1,
                              (unsigned long long)n);
        }
    mk_buf_z(out, "# HELP merkhet_mcp_requests_total Messages of the Model Context Protocol.\n# TYPE "
                  "merkhet_mcp_requests_total counter\n");
    for (size_t i = 0; i <= METHODS; i++)
        for (int e = 0; e < 2; e++)
            for (int o = 0; o < 2; o++) {
                const uint64_t n = atomic_load(&m->mcp[i == METHODS ? MK_METRIC_METHODS : i][e][o]);
                if (n != 0)
                    mk_buf_printf(
                        out, "merkhet_mcp_requests_total{method=\"%s\",era=\"%s\",outcome=\"%s\"} %llu\n",
                        i == METHODS ? "other" : methods[i], e ? "modern" : "legacy", o ? "error" : "ok",
                        (unsigned long long)n);
            }
}

static void put_gauge(mk_buf *out, const char *name, const char *help, int64_t value)
{
    mk_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %lld\n", name, help, name, name, (long long)value);
}

static void put_process(mk_buf *out)
{
    struct rusage usage;
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL) {
        if (fscanf(f, "%ld %ld", &ignored, &pages) != 2)
            pages = 0;
        fclose(f);
    }
    put_gauge(out, "process_resident_memory_bytes", "Resident memory.",
              (int64_t)pages * sysconf(_SC_PAGESIZE));
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        mk_buf_printf(out,
                      "# HELP process_cpu_seconds_total User and system time.\n# TYPE "
                      "process_cpu_seconds_total counter\n"
                      "process_cpu_seconds_total %.6f\n",
                      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

void mk_metrics_text(const mk_metrics *m, const mk_metrics_facts *facts, mk_buf *out)
{
    mk_buf_printf(out,
                  "# HELP merkhet_build_info The program.\n# TYPE merkhet_build_info "
                  "gauge\nmerkhet_build_info{version=\"%s\"} 1\n",
                  facts->version);
    put_ops(m, out);
    put_requests(m, facts, out);
    put_gauge(out, "merkhet_sessions", "Sessions of the protocol.", atomic_load(&m->sessions));
    if (facts->has_store) {
        put_gauge(out, "merkhet_store_last_tt", "Transaction time of the last commit, microseconds.",
                  facts->last_tt);
        put_gauge(out, "merkhet_store_versions", "Versions of nodes and edges that are believed.",
                  facts->versions);
        put_gauge(out, "merkhet_log_bytes", "Size of the log on disk.", facts->log_bytes);
    }
    put_process(out);
}

/* curl_api.c — see curl_api.h. Layer: model. */
#include "model/curl_api.h"

#include <dlfcn.h>
#include <string.h>

#include "model/reply.h"

/* The name has been the same since 2006; the second is Debian's other build. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

/* An address becomes a pointer to a function: ISO C has no cast for it, POSIX promises that bytes do. */
static bool find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool find_all(mk_curl_api *api)
{
    void *l = api->library;
    return find(l, "curl_global_init", &api->global_init) &&
           find(l, "curl_global_cleanup", &api->global_cleanup) &&
           find(l, "curl_easy_init", &api->easy_init) && find(l, "curl_easy_setopt", &api->easy_setopt) &&
           find(l, "curl_easy_perform", &api->easy_perform) &&
               find(l, "curl_easy_getinfo", &api->easy_getinfo) &&
           find(l, "curl_easy_cleanup", &api->easy_cleanup) &&
               find(l, "curl_easy_strerror", &api->easy_strerror) &&
           find(l, "curl_slist_append", &api->slist_append) &&
               find(l, "curl_slist_free_all", &api->slist_free_all);
}

mk_code mk_curl_load(mk_curl_api *api, mk_err *err)
{
    *api = (mk_curl_api){0};
    for (size_t i = 0; i < sizeof names / sizeof *names && api->library == NULL; i++)
        api->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (api->library == NULL || !find_all(api)) {
        mk_model__fail(err, "unreachable", "%s is not installed", names[0]);
        mk_err_hint(err, "install libcurl 7.84 or later, or ask without a model");
        mk_err_retry(err, MK_RETRY_AFTER_FIX);
        if (api->library != NULL)
            dlclose(api->library);
        api->library = NULL;
        return MK_E_MODEL;
    }
    if (api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return MK_OK;
    dlclose(api->library);
    api->library = NULL;
    return mk_fail_nomem(err);
}

/* The code stays in memory: the libraries below it leave things to be done when the process ends. */
void mk_curl_unload(mk_curl_api *api)
{
    if (api->library == NULL)
        return;
    api->global_cleanup();
    dlclose(api->library);
    api->library = NULL;
}

/* curl_api.h — libcurl, loaded when a model is first asked for. Layer: model, internal.
 *
 * Linked in the ordinary way it brings thirty libraries along, whose loading takes two thirds of the
 * time of a command that never speaks to a model (15.3 ms instead of 5.7 ms for `merkhet version`). */
#ifndef MK_MODEL_CURL_API_H
#define MK_MODEL_CURL_API_H

#include <curl/curl.h>

#include "base/err.h"

typedef struct mk_curl_api {
    void *library;
    CURLcode (*global_init)(long flags);
    void (*global_cleanup)(void);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *curl);
    CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
    void (*easy_cleanup)(CURL *curl);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
} mk_curl_api;

/* Errors: MK_E_MODEL with the reason "unreachable" when the library is not there or too old; MK_E_NOMEM. */
MK_CHECK mk_code mk_curl_load(mk_curl_api *api, mk_err *err);
void mk_curl_unload(mk_curl_api *api);

#endif

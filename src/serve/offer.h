/* offer.h — what the product offers over the Model Context Protocol. Layer: serve.
 *
 * Tools, the data set's card and the manual as resources, results that were served, three prompts, and
 * completion of entity names. Source: serving spec, 3 and 6. */
#ifndef MK_SERVE_OFFER_H
#define MK_SERVE_OFFER_H

#include "serve/tool.h"

#define MK_CARD_URI "merkhet://dataset/card"

/* `service` and `tools` must outlive it. */
void mk_offer_init(mk_mcp_offer *offer, mk_service *service, const mk_tools *tools, const char *version);

#endif

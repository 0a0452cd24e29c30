/* ref.h — references from one step of a plan into the result of another. Layer: plan.
 *
 * They are read and followed in base, because claims use them too and know nothing of plans. */
#ifndef MK_PLAN_REF_H
#define MK_PLAN_REF_H

#include "base/ref.h"

#endif

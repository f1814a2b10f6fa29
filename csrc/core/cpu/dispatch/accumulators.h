// Tensors of superaccumulators on the CPU: rounding and carrying.
#pragma once

#include "core/contract/types.h"

namespace torch_reduce::cpu {

// Of `count` accumulators of `words` words each: the rounded value over `divisor`; the same value normalised.
TR_SHARED void round_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type,
                                  void* out);
TR_SHARED void normalize_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t* out);

}  // namespace torch_reduce::cpu

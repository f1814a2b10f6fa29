// Tensors of superaccumulators on a GPU: rounding and carrying.
#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/types.h"

namespace torch_reduce::cuda {

// Of `count` accumulators of `words` words each, one after the other: the value over `divisor`, rounded to `type`; the
// same value normalised.
TR_SHARED cudaError_t launch_exact_round(const int64_t* accumulators, int64_t count, int words, int64_t divisor,
                                         DType type, void* out, cudaStream_t stream);
TR_SHARED cudaError_t launch_exact_normalize(const int64_t* accumulators, int64_t count, int words, int64_t* out,
                                             cudaStream_t stream);

}  // namespace torch_reduce::cuda

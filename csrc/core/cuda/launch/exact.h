// Runs an exact plan on a GPU. No PyTorch: pointers and a stream in, an error code out.
#pragma once

#include "core/cuda/launch/launch.h"
#include "core/plan/gpu/exact.h"

namespace torch_reduce::cuda {

// As launch(); with `words` the results are normalised superaccumulators, and the output's strides count words.
cudaError_t launch_exact(const exact::ExactPlan& plan, const Problem& problem, bool words, const Buffers& buffers,
                         cudaStream_t stream, bool dependent_launch);

// One per element type, each in a file of its own so that they compile side by side.
template <class In>
cudaError_t launch_exact_typed(const exact::ExactPlan& plan, const Problem& problem, bool words, const Buffers& buffers,
                               cudaStream_t stream, bool dependent_launch);

// Of `count` accumulators of `words` words each, one after the other: the value over `divisor`, rounded to `type`; the
// same value normalised.
cudaError_t launch_exact_round(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type,
                               void* out, cudaStream_t stream);
cudaError_t launch_exact_normalize(const int64_t* accumulators, int64_t count, int words, int64_t* out,
                                   cudaStream_t stream);

}  // namespace torch_reduce::cuda

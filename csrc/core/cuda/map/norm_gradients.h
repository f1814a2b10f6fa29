// All gradients of a norm in one pass.
#pragma once

#include <cuda_runtime_api.h>

#include "core/cuda/map/buffers.h"
#include "core/plan/gpu/gradients/norm_gradients.h"

namespace torch_reduce::cuda {

// Of the problem of the norm's derivative, whose buffers these are. `sums`, of the compute type: what weight and bias
// have, of every place, one behind the other.
TR_SHARED cudaError_t launch_norm_gradients(const NormGradientsPlan& plan, const MapProblem& problem,
                                            const MapBuffers& buffers, void* sums, cudaStream_t stream,
                                            bool dependent_launch);

}  // namespace torch_reduce::cuda

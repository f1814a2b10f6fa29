// Exact sums of products that are read by single elements, by their plan.
#pragma once

#include <cuda_runtime_api.h>

#include "core/cuda/start/buffers.h"
#include "core/plan/gpu/exact.h"

namespace torch_reduce::cuda {

cudaError_t launch_element_products(const exact::ExactPlan& plan, const Problem& problem, const Buffers& buffers,
                                    cudaStream_t stream, bool dependent_launch);

}  // namespace torch_reduce::cuda

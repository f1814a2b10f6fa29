// The memory that a map works on.
#pragma once

#include <cuda_runtime_api.h>

#include "core/plan/gpu/map.h"

namespace torch_reduce::cuda {

// Null: not given, or not asked for. Scratch: plan.scratch_bytes, aligned to 16 bytes; contents do not matter.
struct MapBuffers {
  const void *x, *second, *weight, *bias, *read;
  const bool* mask;
  void *out, *written, *sum, *scratch;
};

// As launch.h has it of a reduction.
TR_SHARED cudaError_t launch_map(const MapPlan& plan, const MapProblem& problem, const MapBuffers& buffers,
                                 cudaStream_t stream, bool dependent_launch);

// One per map, each in a file of its own so that they compile side by side.
template <class M>
cudaError_t launch_map_of(const MapPlan& plan, const MapProblem& problem, const MapBuffers& buffers,
                          cudaStream_t stream, bool dependent_launch);

}  // namespace torch_reduce::cuda

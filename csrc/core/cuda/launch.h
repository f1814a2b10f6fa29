// Runs a plan on a GPU. No PyTorch: pointers and a stream in, an error code out.
#pragma once

#include <cuda_runtime_api.h>

#include "../plan.h"

namespace torch_reduce::cuda {

struct Buffers {
  const void* in;
  void* out;
  void* scratch;  // plan.scratch_bytes, aligned to 16 bytes; contents do not matter
};

// `dependent_launch`: the device and driver have programmatic dependent launch (compute capability 9.0 and up).
// Nothing is synchronised; the current device must be the stream's.
cudaError_t launch(const Plan& plan, const Problem& problem, const Buffers& buffers, cudaStream_t stream,
                   bool dependent_launch);

// One per operator and compute type, each in a file of its own so that they compile side by side.
template <class O, class Acc>
cudaError_t launch_typed(const Plan& plan, const Problem& problem, const Buffers& buffers, cudaStream_t stream,
                         bool dependent_launch);

}  // namespace torch_reduce::cuda

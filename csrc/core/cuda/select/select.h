// Selects on a GPU. No PyTorch: pointers and a stream in, an error code out.
#pragma once

#include <cuda_runtime_api.h>

#include "core/cuda/start/buffers.h"
#include "core/plan/gpu/select/select.h"

namespace torch_reduce::cuda {

// The output has the indices, as int64. The current device must be the stream's.
TR_SHARED cudaError_t launch_selection(const SelectPlan& plan, const Selection& selection, const Buffers& buffers,
                                       cudaStream_t stream, bool dependent_launch);

}  // namespace torch_reduce::cuda

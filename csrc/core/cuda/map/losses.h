// The steps of a loss that are a number or two a row.
#pragma once

#include <cuda_runtime_api.h>

#include "core/problem/loss_steps.h"

namespace torch_reduce::cuda {

// A target that is no class is a device-side assertion, as torch's.
TR_SHARED cudaError_t launch_loss_step(LossStep step, const MapProblem& problem, const LossBuffers<float>& buffers,
                                       const LossOptions& options, cudaStream_t stream, bool dependent_launch);
TR_SHARED cudaError_t launch_loss_step(LossStep step, const MapProblem& problem, const LossBuffers<double>& buffers,
                                       const LossOptions& options, cudaStream_t stream, bool dependent_launch);

}  // namespace torch_reduce::cuda

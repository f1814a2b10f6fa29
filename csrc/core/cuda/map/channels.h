// Maps of elements by channel.
#pragma once

#include <cuda_runtime_api.h>

#include "core/plan/gpu/channels.h"

namespace torch_reduce::cuda {

// Elements lie at multiples of 16 bytes.
TR_SHARED cudaError_t launch_channel_map(const ChannelPlan& plan, const ChannelProblem& problem,
                                         const ChannelBuffers& buffers, cudaStream_t stream, bool dependent_launch);

}  // namespace torch_reduce::cuda

// Selects on a GPU. No PyTorch: pointers and a stream in, an error code out.
#pragma once

#include <cuda_runtime_api.h>

#include "core/problem/selection.h"

namespace torch_reduce::cuda {

// The most elements that are selected of a row which has more than kSelectedAtOnce.
constexpr int64_t kMostSelected = 1024, kSelectedAtOnce = 2048;
inline bool can_select(int64_t n, int64_t count) { return n <= kSelectedAtOnce || count <= kMostSelected; }

// Of a selection that can be; the current device must be the stream's.
TR_SHARED cudaError_t launch_selection(const Selection& selection, const void* in, int64_t* out, cudaStream_t stream,
                                       bool dependent_launch);

}  // namespace torch_reduce::cuda

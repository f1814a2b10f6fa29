// Runs work on a GPU. No PyTorch: pointers and a stream in, an error code out.
#pragma once

#include <cuda_runtime_api.h>

#include "core/cuda/start/buffers.h"
#include "core/plan/gpu/work.h"

namespace torch_reduce::cuda {

// Whether kernels may be launched before the one before them has ended: whether the code that the current device, this
// one, runs was compiled for 9.0 or later. Earlier code, which a later GPU's driver compiles too, does not wait for
// what comes before it (block/dependent_launch.cuh).
TR_SHARED bool has_dependent_launch(int device);

// What plans may know of a device, which is the current one.
TR_SHARED cudaError_t describe_current_gpu(int device, Gpu& gpu);

// `dependent_launch`: as above. Nothing is synchronised; the current device must be the stream's. The output of
// superaccumulators has strides that count words.
TR_SHARED cudaError_t launch(const Work& work, const Buffers& buffers, cudaStream_t stream, bool dependent_launch);

// One per operator and compute type, and one per element type of exact sums, each in a file of its own so that they
// compile side by side.
template <class O, class Word>
cudaError_t launch_typed(const Plan& plan, const Problem& problem, const Buffers& buffers, cudaStream_t stream,
                         bool dependent_launch);
template <class O, class Word>
cudaError_t launch_scan_typed(const ScanPlan& plan, const Problem& problem, const Buffers& buffers, cudaStream_t stream,
                              bool dependent_launch);
template <class In>
cudaError_t launch_exact_typed(const exact::ExactPlan& plan, const Problem& problem, const Buffers& buffers,
                               cudaStream_t stream, bool dependent_launch);
template <class In>
cudaError_t launch_exact_products(const exact::ExactPlan& plan, const Problem& problem, const Buffers& buffers,
                                  cudaStream_t stream, bool dependent_launch);

}  // namespace torch_reduce::cuda

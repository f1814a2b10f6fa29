// Zeroes what the kernel behind it adds to. A memset takes longer.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

struct ZeroArgs {
  uint32_t* words;
  int64_t count;
};
template <class Acc>
__global__ void zero(const __grid_constant__ ZeroArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  wait_for_previous_kernel();
  allow_next_kernel();
  if (i < a.count) a.words[i] = 0;
}

template <class Acc>
cudaError_t start_zero(uint32_t* words, int64_t count, cudaStream_t stream, bool dependent) {
  constexpr int kThreads = 256;
  return start(zero<Acc>, ZeroArgs{words, count},
               Launch{(count + kThreads - 1) / kThreads, kThreads, 0, stream, dependent});
}

}  // namespace torch_reduce::cuda

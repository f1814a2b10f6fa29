// Copies to shared memory in groups: those of the next rows are on the way while a lane works on this one's.
#pragma once

#include "core/cuda/lane/device.cuh"

namespace torch_reduce::cuda {

// Ends a group of what copy16() has begun.
__device__ __forceinline__ void commit_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for all groups but the last `Groups`.
template <int Groups>
__device__ __forceinline__ void wait_for_copies_but() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
}

}  // namespace torch_reduce::cuda

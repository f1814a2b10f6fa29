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
// The same of a number that a program counts; of more than three, it waits for all.
__device__ __forceinline__ void wait_for_copies_but(int groups) {
  switch (groups) {
    case 1:
      return wait_for_copies_but<1>();
    case 2:
      return wait_for_copies_but<2>();
    case 3:
      return wait_for_copies_but<3>();
    default:
      return wait_for_copies_but<0>();
  }
}

}  // namespace torch_reduce::cuda

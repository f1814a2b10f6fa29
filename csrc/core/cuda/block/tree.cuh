// Trees over values in a CTA's shared memory.
#pragma once

#include "core/contract/ops.h"
#include "core/cuda/lane/device.cuh"

namespace torch_reduce::cuda {

// The trees over groups of 2^log_group of `count` values in shared memory, by the whole CTA. Returns the log of the
// lanes that a group has in the first warp, of which the first has the result in v. More than a warp of values are one
// group.
template <class O, class Acc>
__device__ __forceinline__ int tree_over_slots(Acc* slots, int count, int log_group, Acc& v) {
  __syncthreads();
#pragma unroll 1
  for (; count > kWarp; count /= 2, --log_group) {
    // In pieces of the CTA: what a piece writes, no later piece reads.
#pragma unroll 1
    for (int i = 0; i < count / 2; i += blockDim.x) {
      const int mine = i + threadIdx.x;
      const Acc pair = mine < count / 2 ? O::combine(slots[2 * mine], slots[2 * mine + 1]) : Acc{};
      __syncthreads();
      if (mine < count / 2) slots[mine] = pair;
    }
    __syncthreads();
  }
  const int lane = threadIdx.x % kWarp;
  v = lane < count ? slots[lane] : O::template identity<Acc>();
#pragma unroll
  for (int level = 0; level < 5; ++level) {
    if (level >= log_group) break;
    v = O::combine(v, exchange(v, 1 << level));
  }
  return log_group;
}

}  // namespace torch_reduce::cuda

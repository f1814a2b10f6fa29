// Clusters (Hopper and later): CTAs that run at the same time and can write to each other's shared memory, so that the
// units of one output meet without a second kernel.
//
// Every CTA hands its values to the first one, or to all. That it has begun is known by a first barrier, which nobody
// waits for until there is something to hand over; that all values are there, by a second one. Threads that end before
// count as having come to both.
#pragma once

#include "core/contract/accumulator.h"
#include "core/cuda/lane/device.cuh"
#include "core/plan/gpu/plan.h"

namespace torch_reduce::cuda {

// The number of the calling CTA in its cluster.
__device__ __forceinline__ uint32_t rank_in_cluster() {
  uint32_t rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

// The number of the calling CTA's cluster in the grid.
__device__ __forceinline__ uint32_t cluster_of_grid() {
  uint32_t cluster = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
#endif
  return cluster;
}

__device__ __forceinline__ void arrive_in_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

// Stores v where `mine`, an address in this CTA's shared memory, lies in that of the CTA of a number in the cluster.
template <class Acc>
__device__ __forceinline__ void hand_to(uint32_t rank, Acc* mine, Acc v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(remote)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(mine))), "r"(rank));
  if constexpr (!std::is_arithmetic<Acc>::value) {
    using Word = std::conditional_t<alignof(Acc) % 8 == 0, uint64_t, uint32_t>;
    constexpr int kWords = static_cast<int>(sizeof(Acc) / sizeof(Word));
    Word word[kWords];
    memcpy(word, &v, sizeof(Acc));
#pragma unroll
    for (int i = 0; i < kWords; ++i) hand_to(rank, reinterpret_cast<Word*>(mine) + i, word[i]);
  } else if constexpr (sizeof(Acc) == 8) {
    asm volatile("st.shared::cluster.b64 [%0], %1;" ::"r"(remote), "l"(bit_cast<uint64_t>(v)) : "memory");
  } else {
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(remote), "r"(bit_cast<uint32_t>(v)) : "memory");
  }
#endif
}
template <class Acc>
__device__ __forceinline__ void hand_to_first(Acc* mine, Acc v) {
  hand_to(0, mine, v);
}

}  // namespace torch_reduce::cuda

// What every kernel uses: 16-byte loads, a warp's exchange, and the hooks of programmatic dependent launch.
#pragma once

#include "../numeric.h"

namespace torch_reduce::cuda {

constexpr int kWarp = 32;

template <class In>
constexpr int vector_width = 16 / static_cast<int>(sizeof(In));

// An element whose type is known at run time only: for the rare combinations of types.
struct Any {};

// Read once, so kept out of L1.
__device__ __forceinline__ uint4 load16(const void* p) {
  uint4 v;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
#else  // tests run kernels on the CPU
  __builtin_memcpy(&v, p, sizeof(v));
#endif
  return v;
}

// For memory of which another load of this SM reads the rest of the sector.
__device__ __forceinline__ uint4 load16_kept(const void* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

template <class In>
struct alignas(16) Vector {
  In e[vector_width<In>];
};

template <class Acc>
__device__ __forceinline__ Acc exchange(Acc v, int lane_mask) {
  return __shfl_xor_sync(0xffffffffu, v, lane_mask);
}

// Combines the values of neighbouring groups of lanes: first groups of `from` lanes, last groups of `to / 2`.
template <class O, class Acc>
__device__ __forceinline__ Acc tree_across_lanes(Acc v, int from, int to) {
  for (int mask = from; mask < to; mask *= 2) v = O::combine(v, exchange(v, mask));
  return v;
}

template <class O, class Acc>
__device__ __forceinline__ Acc tree_across_warp(Acc v) {
#pragma unroll
  for (int mask = 1; mask < kWarp; mask *= 2) v = O::combine(v, exchange(v, mask));
  return v;
}

// Two values' trees at the price of little more than one, and then their neighbour tree: even lanes carry on with the
// first value, odd lanes with the second.
template <class O, class Acc>
__device__ __forceinline__ Acc tree_across_warp(Acc first, Acc second) {
  const bool odd = (threadIdx.x & 1) != 0;
  const Acc received = exchange(odd ? first : second, 1);
  Acc v = O::combine(odd ? second : first, received);
#pragma unroll
  for (int mask = 2; mask < kWarp; mask *= 2) v = O::combine(v, exchange(v, mask));
  return O::combine(v, exchange(v, 1));
}

// The same in every lane, and known to be so by the compiler: branches on it need no reconvergence.
__device__ __forceinline__ int warp_of_cta() {
  return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / kWarp, 0);
}

// Lets the next kernel of the stream be launched while this one still runs (Hopper and later).
__device__ __forceinline__ void allow_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Waits until the kernel before has ended and its writes can be seen.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace torch_reduce::cuda

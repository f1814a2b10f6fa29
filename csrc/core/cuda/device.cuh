// What every kernel uses: 16-byte loads, the order across a warp, and the hooks of programmatic dependent launch.
#pragma once

#include "../../../include/torch_reduce/device/order.cuh"
#include "../numeric.h"

namespace torch_reduce::cuda {

using order::exchange;
using order::kWarp;
using order::tree_across_lanes;
using order::tree_across_warp;
using order::tree_across_warp_and_sets;

constexpr uint32_t kAllLanes = 0xffffffffu;

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

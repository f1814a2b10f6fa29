// Finish: the second pass of "deterministic". Combines the partials that CTAs left in scratch in the canonical order.
// Few outputs have their units side by side, and a CTA each; many outputs lie side by side themselves.
#pragma once

#include "rows.cuh"

namespace torch_reduce::cuda {

template <class Acc, int Dims>
struct FinishArgs {
  Sink<Acc> sink;
  int log_across;        // many outputs: 2^log_across threads side by side
  int units_per_thread;  // many outputs: a power of two
  KeptIndex<Dims> kept;
};

constexpr int kFinishSideBySide = 16;  // units that a thread takes side by side
constexpr int kFinishAtOnce = 8;       // units that a thread takes one below the other

// The tree over the CTA's threads; the result is in thread 0.
template <class O, class Acc>
__device__ __forceinline__ Acc tree_across_cta(Acc v, Acc* slots) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  v = tree_across_warp<O>(v);
  if (warps == 1) return v;
  if (lane == 0) slots[warp] = v;
  __syncthreads();
  if (warp == 0) v = tree_across_lanes<O>(lane < warps ? slots[lane] : O::template identity<Acc>(), 1, warps);
  __syncthreads();
  return v;
}

// Few outputs, one a CTA: [output][unit], rows of units aligned to 16 bytes.
template <class O, class Acc, int Dims>
__global__ void __launch_bounds__(tuning::kFinishThreads) finish_few(const __grid_constant__ FinishArgs<Acc, Dims> a) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(Acc));
  struct alignas(16) Pack {
    Acc e[kVector];
  };
  __shared__ Acc slots[kWarp];
  const Acc* partials = a.sink.partials + blockIdx.x * a.sink.output_stride;
  const uint32_t units = a.sink.units, per_round = blockDim.x * kFinishSideBySide;

  wait_for_previous_kernel();
  Counter<O, Acc, 20> counter;
  Acc v;
#pragma unroll 1
  for (uint32_t round = 0; round < units; round += per_round) {
    const uint32_t first = round + threadIdx.x * kFinishSideBySide;
    Acc unit[kFinishSideBySide];
#pragma unroll
    for (int i = 0; i < kFinishSideBySide; i += kVector) {
      if (first + i + kVector <= units) {
        const Pack pack = *reinterpret_cast<const Pack*>(partials + first + i);
#pragma unroll
        for (int e = 0; e < kVector; ++e) unit[i + e] = pack.e[e];
      } else {
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          unit[i + e] = first + i + e < units ? partials[first + i + e] : O::template identity<Acc>();
        }
      }
    }
    v = tree_across_cta<O>(tree<O>(unit), slots);
    if (per_round < units && threadIdx.x == 0) v = counter.push(v);
  }
  if (threadIdx.x == 0) write<O>(a.sink, a.kept.at(blockIdx.x).out, per_round < units ? counter.result() : v);
}

// Many outputs: [unit][output]. A thread owns an aligned power-of-two range of units of one output.
template <class O, class Acc, int Dims>
__global__ void __launch_bounds__(tuning::kFinishThreads) finish_many(const __grid_constant__ FinishArgs<Acc, Dims> a) {
  __shared__ Acc slots[tuning::kFinishThreads];
  const int across = 1 << a.log_across;
  const int x = threadIdx.x & (across - 1), y = threadIdx.x >> a.log_across;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * across + x;
  const Acc* column = a.sink.partials + output;
  const uint32_t first = static_cast<uint32_t>(y) * a.units_per_thread;
  const uint32_t units = output < a.sink.outputs ? a.sink.units : 0;

  wait_for_previous_kernel();
  Counter<O, Acc, 20> counter;
  for (int u = 0; u < a.units_per_thread && first + u < units; u += kFinishAtOnce) {
    Acc v[kFinishAtOnce];
#pragma unroll
    for (int i = 0; i < kFinishAtOnce; ++i) {
      const uint32_t unit = first + u + i;
      v[i] = u + i < a.units_per_thread && unit < units ? column[unit * a.sink.outputs] : O::template identity<Acc>();
    }
    counter.push(tree<O>(v));
  }
  Acc v = tree_across_lanes<O>(counter.result(), across, kWarp);

  const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  if (warps > 1) {
    if (threadIdx.x % kWarp < across) slots[warp * across + x] = v;
    __syncthreads();
    if (warp > 0) return;
    // Lane = output + across * group: each group of lanes takes an aligned range of the warps.
    const int groups = kWarp / across < warps ? kWarp / across : warps, each = warps / groups;
    const int group = threadIdx.x >> a.log_across;
    Counter<O, Acc, 5> along;
    if (group < groups) {
      for (int w = 0; w < each; ++w) along.push(slots[(group * each + w) * across + x]);
    }
    v = tree_across_lanes<O>(along.result(), across, across * groups);
  }
  if (threadIdx.x < across && output < a.sink.outputs) write<O>(a.sink, a.kept.at(output).out, v);
}

}  // namespace torch_reduce::cuda

// Finish: the second pass of "deterministic". Combines the partials that CTAs left in scratch in the canonical order.
// Few outputs have their units side by side, and a CTA each; many outputs lie side by side themselves.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/block/cluster.cuh"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class Acc, Access A>
struct FinishArgs {
  const Acc* partials;
  Target target;
  int64_t outputs;
  int64_t next_output;  // few outputs: partials from one output to the next
  int64_t out_stride;   // Contiguous
  uint32_t units;
  int log_across;        // many outputs: 2^log_across threads side by side
  int units_per_thread;  // a power of two
  int ctas;              // few outputs: of a cluster
  KeptIndex<A> kept;
};

template <class O, class Acc, Access A>
__device__ __forceinline__ void write_result(const FinishArgs<Acc, A>& a, int64_t output, Acc v) {
  int64_t place = output * a.out_stride;
  if constexpr (A != Access::Contiguous) place = a.kept.out(output);
  write<O, LikelyOut<O, Any, Acc>>(a.target, place, v);
}

// Units that a thread takes side by side.
template <class Acc>
constexpr int kFinishSideBySide = static_cast<int>(tuning::finish_side_by_side(sizeof(Acc)));

// Few outputs, one a CTA, or one a cluster of CTAs: [output][unit], rows of units aligned to 16 bytes. A thread owns
// units_per_thread units.
template <class O, class Acc, Access A, bool Cluster>
__global__ void __launch_bounds__(tuning::kFinishThreads) finish_few(const __grid_constant__ FinishArgs<Acc, A> a) {
  constexpr int kVector = static_cast<int>(tuning::finish_vector(sizeof(Acc)));
  constexpr int kSideBySide = kFinishSideBySide<Acc>;
  struct alignas(alignment_of_values<Acc, kVector>) Pack {
    Acc e[kVector];
  };
  __shared__ Acc slots[kWarp];
  const uint32_t output = Cluster ? cluster_of_grid() : blockIdx.x, rank = Cluster ? rank_in_cluster() : 0;
  const Acc* partials = a.partials + output * a.next_output;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;

  if constexpr (Cluster) arrive_in_cluster();
  wait_for_previous_kernel();
  allow_next_kernel();
  Counter<O, Acc, tuning::kFinishLevels> counter;
  Acc v;
  uint32_t first = (rank * blockDim.x + threadIdx.x) * a.units_per_thread;
#pragma unroll 1
  for (int u = 0; u < a.units_per_thread; u += kSideBySide, first += kSideBySide) {
    Acc unit[kSideBySide];
    if (first + kSideBySide <= a.units) {
#pragma unroll
      for (int i = 0; i < kSideBySide; i += kVector) {
        const Pack pack = *reinterpret_cast<const Pack*>(partials + first + i);
#pragma unroll
        for (int e = 0; e < kVector; ++e) unit[i + e] = pack.e[e];
      }
    } else {
#pragma unroll
      for (int i = 0; i < kSideBySide; ++i) {
        unit[i] = first + i < a.units ? partials[first + i] : O::template identity<Acc>();
      }
    }
    v = tree<O>(unit);
    if (a.units_per_thread > kSideBySide) v = counter.push(v);
  }
  v = tree_across_warp<O>(v);
  if (warps > 1) {
    if (lane == 0) slots[warp] = v;
    __syncthreads();
    if (warp == 0) v = tree_across_warp<O>(lane < warps ? slots[lane] : O::template identity<Acc>());
  }
  if constexpr (Cluster) {
    if (warp > 0) return;
    __shared__ Acc of_cta[kMostUnitsOfCluster];
    wait_for_cluster();
    if (lane == 0) hand_to_first(of_cta + rank, v);
    arrive_in_cluster();
    if (rank > 0) return;
    wait_for_cluster();
    v = tree_across_warp<O>(lane < a.ctas ? of_cta[lane] : O::template identity<Acc>());
  }
  if (threadIdx.x == 0) write_result<O>(a, output, v);
}

// Many outputs: [unit][output]. A thread owns an aligned power-of-two range of units of one output.
template <class O, class Acc, Access A>
__global__ void __launch_bounds__(tuning::kFinishThreads) finish_many(const __grid_constant__ FinishArgs<Acc, A> a) {
  __shared__ Acc slots[tuning::kFinishThreads];
  const int across = 1 << a.log_across;
  const int x = threadIdx.x & (across - 1), y = threadIdx.x >> a.log_across;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * across + x;
  const Acc* column = a.partials + output;
  const uint32_t first = static_cast<uint32_t>(y) * a.units_per_thread;
  const uint32_t units = output < a.outputs ? a.units : 0;

  wait_for_previous_kernel();
  allow_next_kernel();
  Counter<O, Acc, tuning::kFinishLevels> counter;
#pragma unroll 1
  for (int u = 0; u < a.units_per_thread; u += tuning::kFinishAtOnce) {
    Acc at_once[tuning::kFinishAtOnce];
#pragma unroll
    for (int i = 0; i < tuning::kFinishAtOnce; ++i) {
      const uint32_t unit = first + u + i;
      const bool exists = u + i < a.units_per_thread && unit < units;
      at_once[i] = exists ? column[unit * a.outputs] : O::template identity<Acc>();
    }
    counter.push(tree<O>(at_once));
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
  if (threadIdx.x < across && output < a.outputs) write_result<O>(a, output, v);
}

}  // namespace torch_reduce::cuda

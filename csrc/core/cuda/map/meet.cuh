// How the warps and the CTAs of a row meet: each has the whole row's value in the end, in every lane.
#pragma once

#include "core/cuda/block/cluster.cuh"
#include "core/cuda/map/args.cuh"

namespace torch_reduce::cuda {

// Over the warps of each row, a power of two.
template <class O, class Acc, int Sums>
__device__ __forceinline__ void across_warps(Acc (&slots)[Sums][tuning::kMapMostWarps], int warps_of_row,
                                             Acc (&total)[Sums]) {
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  if (lane == 0) {
#pragma unroll
    for (int s = 0; s < Sums; ++s) slots[s][warp] = total[s];
  }
  __syncthreads();
  const int mine = (warp & ~(warps_of_row - 1)) + (lane & (warps_of_row - 1));
#pragma unroll
  for (int s = 0; s < Sums; ++s) total[s] = tree_across_lanes<O>(slots[s][mine], 1, warps_of_row);
}

// Over the CTAs of a cluster, which are one row's.
template <class O, class Acc, int Sums>
__device__ __forceinline__ void across_cluster(uint32_t unit, uint32_t units, Acc (&total)[Sums]) {
  __shared__ Acc of_unit[Sums][kMostUnitsOfCluster];
  const uint32_t lane = threadIdx.x % kWarp;
  wait_for_cluster();
  if (threadIdx.x < units) {
#pragma unroll
    for (int s = 0; s < Sums; ++s) hand_to(lane, &of_unit[s][unit], total[s]);
  }
  arrive_in_cluster();
  wait_for_cluster();
#pragma unroll
  for (int s = 0; s < Sums; ++s) {
    total[s] = tree_across_warp<O>(lane < units ? of_unit[s][lane] : O::template identity<Acc>());
  }
}

template <class Word, class Acc, int Sums>
__device__ __forceinline__ void leave_partials(const MapArgs<Word>& a, int64_t row, uint32_t unit,
                                               const Acc (&total)[Sums]) {
  Acc* to = static_cast<Acc*>(a.partials) + (row * a.units.divisor + unit) * Sums;
#pragma unroll
  for (int s = 0; s < Sums; ++s) to[s] = total[s];
}

// Over the values of a row's CTAs in scratch: a lane has a power of two of them, and combines them one after the other,
// where those that wait for their right neighbours stand in `level`.
template <class O, class Word, class Acc, int Sums>
__device__ __noinline__ void across_partials(const MapArgs<Word>& a, int64_t row, Acc (&total)[Sums]) {
  const Acc* from = static_cast<const Acc*>(a.partials) + row * a.units.divisor * Sums;
  const uint32_t units = a.units.divisor, lane = threadIdx.x % kWarp;
  uint32_t each = 1;
  while (each * kWarp < units) each *= 2;
  for (int s = 0; s < Sums; ++s) {
    Acc level[32], v;
    for (uint32_t i = 0; i < each; ++i) {
      const uint32_t unit = lane * each + i;
      v = unit < units ? from[unit * Sums + s] : O::template identity<Acc>();
      int height = 0;
      for (; (i >> height) & 1; ++height) v = O::combine(level[height], v);
      level[height] = v;
    }
    total[s] = tree_across_warp<O>(v);
  }
}

}  // namespace torch_reduce::cuda

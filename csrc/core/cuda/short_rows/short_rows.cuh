// Short rows: a group of 2^log_lanes lanes reduces a whole output of at most 256 elements, so every element is a
// leaf. A lane holds one 16-byte vector of the row.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/partner.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class O, class Acc, Access A>
struct ShortRowsArgs {
  SourceOf<O> source;
  int64_t n, outputs;
  int log_lanes;
  KeptOf<O, A> kept;
  Sink<Acc> sink;
};

// A lane's part of row `row`, which may not exist, nor may the lane's elements.
template <class O, class In, class Acc, Access A>
struct RowPart {
  static constexpr int V = vector_width<In>;
  VectorOf<O, In> v;

  __device__ __forceinline__ void load(const ShortRowsArgs<O, Acc, A>& a, int64_t row, int in_group) {
    v = missing_vector<O, In>(a.source);
    if (in_group * V >= a.n || row >= a.outputs) return;
    v = load_vector<O, In>(elements_of<O, In>(a.source) + a.kept.in(row) + in_group * V, /*keep=*/true);
  }
  __device__ __forceinline__ Acc reduce(const SourceOf<O>& source, int in_group, int64_t n) const {
    return tree_of_elements<O, Acc, V>(
        [&](auto& how, auto& leaf) { widen_all<In>(how, v, source, {in_group * V, 1, n}, leaf); });
  }
};

template <class O, class In, class Acc, Access A>
__global__ void __launch_bounds__(tuning::kShortRowsWarps* kWarp)
    short_rows(const __grid_constant__ ShortRowsArgs<O, Acc, A> a) {
  constexpr int kUnroll = tuning::kShortRowsUnroll;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int rows_per_warp = kWarp >> a.log_lanes;
  const int in_group = lane & ((1 << a.log_lanes) - 1);
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * tuning::kShortRowsWarps + warp) * (kUnroll * rows_per_warp) +
      (lane >> a.log_lanes);
  RowPart<O, In, Acc, A> part[kUnroll];
  wait_for_previous_kernel();
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) part[u].load(a, first + u * rows_per_warp, in_group);
  allow_next_kernel_if_small();
  Acc v[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) v[u] = part[u].reduce(a.source, in_group, a.n);

  // Rows in flight that a group's lanes can share out: at each of the first levels a lane hands half of its rows to
  // its neighbour and gets the neighbour's part of the other half, so that shuffles and stores are few.
  int mask = 1;
  int kept = kUnroll;
  int shared_out = 0;  // which of the rows in flight this lane is left with: v[0] is row u = shared_out, ...
#pragma unroll
  for (int half = kUnroll / 2; half > 0; half /= 2) {
    if (mask >= 1 << a.log_lanes) break;
    const bool upper = (lane & mask) != 0;
#pragma unroll
    for (int u = 0; u < half; ++u) {
      const Acc mine = upper ? v[u + half] : v[u], other = upper ? v[u] : v[u + half];
      v[u] = O::combine(mine, exchange(other, mask));
    }
    shared_out += upper ? half : 0;
    kept = half;
    mask *= 2;
  }
  if (kept == 1) v[0] = tree_across_lanes<O>(v[0], mask, 1 << a.log_lanes);
  if (in_group >= mask) return;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t row = first + (shared_out + u) * rows_per_warp;
    if (u < kept && row < a.outputs) {
      write<O, LikelyOut<O, In, Acc>>(a.sink, place_of<A>(a.sink, a.kept, 0, row), v[u]);
    }
  }
}

}  // namespace torch_reduce::cuda

// Exact sums of short rows: a group of 2^log_lanes lanes has a whole output of at most 256 elements, a vector (or an
// element) a lane. Multiples of 2^w below 2^(w+44) add in a double without error, 2^8 of them; where all of a row's
// elements are such, for the w of its largest, their sum as doubles is the exact one. Rows for which that does not hold
// are summed again, a lane each, in a superaccumulator in local memory.
#pragma once

#include "exact_tile.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactShortRowsArgs {
  const void* data;
  ExactSink sink;
  int64_t n, outputs;
  int log_lanes;
  KeptIndex<kept_room(A)> kept;
  ReducedIndex<kMaxKernelDims> reduced;
};

template <class In, Access A>
__global__ void __launch_bounds__(kExactThreads, 4) exact_short_rows(const __grid_constant__ ExactShortRowsArgs<A> a) {
  using F = exact::FormatOf<In>;
  using RowTile = Tile<In, A, 1>;
  constexpr int kUnroll = tuning::kShortRowsUnroll;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int lanes = 1 << a.log_lanes, rows_per_warp = kWarp >> a.log_lanes, in_group = lane & (lanes - 1);
  const bool holds = in_group * RowTile::V < a.n;
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * exact::kWarps + warp) * (kUnroll * rows_per_warp) + (lane >> a.log_lanes);

  RowTile part[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t row = first + u * rows_per_warp;
    if (holds && row < a.outputs) {
      const In* from = static_cast<const In*>(a.data) + a.kept.at(row).in;
      if constexpr (A == Access::Strided) {
        part[u].part[0] = from[a.reduced.at(in_group)];
      } else {
        part[u].part[0] = load16(from + in_group * RowTile::V);
      }
    } else {
      part[u] = RowTile{};
    }
  }

#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    uint32_t most = part[u].most();
    for (int mask = 1; mask < lanes; mask *= 2) most = max(most, exchange(most, mask));
    const bool beyond = is_beyond<In>(most, exact::kShortBits);
    const int w = beyond ? 0 : max(Magnitude<In>::above(most) - exact::kShortBits, F::kLowest);
    const double m = 1.5 * power_of_two(w + 52);
    double sum = 0;
    uint32_t left = beyond;
#pragma unroll
    for (int e = 0; e < RowTile::V; ++e) {
      const double x = part[u].element(0, e);
      left |= trace_of<In>(x - ((x + m) - m));
      sum += x;
    }
    for (int mask = 1; mask < lanes; mask *= 2) {
      sum += exchange(sum, mask);
      left |= exchange(left, mask);
    }
    const int64_t row = first + u * rows_per_warp;
    if (in_group != u % lanes || row >= a.outputs) continue;
    const Place place = a.kept.at(row);
    if (left != 0 || a.sink.words || a.sink.divisor == 0) {
      const In* from = static_cast<const In*>(a.data) + place.in;
      finish_by_lane<In>(a.sink, a.n, place.out, [&](int64_t i) { return from[a.reduced.at(i)]; });
      continue;
    }
    if (a.sink.divisor > 1) sum = divide(sum, a.sink.divisor, a.sink.type == DType::Float64);
    store<Sum>(a.sink.out, place.out, a.sink.type, sum + 0.0);
  }
}

}  // namespace torch_reduce::cuda

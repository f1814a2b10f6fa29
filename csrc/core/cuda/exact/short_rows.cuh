// Exact sums of short rows: a group of 2^log_lanes lanes has a whole output of at most 256 elements, a vector (or some
// single elements) a lane. Multiples of 2^w below 2^(w+44) add in a double without error, 2^8 of them; where all of a
// row's elements are such, for the w of the warp's or the row's own largest, their sum as doubles is the exact one.
// Rows for which that does not hold (nearly all of fp64) are summed again in two slices, and if these do not hold them
// either, a lane each, in a superaccumulator in local memory.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/tile.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactShortRowsArgs {
  const void* data;
  ExactSink sink;
  int64_t n, outputs;
  int log_lanes;
  ExactKept<A> kept;
  ReducedIndex<Access::Strided> reduced;
};

// A row in two slices, of a group of so many lanes, by all lanes of the warp. Returns whether they hold it; if so, its
// first lane writes it, if `writes`.
template <class In, class Tile>
__device__ __noinline__ bool finish_in_slices(const ExactSink& s, Tile part, int lanes, bool writes, int64_t place) {
  Range<In> row = part.range();
  merge_across_lanes(lanes, row);
  const Window window = window_for<exact::FormatOf<In>>(above<In>(row.most));
  Slices sums;
  for_each(part, [&](In x, int) { sums.add_to_both(window, widen<double>(x)); });
  sums.remove_from_both(window, Tile::kElements);
  for (int mask = 1; mask < lanes; mask *= 2) {
    sums.first += exchange(sums.first, mask);
    sums.second += exchange(sums.second, mask);
  }
  const int unit = window.unit - kSliceBits;
  if (is_beyond<In>(row.most, kSliceBits) || !row.is_multiple(unit)) return false;
  if (writes && threadIdx.x % lanes == 0) finish_value<In>(s, place, join(sums.first, sums.second), unit);
  return true;
}

template <class In, Access A, int Loads>
__global__ void __launch_bounds__(kExactThreads, 4) exact_short_rows(const __grid_constant__ ExactShortRowsArgs<A> a) {
  using F = exact::FormatOf<In>;
  using RowTile = Tile<In, A, Loads>;
  constexpr int kUnroll = exact::short_rows_unroll(Loads);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int lanes = 1 << a.log_lanes, rows_per_warp = kWarp >> a.log_lanes, in_group = lane & (lanes - 1);
  const auto holds = [&](int load) { return (in_group + load * lanes) * RowTile::V < a.n; };
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * exact::kWarps + warp) * (kUnroll * rows_per_warp) + (lane >> a.log_lanes);

  RowTile part[kUnroll];
  wait_for_previous_kernel();
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t row = first + u * rows_per_warp;
    part[u] = RowTile{};  // zeros
    if (row >= a.outputs) continue;
    const In* from = static_cast<const In*>(a.data) + a.kept.in(row);
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
      if (!holds(i)) continue;
      if constexpr (A == Access::Strided) {
        part[u].part[i] = from[a.reduced.at(in_group + i * lanes)];
      } else {
        part[u].part[i] = load16(from + (in_group + i * lanes) * RowTile::V);
      }
    }
  }

  allow_next_kernel_if_small();
  // Where one window does for the whole warp, nothing is left to find out.
  const auto unit_for_sums = [](uint32_t most) { return max(above<In>(most) - exact::kShortBits, F::kLowest); };
  Range<In> range[kUnroll], all;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    range[u] = part[u].range();
    all.merge(range[u]);
  }
  all = range_across_warp(all);
  uint32_t inexact = 0;  // bit u: row u
  if (is_beyond<In>(all.most, exact::kShortBits) || !all.is_multiple(unit_for_sums(all.most))) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      Range<In> row = range[u];
      merge_across_lanes(lanes, row);
      const bool fits = !is_beyond<In>(row.most, exact::kShortBits) && row.is_multiple(unit_for_sums(row.most));
      inexact |= fits ? 0u : 1u << u;
    }
  }
  const bool by_lane = a.sink.words || a.sink.divisor == 0;
  uint32_t finished = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (by_lane || __ballot_sync(kAllLanes, (inexact >> u & 1) != 0) == 0) continue;
    const int64_t row = first + u * rows_per_warp;
    const bool writes = (inexact >> u & 1) != 0 && row < a.outputs;
    const bool held = finish_in_slices<In>(a.sink, part[u], lanes, writes, writes ? a.kept.out(row) : 0);
    finished |= held && writes ? 1u << u : 0u;
  }

  double sum[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    sum[u] = 0;
    for_each(part[u], [&](In x, int) { sum[u] += widen<double>(x); });
  }
  // At each of the first levels a lane hands half of its rows to its neighbour and gets the neighbour's part of the
  // other half, so that shuffles are few.
  int mask = 1, kept = kUnroll, mine = 0;  // sum[0] is row u = mine, ...
#pragma unroll
  for (int half = kUnroll / 2; half > 0; half /= 2) {
    if (mask >= lanes) break;
    const bool upper = (lane & mask) != 0;
#pragma unroll
    for (int u = 0; u < half; ++u) {
      const double own = upper ? sum[u + half] : sum[u], other = upper ? sum[u] : sum[u + half];
      sum[u] = own + exchange(other, mask);
    }
    mine += upper ? half : 0;
    kept = half;
    mask *= 2;
  }
  if (kept == 1) {
    for (int m = mask; m < lanes; m *= 2) sum[0] += exchange(sum[0], m);
  }
  if (in_group >= mask) return;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t row = first + (mine + u) * rows_per_warp;
    if (u >= kept || row >= a.outputs || (finished >> (mine + u) & 1) != 0) continue;
    const int64_t place_out = a.kept.out(row);
    if ((inexact >> (mine + u) & 1) != 0 || by_lane) {
      const In* from = static_cast<const In*>(a.data) + a.kept.in(row);
      finish_by_lane<In>(a.sink, a.n, place_out, [&](int64_t i) { return from[a.reduced.at(i)]; });
      continue;
    }
    finish_double<In>(a.sink, place_out, sum[u]);
  }
}

}  // namespace torch_reduce::cuda

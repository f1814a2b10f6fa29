// Exact sums of many rows: a warp has some, one after the other, and nothing to do with other warps. The first tile of
// the next row is under way while a row ends, so that short rows do not wait for memory.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/row_tile.cuh"

namespace torch_reduce::cuda {

template <class Source>
struct ExactWarpRowsArgs {
  Source source;
  int64_t outputs;
  int64_t rows;  // of a warp
  typename Source::Kept kept;
  ExactSink sink;
};
constexpr int kWarpRowsThreads = exact::kWarpRowsWarps * kWarp;

// OneTile: no row has more than one tile.
template <class Source, int Loads, bool OneTile>
__global__ void __launch_bounds__(kWarpRowsThreads, exact::kWarpRowsCtasPerSm)
    exact_warp_rows(const __grid_constant__ ExactWarpRowsArgs<Source> a) {
  using In = typename Source::Number;
  using Element = typename Source::Element;
  using F = exact::FormatOf<In>;
  constexpr int kWarpWords = kCopies<In> * F::kWords, kTile = Source::template Part<Loads>::kElements * kWarp;
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  int64_t row = (static_cast<int64_t>(blockIdx.x) * exact::kWarpRowsWarps + warp) * a.rows, tile = 0;
  const int64_t end = min(row + a.rows, a.outputs), tiles = OneTile ? 1 : (a.source.span + kTile - 1) / kTile;
  if (row >= end) return;
  auto place_in = a.kept.in(row);
  wait_for_previous_kernel();
  auto next = a.source.template load<Loads>(place_in, 0);

  int64_t* const words = shared_words() + warp * kWarpWords;  // [copy][word]
  for (int i = lane; i < kWarpWords; i += kWarp) words[i] = 0;
  __syncwarp();

  allow_next_kernel_if_small();
  OpenSlices<In, 1> slices;
  bool in_words = a.sink.words;
#pragma unroll 1
  while (row < end) {
    const auto t = next;
    const int64_t now = row;
    if (++tile == tiles) {
      tile = 0;
      ++row;
      if (row < end) place_in = a.kept.in(row);
    }
    if (row < end) next = a.source.template load<Loads>(place_in, tile);
    if constexpr (OneTile && (sizeof(In) < 8 || decltype(next)::has_floats)) {  // nearly no row of fp64 has so few bits
      double sum;
      if (!in_words && a.sink.divisor > 0 && sum_in_doubles<In>(t, sum)) {
        if (lane == 0) finish_double<Element>(a.sink, a.kept.out(now), sum);
        continue;
      }
    }
    in_words |= add_row_tile<In>(t, slices, words);
    if (row == now) continue;

    const WideSum sum = sum_of_warp(slices);
    const int64_t place = a.kept.out(now);
    if (!in_words) {
      if (lane == 0) finish_value<Element>(a.sink, place, sum.value, sum.exponent);
    } else {
      merge_words<F>(words, kCopies<In>);
      finish_words_and_sum<In>(a.sink, place, words, sum);
      __syncwarp();
      for (int i = lane; i < kWarpWords; i += kWarp) words[i] = 0;
      __syncwarp();
      in_words = a.sink.words;
    }
    slices.clear();
  }
}

}  // namespace torch_reduce::cuda

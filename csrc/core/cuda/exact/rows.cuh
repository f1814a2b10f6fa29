// Exact sums of rows. A team of warps, some of a CTA or all of it, reduces a row, or a unit of one that several CTAs
// share. A warp takes tiles of its lanes' loads, the next one of those left to its team, and has the one after it under
// way; it has one window for its lanes' slices, and sums these across the warp at the end. Slices that it closes before
// go to a superaccumulator of its own in shared memory.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/row_tile.cuh"

namespace torch_reduce::cuda {

template <class Source>
struct ExactRowsArgs {
  // What the first loads need comes first, as memory is waited for at every line of arguments.
  Source source;
  int64_t outputs;
  FastDivisor units;   // CTAs per output
  int log_team;        // 2^log_team warps have a row
  int64_t unit_tiles;  // that a unit has, of those of its output
  typename Source::Kept kept;
  ExactPartials partials;  // of units
  ExactSink sink;
};

// As many as an SM should have room for: one CTA of the largest, or three of kWarps.
template <class Source, int Loads>
constexpr int kRowsThreads =
    Source::kTensors == 1 && Loads == exact::kRowsLoads ? 3 * kExactThreads : exact::kRowsWarps * kWarp;

template <class Source, int Loads>
__global__ void __launch_bounds__(kRowsThreads<Source, Loads>, 1)
    exact_rows(const __grid_constant__ ExactRowsArgs<Source> a) {
  using In = typename Source::Number;
  using RowTile = typename Source::template Part<Loads>;
  using F = exact::FormatOf<In>;
  constexpr int kWarpWords = kCopies<In> * F::kWords;
  __shared__ int taken[exact::kRowsWarps];  // tiles, by a team
  __shared__ bool has_words[exact::kRowsWarps];
  __shared__ WideSum sums[exact::kRowsWarps];  // of the warps
  a.units.divisor > 1 ? allow_next_kernel() : allow_next_kernel_if_small();

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const int team_warps = 1 << a.log_team, team = warp >> a.log_team, in_team = warp & (team_warps - 1);
  const uint32_t group = a.units.quotient(blockIdx.x), unit = blockIdx.x - group * a.units.divisor;
  const int64_t output = static_cast<int64_t>(group) * (warps >> a.log_team) + team;
  const bool exists = output < a.outputs;
  typename Source::Place place_in{};
  if (exists) place_in = a.kept.in(output);

  constexpr int kTile = RowTile::kElements * kWarp;
  const int64_t first_tile = unit * a.unit_tiles;
  const int64_t end = exists ? min((a.source.span + kTile - 1) / kTile, first_tile + a.unit_tiles) : 0;
  int64_t tile = first_tile + in_team;
  wait_for_previous_kernel();
  RowTile next;
  if (tile < end) next = a.source.template load<Loads>(place_in, tile);

  int64_t* const words = shared_words() + warp * kWarpWords;  // [warp][copy][word]
  for (int i = lane; i < kWarpWords; i += kWarp) words[i] = 0;
  if (lane == 0 && in_team == 0) {
    taken[team] = team_warps;
    has_words[team] = a.sink.words;
  }
  __syncthreads();

  OpenSlices<In, 1> slices;
  bool closed = false;
#pragma unroll 1
  while (tile < end) {
    const int take = __shfl_sync(kAllLanes, lane == 0 ? atomicAdd(&taken[team], 1) : 0, 0);
    tile = first_tile + take;
    const auto t = next;
    if (tile < end) next = a.source.template load<Loads>(place_in, tile);
    closed |= add_row_tile<In>(t, slices, words);
  }

  WideSum sum = sum_of_warp(slices);
  if (lane == 0) sums[warp] = sum;
  if (closed) has_words[team] = true;
  __syncthreads();
  if (in_team != 0 || !exists) return;
  WideSum of_warp;
  if (lane < team_warps) of_warp = sums[warp + lane];
  bool fits;
  sum = sum_across_warp(of_warp, fits);
  if (!fits) {
    spill_sum<F>({words, 1}, of_warp);
    sum = {};
  }
  const bool in_words = has_words[team] || !fits;
  if (in_words) merge_words<F>(words, kCopies<In> * team_warps);
  if (a.units.divisor > 1) {
    const int64_t place = output * a.units.divisor + unit;
    if (lane == 0) a.partials.sums[place].set(sum, in_words);
    for (int d = lane; in_words && d < F::kWords; d += kWarp) a.partials.words[place * F::kWords + d] = words[d];
    return;
  }
  const int64_t place = a.kept.out(output);
  if (in_words) {
    finish_words_and_sum<In>(a.sink, place, words, sum);
  } else if (lane == 0) {
    finish_value<typename Source::Element>(a.sink, place, sum.value, sum.exponent);
  }
}

}  // namespace torch_reduce::cuda

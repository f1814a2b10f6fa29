// Exact sums of columns that several CTAs share: what these leave in scratch, and the kernel that adds it up.
#pragma once

#include <climits>

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/sums.cuh"

namespace torch_reduce::cuda {

// What CTAs leave that share columns. [unit][tile]: the exponent of their integers, that of the lowest window of a
// warp, and how many octaves above it the highest one lies, as the integers are so much larger; the integers,
// [unit][lower, upper half][output]; superaccumulators, [unit][word][output].
struct ColumnPartials {
  static constexpr int kNothing = INT_MAX;  // for an exponent: all integers are zero
  static constexpr int kWords = -1;         // for octaves: there are superaccumulators too
  struct alignas(8) Header {
    int exponent, octaves;
  };
  Header* headers;
  int64_t* sums;
  int64_t* words;
  int64_t outputs;
  uint32_t tiles, units;

  __device__ __forceinline__ int128 sum(int64_t unit, int64_t output) const {
    const int64_t* at = sums + unit * 2 * outputs + output;
    return (static_cast<int128>(at[outputs]) << 64) + static_cast<uint64_t>(at[0]);
  }
  __device__ __forceinline__ void set_sum(int64_t unit, int64_t output, int128 v) const {
    int64_t* at = sums + unit * 2 * outputs + output;
    at[0] = static_cast<int64_t>(v);
    at[outputs] = static_cast<int64_t>(v >> 64);
  }
  template <class F>
  __device__ __forceinline__ int64_t* word(int64_t unit, int d, int64_t output) const {
    return words + (unit * F::kWords + d) * outputs + output;
  }
};

// Where a column's partials do not add up as integers: the CTAs' exponents are too far apart, or there are words.
template <class F>
__device__ __noinline__ void finish_column_in_words(const ColumnPartials& p, uint32_t tile, int64_t output,
                                                    const ExactSink& sink, int64_t place) {
  int64_t word[F::kWords] = {};
#pragma unroll 1
  for (uint32_t unit = 0; unit < p.units; ++unit) {
    const ColumnPartials::Header header = p.headers[unit * p.tiles + tile];
    if (header.exponent != ColumnPartials::kNothing) {
      exact::split_wide<F>(p.sum(unit, output), header.exponent, [&](int d, int64_t piece) { word[d] += piece; });
    }
    if (header.octaves != ColumnPartials::kWords) continue;
    for (int d = 0; d < F::kWords; ++d) word[d] += *p.word<F>(unit, d, output);
  }
  finish_words<F>(sink, place, [&](int d) { return word[d]; });
}

// A CTA has 2^log_across columns of one tile, and its groups of so many threads have the units in turn.
struct ExactFinishColumnsArgs {
  ExactSink sink;
  ColumnPartials partials;
  FastDivisor columns, ctas_across;  // of a batch; CTAs of this kernel over them
  int log_across, log_width;         // 2^log_width columns are a tile of the kernel before
  uint32_t tiles_across;
  int64_t column_out_stride;
  KeptIndex<Access::Strided> batch;
  int most_apart;
};

template <class In>
__global__ void __launch_bounds__(exact::kFinishColumnsThreads)
    exact_finish_columns(const __grid_constant__ ExactFinishColumnsArgs a) {
  using F = exact::FormatOf<In>;
  __shared__ int lowest, highest;
  __shared__ SharedSums<kWarp> sums;
  static_assert(exact::kMostColumnUnits <= SharedSums<kWarp>::kMost);
  const ColumnPartials& p = a.partials;
  const uint32_t x = threadIdx.x & ((1u << a.log_across) - 1), group = threadIdx.x >> a.log_across;
  const uint32_t groups = blockDim.x >> a.log_across;
  const uint32_t batch = a.ctas_across.quotient(blockIdx.x);
  const uint32_t column0 = (blockIdx.x - batch * a.ctas_across.divisor) << a.log_across, column = column0 + x;
  const bool exists = column < a.columns.divisor;
  const uint32_t tile = batch * a.tiles_across + (column0 >> a.log_width);
  const int64_t output = static_cast<int64_t>(batch) * a.columns.divisor + (exists ? column : column0);
  if (threadIdx.x == 0) {
    lowest = INT_MAX;
    highest = INT_MIN;
  }
  sums.clear();
  __syncthreads();

  wait_for_previous_kernel();
  allow_next_kernel();
  const auto header_of = [&](uint32_t unit) { return p.headers[unit * p.tiles + tile]; };
  ColumnPartials::Header header{ColumnPartials::kNothing, 0};
  int128 v = 0;
  if (group < p.units) {  // nearly always a thread has one unit at most
    header = header_of(group);
    v = p.sum(group, output);
  }
  int exponent = header.exponent;
  // The lowest exponent, and that of the highest window of any warp: INT_MAX where there are words.
  int low = INT_MAX, high = INT_MIN;
  for (uint32_t unit = group;;) {
    if (header.exponent != ColumnPartials::kNothing) {
      low = min(low, header.exponent);
      high = max(high, header.exponent + header.octaves);
    }
    if (header.octaves == ColumnPartials::kWords) high = INT_MAX;
    unit += groups;
    if (unit >= p.units) break;
    header = header_of(unit);
  }
  low = min_across_warp(low);
  high = max_across_warp(high);
  if (threadIdx.x % kWarp == 0) {
    atomicMin(&lowest, low);
    atomicMax(&highest, high);
  }
  __syncthreads();
  low = lowest;
  high = highest;
  const int64_t place = a.batch.out(batch) + column * a.column_out_stride;
  if (high != INT_MIN && (high == INT_MAX || high - low > a.most_apart)) {
    if (group == 0 && exists) finish_column_in_words<F>(p, tile, output, a.sink, place);
    return;
  }
  for (uint32_t unit = group; unit < p.units;) {
    if (exponent != ColumnPartials::kNothing) sums.add(x, v << (exponent - low));
    unit += groups;
    if (unit >= p.units) break;
    exponent = header_of(unit).exponent;
    v = p.sum(unit, output);
  }
  __syncthreads();
  if (group == 0 && exists) finish_value<In>(a.sink, place, sums.of(x), low);
}

}  // namespace torch_reduce::cuda

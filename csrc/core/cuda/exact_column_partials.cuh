// Exact sums of columns that several CTAs share: what these leave in scratch, and the kernel that adds it up.
#pragma once

#include <climits>

#include "exact_digits.cuh"

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
      split_wide<F>(p.sum(unit, output), header.exponent, [&](int d, int64_t piece) { word[d] += piece; });
    }
    if (header.octaves != ColumnPartials::kWords) continue;
    for (int d = 0; d < F::kWords; ++d) word[d] += *p.word<F>(unit, d, output);
  }
  finish_words<F>(sink, place, [&](int d) { return word[d]; });
}

// A CTA has the outputs of a warp's width, and its warps have the units in turn.
struct ExactFinishColumnsArgs {
  ExactSink sink;
  ColumnPartials partials;
  FastDivisor columns, ctas_across;  // of a batch; CTAs of this kernel over them
  int width;                         // columns of a tile
  uint32_t tiles_across;
  int64_t column_out_stride;
  KeptIndex<Access::Strided> batch;
  int most_apart;
};
constexpr int kExactFinishColumnsThreads = 256;
constexpr int kMostShift = 64;  // larger ones are of exponents too far apart, whose sum is not used

template <class In>
__global__ void __launch_bounds__(kExactFinishColumnsThreads)
    exact_finish_columns(const __grid_constant__ ExactFinishColumnsArgs a) {
  using F = exact::FormatOf<In>;
  constexpr int kWarps = kExactFinishColumnsThreads / kWarp;
  __shared__ int lowest[kWarps][kWarp], highest[kWarps][kWarp];
  __shared__ uint64_t halves[2][kWarps][kWarp];
  const ColumnPartials& p = a.partials;
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t batch = a.ctas_across.quotient(blockIdx.x);
  const uint32_t column = (blockIdx.x - batch * a.ctas_across.divisor) * kWarp + lane;
  const bool exists = column < a.columns.divisor;
  const uint32_t tile = batch * a.tiles_across + (exists ? column : 0) / a.width;
  const int64_t output = static_cast<int64_t>(batch) * a.columns.divisor + (exists ? column : 0);

  wait_for_previous_kernel();
  // The sum so far, in units of the lowest exponent so far; the exponent of the highest window of any warp so far.
  int low = INT_MAX, high = INT_MIN;
  bool words = false;
  int128 sum = 0;
  const auto add = [&](int exponent, int highest, int128 v) {
    const int lower = min(low, exponent);
    if (low - lower < kMostShift) sum <<= low == INT_MAX ? 0 : low - lower;
    if (exponent - lower < kMostShift) sum += v << (exponent - lower);
    low = lower;
    high = max(high, highest);
  };
  constexpr int kAtOnce = 8;
  for (uint32_t first = warp; first < p.units; first += kAtOnce * kWarps) {
    ColumnPartials::Header header[kAtOnce];
    int128 v[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const uint32_t unit = first + i * kWarps;
      header[i] = {ColumnPartials::kNothing, 0};
      if (unit >= p.units) continue;
      header[i] = p.headers[unit * p.tiles + tile];
      v[i] = p.sum(unit, output);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const auto [exponent, octaves] = header[i];
      words |= octaves == ColumnPartials::kWords;
      if (exponent != ColumnPartials::kNothing) add(exponent, exponent + octaves, v[i]);
    }
  }
  lowest[warp][lane] = low;
  highest[warp][lane] = words ? INT_MAX : high;
  halves[0][warp][lane] = static_cast<uint64_t>(sum);
  halves[1][warp][lane] = static_cast<uint64_t>(sum >> 64);
  __syncthreads();
  if (warp > 0 || !exists) return;
  const int64_t place = a.batch.out(batch) + column * a.column_out_stride;
#pragma unroll
  for (int w = 1; w < kWarps; ++w) {
    const int128 v = (static_cast<int128>(static_cast<int64_t>(halves[1][w][lane])) << 64) + halves[0][w][lane];
    words |= highest[w][lane] == INT_MAX;
    if (lowest[w][lane] != INT_MAX) add(lowest[w][lane], highest[w][lane], v);
  }
  if (words || (high > low && high - low > a.most_apart)) {
    return finish_column_in_words<F>(p, tile, output, a.sink, place);
  }
  finish_value<In>(a.sink, place, sum, low);
}

}  // namespace torch_reduce::cuda

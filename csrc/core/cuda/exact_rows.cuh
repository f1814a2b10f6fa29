// Exact sums of rows. A team of warps, some of a CTA or all of it, reduces a row, or a unit of one that several CTAs
// share. A warp takes tiles of its lanes' loads, the next one of those left to its team, and has the one after it under
// way; it has one window for its lanes' slices, and sums these across the warp at the end. Slices that it closes before
// go to a superaccumulator of its own in shared memory.
#pragma once

#include "exact_finish.cuh"
#include "exact_tile.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactRowsArgs {
  const void* data;
  ExactSink sink;
  int64_t* partials;  // of units: [output][unit][word]
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output, which take its tiles in turn
  int log_team;       // 2^log_team warps have a row
  Segments segments;  // Segmented: of vectors
  ExactKept<A> kept;
  ReducedIndex<A> reduced;
};

template <class In, Access A, int Loads>
__device__ __forceinline__ Tile<In, A, Loads> load_row_tile(const ExactRowsArgs<A>& a, int64_t place, int64_t tile) {
  Tile<In, A, Loads> t;
  const int64_t first = tile * (Loads * kWarp) + threadIdx.x % kWarp;  // of the lane's loads; the next are kWarp apart
  const In* row = static_cast<const In*>(a.data) + place;
  if constexpr (A == Access::Strided) {
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
      const int64_t element = first + i * kWarp;
      t.part[i] = element < a.n ? row[a.reduced.at(element)] : zero_element<In>();
    }
  } else {
    constexpr int V = vector_width<In>;
    const auto at = [&](int i) {
      if constexpr (A == Access::Contiguous) {
        return row + (first + i * kWarp) * V;
      } else {
        return row + a.segments.at(static_cast<uint32_t>(first) + i * kWarp);
      }
    };
    if ((tile + 1) * (Loads * kWarp * V) <= a.n) {
#pragma unroll
      for (int i = 0; i < Loads; ++i) t.part[i] = load16(at(i));
    } else {
#pragma unroll
      for (int i = 0; i < Loads; ++i) {
        const int64_t left = a.n - (first + i * kWarp) * V;
        t.part[i] = left >= V ? load16(at(i)) : uint4{0, 0, 0, 0};
      }
      if (a.n % V != 0) {
#pragma unroll
        for (int i = 0; i < Loads; ++i) {
          const int64_t left = a.n - (first + i * kWarp) * V;
          if (left > 0 && left < V) t.part[i] = load_first(at(i), static_cast<int>(left));
        }
      }
    }
  }
  return t;
}

// Of a warp's superaccumulator.
template <class In>
constexpr int kCopies = exact::copies_per_warp(dtype_of<In>::value);

// What follows is seldom run, and fetching instructions takes a microsecond while all of memory is being read; so it is
// short. It is not inlined: a call's arguments go through memory, but only then, while the loop over the tiles keeps
// its registers.

// Adds the warp's open slices to its words.
template <class In>
__device__ __noinline__ void close_slices(int64_t first, int64_t second, int unit, int64_t* words) {
  const int128 v = (sum_across_warp(first) << kSliceBits) + sum_across_warp(second);
  add_by_warp<exact::FormatOf<In>>(words, v, unit - kSliceBits);
}

// Elements in any range: window after window, each for the magnitudes that the one before was too high for.
template <class In, class Tile>
__device__ __noinline__ void add_wide_tile(const Tile& tile, Range<In> range, int64_t* words) {
  using F = exact::FormatOf<In>;
  const int lane = threadIdx.x % kWarp;
  uint32_t upper = kInfMagnitude<In>;
  if (range.most >= upper) {
    uint32_t plus = 0, minus = 0, nan = 0;  // not finite
    range.most = 0;
    for_each(tile.again(), [&](In x, int) {
      const uint32_t m = magnitude(x);
      const double d = m < upper ? 0 : widen<double>(x);
      if (m < upper) range.most = max(range.most, m);
      plus += d > 0;
      minus += d < 0;
      nan += d != d;
    });
    range = range_across_warp(range);
    const int64_t counts[] = {sum_across_warp(plus), sum_across_warp(minus), sum_across_warp(nan)};
    if (lane == 0) {
      words[F::kDigits + exact::kPlusInf] += counts[0];
      words[F::kDigits + exact::kMinusInf] += counts[1];
      words[F::kDigits + exact::kNaN] += counts[2];
    }
  }
  // fp64 might take 45 windows.
  constexpr int kMany = 200;
  const bool many = sizeof(In) == 8 && above<In>(range.most) - above<In>(range.least_less_1 + 1) > kMany;
#pragma unroll 1
  while (range.most > 0) {
    // The largest elements are scaled down, as their M would be infinite.
    constexpr int kScaled = 64;
    const int top = above<In>(range.most), scaled = is_beyond<In>(range.most, kSliceBits) ? kScaled : 0;
    const double scale = power_of_two(-scaled);
    const Window window = window_for<F>(top - scaled);
    const uint32_t lower = least_magnitude<In>(window.unit + scaled - kSliceBits);
    Slices sums;
    range.most = 0;
    for_each(tile.again(), [&](In x, int) {
      const uint32_t m = magnitude(x);
      const double d = widen<double>(m - lower < upper - lower ? x : zero_element<In>());
      sums.add_to_both(window, sizeof(In) == 8 ? d * scale : d);
      if (m < lower) range.most = max(range.most, m);
    });
    sums.remove_from_both(window, Tile::kElements);
    close_slices<In>(sums.first, sums.second, window.unit + scaled, words);
    upper = lower;
    if (many) break;
    range = range_across_warp(range);
  }
  if (many) {
    const Digits digits{words + lane % kCopies<In> * F::kWords, 1};
    for_each(tile.again(), [&](In x, int) {
      if (magnitude(x) < upper) spill<F>(digits, widen<double>(x));
    });
    __syncwarp();
  }
}

// A tile's elements into slices, or into the warp's words. Returns whether any went there.
template <class In, class Tile>
__device__ __forceinline__ bool add_row_tile(const Tile& t, OpenSlices<In, 1>& slices, int64_t* words) {
  const Range<In> range = range_across_warp(t.range());
  if (range.most == 0) return false;
  bool closed = false;
  Slices& sums = slices.column[0];
  const bool beyond = is_beyond<In>(range.most, kSliceBits - exact::kSlack);
  if (!beyond && !slices.fits(above<In>(range.most), Tile::kElements)) {
    if (slices.open) {
      close_slices<In>(sums.first, sums.second, slices.window.unit, words);
      closed = true;
    }
    slices.set(above<In>(range.most));
  }
  if (!beyond && slices.first_holds(range)) {
    slices.add_to_first(t);
  } else if (!beyond && slices.both_hold(range)) {
    for_each(t.again(), [&](In x, int) { sums.add_to_both(slices.window, widen<double>(x)); });
    sums.remove_from_both(slices.window, Tile::kElements);
    slices.adds += Tile::kElements;
  } else {
    const Tile copy = t.again();
    add_wide_tile<In>(copy, range, words);
    return true;
  }
  return closed;
}

// As many as an SM should have room for: one CTA of the largest, or three of kWarps.
template <int Loads>
constexpr int kRowsThreads = Loads == exact::kRowsLoads ? 3 * kExactThreads : exact::kRowsWarps * kWarp;

template <class In, Access A, int Loads>
__global__ void __launch_bounds__(kRowsThreads<Loads>, 1) exact_rows(const __grid_constant__ ExactRowsArgs<A> a) {
  using F = exact::FormatOf<In>;
  constexpr int kWarpWords = kCopies<In> * F::kWords;
  using RowTile = Tile<In, A, Loads>;
  __shared__ int taken[exact::kRowsWarps];  // tiles, by a team
  allow_next_kernel();

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const int team_warps = 1 << a.log_team, team = warp >> a.log_team, in_team = warp & (team_warps - 1);
  const uint32_t group = a.units.quotient(blockIdx.x), unit = blockIdx.x - group * a.units.divisor;
  const int64_t output = static_cast<int64_t>(group) * (warps >> a.log_team) + team;
  const bool exists = output < a.outputs;
  const int64_t place_in = exists ? a.kept.in(output) : 0, place_out = exists ? a.kept.out(output) : 0;

  constexpr int kTile = RowTile::kElements * kWarp;
  const int64_t tiles = exists ? (a.n + kTile - 1) / kTile : 0;
  int64_t tile = static_cast<int64_t>(in_team) * a.units.divisor + unit;
  RowTile next;
  if (tile < tiles) next = load_row_tile<In, A, Loads>(a, place_in, tile);

  int64_t* const words = shared_words() + warp * kWarpWords;  // [warp][copy][word]
  for (int i = lane; i < kWarpWords; i += kWarp) words[i] = 0;
  if (lane == 0 && in_team == 0) taken[team] = team_warps;
  const auto sync_team = [&] {
    if (a.log_team == 0) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  };
  sync_team();

  OpenSlices<In, 1> slices;
  bool closed = a.sink.words;
#pragma unroll 1
  while (tile < tiles) {
    const int take = __shfl_sync(kAllLanes, lane == 0 ? atomicAdd(&taken[team], 1) : 0, 0);
    tile = static_cast<int64_t>(take) * a.units.divisor + unit;
    const RowTile t = next;
    if (tile < tiles) next = load_row_tile<In, A, Loads>(a, place_in, tile);
    closed |= add_row_tile<In>(t, slices, words);
  }

  const Slices& sums = slices.column[0];
  if (a.log_team == 0 && !closed) {  // the same in every lane
    const int128 first = sum_across_warp(sums.first), second = sum_across_warp(sums.second);
    const int unit_of_second = (slices.open ? slices.window.unit : kLowestUnit<F>)-kSliceBits;
    if (lane == 0 && exists) {
      finish_value<F>(a.sink, place_out, (first << kSliceBits) + second, unit_of_second);
    }
    return;
  }
  if (slices.open) close_slices<In>(sums.first, sums.second, slices.window.unit, words);
  sync_team();
  if (in_team != 0 || !exists) return;
  for (int d = lane; d < F::kWords; d += kWarp) {
    int64_t sum = 0;
#pragma unroll 8
    for (int c = 0; c < kCopies<In> * team_warps; ++c) sum += words[c * F::kWords + d];
    words[d] = sum;
    if (a.units.divisor > 1) a.partials[(output * a.units.divisor + unit) * F::kWords + d] = sum;
  }
  if (a.units.divisor > 1) return;
  __syncwarp();
  finish_by_warp<F>(a.sink, place_out, words);
}

}  // namespace torch_reduce::cuda

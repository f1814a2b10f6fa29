// A warp's part of a row: a tile of its lanes' loads, the slices and the superaccumulator that it goes to.
#pragma once

#include "core/contract/integers.h"
#include "core/cuda/exact/finish.cuh"
#include "core/cuda/exact/tile.cuh"

namespace torch_reduce::cuda {

// Rows of n elements in memory. Where they are contiguous, a row's 16-byte loads begin with the one that has its first
// element, at any place in it: the order of elements does not matter.
template <class In, Access A>
struct RowSource {
  using Element = In;
  using Number = In;  // what is added up
  using Place = int64_t;
  using Kept = ExactKept<A>;
  template <int Loads>
  using Part = Tile<In, A, Loads>;
  // A kernel of its own for rows of one tile.
  static constexpr bool has_one_tile = true;
  static constexpr int kTensors = 1;

  const void* data;
  int64_t n;
  int64_t span;       // of the tiles, in elements: n, and what loads may have before it
  Segments segments;  // Segmented: of vectors
  ReducedIndex<A> reduced;

  // Tile `tile` of the row at `place`.
  template <int Loads>
  __device__ __forceinline__ Tile<In, A, Loads> load(int64_t place, int64_t tile) const {
    Tile<In, A, Loads> t;
    const int64_t first =
        tile * (Loads * kWarp) + threadIdx.x % kWarp;  // of the lane's loads; the next are kWarp apart
    const In* row = static_cast<const In*>(data) + place;
    if constexpr (A == Access::Strided) {
#pragma unroll
      for (int i = 0; i < Loads; ++i) {
        const int64_t element = first + i * kWarp;
        t.part[i] = element < n ? row[reduced.at(element)] : zero_element<In>();
      }
    } else {
      constexpr int V = vector_width<In>;
      int before = 0;  // elements in the first load that are not the row's
      if constexpr (A == Access::Contiguous) {
        before = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16 / sizeof(In));
        row -= before;
      }
      const int64_t end = n + before;
      const auto at = [&](int i) {
        if constexpr (A == Access::Contiguous) {
          return row + (first + i * kWarp) * V;
        } else {
          return row + segments.at(static_cast<uint32_t>(first) + i * kWarp);
        }
      };
      if ((tile + 1) * (Loads * kWarp * V) <= end && (tile > 0 || before == 0)) {
#pragma unroll
        for (int i = 0; i < Loads; ++i) t.part[i] = load16(at(i));
      } else {
        const bool first_is_whole = first > 0 || before == 0;
        const auto is_whole = [&](int i) { return (i > 0 || first_is_whole) && end - (first + i * kWarp) * V >= V; };
#pragma unroll
        for (int i = 0; i < Loads; ++i) t.part[i] = is_whole(i) ? load16(at(i)) : uint4{0, 0, 0, 0};
        if (before != 0 || end % V != 0) {
#pragma unroll
          for (int i = 0; i < Loads; ++i) {
            const int64_t begin = (first + i * kWarp) * V;
            if (!is_whole(i) && begin < end) {
              t.part[i] = load_between(at(i), max(before - begin, int64_t{0}), min(end - begin, int64_t{V}));
            }
          }
        }
      }
    }
    return t;
  }
};

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
    constexpr int kDown = 64;
    const int top = above<In>(range.most), down = is_beyond<In>(range.most, kSliceBits) ? kDown : 0;
    const double scale = power_of_two(-down);
    const Window window = window_for<F>(top - down);
    const uint32_t lower = least_magnitude<In>(window.unit + down - kSliceBits);
    Slices sums;
    range.most = 0;
    for_each(tile.again(), [&](In x, int) {
      const uint32_t m = magnitude(x);
      const double d = widen<double>(m - lower < upper - lower ? x : zero_element<In>());
      sums.add_to_both(window, sizeof(In) == 8 ? d * scale : d);
      if (m < lower) range.most = max(range.most, m);
    });
    sums.remove_from_both(window, Tile::kElements);
    close_slices<In>(sums.first, sums.second, window.unit + down, words);
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
  if (!beyond && !slices.fits(above<In>(range.most), Tile::kElements, exact::kMostAdds)) {
    if (slices.open) {
      close_slices<In>(sums.first, sums.second, slices.window.unit, words);
      closed = true;
    }
    slices.set(above<In>(range.most));
  }
  if (!beyond && slices.first_holds(range)) {
    slices.add_to_first(t, range);
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

// That of a lane's elements, below 2^top and of so many bits from there on, which add in a double without error.
template <int kBits, class Tile>
__device__ __forceinline__ double sum_of_lane(const Tile& t, int top) {
  if constexpr (Tile::are_products_of_floats && kBits <= 2 * kFloatSliceBits) {
    if (FloatWindow::exists(top)) {
      const FloatWindow window(top);
      return window.value_of(sum_in_floats(t, window));
    }
  }
  double sum = 0;
  for_each(t, [&](auto x, int) { sum += widen<double>(x); });
  return sum;
}

// The sum of all elements of a warp's tile as a double, in every lane. Returns whether it is exact: multiples of 2^w
// below 2^(w+53) / n add in a double without error, and many tiles hold no others.
template <class In, class Tile>
__device__ __forceinline__ bool sum_in_doubles(const Tile& t, double& sum) {
  constexpr int kBits = 53 - log2_above(kWarp * Tile::kElements);
  const Range<In> range = range_across_warp(t.range());
  const int top = above<In>(range.most), unit = max(top - kBits, exact::FormatOf<In>::kLowest);
  if (is_beyond<In>(range.most, kBits) || !range.is_multiple(unit)) return false;
  sum = sum_of_lane<kBits>(t, top);
#pragma unroll
  for (int mask = 1; mask < kWarp; mask *= 2) sum += exchange(sum, mask);
  return true;
}

// The warp's sum of its slices, in every lane.
template <class In>
__device__ __forceinline__ WideSum sum_of_warp(const OpenSlices<In, 1>& slices) {
  if (!slices.open) return {};  // the same in every lane
  const Slices& sums = slices.column[0];
  const int unit = slices.window.unit;
  const int128 first = sum_across_warp(sums.first);
  if (__ballot_sync(kAllLanes, sums.second != 0) == 0) return {first, unit};  // the likely case
  return {(first << kSliceBits) + sum_across_warp(sums.second), unit - kSliceBits};
}

// Adds up so many superaccumulators in the first one's words.
template <class F>
__device__ __forceinline__ void merge_words(int64_t* words, int count) {
  __syncwarp();
  for (int d = threadIdx.x % kWarp; d < F::kWords; d += kWarp) {
    int64_t sum = 0;
#pragma unroll 8
    for (int c = 0; c < count; ++c) sum += words[c * F::kWords + d];
    words[d] = sum;
  }
  __syncwarp();
}

// Writes what a sum, if it fits, and the words come to. All lanes of the warp call it.
template <class In>
__device__ __forceinline__ void finish_words_and_sum(const ExactSink& s, int64_t place, int64_t* words,
                                                     const WideSum& sum) {
  using F = exact::FormatOf<In>;
  if (sum.exponent != WideSum::kNothing) add_by_warp<F>(words, sum.value, sum.exponent);
  finish_by_warp<F>(s, place, words);
}

}  // namespace torch_reduce::cuda

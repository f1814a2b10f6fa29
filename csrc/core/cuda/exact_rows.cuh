// Exact sums of rows. A team of 1, 2, 4 or 8 warps reduces a row, or a unit of one that several CTAs share. A warp
// walks in tiles of its lanes' loads, of which it has the next one under way; it has one window for its lanes' slices,
// and sums these across the warp at the end. What does not go there goes to digits in shared memory, a few copies a
// warp.
#pragma once

#include "exact_tile.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactRowsArgs {
  const void* data;
  ExactSink sink;
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output
  int64_t tiles;      // warp tiles of a unit
  int log_team;
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
        t.part[i] = left >= V  ? load16(at(i))
                    : left > 0 ? load_first(at(i), static_cast<int>(left))
                               : uint4{0, 0, 0, 0};
      }
    }
  }
  return t;
}

// What follows is seldom run, and not inlined: a call's arguments go through memory, but only then, while the loop over
// the tiles keeps its registers.

// Adds the warp's open slices to digits.
template <class In>
__device__ __noinline__ void close_row(const OpenSlices<In, 1>& slices, Digits digits) {
  const int128 first = sum_across_warp(slices.column[0].first), second = sum_across_warp(slices.column[0].second);
  if (threadIdx.x % kWarp == 0) {
    spill<exact::FormatOf<In>>(digits, (first << kSliceBits) + second, slices.window.unit - kSliceBits);
  }
}

// Elements in any range: window after window, each for the magnitudes that the one before was too high for.
template <class In, class Tile>
__device__ __noinline__ void add_wide_tile(const Tile& tile, Digits digits) {
  using F = exact::FormatOf<In>;
  uint32_t upper = kInfMagnitude<In>;
#pragma unroll 1
  do {
    Range<In> range;
    for_each(tile.again(), [&](In x, int) { range.most = max(range.most, magnitude(x) < upper ? magnitude(x) : 0); });
    range = range_across_warp(range);
    if (range.most == 0) return;
    OpenSlices<In, 1> slices;
    slices.set(above<In>(range.most));
    const uint32_t lower = least_magnitude<In>(slices.window.unit - kSliceBits);
    for_each(tile.again(), [&](In x, int) {
      const uint32_t m = magnitude(x);
      slices.column[0].add_to_both(slices.window, m >= lower && m < upper ? widen<double>(x) : 0.0);
    });
    slices.column[0].remove_from_both(slices.window, Tile::kElements);
    close_row(slices, digits);
    upper = lower;
  } while (upper > 0 && sizeof(In) < 8);
  if constexpr (sizeof(In) == 8) {  // would take up to 45 windows: what is left is added element by element
    for_each(tile.again(), [&](In x, int) {
      if (magnitude(x) < upper) spill<F>(digits, x);
    });
  }
}

// Elements that are not finite, or too large for any window.
template <class In, class Tile>
__device__ __noinline__ void add_by_element(const Tile& tile, Digits digits) {
  for_each(tile, [&](In x, int) { spill<exact::FormatOf<In>>(digits, widen<double>(x)); });
}

// A tile's elements into slices, or into digits. Returns whether any went there.
template <class In, class Tile>
__device__ __forceinline__ bool add_row_tile(const Tile& t, OpenSlices<In, 1>& slices, Digits digits) {
  const Range<In> range = range_across_warp(t.range());
  if (range.most == 0) return false;
  if (is_beyond<In>(range.most, kSliceBits - exact::kSlack)) {
    const Tile copy = t.again();
    add_by_element<In>(copy, digits);
    return true;
  }
  bool spilled = false;
  if (!slices.fits(above<In>(range.most), Tile::kElements)) {
    if (slices.open) {
      const OpenSlices<In, 1> copy = slices;
      close_row(copy, digits);
      spilled = true;
    }
    slices.set(above<In>(range.most));
  }
  Slices& sums = slices.column[0];
  if (one_slice_is_enough<In> || range.is_multiple(slices.window.unit)) {
    for_each(t, [&](In x, int) { sums.add_to_first(slices.window, widen<double>(x)); });
    sums.remove_from_first(slices.window, Tile::kElements);
  } else if (range.is_multiple(slices.window.unit - kSliceBits)) {
    for_each(t.again(), [&](In x, int) { sums.add_to_both(slices.window, widen<double>(x)); });
    sums.remove_from_both(slices.window, Tile::kElements);
  } else {
    const Tile copy = t.again();
    add_wide_tile<In>(copy, digits);
    return true;
  }
  slices.adds += Tile::kElements;
  return spilled;
}

template <class In, Access A>
__global__ void __launch_bounds__(kExactThreads, 3) exact_rows(const __grid_constant__ ExactRowsArgs<A> a) {
  using F = exact::FormatOf<In>;
  constexpr int kLoads = A == Access::Strided ? exact::kRowsElements : exact::kRowsLoads;
  constexpr int kCopies = exact::kCopiesPerWarp;
  using RowTile = Tile<In, A, kLoads>;
  auto* words = shared_words();  // [word][warp][copy]

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp, copies = warps * kCopies;
  for (int i = lane; i < F::kWords * kCopies; i += kWarp)
    words[i / kCopies * copies + warp * kCopies + i % kCopies] = 0;
  __syncwarp();
  const Digits digits{words + warp * kCopies + lane % kCopies, copies};

  const int team = warp >> a.log_team, in_team = warp & ((1 << a.log_team) - 1);
  const uint32_t group = a.units.quotient(blockIdx.x), unit = blockIdx.x - group * a.units.divisor;
  const int64_t output = static_cast<int64_t>(group) * (warps >> a.log_team) + team;
  const bool exists = output < a.outputs;
  const int64_t place_in = exists ? a.kept.in(output) : 0, place_out = exists ? a.kept.out(output) : 0;

  OpenSlices<In, 1> slices;
  bool spilled = a.sink.words;
  const int64_t begin = unit * a.tiles + in_team, step = int64_t{1} << a.log_team;
  const int64_t all = (a.n + RowTile::kElements * kWarp - 1) / (RowTile::kElements * kWarp);
  const int64_t end = exists ? min((unit + 1) * a.tiles, all) : 0;
  RowTile next;
  if (begin < end) next = load_row_tile<In, A, kLoads>(a, place_in, begin);
#pragma unroll 1
  for (int64_t tile = begin; tile < end; tile += step) {
    const RowTile t = next;
    if (tile + step < end) next = load_row_tile<In, A, kLoads>(a, place_in, tile + step);
    spilled |= add_row_tile<In>(t, slices, digits);
  }

  if (a.log_team == 0 && !spilled) {  // the same in every lane
    const int128 first = sum_across_warp(slices.column[0].first), second = sum_across_warp(slices.column[0].second);
    const int unit_of_first = slices.open ? slices.window.unit : kLowestUnit<F>;
    if (lane == 0 && exists) finish_slices(a.sink, place_out, first, second, unit_of_first);
    return;
  }
  if (slices.open) {
    const OpenSlices<In, 1> copy = slices;
    close_row(copy, digits);
  }
  const auto sync_team = [&] {
    if (a.log_team == 0) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  };
  sync_team();

  // The team's copies into the first one; rotated, as the words of one copy lie in one bank.
  const int team_copies = kCopies << a.log_team;
  int64_t* const total = words + team * team_copies;
  if (a.units.divisor > 1) wait_for_previous_kernel();  // which zeroes the scratch
  for (int d = in_team * kWarp + lane; d < F::kWords; d += kWarp << a.log_team) {
    int64_t sum = 0;
    for (int c = 0; c < team_copies; ++c) sum += total[d * copies + ((c + d) & (team_copies - 1))];
    total[d * copies] = sum;
    if (a.units.divisor > 1) add_word_to_scratch<F>(a.sink, a.sink.accumulator(output), d, sum);
  }
  if (a.units.divisor == 1) {
    sync_team();
    if (in_team == 0 && lane == 0 && exists) {
      finish_words<F>(a.sink, place_out, [&](int d) { return total[d * copies]; });
    }
    return;
  }
  // Units come one to a CTA, whose team is all of it.
  if (!is_last_unit(a.sink, output)) return;
  for (int d = threadIdx.x; d < F::kWords; d += blockDim.x) words[d] = read_scratch(a.sink, output, d);
  __syncthreads();
  if (threadIdx.x == 0) finish_words<F>(a.sink, place_out, [&](int d) { return words[d]; });
}

}  // namespace torch_reduce::cuda

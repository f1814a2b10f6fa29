// Exact sums of columns: neighbouring threads own neighbouring outputs. 2^log_across lanes of a warp stand side by
// side, each on V columns; its other lanes, and other warps of the CTA, stand on other rows. A warp has a window, and
// its lanes slices for each of their columns, which the warp and then the CTA adds up as integers; what is in none goes
// to superaccumulators in shared memory. CTAs that share columns leave both for the kernel that finishes.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/column_partials.cuh"
#include "core/cuda/exact/short_columns.cuh"

namespace torch_reduce::cuda {

template <class Source>
struct ExactColumnsArgs {
  // What the first loads need comes first, as memory is waited for at every line of arguments.
  FastDivisor tiles, tiles_across;  // CTAs of a unit, and of these those side by side over the columns of one batch
  int64_t unit_rows;
  Source source;
  ExactSink sink;
  ColumnPartials partials;
  int log_across;
  int most_adds;   // of a lane to a column
  int most_apart;  // octaves between windows whose integers add up in 128 bits
};

// 16-bit types have one slice: it holds 32 octaves and more.
template <class In>
constexpr bool has_second_slice = sizeof(In) > 2;

// A tile's elements into slices; others by spill(column, x); slices that are closed by close(column).
template <class In, class Tile, class Spill, class Close>
__device__ __forceinline__ void add_column_tile(const Tile& t, OpenSlices<In, Tile::V>& slices, int most_adds,
                                                Spill spill, Close close) {
  constexpr int kRows = Tile::kElements / Tile::V;
  const Range<In> range = range_across_warp(t.range());
  if (range.most == 0) return;
  if (is_beyond<In>(range.most, kSliceBits - exact::kSlack)) {
    return for_each(t.again(), [&](In x, int v) { spill(v, widen<double>(x)); });
  }
  if (!slices.fits(above<In>(range.most), kRows, most_adds)) {
    if (slices.open) {
#pragma unroll
      for (int v = 0; v < Tile::V; ++v) close(v);
    }
    slices.set(above<In>(range.most));
  }
  if (slices.first_holds(range)) return slices.add_to_first(t, range);
  const Window& w = slices.window;
  const uint32_t least = least_magnitude<In>(w.unit - (has_second_slice<In> ? kSliceBits : 0));
  for_each(t.again(), [&](In x, int v) {
    double d = widen<double>(x);
    if (magnitude(x) < least) {
      if (d != 0) spill(v, widen<double>(x));
      d = 0;
    }
    if constexpr (has_second_slice<In>) {
      slices.column[v].add_to_both(w, d);
    } else {
      slices.column[v].add_to_first(w, d);
    }
  });
#pragma unroll
  for (auto& c : slices.column) {
    if constexpr (has_second_slice<In>) {
      c.remove_from_both(w, kRows);
    } else {
      c.remove_from_first(w, kRows);
    }
  }
  slices.adds += kRows;
}

template <class Source, int Loads>
__global__ void __launch_bounds__(kExactThreads, 2) exact_columns(const __grid_constant__ ExactColumnsArgs<Source> a) {
  using In = typename Source::Number;
  using F = exact::FormatOf<In>;
  using ColumnTile = typename Source::template Part<Loads>;
  constexpr int V = ColumnTile::V, kSlices = has_second_slice<In> ? 2 : 1;
  alignas(16) __shared__ int windows[exact::kWarps];
  __shared__ bool spilled, second_slice;
  a.partials.units > 1 ? allow_next_kernel() : allow_next_kernel_if_small();

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const int across = 1 << a.log_across, along = blockDim.x >> a.log_across, width = across * V;
  auto* words = shared_words();  // [word][slot of a column]
  // Columns of neighbouring lanes lie in neighbouring banks.
  const int x = lane & (across - 1), y = warp * (kWarp >> a.log_across) + (lane >> a.log_across);
  int64_t* const slots = words + F::kWords * width;  // [warp][slice][slot of a column]
  const auto digits_of = [&](int v) { return Digits{words + v * across + x, width}; };

  const uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  const uint32_t batch = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - batch * a.tiles_across.divisor) * width;
  const int64_t column = column0 + x * V;
  const auto top = a.source.top(batch, column);
  const int64_t begin = unit * a.unit_rows + y, unit_end = min((unit + 1) * a.unit_rows, a.source.n);
  const int64_t end = column < a.source.columns ? unit_end : 0;
  const int64_t rows_of_warp = unit_end - (begin - (lane >> a.log_across));

  wait_for_previous_kernel();
  ColumnTile next = a.source.template load<Loads>(top, begin, along, end);
  for (int i = threadIdx.x; i < F::kWords * width; i += blockDim.x) words[i] = 0;
  if (threadIdx.x == 0) {
    spilled = a.sink.words;
    second_slice = false;
  }
  if (threadIdx.x < exact::kWarps) windows[threadIdx.x] = INT_MAX;
  __syncthreads();

  OpenSlices<In, V> slices;
  const auto spill_one = [&](int v, double d) {
    spilled = true;
    spill<F>(digits_of(v), d);
  };
  const auto close = [&](int v) {
    spilled = true;
    spill<F>(digits_of(v), join(slices.column[v].first, slices.column[v].second), slices.window.unit - kSliceBits);
  };
#pragma unroll 1
  for (int64_t row = 0; row < rows_of_warp;) {
    const ColumnTile t = next;
    row += Loads * along;
    if (row < rows_of_warp) next = a.source.template load<Loads>(top, begin + row, along, end);
    add_column_tile<In>(t, slices, a.most_adds, spill_one, close);
  }

  // The sums of the warp's lanes that have the same columns.
#pragma unroll 1
  for (int mask = across; mask < kWarp; mask *= 2) {
#pragma unroll
    for (Slices& c : slices.column) c.first += exchange(c.first, mask);
  }
  if constexpr (kSlices > 1) {
    bool any = false;
    for (const Slices& c : slices.column) any |= c.second != 0;
    if (__ballot_sync(kAllLanes, any) != 0) {
      if (lane == 0) second_slice = true;
      // What is above its 50 bits goes to the first, so that both have room.
      int64_t carry[V];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        carry[v] = slices.column[v].second >> kSliceBits;
        slices.column[v].second -= carry[v] << kSliceBits;
      }
#pragma unroll 1
      for (int mask = across; mask < kWarp; mask *= 2) {
#pragma unroll
        for (int v = 0; v < V; ++v) {
          slices.column[v].second += exchange(slices.column[v].second, mask);
          carry[v] += exchange(carry[v], mask);
        }
      }
#pragma unroll
      for (int v = 0; v < V; ++v) slices.column[v].first += carry[v];
    }
  }
  if (lane == 0 && slices.open) windows[warp] = slices.window.unit;
  if (lane < across) {
    int64_t* const slot = slots + warp * kSlices * width + x;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      slot[v * across] = slices.column[v].first;
      if constexpr (kSlices > 1) slot[width + v * across] = slices.column[v].second;
    }
  }
  __syncthreads();

  // The warps' windows differ by some octaves, seldom by more.
  const int warps = blockDim.x / kWarp, a_window = lane < exact::kWarps ? windows[lane] : INT_MAX;
  const int base = min_across_warp(a_window), highest = max_across_warp(a_window == INT_MAX ? INT_MIN : a_window);
  const int octaves = base == INT_MAX ? 0 : highest - base;
  const bool has_words = spilled || octaves > a.most_apart;
  const int exponent = base == INT_MAX ? ColumnPartials::kNothing : base - kSliceBits;
  if (a.partials.units > 1 && threadIdx.x == 0) {
    a.partials.headers[blockIdx.x] = {exponent, has_words ? ColumnPartials::kWords : octaves};
  }
#pragma unroll 1
  for (int s = threadIdx.x; s < width; s += blockDim.x) {
    const auto slot = [&](int w, int slice) { return slots[(w * kSlices + slice) * width + s]; };
    int128 sum = 0;
    bool all_narrow = !second_slice;
    if (all_narrow) {
      uint64_t of_all = 0;
      static_assert(exact::kWarps <= kMostNarrow);
#pragma unroll
      for (int w = 0; w < exact::kWarps; ++w) {
        if (windows[w] == INT_MAX) continue;
        int64_t shifted;
        all_narrow &= narrow(slot(w, 0), windows[w] - base, shifted);
        of_all += static_cast<uint64_t>(shifted);
      }
      if (all_narrow) sum = static_cast<int128>(static_cast<int64_t>(of_all)) << kSliceBits;
    }
#pragma unroll 1
    for (int w = 0; !all_narrow && w < warps; ++w) {
      if (windows[w] == INT_MAX) continue;
      const int128 v = join(slot(w, 0), kSlices > 1 ? slot(w, 1) : 0);
      const int apart = windows[w] - base;
      if (apart <= a.most_apart) {
        sum += v << apart;
      } else {
        spill<F>(Digits{words + s, width}, v, windows[w] - kSliceBits);
      }
    }
    const int64_t c = column0 + (s & (across - 1)) * V + (s >> a.log_across);
    if (c >= a.source.columns) continue;
    const int64_t output = batch * a.source.columns + c, place = a.source.place_out(batch, c);
    if (a.partials.units > 1) {
      a.partials.set_sum(unit, output, sum);
      if (!has_words) continue;
      for (int d = 0; d < F::kWords; ++d) *a.partials.template word<F>(unit, d, output) = words[d * width + s];
    } else if (!has_words) {
      finish_value<In>(a.sink, place, sum, exponent);
    } else {
      if (sum != 0) spill<F>(Digits{words + s, width}, sum, exponent);
      finish_words<F>(a.sink, place, [&](int d) { return words[d * width + s]; });
    }
  }
}

}  // namespace torch_reduce::cuda

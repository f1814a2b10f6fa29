// Exact sums of columns: neighbouring threads own neighbouring outputs. 2^log_across lanes of a warp stand side by
// side, each on V columns; its other lanes, and other warps of the CTA, stand on other rows. Each lane has a window,
// and slices for each of its columns. Where a lane has its columns alone (`direct`) they are finished from registers,
// or summed again where those do not do. Else the lanes of a CTA start with one window, so that their slices add up in
// shared memory; what is not in it goes to digits there, and CTAs meet in scratch.
#pragma once

#include <climits>

#include "exact_tile.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactColumnsArgs {
  const void* data;
  ExactSink sink;
  int64_t n;
  int64_t columns, column_stride, column_out_stride;
  int64_t next_row;                 // Contiguous: elements from a row to the next
  FastDivisor tiles, tiles_across;  // CTAs of a unit, and of these those side by side over the columns of one batch
  int64_t unit_rows;
  int log_across, log_warps_across;
  bool direct, shares_window;  // shares_window: a column's slices of all its lanes add up in 63 bits
  Segments segments;
  ExactKept<A> batch;
  ReducedIndex<A> reduced;
};

// A lane's columns of `Loads` rows that are `apart` from one another.
template <class In, Access A, int Loads>
__device__ __forceinline__ Tile<In, A, Loads> load_column_tile(const ExactColumnsArgs<A>& a, int64_t start, int64_t row,
                                                               int apart, int64_t end) {
  Tile<In, A, Loads> t;
  const In* column = static_cast<const In*>(a.data) + start;
#pragma unroll
  for (int i = 0; i < Loads; ++i) {
    const int64_t r = row + i * apart;
    if constexpr (A == Access::Strided) {
      t.part[i] = r < end ? column[a.reduced.at(r)] : zero_element<In>();
    } else if constexpr (A == Access::Segmented) {
      t.part[i] = r < end ? load16(column + a.segments.at(static_cast<uint32_t>(r))) : uint4{0, 0, 0, 0};
    } else {
      t.part[i] = r < end ? load16(column + r * a.next_row) : uint4{0, 0, 0, 0};
    }
  }
  return t;
}

// A tile's elements into slices; others by spill(column, x); slices that are closed by close(column).
template <class In, class Tile, class Spill, class Close>
__device__ __forceinline__ void add_column_tile(const Tile& t, OpenSlices<In, Tile::V>& slices, Spill spill,
                                                Close close) {
  constexpr int kRows = Tile::kElements / Tile::V;
  const Range<In> range = t.range();
  if (range.most == 0) return;
  if (is_beyond<In>(range.most, kSliceBits - exact::kSlack)) {
    return for_each(t.again(), [&](In x, int v) { spill(v, widen<double>(x)); });
  }
  if (!slices.fits(above<In>(range.most), kRows)) {
    if (slices.open) {
#pragma unroll
      for (int v = 0; v < Tile::V; ++v) close(v);
    }
    slices.set(above<In>(range.most));
  }
  slices.adds += kRows;
  const Window& w = slices.window;
  if (one_slice_is_enough<In> || range.is_multiple(w.unit)) {
    for_each(t, [&](In x, int v) { slices.column[v].add_to_first(w, widen<double>(x)); });
#pragma unroll
    for (auto& c : slices.column) c.remove_from_first(w, kRows);
  } else {
    const uint32_t least = least_magnitude<In>(w.unit - kSliceBits);
    for_each(t.again(), [&](In x, int v) {
      double d = widen<double>(x);
      if (magnitude(x) < least) {
        if (d != 0) spill(v, d);
        d = 0;
      }
      slices.column[v].add_to_both(w, d);
    });
#pragma unroll
    for (auto& c : slices.column) c.remove_from_both(w, kRows);
  }
}

template <class In, Access A, int Loads>
__global__ void __launch_bounds__(kExactThreads, 2) exact_columns(const __grid_constant__ ExactColumnsArgs<A> a) {
  using F = exact::FormatOf<In>;
  using ColumnTile = Tile<In, A, Loads>;
  constexpr int V = ColumnTile::V;
  __shared__ uint32_t most_of_cta;
  __shared__ bool spilled;

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const int across = 1 << a.log_across;
  const int warp_y = warp >> a.log_warps_across, warp_x = warp & ((1 << a.log_warps_across) - 1);
  const int lanes_across = across << a.log_warps_across, width = lanes_across * V;
  auto* words = shared_words();  // [word][slot of a column], then the slices [2][slot]
  const Digits sums{words + F::kWords * width, width};
  // Columns of neighbouring lanes lie in neighbouring banks.
  const int slot = (warp_x << a.log_across) + (lane & (across - 1));
  const auto digits_of = [&](int v) { return Digits{words + v * lanes_across + slot, width}; };

  const uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  const uint32_t batch = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - batch * a.tiles_across.divisor) * width;
  const int64_t column = column0 + slot * V;
  const bool inside = column < a.columns;
  const int64_t base_in = a.batch.in(batch), base_out = a.batch.out(batch);

  const int apart = (kWarp >> a.log_across) * (warps >> a.log_warps_across);
  const int64_t start = base_in + (A == Access::Strided ? column * a.column_stride : column);
  const int64_t begin = unit * a.unit_rows + warp_y * (kWarp >> a.log_across) + (lane >> a.log_across);
  const int64_t end = inside ? min((unit + 1) * a.unit_rows, a.n) : 0;
  const auto load = [&](int64_t row) { return load_column_tile<In, A, Loads>(a, start, row, apart, end); };

  OpenSlices<In, V> slices;
  bool again = a.sink.words;  // direct: registers do not hold the columns' sums
  const auto close = [&](int v) {
    again = true;
    if (a.direct) return;
    spilled = true;
    spill<F>(digits_of(v), join(slices.column[v].first, slices.column[v].second), slices.window.unit - kSliceBits);
  };
  const auto spill_one = [&](int v, double x) {
    again = true;
    if (a.direct) return;
    spilled = true;
    spill<F>(digits_of(v), x);
  };

  ColumnTile t;
  if (begin < end) t = load(begin);
  int common = INT_MIN;  // the unit of the CTA's first window
  if (!a.direct) {
    for (int i = threadIdx.x; i < (F::kWords + 2) * width; i += blockDim.x) words[i] = 0;
    if (threadIdx.x == 0) most_of_cta = 0, spilled = a.sink.words;
    __syncthreads();
    const uint32_t most = begin < end ? t.range().most : 0;
    if (a.shares_window && !is_beyond<In>(most, kSliceBits - exact::kSlack)) atomicMax(&most_of_cta, most);
    __syncthreads();
    if (a.shares_window) {
      slices.set(above<In>(most_of_cta));
      common = slices.window.unit;
    }
  }
#pragma unroll 1
  for (int64_t row = begin; row < end;) {
    add_column_tile<In>(t, slices, spill_one, close);
    row += Loads * apart;
    if (row < end) t = load(row);
  }

  const auto place_of = [&](int64_t c) { return base_out + c * a.column_out_stride; };
  if (a.direct) {
    if (!inside) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (!again) {
        finish_slices(a.sink, place_of(column + v), slices.column[v].first, slices.column[v].second,
                      slices.open ? slices.window.unit : kLowestUnit<F>);
        continue;
      }
      const In* top = static_cast<const In*>(a.data) + start + v;
      finish_by_lane<In>(a.sink, a.n, place_of(column + v), [&](int64_t i) {
        if constexpr (A == Access::Strided) {
          return top[a.reduced.at(i)];
        } else if constexpr (A == Access::Segmented) {
          return top[a.segments.at(static_cast<uint32_t>(i))];
        } else {
          return top[i * a.next_row];
        }
      });
    }
    return;
  }

  if (slices.open && slices.adds > 0) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (slices.window.unit == common) {
        const Digits mine{sums.word + v * lanes_across + slot, width};
        if (slices.column[v].first != 0) mine.add_to_word(0, slices.column[v].first);
        if (slices.column[v].second != 0) mine.add_to_word(1, slices.column[v].second);
      } else {
        close(v);
      }
    }
  }
  if (a.sink.units > 1) wait_for_previous_kernel();  // which zeroes the scratch
  __syncthreads();
  const auto column_of = [&](int s) { return column0 + s % lanes_across * V + s / lanes_across; };
  for (int s = threadIdx.x; s < width; s += blockDim.x) {
    const int64_t c = column_of(s);
    if (c >= a.columns) continue;
    const int64_t first = sums.word[s], second = sums.word[width + s];
    const int64_t output = batch * a.columns + c;
    if (!spilled && a.sink.units == 1) {
      finish_slices(a.sink, place_of(c), first, second, common);
    } else if (!spilled) {
      split_wide<F>(join(first, second), common - kSliceBits,
                    [&](int d, int64_t piece) { add_to_scratch(a.sink, output, d, piece); });
    } else {
      const Digits digits{words + s, width};
      if (first != 0 || second != 0) spill<F>(digits, join(first, second), common - kSliceBits);
      if (a.sink.units == 1) {
        finish_words<F>(a.sink, place_of(c), [&](int d) { return digits.word[d * width]; });
      } else {
        for (int d = 0; d < F::kWords; ++d) {
          add_word_to_scratch<F>(a.sink, output, d, digits.word[d * width]);
        }
      }
    }
  }
  if (a.sink.units == 1 || !is_last_unit(a.sink, tile)) return;
  for (int s = threadIdx.x; s < width; s += blockDim.x) {
    const int64_t c = column_of(s), output = batch * a.columns + c;
    if (c >= a.columns) continue;
    finish_words<F>(a.sink, place_of(c), [&](int d) { return __ldcg(a.sink.word(output, d)); });
  }
}

}  // namespace torch_reduce::cuda

// Exact sums of columns: neighbouring threads own neighbouring outputs. 2^log_across lanes of a warp stand side by
// side, each on V columns; its other lanes, and other warps of the CTA, stand on other rows. Each lane has a window,
// and slices for each of its columns, which the CTA adds up as wide integers; what is in none goes to superaccumulators
// in shared memory. CTAs that share columns leave both for the kernel that finishes.
#pragma once

#include "exact_column_partials.cuh"
#include "exact_short_columns.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactColumnsArgs {
  ColumnSource<A> source;
  ExactSink sink;
  ColumnPartials partials;
  FastDivisor tiles, tiles_across;  // CTAs of a unit, and of these those side by side over the columns of one batch
  int64_t unit_rows;
  int log_across;
  int most_apart;  // octaves between windows whose integers add up in 128 bits
};

// 16-bit types have one slice: it holds 32 octaves and more.
template <class In>
constexpr bool has_second_slice = sizeof(In) > 2;

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
  if (slices.first_holds(range)) return slices.add_to_first(t);
  const Window& w = slices.window;
  const uint32_t least = least_magnitude<In>(w.unit - (has_second_slice<In> ? kSliceBits : 0));
  for_each(t.again(), [&](In x, int v) {
    double d = widen<double>(x);
    if (magnitude(x) < least) {
      if (d != 0) spill(v, d);
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

template <class In, Access A, int Loads>
__global__ void __launch_bounds__(kExactThreads, 2) exact_columns(const __grid_constant__ ExactColumnsArgs<A> a) {
  using F = exact::FormatOf<In>;
  using ColumnTile = Tile<In, A, Loads>;
  constexpr int V = ColumnTile::V, kSlices = has_second_slice<In> ? 2 : 1;
  __shared__ int lowest, windows[kExactThreads];
  __shared__ bool spilled;
  allow_next_kernel();

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const int across = 1 << a.log_across, along = blockDim.x >> a.log_across, width = across * V;
  auto* words = shared_words();  // [word][slot of a column]
  // Columns of neighbouring lanes lie in neighbouring banks.
  const int x = lane & (across - 1), y = warp * (kWarp >> a.log_across) + (lane >> a.log_across);
  int64_t* const slots = words + F::kWords * width;  // [slice][y][slot of a column]
  const auto digits_of = [&](int v) { return Digits{words + v * across + x, width}; };

  const uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  const uint32_t batch = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - batch * a.tiles_across.divisor) * width;
  const int64_t column = column0 + x * V;
  const In* top = a.source.template top<In>(batch, column);
  const int64_t begin = unit * a.unit_rows + y;
  const int64_t end = column < a.source.columns ? min((unit + 1) * a.unit_rows, a.source.n) : 0;

  ColumnTile next;
  if (begin < end) next = a.source.template load<In, Loads>(top, begin, along, end);
  for (int i = threadIdx.x; i < F::kWords * width; i += blockDim.x) words[i] = 0;
  if (threadIdx.x == 0) lowest = INT_MAX, spilled = a.sink.words;
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
  for (int64_t row = begin; row < end;) {
    const ColumnTile t = next;
    row += Loads * along;
    if (row < end) next = a.source.template load<In, Loads>(top, row, along, end);
    add_column_tile<In>(t, slices, spill_one, close);
  }

  // The lanes' windows differ by some octaves, seldom by more.
  int window = slices.open ? slices.window.unit : INT_MAX;
  int lowest_of_warp = window;
#pragma unroll
  for (int mask = 1; mask < kWarp; mask *= 2) lowest_of_warp = min(lowest_of_warp, exchange(lowest_of_warp, mask));
  if (lane == 0) atomicMin(&lowest, lowest_of_warp);
  __syncthreads();
  const int base = lowest;
  if (slices.open && window - base > a.most_apart) {
#pragma unroll
    for (int v = 0; v < V; ++v) close(v);
    window = INT_MAX;
  }
  windows[y * across + x] = window;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    int64_t* const slot = slots + y * width + v * across + x;
    slot[0] = slices.column[v].first;
    if constexpr (kSlices > 1) slot[along * width] = slices.column[v].second;
  }
  __syncthreads();

  // All threads add up: where there are more than columns, those of a warp that have one column, then those of all.
  const int exponent = base == INT_MAX ? ColumnPartials::kNothing : base - kSliceBits;
  if (a.partials.units > 1 && threadIdx.x == 0) a.partials.headers[blockIdx.x] = {exponent, spilled};
  const int threads = blockDim.x, side = min(width, threads), parts = threads / max(side, kWarp);
  for (int s = threadIdx.x % side; s < width; s += side) {
    int128 sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x / side; i < along; i += threads / side) {
      const int of = windows[i * across + s % across];
      const int64_t* const slot = slots + i * width + s;
      const int128 v = join(slot[0], kSlices > 1 ? slot[along * width] : 0);
      sum += of == INT_MAX ? 0 : v << (of - base);
    }
    for (int mask = side; mask < kWarp; mask *= 2) sum += exchange(sum, mask);
    if (parts > 1) {  // so there is one s
      __syncthreads();
      int64_t* const sums = slots + (threadIdx.x / max(side, kWarp) * width + s) * 2;
      sums[0] = static_cast<int64_t>(sum);
      sums[1] = static_cast<int64_t>(sum >> 64);
      __syncthreads();
      sum = 0;
      for (int i = 0; i < parts; ++i) {
        const int64_t* const part = slots + (i * width + s) * 2;
        sum += (static_cast<int128>(part[1]) << 64) + static_cast<uint64_t>(part[0]);
      }
    }
    const int64_t c = column0 + s % across * V + s / across;
    if (threadIdx.x >= side || c >= a.source.columns) continue;
    const int64_t output = batch * a.source.columns + c, place = a.source.place_out(batch, c);
    if (a.partials.units > 1) {
      a.partials.set_sum(unit, output, sum);
      if (!spilled) continue;
      for (int d = 0; d < F::kWords; ++d) *a.partials.template word<F>(unit, d, output) = words[d * width + s];
    } else if (!spilled) {
      finish_value<F>(a.sink, place, sum, sum == 0 ? F::kLowest : exponent);
    } else {
      if (sum != 0) spill<F>(Digits{words + s, width}, sum, exponent);
      finish_words<F>(a.sink, place, [&](int d) { return words[d * width + s]; });
    }
  }
}

}  // namespace torch_reduce::cuda

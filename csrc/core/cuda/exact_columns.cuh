// Exact sums of columns: neighbouring threads own neighbouring outputs. 2^log_across lanes of a warp stand side by
// side, each on V columns; its other lanes, and other warps of the CTA, stand on other rows. Each lane has a window of
// its own and slices for each of its columns. Where a lane has its columns alone (`direct`) they are finished from
// registers, or summed again where those do not do; else lanes and CTAs meet in digits in shared memory, and those in
// scratch.
#pragma once

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
  bool direct;
  Segments segments;
  KeptIndex<kept_room(A)> batch;
  ReducedIndex<reduced_room(A)> reduced;
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

// A tile's elements into slices, the rest by spill(column, x) and close(column, sum), which adds slices that are
// closed.
template <class In, Access A, int Loads, class Spill, class Close>
__device__ __forceinline__ void add_column_tile(const Tile<In, A, Loads>& t, OpenSlices<In, exact_width<In, A>>& slices,
                                                Spill spill, Close close) {
  constexpr int V = exact_width<In, A>;
  const uint32_t most = t.most();
  if (is_nothing<In>(most)) return;
  const bool beyond = is_beyond<In>(most, kSliceBits - exact::kSlack);
  if (!beyond) {
    const int above = Magnitude<In>::above(most);
    if (!slices.fits(above, Loads)) {
      if (slices.open) {
#pragma unroll
        for (int v = 0; v < V; ++v) close(v, slices);
      }
      slices.set(above);
    }
    uint32_t left = 0;
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
#pragma unroll
      for (int v = 0; v < V; ++v) slices.column[v].template add<In>(slices.window, t.element(i, v), left);
    }
#pragma unroll
    for (auto& c : slices.column) c.template remove<In>(slices.window, Loads);
    slices.adds += Loads;
    if (left == 0) return;
  }
  const auto again = t.again();
#pragma unroll
  for (int i = 0; i < Loads; ++i) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const double r = beyond ? again.element(i, v) : residue(slices.window, again.element(i, v));
      if (r != 0) spill(v, r);
    }
  }
}

template <class In, Access A>
__global__ void __launch_bounds__(kExactThreads, 2) exact_columns(const __grid_constant__ ExactColumnsArgs<A> a) {
  using F = exact::FormatOf<In>;
  constexpr int V = exact_width<In, A>;
  constexpr int kLoads = tuning::kLoadsInFlight;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* words = reinterpret_cast<int64_t*>(shared);  // [word][slot of a column]

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const int across = 1 << a.log_across;
  const int warp_y = warp >> a.log_warps_across, warp_x = warp & ((1 << a.log_warps_across) - 1);
  const int lanes_across = across << a.log_warps_across, width = lanes_across * V;
  // Columns of neighbouring lanes lie in neighbouring banks.
  const int slot = (warp_x << a.log_across) + (lane & (across - 1));
  const auto digits_of = [&](int v) { return Digits{words + v * lanes_across + slot, width}; };

  const uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  const uint32_t batch = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - batch * a.tiles_across.divisor) * width;
  const int64_t column = column0 + slot * V;
  const bool inside = column < a.columns;
  const Place base = batch == 0 ? Place{0, 0} : a.batch.at(batch);

  if (!a.direct) {
    for (int i = threadIdx.x; i < F::kWords * width; i += blockDim.x) words[i] = 0;
    __syncthreads();
  }
  bool again = a.sink.words;  // direct: registers do not hold the columns' sums
  const auto spill_one = [&](int v, double x) {
    if (a.direct) {
      again = true;
    } else {
      spill<F>(digits_of(v), x);
    }
  };
  OpenSlices<In, V> slices;
  const auto close = [&](int v, const OpenSlices<In, V>& s) {
    again = true;
    if (!a.direct) spill<F>(digits_of(v), join(s.column[v].first, s.column[v].second), s.window.unit - kSliceBits);
  };

  const int apart = (kWarp >> a.log_across) * (warps >> a.log_warps_across);
  const int64_t start = base.in + (A == Access::Strided ? column * a.column_stride : column);
  const int64_t begin = unit * a.unit_rows, end = inside ? min(begin + a.unit_rows, a.n) : 0;
#pragma unroll 1
  for (int64_t row = begin + warp_y * (kWarp >> a.log_across) + (lane >> a.log_across); row < end;
       row += kLoads * apart) {
    add_column_tile(load_column_tile<In, A, kLoads>(a, start, row, apart, end), slices, spill_one, close);
  }

  const auto place_of = [&](int64_t c) { return base.out + c * a.column_out_stride; };
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

  if (slices.open) {
#pragma unroll
    for (int v = 0; v < V; ++v) close(v, slices);
  }
  __syncthreads();
  const auto column_of = [&](int s) { return column0 + s % lanes_across * V + s / lanes_across; };
  if (a.sink.units == 1) {
    for (int s = threadIdx.x; s < width; s += blockDim.x) {
      if (column_of(s) >= a.columns) continue;
      finish_words<F>(a.sink, place_of(column_of(s)), [&](int d) { return words[d * width + s]; });
    }
    return;
  }
  wait_for_previous_kernel();  // which zeroes the scratch
  for (int i = threadIdx.x; i < F::kWords * width; i += blockDim.x) {
    const int d = i / width, s = i % width;
    if (column_of(s) < a.columns) {
      add_to_scratch<F>(a.sink, a.sink.accumulator(batch * a.columns + column_of(s)), d, words[i]);
    }
  }
  if (!is_last_unit(a.sink, tile)) return;
  for (int s = threadIdx.x; s < width; s += blockDim.x) {
    const int64_t c = column_of(s);
    if (c >= a.columns) continue;
    finish_words<F>(a.sink, place_of(c), [&](int d) { return read_scratch(a.sink, batch * a.columns + c, d); });
  }
}

}  // namespace torch_reduce::cuda

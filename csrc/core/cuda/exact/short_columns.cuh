// Exact sums of short columns: a lane has V neighbouring columns alone. Multiples of 2^w below 2^(w+53) / n add in a
// double without error; where all elements of a lane are such, for the w of the largest, their sums as doubles are the
// exact ones. Other columns (nearly all of fp64) are summed again, in two slices or, if these do not hold them either,
// in a superaccumulator in local memory.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/tile.cuh"

namespace torch_reduce::cuda {

// Columns, batches of them and their rows, in memory.
template <class In, Access A>
struct ColumnSource {
  using Number = In;  // what is added up
  template <int Loads>
  using Part = Tile<In, A, Loads>;

  const void* data;
  int64_t n, columns;
  int64_t next_row;  // Contiguous: elements from a row to the next
  int64_t column_stride, column_out_stride;
  Segments segments;
  ExactKept<A> batch;
  ReducedIndex<A> reduced;

  __device__ __forceinline__ const In* top(uint32_t b, int64_t column) const {
    return static_cast<const In*>(data) + batch.in(b) + (A == Access::Strided ? column * column_stride : column);
  }
  __device__ __forceinline__ int64_t place_out(uint32_t b, int64_t column) const {
    return batch.out(b) + column * column_out_stride;
  }
  __device__ __forceinline__ int64_t row(int64_t r) const {
    if constexpr (A == Access::Strided) return reduced.at(r);
    if constexpr (A == Access::Segmented) return segments.at(static_cast<uint32_t>(r));
    if constexpr (A == Access::Contiguous) return r * next_row;
  }
  // Element r of the lane's column v.
  __device__ __forceinline__ In element(const In* top, int64_t r, int v) const { return top[row(r) + v]; }
  // `Loads` rows that are `apart` from one another.
  template <int Loads>
  __device__ __forceinline__ Tile<In, A, Loads> load(const In* top, int64_t first, int apart, int64_t end) const {
    Tile<In, A, Loads> t;
    const In* at = A == Access::Contiguous ? top + first * next_row : top;
    const int64_t step = apart * next_row;
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
      const int64_t r = first + i * apart;
      if constexpr (A == Access::Strided) {
        t.part[i] = r < end ? top[row(r)] : zero_element<In>();
      } else {
        if constexpr (A == Access::Segmented) at = top + row(r);
        t.part[i] = r < end ? load16(at) : uint4{0, 0, 0, 0};
        at += step;
      }
    }
    return t;
  }
};

template <class Source>
struct ExactShortColumnsArgs {
  Source source;
  ExactSink sink;
  FastDivisor tiles_across;  // CTAs side by side over the columns of one batch
  int bits;                  // log2 of 2^53 / n
  bool wide_store;           // a lane's results lie side by side, aligned, in the output, whose type is In
};

// A lane's columns again, in two slices of a window that holds them.
template <int Loads, class Source, class Top>
__device__ __noinline__ void finish_in_slices(const ExactShortColumnsArgs<Source>& a, const Top& top, int64_t place,
                                              const Window& window) {
  using In = typename Source::Number;
  using ColumnTile = typename Source::template Part<Loads>;
  Slices sums[ColumnTile::V];
  int adds = 0;
#pragma unroll 1
  for (int64_t row = 0; row < a.source.n; row += Loads, adds += Loads) {
    const ColumnTile t = a.source.template load<Loads>(top, row, 1, a.source.n);
    for_each(t, [&](In x, int v) { sums[v].add_to_both(window, widen<double>(x)); });
  }
#pragma unroll
  for (int v = 0; v < ColumnTile::V; ++v) {
    sums[v].remove_from_both(window, adds);
    finish_value_as(a.sink.out, place + v * a.source.column_out_stride, a.sink.type, a.sink.divisor,
                    join(sums[v].first, sums[v].second), window.unit - kSliceBits);
  }
}

template <class Source, int Loads>
__global__ void __launch_bounds__(kExactThreads, 3)
    exact_short_columns(const __grid_constant__ ExactShortColumnsArgs<Source> a) {
  using In = typename Source::Number;
  using F = exact::FormatOf<In>;
  using ColumnTile = typename Source::template Part<Loads>;
  constexpr int V = ColumnTile::V;
  const uint32_t batch = a.tiles_across.quotient(blockIdx.x);
  const int64_t across = blockIdx.x - batch * a.tiles_across.divisor;
  const int64_t column = (across * blockDim.x + threadIdx.x) * V;
  if (column >= a.source.columns) return;
  const auto top = a.source.top(batch, column);

  wait_for_previous_kernel();
  ColumnTile next = a.source.template load<Loads>(top, 0, 1, a.source.n);
  allow_next_kernel_if_small();
  Range<In> range;
  double sum[V] = {};
#pragma unroll 1
  for (int64_t row = 0; row < a.source.n;) {
    const ColumnTile t = next;
    row += Loads;
    if (row < a.source.n) next = a.source.template load<Loads>(top, row, 1, a.source.n);
    range.merge(t.range());
    for_each(t, [&](In x, int v) { sum[v] += widen<double>(x); });
  }
  const bool fits =
      !is_beyond<In>(range.most, a.bits) && range.is_multiple(max(above<In>(range.most) - a.bits, F::kLowest));
  const int64_t place = a.source.place_out(batch, column);
  if (!fits || a.sink.words || a.sink.divisor == 0) {
    const Window window = window_for<F>(above<In>(range.most));
    const bool held = !is_beyond<In>(range.most, kSliceBits) && range.is_multiple(window.unit - kSliceBits);
    if (held && !a.sink.words && a.sink.divisor != 0) return finish_in_slices<Loads>(a, top, place, window);
#pragma unroll 1
    for (int v = 0; v < V; ++v) {
      finish_by_lane<In>(a.sink, a.source.n, place + v * a.source.column_out_stride,
                         [&](int64_t i) { return a.source.element(top, i, v); });
    }
  } else if (a.wide_store) {
    Vector<In> results;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const double d = a.sink.divisor > 1 ? divide(sum[v], a.sink.divisor, sizeof(In) == 8) : sum[v];
      results.e[v] = Narrow<In, double>::from(d + 0.0);
    }
    if constexpr (V > 1) *reinterpret_cast<Vector<In>*>(static_cast<In*>(a.sink.out) + place) = results;
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) finish_double<In>(a.sink, place + v * a.source.column_out_stride, sum[v]);
  }
}

}  // namespace torch_reduce::cuda

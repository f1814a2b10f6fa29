// Columns: neighbouring threads own neighbouring outputs, and walk down the leaves.
//
// 2^log_across lanes of a warp stand side by side, each on V columns (16 bytes, or one element at any stride); the
// other lanes of the warp stand on the next leaves. A lane takes a batch of neighbouring leaves at a time, as many as
// it has loads in flight for. A warp's batches meet in shared memory, because registers for the partial trees of eight
// columns would halve the number of warps; its results meet those of the CTA's other warps at the end.
#pragma once

#include "rows.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
struct ColumnsArgs {
  Source source;
  int64_t n, columns;
  int64_t next_row, next_step;      // Contiguous: elements from a row to the next, and to the same leaf's next step
  FastDivisor tiles, tiles_across;  // CTAs of a unit, and of these those side by side over the columns of one batch
  int log_across, log_warps_across, log_warps_along;
  int log_batches;     // batches that a warp takes one after the other
  int64_t to_stride;   // from a column's value to the next one's, where the sink takes them
  KeptIndex<A> outer;  // the kept dims but the columns
  Sink<Acc> sink;
  int64_t out_stride;     // and in the output
  bool wide_store;        // results of one thread lie side by side, aligned, in the output, whose type is In
  int64_t column_stride;  // Strided
  Segments segments;      // Segmented
  ReducedIndex<A> reduced;
};

// V values that combine element by element.
template <class Acc, int V>
struct Columns {
  Acc e[V];
};
template <class O>
struct ByColumn {
  template <class C>
  static TR_HD C identity() {
    C c;
    TR_UNROLL
    for (auto& e : c.e) e = O::template identity<std::decay_t<decltype(e)>>();
    return c;
  }
  template <class Acc, int V>
  static TR_HD Columns<Acc, V> combine(Columns<Acc, V> a, const Columns<Acc, V>& b) {
    TR_UNROLL
    for (int i = 0; i < V; ++i) a.e[i] = O::combine(a.e[i], b.e[i]);
    return a;
  }
};

template <class In, Access A>
constexpr TR_HD int column_width() {
  if constexpr (A == Access::Strided) {
    return 1;
  } else {
    return vector_width<In>;
  }
}

template <class O, class In, class Acc, Access A>
__device__ __forceinline__ auto load_columns(const Source& s, int64_t place, bool keep) {
  if constexpr (A == Access::Strided) {
    return Columns<Acc, 1>{{load<O, In, Acc>(s, place)}};
  } else {
    const In* p = static_cast<const In*>(s.data) + place;
    return keep ? load16_kept(p) : load16(p);
  }
}
template <class In, class Acc>
__device__ __forceinline__ Columns<Acc, 1> widen_columns(const Columns<Acc, 1>& c) {
  return c;
}
template <class In, class Acc>
__device__ __forceinline__ auto widen_columns(const uint4& raw) {
  const auto v = bit_cast<Vector<In>>(raw);
  Columns<Acc, vector_width<In>> c;
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) c.e[e] = widen<Acc>(v.e[e]);
  return c;
}

// Neighbouring results of one thread, as one store of up to 16 bytes.
template <class O, class Out, class Acc, int V>
__device__ __forceinline__ void write_wide(const Sink<Acc>& s, int64_t place, const Columns<Acc, V>& c) {
  constexpr int kBytes = V * static_cast<int>(sizeof(Out));
  struct alignas(kBytes < 16 ? kBytes : 16) Pack {
    Out e[V];
  } pack;
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if constexpr (std::is_same<O, Sum>::value && std::is_floating_point<Acc>::value) {
      pack.e[e] = Narrow<Out, Acc>::from(s.mean ? Mean::finish(c.e[e], s.n) : Sum::finish(c.e[e], s.n));
    } else {
      pack.e[e] = Narrow<Out, Acc>::from(O::finish(c.e[e], s.n));
    }
  }
  *reinterpret_cast<Pack*>(static_cast<Out*>(s.to) + place) = pack;
}

template <class O, class In, class Acc, Access A>
__device__ __forceinline__ auto no_columns() {
  if constexpr (A == Access::Strided) {
    return Columns<Acc, 1>{{O::template identity<Acc>()}};
  } else {
    return identity_vector<In, O>();
  }
}

// Where leaf `leaf`, numbered through all chunks, begins.
__device__ __forceinline__ int64_t first_row(uint32_t leaf) {
  return static_cast<int64_t>(leaf) + static_cast<int64_t>(leaf / kLeaves) * (kChunk - kLeaves);
}

// A lane's loads of `Leaves` neighbouring leaves.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
struct Loads {
  using C = Columns<Acc, column_width<In, A>()>;
  decltype(no_columns<O, In, Acc, A>()) raw[Leaves][Steps];

  // From row `row` on, at `start`. `all` says that every row exists.
  __device__ __forceinline__ void load(const ColumnsArgs<Acc, A>& a, int64_t start, int64_t row, bool all) {
    auto place = [&](int k, int s) {
      if constexpr (A == Access::Contiguous) {
        return start + (row + k) * a.next_row + s * a.next_step;
      } else if constexpr (A == Access::Segmented) {
        return start + a.segments.at(static_cast<uint32_t>(row) + k + s * kLeaves);
      } else {
        return start + a.reduced.at(row + k + s * kLeaves);
      }
    };
    // Lines stay in L1 where other loads of the CTA read the rest of the sector, and where CTAs are short: (8, 2^23)/0
    // fp32 took 73 us without and 70 with; long columns lose 1 %.
    const bool keep = Steps == 1 || a.log_across == 0;
    if (all) {
#pragma unroll
      for (int k = 0; k < Leaves; ++k) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) raw[k][s] = load_columns<O, In, Acc, A>(a.source, place(k, s), keep);
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        raw[k][s] = row + k + s * kLeaves < a.n ? load_columns<O, In, Acc, A>(a.source, place(k, s), keep)
                                                : no_columns<O, In, Acc, A>();
      }
    }
  }

  __device__ __forceinline__ C reduce() const {
    Counter<ByColumn<O>, C, 2> leaves;  // the loop is unrolled, so its count is a constant
    C c;
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
      C leaf = widen_columns<In, Acc>(raw[k][0]);
#pragma unroll
      for (int s = 1; s < Steps; ++s) leaf = ByColumn<O>::combine(leaf, widen_columns<In, Acc>(raw[k][s]));
      c = leaves.push(leaf);
    }
    return c;
  }
};

// A warp's tree over the batches it has taken, in shared memory: registers are for the loads. `level` is the calling
// thread's place in the first of the levels, which are `width` apart. Returns what the last batch completes.
template <class O, class Acc, int V>
__device__ __forceinline__ Columns<Acc, V> push_batch(Acc* level, int width, uint32_t batch, Columns<Acc, V> c) {
  struct alignas(V * sizeof(Acc) < 16 ? V * sizeof(Acc) : 16) Pack {
    Acc e[V];
  };
  for (; batch & 1; batch >>= 1, level += width) {
    const Pack before = *reinterpret_cast<const Pack*>(level);
#pragma unroll
    for (int e = 0; e < V; ++e) c.e[e] = O::combine(before.e[e], c.e[e]);
  }
  Pack now;
#pragma unroll
  for (int e = 0; e < V; ++e) now.e[e] = c.e[e];
  *reinterpret_cast<Pack*>(level) = now;
  return c;
}

// Registers for as many CTAs per SM, by the bytes of a thread's columns and its loads.
template <size_t ColumnBytes, int Loads>
constexpr int columns_ctas_at_once = ColumnBytes > 64                 ? 2
                                     : ColumnBytes > 32               ? 3
                                     : Loads < tuning::kLoadsInFlight ? tuning::kColumnsFewLoadsCtasAtOnce
                                                                      : tuning::kColumnsCtasAtOnce;

// A batch of a lane is `Leaves` leaves of `Steps` steps: 2 x 4, or 8 x 1 and 4 x 1 where no leaf has more elements.
// Half of a batch is being loaded while the other half is combined.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__global__ void __launch_bounds__(tuning::kColumnsWarps* kWarp,
                                  columns_ctas_at_once<column_width<In, A>() * sizeof(Acc), Leaves * Steps>)
    columns(const __grid_constant__ ColumnsArgs<Acc, A> a) {
  constexpr int V = column_width<In, A>();
  constexpr int kHalf = Leaves / 2;
  using Likely = LikelyOut<In, Acc>;
  using C = Columns<Acc, V>;
  extern __shared__ __align__(16) unsigned char shared[];
  Acc* slots = reinterpret_cast<Acc*>(shared);

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const int across = 1 << a.log_across;
  const int warp_y = warp >> a.log_warps_across, warp_x = warp & ((1 << a.log_warps_across) - 1);
  const int width = (V << a.log_across) << a.log_warps_across;  // columns of the tile

  // Neighbours in memory run together: all tiles of a unit, then the next unit.
  const uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  const uint32_t outer = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - outer * a.tiles_across.divisor) * width;
  const int mine = ((warp_x << a.log_across) + (lane & (across - 1))) * V;
  const bool inside = column0 + mine < a.columns;
  // A lane beyond the last column reads the tile's first ones, to no effect: loads need no predicate.
  const int64_t column = inside ? column0 + mine : column0;
  const int64_t start = a.outer.in(outer) + (A == Access::Strided ? column * a.column_stride : column);

  // A batch of a warp is 2^log_leaves neighbouring leaves, which lie in one chunk: Leaves of each lane.
  constexpr int kLogLeaves = Leaves == 8 ? 3 : Leaves == 4 ? 2 : 1;
  const int log_leaves = 5 - a.log_across + kLogLeaves, leaf_of_lane = (lane >> a.log_across) << kLogLeaves;
  const uint32_t leaf0 = ((unit << a.log_warps_along) + warp_y) << (a.log_batches + log_leaves);
  const int batches = 1 << a.log_batches;
  Acc* levels = slots + warp_y * (a.log_batches + 1) * width + mine;
  const bool alone = a.log_warps_along == 0;  // a warp has its columns' whole unit

  auto first = [&](int b) { return first_row(leaf0 + (static_cast<uint32_t>(b) << log_leaves)); };
  auto full = [&](int64_t row) { return row + (1 << log_leaves) + (Steps - 1) * kLeaves <= a.n; };
  Loads<O, In, Acc, A, kHalf, Steps> left, right;
  int64_t row = first(0);
  bool all = full(row);
  wait_for_previous_kernel();
  left.load(a, start, row + leaf_of_lane, all);
  C c;
#pragma unroll 1
  for (int b = 0; b < batches; ++b) {
    right.load(a, start, row + leaf_of_lane + kHalf, all);
    if (b + 1 == batches) a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();
    c = left.reduce();
    if (b + 1 < batches) {
      row = first(b + 1);
      all = full(row);
      left.load(a, start, row + leaf_of_lane, all);
    }
    c = ByColumn<O>::combine(c, right.reduce());
#pragma unroll 1
    for (int mask = across; mask < kWarp; mask *= 2) {
#pragma unroll
      for (auto& e : c.e) e = O::combine(e, exchange(e, mask));
    }
    if (lane < across && (batches > 1 || !alone)) c = push_batch<O>(levels, width, b, c);
  }

  auto send = [&](int64_t column, Acc v) {
    int64_t place = column * a.to_stride + unit * a.sink.unit_stride + outer * a.sink.output_stride;
    if constexpr (A != Access::Contiguous) {
      if (a.sink.results) place = column * a.to_stride + a.outer.out(outer);
    }
    deliver<O, Likely>(a.sink, place, v);
  };
  if (alone) {
    if (lane < across && inside) {
      bool wide = false;
      if constexpr (V > 1) wide = a.wide_store;
      if (wide) {
        if constexpr (V > 1) {
          int64_t place = column0 + mine + outer * a.sink.output_stride;
          if constexpr (A != Access::Contiguous) place = column0 + mine + a.outer.out(outer);
          write_wide<O, In>(a.sink, place, c);
        }
      } else {
#pragma unroll
        for (int e = 0; e < V; ++e) send(column0 + mine + e, c.e[e]);
      }
    }
  } else {
    __syncthreads();
    const Acc* top = slots + a.log_batches * width;
    const int next_warp = (a.log_batches + 1) * width;
    for (int column = threadIdx.x; column < width && column0 + column < a.columns; column += blockDim.x) {
      Acc v[tuning::kColumnsWarps];
#pragma unroll
      for (int y = 0; y < tuning::kColumnsWarps; ++y) {
        v[y] = y >> a.log_warps_along == 0 ? top[y * next_warp + column] : O::template identity<Acc>();
      }
      send(column0 + column, tree<O>(v));
    }
  }

  if constexpr (std::is_same<O, Sum>::value) {
    if (a.sink.tickets == nullptr) return;
    __shared__ bool last;
    __syncthreads();  // every thread's additions come before the ticket
    if (threadIdx.x == 0) {
      __threadfence();
      last = takes_last_ticket(a.sink, tile);
      __threadfence();
    }
    __syncthreads();
    if (!last) return;
    for (int i = threadIdx.x; i < width && column0 + i < a.columns; i += blockDim.x) {
      const int64_t column = column0 + i;
      int64_t place = outer * a.sink.out_stride;
      if constexpr (A != Access::Contiguous) place = a.outer.out(outer);
      write<O, Likely>(a.sink.out, place + column * a.out_stride, a.sink.out_type, a.sink.mean, a.n,
                       __ldcg(static_cast<const Acc*>(a.sink.to) + outer * a.columns + column));
    }
  }
}

}  // namespace torch_reduce::cuda

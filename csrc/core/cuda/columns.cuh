// Columns: neighbouring threads own neighbouring outputs, and walk down the leaves.
//
// 2^log_across lanes of a warp stand side by side, each on V columns (16 bytes, or one element at any stride); the
// other lanes of the warp stand on the next leaves, so that narrow tensors are still read contiguously. A lane takes a
// batch of leaves at a time, as many as it has loads in flight for; batches meet in shared memory, because registers
// for the partial trees of eight columns would halve the number of warps.
#pragma once

#include "rows.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
struct ColumnsArgs {
  Source source;
  Sink<Acc> sink;
  int64_t n;
  int64_t columns, column_stride, column_out_stride;
  int64_t next_row, next_leaf,
      next_step;                    // Contiguous: elements from a row to the next, the lane's next leaf, its step
  FastDivisor tiles, tiles_across;  // CTAs of a unit, and of these those side by side over the columns of one batch
  uint32_t passes;
  int log_across, log_warps_across, log_warps_along;
  int batches, log_leaves;  // of a warp in a pass: batches, and leaves, which lie in one chunk
  bool wide_store;          // results of one thread lie side by side and aligned in the output
  Segments segments;
  KeptIndex<kept_room(A)> batch;
  ReducedIndex<reduced_room(A)> reduced;
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
__device__ __forceinline__ auto load_columns(const Source& s, int64_t place) {
  if constexpr (A == Access::Strided) {
    return Columns<Acc, 1>{{load<O, In, Acc>(s, place)}};
  } else {
    return load16(static_cast<const In*>(s.data) + place);
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
  *reinterpret_cast<Pack*>(static_cast<Out*>(s.out) + place) = pack;
}

template <class O, class In, class Acc, Access A>
__device__ __forceinline__ auto no_columns() {
  if constexpr (A == Access::Strided) {
    return Columns<Acc, 1>{{O::template identity<Acc>()}};
  } else {
    return identity_vector<In, O>();
  }
}

// A lane's columns over a batch of `Leaves` leaves that are `apart` rows from one another, from row `row` on at
// `start`, combined with those of the lanes that stand on the leaves between. `all` says that every row exists.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ auto reduce_batch(const ColumnsArgs<Acc, A>& a, int64_t start, int64_t row, int apart,
                                             bool all) {
  using C = Columns<Acc, column_width<In, A>()>;
  using Op = ByColumn<O>;
  auto place = [&](int k, int s) {
    if constexpr (A == Access::Contiguous) {
      return start + k * a.next_leaf + s * a.next_step;
    } else if constexpr (A == Access::Segmented) {
      return start + a.segments.at(static_cast<uint32_t>(row) + k * apart + s * kLeaves);
    } else {
      return start + a.reduced.at(row + k * apart + s * kLeaves);
    }
  };

  decltype(no_columns<O, In, Acc, A>()) raw[Leaves][Steps];
  if (all) {
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) raw[k][s] = load_columns<O, In, Acc, A>(a.source, place(k, s));
    }
  } else {
    const int left = static_cast<int>(min(a.n - row, static_cast<int64_t>(kChunk)));  // a batch lies in one chunk
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        raw[k][s] = k * apart + s * kLeaves < left ? load_columns<O, In, Acc, A>(a.source, place(k, s))
                                                   : no_columns<O, In, Acc, A>();
      }
    }
  }

  Counter<Op, C, 3> leaves;  // the loop is unrolled, so its count is a constant
  C c;
#pragma unroll
  for (int k = 0; k < Leaves; ++k) {
    C leaf = widen_columns<In, Acc>(raw[k][0]);
#pragma unroll
    for (int s = 1; s < Steps; ++s) leaf = Op::combine(leaf, widen_columns<In, Acc>(raw[k][s]));
#pragma unroll 1
    for (int mask = 1 << a.log_across; mask < kWarp; mask *= 2) {
#pragma unroll
      for (auto& e : leaf.e) e = O::combine(e, exchange(e, mask));
    }
    c = leaves.push(leaf);
  }
  return c;
}

// The tree over a power of two of values in shared memory, `stride` apart.
template <class O, class Acc>
__device__ __forceinline__ Acc tree_down(const Acc* value, int height, int stride) {
  constexpr int kAtOnce = 8;
  Acc at_once[kAtOnce];
  if (height < kAtOnce) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) at_once[i] = i < height ? value[i * stride] : O::template identity<Acc>();
    return tree<O>(at_once);
  }
  Counter<O, Acc, 3> counter;
  Acc v;
#pragma unroll 1
  for (int y = 0; y < height; y += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) at_once[i] = value[(y + i) * stride];
    v = counter.push(tree<O>(at_once));
  }
  return v;
}

// Registers for four CTAs per SM hold a batch of two or four leaves; those of eight spill.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__global__ void __launch_bounds__(tuning::kColumnsWarps* kWarp, Leaves == tuning::kLoadsInFlight ? 3 : 4)
    columns(const __grid_constant__ ColumnsArgs<Acc, A> a) {
  constexpr int V = column_width<In, A>();
  extern __shared__ __align__(16) unsigned char shared[];
  Acc* slots = reinterpret_cast<Acc*>(shared);
  if (a.sink.finish == Finish::Partials) allow_next_kernel();

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const int across = 1 << a.log_across;
  const int warp_y = warp >> a.log_warps_across, warp_x = warp & ((1 << a.log_warps_across) - 1);
  const int width = (V << a.log_across) << a.log_warps_across;  // columns of the tile

  // Neighbours in memory run together: all tiles of a unit, then the next unit.
  const uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  const uint32_t batch = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - batch * a.tiles_across.divisor) * width;
  const int mine = ((warp_x << a.log_across) + (lane & (across - 1))) * V;
  const bool inside = column0 + mine < a.columns;
  const Place base = batch == 0 ? Place{0, 0} : a.batch.at(batch);
  // A lane beyond the last column reads the tile's first ones, to no effect: loads need no predicate.
  const int64_t column = inside ? column0 + mine : column0;
  const int64_t start = base.in + (A == Access::Strided ? column * a.column_stride : column);
  const int apart = kWarp >> a.log_across;

  auto send = [&](int64_t column, Acc v) {
    deliver<O>(a.sink, unit, batch * a.columns + column, base.out + column * a.column_out_stride, v);
  };

#pragma unroll 1
  for (uint32_t pass = 0; pass < a.passes; ++pass) {
    const uint32_t leaf0 = (((unit * a.passes + pass) << a.log_warps_along) + warp_y) << a.log_leaves;
    const int64_t row0 = static_cast<int64_t>(leaf0 / kLeaves) * kChunk + leaf0 % kLeaves;
    int64_t row = row0 + (lane >> a.log_across), rows_end = row0 + Leaves * apart + (Steps - 1) * kLeaves;
    int64_t at = A == Access::Contiguous ? start + row * a.next_row : start;
    Columns<Acc, V> c;
#pragma unroll 1
    for (int b = 0; b < a.batches; ++b) {
      c = reduce_batch<O, In, Acc, A, Leaves, Steps>(a, at, row, apart, rows_end <= a.n);
      row += Leaves * apart;
      rows_end += Leaves * apart;
      if constexpr (A == Access::Contiguous) at += Leaves * a.next_leaf;
      if (a.batches << a.log_warps_along > 1 && lane < across) {
#pragma unroll
        for (int e = 0; e < V; ++e) slots[(warp_y * a.batches + b) * width + mine + e] = c.e[e];
      }
    }

    if ((a.batches << a.log_warps_along) == 1 && a.passes == 1) {  // a thread has its columns' whole unit
      if (lane >= across || !inside) continue;
      if constexpr (V > 1) {
        if (a.wide_store && a.sink.type == dtype_of<In>::value && a.sink.finish == Finish::Direct) {
          write_wide<O, In>(a.sink, base.out + column0 + mine, c);
          continue;
        }
      }
#pragma unroll
      for (int e = 0; e < V; ++e) send(column0 + mine + e, c.e[e]);
      continue;
    }

    __syncthreads();
    const int height = a.batches << a.log_warps_along;  // a power of two
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
      Acc v = tree_down<O>(slots + column, height, width);
      if (a.passes > 1) {
        v = push_pass<O>(slots + height * width + column, width, pass, v);
        if (pass + 1 < a.passes) continue;
      }
      if (column0 + column < a.columns) send(column0 + column, v);
    }
    if (a.passes > 1) __syncthreads();
  }

  if constexpr (std::is_same<O, Sum>::value) {
    if (!has_tickets(a.sink)) return;
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
      write<O>(a.sink, base.out + column * a.column_out_stride,
               __ldcg(a.sink.accumulators + batch * a.columns + column));
    }
  }
}

}  // namespace torch_reduce::cuda

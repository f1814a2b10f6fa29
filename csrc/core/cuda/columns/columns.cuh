// Columns: neighbouring threads own neighbouring outputs, and walk down the leaves.
//
// 2^log_across lanes of a warp stand side by side, each on V columns (16 bytes, or one element at any stride, or two);
// the other lanes of the warp stand on the next leaves. Where columns are unaligned, the last of the lanes side by
// side has none of its own, but what the others need of the 16 bytes after theirs. A lane takes a batch of neighbouring
// leaves at a time, as many as it has loads in flight for. A warp's batches meet in shared memory, because registers
// for the partial trees of eight columns would halve the number of warps; its results meet those of the CTA's other
// warps at the end. Batches of small integers, whose order is free, meet in a thread's registers first, in a narrower
// type.
#pragma once

#include "core/cuda/block/cluster.cuh"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/columns/loads.cuh"
#include "core/cuda/columns/loads_unaligned.cuh"
#include "core/cuda/columns/plain.cuh"
#include "core/cuda/columns/reduce.cuh"

namespace torch_reduce::cuda {

// Whether a thread may have a vector of results: elements that are tested against zero have results of other types.
template <class In>
constexpr bool may_write_wide = vector_width<In> > 1 && !is_tested<In>;

// Neighbouring results of one thread, as one store of up to 16 bytes.
template <class O, class Out, class Acc, int V>
__device__ __forceinline__ void write_wide(const Sink<Acc>& s, int64_t place, const Columns<Acc, V>& c) {
  constexpr int kBytes = V * static_cast<int>(sizeof(Out));
  struct alignas(kBytes < 16 ? kBytes : 16) Pack {
    Out e[V];
  } pack;
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if constexpr (!is_scalar<Acc>) {
      pack.e[e] = Narrow<Out, Finished<O, Acc>>::from(finish<O>(c.e[e], count_for<O>(s.count), s.ending, 0));
    } else if constexpr (O::adds && std::is_floating_point<Acc>::value) {
      pack.e[e] = Narrow<Out, Acc>::from(finish_sum<O>(c.e[e], s.count.n, s.ending));
    } else {
      pack.e[e] = Narrow<Out, Finished<O, Acc>>::from(O::finish(mirrored<O>(c.e[e], s.mirror), count_for<O>(s.count)));
    }
  }
  *reinterpret_cast<Pack*>(static_cast<Out*>(s.to) + place) = pack;
}

// Whether code for units that are a cluster stands beside the rest, and whether in a kernel of its own.
template <Access A, int Steps>
constexpr bool columns_in_clusters = kernels::columns_cluster_code(A, Steps) == kernels::ClusterCode::Beside;
template <Access A, int Steps>
constexpr bool columns_apart_in_clusters = kernels::columns_cluster_code(A, Steps) == kernels::ClusterCode::Apart;

template <Access A, int Steps, bool Clusters>
constexpr int columns_most_warps =
    Clusters && columns_apart_in_clusters<A, Steps> ? tuning::kColumnsWarpsInCluster : tuning::kColumnsWarps;

// Whether a warp goes without batches of which no row exists, rather than reading them as identities: up to half of
// them, where it has one more than a power of two. Long columns, which have few, are slower so.
template <Access A, int Steps>
constexpr bool columns_know_missing =
    A == Access::Strided || A == Access::Pairs || (A != Access::Contiguous && Steps == 1);

// Whether half of a batch is being loaded while the other half is combined. Code that finds places an element at a time
// is long, and stands once.
template <Access A>
constexpr bool columns_load_ahead = A != Access::Strided && A != Access::Pairs;

// A batch of a lane is `Leaves` leaves of `Steps` steps, as kernels::columns_batch() says.
template <class O, class In, class Acc, Access A, int Steps>
constexpr kernels::ColumnsBatch columns_batch = kernels::columns_batch(types_of_instance<O, In, Acc>(), A, Steps);

template <class O, class In, class Acc, Access A, int Leaves, int Steps, bool Clusters = columns_in_clusters<A, Steps>>
__global__ void __launch_bounds__(columns_most_warps<A, Steps, Clusters>* kWarp,
                                  columns_batch<O, In, Acc, A, Steps>.ctas_at_once* tuning::kColumnsWarps /
                                      columns_most_warps<A, Steps, Clusters>)
    columns(const __grid_constant__ ColumnsArgs<O, Acc, A> a) {
  constexpr int V = column_width<In, A>();
  constexpr int kHalf = columns_load_ahead<A> ? Leaves / 2 : Leaves;
  using Likely = LikelyOut<O, In, Acc>;
  using C = Columns<Acc, V>;
  using Batch = BatchColumns<O, In, Acc, A>;
  constexpr bool kPacked = packs_columns<O, In, A>;
  constexpr bool kTogether = kPacked || !std::is_same<BatchAcc<O, In, Acc>, Acc>::value;
  static_assert(!kPacked || Leaves * Steps == kLoadsOfPacked, "as many as sixteen bits hold");
  const int log_together = kPacked                                          ? a.log_across
                           : std::is_same<BatchAcc<O, In, Acc>, Acc>::value ? 0
                                                                            : kLogBatchesTogether;
  const int last_together = (1 << log_together) - 1;
  // Combining several words is long, so lanes with the same columns do not all do the same.
  constexpr bool kSharesOut = !is_scalar<Acc> && V > 1;
  static_assert(!kSharesOut || (A != Access::Unaligned && !columns_know_missing<A, Steps>), "all lanes have columns");
  extern __shared__ __align__(16) unsigned char shared[];
  Acc* slots = reinterpret_cast<Acc*>(shared);

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const int across = 1 << a.log_across, x = lane & (across - 1);
  const int owners = A == Access::Unaligned ? across - 1 : across;  // of the lanes side by side, those with columns
  const int warp_y = warp >> a.log_warps_across, warp_x = warp & ((1 << a.log_warps_across) - 1);
  const int width = (V * owners) << a.log_warps_across;  // columns of the tile

  // Neighbours in memory run together: all tiles of a unit, then the next unit.
  uint32_t unit = a.tiles.quotient(blockIdx.x), tile = blockIdx.x - unit * a.tiles.divisor;
  if (Clusters && a.sink.cluster) {
    unit = rank_in_cluster();
    tile = cluster_of_grid();
  }
  const uint32_t outer = a.tiles_across.quotient(tile);
  const int64_t column0 = static_cast<int64_t>(tile - outer * a.tiles_across.divisor) * width;
  const int mine = (warp_x * owners + x) * V;
  const bool inside = x < owners && column0 + mine < a.columns;
  // A lane beyond the last column reads the tile's first ones, to no effect: loads need no predicate.
  const int64_t column = column0 + mine < a.columns + (A == Access::Unaligned ? V : 0) ? column0 + mine : column0;
  const int64_t left_of_row = a.columns - column;
  Place<O> start = a.outer.in(outer);
  if constexpr (A == Access::Strided || A == Access::Pairs) {
    start = start + column * a.column_stride;
  } else {
    start = start + column;
  }

  // A batch of a warp is 2^log_leaves neighbouring leaves, which lie in one chunk: Leaves of each lane.
  constexpr int kLogLeaves = log2_above(Leaves);
  const int log_leaves = 5 - a.log_across + kLogLeaves, leaf_of_lane = (lane >> a.log_across) << kLogLeaves;
  const uint32_t leaf0 = ((unit << a.log_warps_along) + warp_y) << (a.log_batches + log_leaves);
  int batches = 1 << a.log_batches;
  if constexpr (columns_know_missing<A, Steps>) {
    const uint32_t left = max(a.leaves, leaf0) - leaf0;  // of the columns', from the warp's first one on
    batches = static_cast<int>(min((left + (1u << log_leaves) - 1) >> log_leaves, 1u << a.log_batches));
  }
  const int log_pushes = max(a.log_batches - log_together, 0), of_warp = (log_pushes + 1) * width;
  const Share share = kSharesOut ? share_of<V>(lane, a.log_across) : Share{V, 0, lane < across};
  Acc* levels = slots + warp_y * of_warp + mine + share.first;
  const bool alone = a.log_warps_along == 0;  // a warp has its columns' whole unit
  // Results that go from registers to the output, a vector at a time.
  const bool wide = V > 1 && may_write_wide<In> && !kSharesOut && !kPacked && alone && a.wide_store;
  const bool in_levels = A == Access::Unaligned || !wide || a.log_batches > 0;

  auto first = [&](int b) { return first_row(leaf0 + (static_cast<uint32_t>(b) << log_leaves)); };
  auto full = [&](int64_t row) {
    return row + (1 << log_leaves) + (Steps - 1) * kLeaves + (A == Access::Unaligned ? 2 : 0) <= a.n;
  };
  Loads<O, In, Acc, A, kHalf, Steps> lower, upper;
  int64_t row = 0;
  bool all = false;
  const auto load_first = [&](int b) {
    row = first(b);
    all = full(row);
    lower.load(a, start, left_of_row, row + leaf_of_lane, all);
  };
  if (Clusters && a.sink.cluster) arrive_in_cluster();
  if (!a.sink.atomic) wait_for_previous_kernel();
  if (columns_load_ahead<A> && (!columns_know_missing<A, Steps> || batches > 0)) load_first(0);
  C c;  // but packed columns', which are in shared memory
  Batch together;
#pragma unroll 1
  for (int b = 0; b < batches; ++b) {
    if constexpr (!columns_load_ahead<A>) load_first(b);
    const int64_t of_lane = row + leaf_of_lane;
    if constexpr (columns_load_ahead<A>) upper.load(a, start, left_of_row, of_lane + kHalf, all);
    if (b + 1 == batches) a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();
    Batch batch;
    if constexpr (kernels::have_plain_columns(types_of_instance<O, In, Acc>(), A)) {
      PlainColumns<word_of<Acc>, V> plain;
      auto values = plain.reduce(a.source, lower, of_lane, a.n);
      if (b + 1 < batches) load_first(b + 1);
      values = plain.combine(values, plain.reduce(a.source, upper, of_lane + kHalf, a.n));
      if (!plain.share_out(values, across, share.kept, batch)) {
        if (plain.are_normal(values)) {
#pragma unroll
          for (int e = 0; e < V; ++e) batch.e[e] = order::scaled(values.e[e]);
        } else {
          // The batch once more. `lower` is loaded again afterwards, so that it need not stay in registers meanwhile.
          const bool whole = full(first(b));
#pragma unroll 1
          for (int k = 0; k < Leaves; k += kHalf) {
            O op;
            upper.load(a, start, left_of_row, of_lane + k, whole);
            C half;
            trees_of_columns(op, a.source, upper, of_lane + k, a.n, half.e);
            batch = k == 0 ? half : ByColumn<O>::combine(batch, half);
          }
          if (b + 1 < batches) load_first(b + 1);
        }
        share_out(O{}, batch, across);
      }
    } else {
      const bool exist = all;
      batch = reduce(a.source, lower, of_lane, a.n, exist);
      if constexpr (columns_load_ahead<A>) {
        if (b + 1 < batches) load_first(b + 1);
        batch = ByColumn<O>::combine(batch, reduce(a.source, upper, of_lane + kHalf, a.n, exist));
      }
      if constexpr (kSharesOut) share_out(O{}, batch, across);
    }
    if constexpr (kTogether) {
      if (b & last_together) batch = ByColumn<O>::combine(together, batch);
      together = batch;
      if (b + 1 < batches && (b + 1) & last_together) continue;
    }
    if constexpr (kSharesOut) {
      c = batch;
      if (share.owns && in_levels) push_kept<O, V>(levels, width, b, share.kept, c);
    } else {
#pragma unroll 1
      for (int mask = across; mask < kWarp; mask *= 2) {
#pragma unroll
        for (auto& e : batch.e) e = O::combine(e, exchange(e, mask));
      }
      if constexpr (kPacked) {
        const int elements = ((b & last_together) + 1) * kLoadsOfPacked << (5 - a.log_across);
        if (lane < owners) push_packed<O, In>(levels, width, b >> log_together, batch, elements);
      } else {
#pragma unroll
        for (int e = 0; e < V; ++e) c.e[e] = batch.e[e];
        if (lane < owners && in_levels) c = push_batch<O>(levels, width, b >> log_together, c);
      }
    }
  }
  if constexpr (columns_know_missing<A, Steps>) {
    if (batches == 0) c = ByColumn<O>::template identity<C>();
    if (lane < owners && in_levels) {
      int pushed = (batches + last_together) >> log_together;
      for (; pushed < 1 << log_pushes; ++pushed) {
        c = push_batch<O>(levels, width, pushed, ByColumn<O>::template identity<C>());
      }
    }
  }

  if (a.sink.atomic) wait_to_add();
  auto result = [&](int64_t column, Acc v) {
    int64_t place = column * a.to_stride + unit * a.sink.unit_stride + outer * a.sink.output_stride;
    if constexpr (A != Access::Contiguous) {
      if (a.sink.results) place = column * a.to_stride + a.outer.out(outer);
    }
    deliver<O, Likely>(a.sink, place, v);
  };
  Acc* of_unit = slots + a.cluster_slots;  // [unit][column of the tile]
  if (Clusters && a.sink.cluster) wait_for_cluster();
  auto send = [&](int64_t column, Acc v) {
    if (Clusters && a.sink.cluster) {
      return hand_to_first(of_unit + unit * width + static_cast<int>(column - column0), v);
    }
    result(column, v);
  };
  int in_vectors = 0;  // of the tile's columns
  if constexpr (V > 1 && may_write_wide<In>) {
    if (wide) {
      in_vectors = static_cast<int>(min(static_cast<int64_t>(width), a.columns - column0)) / V * V;
      if (inside && lane < owners && mine < in_vectors) {
        int64_t place = column0 + mine + outer * a.sink.output_stride;
        if constexpr (A != Access::Contiguous) place = column0 + mine + a.outer.out(outer);
        write_wide<O, In>(a.sink, place, c);
      }
    }
  }
  if (A == Access::Unaligned || !wide) {  // the rest
    const Acc* top = slots + log_pushes * width;
    __syncthreads();
#pragma unroll 1
    for (int column = in_vectors + threadIdx.x; column < width && column0 + column < a.columns; column += blockDim.x) {
      Acc v[columns_most_warps<A, Steps, Clusters>];
#pragma unroll
      for (int y = 0; y < columns_most_warps<A, Steps, Clusters>; ++y) {
        v[y] = y >> a.log_warps_along == 0 ? top[y * of_warp + column] : O::template identity<Acc>();
      }
      send(column0 + column, tree<O>(v));
    }
  }

  if (Clusters && a.sink.cluster) {
    arrive_in_cluster();
    if (unit > 0) return;
    wait_for_cluster();
    for (int column = threadIdx.x; column < width && column0 + column < a.columns; column += blockDim.x) {
      Acc v[kMostUnitsOfCluster];
#pragma unroll
      for (int u = 0; u < kMostUnitsOfCluster; ++u) {
        v[u] = u < a.sink.units ? of_unit[u * width + column] : O::template identity<Acc>();
      }
      result(column0 + column, tree<O>(v));
    }
  }
}

}  // namespace torch_reduce::cuda

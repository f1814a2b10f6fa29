// What one lane reads of columns: the same V columns of a batch of neighbouring leaves.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/columns/packed.cuh"
#include "core/cuda/lane/partner.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class O, class Acc, Access A>
struct ColumnsArgs {
  SourceOf<O> source;
  int64_t n, columns;
  Place<O> next_row,
      next_step;  // Contiguous, Unaligned: elements from a row to the next, and to the same leaf's next step
  FastDivisor tiles, tiles_across;  // CTAs of a unit, and of these those side by side over the columns of one batch
  uint32_t leaves;                  // of a column
  int log_across, log_warps_across, log_warps_along;
  int log_batches;     // batches that a warp takes one after the other
  int cluster_slots;   // values in shared memory before those of the units
  int64_t to_stride;   // from a column's value to the next one's, where the sink takes them
  KeptOf<O, A> outer;  // the kept dims but the columns
  Sink<Acc> sink;
  int64_t out_stride;      // and in the output
  bool wide_store;         // results of one thread lie side by side, aligned, in the output, whose type is In
  Place<O> column_stride;  // Strided, Pairs: in bytes
  std::conditional_t<has_partner<O>, TwoSegments, Segments> segments;  // Segmented
  ReducedOf<O, A> reduced;
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
  if constexpr (A == Access::Strided || A == Access::Pairs) {
    return A == Access::Pairs ? 2 : 1;
  } else {
    return vector_width<In>;
  }
}

// Of row `row` of n.
template <class O, class In, class Acc>
__device__ __forceinline__ auto widen_columns(const uint4& raw, const Source& source, int64_t row, int64_t n) {
  O op;
  Columns<Acc, vector_width<In>> c;
  widen_all<In>(op, raw, source, {row, 0, n}, c.e);
  return c;
}

template <class Acc, class In, class O>
__device__ __forceinline__ auto widen_pair(O& op, PairOf<In> raw, const Source& source) {
  const PairOf<In> two = mirrored<O>(raw, source.mirror);
  return Columns<Acc, 2>{{op.lift(widen<Acc>(two.e[0])), op.lift(widen<Acc>(two.e[1]))}};
}

// In which type a thread combines a batch, unless it packs them: integers of one or two bytes in 32 bits, as their
// sixteen or eight columns would else take half of its registers, and so half of an SM's threads. So many batches, of
// up to 16 elements in each of 32 lanes, do not fill that.
constexpr int kLogBatchesTogether = 6;
template <class O, class In, class Acc>
using BatchAcc = std::conditional_t<std::is_integral<Acc>::value && sizeof(In) <= 2 && !std::is_same<In, Any>::value &&
                                        (O::adds || O::selects) && !O::lifts,
                                    int32_t, Acc>;

// Whether a batch's columns are added up two to a register.
template <class O, class In, Access A>
constexpr bool packs_columns = kernels::packs_columns(types_of_instance<O, In, int64_t>(), A);
template <class O, class In, class Acc, Access A>
using BatchColumns = std::conditional_t<packs_columns<O, In, A>, Columns<uint32_t, kPackedWords>,
                                        Columns<BatchAcc<O, In, Acc>, column_width<In, A>()>>;

template <class In, class Acc, Access A, class O, class Raw, class From>
__device__ __forceinline__ auto columns_of_load(O& op, const Raw& raw, const From& source, int64_t row, int64_t n) {
  BatchColumns<O, In, Acc, A> c;
  if constexpr (packs_columns<O, In, A>) {
    pack<In>(raw, c.e);
  } else {
    widen_all<In>(op, raw, source, {row, 0, n}, c.e);
  }
  return c;
}

// Where leaf `leaf`, numbered through all chunks, begins.
__device__ __forceinline__ int64_t first_row(uint32_t leaf) {
  return static_cast<int64_t>(leaf) + static_cast<int64_t>(leaf / kLeaves) * (kChunk - kLeaves);
}

// A lane's loads of `Leaves` neighbouring leaves.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
struct Loads {
  VectorOf<O, In> raw[Leaves][Steps];

  // From row `row` on, at `start`. `all` says that every row exists.
  __device__ __forceinline__ void load(const ColumnsArgs<O, Acc, A>& a, const Place<O>& start, int64_t, int64_t row,
                                       bool all) {
    const Pointer<O, In> source = elements_of<O, In>(a.source) + start;
    if constexpr (A == Access::Contiguous) {
      load_from(a, row, all, [&](int k, int s) { return source + (row + k) * a.next_row + s * a.next_step; });
    } else {
      load_from(a, row, all,
                [&](int k, int s) { return source + a.segments.at(static_cast<uint32_t>(row) + k + s * kLeaves); });
    }
  }

  // What was loaded of step s of leaf k, which is row `row` of the n of the columns, as How combines it.
  template <class Value, class How>
  __device__ __forceinline__ auto columns_of(How& how, const SourceOf<O>& source, int k, int s, int64_t row,
                                             int64_t n) const {
    return columns_of_load<In, Value, A>(how, raw[k][s], source, row, n);
  }

 private:
  template <class At>
  __device__ __forceinline__ void load_from(const ColumnsArgs<O, Acc, A>& a, int64_t row, bool all, At place) {
    // Lines stay in L1 where other loads of the CTA read the rest of the sector, and where CTAs are short.
    const bool keep = Steps == 1 || a.log_across == 0;
    const auto read = [&](const Pointer<O, In>& p) { return load_vector<O, In>(p, keep); };
    if (all) {
#pragma unroll
      for (int k = 0; k < Leaves; ++k) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) raw[k][s] = read(place(k, s));
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        raw[k][s] = row + k + s * kLeaves < a.n ? read(place(k, s)) : missing_vector<O, In>(a.source);
      }
    }
  }
};

// The same of single columns, or pairs of them, an element of type E at a time.
template <class O, class E, class Acc, Access A, int Leaves, int Steps>
struct LoadsOfElements {
  ElementOf<O, E, Acc> raw[Leaves][Steps];

  __device__ __forceinline__ void load(const ColumnsArgs<O, Acc, A>& a, const Place<O>& start, int64_t, int64_t row,
                                       bool) {
    const int count = static_cast<int>(min(a.n - row, static_cast<int64_t>(kChunk)));
    const Place<O> column = address_of(a.source) + start;
    a.reduced.with_place([&](auto at) {
#pragma unroll
      for (int k = 0; k < Leaves; ++k) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) {
          const int of_row = k + s * kLeaves;
          raw[k][s].load_if(of_row < count, a.source, at(column, row + of_row));
        }
      }
    });
  }
};

template <class O, class In, class Acc, int Leaves, int Steps>
struct Loads<O, In, Acc, Access::Strided, Leaves, Steps> : LoadsOfElements<O, In, Acc, Access::Strided, Leaves, Steps> {
  template <class Value, class How>
  __device__ __forceinline__ auto columns_of(How& how, const SourceOf<O>& source, int k, int s, int64_t row,
                                             int64_t n) const {
    using Batch = BatchAcc<How, In, Value>;
    return Columns<Batch, 1>{{this->raw[k][s].template value<Batch>(how, source, row, n)}};
  }
};

template <class O, class In, class Acc, int Leaves, int Steps>
struct Loads<O, In, Acc, Access::Pairs, Leaves, Steps>
    : LoadsOfElements<O, PairOf<In>, Acc, Access::Pairs, Leaves, Steps> {
  template <class Value, class How>
  __device__ __forceinline__ auto columns_of(How& how, const Source& source, int k, int s, int64_t, int64_t) const {
    return widen_pair<BatchAcc<How, In, Value>>(how, this->raw[k][s].raw(), source);
  }
};

}  // namespace torch_reduce::cuda

// What one lane reads of a chunk of a row (lane/chunk_vectors.cuh says how a lane's loads and the leaves correspond). A
// row that is read an element at a time has loads of one element and eight sets.
#pragma once

#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/chunk_vectors.cuh"
#include "core/cuda/lane/partner.cuh"

namespace torch_reduce::cuda {

template <class O, Access A>
using SegmentsOf = std::conditional_t<A == Access::Unordered, UnorderedSegments,
                                      std::conditional_t<has_partner<O>, TwoSegments, Segments>>;

template <class O, class Acc, Access A>
struct RowsArgs {
  SourceOf<O> source;
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output; if interleaved, CTAs per unit
  FastDivisor steps;  // of a row in a CTA, where its steps are its own
  int log_slots, rows_per_cta;
  bool interleaved;  // where rows_interleave
  KeptOf<O, A> kept;
  Sink<Acc> sink;
  SegmentsOf<O, A> segments;  // of vectors; UnalignedSegmented: of elements
  ReducedOf<O, A> reduced;
};

// One lane's part of a chunk, by 16-byte loads.
template <class O, class In, class Acc, Access A>
struct Chunk : ChunkVectors<O, In, Acc> {
  using Vectors = ChunkVectors<O, In, Acc>;
  using Vectors::kLoads;
  using Vectors::part;
  using Vectors::V;

  // The chunk from element `first` of the row at `place` on, `left` elements before the row's end.
  __device__ __forceinline__ void load(const RowsArgs<O, Acc, A>& a, const Place<O>& place, int64_t first,
                                       int64_t left) {
    const Pointer<O, In> row = elements_of<O, In>(a.source) + place;
    const int mine = (threadIdx.x % kWarp) * V;
    if constexpr (A == Access::Contiguous) {
      load_from(a.source, row + first + mine, left, [](int i) { return i * kWarp * V; });
    } else {
      // Most chunks lie in one segment.
      const uint32_t vector = static_cast<uint32_t>(first) / V, segment = a.segments.size.quotient(vector);
      const uint32_t in_segment = vector - segment * a.segments.size.divisor;
      if (in_segment + kChunk / V <= a.segments.size.divisor) {
        load_from(a.source, row + segment * a.segments.outer + in_segment * V + mine, left,
                  [](int i) { return i * kWarp * V; });
      } else {
        load_from(a.source, row, left, [&](int i) { return a.segments.at(vector + i * kWarp + threadIdx.x % kWarp); });
      }
    }
  }

  template <class At>
  __device__ __forceinline__ void load_from(const SourceOf<O>& source, const Pointer<O, In>& row, int64_t left, At at) {
    if (left >= kChunk) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) part[i] = load_vector<O, In>(row + at(i));
      return;
    }
    const int mine = (threadIdx.x % kWarp) * V;
    const int count = left < 0 ? 0 : static_cast<int>(left), whole = count / V * V;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      part[i] = missing_vector<O, In>(source);
      if (i * kWarp * V + mine < whole) part[i] = load_vector<O, In>(row + at(i));
    }
    if constexpr (!has_partner<O>) {  // else rows are whole vectors
      const int crossing = whole / (kWarp * V);
      if (whole < count && mine == whole % (kWarp * V))
        load_crossing(source, row + at(crossing), crossing, count - whole);
    }
  }

  // The vector that crosses the row's end, which has `left` elements of it.
  __device__ __forceinline__ void load_crossing(const Source& source, const In* begin, int crossing, int left) {
    auto v = bit_cast<Vector<In>>(identity_vector<In, O>(source));
#pragma unroll
    for (int e = 0; e < V - 1; ++e) {
      if (e < left) v.e[e] = begin[e];
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (i == crossing) part[i] = bit_cast<uint4>(v);
    }
  }
};

// The same, an element at a time.
template <class O, class In, class Acc>
struct Chunk<O, In, Acc, Access::Strided> {
  static constexpr int kLoads = kChunk / kWarp;
  static constexpr int kSets = kLeaves / kWarp;
  ElementOf<O, In, Acc> part[kLoads];

  __device__ __forceinline__ void load(const RowsArgs<O, Acc, Access::Strided>& a, const Place<O>& place, int64_t first,
                                       int64_t left) {
    const int lane = threadIdx.x % kWarp;
    const Place<O> row = address_of(a.source) + place;
    if (a.reduced.dims <= 1) {  // one address, and steps from it
      const Place<O> stride = a.reduced.stride(), from = row + (first + lane) * stride;
      if (left >= kChunk) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) part[i].load(a.source, from + i * kWarp * stride);
        return;
      }
      const auto load_half = [&](int begin) {
#pragma unroll
        for (int i = 0; i < kLoads / 2; ++i) {
          const int at = begin + i;
          part[at].load_if(at * kWarp + lane < left, a.source, from + at * kWarp * stride);
        }
      };
      load_half(0);
      if (left > kChunk / 2) return load_half(kLoads / 2);
      // Rows of 257 to 512 elements are one such chunk, whose other loads should cost nothing.
#pragma unroll
      for (int i = kLoads / 2; i < kLoads; ++i) part[i].none(a.source);
      return;
    }
    const int mine = static_cast<int>(min(left, static_cast<int64_t>(kChunk))) - lane;
    a.reduced.with_place_of_several([&](auto at) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        part[i].load_if(i * kWarp < mine, a.source, at(row, first + lane + i * kWarp));
      }
    });
  }

  __device__ __forceinline__ void reduce_leaves(const SourceOf<O>& source, int64_t first, int64_t n, Acc* set) const {
    const int64_t mine = first + threadIdx.x % kWarp;
    Acc leaf[kSets];
    combine_elements<O>(leaf, [&](auto& how, auto& to) {
      const auto value = [&](int i) {
        using Value = std::decay_t<decltype(to[0])>;
        return part[i].template value<Value>(how, source, mine + i * kWarp, n);
      };
#pragma unroll
      for (int s = 0; s < kSets; ++s) {
        to[s] = value(s);
#pragma unroll
        for (int step = 1; step < kSteps; ++step) to[s] = how.combine(to[s], value(s + step * kSets));
      }
    });
#pragma unroll
    for (int s = 0; s < kSets; ++s) set[s] = leaf[s];
  }
};

}  // namespace torch_reduce::cuda

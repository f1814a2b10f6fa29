// What one lane reads of a chunk, and its part of the leaves.
//
// With V elements per 16-byte load (V of 2, 4, 8), load i of a chunk covers elements 32*V*i + V*lane, so a lane holds V
// neighbouring leaves of each of 256 / (32*V) sets, and the loads of one set come at the four steps. A row that is read
// an element at a time has V = 1 and eight sets. One-byte types read 512 elements at once; they are integers, for which
// any order gives the same bits.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/index.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
struct RowsArgs {
  Source source;
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output; if interleaved, CTAs per unit
  FastDivisor steps;  // of a row in a CTA, where its steps are its own
  int log_slots, rows_per_cta;
  bool interleaved;  // where rows_interleave
  KeptIndex<A> kept;
  Sink<Acc> sink;
  std::conditional_t<A == Access::Runs, Runs, Segments> segments;  // of vectors; AnywhereSegmented: of elements
  ReducedIndex<A> reduced;
};

template <class In, class O>
__device__ __forceinline__ uint4 identity_vector(const Source& source) {
  Vector<In> v;
#pragma unroll
  for (auto& e : v.e) e = identity_element<In, O>();
  return mirrored<O>(bit_cast<uint4>(v), source.mirror);
}

// What was loaded, as elements in the type in which they are combined. A bfloat16 is the upper half of a float: taken
// out of its word by one instruction, where a conversion of single elements makes two or three.
template <class O, class In, class To>
__device__ __forceinline__ void widen_all(const uint4& raw, const Source& source, To (&to)[vector_width<In>]) {
  const uint4 bits = mirrored<O>(raw, source.mirror);
  if constexpr (std::is_same<In, BFloat16>::value && std::is_same<To, float>::value) {
    const uint32_t word[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = bit_cast<float>(word[i] << 16);
      to[2 * i + 1] = bit_cast<float>(word[i] & 0xffff0000u);
    }
  } else {
    const auto v = bit_cast<Vector<In>>(bits);
#pragma unroll
    for (int e = 0; e < vector_width<In>; ++e) to[e] = widen<To>(v.e[e]);
  }
}

// Sums of integers of one or two bytes, four or two to an instruction, in 32 bits: a chunk's fit by far.
template <class In>
constexpr bool sums_packed = !std::is_same<In, Half>::value && !std::is_same<In, BFloat16>::value &&
                             !std::is_same<In, Any>::value && sizeof(In) <= 2;

// 128 for every byte that is not zero.
__device__ __forceinline__ uint32_t bytes_that_are_set(uint32_t w) {
  return (((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u;
}

template <class In>
__device__ __forceinline__ int add_packed(const uint4& v, int sum) {
  const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (const uint32_t w : word) {
    if constexpr (std::is_same<In, Bool>::value) {
      sum = static_cast<int>(__dp4a(bytes_that_are_set(w), 0x01010101u, static_cast<uint32_t>(sum)));
    } else if constexpr (std::is_same<In, uint8_t>::value) {
      sum = static_cast<int>(__dp4a(w, 0x01010101u, static_cast<uint32_t>(sum)));
    } else if constexpr (std::is_same<In, int8_t>::value) {
      sum = __dp4a(static_cast<int>(w), 0x01010101, sum);
    } else {
      sum = __dp2a_lo(static_cast<int>(w), 0x01010101, sum);
    }
  }
  return sum;
}
template <class In>
__device__ __forceinline__ int packed_total(int sum) {
  return std::is_same<In, Bool>::value ? sum >> 7 : sum;
}

// One lane's part of a chunk, by 16-byte loads.
template <class O, class In, class Acc, Access A>
struct Chunk {
  static constexpr int V = vector_width<In>;
  static constexpr int kLoads = kChunk / (kWarp * V);
  static constexpr int kSets = kLoads >= kSteps ? kLoads / kSteps : 1;
  static_assert(kLoads >= kSteps || order_free<O, Acc>, "a load wider than the leaves needs a free order");
  uint4 part[kLoads];

  // The chunk from element `first` of the row at `place` on, `left` elements before the row's end.
  __device__ __forceinline__ void load(const RowsArgs<Acc, A>& a, int64_t place, int64_t first, int64_t left) {
    const In* row = static_cast<const In*>(a.source.data) + place;
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
  __device__ __forceinline__ void load_from(const Source& source, const In* row, int64_t left, At at) {
    if (left >= kChunk) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) part[i] = load16(row + at(i));
      return;
    }
    const int mine = (threadIdx.x % kWarp) * V;
    const int count = left < 0 ? 0 : static_cast<int>(left), whole = count / V * V;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      part[i] = identity_vector<In, O>(source);
      if (i * kWarp * V + mine < whole) part[i] = load16(row + at(i));
    }
    // The vector that crosses the row's end, element by element.
    const int crossing = whole / (kWarp * V);
    if (whole == count || mine != whole % (kWarp * V)) return;
    const In* begin = row + at(crossing);
    auto v = bit_cast<Vector<In>>(identity_vector<In, O>(source));
#pragma unroll
    for (int e = 0; e < V - 1; ++e) {
      if (whole + e < count) v.e[e] = begin[e];
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (i == crossing) part[i] = bit_cast<uint4>(v);
    }
  }

  // The lane's leaves of each set, combined.
  __device__ __forceinline__ void reduce_leaves(const Source& source, Acc* set) const {
    if constexpr (std::is_same<O, Sum>::value && sums_packed<In>) {
      int sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum = add_packed<In>(part[i], sum);
      set[0] = packed_total<In>(sum);
      return;
    }
    constexpr int kLeavesPerSet = V < 8 ? V : 8;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Acc leaf[kLeavesPerSet];
#pragma unroll
      for (int i = s; i < kLoads; i += kSets) {
        Acc x[V];
        widen_all<O, In>(part[i], source, x);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          const bool begins = i == s && e < kLeavesPerSet;
          leaf[e % kLeavesPerSet] = begins ? x[e] : O::combine(leaf[e % kLeavesPerSet], x[e]);
        }
      }
      set[s] = tree<O>(leaf);
    }
  }
};

// The same, an element at a time.
template <class O, class In, class Acc>
struct Chunk<O, In, Acc, Access::Strided> {
  static constexpr int kLoads = kChunk / kWarp;
  static constexpr int kSets = kLeaves / kWarp;
  Element<O, In, Acc> part[kLoads];

  __device__ __forceinline__ void load(const RowsArgs<Acc, Access::Strided>& a, int64_t place, int64_t first,
                                       int64_t left) {
    const int lane = threadIdx.x % kWarp;
    const int64_t row = address_of(a.source) + place;
    if (a.reduced.dims <= 1) {  // one address, and steps from it
      const int64_t stride = a.reduced.dim[0].stride, from = row + (first + lane) * stride;
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
    a.reduced.with_place([&](auto at) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        part[i].load_if(i * kWarp < mine, a.source, at(row, first + lane + i * kWarp));
      }
    });
  }

  __device__ __forceinline__ void reduce_leaves(const Source& source, Acc* set) const {
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      set[s] = part[s].template value<Acc>(source);
#pragma unroll
      for (int step = 1; step < kSteps; ++step)
        set[s] = O::combine(set[s], part[s + step * kSets].template value<Acc>(source));
    }
  }
};

}  // namespace torch_reduce::cuda

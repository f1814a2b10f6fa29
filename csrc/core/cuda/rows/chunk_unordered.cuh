// One lane's part of a chunk of a row that lies in segments, each of them unaligned, where the order
// is free: by the aligned 16-byte loads that hold a segment's elements. What of a load is not the segment's becomes the
// identity.
//
// Every segment has as many loads as one that begins at the least convenient place needs. So a chunk is 1024 places in
// loads, of which some are empty.
#pragma once

#include "core/cuda/lane/unaligned.cuh"
#include "core/cuda/rows/chunk.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc>
struct Chunk<O, In, Acc, Access::Unordered> {
  static constexpr int V = vector_width<In>;
  static constexpr int kLoads = kChunk / (kWarp * V);
  static constexpr int kSets = 1;
  uint4 part[kLoads];
  int place[kLoads];  // in its segment, of what a load begins with: before 0 and from the segment's length on, none of
                      // it
  int length;         // of a segment

  // The chunk from place `first` of the row at `row_place` on, `left` places before the row's end.
  __device__ __forceinline__ void load(const RowsArgs<O, Acc, Access::Unordered>& a, int64_t row_place, int64_t first,
                                       int64_t left) {
    constexpr int kBytes = static_cast<int>(sizeof(In));
    const int lane = threadIdx.x % kWarp;
    const uint32_t vector = static_cast<uint32_t>(first) / V + lane, last = a.segments.last;
    const int64_t row = address_of(a.source) + row_place * kBytes;
    length = a.segments.length;
    // The load that crosses the end of the row's last segment, beyond which nothing is read.
    int crossing = kLoads, crossing_place = 0;
    int64_t crossing_block = 0;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const uint32_t at = vector + i * kWarp, segment = a.segments.vectors.quotient(at);
      const int64_t begin = a.reduced.at(row, segment);
      const int in_segment = static_cast<int>(at - segment * a.segments.vectors.divisor) * V;
      const int first_of_load = in_segment - static_cast<int>(begin & 15) / kBytes;
      const bool exists = (i * kWarp + lane) * V < left && first_of_load < length;
      const bool crosses = segment == last && first_of_load + V > length;
      const int64_t block = multiply_add(in_segment, kBytes, begin & ~int64_t{15});
      part[i] = identity_vector<In, O>(a.source);
      load16_if(exists && !crosses, reinterpret_cast<const void*>(block), part[i]);
      place[i] = first_of_load;
      if (exists && crosses) crossing = i, crossing_place = first_of_load, crossing_block = block;
    }
    if (crossing == kLoads) return;
    auto v = bit_cast<Vector<In>>(identity_vector<In, O>(a.source));
#pragma unroll
    for (int e = 0; e < V; ++e) {
      const int of_segment = crossing_place + e;
      if (of_segment >= 0 && of_segment < length) v.e[e] = reinterpret_cast<const In*>(crossing_block)[e];
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (i == crossing) part[i] = bit_cast<uint4>(v);
    }
  }

  __device__ __forceinline__ void reduce_leaves(const Source& source, int64_t, int64_t, Acc* set) const {
    if constexpr (adds_packed<O, In>) {
      int sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum = add_packed<In>(source, of_segment(i, source), sum);
      set[0] = packed_total<In>(sum);
      return;
    }
    // As many additions one after the other as in the canonical order, so that errors are no larger.
    constexpr int kSums = kLoads > kSteps ? kLoads / kSteps : 1;
    Acc sum[kSums * V];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      Acc x[V];
      widen_all<O, In>(of_segment(i, source), source, x);
#pragma unroll
      for (int e = 0; e < V; ++e) {
        Acc& s = sum[i % kSums * V + e];
        s = i < kSums ? x[e] : O::combine(s, x[e]);
      }
    }
    set[0] = tree<O>(sum);
  }

 private:
  // Load i, with identities in place of what is not its segment's.
  __device__ __forceinline__ uint4 of_segment(int i, const Source& source) const {
    if (place[i] >= 0 && place[i] + V <= length) return part[i];
    constexpr int kBits = 8 * static_cast<int>(sizeof(In));
    const int begin = -place[i] * kBits, end = (length - place[i]) * kBits;
    const auto bits_from = [](int bit) { return bit <= 0 ? ~0u : bit >= 32 ? 0u : ~0u << bit; };
    const auto pick = [&](uint32_t x, uint32_t none, int bit) {
      const uint32_t mine = bits_from(begin - bit) & ~bits_from(end - bit);
      return (x & mine) | (none & ~mine);
    };
    const uint4 &x = part[i], none = identity_vector<In, O>(source);
    return {pick(x.x, none.x, 0), pick(x.y, none.y, 32), pick(x.z, none.z, 64), pick(x.w, none.w, 96)};
  }
};

}  // namespace torch_reduce::cuda

// One lane's part of a chunk of an unaligned row, by the aligned 16-byte loads that hold the chunk.
//
// Where `shift` elements lie between the loads' first address and the chunk's first element, a load's element p is the
// chunk's element p - shift: what a lane adds up are the leaves V * lane - shift and on. As 256 elements are whole
// loads, the shift is the same in all four steps, and so it costs something once a chunk, not once a load:
//
// - The first `shift` elements of lane 0's first load lie before the chunk. In their place it takes those of the next
//   step, which are of the chunk's last leaves, and so on; in the last step, those of one more load.
// - The sums move to the lanes that hold their leaves before the tree.
#pragma once

#include "core/cuda/rows/chunk.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc>
struct Chunk<O, In, Acc, Access::Unaligned> {
  static constexpr int V = vector_width<In>;
  static constexpr int kLoads = kChunk / (kWarp * V);
  static constexpr int kSets = kLoads >= kSteps ? kLoads / kSteps : 1;
  static_assert(kSets == 1, "wider elements are read one at a time");
  uint4 part[kLoads + 1];  // the last one in lane 0 alone
  int shift;

  __device__ __forceinline__ void load(const RowsArgs<O, Acc, Access::Unaligned>& a, int64_t place, int64_t first,
                                       int64_t left) {
    load_from(a.source, static_cast<const In*>(a.source.data) + place + first, left);
  }

  // From `begin` on, `left` elements before the end of what lies there side by side.
  __device__ __forceinline__ void load_from(const Source& source, const In* begin, int64_t left) {
    shift = static_cast<int>(reinterpret_cast<uintptr_t>(begin) % 16 / sizeof(In));
    const int lane = threadIdx.x % kWarp;
    const In* mine = begin - shift + lane * V;
    if (left >= kChunk + V) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) part[i] = load16(mine + i * kWarp * V);
      part[kLoads] = identity_vector<In, O>(source);
      if (lane == 0) part[kLoads] = load16(mine + kChunk);
      return;
    }
    // Loads that the row has only a part of: of what follows it in memory, nothing is read.
    const int end = left <= 0 ? 0 : static_cast<int>(left) + shift, whole = end / V * V;
#pragma unroll
    for (int i = 0; i <= kLoads; ++i) {
      part[i] = identity_vector<In, O>(source);
      const int from = i * kWarp * V + lane * V;
      if (from < whole && (i < kLoads || lane == 0)) part[i] = load16(mine + i * kWarp * V);
    }
    if (whole == end || lane * V != whole % (kWarp * V)) return;
    const int crossing = whole / (kWarp * V);
    auto v = bit_cast<Vector<In>>(identity_vector<In, O>(source));
#pragma unroll
    for (int e = 0; e < V - 1; ++e) {
      if (whole + e < end) v.e[e] = mine[crossing * kWarp * V + e];
    }
#pragma unroll
    for (int i = 0; i <= kLoads; ++i) {
      if (i == crossing) part[i] = bit_cast<uint4>(v);
    }
  }

  // Load i, in lane 0 with its first `shift` elements from one step later.
  __device__ __forceinline__ uint4 of_step(int i, const uint4& later) const {
    const auto pick = [&](uint32_t now, uint32_t then, uint32_t mask) { return (now & ~mask) | (then & mask); };
    const uint4 &x = part[i], &y = part[i + kSets];
    return {pick(x.x, y.x, later.x), pick(x.y, y.y, later.y), pick(x.z, y.z, later.z), pick(x.w, y.w, later.w)};
  }

  __device__ __forceinline__ void reduce_leaves(const Source& source, int64_t, int64_t, Acc* set) const {
    const int lane = threadIdx.x % kWarp;
    // The bits of the first `shift` elements in lane 0, none in the others.
    const int bits = lane == 0 ? shift * static_cast<int>(sizeof(In)) * 8 : 0;
    const auto mask = [&](int from) {
      const int mine = bits - from;
      return mine <= 0 ? 0u : mine >= 32 ? ~0u : (1u << mine) - 1;
    };
    const uint4 later{mask(0), mask(32), mask(64), mask(96)};
    if constexpr (adds_packed<O, In>) {
      int sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum = add_packed<In>(source, i % kSets == 0 ? of_step(i, later) : part[i], sum);
      set[0] = packed_total<In>(sum);
      return;
    }
    constexpr int kLeavesPerSet = V < 8 ? V : 8;
    Acc leaf[kSets][kLeavesPerSet];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int s = i % kSets;
      Acc x[V];
      widen_all<O, In>(s == 0 ? of_step(i, later) : part[i], source, x);
#pragma unroll
      for (int e = 0; e < V; ++e) {
        const bool begins = i == s && e < kLeavesPerSet;
        leaf[s][e % kLeavesPerSet] = begins ? x[e] : O::combine(leaf[s][e % kLeavesPerSet], x[e]);
      }
    }
    if constexpr (!order_free<O, Acc>) move_to_their_lanes(leaf);
#pragma unroll
    for (int s = 0; s < kSets; ++s) set[s] = tree<O>(leaf[s]);
  }

  // From leaves V * lane - shift and on to leaves V * lane and on: a lane's first ones are the lane's before it. The
  // shift is the same in all lanes.
  __device__ __forceinline__ void move_to_their_lanes(Acc (&leaf)[kSets][V]) const {
    const int lane = threadIdx.x % kWarp;
    Acc after[kSets][V];  // of the lane after this one, or of the next set's first lane
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
#pragma unroll
      for (int e = 0; e < V - 1; ++e) {
        after[s][e] = __shfl_sync(kAllLanes, lane == 0 ? leaf[(s + 1) % kSets][e] : leaf[s][e], (lane + 1) % kWarp);
      }
    }
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      if constexpr (V > 4) move_by<4>(leaf[s], after[s]);
      if constexpr (V > 2) move_by<2>(leaf[s], after[s]);
      move_by<1>(leaf[s], after[s]);
    }
  }

  template <int By>
  __device__ __forceinline__ void move_by(Acc (&leaf)[V], Acc (&after)[V]) const {
    if ((shift & By) == 0) return;
#pragma unroll
    for (int e = 0; e < V; ++e) leaf[e] = e + By < V ? leaf[e + By] : after[e + By - V];
#pragma unroll
    for (int e = 0; e < V - 1 - By; ++e) after[e] = after[e + By];
  }
};

struct NoElements {};

// The first elements of a row's last chunk, where they are no more than lanes: one to each.
template <class O, class In, class Acc>
struct FewElements {
  Element<O, In, Acc> mine;

  __device__ __forceinline__ void load(const RowsArgs<O, Acc, Access::Unaligned>& a, int64_t place, int64_t first,
                                       int64_t left) {
    const int lane = threadIdx.x % kWarp;
    mine.load_if(lane < left, a.source,
                 address_of(a.source) + (place + first + lane) * static_cast<int64_t>(sizeof(In)));
  }
  // The lane's leaves, combined, as Chunk has them.
  __device__ __forceinline__ Acc reduce_leaves(const Source& source) const {
    constexpr int V = vector_width<In>;
    Acc v = mine.template value<Acc>(source);
    if constexpr (!order_free<O, Acc>) {
#pragma unroll
      for (int mask = 1; mask < V; mask *= 2) v = O::combine(v, exchange(v, mask));
      const int lane = threadIdx.x % kWarp;
      v = __shfl_sync(kAllLanes, v, lane * V % kWarp);
      if (lane >= kWarp / V) v = O::template identity<Acc>();
    }
    return v;
  }
};

// The same of rows that are segments. Most chunks lie in one of them.
template <class O, class In, class Acc>
struct Chunk<O, In, Acc, Access::UnalignedSegmented> : Chunk<O, In, Acc, Access::Unaligned> {
  static constexpr int V = vector_width<In>;
  static constexpr int kLoads = kChunk / (kWarp * V);

  __device__ __forceinline__ void load(const RowsArgs<O, Acc, Access::UnalignedSegmented>& a, int64_t place,
                                       int64_t first, int64_t left) {
    const In* row = static_cast<const In*>(a.source.data) + place;
    const uint32_t element = static_cast<uint32_t>(first), segment = a.segments.size.quotient(element);
    const int64_t in_segment = element - segment * a.segments.size.divisor;
    const int64_t here = min(left, a.segments.size.divisor - in_segment);
    if (here >= min(left, static_cast<int64_t>(kChunk))) {
      return this->load_from(a.source, row + segment * a.segments.outer + in_segment, here);
    }
    // Of several segments, which begin at different places: an element at a time.
    this->shift = 0;
    this->part[kLoads] = identity_vector<In, O>(a.source);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int mine = (i * kWarp + threadIdx.x % kWarp) * V;
      auto v = bit_cast<Vector<In>>(identity_vector<In, O>(a.source));
#pragma unroll
      for (int e = 0; e < V; ++e) {
        if (mine + e < left) v.e[e] = row[a.segments.at(element + mine + e)];
      }
      this->part[i] = bit_cast<uint4>(v);
    }
  }
};

}  // namespace torch_reduce::cuda

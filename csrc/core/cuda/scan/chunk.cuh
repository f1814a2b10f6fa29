// The prefixes of a chunk, by a warp: lane l has the leaves 8 l to 8 l + 7, and takes a step of all leaves at a time.
//
// An element of step s and leaf r ends a prefix in which leaves up to r have s + 1 elements and those behind it s. On
// the way up the tree, each node's sibling is one of the former, if it stands on the left, and else one of the latter:
// what it was a step before. As combine(a, b) has the bits of combine(b, a), what is combined is the same.
#pragma once

#include "core/cuda/scan/in_chunk.cuh"
#include "core/cuda/scan/lane.cuh"

namespace torch_reduce::cuda {

constexpr int kLaneLevels = tuning::kLogScanLane, kTreeLevels = 8;

// Elements of the lane from place `first` on, as In lifts them (in_chunk.cuh), of which those from `left` on are
// missing; `first` of it is element `number` of those that begin with the row's element `begin`.
template <class O, class Number, class In>
__device__ __forceinline__ void read_lifted(char* region, int first, const Source& source, int64_t begin, int number,
                                            int left, typename In::Value (&to)[kNeighbours]) {
  Number x[kNeighbours];
  read_numbers<O>(region, first, source, x);
#pragma unroll
  for (int e = 0; e < kNeighbours; ++e) {
    to[e] = number + e < left ? In::lift(x[e], begin + number + e) : In::identity();
  }
}

// The whole chunk, of which `left` elements exist, in every lane.
template <class O, class Number, class In>
__device__ __forceinline__ auto total_of_chunk(char* region, const Source& source, int64_t begin, int left) {
  const int mine = static_cast<int>(threadIdx.x % kWarp) * kNeighbours;
  typename In::Value leaf[kNeighbours];
  read_lifted<O, Number, In>(region, mine, source, begin, mine, left, leaf);
#pragma unroll 1
  for (int first = mine + kLeaves; first < kChunk && first - mine < left; first += kLeaves) {
    typename In::Value x[kNeighbours];
    read_lifted<O, Number, In>(region, first, source, begin, first, left, x);
#pragma unroll
    for (int e = 0; e < kNeighbours; ++e) leaf[e] = In::combine(leaf[e], x[e]);
  }
  return In::total(tree_across_warp<In>(In::across(tree<In>(leaf))));
}

// Whether In may stand for all elements of the chunk, or of rows of up to 2^log_width places, of which `left` exist.
template <class O, class Number, class In>
__device__ __forceinline__ bool may_be_in_chunk(char* region, const Source& source, int log_width, int left) {
  bool may = true;
#pragma unroll 1
  for (int first = threadIdx.x % kWarp * kNeighbours; first < kChunk; first += kLeaves) {
    const int number = first & ((1 << log_width) - 1);
    if (number >= left) continue;
    Number x[kNeighbours];
    read_numbers<O>(region, first, source, x);
#pragma unroll
    for (int e = 0; e < kNeighbours; ++e) may = may && (number + e >= left || In::may(x[e]));
  }
  return __all_sync(kAllLanes, may);
}

// What a step sees of the one before: the tree's nodes in this lane, and those that are siblings of its own in others.
template <class In>
class OrderedPrefixes {
  using Acc = typename In::Value;

 public:
  // Before the first step. Also where the next one has other rows.
  __device__ __forceinline__ void start() {
    const Acc none = In::identity();
#pragma unroll
    for (Acc& v : leaf_) v = none;
#pragma unroll
    for (Acc& v : pair_) v = none;
#pragma unroll
    for (Acc& v : quad_) v = none;
#pragma unroll
    for (Acc& v : sibling_) v = none;
  }

  // From a step's elements to the prefixes that they end, within trees of so many levels.
  __device__ __forceinline__ void step(Acc (&v)[kNeighbours], int levels) {
    static_assert(kNeighbours == 8, "a lane has three levels");
    Acc pair[4], quad[2];
#pragma unroll
    for (int e = 0; e < 8; ++e) v[e] = In::combine(leaf_[e], v[e]);
    climb<0>(v, v, leaf_, pair);
    climb<1>(v, pair, pair_, quad);
    Acc node[1];
    climb<2>(v, quad, quad_, node);
    node[0] = In::across(node[0]);
#pragma unroll
    for (int k = 0; k < kTreeLevels - kLaneLevels; ++k) {
      if (k + kLaneLevels >= levels) break;
      const Acc now = exchange(node[0], 1 << k);
      const Acc sibling = (threadIdx.x >> k) & 1 ? now : sibling_[k];
      sibling_[k] = now;
      node[0] = In::combine(node[0], now);
#pragma unroll
      for (int e = 0; e < 8; ++e) v[e] = In::combine(sibling, v[e]);
    }
  }

 private:
  // One level within the lane: nodes of 2^Level leaves, as they are now and as they were; the level above it.
  template <int Level, int Count, int Above>
  __device__ __forceinline__ void climb(Acc (&v)[kNeighbours], const Acc (&nodes)[Count], Acc (&before)[Count],
                                        Acc (&above)[Above]) {
    Acc now[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) now[i] = nodes[i];
#pragma unroll
    for (int e = 0; e < kNeighbours; ++e) {
      const int sibling = (e >> Level) ^ 1;
      v[e] = In::combine((e >> Level) & 1 ? now[sibling] : before[sibling], v[e]);
    }
#pragma unroll
    for (int i = 0; i < Above; ++i) above[i] = In::combine(now[2 * i], now[2 * i + 1]);
#pragma unroll
    for (int i = 0; i < Count; ++i) before[i] = now[i];
  }

  Acc leaf_[8], pair_[4], quad_[2], sibling_[kTreeLevels - kLaneLevels];
};

// The same where any order gives the same bits: each element onto the one before it, behind the lanes before.
template <class In>
class FreePrefixes {
  using Acc = typename In::Value;

 public:
  __device__ __forceinline__ void start() { before_ = In::identity(); }

  __device__ __forceinline__ void step(Acc (&v)[kNeighbours], int levels) {
#pragma unroll
    for (int e = 1; e < kNeighbours; ++e) v[e] = In::combine(v[e - 1], v[e]);
    Acc left = before_, total = v[kNeighbours - 1];
#pragma unroll
    for (int k = 0; k < kTreeLevels - kLaneLevels; ++k) {
      if (k + kLaneLevels >= levels) break;
      const Acc sibling = exchange(total, 1 << k);
      if ((threadIdx.x >> k) & 1) left = In::combine(left, sibling);
      total = In::combine(total, sibling);
    }
    before_ = In::combine(before_, total);
#pragma unroll
    for (Acc& x : v) x = In::combine(left, x);
  }

 private:
  Acc before_;  // of the steps before
};

template <class O, class Acc, class In>
using ChunkPrefixes = std::conditional_t<order_free<O, Acc>, FreePrefixes<In>, OrderedPrefixes<In>>;

}  // namespace torch_reduce::cuda

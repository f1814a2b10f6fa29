// The canonical order in your own kernel: warp- and block-level building blocks that reduce n values, with the bits of
// torch.ops.reduce in mode "deterministic" for the same values (docs/order.md). Header-only; no library, no PyTorch.
//
//   __global__ void fused(const float* score, const float* weight, float* out, int64_t n) {
//     __shared__ order::BlockStorage<float, 256> storage;
//     const float sum = order::block_reduce<order::Sum>(
//         n, [&](int64_t i) { return fmaxf(score[i], 0) * weight[i]; }, storage);
//     if (threadIdx.x == 0) *out = order::Sum::finish(sum, n);
//   }
//
// Op is one of order.h's operators, or a struct like them. The type that accumulates is the one that the functor
// returns: convert fp16 and bf16 to float first, as the operators do. It may be a struct of several words of 4 or 8
// bytes; Op::combine(a, b) and Op::combine(b, a) have the same bits. Results are before Op::finish().
//
// A row that several CTAs share: give each an aligned power-of-two range of chunks (2^k * 1024 elements, the last one
// what is left), reduced as a row of its own. Its result is a subtree, and up to 256 of such results combine by
// warp_reduce over them: among at most 256 elements, every one is a leaf.
//
// Every function is called by all threads of its warp or block, one-dimensional, with the same n. n is below 2^31.
#ifndef TORCH_REDUCE_DEVICE_ORDER_CUH_
#define TORCH_REDUCE_DEVICE_ORDER_CUH_

#include <cstring>
#include <type_traits>

#include "../order.h"

namespace torch_reduce::order {

constexpr int kWarp = 32;

// ---- a value a lane ------------------------------------------------------------------------------------------------

template <class Acc>
__device__ __forceinline__ Acc exchange(Acc v, int lane_mask) {
  if constexpr (std::is_arithmetic<Acc>::value) {
    return __shfl_xor_sync(0xffffffffu, v, lane_mask);
  } else {  // word by word, of the width that the compiler keeps in registers
    using Word = std::conditional_t<alignof(Acc) % sizeof(uint64_t) == 0, uint64_t, uint32_t>;
    static_assert(std::is_trivially_copyable<Acc>::value && sizeof(Acc) % sizeof(Word) == 0, "words");
    Word word[sizeof(Acc) / sizeof(Word)];
    memcpy(word, &v, sizeof(Acc));
#pragma unroll
    for (auto& w : word) w = __shfl_xor_sync(0xffffffffu, w, lane_mask);
    memcpy(&v, word, sizeof(Acc));
    return v;
  }
}

// Combines the values of neighbouring groups of lanes: first groups of `from` lanes, last groups of `to / 2`.
template <class Op, class Acc>
__device__ __forceinline__ Acc tree_across_lanes(Acc v, int from, int to) {
  for (int mask = from; mask < to; mask *= 2) v = Op::combine(v, exchange(v, mask));
  return v;
}

// The tree over the warp's 32 values, in every lane.
template <class Op, class Acc>
__device__ __forceinline__ Acc tree_across_warp(Acc v) {
#pragma unroll
  for (int mask = 1; mask < kWarp; mask *= 2) v = Op::combine(v, exchange(v, mask));
  return v;
}

// The trees of `Rows` rows (1 or 2), each over sets of 32 values, one set after the other; a lane holds its value of
// every set, v[row * Sets + set], which is overwritten. In every lane: the result of row lane % Rows.
//
// At each of the first levels a lane hands half of its values to its neighbour and carries on with the neighbour's
// other half: two rows of four sets take 11 shuffles, where one takes 8.
template <class Op, int Rows, int Sets, class Acc>
__device__ __forceinline__ Acc trees_across_warp_and_sets(Acc (&v)[Rows * Sets]) {
  constexpr int kValues = Rows * Sets;
  static_assert(kValues <= kWarp && (kValues & (kValues - 1)) == 0, "a power of two of values");
#pragma unroll
  for (int mask = 1; mask < kValues; mask *= 2) {
    const int half = kValues / 2 / mask;
    const bool upper = (threadIdx.x & mask) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      // Copies: of two places, a compiler would choose one in local memory.
      const Acc received = exchange(upper ? Acc(v[i]) : Acc(v[i + half]), mask);
      v[i] = Op::combine(upper ? Acc(v[i + half]) : Acc(v[i]), received);
    }
  }
  Acc of_set = v[0];  // which set's, the lane's bits from Rows on say, the lowest one last
#pragma unroll
  for (int mask = kValues; mask < kWarp; mask *= 2) of_set = Op::combine(of_set, exchange(of_set, mask));
#pragma unroll
  for (int mask = kValues / 2; mask >= Rows; mask /= 2) of_set = Op::combine(of_set, exchange(of_set, mask));
  return of_set;
}

// The tree over sets of 32 values each, one set after the other; a lane holds its value of every set.
template <class Op, int Sets, class Acc>
__device__ __forceinline__ Acc tree_across_warp_and_sets(const Acc* set) {
  Acc v[Sets];
#pragma unroll
  for (int s = 0; s < Sets; ++s) v[s] = set[s];
  return trees_across_warp_and_sets<Op, 1, Sets>(v);
}

// ---- a chunk -------------------------------------------------------------------------------------------------------

constexpr int kElementsOfLane = kChunk / kWarp;

// The chunk that the warp holds in registers, in every lane. The layout is that of loads of V neighbours (V of 1, 2, 4
// or 8; 16 bytes are 4 floats or 8 halves): x[V * i + e] of lane l is the chunk's element 32 * V * i + V * l + e. What
// is missing of the chunk is Op's identity.
template <class Op, int V, class Acc>
__device__ __forceinline__ Acc warp_chunk(const Acc (&x)[kElementsOfLane]) {
  constexpr int kSets = kLeaves / (kWarp * V);
  Acc set[kSets];
#pragma unroll
  for (int s = 0; s < kSets; ++s) {
    Acc leaf[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      leaf[e] = x[V * s + e];
#pragma unroll
      for (int step = 1; step < kSteps; ++step) leaf[e] = Op::combine(leaf[e], x[V * (s + step * kSets) + e]);
    }
    set[s] = tree<Op>(leaf);
  }
  return tree_across_warp_and_sets<Op, kSets>(set);
}

// The chunk of the elements value(first), value(first + 1), ... before n, in every lane. Neighbouring lanes ask for
// neighbouring elements.
template <class Op, class F>
__device__ __forceinline__ auto warp_chunk(int64_t first, int64_t n, const F& value) {
  using Acc = decltype(value(first));
  const int lane = threadIdx.x % kWarp;
  Acc x[kElementsOfLane];
  if (first + kChunk <= n) {
#pragma unroll
    for (int i = 0; i < kElementsOfLane; ++i) x[i] = value(first + i * kWarp + lane);
  } else {
#pragma unroll
    for (int i = 0; i < kElementsOfLane; ++i) {
      const int64_t element = first + i * kWarp + lane;
      x[i] = element < n ? value(element) : Op::template identity<Acc>();
    }
  }
  return warp_chunk<Op, 1>(x);
}

// ---- a row ---------------------------------------------------------------------------------------------------------

namespace detail {
constexpr int kLevels = 16;  // of the tree over groups of at least 32 chunks: 2^32 elements
}

// The elements value(0), ..., value(n - 1), by one warp, in every lane.
template <class Op, class F>
__device__ __forceinline__ auto warp_reduce(int64_t n, const F& value) {
  using Acc = decltype(value(int64_t{0}));
  const int lane = threadIdx.x % kWarp;
  const int64_t chunks = chunk_count(n);
  if (chunks <= 1) return warp_chunk<Op>(0, n, value);
  // Lane c keeps the c-th of 32 chunks.
  Counter<Op, Acc, detail::kLevels> groups;
#pragma unroll 1
  for (int64_t group = 0; group < chunks; group += kWarp) {
    Acc mine = Op::template identity<Acc>();
#pragma unroll 1
    for (int c = 0; c < kWarp && group + c < chunks; ++c) {
      const Acc v = warp_chunk<Op>((group + c) * kChunk, n, value);
      if (lane == c) mine = v;
    }
    groups.push(tree_across_warp<Op>(mine));
  }
  return groups.result();
}

// Shared memory of block_reduce, for a block of `Threads`: a power of two of warps.
template <class Acc, int Threads>
struct BlockStorage {
  static_assert(Threads % kWarp == 0 && (Threads & (Threads - 1)) == 0 && Threads <= 1024, "a power of two of warps");
  Acc chunk[Threads];
  Acc warp[Threads / kWarp];
};

namespace detail {

// The tree over one value a warp, in every thread.
template <class Op, class Acc, int Threads>
__device__ __forceinline__ Acc tree_over_warps(Acc v, BlockStorage<Acc, Threads>& storage) {
  constexpr int kWarps = Threads / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  if (lane == 0) storage.warp[warp] = v;
  __syncthreads();
  return tree_across_warp<Op>(lane < kWarps ? storage.warp[lane] : Op::template identity<Acc>());
}

}  // namespace detail

// The chunks that the block holds in registers, warp w chunk w, each in the layout of warp_chunk; in every thread. The
// storage may be used again at once.
template <class Op, int V, class Acc, int Threads>
__device__ __forceinline__ Acc block_chunks(const Acc (&x)[kElementsOfLane], BlockStorage<Acc, Threads>& storage) {
  const Acc v = warp_chunk<Op, V>(x);
  __syncthreads();  // what was read by the last call
  return detail::tree_over_warps<Op>(v, storage);
}

// The elements value(0), ..., value(n - 1), likewise.
template <class Op, class Acc, int Threads, class F>
__device__ __forceinline__ Acc block_reduce(int64_t n, const F& value, BlockStorage<Acc, Threads>& storage) {
  constexpr int kWarps = Threads / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t chunks = chunk_count(n);
  Counter<Op, Acc, detail::kLevels> rounds;
  Acc v = Op::template identity<Acc>();
#pragma unroll 1
  for (int64_t round = 0; round < chunks; round += Threads) {
    // Neighbouring warps take neighbouring chunks; a lane keeps every 32nd of its warp's.
    Acc mine = Op::template identity<Acc>();
#pragma unroll 1
    for (int c = 0; c < kWarp && round + c * kWarps + warp < chunks; ++c) {
      const Acc of_chunk = warp_chunk<Op>((round + c * kWarps + warp) * kChunk, n, value);
      if (lane == c) mine = of_chunk;
    }
    __syncthreads();  // what was read before, by the last round or the last call
    storage.chunk[lane * kWarps + warp] = mine;
    __syncthreads();
    v = tree_across_warp<Op>(storage.chunk[threadIdx.x]);
    v = detail::tree_over_warps<Op>(v, storage);
    rounds.push(v);
  }
  return chunks <= Threads ? v : rounds.result();
}

}  // namespace torch_reduce::order

#endif  // TORCH_REDUCE_DEVICE_ORDER_CUH_

// A lane's 16-byte loads of a chunk, and its part of the leaves.
//
// With V elements per 16-byte load (V of 2, 4, 8), load i of a chunk covers elements 32*V*i + V*lane, so a lane holds V
// neighbouring leaves of each of 256 / (32*V) sets, and the loads of one set come at the four steps. One-byte types
// read 512 elements at once; they are integers, for which any order gives the same bits.
#pragma once

#include "core/contract/order.h"
#include "core/contract/plain.h"
#include "core/cuda/lane/first_largest.cuh"
#include "core/cuda/lane/near.cuh"
#include "core/cuda/lane/partner.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc>
struct ChunkVectors {
  static constexpr int V = vector_width<In>;
  static constexpr int kLoads = kChunk / (kWarp * V);
  static constexpr int kSets = kLoads >= kSteps ? kLoads / kSteps : 1;
  static_assert(kLoads >= kSteps || order_free<O, Acc>, "a load wider than the leaves needs a free order");
  VectorOf<O, In> part[kLoads];

  // The lane's leaves of each set, combined. The chunk begins with element `first` of its row, which has n.
  __device__ __forceinline__ void reduce_leaves(const SourceOf<O>& source, int64_t first, int64_t n, Acc* set) const {
    if constexpr (adds_packed<O, In>) {
      int sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum = add_packed<In>(source, part[i], sum);
      set[0] = packed_total<In>(sum);
      return;
    }
    if constexpr (adds_halves<O, In, Acc>) {
      set[0] = add_halves<In>(part);
#pragma unroll
      for (int s = 1; s < kSets; ++s) set[s] = 0;
      return;
    }
    if constexpr (O::needs_index) {
      set[0] = find_largest(source, first + threadIdx.x % kWarp * V);
#pragma unroll
      for (int s = 1; s < kSets; ++s) set[s] = O::template identity<Acc>();
      return;
    }
    if constexpr (O::masks_missing) {
      if (first + kChunk <= n) return reduce_sets<OfAll<O>>(source, first, n, set);
    }
    reduce_sets<O>(source, first, n, set);
  }

 private:
  __device__ __forceinline__ Acc find_largest(const SourceOf<O>& source, int64_t mine) const {
    const auto place = [](int i) { return i / V * kWarp * V + i % V; };
    if constexpr (are_halves<In>) {
      const auto word = [&](int i) { return word_of_vector(adapted<O, In>(part[i / 4], source), i % 4); };
      const auto v = first_largest_of_halves<O, In, Acc, kLoads * 4>(mine, word, [&](int i) { return place(2 * i); });
      return O::combine(v.low, {v.high.key, v.high.ahead - 1});
    } else {
      const auto element = [&](int i) {
        return widen_element<In, Compared<In, Acc>>(adapted<O, In>(part[i / V], source), i % V);
      };
      return first_largest<O, Acc, kLoads * V>(mine, element, place);
    }
  }
  template <class How>
  __device__ __forceinline__ void reduce_sets(const SourceOf<O>& source, int64_t first, int64_t n, Acc* set) const {
    constexpr int kLeavesPerSet = V < 8 ? V : 8;
    [[maybe_unused]] Near near;
    if constexpr (adds_near<How>) {
      near = near_of_vectors<How, In, word_of<Acc>>([&](auto look) {
#pragma unroll
        for (const uint4& v : part) look(v);
      });
    }
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Acc root[1];
      const auto combine = [&](auto& how, auto& to) {
        using Value = std::decay_t<decltype(to[0])>;
        to[0] = tree_of<kLeavesPerSet>(how, [&](int leaf) {
          Value v;
#pragma unroll
          for (int i = s; i < kLoads; i += kSets) {
            const Numbers numbers{first + (i * kWarp + threadIdx.x % kWarp) * V, 1, n};
#pragma unroll
            for (int e = leaf; e < V; e += kLeavesPerSet) {
              const Value x = lift_element<In, Value>(how, part[i], source, numbers, e);
              v = i == s && e == leaf ? x : how.combine(v, x);
            }
          }
          return v;
        });
      };
      if constexpr (adds_near<How>) {
        combine_exponentials<How>(near, root, combine);
      } else {
        combine_elements<How>(root, combine);
      }
      set[s] = root[0];
    }
  }
};

}  // namespace torch_reduce::cuda

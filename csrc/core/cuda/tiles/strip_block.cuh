// A block of a strip: 256 elements of each of some neighbouring rows, on its way from memory into shared memory, and a
// row's leaves on their way to the lanes where the tree wants them.
#pragma once

#include "core/cuda/lane/element.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

// What a thread has of a block: 32 elements, either of one row, loaded one at a time with a row to a lane, or of as
// many neighbouring rows as 16 bytes hold, of four places each.
template <class O, class In, class Acc>
struct StripBlock {
  static constexpr int V = vector_width<In>, kThreads = tuning::kStripsThreads, kElements = kLeaves / kThreads;
  static constexpr int kPlaces = 4, kGroups = kElements / (V * kPlaces);  // by vectors

  int row_end;           // of the rows, from the first block on
  int row, place;        // by elements: which row, and which V places of each 8 * V
  int readable;          // elements of it and the next that exist
  int64_t here, there;   // addresses of the row's part of the block, and of the next row
  int first_row, group;  // by vectors: which rows, and which four places of each 32 * V
  int64_t of_rows;       // address
  Element<O, In, Acc> x[kElements];

  __device__ __forceinline__ StripBlock(int rows, int elements) {
    row_end = elements;
    row = threadIdx.x % rows;
    place = threadIdx.x / rows;
  }
  template <class Row>
  __device__ __forceinline__ void find_group(int rows, const Row* row_of_cta) {
    const int groups = rows / V;
    first_row = threadIdx.x % groups * V;
    group = threadIdx.x / groups;
    of_rows = row_of_cta[first_row].address;
  }
  __device__ __forceinline__ void move_on(int64_t bytes) {
    here += bytes;
    of_rows += bytes;
  }

  // Where 16 bytes of a row lie in shared memory. Rows lie one behind the other, and so at the same banks: neighbours
  // have their vectors in another order.
  static __device__ __forceinline__ int place_of_vector(int row, int vector) {
    constexpr int kEvery = sizeof(In) == 2 ? 2 : 1;
    return row * kLeaves + (vector ^ ((row ^ (row >> 3) * kEvery) & 7)) * V;
  }
  // Of the row `rows` behind a place's, the first of four, and the vector `vectors` behind it, a multiple of 8.
  static __device__ __forceinline__ uint4 vector_of(const In* staged, int place, int rows, int vectors) {
    return *reinterpret_cast<const uint4*>(staged + (place ^ rows * V) + rows * kLeaves + vectors * V);
  }

  // The block that begins `at` places behind the first one. Its places lie as the columns say, in elements: from the
  // block's first one on if all are `step` bytes apart, and, with a step of 0, from the row's.
  __device__ __forceinline__ void load_elements(int at, int64_t step, const uint32_t* column) {
    if (place >= kThreads) return;
    const auto load = [&](auto exists, auto address) {
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        const int i = (e / V * kThreads + place) * V + e % V;
        x[e].load_if(exists(i), {}, address(i) + static_cast<int64_t>(sizeof(In)) * column[i]);
      }
    };
    const bool behind = at >= row_end;
    const int64_t from_there = there + (at - row_end) * step;
    if ((behind || at + kLeaves <= row_end) && all_agree(at + kLeaves <= readable)) {
      const int64_t from = behind ? from_there : here;
      return load([](int) { return true; }, [&](int) { return from; });
    }
    load([&](int i) { return at + i < readable; }, [&](int i) { return at + i < row_end ? here : from_there; });
  }
  __device__ __forceinline__ void load_vectors(const uint32_t* column) {
    constexpr int kWords = sizeof(In) == 8 ? 2 : 4;
    if (group >= kThreads * V) return;
#pragma unroll
    for (int i = 0; i < kGroups * kPlaces; ++i) {
      const int place_of_group = (i / kPlaces * kThreads * V + group) * kPlaces + i % kPlaces;
      const int64_t from = of_rows + static_cast<int64_t>(sizeof(In)) * column[place_of_group];
      const uint4 v = load16(reinterpret_cast<const void*>(from));
      if constexpr (kWords == 2) {
        x[2 * i].bits = v.x | static_cast<uint64_t>(v.y) << 32;
        x[2 * i + 1].bits = v.z | static_cast<uint64_t>(v.w) << 32;
      } else {
        x[4 * i].bits = v.x, x[4 * i + 1].bits = v.y, x[4 * i + 2].bits = v.z, x[4 * i + 3].bits = v.w;
      }
    }
  }
  __device__ __forceinline__ uint4 vector(int i) const {
    if constexpr (sizeof(In) == 8) {
      const uint64_t low = x[2 * i].bits, high = x[2 * i + 1].bits;
      return {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
              static_cast<uint32_t>(high >> 32)};
    } else {
      return {x[4 * i].bits, x[4 * i + 1].bits, x[4 * i + 2].bits, x[4 * i + 3].bits};
    }
  }

  __device__ __forceinline__ void stage(In* staged, bool vectors) const {
    if (!vectors) {
      if (place >= kThreads) return;
#pragma unroll
      for (int g = 0; g < kElements / V; ++g) {
        Vector<In> v;
#pragma unroll
        for (int e = 0; e < V; ++e) v.e[e] = x[g * V + e].raw();
        *reinterpret_cast<uint4*>(staged + place_of_vector(row, g * kThreads + place)) = bit_cast<uint4>(v);
      }
      return;
    }
    if (group >= kThreads * V) return;
    struct Neighbours {
      In e[kPlaces];
    };
    using Word = std::conditional_t<sizeof(In) == 2, uint2, uint4>;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      Vector<In> at[kPlaces];
#pragma unroll
      for (int p = 0; p < kPlaces; ++p) at[p] = bit_cast<Vector<In>>(vector(g * kPlaces + p));
      const int first = (g * kThreads * V + group) * kPlaces;
#pragma unroll
      for (int r = 0; r < V; ++r) {
        if constexpr (V < kPlaces) {  // 8-byte elements: two vectors
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const Vector<In> pair{{at[2 * half].e[r], at[2 * half + 1].e[r]}};
            *reinterpret_cast<uint4*>(staged + place_of_vector(first_row + r, first / V + half)) =
                bit_cast<uint4>(pair);
          }
        } else {
          const Neighbours four{{at[0].e[r], at[1].e[r], at[2].e[r], at[3].e[r]}};
          *reinterpret_cast<Word*>(staged + place_of_vector(first_row + r, first / V) + first % V) =
              bit_cast<Word>(four);
        }
      }
    }
  }
};

// Leaves that a warp holds V to a lane, in sets of 32 * V, of which the first is leaf `begin` % 256, brought to where
// the first is leaf 0: by way of shared memory, with a gap behind each V so that lanes meet other banks.
template <class Acc, int V>
struct TurnedLeaves {
  static constexpr int kVectors = kLeaves / V, kPlaces = kVectors * (V + 1), kSets = kVectors / kWarp;

  static __device__ __forceinline__ void turn(Acc* turned, Acc (&leaf)[kSets][V], int begin) {
    const int lane = threadIdx.x % kWarp, odd = begin % V;
    __syncwarp();  // all have taken theirs the last time
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      const int vector = s * kWarp + lane + begin / V;
      Acc* const low = turned + vector % kVectors * (V + 1) + odd;
      Acc* const high = turned + (vector + 1) % kVectors * (V + 1) + odd - V;
#pragma unroll
      for (int k = 0; k < V; ++k) (odd + k < V ? low : high)[k] = leaf[s][k];
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
#pragma unroll
      for (int k = 0; k < V; ++k) leaf[s][k] = turned[(s * kWarp + lane) * (V + 1) + k];
    }
  }
};

}  // namespace torch_reduce::cuda

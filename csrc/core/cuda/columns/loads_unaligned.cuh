// What one lane reads of unaligned columns: its 16 bytes hold the first of its columns, and the rest is in those of the
// next lane. A leaf's elements are 256 rows apart, so all of its loads straddle alike.
#pragma once

#include "core/cuda/columns/loads.cuh"
#include "core/cuda/lane/unaligned.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc, int Leaves, int Steps>
struct Loads<O, In, Acc, Access::Unaligned, Leaves, Steps> {
  static_assert(kLeaves * sizeof(In) % 16 == 0, "a leaf's steps are multiples of 16 bytes apart");
  static constexpr int V = vector_width<In>;
  uint4 raw[Leaves][Steps];
  // The low bits of the address of the first leaf's elements, and of the distance between two.
  uint32_t place, next_place;

  // `left` columns before the end of a row. `all` says that every row exists, and two more, so that 32 bytes behind its
  // end are the tensor's.
  __device__ __forceinline__ void load(const ColumnsArgs<O, Acc, Access::Unaligned>& a, int64_t start, int64_t left,
                                       int64_t row, bool all) {
    const In* source = static_cast<const In*>(a.source.data) + start;
    const In* first = source + row * a.next_row;
    place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(first));
    next_place = static_cast<uint32_t>(a.next_row * sizeof(In));
    if (all) {
#pragma unroll
      for (int k = 0; k < Leaves; ++k, first += a.next_row) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) raw[k][s] = load16_kept(block_of(first) + s * a.next_step);
      }
      return;
    }
    // All rows but the last two, then those, whose blocks may be cut off by the tensor's end.
    const auto of = [&](int k, int s) { return block_of(first + k * a.next_row) + s * a.next_step; };
    const int rows = static_cast<int>(max(min(a.n - row, int64_t{2 * kChunk}), int64_t{0}));  // from this one on
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        raw[k][s] = identity_vector<In, O>(a.source);
        load16_if(k + s * kLeaves + 2 < rows, of(k, s), raw[k][s]);
      }
    }
    if (rows > Leaves + (Steps - 1) * kLeaves + 1) return;
    const In* end = source + (a.n - 1) * a.next_row + left;
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        const int behind = rows - (k + s * kLeaves);  // this one included
        if (behind == 1 || behind == 2) raw[k][s] = load_before<O>(a.source, of(k, s), end);
      }
    }
  }

  template <class Value, class How>
  __device__ __forceinline__ auto columns_of(How& how, const Source& source, int k, int s, int64_t row,
                                             int64_t n) const {
    const uint4 joined = join_with_next_lane<In>(raw[k][s], shift(k));
    return columns_of_load<In, Value, Access::Unaligned>(how, joined, source, row, n);
  }

 private:
  // Bytes of a leaf's loads before the first of the columns.
  __device__ __forceinline__ int shift(int k) const { return static_cast<int>((place + k * next_place) & 15); }
};

}  // namespace torch_reduce::cuda

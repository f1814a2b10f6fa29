// V neighbours that may begin at any element: the aligned 16 bytes that hold the first of them, and those that hold the
// last.
//
// Both hold an element that is asked for, and so they are memory of the tensor's, but for those at its very end; of
// what the second one asks for, the L1 cache has most already, as the next lane's first one is the same. Not tried: to
// get it from the next lane by shuffles, which takes four of them, and a load in the last lane.
#pragma once

#include "row_chunk.cuh"

namespace torch_reduce::cuda {

struct Straddling {
  uint4 low, high;
};

// Where `count` of V neighbours lie (at least one): the same for places that are a multiple of 16 bytes apart.
struct Straddle {
  int shift;     // bytes of `low` before the first one
  int64_t next;  // bytes from `low` to `high`

  explicit __device__ __forceinline__ Straddle(int shift) : shift(shift), next(16) {}
  template <class In>
  __device__ __forceinline__ Straddle(const In* first, int count)
      : shift(static_cast<int>(reinterpret_cast<uintptr_t>(first) & 15)),
        next(shift + count * static_cast<int>(sizeof(In)) > 16 ? 16 : 0) {}

  template <class In>
  __device__ __forceinline__ Straddling load(const In* first) const {
    const char* low = reinterpret_cast<const char*>(first) - shift;
    return {load16_kept(low), load16_kept(low + next)};
  }

  // The same, where nothing may be read from `end` on.
  template <class O, class In>
  __device__ __forceinline__ Straddling load_before(const In* first, const In* end) const {
    const char* low = reinterpret_cast<const char*>(first) - shift;
    return {load_block<O, In>(low, end), load_block<O, In>(low + next, end)};
  }

  // The V elements. Those that do not exist are any bits.
  template <class In>
  __device__ __forceinline__ uint4 join(const Straddling& s) const {
    uint32_t w[8] = {s.low.x, s.low.y, s.low.z, s.low.w, s.high.x, s.high.y, s.high.z, s.high.w};
    const bool by_two = (shift & 8) != 0, by_one = (shift & 4) != 0;
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = by_two ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = by_one ? w[i + 1] : w[i];
    if constexpr (sizeof(In) < 4) {
      const int bits = (shift & 3) * 8;
#pragma unroll
      for (int i = 0; i < 4; ++i) w[i] = __funnelshift_r(w[i], w[i + 1], bits);
    }
    return {w[0], w[1], w[2], w[3]};
  }

 private:
  template <class O, class In>
  static __device__ __forceinline__ uint4 load_block(const char* block, const In* end) {
    const In* from = reinterpret_cast<const In*>(block);
    if (from + vector_width<In> <= end) return load16_kept(from);
    auto v = bit_cast<Vector<In>>(identity_vector<In, O>());
#pragma unroll
    for (int e = 0; e < vector_width<In> - 1; ++e) {
      if (from + e < end) v.e[e] = from[e];
    }
    return bit_cast<uint4>(v);
  }
};

}  // namespace torch_reduce::cuda

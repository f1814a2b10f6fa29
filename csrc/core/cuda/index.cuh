// From an output's or an element's number to its place in memory.
#pragma once

#include "../plan.h"
#include "device.cuh"

namespace torch_reduce::cuda {

// Division by a number known at launch: a multiplication and a shift (Granlund and Montgomery, "Division by
// invariant integers using multiplication", 1994). Exact for dividends below 2^31.
struct FastDivisor {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  FastDivisor() = default;
  explicit FastDivisor(int64_t d) : divisor(static_cast<uint32_t>(d)) {
    while (shift < 32 && (int64_t{1} << shift) < d) ++shift;
    multiplier = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift) - divisor) / divisor + 1);
  }
  __device__ __forceinline__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, multiplier) + n) >> shift; }
};

__device__ __forceinline__ int64_t quotient(int64_t index, int64_t size) {
  return ((index | size) >> 32) == 0 ? static_cast<int64_t>(static_cast<uint32_t>(index) / static_cast<uint32_t>(size))
                                     : index / size;
}

struct Place {
  int64_t in, out;
};

// The kept dims without the innermost `skip`, which the caller walks itself; at most Most of them.
template <int Most>
struct KeptIndex {
  int dims;
  KeptDim dim[Most];

  KeptIndex(const Layout& l, int skip) : dims(l.kept_dims - skip) {
    for (int d = 0; d < dims; ++d) dim[d] = l.kept[d];
    if (dims <= 0) dim[0] = {1, 0, 0};
  }
  __device__ __forceinline__ Place at(int64_t index) const {
    if (dims <= 1) return {index * dim[0].in_stride, index * dim[0].out_stride};
    Place place{0, 0};
#pragma unroll 1
    for (int d = dims - 1; d >= 0; --d) {
      const int64_t outer = quotient(index, dim[d].size), i = index - outer * dim[d].size;
      place.in += i * dim[d].in_stride;
      place.out += i * dim[d].out_stride;
      index = outer;
    }
    return place;
  }
};

// The reduced dims, where a kernel walks any number of them; with Most = 0 none are kept.
template <int Most>
struct ReducedIndex {
  int dims;
  ReducedDim dim[Most];

  explicit ReducedIndex(const Layout& l) : dims(l.reduced_dims) {
    for (int d = 0; d < dims; ++d) dim[d] = l.reduced[d];
    if (dims == 0) dim[0] = {1, 0};
  }
  __device__ __forceinline__ int64_t at(int64_t index) const {
    if (dims <= 1) return index * dim[0].stride;
    int64_t place = 0;
#pragma unroll 1
    for (int d = dims - 1; d >= 0; --d) {
      const int64_t outer = quotient(index, dim[d].size);
      place += (index - outer * dim[d].size) * dim[d].stride;
      index = outer;
    }
    return place;
  }
};

// Two reduced dims, the common case that does not merge: segments of `size` elements (or vectors), `inner` apart
// within and `outer` from one segment to the next.
struct Segments {
  FastDivisor size;
  int64_t inner = 0, outer = 0;

  __device__ __forceinline__ int64_t at(uint32_t index) const {
    const uint32_t segment = size.quotient(index);
    return segment * outer + (index - segment * size.divisor) * inner;
  }
};

// How a kernel walks the reduced dims.
enum class Access {
  Contiguous,  // 16-byte loads, one reduced dim
  Segmented,   // 16-byte loads, two reduced dims
  Strided,     // an element at a time, from anywhere
};

template <>
struct ReducedIndex<0> {
  explicit ReducedIndex(const Layout&) {}
};

constexpr int kept_room(Access a) { return a == Access::Strided ? kMaxKernelDims : kFewDims; }
constexpr int reduced_room(Access a) { return a == Access::Strided ? kMaxKernelDims : 0; }

}  // namespace torch_reduce::cuda

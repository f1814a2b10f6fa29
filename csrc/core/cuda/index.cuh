// From an output's or an element's number to its place in memory.
#pragma once

#include <algorithm>

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

// How a kernel walks the reduced dims.
enum class Access {
  Contiguous,         // 16-byte loads, one reduced and one kept dim
  Segmented,          // 16-byte loads, up to two reduced and kFewDims kept dims
  Anywhere,           // 16-byte loads of what begins at any element, up to kFewDims kept dims and one reduced dim, ...
  AnywhereSegmented,  // ... or two
  Strided,            // an element at a time, from anywhere
};

// The kept dims without the innermost `skip`, which the caller walks itself.
//
// Contiguous: they are one. What a kernel does not need is not fetched from the constant bank, nor its code from
// memory.
template <Access A>
struct KeptIndex {
  int64_t in_stride;

  KeptIndex(const Layout& l, int skip) : in_stride(l.kept_dims > skip ? l.kept[0].in_stride : 0) {}
  __device__ __forceinline__ int64_t in(int64_t index) const { return index * in_stride; }
};

// Segmented: up to kFewDims, and fewer than 2^31 outputs.
template <>
struct KeptIndex<Access::Segmented> {
  int dims;
  KeptDim dim[kFewDims];  // innermost first
  FastDivisor size[kFewDims];

  KeptIndex(const Layout& l, int skip) : dims(l.kept_dims - skip) {
    for (int d = 0; d < dims; ++d) {
      dim[d] = l.kept[dims - 1 - d];
      size[d] = FastDivisor(dim[d].size);
    }
    if (dims <= 0) dim[0] = {1, 0, 0};
  }
  template <bool Out>
  __device__ __forceinline__ int64_t at(int64_t index) const {
    int64_t place = 0;
    uint32_t rest = static_cast<uint32_t>(index);
#pragma unroll
    for (int d = 0; d < kFewDims; ++d) {
      const bool outermost = d + 1 >= dims;
      const uint32_t outer = outermost ? 0 : size[d].quotient(rest);
      place += static_cast<int64_t>(rest - outer * size[d].divisor) * (Out ? dim[d].out_stride : dim[d].in_stride);
      if (outermost) break;
      rest = outer;
    }
    return place;
  }
  __device__ __forceinline__ int64_t in(int64_t index) const { return at<false>(index); }
  __device__ __forceinline__ int64_t out(int64_t index) const { return at<true>(index); }
};

template <>
struct KeptIndex<Access::Anywhere> : KeptIndex<Access::Segmented> {
  using KeptIndex<Access::Segmented>::KeptIndex;
};
template <>
struct KeptIndex<Access::AnywhereSegmented> : KeptIndex<Access::Segmented> {
  using KeptIndex<Access::Segmented>::KeptIndex;
};

// Divisors for the sizes of dims, where these number at least one and fewer than 2^30 places.
struct Divisors {
  bool exist = false;
  FastDivisor size[kMaxKernelDims];

  Divisors() = default;
  template <class Dim>
  Divisors(const Dim* dim, int dims, int64_t count) : exist(count > 0 && count < int64_t{1} << 30) {
    for (int d = 0; exist && d < dims; ++d) size[d] = FastDivisor(dim[d].size);
  }
};

// Of an output: where its elements begin, and where its result goes.
struct Places {
  int64_t in, out;

  __device__ __forceinline__ void add(const KeptDim& dim, int64_t index) {
    in += index * dim.in_stride;
    out += index * dim.out_stride;
  }
};

// Up to so many dims are walked by straight code, of which a thread has many places under way at once. A loop reads the
// dims from memory one after the other: (70, 25) of fp32, transposed, took 5.9 us by it and 2.2 without.
constexpr int kStraightDims = 4;

template <>
struct KeptIndex<Access::Strided> {
  int dims;
  KeptDim dim[kMaxKernelDims];  // innermost first; of size 1 up to kStraightDims
  Divisors divisors;

  KeptIndex(const Layout& l, int skip) : dims(l.kept_dims - skip) {
    for (int d = 0; d < dims; ++d) dim[d] = l.kept[dims - 1 - d];
    for (int d = std::max(dims, 0); d < kStraightDims; ++d) dim[d] = {1, 0, 0};
    divisors = Divisors(dim, std::max(dims, kStraightDims), l.outputs);
  }
  __device__ __forceinline__ int64_t in(int64_t index) const { return at(index).in; }
  __device__ __forceinline__ int64_t out(int64_t index) const { return at(index).out; }
  __device__ __forceinline__ Places at(int64_t index) const {
    if (dims <= 1) return {index * dim[0].in_stride, index * dim[0].out_stride};
    if (dims > kStraightDims || !divisors.exist) return at_any(index);
    Places place{0, 0};
    uint32_t rest = static_cast<uint32_t>(index);
#pragma unroll
    for (int d = 0; d + 1 < kStraightDims; ++d) {
      const uint32_t outer = divisors.size[d].quotient(rest);
      place.add(dim[d], rest - outer * divisors.size[d].divisor);
      rest = outer;
    }
    place.add(dim[kStraightDims - 1], rest);
    return place;
  }

 private:
  __device__ __noinline__ Places at_any(int64_t index) const {
    Places place{0, 0};
#pragma unroll 1
    for (int d = 0; d < dims; ++d) {
      const int64_t outer = quotient(index, dim[d].size);
      place.add(dim[d], index - outer * dim[d].size);
      index = outer;
    }
    return place;
  }
};

// The reduced dims, where a kernel walks any number of them.
template <Access A>
struct ReducedIndex {
  explicit ReducedIndex(const Layout&) {}
};
template <>
struct ReducedIndex<Access::Strided> {
  int dims;
  ReducedDim dim[kMaxKernelDims];  // innermost first; of size 1 up to kStraightDims
  Divisors divisors;

  explicit ReducedIndex(const Layout& l) : dims(l.reduced_dims) {
    for (int d = 0; d < dims; ++d) dim[d] = l.reduced[dims - 1 - d];
    for (int d = dims; d < kStraightDims; ++d) dim[d] = {1, 0};
    divisors = Divisors(dim, std::max(dims, kStraightDims), l.n);
  }
  // Calls f with the function from an element's number to its place.
  template <class F>
  __device__ __forceinline__ void with_place(F f) const {
    if (dims <= 1) return f([this](int64_t index) { return index * dim[0].stride; });
    if (divisors.exist) {
      if (dims == 2) return f([this](int64_t index) { return at_few<2>(index); });
      if (dims == 3) return f([this](int64_t index) { return at_few<3>(index); });
      if (dims == 4) return f([this](int64_t index) { return at_few<4>(index); });
    }
    f([this](int64_t index) { return at_any(index); });
  }
  // For single places.
  __device__ __forceinline__ int64_t at(int64_t index) const {
    if (dims <= 1) return index * dim[0].stride;
    return dims <= kStraightDims && divisors.exist ? at_few<kStraightDims>(index) : at_any(index);
  }

 private:
  // Not inlined: a thread has tens of places to find, and loops with divisions for each of them would be most of what
  // is compiled.
  __device__ __noinline__ int64_t at_any(int64_t index) const {
    int64_t place = 0;
#pragma unroll 1
    for (int d = 0; d < dims; ++d) {
      const int64_t outer = quotient(index, dim[d].size);
      place += (index - outer * dim[d].size) * dim[d].stride;
      index = outer;
    }
    return place;
  }
  template <int Dims>
  __device__ __forceinline__ int64_t at_few(int64_t index) const {
    int64_t place = 0;
    uint32_t rest = static_cast<uint32_t>(index);
#pragma unroll
    for (int d = 0; d + 1 < Dims; ++d) {
      const uint32_t outer = divisors.size[d].quotient(rest);
      place += static_cast<int64_t>(rest - outer * divisors.size[d].divisor) * dim[d].stride;
      rest = outer;
    }
    return place + static_cast<int64_t>(rest) * dim[Dims - 1].stride;
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

// One reduced dim is one segment.
inline Segments segments(const Layout& l, int64_t elements_per_index) {
  const bool two = l.reduced_dims == 2;
  const ReducedDim inner = l.reduced_dims ? l.reduced[l.reduced_dims - 1] : ReducedDim{1, 0};
  return {FastDivisor(inner.size / elements_per_index), inner.stride * elements_per_index,
          two ? l.reduced[0].stride : 0};
}

// Whether every thread's `width` results start at a multiple of `width` of the output.
inline bool stores_are_aligned(const Layout& layout, const void* out, int64_t width, int64_t element_bytes) {
  const int64_t bytes = std::min<int64_t>(width * element_bytes, 16);
  bool aligned = reinterpret_cast<uintptr_t>(out) % bytes == 0 && layout.kept[layout.kept_dims - 1].out_stride == 1;
  for (int d = 0; d + 1 < layout.kept_dims; ++d) aligned &= layout.kept[d].out_stride % width == 0;
  return aligned;
}

}  // namespace torch_reduce::cuda

// From an output's or an element's number to its place in memory.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/cuda/lane/device.cuh"
#include "core/cuda/lane/fast_divide.cuh"
#include "core/plan/gpu/access.h"
#include "core/plan/gpu/plan.h"

namespace torch_reduce::cuda {

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
struct KeptIndex<Access::Unaligned> : KeptIndex<Access::Segmented> {
  using KeptIndex<Access::Segmented>::KeptIndex;
};
template <>
struct KeptIndex<Access::UnalignedSegmented> : KeptIndex<Access::Segmented> {
  using KeptIndex<Access::Segmented>::KeptIndex;
};
template <>
struct KeptIndex<Access::Unordered> : KeptIndex<Access::Segmented> {
  using KeptIndex<Access::Segmented>::KeptIndex;
};

// Of an output: where its elements begin, and where its result goes.
struct Places {
  int64_t in, out;
};

// Inputs' places are elements, or bytes, where `scale` is the size of one.
template <>
struct KeptIndex<Access::Strided> {
  int dims;
  Quotients quotients;
  Steps in_steps, out_steps;
  KeptDim dim[kMaxKernelDims];  // innermost first

  KeptIndex(const Layout& l, int skip, int64_t scale = 1) : dims(l.kept_dims - skip) {
    for (int d = 0; d < dims; ++d) {
      dim[d] = l.kept[dims - 1 - d];
      dim[d].in_stride *= scale;
    }
    if (dims <= 0) dim[0] = {1, 0, 0};
    quotients = Quotients(dim, dims, l.outputs);
    if (!quotients.exist) return;
    in_steps = Steps(dim, dims, &KeptDim::in_stride);
    out_steps = Steps(dim, dims, &KeptDim::out_stride);
  }
  __device__ __forceinline__ int64_t in(int64_t index) const {
    if (dims <= 1) return index * dim[0].in_stride;
    return quotients.exist ? in_steps.at(quotients, static_cast<int32_t>(index)) : at_any(index).in;
  }
  __device__ __forceinline__ int64_t out(int64_t index) const {
    if (dims <= 1) return index * dim[0].out_stride;
    return quotients.exist ? out_steps.at(quotients, static_cast<int32_t>(index)) : at_any(index).out;
  }
  __device__ __forceinline__ Places at(int64_t index) const {
    if (dims <= 1) return {index * dim[0].in_stride, index * dim[0].out_stride};
    if (!quotients.exist || !in_steps.fit || !out_steps.fit) return at_any(index);
    const auto i = static_cast<int32_t>(index);
    return {in_steps.from<kStraightDims>(0, quotients, i), out_steps.from<kStraightDims>(0, quotients, i)};
  }

 private:
  // Not inlined, as in ReducedIndex.
  __device__ __noinline__ Places at_any(int64_t index) const {
    if (quotients.exist) {
      const auto i = static_cast<int32_t>(index);
      return {in_steps.at(quotients, i), out_steps.at(quotients, i)};
    }
    Places place{0, 0};
#pragma unroll 1
    for (int d = 0; d < dims; ++d) {
      const int64_t outer = quotient(index, dim[d].size), digit = index - outer * dim[d].size;
      place.in += digit * dim[d].in_stride;
      place.out += digit * dim[d].out_stride;
      index = outer;
    }
    return place;
  }
};

template <>
struct KeptIndex<Access::Pairs> : KeptIndex<Access::Strided> {
  using KeptIndex<Access::Strided>::KeptIndex;
};

// The reduced dims, where a kernel walks any number of them.
template <Access A>
struct ReducedIndex {
  explicit ReducedIndex(const Layout&) {}
};
// Places as above.
template <>
struct ReducedIndex<Access::Strided> {
  int dims;
  Quotients quotients;
  Steps steps;
  ReducedDim dim[kMaxKernelDims];  // innermost first

  explicit ReducedIndex(const Layout& l, int64_t scale = 1) : dims(l.reduced_dims) {
    for (int d = 0; d < dims; ++d) {
      dim[d] = l.reduced[dims - 1 - d];
      dim[d].stride *= scale;
    }
    if (dims == 0) dim[0] = {1, 0};
    quotients = Quotients(dim, dims, l.n);
    if (quotients.exist) steps = Steps(dim, dims, &ReducedDim::stride);
  }
  // Calls f with the function from an output's place and an element's number to the element's place.
  template <class F>
  __device__ __forceinline__ void with_place(F f) const {
    if (dims <= 1) return f([this](int64_t from, int64_t index) { return from + index * dim[0].stride; });
    with_place_of_several(f);
  }
  // Where the dims are several.
  template <class F>
  __device__ __forceinline__ void with_place_of_several(F f) const {
    const auto few = [this](auto count) {
      return [this](int64_t from, int64_t index) {
        return steps.template from<decltype(count)::value>(from, quotients, static_cast<int32_t>(index));
      };
    };
    if (!quotients.exist || !steps.fit) {
      f([this](int64_t from, int64_t index) { return from + at_any(index); });
    } else if (dims == 2) {
      f(few(std::integral_constant<int, 2>{}));
    } else if (dims == 3) {
      f(few(std::integral_constant<int, 3>{}));
    } else {
      f(few(std::integral_constant<int, 4>{}));
    }
  }
  // For single places.
  __device__ __forceinline__ int64_t at(int64_t index) const {
    if (dims <= 1) return index * dim[0].stride;
    return quotients.exist ? steps.at(quotients, static_cast<int32_t>(index)) : at_any(index);
  }
  // Of the innermost dim.
  __device__ __forceinline__ int64_t stride() const { return dim[0].stride; }

 private:
  // Not inlined: a thread has tens of places to find, and what is rare would be most of what is compiled.
  __device__ __noinline__ int64_t at_any(int64_t index) const {
    if (quotients.exist) return steps.at(quotients, static_cast<int32_t>(index));
    int64_t place = 0;
#pragma unroll 1
    for (int d = 0; d < dims; ++d) {
      const int64_t outer = quotient(index, dim[d].size);
      place += (index - outer * dim[d].size) * dim[d].stride;
      index = outer;
    }
    return place;
  }
};

template <>
struct ReducedIndex<Access::Pairs> : ReducedIndex<Access::Strided> {
  using ReducedIndex<Access::Strided>::ReducedIndex;
};

// The reduced dims but the innermost, up to kStraightDims, whose quotients exist and whose steps fit: from a segment's
// number to the bytes before its first element.
template <>
struct ReducedIndex<Access::Unordered> {
  int dims;
  int32_t stride;  // of one dim
  Quotients quotients;
  Steps steps;

  ReducedIndex(const Layout& l, int64_t scale) : dims(l.reduced_dims - 1) {
    ReducedDim dim[kStraightDims] = {{1, 0}};
    for (int d = 0; d < dims; ++d) {
      dim[d] = l.reduced[dims - 1 - d];
      dim[d].stride *= scale;
    }
    stride = static_cast<int32_t>(dim[0].stride);
    quotients = Quotients(dim, dims, l.n / l.reduced[dims].size);
    steps = Steps(dim, dims, &ReducedDim::stride);
  }
  __device__ __forceinline__ int64_t at(int64_t from, uint32_t segment) const {
    const auto index = static_cast<int32_t>(segment);
    return dims <= 1 ? multiply_add(index, stride, from) : steps.from<kStraightDims>(from, quotients, index);
  }
};

// As Element takes them: an element at a time, by addresses.
template <Access A>
KeptIndex<A> kept_index(const Layout& l, int skip, DType in) {
  if constexpr (A == Access::Strided || A == Access::Pairs) {
    return KeptIndex<A>(l, skip, static_cast<int64_t>(size_of(in)));
  } else {
    return KeptIndex<A>(l, skip);
  }
}
template <Access A>
ReducedIndex<A> reduced_index(const Layout& l, DType in) {
  if constexpr (A == Access::Strided || A == Access::Pairs || A == Access::Unordered) {
    return ReducedIndex<A>(l, static_cast<int64_t>(size_of(in)));
  } else {
    return ReducedIndex<A>(l);
  }
}

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

// Segments of any alignment, by loads.
struct UnorderedSegments {
  FastDivisor vectors;  // of each
  uint32_t last;        // segment's number
  int length;           // in elements

  UnorderedSegments(int64_t vectors_of_segment, const Layout& l)
      : vectors(vectors_of_segment),
        last(static_cast<uint32_t>(l.n / l.reduced[l.reduced_dims - 1].size - 1)),
        length(static_cast<int>(l.reduced[l.reduced_dims - 1].size)) {}
};

// Whether every thread's `width` results start at a multiple of `width` of the output.
inline bool stores_are_aligned(const Layout& layout, const void* out, int64_t width, int64_t element_bytes) {
  const int64_t bytes = std::min<int64_t>(width * element_bytes, 16);
  bool aligned = reinterpret_cast<uintptr_t>(out) % bytes == 0 && layout.kept[layout.kept_dims - 1].out_stride == 1;
  for (int d = 0; d + 1 < layout.kept_dims; ++d) aligned &= layout.kept[d].out_stride % width == 0;
  return aligned;
}

}  // namespace torch_reduce::cuda

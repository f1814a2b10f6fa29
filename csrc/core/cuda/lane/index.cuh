// From an output's or an element's number to its place in memory.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/cuda/lane/device.cuh"
#include "core/plan/gpu/plan.h"

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
  Runs,               // the same of any number of reduced dims, whose innermost are runs, where the order is free
  Strided,            // an element at a time, from anywhere
  Pairs,              // two elements at a time, columns side by side, from anywhere at multiples of both
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
template <>
struct KeptIndex<Access::Runs> : KeptIndex<Access::Segmented> {
  using KeptIndex<Access::Segmented>::KeptIndex;
};

// Of an output: where its elements begin, and where its result goes.
struct Places {
  int64_t in, out;
};

// Up to so many dims are walked by straight code, of which a thread has many places under way at once. A loop reads the
// dims from memory one after the other: (70, 25) of fp32, transposed, took 5.9 us by it and 2.2 without.
constexpr int kStraightDims = 4;

// The quotients by which numbers become places. Where index i passes through dims of sizes s0, s1, ... (innermost
// first), its digits in them are q0 - s0 q1, q1 - s1 q2, ... with q0 = i and qd = i / (s0 ... s(d-1)); so a place is
// i * stride0 + sum of qd * (stride(d) - s(d-1) stride(d-1)). Each dim but the first costs two instructions for the
// quotient and one for every kind of place, a multiplication of 32 bits into 64.
struct Quotients {
  bool exist = false;
  uint32_t multiplier[kStraightDims - 1], shift[kStraightDims - 1];

  Quotients() = default;
  // Threads without an element ask for places beyond the last one, so that these number less than the quotients allow.
  // Where there are none, the sizes of the other dims may be any.
  template <class Dim>
  Quotients(const Dim* dim, int dims, int64_t places)
      : exist(dims <= kStraightDims && places > 0 && places < int64_t{1} << 30) {
    int64_t through = 1;
    for (int d = 0; exist && d < kStraightDims - 1; ++d) {
      if (d + 1 < dims) through *= dim[d].size;
      set(d, std::max<int64_t>(through, 2));  // beyond the last dim they are multiplied by zero
    }
  }
  // Of index by the sizes of the first d + 1 dims.
  __device__ __forceinline__ int32_t of(int d, int32_t index) const {
    return static_cast<int32_t>(__umulhi(static_cast<uint32_t>(index), multiplier[d]) >> shift[d]);
  }

 private:
  // Multiplier 2^(32 + shift) / divisor, rounded up, where the shift is the divisor's logarithm, rounded down, less one
  // if it is a power of two: the multiplier fits 32 bits, as the divisor is at least 2, and quotients of dividends
  // below 2^31 are exact (Granlund and Montgomery, as above).
  void set(int d, int64_t divisor) {
    shift[d] = 0;
    while ((int64_t{4} << shift[d]) <= divisor) ++shift[d];
    if ((int64_t{2} << shift[d]) != divisor) ++shift[d];
    const auto scaled = static_cast<unsigned __int128>(1) << (32 + shift[d]);
    multiplier[d] = static_cast<uint32_t>((scaled + divisor - 1) / divisor);
  }
};

// One instruction, where compilers make three or four of the same in C++.
__device__ __forceinline__ int64_t multiply_add(int32_t x, int32_t y, int64_t z) {
#if defined(__CUDA_ARCH__)
  asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(z) : "r"(x), "r"(y));
  return z;
#else
  return z + int64_t{x} * y;
#endif
}

// What the quotients are multiplied by.
struct Steps {
  int64_t step[kStraightDims];
  bool fit = true;  // 32 bits

  Steps() = default;
  template <class Dim>
  Steps(const Dim* dim, int dims, int64_t Dim::* stride) {
    for (int d = 0; d < kStraightDims; ++d) {
      const int64_t behind = d == 0 || d >= dims ? 0 : dim[d - 1].size * (dim[d - 1].*stride);
      step[d] = d < dims ? dim[d].*stride - behind : 0;
      fit &= step[d] == static_cast<int32_t>(step[d]);
    }
  }
  // Where they fit.
  template <int Dims>
  __device__ __forceinline__ int64_t from(int64_t place, const Quotients& quotients, int32_t index) const {
    place = multiply_add(index, static_cast<int32_t>(step[0]), place);
#pragma unroll
    for (int d = 1; d < Dims; ++d) {
      place = multiply_add(quotients.of(d - 1, index), static_cast<int32_t>(step[d]), place);
    }
    return place;
  }
  // In any case, for single places.
  __device__ __forceinline__ int64_t at(const Quotients& quotients, int32_t index) const {
    int64_t place = index * step[0];
#pragma unroll
    for (int d = 1; d < kStraightDims; ++d) place += quotients.of(d - 1, index) * step[d];
    return place;
  }
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
    if (!quotients.exist || !in_steps.fit || !out_steps.fit) return {in(index), out(index)};
    const auto i = static_cast<int32_t>(index);
    return {in_steps.from<kStraightDims>(0, quotients, i), out_steps.from<kStraightDims>(0, quotients, i)};
  }

 private:
  __device__ __noinline__ Places at_any(int64_t index) const {
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
    if (!quotients.exist) return f([this](int64_t from, int64_t index) { return from + at_any(index); });
    const auto few = [this](auto count) {
      return [this](int64_t from, int64_t index) {
        return steps.template from<decltype(count)::value>(from, quotients, static_cast<int32_t>(index));
      };
    };
    if (!steps.fit) {
      f([this](int64_t from, int64_t index) { return from + steps.at(quotients, static_cast<int32_t>(index)); });
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
};

template <>
struct ReducedIndex<Access::Pairs> : ReducedIndex<Access::Strided> {
  using ReducedIndex<Access::Strided>::ReducedIndex;
};

// The reduced dims but the innermost, up to kStraightDims, whose quotients exist and whose steps fit: from a run's
// number to the bytes before its first element.
template <>
struct ReducedIndex<Access::Runs> {
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
  __device__ __forceinline__ int64_t at(int64_t from, uint32_t run) const {
    const auto index = static_cast<int32_t>(run);
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
  if constexpr (A == Access::Strided || A == Access::Pairs || A == Access::Runs) {
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

// Runs of neighbours, by loads.
struct Runs {
  FastDivisor vectors;  // of each
  uint32_t last;        // run's number
  int length;           // in elements

  Runs(const Plan& plan, const Layout& l)
      : vectors(plan.run_vectors),
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

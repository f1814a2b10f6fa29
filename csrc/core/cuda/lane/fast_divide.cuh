// From a number to the digits that it has in several dims, and to a place, by multiplications in place of divisions.
#pragma once

#include <algorithm>
#include <cstdint>

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

// Up to so many dims are walked by straight code, of which a thread has many places under way at once. A loop reads the
// dims from memory one after the other.
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

}  // namespace torch_reduce::cuda

// Superaccumulators in shared and in global memory, and what becomes of a finished one.
#pragma once

#include "core/cuda/exact/slices.cuh"
#include "core/cuda/lane/element.cuh"
#include "core/cuda/lane/index.cuh"

namespace torch_reduce::cuda {

// Word d of a superaccumulator in shared memory is at word[d * stride].
struct Digits {
  int64_t* word;
  int stride;

  // Two additions of 32 bits, which the hardware has; one of 64 would be a loop around compare-and-swap.
  __device__ __forceinline__ void add_to_word(int d, int64_t piece) const {
    auto* half = reinterpret_cast<uint32_t*>(word + d * stride);
    const uint32_t low = static_cast<uint32_t>(piece);
    const uint32_t before = atomicAdd(half, low);
    const uint32_t high = static_cast<uint32_t>(piece >> 32) + (before + low < low);
    if (high != 0) atomicAdd(half + 1, high);
  }
};

// Any element, slowly.
template <class F>
__device__ __noinline__ void spill(Digits digits, double x) {
  if (x == 0) return;
  if (exact::is_special(x)) return digits.add_to_word(F::kDigits + exact::special_of(x), 1);
  exact::split<F>(x, [&](int d, int64_t piece) { digits.add_to_word(d, piece); });
}

// Adds v * 2^exponent, the same in every lane, to the words of the warp's own superaccumulator: five lanes have 32 bits
// of it each, and the last one the sign. Nothing in it waits for memory but shared memory, once.
template <class F>
__device__ __forceinline__ void add_by_warp(int64_t* words, int128 v, int exponent) {
  const int lane = threadIdx.x % kWarp;
  const int place = exponent - F::kLowest, shift = place % exact::kDigitBits, first = place / exact::kDigitBits;
  const auto limb = [&](int i) {
    const auto half = static_cast<uint64_t>(i < 2 ? v : v >> 64);
    const auto l = static_cast<uint32_t>(i & 1 ? half >> 32 : half);
    return i < 0 ? 0 : i < 4 ? l : static_cast<uint32_t>(v >> 127);
  };
  const auto piece = [&](int i) {
    const uint64_t two = uint64_t{limb(i)} << 32 | limb(i - 1);
    return static_cast<uint32_t>(two << shift >> 32);
  };
  const int last = min(4, F::kDigits - 1 - first);
  __syncwarp();
  if (lane <= last) {
    const uint64_t sign_and_more = lane < 4 ? piece(lane + 1) : static_cast<uint32_t>(v >> 127);
    const uint64_t above = lane == last ? sign_and_more : 0;
    words[first + lane] += static_cast<int64_t>(above << 32 | piece(lane));
  }
  __syncwarp();
}

template <class F>
__device__ __noinline__ void spill(Digits digits, int128 v, int exponent) {
  exact::split_wide<F>(v, exponent, [&](int d, int64_t piece) { digits.add_to_word(d, piece); });
}

// Where results go.
struct ExactSink {
  void* out;
  DType type;
  bool words;       // the normalised words themselves are the result
  int64_t divisor;  // 1, or n for a mean
};

// Writes what the words, word(0) and on, come to. All are read before any is looked at.
template <class F, class Word>
__device__ __noinline__ void finish_words(const ExactSink& s, int64_t place, Word word) {
  int64_t w[F::kWords];
#pragma unroll 14
  for (int d = 0; d < F::kWords; ++d) w[d] = word(d);
  if (s.words) {
    exact::normalize<F>(w);
    for (int d = 0; d < F::kWords; ++d) static_cast<int64_t*>(s.out)[place + d] = w[d];
    return;
  }
  const uint64_t bits = exact::round_words<F>([&](int d) { return w[d]; }, s.divisor, exact::target_of(s.type));
  exact::store_bits(s.out, place, s.type, bits);
}

// Writes v * 2^exponent, divided, whatever the type and the divisor.
static __device__ __noinline__ void finish_value_as(void* out, int64_t place, DType type, int64_t divisor, int128 v,
                                                    int exponent) {
  const exact::Target target = exact::target_of(type);
  const bool negative = v < 0;
  const auto magnitude = static_cast<exact::uint128>(negative ? -v : v);
  const uint64_t bits = divisor == 0 ? exact::nan_of(target)
                                     : exact::round(exact::leading(magnitude, exponent, negative), divisor, target);
  exact::store_bits(out, place, type, bits);
}
static __device__ __noinline__ void finish_double_as(void* out, int64_t place, DType type, int64_t divisor, double d) {
  if (divisor > 1) d = divide(d, divisor, type == DType::Float64);
  store<Accumulated>(out, place, type, d + 0.0);
}

// Whether a result is the sum itself, in the elements' type: the likely case, for which no code is fetched that it does
// not run.
template <class In>
__device__ __forceinline__ bool is_plain(const ExactSink& s) {
  return s.divisor == 1 && s.type == dtype_of<In>::value;
}

// Writes a sum that is a double.
template <class In>
__device__ __forceinline__ void finish_double(const ExactSink& s, int64_t place, double d) {
  if (!is_plain<In>(s)) return finish_double_as(s.out, place, s.type, s.divisor, d);
  put<In>(s.out, place, d + 0.0);
}

// Whether a sum rounded to odd, to 53 bits, will do: what divides such a double rounds to odd too. It is on the same
// side of a tie as the sum itself if the tie times the divisor has 52 bits; a tie of fp32 has 25.
constexpr int kOddDivisorBits = 27;
__device__ __forceinline__ bool odd_will_do(const ExactSink& s) {
  return s.type != DType::Float64 && s.divisor > 0 && s.divisor >> kOddDivisorBits == 0;
}

// v / 2^shift rounded to odd: downwards, and the last bit set if anything was cut.
__device__ __forceinline__ int64_t shifted_to_odd(int128 v, int shift) {
  const bool cut = (v & ((static_cast<int128>(1) << shift) - 1)) != 0;
  return static_cast<int64_t>(v >> shift) | (cut ? 1 : 0);
}

// Writes v * 2^exponent, whatever the exponent if v is 0.
template <class In>
__device__ __forceinline__ void finish_value(const ExactSink& s, int64_t place, int128 v, int exponent) {
  // fp64's sums may lie below the normal doubles.
  if (std::is_same<In, double>::value || !(is_plain<In>(s) || odd_will_do(s))) {
    return finish_value_as(s.out, place, s.type, s.divisor, v, exponent);
  }
  if (v == 0) return finish_double<In>(s, place, 0.0);
  auto leading = static_cast<int64_t>(v);
  if (leading != v) {
    const auto high = static_cast<int64_t>(v >> 64);
    const int shift = 65 - exact::leading_zeros(static_cast<uint64_t>(high ^ (high >> 63)) | 1);
    leading = shifted_to_odd(v, shift);
    exponent += shift;
  }
  // To 53 bits: towards zero, and the last bit set if anything was cut.
  const double toward_zero = __ll2double_rz(leading);
  const int64_t cut = __double2ll_rz(toward_zero) != leading;
  const double odd = __longlong_as_double(__double_as_longlong(toward_zero) | cut);
  finish_double<In>(s, place, odd * power_of_two(exponent));
}

}  // namespace torch_reduce::cuda

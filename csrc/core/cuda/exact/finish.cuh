// The end of an exact sum: a warp turns a superaccumulator into a result. Its lanes have a digit each (fp64: three),
// and find all carries at once.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/sums.cuh"

namespace torch_reduce::cuda {

// A number in two's complement; lane l has the digits kPerLane * l and on. There is one digit more than in the format
// at least, as words may hold any integers.
template <class F>
struct WarpDigits {
  static constexpr int kPerLane = F::kDigits / kWarp + 1;
  uint32_t digit[kPerLane];

  __device__ __forceinline__ static int first() { return static_cast<int>(threadIdx.x % kWarp) * kPerLane; }

  // Adds in[i], 0 or 1, to each digit. A lane whose digits are all ones hands a carry on, so the carries are those of
  // an addition of two masks.
  __device__ __forceinline__ void add(const uint32_t (&in)[kPerLane]) {
    uint32_t carry = 0;
    bool ones = true;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const uint64_t sum = uint64_t{digit[i]} + in[i] + carry;
      digit[i] = static_cast<uint32_t>(sum);
      carry = static_cast<uint32_t>(sum >> exact::kDigitBits);
      ones &= digit[i] == 0xffffffffu;
    }
    const uint32_t from = __ballot_sync(kAllLanes, carry != 0) << 1, through = __ballot_sync(kAllLanes, ones);
    carry = ((from + through) ^ through) >> threadIdx.x % kWarp & 1;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      digit[i] += carry;
      carry &= static_cast<uint32_t>(digit[i] == 0);
    }
  }
  __device__ __forceinline__ void complement() {
#pragma unroll
    for (uint32_t& d : digit) d = ~d;
  }

  // The value of the words, which may hold any integers.
  __device__ __forceinline__ void set(const int64_t* word) {
    int32_t high[kPerLane];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int64_t w = first() + i < F::kDigits ? word[first() + i] : 0;
      digit[i] = static_cast<uint32_t>(w);
      high[i] = static_cast<int32_t>(w >> exact::kDigitBits);
    }
    // What a digit gets from the one below: first the upper half of its word, then -1, 0 or 1.
    int32_t carry[kPerLane];
    from_below(high, carry);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int64_t sum = int64_t{digit[i]} + carry[i];
      digit[i] = static_cast<uint32_t>(sum);
      high[i] = static_cast<int32_t>(sum >> exact::kDigitBits);
    }
    from_below(high, carry);
    uint32_t up[kPerLane], down[kPerLane];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      up[i] = carry[i] > 0;
      down[i] = carry[i] < 0;
    }
    add(up);
    complement();  // a - b = ~(~a + b)
    add(down);
    complement();
  }
  __device__ __forceinline__ void negate() {
    uint32_t one[kPerLane] = {};
    one[0] = threadIdx.x % kWarp == 0;
    complement();
    add(one);
  }
  __device__ __forceinline__ bool is_negative() const {
    return __shfl_sync(kAllLanes, digit[kPerLane - 1], kWarp - 1) >> 31 != 0;
  }
  // Digit d, the same d in every lane.
  __device__ __forceinline__ uint32_t at(int d) const {
    uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const uint32_t here = __shfl_sync(kAllLanes, digit[i], d / kPerLane);
      found = d % kPerLane == i ? here : found;
    }
    return found;
  }

 private:
  __device__ __forceinline__ static void from_below(const int32_t (&all)[kPerLane], int32_t (&below)[kPerLane]) {
    const int32_t before = __shfl_up_sync(kAllLanes, all[kPerLane - 1], 1);
    below[0] = threadIdx.x % kWarp == 0 ? 0 : before;
#pragma unroll
    for (int i = 1; i < kPerLane; ++i) below[i] = all[i - 1];
  }
};

// Of a magnitude.
template <class F>
__device__ __forceinline__ exact::Leading leading_by_warp(const WarpDigits<F>& d, bool negative) {
  constexpr int kPerLane = WarpDigits<F>::kPerLane;
  int highest = -1;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) highest = d.digit[i] != 0 ? d.first() + i : highest;
  const uint32_t holders = __ballot_sync(kAllLanes, highest >= 0);
  if (holders == 0) return {0, 0, false, false};
  highest = __shfl_sync(kAllLanes, highest, 63 - exact::leading_zeros(uint64_t{holders}));
  uint32_t below = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) below |= d.first() + i < highest - 4 ? d.digit[i] : 0;
  const bool rest = __ballot_sync(kAllLanes, below != 0) != 0;
  return exact::leading_of_digits<F>(highest, [&](int i) { return d.at(i); }, rest, negative);
}

// Writes what the words come to. All lanes of the warp call it. Inlined: read by reference, a kernel's arguments come
// from memory, a microsecond for a few.
template <class F>
__device__ __forceinline__ void finish_by_warp(const ExactSink& s, int64_t place, const int64_t* word) {
  constexpr int kTop = F::kDigits - 1;
  const int lane = threadIdx.x % kWarp;
  const int64_t specials = lane < exact::kSpecials ? word[F::kDigits + lane] : 0;
  WarpDigits<F> d;
  d.set(word);
  if (s.words) {
    auto* out = static_cast<int64_t*>(s.out) + place;
#pragma unroll
    for (int i = 0; i < d.kPerLane; ++i) {
      if (d.first() + i < kTop) out[d.first() + i] = d.digit[i];
    }
    const uint64_t top = uint64_t{d.at(kTop + 1)} << exact::kDigitBits | d.at(kTop);
    if (lane == 0) out[kTop] = static_cast<int64_t>(top);
    if (lane < exact::kSpecials) out[F::kDigits + lane] = specials;
    return;
  }
  const exact::Target target = exact::target_of(s.type);
  const uint32_t found = __ballot_sync(kAllLanes, specials != 0);
  uint64_t bits;
  if (found != 0 || s.divisor == 0) {
    const auto has = [&](exact::Special special) { return (found >> special & 1) != 0; };
    bits = exact::round_special(has(exact::kPlusInf), has(exact::kMinusInf), has(exact::kNaN), s.divisor, target);
  } else {
    const bool negative = d.is_negative();
    if (negative) d.negate();
    bits = exact::round(leading_by_warp(d, negative), s.divisor, target);
  }
  if (lane == 0) exact::store_bits(s.out, place, s.type, bits);
}

// What a CTA leaves of an output that several share: its elements' sum, but for what is in its words, if there are any.
struct alignas(16) ExactPartial {
  uint64_t low;
  int64_t high;
  int exponent, has_words;
  int64_t unused;  // so that no byte that is read was never written

  __device__ __forceinline__ WideSum sum() const { return {(static_cast<int128>(high) << 64) + low, exponent}; }
  __device__ __forceinline__ void set(const WideSum& sum, bool words) {
    *this = {static_cast<uint64_t>(sum.value), static_cast<int64_t>(sum.value >> 64), sum.exponent, words, 0};
  }
};

// In scratch, [output][unit], and [output][unit][word].
struct ExactPartials {
  ExactPartial* sums;
  int64_t* words;
  uint32_t units;  // CTAs to an output
};

// Outputs that several CTAs shared get a CTA each.
struct ExactFinishArgs {
  ExactPartials partials;
  ExactSink sink;
  KeptIndex<Access::Strided> kept;
};
constexpr int kExactFinishThreads = 512;

// A thread has a CTA's sum. All are there for words, which are many.
template <class In>
__global__ void __launch_bounds__(kExactFinishThreads) exact_finish(const __grid_constant__ ExactFinishArgs a) {
  using F = exact::FormatOf<In>;
  static_assert(exact::kMostUnits <= kExactFinishThreads);
  __shared__ int64_t words[F::kWords];
  __shared__ bool any_words, has_words[exact::kMostUnits];
  __shared__ WideSum sums[kWarp];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * a.partials.units;
  const int64_t place = a.kept.out(blockIdx.x);
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  for (int d = threadIdx.x; d < F::kWords; d += kExactFinishThreads) words[d] = 0;
  if (threadIdx.x == 0) any_words = a.sink.words;
  __syncthreads();
  wait_for_previous_kernel();
  allow_next_kernel();

  WideSum sum;
  if (threadIdx.x < a.partials.units) {
    const ExactPartial p = a.partials.sums[first + threadIdx.x];
    sum = p.sum();
    has_words[threadIdx.x] = p.has_words != 0;
    if (p.has_words != 0) any_words = true;
  }
  // First the sums of warps, then that of all.
#pragma unroll 1
  for (int level = 0; level < 2; ++level) {
    const WideSum own = sum;
    bool fits;
    sum = wide_sum_across_warp(own, min_across_warp(own.exponent), fits);  // short code, as it runs once
    if (!fits) {
      spill_sum<F>(Digits{words, 1}, own);
      sum = {};
      any_words = true;
    }
    if (level > 0) break;
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp > 0) break;
    sum = lane < kExactFinishThreads / kWarp ? sums[lane] : WideSum{};
  }
  if (threadIdx.x == 0 && !any_words) finish_value<In>(a.sink, place, sum.value, sum.exponent);
  __syncthreads();
  if (!any_words) return;

  constexpr int kSideBySide = kExactFinishThreads / F::kWords, kAtOnce = 8;
  if (threadIdx.x < kSideBySide * F::kWords) {
    const int d = threadIdx.x % F::kWords;
    int64_t of_units = 0;
    for (uint32_t side = threadIdx.x / F::kWords; side < a.partials.units; side += kAtOnce * kSideBySide) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const uint32_t unit = side + i * kSideBySide;
        if (unit < a.partials.units && has_words[unit]) of_units += a.partials.words[(first + unit) * F::kWords + d];
      }
    }
    Digits{words, 1}.add_to_word(d, of_units);
  }
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  if (sum.exponent != WideSum::kNothing) add_by_warp<F>(words, sum.value, sum.exponent);
  finish_by_warp<F>(a.sink, place, words);
}

}  // namespace torch_reduce::cuda

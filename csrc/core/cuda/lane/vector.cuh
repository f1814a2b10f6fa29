// 16 bytes of elements in registers: identities, widening, and sums of small integers by packed instructions.
#pragma once

#include "core/contract/partner.h"
#include "core/cuda/lane/element.cuh"

namespace torch_reduce::cuda {

template <class In, class O>
__device__ __forceinline__ uint4 identity_vector(const Source& source) {
  Vector<In> v;
#pragma unroll
  for (auto& e : v.e) e = identity_element<In, O>();
  return O::may_take_magnitudes ? bit_cast<uint4>(v) : mirrored<O>(bit_cast<uint4>(v), source.mirror);
}

// Which of the n elements of an output a vector holds: `first`, and the next ones `step` more each: 1, or 0 where they
// are of neighbouring outputs. From n on they are missing.
struct Numbers {
  int64_t first;
  int step;
  int64_t n;
};

// Element e of what was loaded, in the compute type. A bfloat16 is the upper half of a float: taken out of its word by
// one instruction, where a conversion of single elements makes two or three.
template <class In, class Word>
__device__ __forceinline__ Word widen_element(const uint4& bits, int e) {
  if constexpr (std::is_same<In, BFloat16>::value && std::is_same<Word, float>::value) {
    const uint32_t word[4] = {bits.x, bits.y, bits.z, bits.w};
    return bit_cast<float>(e % 2 == 0 ? word[e / 2] << 16 : word[e / 2] & 0xffff0000u);
  } else {
    return widen<Word>(bit_cast<Vector<In>>(bits).e[e]);
  }
}
template <class In, class Word>
__device__ __forceinline__ void widen_vector(const uint4& bits, Word (&to)[vector_width<In>]) {
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) to[e] = widen_element<In, Word>(bits, e);
}

// Element e, lifted, in the type in which it is combined.
template <class In, class To, class O>
__device__ __forceinline__ To lift_element(O& op, const uint4& raw, const Source& source, const Numbers& numbers,
                                           int e) {
  const auto x = widen_element<In, number_of<To>>(adapted<O, In>(raw, source), e);
  return lifted_from<To>(source, op, x, numbers.first + e * numbers.step, numbers.n);
}
template <class In, class How, class Raw, class From, class To>
__device__ __forceinline__ void widen_all(How& how, const Raw& raw, const From& source, const Numbers& numbers,
                                          To (&to)[vector_width<In>]) {
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) to[e] = lift_element<In, To>(how, raw, source, numbers, e);
}
template <class O, class In, class To>
__device__ __forceinline__ void widen_all(const uint4& raw, const Source& source, To (&to)[vector_width<In>]) {
  static_assert(!numbers_elements<O>, "such kernels do not number the elements");
  O op;
  widen_all<In>(op, raw, source, Numbers{}, to);
}

// Sums of integers of one or two bytes, four or two to an instruction, in 32 bits: a chunk's fit by far.
template <class O, class In>
constexpr bool adds_packed = kernels::adds_packed(types_of_instance<O, In, int64_t>());

// The highest bit of every half-word that is not zero.
__device__ __forceinline__ uint32_t halves_that_are_set(uint32_t w) {
  return (((w & 0x7fff7fffu) + 0x7fff7fffu) | w) & 0x80008000u;
}
// 128 for every byte that is not zero.
__device__ __forceinline__ uint32_t bytes_that_are_set(uint32_t w) {
  return (((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u;
}

template <class In>
__device__ __forceinline__ int add_packed(const Source& source, const uint4& raw, int sum) {
  const uint4 v = is_tested<In> ? tested_bits(raw, source) : raw;
  const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (const uint32_t w : word) {
    if constexpr (std::is_same<In, Bool>::value) {
      sum = static_cast<int>(__dp4a(bytes_that_are_set(w), 0x01010101u, static_cast<uint32_t>(sum)));
    } else if constexpr (is_tested<In>) {
      sum += __popc(halves_that_are_set(w));
    } else if constexpr (std::is_same<In, uint8_t>::value) {
      sum = static_cast<int>(__dp4a(w, 0x01010101u, static_cast<uint32_t>(sum)));
    } else if constexpr (std::is_same<In, int8_t>::value) {
      sum = __dp4a(static_cast<int>(w), 0x01010101, sum);
    } else {
      sum = __dp2a_lo(static_cast<int>(w), 0x01010101, sum);
    }
  }
  return sum;
}
template <class In>
__device__ __forceinline__ int packed_total(int sum) {
  return std::is_same<In, Bool>::value ? sum >> 7 : sum;
}

// Sums of 64-bit integers in 128 bits: of both halves of the elements, so that only the last addition carries.
template <class O, class In, class Acc>
constexpr bool adds_halves = std::is_same<Acc, Int128>::value && sizeof(In) == 8 && O::adds && !has_partner<O>;

template <class In, int Loads>
__device__ __forceinline__ Int128 add_halves(const uint4 (&raw)[Loads]) {
  constexpr int kChains = 4;  // of additions that wait for one another
  uint64_t low[kChains] = {};
  int64_t high[kChains] = {};
#pragma unroll
  for (int i = 0; i < Loads; ++i) {
    const auto v = bit_cast<Vector<In>>(raw[i]);
#pragma unroll
    for (int e = 0; e < vector_width<In>; ++e) {
      const int chain = (i * vector_width<In> + e) % kChains;
      low[chain] += static_cast<uint32_t>(v.e[e]);
      high[chain] += v.e[e] >> 32;
    }
  }
  const int64_t sum = (high[0] + high[1]) + (high[2] + high[3]);
  return (static_cast<Int128>(sum) << 32) + ((low[0] + low[1]) + (low[2] + low[3]));
}

}  // namespace torch_reduce::cuda

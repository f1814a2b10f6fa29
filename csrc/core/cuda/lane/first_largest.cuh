// The largest of a lane's elements and its place: the value first, then the first place that has it. So an element
// takes three instructions, or two for a pair of them, where its key and number, combined as accumulators, take ten.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/lane/halves.cuh"
#include "core/cuda/lane/vector.cuh"

namespace torch_reduce::cuda {

// In which type elements compare: integers in 32 bits if these hold them.
template <class In, class Acc>
using Compared =
    std::conditional_t<std::is_integral<number_of<Acc>>::value && sizeof(In) <= 4, int32_t, number_of<Acc>>;

// The first of Count places whose element is what is wanted. Places ascend.
template <int Count, class Element, class Place, class IsWanted>
__device__ __forceinline__ int first_where(Element element, Place place, IsWanted is_wanted) {
  int at = 0;
#pragma unroll
  for (int i = Count - 1; i >= 0; --i) at = is_wanted(element(i)) ? place(i) : at;
  return at;
}

// Of Count elements, as the operator's kernels take them: element(i) is number first + place(i), which ascends.
template <class O, class Acc, int Count, class Element, class Place>
__device__ __forceinline__ Acc first_largest(int64_t first, Element element, Place place) {
  const Max max;
  const auto largest = tree_of<Count>(max, element);
  const int at = largest == largest ? first_where<Count>(element, place, [&](auto x) { return x == largest; })
                                    : first_where<Count>(element, place, [](auto x) { return x != x; });
  return O::lift(static_cast<number_of<Acc>>(largest), first + at);
}

// The same of the lower and of the upper halves of Count words, apart: places are less than 2^16 - 1.
template <class Acc>
struct OfHalves {
  Acc low, high;
};
template <class O, class In, class Acc, int Count, class Words, class Place>
__device__ __forceinline__ OfHalves<Acc> first_largest_of_halves(int64_t first, Words word, Place place_of) {
  using Two = Halves<In>;
  struct Larger {
    __device__ __forceinline__ uint32_t combine(uint32_t a, uint32_t b) const { return Two::larger(a, b); }
  } const larger;
  const uint32_t largest = tree_of<Count>(larger, word);
  constexpr uint32_t kNowhere = 0xffff;  // NaN is nowhere equal
  uint32_t at = kNowhere << 16 | kNowhere;
#pragma unroll
  for (int i = Count - 1; i >= 0; --i) {
    const uint32_t is_there = Two::equal(word(i), largest), both = static_cast<uint32_t>(place_of(i)) * 0x10001u;
    at = (both & is_there) | (at & ~is_there);
  }
  uint32_t low = at & 0xffffu, high = at >> 16;
  const auto is_nan = [](float x) { return x != x; };
  if (low == kNowhere) low = first_where<Count>([&](int i) { return Two::low(word(i)); }, place_of, is_nan);
  if (high == kNowhere) high = first_where<Count>([&](int i) { return Two::high(word(i)); }, place_of, is_nan);
  return {O::lift(Two::low(largest), first + low), O::lift(Two::high(largest), first + high)};
}

// 16 bytes as words.
__device__ __forceinline__ uint32_t word_of_vector(const uint4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

}  // namespace torch_reduce::cuda

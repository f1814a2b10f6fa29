// Whether elements are near 0, by the vectors that they come in: those of two bytes are looked at two at a time.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/lane/halves.cuh"
#include "core/cuda/lane/vector.cuh"

namespace torch_reduce::cuda {

// What is looked at so: exponentials of one tensor.
template <class O>
constexpr bool adds_near = O::adds_exponentials && !has_partner<O>;

// The largest magnitude of elements, NaN if there is one; but_none: but for those that are -infinity.
template <class In, class Word, bool but_none>
class LargestMagnitude {
 public:
  __device__ __forceinline__ void add(const uint4& v) {
    if constexpr (are_halves<In>) {
      using Two = Halves<In>;
#pragma unroll
      for (const uint32_t word : {v.x, v.y, v.z, v.w}) {
        const uint32_t none = but_none ? Two::equal(word, Two::kNone) : 0;
        largest_ = Two::larger_magnitudes(word & 0x7fff7fffu & ~none, largest_);
      }
    } else {
      std::conditional_t<but_none, MagnitudesButNone<Word>, Magnitudes<Word>> look;
      look.largest = largest_;
      Word x[vector_width<In>];
      widen_vector<In>(v, x);
#pragma unroll
      for (const Word number : x) look.lift(number);
      largest_ = look.largest;
    }
  }
  __device__ __forceinline__ Word get() const {
    if constexpr (are_halves<In>) {
      return widen<Word>(bits_as<In>(max(largest_ & 0xffffu, largest_ >> 16)));
    } else {
      return largest_;
    }
  }

 private:
  std::conditional_t<are_halves<In>, uint32_t, Word> largest_{};
};

// Of the vectors that for_each(f) calls f for, times a positive scale: of all lanes of a warp, which so
// take the same way. O adds exponentials.
template <class O, class In, class Word, bool may_be_all = true, class ForEach>
__device__ __forceinline__ Near near_of_vectors(ForEach for_each, Word scale = 1) {
  if constexpr (may_be_all) {
    LargestMagnitude<In, Word, false> all;
    for_each([&](const uint4& v) { all.add(v); });
    if (__all_sync(kAllLanes, scale == 1 & all.get() <= O::kNear)) return Near::All;
  }
  LargestMagnitude<In, Word, true> others;
  for_each([&](const uint4& v) { others.add(v); });
  return __all_sync(kAllLanes, others.get() * scale <= O::kNear) ? Near::OrNone : Near::Not;
}

}  // namespace torch_reduce::cuda

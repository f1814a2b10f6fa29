// The sum of an output's elements, or of some of them, in any range.
#pragma once

#include "core/contract/exact/format.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

constexpr int64_t kAddsPerCarry = 1 << 30;  // words have room for 2^31 pieces of 32 bits

template <class F>
struct Superaccumulator {
  int64_t word[F::kWords] = {};
  int64_t adds = 0;

  void add(double x) {
    if (x == 0) return;
    if (exact::is_special(x)) {
      ++word[F::kDigits + exact::special_of(x)];
      return;
    }
    if (++adds == kAddsPerCarry) carry();
    exact::split<F>(x, [&](int digit, int64_t piece) { word[digit] += piece; });
  }
  void carry() {
    exact::normalize<F>(word);
    adds = 1;  // as much as one number
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

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
    if (exact::is_special(x)) return count(x);
    if (++adds == kAddsPerCarry) carry();
    exact::split<F>(x, adds_pieces());
  }
  void count(double special) { ++word[F::kDigits + exact::special_of(special)]; }
  auto adds_pieces() {
    return [this](int digit, int64_t piece) { word[digit] += piece; };
  }
  void carry() {
    exact::normalize<F>(word);
    adds = 1;  // as much as one number
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

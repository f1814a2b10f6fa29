// Whole numbers, as plans count them.
#pragma once

#include <cstdint>

namespace torch_reduce {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The logarithm of the smallest power of two that is at least x.
constexpr int log2_above(int64_t x) {
  int l = 0;
  while ((int64_t{1} << l) < x) ++l;
  return l;
}

inline int64_t power_of_two_above(int64_t x) { return int64_t{1} << log2_above(x); }

// The largest power of two that is at most x, which is at least 1.
constexpr int64_t power_of_two_below(int64_t x) { return int64_t{1} << (log2_above(x + 1) - 1); }

// The power of two whose ratio to x, which is at most 2^30, is nearest to 1.
inline int64_t power_of_two_near(int64_t x) {
  const int64_t above = power_of_two_above(x);
  return 2 * x * x < above * above ? above / 2 : above;
}

}  // namespace torch_reduce

// Chunks and trees of squares of endless float64 (contract/endless.h). Where no square leaves the range of float64,
// they are those of float64, to the bit, which vectors compute.
#pragma once

#include "core/cpu/tree/chunks.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Whether the squares of `count` elements are plain, or 0.
TR_HD bool have_plain_squares(const double* x, int64_t count) {
  int64_t others = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double magnitude = x[i] < 0 ? -x[i] : x[i];
    const bool is_zero = magnitude == 0, is_plain = (magnitude >= kLeastPlain) & (magnitude < kMostPlain);
    others |= static_cast<int64_t>(!(is_zero | is_plain));
  }
  return others == 0;
}

template <class Op>
struct EndlessTrees {
  using Acc = EndlessSum;

  // of[i] = plain[i], squares or sums of them.
  static void take(const double* plain, int64_t count, Acc* of) {
    for (int64_t i = 0; i < count; ++i) of[i] = of_plain(plain[i]);
  }

  static Acc lifted(double x) { return Op::lift(Endless{x}); }

  // The leaf of x[0][i], x[1][i], ...
  static Acc leaf(const double* const* x, int steps, int64_t i) {
    Acc v = lifted(x[0][i]);
    for (int s = 1; s < steps; ++s) v = Op::combine(v, lifted(x[s][i]));
    return v;
  }

  static void leaves(const char* const* bytes, int steps, int leaves, int64_t count, Acc* out) {
    const auto* x = reinterpret_cast<const double* const*>(bytes);
    const int rows = steps * leaves;
    for (int64_t i = 0; i < count; i += kLeaves) {
      const int64_t size = smaller(kLeaves, count - i);
      const char* block[kRowsAtOnce<Op>];
      bool is_plain = true;
      for (int r = 0; r < rows; ++r) {
        block[r] = reinterpret_cast<const char*>(x[r] + i);
        is_plain = is_plain && have_plain_squares(x[r] + i, size);
      }
      if (is_plain) {
        double plain[kLeaves];
        cpu::TR_CPU_NAMESPACE::leaves<Op, double, double>(block, steps, leaves, size, plain);
        take(plain, size, out + i);
        continue;
      }
      for (int64_t j = i; j < i + size; ++j) {
        Acc leaf_of[kRowsAtOnce<Op>];
        for (int l = 0; l < leaves; ++l) leaf_of[l] = leaf(x + l * steps, steps, j);
        fold<Op>(leaf_of, leaves, 1);
        out[j] = leaf_of[0];
      }
    }
  }

  static void trees(const char* bytes, int levels, int64_t count, Acc* out) {
    constexpr int64_t kBlock = 512;
    const auto* x = reinterpret_cast<const double*>(bytes);
    for (int64_t i = 0, step = kBlock >> levels; i < count; i += step) {
      const int64_t size = smaller(step, count - i);
      const double* y = x + (i << levels);
      if (have_plain_squares(y, size << levels)) {
        double plain[kBlock];
        cpu::TR_CPU_NAMESPACE::trees<Op, double, double>(reinterpret_cast<const char*>(y), levels, size, plain);
        take(plain, size, out + i);
        continue;
      }
      Acc block[kBlock];
      for (int64_t j = 0; j < size << levels; ++j) block[j] = lifted(y[j]);
      fold<Op>(block, int64_t{1} << levels, size);
      for (int64_t j = 0; j < size; ++j) out[i + j] = block[j];
    }
  }

  // The first n elements of a chunk whose windows of 256 begin at x[s]: those that are not plain.
  static void slow_windows(const double* const* x, int64_t n, Acc* out) {
    Acc leaf_of[kLeaves];
    for (int64_t l = 0; l < kLeaves; ++l) {
      const int64_t steps = n <= l ? 0 : (n - l - 1) / kLeaves + 1;
      leaf_of[l] = steps == 0 ? Op::template identity<Acc>() : leaf(x, static_cast<int>(steps), l);
    }
    fold<Op>(leaf_of, kLeaves / kSubtrees, kSubtrees);
    for (int s = 0; s < kSubtrees; ++s) out[s] = leaf_of[s];
  }

  static void windows(const char* const* bytes, int steps, int64_t group, int64_t prefetch, Acc* out) {
    const auto* x = reinterpret_cast<const double* const*>(bytes);
    bool is_plain = true;
    for (int s = 0; s < steps; ++s) is_plain = is_plain && have_plain_squares(x[s], kLeaves);
    if (!is_plain) return slow_windows(x, steps * kLeaves, out);
    double plain[kSubtrees];
    cpu::TR_CPU_NAMESPACE::windows<Op, double, double>(bytes, steps, group, prefetch, plain);
    take(plain, kSubtrees, out);
  }

  static void chunks(const char* bytes, int64_t count, Ahead ahead, Acc* out) {
    for (int64_t c = 0; c < count; ++c, bytes += kChunk * sizeof(double), out += kSubtrees) {
      rest(bytes, kChunk, ahead, out);
    }
  }

  static void rest(const char* bytes, int64_t n, Ahead ahead, Acc* out) {
    const auto* x = reinterpret_cast<const double*>(bytes);
    if (!have_plain_squares(x, n)) {
      const double* const steps[kSteps] = {x, x + kLeaves, x + 2 * kLeaves, x + 3 * kLeaves};
      return slow_windows(steps, n, out);
    }
    double plain[kSubtrees];
    if (n == kChunk) {
      cpu::TR_CPU_NAMESPACE::chunks<Op, double, double>(bytes, 1, ahead, plain);
    } else {
      cpu::TR_CPU_NAMESPACE::rest<Op, double, double>(bytes, n, ahead, plain);
    }
    take(plain, kSubtrees, out);
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

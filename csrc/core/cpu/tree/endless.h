// Chunks and trees of squares of endless float64 (contract/endless.h), whatever their exponents.
#pragma once

#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Op>
struct EndlessTrees {
  using Acc = EndlessSum;

  static Acc lifted(double x) { return Op::lift(Endless{x}); }

  // The leaf of x[0][i], x[1][i], ...
  static Acc leaf(const double* const* x, int steps, int64_t i) {
    Acc v = lifted(x[0][i]);
    for (int s = 1; s < steps; ++s) v = Op::combine(v, lifted(x[s][i]));
    return v;
  }

  static void leaves(const char* const* bytes, int steps, int leaves, int64_t count, Acc* out) {
    const auto* x = reinterpret_cast<const double* const*>(bytes);
    for (int64_t i = 0; i < count; ++i) {
      Acc leaf_of[kRowsAtOnce<Op>];
      for (int l = 0; l < leaves; ++l) leaf_of[l] = leaf(x + l * steps, steps, i);
      fold<Op>(leaf_of, leaves, 1);
      out[i] = leaf_of[0];
    }
  }

  static void trees(const char* bytes, int levels, int64_t count, Acc* out) {
    const auto* x = reinterpret_cast<const double*>(bytes);
    for (int64_t i = 0; i < count; ++i) {
      Acc block[1 << kReadTreeLevels];
      for (int64_t j = 0; j < int64_t{1} << levels; ++j) block[j] = lifted(x[(i << levels) + j]);
      fold<Op>(block, int64_t{1} << levels, 1);
      out[i] = block[0];
    }
  }

  // The first n elements of a chunk whose windows of 256 begin at x[s].
  static void windows_of(const double* const* x, int64_t n, Acc* out) {
    Acc leaf_of[kLeaves];
    for (int64_t l = 0; l < kLeaves; ++l) {
      const int64_t steps = n <= l ? 0 : (n - l - 1) / kLeaves + 1;
      leaf_of[l] = steps == 0 ? Op::template identity<Acc>() : leaf(x, static_cast<int>(steps), l);
    }
    fold<Op>(leaf_of, kLeaves / kSubtrees, kSubtrees);
    for (int s = 0; s < kSubtrees; ++s) out[s] = leaf_of[s];
  }

  static void windows(const char* const* bytes, int steps, int64_t, int64_t, Acc* out) {
    windows_of(reinterpret_cast<const double* const*>(bytes), steps * kLeaves, out);
  }

  static void chunks(const char* bytes, int64_t count, Ahead ahead, Acc* out) {
    for (int64_t c = 0; c < count; ++c, bytes += kChunk * sizeof(double), out += kSubtrees) {
      rest(bytes, kChunk, ahead, out);
    }
  }

  static void rest(const char* bytes, int64_t n, Ahead, Acc* out) {
    const auto* x = reinterpret_cast<const double*>(bytes);
    const double* const steps[kSteps] = {x, x + kLeaves, x + 2 * kLeaves, x + 3 * kLeaves};
    windows_of(steps, n, out);
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

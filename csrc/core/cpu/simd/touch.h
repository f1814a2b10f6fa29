// Asking for lines in the order of memory, by one instruction, before they are read in another one (Ahead,
// plan/tuning/cpu.h).
#pragma once

#include "core/cpu/element/elements.h"
#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A call, as kernels of some types would be vectorised otherwise beside these loops.
__attribute__((noinline)) inline void touch_lines(const char* x, int64_t bytes, Ahead ahead) {
  constexpr int64_t kLine = 64;
  if (ahead == Ahead::Touched) {
    TR_NO_UNROLL
    for (int64_t line = 0; line < bytes; line += kLine) __builtin_prefetch(x + line);
  } else if (ahead == Ahead::Loaded) {
    // Whole vectors: by single bytes as little as 0.6 of the speed.
    typedef Vector<float> Unaligned __attribute__((aligned(1), may_alias));
    TR_NO_UNROLL
    for (int64_t line = 0; line + kVectorBytes <= bytes; line += kLine) {
      static_cast<void>(*reinterpret_cast<const volatile Unaligned*>(x + line));
    }
  }
}

TR_HD void touch(const char* x, int64_t bytes, Ahead ahead) {
  if (ahead == Ahead::Touched || ahead == Ahead::Loaded) touch_lines(x, bytes, ahead);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

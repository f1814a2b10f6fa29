// Whether floating operations stayed in the range of their type: IEEE 754's flags of overflow and underflow tell.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

#include "core/contract/numeric.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A call, so that no operation of f leaves it.
template <class F>
__attribute__((noinline)) void call(const F& f) {
  f();
}

// Calls f, and returns whether no result overflowed, or was rounded for being below the normal numbers: underflow has
// its flag where a result is inexact, too. So each is what it would be if exponents had no end. The flags are left as
// they were.
template <class F>
TR_HD bool stays_in_range(const F& f) {
#if defined(__SSE2__)
  constexpr unsigned kFlags = _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW;
  const unsigned before = _mm_getcsr();
  if (before & kFlags) _mm_setcsr(before & ~kFlags);
  call(f);
  const unsigned raised = _mm_getcsr() & kFlags;
  if (raised != (before & kFlags)) _mm_setcsr(before);
  return raised == 0;
#else
  std::fexcept_t before;
  std::fegetexceptflag(&before, FE_OVERFLOW | FE_UNDERFLOW);
  std::feclearexcept(FE_OVERFLOW | FE_UNDERFLOW);
  call(f);
  const bool stays = !std::fetestexcept(FE_OVERFLOW | FE_UNDERFLOW);
  std::fesetexceptflag(&before, FE_OVERFLOW | FE_UNDERFLOW);
  return stays;
#endif
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

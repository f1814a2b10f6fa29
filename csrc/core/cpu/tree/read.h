// Elements as numbers of the compute type.
#pragma once

#include "core/cpu/tree/leaves.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// to[i] = x[i * stride], as a number of the compute type.
template <class Number>
using Read = void (*)(const char* x, int64_t stride, int64_t count, Number* to);

// Null for the types that are not read as such numbers.
template <class Number>
Read<Number> reader_of(const Problem& p) {
  if constexpr (std::is_same<Number, int64_t>::value) {
    if (p.tested) return with_tested_type(p.in, [](auto t) -> Read<Number> { return convert<decltype(t), Number>; });
  }
  return with_type(p.in, [](auto t) -> Read<Number> {
    using T = decltype(t);
    constexpr bool is_half = std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value || is_float8_type<T>;
    if constexpr (std::is_same<Number, float>::value && !is_half && !std::is_same<T, float>::value) return nullptr;
    if constexpr (std::is_same<Number, Int128>::value && !(std::is_integral<T>::value && sizeof(T) == 8))
      return nullptr;
    return convert<T, Number>;
  });
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

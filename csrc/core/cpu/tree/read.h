// Elements as numbers of the compute type.
#pragma once

#include "core/cpu/tree/leaves.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// to[i] = x[i * stride], as a number of the compute type.
template <class Number>
using Read = void (*)(const char* x, int64_t stride, int64_t count, Number* to);

// f(T()) of the type that elements are read as; null for those that are not read as such numbers.
template <class Number, class Function, class F>
Function with_read_type(const Problem& p, F f) {
  if constexpr (std::is_same<Number, int64_t>::value) {
    if (p.tested) return with_tested_type(p.in, [f](auto t) -> Function { return f(t); });
  }
  return with_type(p.in, [f](auto t) -> Function {
    using T = decltype(t);
    constexpr bool is_narrow = std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value || is_float8_type<T>;
    constexpr bool fits_float = is_narrow || std::is_same<T, float>::value;
    constexpr bool is_wide_integer = std::is_integral<T>::value && sizeof(T) == 8;
    constexpr bool is_read = std::is_same<Number, float>::value    ? fits_float
                             : std::is_same<Number, Int128>::value ? is_wide_integer
                                                                   : true;
    if constexpr (is_read) return f(t);
    return nullptr;
  });
}

template <class Number>
Read<Number> reader_of(const Problem& p) {
  return with_read_type<Number, Read<Number>>(p, [](auto t) { return convert<decltype(t), Number>; });
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

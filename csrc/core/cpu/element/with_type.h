// From the type of elements, known at run time, to a C++ type.
#pragma once

#include "core/cpu/element/elements.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Calls f(T()) for the storage type of t.
template <class F>
TR_HD auto with_type(DType t, F f) {
  switch (t) {
    case DType::Bool:
      return f(Bool());
    case DType::UInt8:
      return f(uint8_t());
    case DType::Int8:
      return f(int8_t());
    case DType::Int16:
      return f(int16_t());
    case DType::Int32:
      return f(int32_t());
    case DType::Int64:
      return f(int64_t());
    case DType::UInt16:
      return f(uint16_t());
    case DType::UInt32:
      return f(uint32_t());
    case DType::UInt64:
      return f(uint64_t());
    case DType::Float16:
      return f(Half());
    case DType::BFloat16:
      return f(BFloat16());
    case DType::Float32:
      return f(float());
    case DType::Float8E4M3FN:
      return f(Float8E4M3FN());
    case DType::Float8E5M2:
      return f(Float8E5M2());
    default:
      return f(double());
  }
}

// Calls f(T()) for how elements of this type are tested for zero.
template <class F>
TR_HD auto with_tested_type(DType t, F f) {
  switch (size_of(t)) {
    case 1:
      return is_floating(t) ? f(NonZeroFloat<uint8_t>()) : f(Bool());
    case 2:
      return is_floating(t) ? f(NonZeroFloat<uint16_t>()) : f(NonZero<uint16_t>());
    case 4:
      return is_floating(t) ? f(NonZeroFloat<uint32_t>()) : f(NonZero<uint32_t>());
    default:
      return is_floating(t) ? f(NonZeroFloat<uint64_t>()) : f(NonZero<uint64_t>());
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

// The format of an element: its bits as an integer with a sign, how many the fraction has, the bias of the exponent.
#pragma once

#include <cstdint>

#include "core/contract/types.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class T>
struct Ieee;
template <>
struct Ieee<Half> {
  using Bits = int16_t;
  static constexpr int kFraction = 10, kBias = 15;
};
template <>
struct Ieee<BFloat16> {
  using Bits = int16_t;
  static constexpr int kFraction = 7, kBias = 127;
};
template <>
struct Ieee<float> {
  using Bits = int32_t;
  static constexpr int kFraction = 23, kBias = 127;
};
template <>
struct Ieee<double> {
  using Bits = int64_t;
  static constexpr int kFraction = 52, kBias = 1023;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

// Products as a number and a power of two, by the fields of floating numbers: cheaper than order::Scaled where many are
// multiplied, as only some have to be brought back into range.
#pragma once

#include <limits>

#include "core/contract/operators.h"
#include "core/cuda/lane/device.cuh"

namespace torch_reduce::cuda {

template <class T>
struct NormalProduct {
  using Exponent = typename order::ScaleOf<T>::Exponent;
  using Bits = std::make_unsigned_t<Exponent>;
  static constexpr int kFraction = std::numeric_limits<T>::digits - 1, kBias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr Bits kField = 2 * kBias + 1;
  static constexpr int kUnit = kBias - 1;  // the logarithm of ScaleOf<T>::kUnit

  T significand;
  Exponent power;

  // x * 2^power with a significand whose magnitude is in [1, 2); x is kept if it is subnormal, infinite or NaN.
  static __device__ __forceinline__ NormalProduct of(T x, Exponent power = 0) {
    const Bits bits = bit_cast<Bits>(x), field = bits >> kFraction & kField;
    const bool is_number = field - 1 < kField - 1;
    const Bits significand = (bits & ~(kField << kFraction)) | static_cast<Bits>(kBias) << kFraction;
    return {is_number ? bit_cast<T>(significand) : x, power + (is_number ? static_cast<Exponent>(field) - kBias : 0)};
  }

  // Of any significand.
  __device__ __forceinline__ order::Scaled<T> scaled() const {
    const Exponent units = power / kUnit;
    return order::multiply(order::scaled(significand), order::scaled(power_of_two(power - units * kUnit, T()), units));
  }

  // The same of a normal number times less than 2^(2^12 units), by the field of its exponent alone.
  __device__ __forceinline__ order::Scaled<T> scaled_of_normal() const {
    const Bits bits = bit_cast<Bits>(significand);
    const Exponent log = static_cast<Exponent>(bits >> kFraction & kField) - kBias + power;
    constexpr Exponent kUnits = 1 << 12;  // so that what is divided is not negative: the quotient is to be rounded down
    const Exponent units = static_cast<Exponent>(static_cast<Bits>(log + kUnit / 2 + kUnits * kUnit) / kUnit) - kUnits;
    return {bit_cast<T>(bits + (static_cast<Bits>(power - units * kUnit) << kFraction)), units};
  }
};

}  // namespace torch_reduce::cuda

// Element types: what the core can read and write, named without PyTorch.
#pragma once

#include <torch_reduce/host_device.h>

#include <cstddef>
#include <cstdint>

#define TR_UNROLL TORCH_REDUCE_UNROLL
#define TR_HD TORCH_REDUCE_HD
// The same, but called on a GPU, as it is long and rarely runs.
#if defined(__CUDACC__)
#define TR_DEVICE_CALL __host__ __device__ __noinline__
#else
#define TR_DEVICE_CALL TR_HD
#endif
// What one of the libraries calls in another, beside its public functions: libtorch_reduce.so in
// libtorch_reduce_core.so (csrc/api/exports.map), and the Python module in libtorch_reduce.so (csrc/torch/exports.map).
#define TR_SHARED __attribute__((visibility("default")))

namespace torch_reduce {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Float8E4M3FN,  // elements alone, and extremes of them
  Float8E5M2,
  Int128,   // a compute type alone: of sums of 64-bit integers that are rounded in the end
  Endless,  // a compute type alone: float64 whose exponent has no end (endless.h)
};
__extension__ typedef __int128 Int128;

// Storage only; arithmetic happens in the compute type.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};
// Elements alone: they have fp32's compute type. Without infinities; the type that has them, as IEEE 754.
struct Float8E4M3FN {
  uint8_t bits;
  static constexpr int kMantissaBits = 3, kBias = 7;
};
struct Float8E5M2 {
  uint8_t bits;
  static constexpr int kMantissaBits = 2, kBias = 15;
};
// Either of these two: which one is known at run time.
struct AnyFloat8 {
  uint8_t bits;
};
// An element of which it only matters whether it is zero, -0 too: its sign bit is cleared.
template <class Bits>
struct NonZero {
  Bits bits;
};
template <class T>
constexpr bool is_tested = false;
template <class Bits>
constexpr bool is_tested<NonZero<Bits>> = true;

constexpr TR_HD size_t size_of(DType t) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
      return 1;
    case DType::Int16:
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
      return 2;
    case DType::Int32:
    case DType::UInt32:
    case DType::Float32:
      return 4;
    case DType::Int128:
      return 16;
    default:
      return 8;
  }
}

constexpr TR_HD bool is_floating(DType t) {
  return (DType::Float16 <= t && t <= DType::Float8E5M2) || t == DType::Endless;
}
constexpr TR_HD bool is_float8(DType t) { return t == DType::Float8E4M3FN || t == DType::Float8E5M2; }

inline const char* name(DType t) {
  constexpr const char* names[] = {"bool",    "uint8",         "int8",        "int16",   "int32",          "int64",
                                   "uint16",  "uint32",        "uint64",      "float16", "bfloat16",       "float32",
                                   "float64", "float8_e4m3fn", "float8_e5m2", "int128",  "endless float64"};
  return names[static_cast<int>(t)];
}

template <class T>
struct dtype_of;
#define TR_DTYPE_OF(T, D)                    \
  template <>                                \
  struct dtype_of<T> {                       \
    static constexpr DType value = DType::D; \
  };
TR_DTYPE_OF(Bool, Bool)
TR_DTYPE_OF(uint8_t, UInt8)
TR_DTYPE_OF(int8_t, Int8)
TR_DTYPE_OF(int16_t, Int16)
TR_DTYPE_OF(int32_t, Int32)
TR_DTYPE_OF(int64_t, Int64)
TR_DTYPE_OF(uint16_t, UInt16)
TR_DTYPE_OF(uint32_t, UInt32)
TR_DTYPE_OF(uint64_t, UInt64)
TR_DTYPE_OF(Half, Float16)
TR_DTYPE_OF(BFloat16, BFloat16)
TR_DTYPE_OF(float, Float32)
TR_DTYPE_OF(double, Float64)
TR_DTYPE_OF(Float8E4M3FN, Float8E4M3FN)
TR_DTYPE_OF(Float8E5M2, Float8E5M2)
TR_DTYPE_OF(AnyFloat8, Float8E4M3FN)
TR_DTYPE_OF(Int128, Int128)
TR_DTYPE_OF(NonZero<uint16_t>, UInt16)
TR_DTYPE_OF(NonZero<uint32_t>, UInt32)
TR_DTYPE_OF(NonZero<uint64_t>, UInt64)
#undef TR_DTYPE_OF

}  // namespace torch_reduce

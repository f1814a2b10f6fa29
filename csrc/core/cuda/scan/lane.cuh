// What a lane takes of a warp's places at a time: eight neighbours, converted on the way in and rounded on the way out.
// Types are found out at run time, once for all eight.
#pragma once

#include "core/cuda/scan/places.cuh"

namespace torch_reduce::cuda {

constexpr int kNeighbours = 1 << tuning::kLogScanLane;

// From place `first` on, a multiple of eight: their bytes, which are neighbours within each granule.
template <class T>
__device__ __forceinline__ void read_eight(char* region, int first, T (&to)[kNeighbours]) {
  if constexpr (sizeof(T) == 1) {
    __builtin_memcpy(to, __builtin_assume_aligned(place(region, first), 8), sizeof(to));
  } else {
#pragma unroll
    for (int g = 0; g < static_cast<int>(sizeof(to)) / kGranule; ++g) {
      const uint4 v =
          *reinterpret_cast<const uint4*>(granule(region, first * static_cast<int>(sizeof(T)) / kGranule + g));
      __builtin_memcpy(reinterpret_cast<char*>(to) + g * kGranule, &v, kGranule);
    }
  }
}
template <class T>
__device__ __forceinline__ void write_eight(char* region, int first, const T (&from)[kNeighbours]) {
  if constexpr (sizeof(T) == 1) {
    uint2 v;
    __builtin_memcpy(&v, from, sizeof(v));
    *reinterpret_cast<uint2*>(place(region, first)) = v;
  } else {
#pragma unroll
    for (int g = 0; g < static_cast<int>(sizeof(from)) / kGranule; ++g) {
      uint4 v;
      __builtin_memcpy(&v, reinterpret_cast<const char*>(from) + g * kGranule, kGranule);
      *reinterpret_cast<uint4*>(granule(region, first * static_cast<int>(sizeof(T)) / kGranule + g)) = v;
    }
  }
}

template <class O, class T, class Number>
__device__ __forceinline__ void widen_eight(char* region, int first, const Source& source, Number (&to)[kNeighbours]) {
  T x[kNeighbours];
  read_eight(region, first, x);
#pragma unroll
  for (int e = 0; e < kNeighbours; ++e) to[e] = widen<Number>(mirrored<O>(x[e], source.mirror));
}
template <class O, class Bits, class Number>
__device__ __forceinline__ void convert_eight(char* region, int first, const Source& source,
                                              Number (&to)[kNeighbours]) {
  Bits x[kNeighbours];
  read_eight(region, first, x);
#pragma unroll
  for (int e = 0; e < kNeighbours; ++e) to[e] = read_any<O, Number>(x[e], source);
}

// As numbers of the compute type.
template <class O, class Number>
__device__ __forceinline__ void read_numbers(char* region, int first, const Source& source, Number (&to)[kNeighbours]) {
  if constexpr (std::is_same<Number, float>::value) {  // computed in for no other types
    if (source.type == DType::Float8E5M2) return widen_eight<O, Float8E5M2>(region, first, source, to);
    if (source.type == DType::Float8E4M3FN) return widen_eight<O, Float8E4M3FN>(region, first, source, to);
    if (source.type == DType::Float32) return widen_eight<O, float>(region, first, source, to);
    if (source.type == DType::BFloat16) return widen_eight<O, BFloat16>(region, first, source, to);
    widen_eight<O, Half>(region, first, source, to);
  } else {
    if (source.size == 8) return convert_eight<O, uint64_t>(region, first, source, to);
    if (source.size == 4) return convert_eight<O, uint32_t>(region, first, source, to);
    if (source.size == 2) return convert_eight<O, uint16_t>(region, first, source, to);
    convert_eight<O, uint8_t>(region, first, source, to);
  }
}

template <class Out, class Value>
__device__ __forceinline__ void narrow_eight(char* region, int first, const Value (&v)[kNeighbours]) {
  Out y[kNeighbours];
#pragma unroll
  for (int e = 0; e < kNeighbours; ++e) y[e] = Narrow<Out, Value>::from(v[e]);
  write_eight(region, first, y);
}

// One rounding, from finished values to the output's type.
template <class O, class Value>
__device__ __forceinline__ void write_numbers(char* region, int first, DType type, Value (&v)[kNeighbours]) {
  if (type == DType::Float32) return narrow_eight<float>(region, first, v);
  if (type == DType::BFloat16) return narrow_eight<BFloat16>(region, first, v);
  if (type == DType::Float16) return narrow_eight<Half>(region, first, v);
  if constexpr (O::selects && std::is_same<Value, float>::value) {
    if (type == DType::Float8E4M3FN) return narrow_eight<Float8E4M3FN>(region, first, v);
    if (type == DType::Float8E5M2) return narrow_eight<Float8E5M2>(region, first, v);
  }
  if constexpr (!std::is_same<Value, float>::value) {
    if (type == DType::Float64) return narrow_eight<double>(region, first, v);
  }
  if constexpr (std::is_integral<Value>::value) {
    if constexpr (mirrors<O>) {
      if (type == DType::UInt64) {  // as an int64 of the same order
#pragma unroll
        for (Value& x : v) x ^= static_cast<Value>(kSignBit);
      }
    }
    if (type == DType::Bool) return narrow_eight<Bool>(region, first, v);
    switch (size_of(type)) {
      case 1:
        return narrow_eight<int8_t>(region, first, v);
      case 2:
        return narrow_eight<int16_t>(region, first, v);
      case 4:
        return narrow_eight<int32_t>(region, first, v);
      default:
        return narrow_eight<int64_t>(region, first, v);
    }
  }
}

}  // namespace torch_reduce::cuda

// What a warp combines of a chunk in place of accumulators of several words, where that takes fewer instructions: the
// bits are the same. Each of the structs has
//   Value, identity(), combine(a, b)   what is combined, and how
//   lift(x, index)                     of an element
//   across(v)                          of a lane's node, so that those of 32 lanes may be combined
//   total(v)                           the accumulator of all of the chunk
//   left(accumulator)                  of a subtree before the chunk; called once for each, as finish() may count them
//   finish(v, n, mirror)               the result of n elements, before it is rounded
#pragma once

#include "core/contract/ops.h"
#include "core/contract/plain.h"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/meeting.cuh"
#include "core/cuda/lane/normal_product.cuh"

namespace torch_reduce::cuda {

// Accumulators.
template <class O, class Acc>
struct InChunk {
  using Value = Acc;
  static __device__ __forceinline__ Acc identity() { return O::template identity<Acc>(); }
  static __device__ __forceinline__ Acc combine(const Acc& a, const Acc& b) { return O::combine(a, b); }
  static __device__ __forceinline__ Acc lift(number_of<Acc> x, int64_t index) {
    if constexpr (O::needs_index) {
      return O::lift(x, index);
    } else {
      return O::lift(x);
    }
  }
  static __device__ __forceinline__ Acc across(const Acc& v) { return v; }
  static __device__ __forceinline__ Acc total(const Acc& v) { return v; }

  __device__ __forceinline__ Acc left(const Acc& v) { return v; }
  __device__ __forceinline__ auto finish(const Acc& v, int64_t n, uint64_t mirror) const {
    return cuda::finish<O>(v, n, Ending::Own, mirror);
  }
};

// A product as a significand and a power of two. An element's significand has a magnitude in [1, 2), or is 0, infinite
// or NaN. Products are not brought back there: those of a lane's 32 elements stay below 2^32, across() begins again
// below 2, and so prefixes of a chunk stay below 2^63. Each subtree before the chunk doubles that, and there are at
// most 37.
template <class O, class T>
struct InChunk<O, order::Scaled<T>> {
  using Scaled = order::Scaled<T>;
  using Value = NormalProduct<T>;
  using Exponent = typename Scaled::Exponent;
  static constexpr int kUnit = Value::kBias - 1;  // the logarithm of ScaleOf<T>::kUnit

  static __device__ __forceinline__ Value identity() { return {1, 0}; }
  static __device__ __forceinline__ Value combine(const Value& a, const Value& b) {
    return {order::multiply(a.significand, b.significand), a.power + b.power};
  }
  static __device__ __forceinline__ Value lift(T x, int64_t) {
    constexpr int kUp = 60;                                                        // enough for any of T
    const bool is_small = order::magnitude_of(x) < std::numeric_limits<T>::min();  // zero among them
    return Value::of(is_small ? order::multiply(x, static_cast<T>(int64_t{1} << kUp)) : x, is_small ? -kUp : 0);
  }
  static __device__ __forceinline__ Value across(const Value& v) { return Value::of(v.significand, v.power); }
  static __device__ __forceinline__ Scaled total(const Value& v) { return v.scaled(); }

  __device__ __forceinline__ Value left(const Scaled& v) {
    const Value significand = Value::of(v.significand);
    power_ += significand.power + static_cast<int64_t>(v.exponent) * kUnit;
    return {significand.significand, 0};
  }
  __device__ __forceinline__ double finish(const Value& v, int64_t, uint64_t) const {
    // Beyond, nothing of a chunk brings a product back into the range of doubles.
    constexpr int64_t kEnd = int64_t{1} << 28;
    const int64_t left = power_ < -kEnd ? -kEnd : power_ > kEnd ? kEnd : power_;
    const Exponent power = v.power + static_cast<Exponent>(left);
    if constexpr (std::is_same<T, float>::value) {
      constexpr Exponent kMost = 600;  // of results that are not 0 or infinite in fp32
      const int64_t near = power < -kMost ? -kMost : power > kMost ? kMost : power;
      return static_cast<double>(v.significand) * power_of_two(near, double());
    } else {
      return order::value_of(Value{v.significand, power}.scaled());
    }
  }

 private:
  int64_t power_ = 0;  // of what stands before; unlike multiply()'s, with no end that 2^31 elements reach
};

// Sums of exponentials with reference 0, and 0 for those of -infinity.
template <class O, class T>
struct NearInChunk {
  using Acc = Exponentials<T>;
  using Value = T;
  static __device__ __forceinline__ T identity() { return 0; }
  static __device__ __forceinline__ T combine(T a, T b) { return a + b; }
  static __device__ __forceinline__ bool may(T x) {
    return order::magnitude_of(x) <= O::kNear || x == -std::numeric_limits<T>::infinity();
  }
  static __device__ __forceinline__ T lift(T x, int64_t) { return PlainExponentials<T>::positive(exp_of_near(x)); }
  static __device__ __forceinline__ T across(T v) { return v; }
  static __device__ __forceinline__ Acc total(T v) { return Meeting<Acc>::template accumulator<O>(v); }

  __device__ __forceinline__ T left(const Acc& v) { return Meeting<Acc>::value(v); }
  __device__ __forceinline__ auto finish(T v, int64_t n, uint64_t mirror) const {
    return cuda::finish<O>(Meeting<Acc>::template accumulator<O>(v), n, Ending::Own, mirror);
  }
};

}  // namespace torch_reduce::cuda

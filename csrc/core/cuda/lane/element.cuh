// Single elements in and results out, with the types that are known at run time only.
#pragma once

#include "core/contract/ops.h"
#include "core/cuda/lane/device.cuh"
#include "core/plan/gpu/kernels.h"
#include "core/problem/problem.h"

namespace torch_reduce::cuda {

// Where a kernel reads from. `type` and `as_bool` matter for Any alone, `mirror` for Max.
struct Source {
  const void* data;
  DType type;
  bool as_bool;
  uint64_t mirror;  // bits that are flipped in 8 bytes of elements
};

// Where the input begins, as a number to which places in bytes are added.
__device__ __forceinline__ int64_t address_of(const Source& s) { return reinterpret_cast<int64_t>(s.data); }

constexpr uint64_t kSignBit = uint64_t{1} << 63;

// A mirrored operator has no kernels: the smallest is the largest of the mirrored elements, mirrored. To mirror is to
// flip bits: the sign of floating elements, all bits of integers.
template <class O>
constexpr bool mirrors = O::selects;

inline uint64_t mirror_of(DType type) {
  switch (type) {
    case DType::Float16:
    case DType::BFloat16:
      return 0x8000800080008000;
    case DType::Float32:
      return 0x8000000080000000;
    case DType::Float64:
      return kSignBit;
    default:
      return ~uint64_t{0};
  }
}

// Of the elements, and of the result in the compute type.
// Those of types without kernels of their own are mirrored when they are of the compute type.
inline uint64_t mirror_of_elements(const Problem& p) {
  if (!traits_of(p.op).mirrored) return 0;
  return mirror_of(kernels::are_typed(kernels::types_of(p)) ? p.in : p.compute);
}
inline uint64_t mirror_of_result(const Problem& p) {
  if (!traits_of(p.op).mirrored) return 0;
  const bool unsigned_bytes = p.in == DType::Bool || p.in == DType::UInt8;  // that have become positive integers
  return unsigned_bytes ? 0xff : mirror_of(p.compute);
}

template <class O, class T>
__device__ __forceinline__ T mirrored(const T& x, uint64_t mirror) {
  if constexpr (!mirrors<O>) {
    return x;
  } else if constexpr (sizeof(T) == 16) {
    const auto words = bit_cast<uint4>(x);
    const auto low = static_cast<uint32_t>(mirror), high = static_cast<uint32_t>(mirror >> 32);
    return bit_cast<T>(uint4{words.x ^ low, words.y ^ high, words.z ^ low, words.w ^ high});
  } else {
    using Bits = std::conditional_t<
        sizeof(T) == 8, uint64_t,
        std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
    return bit_cast<T>(static_cast<Bits>(bit_cast<Bits>(x) ^ static_cast<Bits>(mirror)));
  }
}

template <class Acc, class T>
__device__ __forceinline__ Acc widen_or_test(const void* at, bool as_bool) {
  const T x = *static_cast<const T*>(at);
  if (as_bool) return static_cast<Acc>(widen<double>(x) != 0);
  return widen<Acc>(x);
}

template <class O, class Acc>  // the compute type
__device__ __noinline__ Acc load_any(const Source& s, const void* at) {
  switch (s.type) {
    case DType::Bool:
      return widen_or_test<Acc, Bool>(at, s.as_bool);
    case DType::UInt8:
      return widen_or_test<Acc, uint8_t>(at, s.as_bool);
    case DType::Int8:
      return widen_or_test<Acc, int8_t>(at, s.as_bool);
    case DType::Int16:
      return widen_or_test<Acc, int16_t>(at, s.as_bool);
    case DType::Int32:
      return widen_or_test<Acc, int32_t>(at, s.as_bool);
    case DType::Int64:
      return widen_or_test<Acc, int64_t>(at, s.as_bool);
    case DType::UInt16:
      return widen_or_test<Acc, uint16_t>(at, s.as_bool);
    case DType::UInt32:
      return widen_or_test<Acc, uint32_t>(at, s.as_bool);
    case DType::UInt64:
      if constexpr (mirrors<O> && std::is_same<Acc, int64_t>::value) {  // so it keeps its order in an int64
        return static_cast<int64_t>(*static_cast<const uint64_t*>(at) ^ kSignBit);
      }
      return widen_or_test<Acc, uint64_t>(at, s.as_bool);
    case DType::Float16:
      return widen_or_test<Acc, Half>(at, s.as_bool);
    case DType::BFloat16:
      return widen_or_test<Acc, BFloat16>(at, s.as_bool);
    case DType::Float32:
      return widen_or_test<Acc, float>(at, s.as_bool);
    default:
      return widen_or_test<Acc, double>(at, s.as_bool);
  }
}

template <class O>
constexpr bool numbers_elements = O::needs_index || O::masks_missing;

// Two neighbours, which one load takes, as they lie at a multiple of both.
template <class In>
struct alignas(2 * sizeof(In)) PairOf {
  In e[2];
};
template <class T>
constexpr bool is_pair = false;
template <class In>
constexpr bool is_pair<PairOf<In>> = true;

template <class In, class O>
__device__ __forceinline__ In identity_element() {
  if constexpr (is_pair<In>) {
    const auto one = identity_element<std::decay_t<decltype(In{}.e[0])>, O>();
    return {one, one};
  } else if constexpr (std::is_same<In, Half>::value || std::is_same<In, BFloat16>::value) {
    return Narrow<In, float>::from(O::template identity<float>());
  } else if constexpr (std::is_same<In, Bool>::value) {
    return {static_cast<uint8_t>(O::template identity<uint8_t>() != 0)};
  } else {
    return O::template identity<In>();
  }
}

// An element as it lies in memory. It is converted when all of a thread's loads are under way, and where it may not
// exist it is loaded by one predicated instruction. A conversion or a branch beside each load, which compilers make of
// a condition, waits for one after the other.
template <class O, class In, class Acc>
struct Element {
  std::conditional_t<sizeof(In) == 8, uint64_t, uint32_t> bits;

  __device__ __forceinline__ void load(const Source& s, int64_t address) { load_if(true, s, address); }
  __device__ __forceinline__ void none(const Source& s) {
    bits = bit_cast<Bits>(mirrored<O>(identity_element<In, O>(), s.mirror));
  }
  __device__ __forceinline__ void load_if(bool exists, const Source& s, int64_t address) {
    none(s);
#if defined(__CUDA_ARCH__)
    const int wanted = exists;
    if constexpr (sizeof(In) == 8) {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.b64 %0, [%1];}"
                   : "+l"(bits)
                   : "l"(address), "r"(wanted));
    } else if constexpr (sizeof(In) == 4) {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.b32 %0, [%1];}"
                   : "+r"(bits)
                   : "l"(address), "r"(wanted));
    } else if constexpr (sizeof(In) == 2) {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u16 %0, [%1];}"
                   : "+r"(bits)
                   : "l"(address), "r"(wanted));
    } else {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u8 %0, [%1];}"
                   : "+r"(bits)
                   : "l"(address), "r"(wanted));
    }
#else
    if (exists) bits = bit_cast<Bits>(*reinterpret_cast<const In*>(address));
#endif
  }
  // As what is combined, in the accumulator's type or a narrower one: number `index` of the n elements of its output.
  template <class To, class How = O>
  __device__ __forceinline__ To value(const Source& s, int64_t index, int64_t n) const {
    return lifted<How>(widen<word_of<To>>(mirrored<O>(raw(), s.mirror)), index, n);
  }
  template <class To>
  __device__ __forceinline__ To value(const Source& s) const {
    static_assert(!numbers_elements<O>, "such kernels do not number the elements");
    return value<To>(s, 0, 0);
  }
  __device__ __forceinline__ In raw() const { return bit_cast<In>(static_cast<Bits>(bits)); }

 private:
  using Bits = std::conditional_t<
      sizeof(In) == 8, uint64_t,
      std::conditional_t<sizeof(In) == 4, uint32_t, std::conditional_t<sizeof(In) == 2, uint16_t, uint8_t>>>;
};

template <class O, class Acc>
struct Element<O, Any, Acc> {
  using Word = word_of<Acc>;
  Word of_memory;

  __device__ __forceinline__ void load(const Source& s, int64_t address) {
    of_memory = mirrored<O>(load_any<O, Word>(s, reinterpret_cast<const void*>(address)), s.mirror);
  }
  __device__ __forceinline__ void none(const Source&) { of_memory = O::template identity<Word>(); }
  __device__ __forceinline__ void load_if(bool exists, const Source& s, int64_t address) {
    none(s);
    if (exists) load(s, address);
  }
  template <class To, class How = O>
  __device__ __forceinline__ To value(const Source&, int64_t index, int64_t n) const {
    return lifted<How>(static_cast<word_of<To>>(of_memory), index, n);
  }
  template <class To>
  __device__ __forceinline__ To value(const Source& s) const {
    static_assert(!numbers_elements<O>, "such kernels do not number the elements");
    return value<To>(s, 0, 0);
  }
};

// The type in which results of elements of a type mostly leave: integers as int64.
template <class O, class Acc>
using Finished = decltype(O::finish(std::declval<Acc>(), int64_t{}));
template <class O, class In, class Acc>
using LikelyOut = std::conditional_t<
    O::gives_int64, int64_t,
    std::conditional_t<
        std::is_same<Acc, Int128>::value, double,
        std::conditional_t<std::is_same<In, Any>::value || std::is_integral<Acc>::value, word_of<Acc>, In>>>;

template <class Out, class Value>
__device__ __forceinline__ void put(void* out, int64_t index, Value v) {
  static_cast<Out*>(out)[index] = Narrow<Out, Value>::from(v);
}

// One rounding, from a finished value to the output's type.
template <class O, class Value>
__device__ __forceinline__ void store(void* out, int64_t index, DType type, Value v) {
  switch (type) {
    case DType::Float16:
      return put<Half>(out, index, v);
    case DType::BFloat16:
      return put<BFloat16>(out, index, v);
    case DType::Float32:
      return put<float>(out, index, v);
    default:
      break;
  }
  if constexpr (!std::is_same<Value, float>::value) {  // fp32 is the compute type of no wider result
    if (type == DType::Float64) return put<double>(out, index, v);
  }
  if constexpr (std::is_integral<Value>::value) {
    switch (type) {
      case DType::Bool:
        return put<Bool>(out, index, v);
      case DType::UInt8:
      case DType::Int8:
        return put<int8_t>(out, index, v);
      case DType::Int16:
      case DType::UInt16:
        return put<int16_t>(out, index, v);
      case DType::Int32:
      case DType::UInt32:
        return put<int32_t>(out, index, v);
      case DType::UInt64:
        return put<int64_t>(out, index, mirrors<O> ? static_cast<int64_t>(v ^ kSignBit) : v);
      default:
        return put<int64_t>(out, index, v);
    }
  }
}

}  // namespace torch_reduce::cuda

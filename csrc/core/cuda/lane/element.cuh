// Single elements in and results out.
#pragma once

#include "core/contract/ops.h"
#include "core/cuda/lane/device.cuh"
#include "core/plan/gpu/kernels.h"
#include "core/problem/problem.h"

namespace torch_reduce::cuda {

// Where a kernel reads from. What is beside `data` and `mirror` is for Any, and `type` for AnyFloat8 too.
struct Source {
  const void* data;
  DType type;
  int size = 0;            // of an element, in bytes
  uint64_t mirror = 0;     // for 8 bytes of elements: of operators that select, the bits to flip; of NonZero elements
                           // and of magnitudes, those that count. Of operators that have an order, a double: that
  uint64_t identity = 0;   // bits of an element that changes nothing, before they are flipped
  bool is_tested = false;  // elements are whether they are not zero: the bits but for the first `untested_bits` of 64
  bool is_signed = false, is_converted = false;  // integers; floating values, where they become integers
  int spare_bits = 0, untested_bits = 0;
};

static_assert(kWarp == tuning::kWarp, "what plans count with");

// What an instantiation for elements of type In is made for; Any finds out the type at run time.
template <class O, class In, class Acc>
constexpr kernels::Types types_of_instance() {
  if constexpr (std::is_same<In, Any>::value) {
    return {traits_of<O>(), dtype_of<number_of<Acc>>::value, dtype_of<number_of<Acc>>::value, false, /*untyped=*/true};
  } else {
    return {traits_of<O>(), dtype_of<In>::value, dtype_of<number_of<Acc>>::value, is_tested<In>, false};
  }
}

constexpr uint64_t kSignBit = uint64_t{1} << 63;

// A mirrored operator has no kernels: the smallest is the largest of the mirrored elements, mirrored. To mirror is to
// flip bits: the sign of floating elements, all bits of integers. Bytes without a sign have the kernels of those with
// one: to flip their highest bit keeps their order.
template <class O>
constexpr bool mirrors = O::selects;

constexpr bool is_unsigned_byte(DType type) { return type == DType::Bool || type == DType::UInt8; }

// The signs of eight bytes of floating elements.
inline uint64_t signs_of(DType type) {
  if (type == DType::Float64) return kSignBit;
  if (is_float8(type)) return 0x8080808080808080;
  return type == DType::Float32 ? 0x8000000080000000 : 0x8000800080008000;
}
// Of eight bytes of elements.
inline uint64_t mirror_of(const TraitsOf& op, DType type) {
  if (op.may_take_magnitudes && is_floating(type)) return op.takes_magnitudes ? ~signs_of(type) : ~uint64_t{0};
  if (op.selects && is_unsigned_byte(type)) return op.mirrored ? 0x7f7f7f7f7f7f7f7f : 0x8080808080808080;
  if (!op.mirrored) return 0;
  return is_floating(type) ? signs_of(type) : ~uint64_t{0};
}
// All bits but the sign of floating elements, of eight bytes of them.
inline uint64_t magnitude_of(DType type) { return is_floating(type) ? ~signs_of(type) : ~uint64_t{0}; }
// Of the result in the compute type.
inline uint64_t mirror_of_result(const Problem& p) {
  const TraitsOf op = traits_of(p.op);
  if (!is_unsigned_byte(p.in)) return mirror_of(op, p.compute);
  return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(mirror_of(op, p.in))));
}

// An element's bits, and back.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
template <class T>
TR_HD BitsOf<T> bits_of(T x) {
  return bit_cast<BitsOf<T>>(x);
}
template <class T>
TR_HD T bits_as(uint64_t bits) {
  return bit_cast<T>(static_cast<BitsOf<T>>(bits));
}

// change(bits, mirror) for all of 16 bytes, or for an element.
template <class T, class Change>
__device__ __forceinline__ T changed(const T& x, uint64_t mirror, Change change) {
  if constexpr (sizeof(T) == 16) {
    const auto words = bit_cast<uint4>(x);
    const auto low = static_cast<uint32_t>(mirror), high = static_cast<uint32_t>(mirror >> 32);
    return bit_cast<T>(uint4{change(words.x, low), change(words.y, high), change(words.z, low), change(words.w, high)});
  } else {
    return bits_as<T>(change(bits_of(x), static_cast<BitsOf<T>>(mirror)));
  }
}

template <class O, class T>
__device__ __forceinline__ T mirrored(const T& x, uint64_t mirror) {
  if constexpr (!mirrors<O>) {
    return x;
  } else {
    return changed(x, mirror, [](auto bits, auto flipped) { return bits ^ flipped; });
  }
}

// Elements that are tested, or whose sign may not count, without what does not count.
template <class T>
__device__ __forceinline__ T tested_bits(const T& x, const Source& source) {
  return changed(x, source.mirror, [](auto bits, auto tested) { return bits & tested; });
}
// Elements of type In as the operator's kernels take them.
template <class O, class In, class T>
__device__ __forceinline__ T adapted(const T& x, const Source& source) {
  if constexpr (is_tested<In> || (O::may_take_magnitudes && is_floating(dtype_of<In>::value))) {
    return tested_bits(x, source);
  } else {
    return mirrored<O>(x, source.mirror);
  }
}

// An element, number `index` of the n of its output, as what is combined.
template <class To, class How, class Number>
__device__ __forceinline__ To lifted_from(const Source& source, How& how, Number x, int64_t index, int64_t n) {
  if constexpr (How::has_order) {
    return lifted(how, Raised<To>{x, bit_cast<double>(source.mirror)}, index, n);
  } else {
    return lifted(how, x, index, n);
  }
}

template <class O>
constexpr bool numbers_elements = O::needs_index || O::masks_missing || O::role == Role::NormalFactor;

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
TR_HD In identity_element() {
  if constexpr (is_pair<In>) {
    const auto one = identity_element<std::decay_t<decltype(In{}.e[0])>, O>();
    return {one, one};
  } else if constexpr (std::is_same<In, Half>::value || std::is_same<In, BFloat16>::value || is_float8_type<In>) {
    return Narrow<In, float>::from(O::template identity<float>());
  } else if constexpr (std::is_same<In, Bool>::value) {
    return {static_cast<uint8_t>(O::template identity<uint8_t>() != 0)};
  } else if constexpr (is_tested<In>) {
    return {0};
  } else {
    return O::template identity<In>();
  }
}

// Loads bits of the type Bits where they are wanted, by one predicated instruction. A branch beside each load, which
// compilers make of a condition, waits for one after the other.
template <class Bits, class Register>
__device__ __forceinline__ void load_bits(bool wanted, int64_t address, Register& to) {
#if defined(__CUDA_ARCH__)
  const int p = wanted;
  static_assert(sizeof(Register) == 8 || sizeof(Bits) < 8, "a register holds them");
  if constexpr (sizeof(Bits) == 8) {
    asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.b64 %0, [%1];}" : "+l"(to) : "l"(address), "r"(p));
  } else if constexpr (sizeof(Register) == 8) {
    if constexpr (sizeof(Bits) == 4) {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u32 %0, [%1];}"
                   : "+l"(to)
                   : "l"(address), "r"(p));
    } else if constexpr (sizeof(Bits) == 2) {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u16 %0, [%1];}"
                   : "+l"(to)
                   : "l"(address), "r"(p));
    } else {
      asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u8 %0, [%1];}" : "+l"(to) : "l"(address), "r"(p));
    }
  } else if constexpr (sizeof(Bits) == 4) {
    asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.b32 %0, [%1];}" : "+r"(to) : "l"(address), "r"(p));
  } else if constexpr (sizeof(Bits) == 2) {
    asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u16 %0, [%1];}" : "+r"(to) : "l"(address), "r"(p));
  } else {
    asm volatile("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.u8 %0, [%1];}" : "+r"(to) : "l"(address), "r"(p));
  }
#else
  if (wanted) to = *reinterpret_cast<const Bits*>(address);
#endif
}

// An element as it lies in memory. It is converted when all of a thread's loads are under way: a conversion beside each
// load waits for one after the other.
template <class O, class In, class Acc>
struct Element {
  std::conditional_t<sizeof(In) == 8, uint64_t, uint32_t> bits;

  __device__ __forceinline__ void load(const Source& s, int64_t address) { load_if(true, s, address); }
  __device__ __forceinline__ void none(const Source& s) {
    bits =
        bits_of(O::may_take_magnitudes ? identity_element<In, O>() : mirrored<O>(identity_element<In, O>(), s.mirror));
  }
  __device__ __forceinline__ void load_if(bool exists, const Source& s, int64_t address) {
    none(s);
    load_bits<BitsOf<In>>(exists, address, bits);
  }
  template <class Number>
  __device__ __forceinline__ Number number(const Source& s) const {
    return widen<Number>(adapted<O, In>(raw(), s));
  }
  // As what is combined, in the accumulator's type or a narrower one: number `index` of the n elements of its output.
  template <class To, class How>
  __device__ __forceinline__ To value(How& how, const Source& s, int64_t index, int64_t n) const {
    static_assert(!O::masks_missing_integers || is_floating(dtype_of<In>::value), "integers are read as any element");
    return lifted_from<To>(s, how, number<number_of<To>>(s), index, n);
  }
  template <class To>
  __device__ __forceinline__ To value(const Source& s) const {
    static_assert(!numbers_elements<O>, "such kernels do not number the elements");
    O op;
    return value<To>(op, s, 0, 0);
  }
  __device__ __forceinline__ In raw() const { return bits_as<In>(bits); }
};

// Of either float8 type.
template <class O, class Acc>
struct Element<O, AnyFloat8, Acc> {
  uint32_t bits;  // of an element that is missing, those of a float whose lower byte is 0

  __device__ __forceinline__ void load(const Source& s, int64_t address) { load_if(true, s, address); }
  __device__ __forceinline__ void none(const Source&) { bits = bit_cast<uint32_t>(O::template identity<float>()); }
  __device__ __forceinline__ void load_if(bool exists, const Source& s, int64_t address) {
    none(s);
    load_bits<uint8_t>(exists, address, bits);
  }
  template <class Number>
  __device__ __forceinline__ Number number(const Source& s) const {
    if (bits > 0xff) return static_cast<Number>(bit_cast<float>(bits));
    const auto byte = static_cast<uint8_t>(bits);
    uint32_t x =
        bit_cast<uint32_t>(s.type == DType::Float8E5M2 ? to_float(Float8E5M2{byte}) : to_float(Float8E4M3FN{byte}));
    const uint32_t sign = (static_cast<uint32_t>(s.mirror) & 0x80u) << 24;
    if constexpr (O::may_take_magnitudes) {
      x &= 0x7fffffffu | sign;
    } else if constexpr (mirrors<O>) {
      x ^= sign;
    }
    return static_cast<Number>(bit_cast<float>(x));
  }
  template <class To, class How>
  __device__ __forceinline__ To value(How& how, const Source& s, int64_t index, int64_t n) const {
    return lifted(how, number<number_of<To>>(s), index, n);
  }
  template <class To>
  __device__ __forceinline__ To value(const Source& s) const {
    static_assert(!numbers_elements<O>, "such kernels do not number the elements");
    O op;
    return value<To>(op, s, 0, 0);
  }
};

// The type in which results of elements of a type mostly leave: integers as int64.
template <class O, class Acc>
using Finished = decltype(O::finish(std::declval<Acc>(), count_of<O>{0}));
template <class O, class In, class Acc>
using LikelyOut = std::conditional_t<
    O::gives == Gives::Int64, int64_t,
    std::conditional_t<std::is_same<Acc, Int128>::value, double,
                       std::conditional_t<std::is_same<In, Any>::value || std::is_same<In, AnyFloat8>::value ||
                                              std::is_integral<Acc>::value,
                                          word_of<Acc>, In>>>;

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
  if constexpr (O::selects && std::is_same<Value, float>::value) {
    if (type == DType::Float8E4M3FN) return put<Float8E4M3FN>(out, index, v);
    if (type == DType::Float8E5M2) return put<Float8E5M2>(out, index, v);
  }
  if constexpr (!std::is_same<Value, float>::value || O::has_two_extremes) {  // fp32 computes no other wider result
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

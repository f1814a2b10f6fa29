// An element whose type is known at run time only: for the rare combinations of types.
#pragma once

#include "core/cuda/lane/element.cuh"

namespace torch_reduce::cuda {

// Calls f with an element of the type.
template <class F>
TR_HD auto with_element(DType type, F f) {
  switch (type) {
    case DType::Bool:
      return f(Bool{});
    case DType::UInt8:
      return f(uint8_t{});
    case DType::Int8:
      return f(int8_t{});
    case DType::Int16:
      return f(int16_t{});
    case DType::UInt16:
      return f(uint16_t{});
    case DType::Int32:
      return f(int32_t{});
    case DType::UInt32:
      return f(uint32_t{});
    case DType::Int64:
      return f(int64_t{});
    case DType::UInt64:
      return f(uint64_t{});
    case DType::Float16:
      return f(Half{});
    case DType::BFloat16:
      return f(BFloat16{});
    case DType::Float32:
      return f(float{});
    case DType::Float8E4M3FN:
      return f(Float8E4M3FN{});
    case DType::Float8E5M2:
      return f(Float8E5M2{});
    default:
      return f(double{});
  }
}

// The type by which an operator's kernels read elements of a type (element.cuh: unsigned bytes).
template <class O, class T>
using ReadAs = std::conditional_t<mirrors<O> && is_unsigned_byte(dtype_of<T>::value), int8_t, T>;

// Bits of an element that is missing, where its type does not have what changes nothing.
constexpr uint64_t kNoElement = uint64_t{1} << 63;
template <class O, class In>
uint64_t identity_bits() {
  const In element = identity_element<In, O>();
  if constexpr (is_float8_type<In> && !mirrors<O>) {
    const float identity = O::template identity<float>();
    if (identity == identity && to_float(element) != identity) return kNoElement;
  }
  return bits_of(element);
}

// Where a problem's elements are, with what Any needs to know of their type.
template <class O>
Source source_of(const Problem& p, const void* data) {
  Source s{data, p.in};
  s.size = static_cast<int>(size_of(p.in));
  s.mirror = O::has_order ? bit_cast<uint64_t>(p.correction)
             : p.tested   ? magnitude_of(p.in)
                          : mirror_of(traits_of(p.op), p.in);
  const uint64_t identity =
      with_element(p.in, [](auto e) -> uint64_t { return identity_bits<O, ReadAs<O, decltype(e)>>(); });
  const bool is_flipped = O::selects && !p.tested && !(O::may_take_magnitudes && is_floating(p.in));
  s.identity = is_flipped ? identity ^ s.mirror : identity;
  // Where bools have an index, those that are true are equal, whatever their bytes.
  s.is_tested = p.tested || (p.in == DType::Bool && (O::needs_index || !O::selects));
  s.is_signed = with_element(p.in, [](auto e) { return std::is_signed<ReadAs<O, decltype(e)>>::value; });
  s.is_converted = is_floating(p.in) && !p.tested;
  s.spare_bits = 64 - 8 * s.size;
  s.untested_bits = s.spare_bits + (is_floating(p.in) ? 1 : 0);
  return s;
}

// The element with the bits in the compute type. Not inlined: a thread has tens.
template <class O, class Word>
__device__ __noinline__ Word convert(uint64_t bits, DType type) {
  return with_element(type, [&](auto e) {
    if constexpr (is_float8_type<decltype(e)>) {
      if (bits == kNoElement) return O::template identity<Word>();
    }
    return widen<Word>(bits_as<decltype(e)>(bits));
  });
}

// The likely conversions are a few instructions without a branch.
template <class O, class Word>
__device__ __forceinline__ Word read_any(uint64_t bits, const Source& s) {
  if constexpr (std::is_floating_point<Word>::value) {
    if (s.is_tested) return static_cast<Word>(bits << s.untested_bits != 0);
    if constexpr (O::may_take_magnitudes) {
      bits &= s.mirror;
    } else if constexpr (mirrors<O>) {
      bits ^= s.mirror;
    }
    if (s.type == DType::Float64) return static_cast<Word>(bits_as<double>(bits));
    return s.type == DType::Float32 ? static_cast<Word>(bits_as<float>(bits)) : convert<O, Word>(bits, s.type);
  } else {
    if (s.is_converted) return convert<O, Word>(bits, s.type);
    if (s.is_tested) bits = bits << s.untested_bits != 0;
    if constexpr (mirrors<O>) {
      bits ^= s.mirror;
      if (s.type == DType::UInt64) bits ^= kSignBit;  // which keeps their order in an int64
    }
    bits <<= s.spare_bits;
    return s.is_signed ? Word(static_cast<int64_t>(bits) >> s.spare_bits) : Word(bits >> s.spare_bits);
  }
}

template <class O, class Acc>
struct Element<O, Any, Acc> {
  uint64_t bits;

  __device__ __forceinline__ void load(const Source& s, int64_t address) { load_if(true, s, address); }
  __device__ __forceinline__ void none(const Source& s) { bits = s.identity; }
  __device__ __forceinline__ void load_if(bool exists, const Source& s, int64_t address) {
    none(s);
    load_bits<uint8_t>(exists && s.size == 1, address, bits);
    load_bits<uint16_t>(exists && s.size == 2, address, bits);
    load_bits<uint32_t>(exists && s.size == 4, address, bits);
    load_bits<uint64_t>(exists && s.size == 8, address, bits);
  }
  template <class Number>
  __device__ __forceinline__ Number number(const Source& s) const {
    return static_cast<Number>(read_any<O, word_of<Acc>>(bits, s));
  }
  template <class To, class How>
  __device__ __forceinline__ To value(How& how, const Source& s, int64_t index, int64_t n) const {
    if constexpr (O::masks_missing_integers) {
      if (index >= n) return how.template identity<To>();
    }
    return lifted_from<To>(s, how, number<word_of<To>>(s), index, n);
  }
  template <class To>
  __device__ __forceinline__ To value(const Source& s) const {
    static_assert(!numbers_elements<O>, "such kernels do not number the elements");
    O op;
    return value<To>(op, s, 0, 0);
  }
};

}  // namespace torch_reduce::cuda

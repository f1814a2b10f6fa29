// Writing results: finish, then the one rounding to the output type.
#pragma once

#include "core/cpu/element/elements.h"
#include "core/cpu/element/with_type.h"
#include "core/cpu/simd/vectors.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// out[i * stride] = the result of value[i], which was reduced from n elements. The stride counts elements.
template <class Acc>
using Write = void (*)(const Acc* value, int64_t count, Count n, char* out, int64_t stride);

// A root of any order is long: a function that is called, of this namespace, as each instruction set has its own.
template <class Op, class Acc>
__attribute__((noinline)) auto call_finish(Acc value, count_of<Op> n) {
  return Op::finish(value, n);
}
template <class Op, class Acc>
TR_HD auto finish_of(const Acc& value, count_of<Op> n) {
  if constexpr (Op::has_order) {
    return call_finish<Op>(value, n);
  } else if constexpr (Op::multiplies && is_scaled<Acc>) {  // most are words, of which finish() has nothing to make
    return value.exponent == 0 ? static_cast<double>(value.significand) : Op::finish(value, n);
  } else {
    return Op::finish(value, n);
  }
}

template <class Op, class Out, class Acc>
void write(const Acc* value, int64_t count, Count of, char* bytes, int64_t stride) {
  using Finished = decltype(Op::finish(Acc(), count_of<Op>(0)));
  const count_of<Op> n = count_for<Op>(of);
  Out* out = reinterpret_cast<Out*>(bytes);
  int64_t i = 0;
  if (stride == 1) {
#if defined(__F16C__)
    if constexpr (std::is_same<Out, Half>::value && std::is_same<Finished, float>::value) {
      for (; i + 8 <= count; i += 8) {
        alignas(32) float finished[8];
        for (int j = 0; j < 8; ++j) finished[j] = finish_of<Op>(value[i + j], n);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                         _mm256_cvtps_ph(_mm256_load_ps(finished), _MM_FROUND_TO_NEAREST_INT));
      }
    }
#endif
    for (; i < count; ++i) out[i] = Narrow<Out, Finished>::from(finish_of<Op>(value[i], n));
  } else {
    for (; i < count; ++i) out[i * stride] = Narrow<Out, Finished>::from(finish_of<Op>(value[i], n));
  }
}

// Values of the compute type, not finished.
template <class Acc>
void write_values(const Acc* value, int64_t count, Count, char* bytes, int64_t stride) {
  Acc* out = reinterpret_cast<Acc*>(bytes);
  for (int64_t i = 0; i < count; ++i) out[i * stride] = value[i];
}

// What is combined, as several values of the compute type.
template <class Acc>
void write_words(const Acc* value, int64_t count, Count, char* bytes, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<Acc*>(bytes + i * stride * static_cast<int64_t>(sizeof(word_of<Acc>))) = value[i];
  }
}

// uint64 is reduced as an int64 of the same order.
template <class Op, class Acc>
void write_flipped(const Acc* value, int64_t count, Count n, char* bytes, int64_t stride) {
  uint64_t* out = reinterpret_cast<uint64_t*>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t finished = Op::finish(value[i], count_for<Op>(n));
    out[i * stride] = static_cast<uint64_t>(finished) ^ (uint64_t{1} << 63);
  }
}
// Whether a result is one of those.
template <class Op, class Acc>
constexpr bool may_be_flipped = Op::gives == Gives::Element && std::is_same<word_of<Acc>, int64_t>::value;

template <class Op, class Acc>
Write<Acc> writer_to(DType out) {
  return with_type(out, [](auto t) -> Write<Acc> {
    using Out = decltype(t);
    using Finished = decltype(Op::finish(Acc(), count_of<Op>(0)));
    constexpr bool is_integer = std::is_integral<Out>::value || std::is_same<Out, Bool>::value;
    constexpr bool is_wider =
        std::is_same<Out, double>::value && std::is_same<Finished, float>::value && !Op::has_two_extremes;
    if constexpr (is_float8_type<Out> && !(Op::gives == Gives::Element && std::is_same<Finished, float>::value))
      return nullptr;  // extremes alone have the type of elements
    else if constexpr (is_integer && !std::is_integral<Finished>::value)
      return nullptr;  // those are reduced in int64, and a mean is floating
    else if constexpr (Op::gives == Gives::Int64 && !std::is_same<Out, int64_t>::value)
      return nullptr;
    else if constexpr (is_wider)
      return nullptr;  // reduced in fp64
    else
      return write<Op, Out, Acc>;
  });
}

// The operators whose result is the first, and the second one of Op.
template <class Op>
struct FirstOf : Op {
  template <class Acc>
  static TR_HD auto finish(Acc a, count_of<Op>) {
    return Op::parts(a).first;
  }
};
template <class Op>
struct SecondOf : Op {
  template <class Acc>
  static TR_HD auto finish(Acc a, count_of<Op> count) {
    if constexpr (Op::has_parts) {
      return Op::parts(a).second;
    } else {
      return Op::second(a, count);
    }
  }
};

// Writes second results; null where there are none.
template <class Op, class Acc>
Write<Acc> make_second_writer(const Problem& p) {
  if constexpr (Op::has_second && !(Op::has_parts && is_scalar<Acc>)) {
    if constexpr (may_be_flipped<Op, Acc>) {
      if (p.second != 0 && p.in == DType::UInt64) return write_flipped<SecondOf<Op>, Acc>;
    }
    if (p.second != 0) return writer_to<SecondOf<Op>, Acc>(p.out);
  }
  return nullptr;
}

// Of the operator whose elements `Op`'s kernels combine: its finish, which may be another's than Op's.
template <class Op, class Acc>
Write<Acc> make_writer(const Problem& p) {
  if constexpr (Op::selects && may_be_flipped<Op, Acc>) {
    if (p.in == DType::UInt64) return write_flipped<Op, Acc>;
  }
  if constexpr (Op::has_parts && !is_scalar<Acc>) {
    if (p.second != 0) return writer_to<FirstOf<Op>, Acc>(p.out);
  }
  return with_operator(p.op, [&](auto tag) -> Write<Acc> {
    using Asked = typename decltype(tag)::type;
    if constexpr (std::is_same<kernels_of<Asked>, Op>::value) return writer_to<finish_of_kernels<Asked>, Acc>(p.out);
    return nullptr;
  });
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

// Which loops read a problem's elements.
#pragma once

#include "core/cpu/columns/blocks.h"
#include "core/cpu/element/with_type.h"
#include "core/cpu/transposed/bundle_leaves.h"
#include "core/cpu/transposed/strip_group.h"
#include "core/cpu/tree/chunks.h"
#include "core/cpu/tree/endless.h"
#include "core/cpu/tree/exponentials.h"
#include "core/cpu/tree/in_words.h"
#include "core/cpu/tree/places.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// The number of elements, where none that is missing is read.
constexpr int64_t kAllExist = INT64_MAX;

// Of an operator that has an order, some numbers. A call, as it is long.
template <class Op, class Acc>
__attribute__((noinline)) void lift_all(const word_of<Acc>* x, int64_t count, double order, Acc* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = Op::lift(Raised<Acc>{x[i], order});
}
// The same where what is combined is a number, in its place: by loops that vectorise.
template <class Op>
__attribute__((noinline)) void lift_all(double* x, int64_t count, double order) {
  if (const int size = whole_size(order)) {
    for (int64_t i = 0; i < count; ++i) x[i] = whole_power(order::magnitude_of(x[i]), size);
    if (order > 0) return;
    for (int64_t i = 0; i < count; ++i) x[i] = 1 / x[i];
  } else {
    for (int64_t i = 0; i < count; ++i) x[i] = real_power(order::magnitude_of(x[i]), order);
  }
}

// Converts elements and lifts them.
template <class Op, class T, class Acc>
void convert_and_lift(const char* x, int64_t stride, int64_t count, int64_t index, int64_t step, double order,
                      Acc* __restrict out) {
  Op op;
  if constexpr (is_scalar<Acc>) {
    convert<T, Acc>(x, stride, count, out);
    if constexpr (Op::has_order) {
      lift_all<Op>(out, count, order);
    } else if constexpr (Op::lifts) {
      for (int64_t i = 0; i < count; ++i) out[i] = lifted(op, out[i], index + i * step, kAllExist);
    }
  } else {
    using Number = std::conditional_t<Op::has_order, word_of<Acc>, number_of<Acc>>;
    Number block[kLeaves];
    while (count > 0) {
      const int64_t size = count < kLeaves ? count : kLeaves;
      convert<T, Number>(x, stride, size, block);
      if constexpr (Op::has_order) {
        lift_all<Op>(block, size, order, out);
      } else {
        for (int64_t i = 0; i < size; ++i) out[i] = lifted(op, block[i], index + i * step, kAllExist);
      }
      x += size * stride * static_cast<int64_t>(sizeof(T));
      index += size * step;
      out += size;
      count -= size;
    }
  }
}

template <class Op, class T, class Acc>
Elements<Acc> converting() {
  Elements<Acc> e;
  e.size = sizeof(T);
  e.convert = convert_and_lift<Op, T, Acc>;
  return e;
}

// The sum of some contiguous chunks of 64-bit integers, in out[0]: of their lower and upper halves apart, whose sums 64
// bits hold and vectors add.
template <class T>
void chunks_of_halves(const char* bytes, int64_t chunks, Ahead, Int128* out) {
  const T* x = reinterpret_cast<const T*>(bytes);
  uint64_t low = 0;
  T high = 0;
  for (int64_t i = 0; i < chunks * kChunk; ++i) {
    low += static_cast<uint32_t>(x[i]);
    high += x[i] >> 32;
  }
  for (int s = 0; s < kSubtrees; ++s) out[s] = 0;
  out[0] = static_cast<Int128>(high) * (Int128(1) << 32) + low;
}

// Of two order-free operators, out[subtree] of both: from the caches, of a few chunks after each other.
template <class Op, class T, class Acc>
void chunks_of_extremes(const char* bytes, int64_t count, Ahead ahead, Acc* out) {
  constexpr int64_t kAtOnce = 8;
  using Word = word_of<Acc>;
  for (int64_t c = 0; c < count; c += kAtOnce, bytes += kAtOnce * kChunk * sizeof(T)) {
    Word first[kSubtrees], second[kSubtrees];
    chunks<typename Op::First, T, Word>(bytes, smaller(kAtOnce, count - c), ahead, first);
    chunks<typename Op::Second, T, Word>(bytes, smaller(kAtOnce, count - c), Ahead::Nothing, second);
    for (int s = 0; s < kSubtrees; ++s) {
      const Acc both{first[s], second[s]};
      out[s] = c == 0 ? both : Op::combine(out[s], both);
    }
  }
}

template <class Op, class T, class Acc>
Elements<Acc> finding_places() {
  Elements<Acc> e = converting<Op, T, Acc>();
  e.chunks = [](const char* x, int64_t count, Ahead, Acc* out) { place_of_extreme<Op, T>(x, count * kChunk, out); };
  e.rest = [](const char* x, int64_t n, Ahead, Acc* out) { place_of_extreme<Op, T>(x, n, out); };
  e.identity = identity_bits<Op, T>();
  e.trees = places_of_extremes<Op, T, Acc>;
  return e;
}

// Whether elements are combined as they are: what the loops over strips, bundles and blocks are written for.
template <class Op, class Acc>
constexpr bool takes_elements = !Op::lifts && is_scalar<Acc>;

template <class Op, class T, class Acc>
Elements<Acc> reading() {
  Elements<Acc> e = converting<Op, T, Acc>();
  e.identity = identity_bits<Op, T>();
  e.leaves = leaves<Op, T, Acc>;
  e.trees = trees<Op, T, Acc>;
  e.windows = windows<Op, T, Acc>;
  e.chunks = chunks<Op, T, Acc>;
  e.rest = rest<Op, T, Acc>;
  if constexpr (has_column_blocks<Op, T, Acc> && takes_elements<Op, Acc>) e.blocks = column_blocks<Op, T, Acc>;
  if constexpr (!order_free<Op, Acc> && takes_elements<Op, Acc>) {
    e.strip = strip<Op, T, Acc>;
    e.bundle_leaves = bundle_leaves<Op, T, Acc>;
  }
  return e;
}

// Whether elements of some type are read by loops of their own: plans ask is_read_directly(). Vectors lift elements,
// but the loops where the order is free do not.
template <class Op, class Acc>
constexpr bool are_read =
    order_free<Op, Acc>
        ? !(is_integer<word_of<Acc>> ? Op::lifts_integers : Op::lifts) && !std::is_same<Acc, Int128>::value
        : has_vectors<Op, word_of<Acc>> && (has_vectors<Op, Acc> || std::is_same<Acc, EndlessSum>::value);

// With the loops of Trees in place of its own.
template <class Trees, class Acc>
Elements<Acc> by(Elements<Acc> e) {
  e.leaves = Trees::leaves;
  e.trees = Trees::trees;
  e.windows = Trees::windows;
  e.chunks = Trees::chunks;
  e.rest = Trees::rest;
  return e;
}

template <class Op>
Elements<EndlessSum> reading_endless() {
  return by<EndlessTrees<Op>>(converting<Op, double, EndlessSum>());
}

template <class Op, class T, class Acc>
Elements<Acc> common() {
  if constexpr (Op::has_two_extremes && !Op::takes_magnitudes) {
    Elements<Acc> e = converting<Op, T, Acc>();
    e.chunks = chunks_of_extremes<Op, T, Acc>;
    return e;
  } else if constexpr (Op::needs_index) {
    return finding_places<Op, T, Acc>();
  } else if constexpr (!are_read<Op, Acc>) {
    return converting<Op, T, Acc>();
  } else if constexpr (std::is_same<Acc, EndlessSum>::value) {
    if constexpr (std::is_same<T, double>::value) {
      return by<TreesInWords<Op, T, Acc, reading_endless<Op>>>(reading_endless<Op>());
    }
    return {};
  } else if constexpr (is_scaled<Acc>) {
    return by<TreesInWords<Op, T, Acc, reading<Op, T, Acc>>>(reading<Op, T, Acc>());
  } else if constexpr (is_exponentials<Acc>) {
    return by<TreesOfExponentials<Op, T, Acc, reading<Op, T, Acc>>>(reading<Op, T, Acc>());
  } else {
    return reading<Op, T, Acc>();
  }
}

// A type that is common with this compute type has its own loops, unless elements are lifted; the others are converted
// in blocks.
template <class Op, class T, class Acc>
Elements<Acc> elements_of() {
  using Word = word_of<Acc>;
  constexpr bool is_float =
      std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value || std::is_floating_point<T>::value;
  if constexpr (is_float8_type<T>) {
    constexpr bool keeps_type = Op::selects && !Op::needs_index && sizeof(Word) == 8;  // so it compares in fp32
    if constexpr (is_integer<Word> ? std::is_same<Word, int64_t>::value && !Op::selects : !keeps_type)
      return converting<Op, T, Acc>();
    else
      return {};
  } else if constexpr (is_float && std::is_same<Word, int64_t>::value) {
    if constexpr (Op::selects)
      return {};  // the result keeps the kind of type
    else
      return converting<Op, T, Acc>();
  } else if constexpr (is_float && sizeof(Word) == 8) {
    if constexpr (std::is_same<T, double>::value || Op::has_wider_kernels)
      return common<Op, T, Acc>();
    else if constexpr (Op::selects && !Op::needs_index)
      return {};
    else
      return converting<Op, T, Acc>();
  } else if constexpr (is_float) {
    if constexpr (std::is_same<T, double>::value)
      return {};  // an input is never rounded to fp32
    else
      return common<Op, T, Acc>();
  } else if constexpr (std::is_same<Word, Int128>::value) {
    if constexpr (sizeof(T) == 8) {
      Elements<Acc> e = converting<Op, T, Acc>();
      e.chunks = chunks_of_halves<T>;
      return e;
    } else {
      return {};  // int64 holds their sums
    }
  } else if constexpr (std::is_same<Word, int64_t>::value) {
    return common<Op, T, Acc>();
  } else if constexpr (std::is_same<Word, double>::value && Op::outgrows_integers) {
    return converting<Op, T, Acc>();  // integers with a floating result
  } else {
    return {};
  }
}

// Counts read them directly.
template <class Op, class T, class Acc>
Elements<Acc> tested() {
  if constexpr (Op::adds && !Op::lifts_integers) {
    return reading<Op, T, Acc>();
  } else {
    return converting<Op, T, Acc>();
  }
}

template <class Op, class Acc>
Elements<Acc> elements_lifted_by(const Problem& p) {
  if constexpr (std::is_same<word_of<Acc>, int64_t>::value) {
    if (p.tested) return with_tested_type(p.in, [](auto t) { return tested<Op, decltype(t), Acc>(); });
    if constexpr (Op::selects) {
      if (p.in == DType::UInt64) return common<Op, Flipped, Acc>();
    }
  }
  return with_type(p.in, [](auto t) { return elements_of<Op, decltype(t), Acc>(); });
}

// Those of the operator asked for, whose kernels are Op's.
template <class Op, class Acc>
Elements<Acc> make_elements(const Problem& p) {
  return with_operator(p.op, [&](auto tag) -> Elements<Acc> {
    using Asked = typename decltype(tag)::type;
    constexpr bool computes = !(Asked::is_real && is_integer<word_of<Acc>>);
    if constexpr (std::is_same<kernels_of<Asked>, Op>::value && computes) {
      constexpr bool lifts_itself = Asked::needs_index || Asked::takes_magnitudes;
      Elements<Acc> e = elements_lifted_by<std::conditional_t<lifts_itself, Asked, Op>, Acc>(p);
      e.order = p.correction;
      return e;
    }
    return {};
  });
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

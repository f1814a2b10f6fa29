// Loops that widen elements to the compute type and combine them into leaves; compilers vectorise them.
#pragma once

#include "core/cpu/simd/extremes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Leaves are combined in this type and then widened: where the order is free a narrower type than the compute type
// holds four elements, or kFreeChunks chunks of them, without loss, and gives more lanes to a vector.
template <class Op, class T, class Acc>
struct LeafType {
  static constexpr bool is_small = (std::is_integral<T>::value && sizeof(T) < 4) || is_true_or_false<T>;
  using extreme_type = std::conditional_t<std::is_integral<T>::value, T, Acc>;
  using sum_type = std::conditional_t<Op::adds && is_small, int32_t, Acc>;
  using type = std::conditional_t<Op::selects, extreme_type, sum_type>;
};

// An element as what is combined.
template <class Op, class Acc, class T>
TR_HD Acc leaf_of(T x) {
  return lift<Op>(element<number_of<Acc>>(x));
}

template <class T, class Acc>
void convert(const char* bytes, int64_t stride, int64_t count, Acc* __restrict out) {
  const T* x = reinterpret_cast<const T*>(bytes);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = element<Acc>(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = element<Acc>(x[i * stride]);
  }
}

// Compilers do not find the conversion of halves, so these are widened a vector at a time, and combined from there.
TR_HD void half_to_float(const Half* x, int64_t count, float* __restrict out) {
  constexpr int kWidth = kLanes<float>;
  for (int64_t i = 0; i < count / kWidth; ++i) {
    const Vector<float> v = load<float>(x + i * kWidth);
    __builtin_memcpy(out + i * kWidth, &v, sizeof(v));
  }
  for (int64_t i = count / kWidth * kWidth; i < count; ++i) out[i] = to_float(x[i]);
}

template <>
inline void convert<Half, float>(const char* bytes, int64_t stride, int64_t count, float* __restrict out) {
  const Half* x = reinterpret_cast<const Half*>(bytes);
  if (stride == 1) {
    half_to_float(x, count, out);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = to_float(x[i * stride]);
  }
}

// The tree over `Leaves` neighbouring leaves of `Steps` elements each, at position i of their rows x[leaf][step].
template <class Op, class Leaf, int Steps, int Leaves, class T>
TR_HD Leaf leaf_tree(const T* const* x, int64_t i) {
  if constexpr (Leaves > 1) {
    const Leaf left = leaf_tree<Op, Leaf, Steps, Leaves / 2>(x, i);
    return Op::combine(left, leaf_tree<Op, Leaf, Steps, Leaves / 2>(x + Leaves / 2 * Steps, i));
  } else {
    Leaf v = leaf_of<Op, Leaf>(x[0][i]);
    if constexpr (Steps > 1) v = Op::combine(v, leaf_of<Op, Leaf>(x[1][i]));
    if constexpr (Steps > 2) v = Op::combine(v, leaf_of<Op, Leaf>(x[2][i]));
    if constexpr (Steps > 3) v = Op::combine(v, leaf_of<Op, Leaf>(x[3][i]));
    return v;
  }
}

// The same of neighbouring positions, a lane each.
template <class Op, class Acc, int Steps, int Leaves, class T>
TR_HD Lanes<Op, Acc> lanes_tree(const T* const* x, int64_t i) {
  if constexpr (Leaves > 1) {
    const auto left = lanes_tree<Op, Acc, Steps, Leaves / 2>(x, i);
    return Op::combine(left, lanes_tree<Op, Acc, Steps, Leaves / 2>(x + Leaves / 2 * Steps, i));
  } else {
    const char* step[Steps];
    for (int s = 0; s < Steps; ++s) step[s] = reinterpret_cast<const char*>(x[s] + i);
    return read_steps<Op, T, Acc, Steps, kLanes<Acc>>(step, 0);
  }
}

// With Onto, out[i] is combined with that, else it becomes that.
template <class Op, class Leaf, int Steps, int Leaves, bool Onto, class T, class Acc>
TR_HD void leaf_loop(const T* const* x, int64_t count, Acc* __restrict out) {
  int64_t first = 0;
  if constexpr (has_lanes_of_words<Op, Acc> || (has_vectors<Op, Acc> && Op::lifts)) {  // else compilers find vectors
    for (; first + kLanes<Acc> <= count; first += kLanes<Acc>) {
      store_lanes<Op>(lanes_tree<Op, Acc, Steps, Leaves>(x, first), out + first);
    }
  }
  for (int64_t i = first; i < count; ++i) {
    const Acc v = static_cast<Acc>(leaf_tree<Op, Leaf, Steps, Leaves>(x, i));
    out[i] = Onto ? Op::combine(out[i], v) : v;
  }
}

template <class Op, class T, class Acc, int Steps, int Leaves>
void read_leaves(const char* const* bytes, int64_t count, Acc* out) {
  constexpr int kRows = Steps * Leaves;
  if constexpr (has_extreme_bits<Op, T>) {
    T narrow[kLeaves];
    for (int64_t i = 0; i < count; i += kLeaves) {
      const int64_t size = count - i < kLeaves ? count - i : kLeaves;
      const T* x[kRows];
      for (int r = 0; r < kRows; ++r) x[r] = reinterpret_cast<const T*>(bytes[r]) + i;
      extreme_rows<Op, kRows>(x, size, narrow);
      convert<T, Acc>(reinterpret_cast<const char*>(narrow), 1, size, out + i);
    }
  } else if constexpr (std::is_same<T, Half>::value) {
    float staged[kRows][kLeaves];
    for (int64_t i = 0; i < count; i += kLeaves) {
      const int64_t size = count - i < kLeaves ? count - i : kLeaves;
      const float* x[kRows];
      for (int r = 0; r < kRows; ++r) {
        half_to_float(reinterpret_cast<const Half*>(bytes[r]) + i, size, staged[r]);
        x[r] = staged[r];
      }
      leaf_loop<Op, Acc, Steps, Leaves, false>(x, size, out + i);
    }
  } else {
    const T* x[kRows];
    for (int r = 0; r < kRows; ++r) x[r] = reinterpret_cast<const T*>(bytes[r]);
    leaf_loop<Op, typename LeafType<Op, T, Acc>::type, Steps, Leaves, false>(x, count, out);
  }
}

template <class Op, class T, class Acc>
void leaves(const char* const* x, int steps, int leaves, int64_t count, Acc* out) {
  if constexpr (order_free<Op, Acc>) {  // only the number of rows matters
    leaves *= steps % 3 == 0 ? steps / 3 : steps;
    steps = steps % 3 == 0 ? 3 : 1;
  }
  switch (10 * steps + leaves) {
    case 11:
      return read_leaves<Op, T, Acc, 1, 1>(x, count, out);
    case 12:
      return read_leaves<Op, T, Acc, 1, 2>(x, count, out);
    case 14:
      return read_leaves<Op, T, Acc, 1, 4>(x, count, out);
    case 31:
      return read_leaves<Op, T, Acc, 3, 1>(x, count, out);
  }
  if constexpr (!order_free<Op, Acc>) {
    switch (10 * steps + leaves) {
      case 21:
        return read_leaves<Op, T, Acc, 2, 1>(x, count, out);
      case 22:
        return read_leaves<Op, T, Acc, 2, 2>(x, count, out);
      case 41:
        return read_leaves<Op, T, Acc, 4, 1>(x, count, out);
    }
  }
  if constexpr (kRowsAtOnce<Op> == kMostRowsAtOnce) {
    switch (10 * steps + leaves) {
      case 18:
        return read_leaves<Op, T, Acc, 1, 8>(x, count, out);
      case 32:
        return read_leaves<Op, T, Acc, 3, 2>(x, count, out);
    }
    if constexpr (!order_free<Op, Acc>) {
      if (steps == 2) return read_leaves<Op, T, Acc, 2, 4>(x, count, out);
      return read_leaves<Op, T, Acc, 4, 2>(x, count, out);
    }
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

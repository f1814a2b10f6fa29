// Leaves of bundles of columns (plan/cpu/bundle.h). Neighbouring bundles stand in the lanes of vectors, once the
// elements of a line are taken apart by column.
#pragma once

#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// One level of taking apart, of a, then b: what is at even and at odd places, arranged as halve() arranges its results.
template <class Acc, int Level>
TR_HD void take_apart(Vector<Acc> a, Vector<Acc> b, Vector<Acc>& even, Vector<Acc>& odd) {
  constexpr std::make_integer_sequence<int, kLanes<Acc>> lanes{};
  if constexpr (!has_halves<Acc, 1>) {
    even = every_other<0, 1>(a, b, lanes);
    odd = every_other<1, 1>(a, b, lanes);
  } else if constexpr (Level % kStages<Acc, 1> == kStages<Acc, 1> - 1) {
    even = halves<0>(a, b, lanes);
    odd = halves<1>(a, b, lanes);
  } else {
    even = every_other_within<0, 1>(a, b, lanes);
    odd = every_other_within<1, 1>(a, b, lanes);
  }
}

// out[c * stride] = column c of kLanes bundles of `Columns` columns, which follow one another in v, by the bits of c
// from the lowest on.
template <class Acc, int Columns, int Level>
TR_HD void unbundle(const Vector<Acc>* v, Acc* out, int64_t stride) {
  if constexpr (Columns == 1) {
    const Vector<Acc> column = order<Acc, 1, Level>(v[0]);
    __builtin_memcpy(out, &column, sizeof(column));
  } else {
    Vector<Acc> even[Columns / 2], odd[Columns / 2];
    TR_UNROLL
    for (int i = 0; i < Columns / 2; ++i) take_apart<Acc, Level>(v[2 * i], v[2 * i + 1], even[i], odd[i]);
    unbundle<Acc, Columns / 2, Level + 1>(even, out, 2 * stride);
    unbundle<Acc, Columns / 2, Level + 1>(odd, out + stride, 2 * stride);
  }
}

// The same from memory.
template <class T, class Acc, int Columns>
TR_HD void unbundle_line(const char* x, Acc* out, int64_t stride) {
  if constexpr (kReadLevels<T, Acc, 1> > 0) {
    Vector<Acc> even[Columns / 2], odd[Columns / 2];
    TR_UNROLL
    for (int i = 0; i < Columns / 2; ++i) {
      const EvenOdd pairs = load_pairs(x, 2 * i * kLanes<Acc>);
      even[i] = pairs.even;
      odd[i] = pairs.odd;
    }
    unbundle<Acc, Columns / 2, 0>(even, out, 2 * stride);
    unbundle<Acc, Columns / 2, 0>(odd, out + stride, 2 * stride);
  } else {
    Vector<Acc> v[Columns];
    TR_UNROLL
    for (int i = 0; i < Columns; ++i) v[i] = load_at<T, Acc>(x, i * kLanes<Acc>);
    unbundle<Acc, Columns, 0>(v, out, stride);
  }
}

// A vector of bundles at a time, whose elements stay in registers. A leaf has Steps lines, and all of a chunk's leaves
// are neighbours.
template <class Op, class T, class Acc, int Columns, int Steps>
void few_bundle_lines(const BundleLeaves<Acc>& b) {
  constexpr int kWidth = kLanes<Acc>;
  const int64_t stride = b.stride, step_bytes = b.bundle.leaves * stride, out_stride = b.out_stride, count = b.count;
  for (int64_t bundle = 0; bundle < count; bundle += kWidth) {
    if (bundle > count - kWidth) bundle = count - kWidth;  // some again
    Vector<Acc> tree[Columns * Steps / kSteps];
    TR_UNROLL
    for (int leaf = 0; leaf < kBundleLeaves; ++leaf) {
      const char* line = b.x + leaf * stride + bundle * Columns * static_cast<int64_t>(sizeof(T));
      Acc elements[Columns * Steps * kWidth];  // [column][step][bundle], so in the order
      TR_UNROLL
      for (int step = 0; step < Steps; ++step, line += step_bytes) {
        unbundle_line<T, Acc, Columns>(line, elements + step * kWidth, Steps * kWidth);
      }
      TR_UNROLL
      for (int chunk = 0; chunk < Columns * Steps / kSteps; ++chunk) {
        const Acc* e = elements + chunk * kSteps * kWidth;
        Vector<Acc> v = load<Acc>(e);
        TR_UNROLL
        for (int s = 1; s < kSteps; ++s) v = Op::combine(v, load<Acc>(e + s * kWidth));
        tree[chunk] = leaf > 0 ? Op::combine(tree[chunk], v) : v;
      }
    }
    TR_UNROLL
    for (int chunk = 0; chunk < Columns * Steps / kSteps; ++chunk) {
      __builtin_memcpy(b.out + chunk * out_stride + bundle, &tree[chunk], sizeof(Vector<Acc>));
    }
  }
}

// Any number of lines, each some vectors at a time.
template <class Op, class T, class Acc, int Columns>
void many_bundle_lines(const BundleLeaves<Acc>& b) {
  constexpr int kWidth = kLanes<Acc>;
  alignas(64) Acc elements[kMostBundleElements * kWidth];  // [column][step][bundle]
  const int64_t steps = b.bundle.steps, step_bytes = b.bundle.leaves * b.stride;
  const int64_t at_once = kMostBundleElements / (Columns * steps);
  for (int64_t bundle = 0; bundle < b.count;) {
    int64_t vectors = (b.count - bundle) / kWidth;
    if (vectors == 0) bundle = b.count - kWidth, vectors = 1;  // some again
    if (vectors > at_once) vectors = at_once;
    const int64_t width = vectors * kWidth, between = b.bundle.parts * width;
    for (int64_t leaf = 0; leaf < kBundleLeaves; ++leaf) {
      const char* line = b.x + leaf * b.stride + bundle * Columns * static_cast<int64_t>(sizeof(T));
      for (int64_t step = 0; step < steps; ++step, line += step_bytes) {
        for (int64_t i = 0; i < width; i += kWidth) {
          unbundle_line<T, Acc, Columns>(line + i * Columns * sizeof(T), elements + step * width + i, steps * width);
        }
      }
      const Acc* e = elements;
      Acc* out = b.out + bundle;
      for (int64_t chunk = 0; chunk < b.bundle.chunks; ++chunk, e += (kSteps - 1) * between) {
        for (int64_t part = 0; part < b.bundle.parts; ++part, e += width, out += b.out_stride) {
          for (int64_t i = 0; i < width; i += kWidth) {
            Vector<Acc> v = load<Acc>(e + i);
            TR_UNROLL
            for (int s = 1; s < kSteps; ++s) v = Op::combine(v, load<Acc>(e + s * between + i));
            if (leaf > 0) v = Op::combine(load<Acc>(out + i), v);
            __builtin_memcpy(out + i, &v, sizeof(v));
          }
        }
      }
    }
    bundle += width;
  }
}

template <class Op, class T, class Acc>
void bundle_leaves(const BundleLeaves<Acc>& b) {
  switch (b.bundle.parts == 1 ? b.bundle.steps : 0) {
    case 1:
      return few_bundle_lines<Op, T, Acc, 4, 1>(b);
    case 2:
      return few_bundle_lines<Op, T, Acc, 2, 2>(b);
    case 3:
      return few_bundle_lines<Op, T, Acc, 4, 3>(b);
  }
  switch (b.bundle.columns) {
    case 2:
      return many_bundle_lines<Op, T, Acc, 2>(b);
    case 4:
      return many_bundle_lines<Op, T, Acc, 4>(b);
    case 8:
      return many_bundle_lines<Op, T, Acc, 8>(b);
    case 16:
      return many_bundle_lines<Op, T, Acc, 16>(b);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

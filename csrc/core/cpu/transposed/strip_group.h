// A group of lines of a strip (strips.h), added to leaves: a line has an element of each of the strip's rows, so an
// element goes to its leaf by a vector addition, and no element changes its lane.
#pragma once

#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A group's leaves stay in registers, of which AVX-512 has 32 and the others 16.
constexpr int kMostLinesInGroup = kIsWide ? 8 : 4;

// An integer as wide as a lane.
template <class Acc>
using Place = std::conditional_t<sizeof(Acc) == 4, int32_t, int64_t>;

#if defined(__AVX512F__)
// A condition on every lane.
template <class Acc>
using LaneMask = std::conditional_t<sizeof(Acc) == 4, __mmask16, __mmask8>;

// The lanes whose place has some of these bits.
template <class Acc>
TR_HD LaneMask<Acc> lanes_with(Vector<Place<Acc>> place, Place<Acc> bits) {
  const auto v = reinterpret_cast<__m512i>(place);
  if constexpr (sizeof(Acc) == 4) return _mm512_test_epi32_mask(v, _mm512_set1_epi32(bits));
  if constexpr (sizeof(Acc) == 8) return _mm512_test_epi64_mask(v, _mm512_set1_epi64(bits));
}
TR_HD Vector<float> select(__mmask16 lanes, Vector<float> a, Vector<float> b) {
  return _mm512_mask_mov_ps(b, lanes, a);
}
TR_HD Vector<double> select(__mmask8 lanes, Vector<double> a, Vector<double> b) {
  return _mm512_mask_mov_pd(b, lanes, a);
}
#else
template <class Acc>
using LaneMask = Vector<Place<Acc>>;

template <class Acc>
TR_HD LaneMask<Acc> lanes_with(Vector<Place<Acc>> place, Place<Acc> bits) {
  return (place & bits) != 0;
}
template <class V>
TR_HD V select(decltype(V{} == V{}) lanes, V a, V b) {
  return lanes ? a : b;
}
#endif

template <class Acc>
TR_HD void store(Vector<Acc> v, Acc* x) {
  __builtin_memcpy(x, &v, sizeof(v));
}

// One more element of a leaf, in lanes whose chunk goes on; in the others the leaf begins with it.
template <class Op, class T, class Acc>
TR_HD Vector<Acc> strip_step(const char* x, LaneMask<Acc> goes_on, Vector<Acc> leaf) {
  const Vector<Acc> e = load_at<T, Acc>(x, 0);
  return select(goes_on, Op::combine(leaf, e), e);
}

// Step `Step` of neighbouring leaves, the elements of a stream's lines. The lanes that begin at the next step end here.
template <class Op, class T, class Acc, int Step, int... I>
TR_HD void strip_line(const char* x, int64_t stride, const LaneMask<Acc>* goes_on, Vector<Acc>* leaf,
                      Vector<Acc>* ended, std::integer_sequence<int, I...>) {
  ((leaf[I] = strip_step<Op, T, Acc>(x + I * stride, goes_on[Step], leaf[I])), ...);
  if constexpr (Step == 0) {
    ((ended[I] = leaf[I]), ...);
  } else {
    ((ended[I] = select(goes_on[(Step + 1) % kSteps], ended[I], leaf[I])), ...);
  }
}

template <class Op, class Acc, int Lines>
TR_HD Vector<Acc> strip_tree(const Vector<Acc>* v) {
  if constexpr (Lines == 1) {
    return v[0];
  } else {
    const Vector<Acc> left = strip_tree<Op, Acc, Lines / 2>(v);
    return Op::combine(left, strip_tree<Op, Acc, Lines / 2>(v + Lines / 2));
  }
}

// The next `Steps` elements of each of Lines leaves, from a stream on. Out comes the tree over what ended. Step by
// step, as the hardware's prefetchers follow neighbouring lines best one after the other.
template <class Op, class T, class Acc, int Lines, int Steps>
TR_HD Vector<Acc> strip_steps(const StripGroups<Acc>& g, int64_t group, int64_t stream, const LaneMask<Acc>* goes_on,
                              Vector<Acc>* leaf) {
  constexpr std::make_integer_sequence<int, Lines> lines{};
  const char* const* const line = g.line + stream;
  const int64_t *const stride = g.stride + stream, *const step = g.step + stream;
  Vector<Acc> ended[Lines];
  strip_line<Op, T, Acc, 0>(line[0] + group * step[0], stride[0], goes_on, leaf, ended, lines);
  if constexpr (Steps > 1) strip_line<Op, T, Acc, 1>(line[1] + group * step[1], stride[1], goes_on, leaf, ended, lines);
  if constexpr (Steps > 2) strip_line<Op, T, Acc, 2>(line[2] + group * step[2], stride[2], goes_on, leaf, ended, lines);
  if constexpr (Steps > 3) strip_line<Op, T, Acc, 3>(line[3] + group * step[3], stride[3], goes_on, leaf, ended, lines);
  return strip_tree<Op, Acc, Lines>(ended);
}

template <class Op, class T, class Acc, int Lines>
void strip_groups(const StripGroups<Acc>& g) {
  Vector<Place<Acc>> place;  // of the next line in a lane's chunk, but for multiples of 1024
  __builtin_memcpy(&place, g.phase, sizeof(place));
  place = static_cast<Place<Acc>>(g.slot) - place;
  Acc *leaves = g.leaves + g.slot * kLanes<Acc>, *group_out = g.out;
  for (int64_t i = 0; i < g.groups; ++i) {
    LaneMask<Acc> goes_on[kSteps];
    for (int s = 0; s < kSteps; ++s) {
      goes_on[s] = lanes_with<Acc>(place + static_cast<Place<Acc>>(s * kLeaves), kChunk - kLeaves);
    }
    Vector<Acc> leaf[Lines];
    if (g.begin) {
      for (int l = 0; l < Lines; ++l) leaf[l] = Op::template identity<Acc>() - Vector<Acc>{};
    } else {
      for (int l = 0; l < Lines; ++l) leaf[l] = load<Acc>(leaves + l * kLanes<Acc>);
    }
    const int64_t streams = (g.left - i * Lines + kLeaves - 1) / kLeaves;
    Acc* out = group_out;
    int64_t t = 0;
    for (; t + kSteps <= streams; t += kSteps, out += g.out_stride) {
      store(strip_steps<Op, T, Acc, Lines, kSteps>(g, i, t, goes_on, leaf), out);
    }
    if (streams - t == 1) store(strip_steps<Op, T, Acc, Lines, 1>(g, i, t, goes_on, leaf), out);
    if (streams - t == 2) store(strip_steps<Op, T, Acc, Lines, 2>(g, i, t, goes_on, leaf), out);
    if (streams - t == 3) store(strip_steps<Op, T, Acc, Lines, 3>(g, i, t, goes_on, leaf), out);
    if (!g.end) {
      for (int l = 0; l < Lines; ++l) store(leaf[l], leaves + l * kLanes<Acc>);
    }
    place += static_cast<Place<Acc>>(Lines);
    leaves += Lines * kLanes<Acc>;
    group_out += kLanes<Acc>;
  }
}

template <class Op, class T, class Acc>
void strip(const StripGroups<Acc>& g) {
  if constexpr (kMostLinesInGroup >= 8) {
    if (g.lines == 8) return strip_groups<Op, T, Acc, 8>(g);
  }
  if (g.lines == 4) return strip_groups<Op, T, Acc, 4>(g);
  if (g.lines == 2) return strip_groups<Op, T, Acc, 2>(g);
  strip_groups<Op, T, Acc, 1>(g);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

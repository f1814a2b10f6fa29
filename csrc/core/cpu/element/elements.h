// Reading elements: what depends on the element type. A kernel reaches it through a table, for some thousand elements
// a call, so that kernels are built once per operator and compute type.
#pragma once

#include "core/contract/ops.h"
#include "core/contract/order.h"
#include "core/plan/cpu/bundle.h"
#include "core/plan/tuning/cpu.h"

// A loop that writes at or below where it reads, so that a whole vector may be loaded before any of it is stored.
#if defined(__clang__)
#define TR_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#define TR_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TR_VECTORIZE _Pragma("GCC ivdep")
#define TR_NO_UNROLL _Pragma("GCC unroll 1")
#endif

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

TR_HD int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }  // std:: functions are not for these files

// A chunk gives this many values at once, each the tree of 16 neighbouring leaves.
constexpr int kSubtrees = 16;

// Rows that one loop over columns reads: enough that partial results are seldom touched, few enough for registers.
constexpr int kMostRowsAtOnce = 8;
// Rare operators have half as many loops: what they combine takes longer than touching partial results.
template <class Op>
constexpr int kRowsAtOnce = Op::has_few_kernels ? kMostRowsAtOnce / 2 : kMostRowsAtOnce;
// Rows that one call of Elements::leaves takes: of what has an exponent of its own, more words are combined before they
// get one (tree/in_words.h). It takes trees of as many levels.
constexpr int kMostRowsOfCall = 16;
template <class Op, class Acc>
constexpr int kRowsOfCall = is_scaled<Acc> ? kMostRowsOfCall : kRowsAtOnce<Op>;
constexpr int kReadTreeLevels = 4;
template <class Acc>
constexpr int kTreeLevelsOfWords = is_scaled<Acc> || is_exponentials<Acc> ? 6 : kReadTreeLevels;
// Of indices, which count from the beginnings of rows, and of integers, all that short rows have.
template <class Op, class Acc>
constexpr int kTreeLevels = Op::needs_index || is_integer<Acc> ? 8 : kTreeLevelsOfWords<Acc>;

// How many chunks one call of `chunks` may take at most where the order is free.
constexpr int64_t kFreeChunks = 64;

// Groups of neighbouring lines of a vector of rows (transposed/strips.h), of each of some streams; four streams are a
// period.
template <class Acc>
struct StripGroups {
  const char* const* line;       // [stream]: the first of its lines
  const int64_t *stride, *step;  // [stream]: bytes from a line to the next, and from a group of them
  int lines;                     // of a group: 1, 2, 4 or 8
  int64_t groups;
  int64_t left;     // lines from the first one on, through all streams; of the last period, there may be fewer
  int64_t slot;     // of the first line
  bool begin, end;  // whether these are the rows' first and last periods
  const std::conditional_t<sizeof(Acc) == 4, int32_t, int64_t>* phase;  // [lane]
  Acc* leaves;                                                          // [slot][lane], from one call to the next
  Acc* out;            // [period][group][lane]: the trees over the leaves that end there
  int64_t out_stride;  // from one period to the next
};

// Leaves of bundles that are combined together.
constexpr int kBundleLeaves = 2, kLogBundleLeaves = 1;

// Lines of bundles side by side: those of kBundleLeaves neighbouring leaves.
template <class Acc>
struct BundleLeaves {
  const Bundle& bundle;
  const char* x = nullptr;  // the first leaf's first line
  int64_t stride = 0;       // bytes from a line to the next
  int64_t count = 0;        // bundles, at least a vector of them
  Acc* out = nullptr;       // [subtree][bundle]: the trees over the leaves
  int64_t out_stride = 0;   // from a subtree to the next
};

// Strides count elements. All but `convert` are null for rare types, which are converted first.
template <class Acc>
struct Elements {
  int64_t size = 0;       // bytes
  uint64_t identity = 0;  // an element that changes no result, in the first `size` bytes
  double order = 0;       // of a norm
  // out[i] = x[i * stride], which is element number index + i * step of its output: step is 1 or 0.
  void (*convert)(const char* x, int64_t stride, int64_t count, int64_t index, int64_t step, double order,
                  Acc* out) = nullptr;
  // out[i] = the tree over leaves of which each combines `steps` rows in sequence: row x[leaf * steps + step][i].
  // Leaves are a power of two and have kRowsOfCall<Op, Acc> rows at most.
  void (*leaves)(const char* const* x, int steps, int leaves, int64_t count, Acc* out) = nullptr;
  // out[column] of a chunk of at least one row, `pitch` bytes apart, of adjacent columns that have kFewestBlockBytes in
  // a row at least. Null for integers, and for extremes without ExtremeVectors.
  void (*blocks)(const char* x, int64_t pitch, int64_t rows, int64_t width, Acc* out) = nullptr;
  // out[i] = the tree of the 2^levels elements from x[i << levels] on; levels is at most kTreeLevels<Op, Acc>,
  // and of indices as many as rows have, kFewestOfPlace elements at least.
  void (*trees)(const char* x, int levels, int64_t count, Acc* out) = nullptr;
  // Of a chunk of `group` adjacent columns, whose rows s * 256 .. s * 256 + 255 are at x[s], out[subtree][column].
  // can_group() says which groups there are. Only the first `steps` (2 or 4) of x are read. Lines `prefetch` bytes
  // ahead of x[0] are fetched unless it is 0.
  void (*windows)(const char* const* x, int steps, int64_t group, int64_t prefetch, Acc* out) = nullptr;
  // Of each of `chunks` contiguous chunks of one column, out[subtree]; where the order is free, that of all of them.
  // Indices count from x.
  void (*chunks)(const char* x, int64_t chunks, Ahead ahead, Acc* out) = nullptr;
  // The same of a contiguous chunk of one column that has n < kChunk elements, at least one.
  void (*rest)(const char* x, int64_t n, Ahead ahead, Acc* out) = nullptr;
  // Null where the order is free.
  void (*strip)(const StripGroups<Acc>& groups) = nullptr;
  // Null where strip is.
  void (*bundle_leaves)(const BundleLeaves<Acc>& lines) = nullptr;
};

TR_HD void prefetch_bytes(const char* x, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(x + line);
}

// Element types that only loaders know.

// uint64 as an int64 of the same order.
struct Flipped {
  uint64_t bits;
};

template <class Acc, class T>
TR_HD Acc element(T x) {
  if constexpr (std::is_same<Acc, int64_t>::value && std::is_floating_point<T>::value) {
    // Truncates; the smallest int64 for NaN and beyond the range, as truncate() of numeric.h.
    constexpr T limit = T(9223372036854775808.0);
    const bool inside = x >= -limit && x < limit;
    return inside ? static_cast<int64_t>(x) : INT64_MIN;
  } else {
    return widen<Acc>(x);
  }
}
template <class Acc>
TR_HD Acc element(Half x) {
  return element<Acc>(to_float(x));
}
template <class Acc>
TR_HD Acc element(BFloat16 x) {
  return element<Acc>(to_float(x));
}
template <class Acc>
TR_HD Acc element(Float8E4M3FN x) {
  return element<Acc>(to_float(x));
}
template <class Acc>
TR_HD Acc element(Float8E5M2 x) {
  return element<Acc>(to_float(x));
}
template <class Acc>
TR_HD Acc element(Flipped x) {
  return static_cast<Acc>(x.bits ^ (uint64_t{1} << 63));
}
// A floating element whether it is zero: its bits but the sign.
template <class Bits>
struct NonZeroFloat {
  Bits bits;
};
template <class Acc, class Bits>
TR_HD Acc element(NonZeroFloat<Bits> x) {
  return static_cast<Acc>(static_cast<Bits>(x.bits << 1) != 0);
}
template <class T>
constexpr bool is_true_or_false = is_tested<T> || std::is_same<T, Bool>::value;
template <class Bits>
constexpr bool is_true_or_false<NonZeroFloat<Bits>> = true;

// An element that changes no result.
template <class Op, class T>
TR_HD uint64_t identity_bits() {
  uint64_t bits = 0;
  if constexpr (std::is_same<T, Half>::value) {
    bits = to_half(Op::template identity<float>()).bits;
  } else if constexpr (std::is_same<T, BFloat16>::value) {
    bits = to_bfloat16(Op::template identity<float>()).bits;
  } else if constexpr (is_float8_type<T>) {  // no loop asks for it: its elements are converted first
  } else if constexpr (is_true_or_false<T>) {
    bits = Op::template identity<uint8_t>() != 0;
  } else {
    using Number = std::conditional_t<std::is_same<T, Flipped>::value, uint64_t, T>;
    const Number identity = Op::template identity<Number>();
    __builtin_memcpy(&bits, &identity, sizeof(identity));
  }
  return bits;
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

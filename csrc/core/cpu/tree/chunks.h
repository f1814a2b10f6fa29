// Chunks and trees of contiguous elements. Where the order is fixed they stay in registers (vectors.h); where it is
// free they are combined in whatever way is fastest.
#pragma once

#include "core/cpu/simd/extremes.h"
#include "core/cpu/simd/touch.h"
#include "core/cpu/tree/leaves.h"
#include "core/cpu/tree/rest.h"
#include "core/cpu/tree/rolled.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

constexpr int64_t kMaxGroup = 8;

// Whether windows() takes chunks of `group` columns. Several words do so one column at a time, which keeps the library
// small.
template <class Op, class Acc>
TR_HD bool can_group(int64_t group) {
  if (group > (is_scalar<Acc> ? kMaxGroup : 1)) return false;
  return order_free<Op, Acc> || ((group & (group - 1)) == 0 && group <= kLanes<Acc>);
}

// ---- the order is fixed -----------------------------------------------------------------------------

// Lines `prefetch` bytes ahead of x[0] are fetched unless it is 0, in bursts or Steadily, and in the order of memory,
// not of reading: the four windows usually follow one another. Pointers stay as they were stored: copying them right
// away, as a vector, would wait for those stores.
template <class Op, class T, class Acc, int Steps, int Group, bool Steadily = false>
TR_HD void ordered_chunk(const char* const* x, int64_t prefetch, Acc* __restrict out) {
  constexpr int kVectors = kLeaves / kSubtrees, kWidth = kVectors * kLanes<Acc>;
  constexpr int64_t kAll = Group * kChunk * sizeof(T), kBurst = kAll < kBurstBytes ? kAll : kBurstBytes;
  const char* const ahead = x[0] + prefetch;
  for (int i = 0; i < kLeaves * Group; i += kWidth) {
    const int64_t read = i * Steps * sizeof(T);
    if (!Steadily && prefetch && read % kBurst == 0) prefetch_bytes(ahead + read, kBurst);
    const Lanes<Op, Acc> v = chunk_subtrees<Op, T, Acc, Steps, Group, kVectors, Steadily>(x, i, ahead);
    store_lanes<Op>(v, out + i / kVectors);
  }
}

template <class Op, class T, class Acc, int Steps>
TR_HD void ordered_windows(const char* const* x, int64_t group, int64_t prefetch, Acc* out) {
  if (group == 1) return ordered_chunk<Op, T, Acc, Steps, 1>(x, prefetch, out);
  if constexpr (is_scalar<Acc>) {
    if (group == 2) return ordered_chunk<Op, T, Acc, Steps, 2>(x, prefetch, out);
    if constexpr (kLanes<Acc> >= 4) {
      if (group == 4) return ordered_chunk<Op, T, Acc, Steps, 4>(x, prefetch, out);
    }
    if constexpr (kLanes<Acc> >= 8) {
      if (group == 8) return ordered_chunk<Op, T, Acc, Steps, 8>(x, prefetch, out);
    }
  }
}

template <class Op, class Acc, int Levels, class T>
void ordered_trees(const T* x, int64_t count, Acc* out) {
  int64_t i = 0;
  for (; i + kLanes<Acc> <= count; i += kLanes<Acc>) {
    const Lanes<Op, Acc> v = element_subtrees<Op, Acc, 1 << Levels>(x + (i << Levels));
    store_lanes<Op>(v, out + i);
  }
  for (; i < count; ++i) {
    Acc leaf[1 << Levels];
    for (int l = 0; l < 1 << Levels; ++l) {
      if constexpr (std::is_same<T, Acc>::value && !Op::lifts) {
        leaf[l] = x[(i << Levels) + l];
      } else {
        leaf[l] = leaf_of<Op, Acc>(x[(i << Levels) + l]);
      }
    }
    out[i] = tree<Op>(leaf);
  }
}

// ---- the order is free ------------------------------------------------------------------------------

// The leaves of a chunk of `group` columns, each alone or, with `onto`, combined into what is there.
template <class Op, class T, class Acc>
TR_HD void free_leaves(const T* const* x, bool onto, int64_t group, typename LeafType<Op, T, Acc>::type* leaf) {
  using Leaf = typename LeafType<Op, T, Acc>::type;
  if constexpr (std::is_same<T, Half>::value) {
    float staged[kSteps][kLeaves];
    const float* const y[kSteps] = {staged[0], staged[1], staged[2], staged[3]};
    for (int64_t g = 0; g < group; ++g) {
      for (int s = 0; s < kSteps; ++s) half_to_float(x[s] + g * kLeaves, kLeaves, staged[s]);
      free_leaves<Op, float, Acc>(y, onto, 1, leaf + g * kLeaves);
    }
  } else if (onto) {
    leaf_loop<Op, Leaf, kSteps, 1, true>(x, kLeaves * group, leaf);
  } else {
    leaf_loop<Op, Leaf, kSteps, 1, false>(x, kLeaves * group, leaf);
  }
}

// Halves onto halves, which needs no shuffles.
template <class Op, class Leaf, class Acc>
TR_HD void free_fold(Leaf* leaf, int64_t group, Acc* __restrict out) {
  for (int64_t size = kLeaves / 2 * group; size >= kSubtrees * group; size /= 2) {
    TR_VECTORIZE
    for (int64_t l = 0; l < size; ++l) leaf[l] = Op::combine(leaf[l], leaf[l + size]);
  }
  for (int64_t l = 0; l < kSubtrees * group; ++l) out[l] = static_cast<Acc>(leaf[l]);
}

// Each of `rows` rows of `size` elements becomes Width leaves: vectors onto each other, which needs no shuffles either.
template <class Op, int Width, class Leaf, class T>
TR_HD void free_fold_rows(const T* x, int64_t rows, int64_t size, Leaf* __restrict out) {
  for (int64_t r = 0; r < rows; ++r, x += size, out += Width) {
    Leaf leaf[Width];
    for (int l = 0; l < Width; ++l) leaf[l] = leaf_of<Op, Leaf>(x[l]);
    for (int64_t k = Width; k < size; k += Width) {
      for (int l = 0; l < Width; ++l) leaf[l] = Op::combine(leaf[l], leaf_of<Op, Leaf>(x[k + l]));
    }
    for (int l = 0; l < Width; ++l) out[l] = leaf[l];
  }
}

// As ordered_trees().
template <class Op, class T, class Acc>
void free_trees(const T* x, int levels, int64_t count, Acc* out) {
  using Leaf = typename LeafType<Op, T, Acc>::type;
  constexpr int kWidth = kLanes<Leaf> < kSubtrees ? kLanes<Leaf> : kSubtrees;
  constexpr int64_t kBlock = 512;
  Leaf block[kBlock];
  const int64_t n = int64_t{1} << levels;
  const bool are_folded = is_integer<Acc> && n >= 4 * kWidth;
  const int64_t values = are_folded ? kWidth : n, step = kBlock / values;  // of a tree, and trees
  for (int64_t i = 0, trees; i < count; i += trees, x += trees * n, out += trees) {
    trees = smaller(step, count - i);
    const Leaf* from = block;
    if (are_folded) {
      free_fold_rows<Op, kWidth>(x, trees, n, block);
    } else if constexpr (std::is_same<T, Leaf>::value) {
      from = x;
    } else {
      convert<T, Leaf>(reinterpret_cast<const char*>(x), 1, trees * n, block);
    }
    for (int64_t left = trees * values; left > 2 * trees; from = block) {
      left /= 2;
      halve<Op>(from, left, block);
    }
    if constexpr (std::is_same<Leaf, Acc>::value) {
      halve<Op>(from, trees, out);
    } else {
      halve<Op>(from, trees, block);
      for (int64_t t = 0; t < trees; ++t) out[t] = static_cast<Acc>(block[t]);
    }
  }
}

// ---- what the table holds ---------------------------------------------------------------------------

template <class Op, class T, class Acc>
void trees(const char* bytes, int levels, int64_t count, Acc* out) {
  const T* x = reinterpret_cast<const T*>(bytes);
  if (levels == 0) {
    if constexpr (is_scalar<Acc> && !Op::lifts) {
      convert<T, Acc>(bytes, 1, count, out);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = leaf_of<Op, Acc>(x[i]);
    }
    return;
  }
  if constexpr (order_free<Op, Acc>) {
    free_trees<Op>(x, levels, count, out);
  } else {
    switch (levels) {
      case 1:
        return ordered_trees<Op, Acc, 1>(x, count, out);
      case 2:
        return ordered_trees<Op, Acc, 2>(x, count, out);
      case 3:
        return ordered_trees<Op, Acc, 3>(x, count, out);
      default:
        return ordered_trees<Op, Acc, 4>(x, count, out);
    }
  }
}

template <class Op, class T, class Acc>
void windows(const char* const* bytes, int steps, int64_t group, int64_t prefetch, Acc* out) {
  if constexpr (order_free<Op, Acc>) {
    const T* x[kSteps];
    for (int s = 0; s < kSteps; ++s) x[s] = reinterpret_cast<const T*>(bytes[s]);
    alignas(64) typename LeafType<Op, T, Acc>::type leaf[kLeaves * kMaxGroup];
    free_leaves<Op, T, Acc>(x, false, group, leaf);
    free_fold<Op>(leaf, group, out);
  } else if (steps <= 2) {
    ordered_windows<Op, T, Acc, 2>(bytes, group, prefetch, out);
  } else {
    ordered_windows<Op, T, Acc, 4>(bytes, group, prefetch, out);
  }
}

template <class Op, class T, class Acc>
void chunks(const char* bytes, int64_t count, Ahead ahead, Acc* out) {
  constexpr int64_t kStep = kLeaves * sizeof(T), kBytes = kSteps * kStep;
  constexpr int64_t kTouched = kBytes < kPage ? kPage / kBytes : 1;  // chunks
  constexpr bool is_free = order_free<Op, Acc>, is_extreme = is_free && std::is_floating_point<Acc>::value;
  if constexpr (is_extreme) {
    extremes<Op>(reinterpret_cast<const T*>(bytes), count * kChunk, out);
  } else if constexpr (is_free) {
    alignas(64) typename LeafType<Op, T, Acc>::type leaf[kLeaves];
    for (int64_t c = 0; c < count; ++c, bytes += kBytes) {
      if (c % kTouched == 0) touch(bytes, (count - c < kTouched ? count - c : kTouched) * kBytes, ahead);
      // Not int32, of which 1 to 12 MB take 1.04 times as long with it; int16 0.8.
      if (sizeof(T) <= 2 && ahead == Ahead::Steadily) {
        prefetch_bytes(bytes + fetch_distance(Reading::Chunks, sizeof(T), kIsWide), kBytes);
      }
      const T* x = reinterpret_cast<const T*>(bytes);
      const T* const steps[kSteps] = {x, x + kLeaves, x + 2 * kLeaves, x + 3 * kLeaves};
      free_leaves<Op, T, Acc>(steps, c > 0, 1, leaf);
    }
    free_fold<Op>(leaf, 1, out);
  } else if constexpr (has_rolled<Op, T, Acc>) {
    const T* x = reinterpret_cast<const T*>(bytes);
    for (int64_t c = 0; c < count; ++c) rolled<Op, 0>(x + c * kChunk, kSteps, 0, out + c * kSubtrees);
  } else {
    for (int64_t c = 0; c < count; ++c, bytes += kBytes, out += kSubtrees) {
      const char* const steps[kSteps] = {bytes, bytes + kStep, bytes + 2 * kStep, bytes + 3 * kStep};
      if constexpr (sizeof(T) <= 4) {  // ahead_of_chunks() names it for those alone
        if (ahead == Ahead::Steadily) {
          const int64_t distance = fetch_distance(Reading::Chunks, sizeof(T), kIsWide);
          ordered_chunk<Op, T, Acc, kSteps, 1, true>(steps, distance, out);
          continue;
        }
      }
      if (c % kTouched == 0) touch(bytes, (count - c < kTouched ? count - c : kTouched) * kBytes, ahead);
      ordered_chunk<Op, T, Acc, kSteps, 1>(steps, 0, out);
    }
  }
}

template <class Op, class T, class Acc>
void rest(const char* bytes, int64_t n, Ahead ahead, Acc* out) {
  const T* x = reinterpret_cast<const T*>(bytes);
  if constexpr (order_free<Op, Acc> && std::is_floating_point<Acc>::value) {
    extremes<Op>(x, n, out);
  } else if constexpr (order_free<Op, Acc>) {
    using Leaf = typename LeafType<Op, T, Acc>::type;
    alignas(64) Leaf leaf[kLeaves];
    for (int l = 0; l < kLeaves; ++l) leaf[l] = Op::template identity<Leaf>();
    for (int s = 0; s < kSteps && s * kLeaves < n; ++s) {
      const T* const step = x + s * kLeaves;
      leaf_loop<Op, Leaf, 1, 1, true>(&step, n - s * kLeaves < kLeaves ? n - s * kLeaves : kLeaves, leaf);
    }
    free_fold<Op>(leaf, 1, out);
  } else if constexpr (has_rolled<Op, T, Acc>) {
    rolled_chunk<Op>(x, n, out);
  } else {
    touch(bytes, n * sizeof(T), ahead);
    ordered_rest<Op, T, Acc>(bytes, n, out);
  }
}

// The trees over kSubtrees values each, in place.
template <class Op, class Acc>
void fold_subtrees(Acc* x, int64_t count) {
  if constexpr (has_vectors<Op, Acc> && is_scalar<Acc>) {
    if (count % kLanes<Acc> == 0) return ordered_trees<Lifted<Op>, Acc, 4>(x, count, x);
  }
  fold<Op>(x, kSubtrees, count);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

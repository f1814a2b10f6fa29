// Chunks and trees of contiguous elements. Where the order is fixed they stay in registers (vectors.h); where it is
// free they are combined in whatever way is fastest.
#pragma once

#include "extremes.h"
#include "leaves.h"
#include "rolled.h"
#include "tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

constexpr int64_t kMaxGroup = 8;

// Whether windows() takes chunks of `group` columns.
template <class Op, class Acc>
TR_HD bool can_group(int64_t group) {
  if (group > kMaxGroup) return false;
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
    const Vector<Acc> v = chunk_subtrees<Op, T, Acc, Steps, Group, kVectors, Steadily>(x, i, ahead);
    __builtin_memcpy(out + i / kVectors, &v, sizeof(v));
  }
}

template <class Op, class T, class Acc, int Steps>
TR_HD void ordered_windows(const char* const* x, int64_t group, int64_t prefetch, Acc* out) {
  if (group == 1) return ordered_chunk<Op, T, Acc, Steps, 1>(x, prefetch, out);
  if (group == 2) return ordered_chunk<Op, T, Acc, Steps, 2>(x, prefetch, out);
  if constexpr (kLanes<Acc> >= 4) {
    if (group == 4) return ordered_chunk<Op, T, Acc, Steps, 4>(x, prefetch, out);
  }
  if constexpr (kLanes<Acc> >= 8) {
    if (group == 8) return ordered_chunk<Op, T, Acc, Steps, 8>(x, prefetch, out);
  }
}

template <class Op, class Acc, int Levels, class T>
void ordered_trees(const T* x, int64_t count, Acc* out) {
  int64_t i = 0;
  for (; i + kLanes<Acc> <= count; i += kLanes<Acc>) {
    const Vector<Acc> v = element_subtrees<Op, Acc, 1 << Levels>(x + (i << Levels));
    __builtin_memcpy(out + i, &v, sizeof(v));
  }
  for (; i < count; ++i) {
    Acc leaf[1 << Levels];
    for (int l = 0; l < 1 << Levels; ++l) leaf[l] = element<Acc>(x[(i << Levels) + l]);
    out[i] = tree<Op>(leaf);
  }
}

// The leaves [begin, end) of a chunk, of `Steps` elements each.
template <class Op, class T, class Acc, int Steps>
TR_HD void rest_leaves(const char* const* x, int64_t begin, int64_t end, Acc* leaf) {
  for (int64_t l = begin; l < end; l += kLanes<Acc>) {
    Vector<Acc> v = Op::template identity<Acc>() - Vector<Acc>{};
    if constexpr (Steps > 0) v = leaf_vector<Op, T, Acc, Steps>(x, static_cast<int>(l));
    __builtin_memcpy(leaf + l, &v, sizeof(v));
  }
}

// Where the elements end within a vector of leaves, the longer leaves take their last element one by one. Subtrees
// without an element, if there are as many as come at a time, are not computed.
template <class Op, class T, class Acc, int Steps>
TR_HD void ordered_rest(const char* const* x, int64_t longer, Acc* out) {
  alignas(64) Acc leaf[kLeaves];
  constexpr int kPerSubtree = kLeaves / kSubtrees, kWidth = kPerSubtree * kLanes<Acc>;
  const int64_t edge = longer / kLanes<Acc> * kLanes<Acc>;
  const int64_t end = Steps > 0 ? kLeaves : (longer + kWidth - 1) / kWidth * kWidth;
  rest_leaves<Op, T, Acc, Steps + 1>(x, 0, edge, leaf);
  rest_leaves<Op, T, Acc, Steps>(x, edge, end, leaf);
  const T* last = reinterpret_cast<const T*>(x[Steps]);
  for (int64_t l = edge; l < longer; ++l) leaf[l] = Op::combine(leaf[l], element<Acc>(last[l]));
  for (int64_t l = 0; l < kLeaves; l += kWidth) {
    Vector<Acc> v = Op::template identity<Acc>() - Vector<Acc>{};
    if (l < end) v = element_subtrees<Op, Acc, kPerSubtree>(leaf + l);
    __builtin_memcpy(out + l / kPerSubtree, &v, sizeof(v));
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

// ---- what the table holds ---------------------------------------------------------------------------

template <class Op, class T, class Acc>
void trees(const char* bytes, int levels, int64_t count, Acc* out) {
  const T* x = reinterpret_cast<const T*>(bytes);
  if (levels == 0) return convert<T, Acc>(bytes, 1, count, out);
  if constexpr (order_free<Op, Acc>) {
    constexpr int64_t kBlock = 512;
    Acc block[kBlock];
    const int64_t step = kBlock >> levels;
    for (int64_t i = 0; i < count; i += step) {
      const int64_t trees = count - i < step ? count - i : step;
      const T* y = x + (i << levels);
      const Acc* from = block;
      if constexpr (std::is_same<T, Acc>::value) {
        from = y;
      } else {
        convert<T, Acc>(reinterpret_cast<const char*>(y), 1, trees << levels, block);
      }
      for (int64_t size = trees << levels; size > trees; from = block) {
        size /= 2;
        halve<Op>(from, size, size == trees ? out + i : block);
      }
    }
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
  constexpr bool is_free = order_free<Op, Acc>, is_extreme = is_free && std::is_floating_point<Acc>::value;
  const int64_t prefetch = ahead == Ahead::Nothing ? 0 : fetch_distance(Reading::Chunks, sizeof(T), kIsWide);
  if constexpr (is_extreme) {
    // With AVX-512, fp32 of 4 to 64 MB take 1.1 to 1.3 times as long where some are fetched ahead.
    const bool fetches = kIsWide ? ahead == Ahead::InBursts : ahead != Ahead::Nothing;
    extremes<Op>(reinterpret_cast<const T*>(bytes), count * kChunk,
                 fetches ? fetch_distance(Reading::Extremes, sizeof(T), kIsWide) : 0, out);
  } else if constexpr (is_free) {
    alignas(64) typename LeafType<Op, T, Acc>::type leaf[kLeaves];
    for (int64_t c = 0; c < count; ++c, bytes += kBytes) {
      if (prefetch) prefetch_bytes(bytes + prefetch, kBytes);
      const T* x = reinterpret_cast<const T*>(bytes);
      const T* const steps[kSteps] = {x, x + kLeaves, x + 2 * kLeaves, x + 3 * kLeaves};
      free_leaves<Op, T, Acc>(steps, c > 0, 1, leaf);
    }
    free_fold<Op>(leaf, 1, out);
  } else {
    for (int64_t c = 0; c < count; ++c, bytes += kBytes, out += kSubtrees) {
      const char* const steps[kSteps] = {bytes, bytes + kStep, bytes + 2 * kStep, bytes + 3 * kStep};
      if constexpr (has_rolled<T, Acc>) {
        if (ahead == Ahead::Rolled) {
          rolled_chunk<Op>(reinterpret_cast<const T*>(bytes), out);
          continue;
        }
      }
      if constexpr (sizeof(T) <= 4) {  // ahead_of_chunks() names it for those alone
        if (ahead == Ahead::Steadily) {
          ordered_chunk<Op, T, Acc, kSteps, 1, true>(steps, prefetch, out);
          continue;
        }
      }
      ordered_chunk<Op, T, Acc, kSteps, 1>(steps, prefetch, out);
    }
  }
}

template <class Op, class T, class Acc>
void rest(const char* bytes, int64_t n, Acc* out) {
  const T* x = reinterpret_cast<const T*>(bytes);
  const T* const steps[kSteps] = {x, x + kLeaves, x + 2 * kLeaves, x + 3 * kLeaves};
  if constexpr (order_free<Op, Acc> && std::is_floating_point<Acc>::value) {
    extremes<Op>(x, n, 0, out);
  } else if constexpr (order_free<Op, Acc>) {
    using Leaf = typename LeafType<Op, T, Acc>::type;
    alignas(64) Leaf leaf[kLeaves];
    for (int l = 0; l < kLeaves; ++l) leaf[l] = Op::template identity<Leaf>();
    for (int s = 0; s < kSteps && s * kLeaves < n; ++s) {
      leaf_loop<Op, Leaf, 1, 1, true>(steps + s, n - s * kLeaves < kLeaves ? n - s * kLeaves : kLeaves, leaf);
    }
    free_fold<Op>(leaf, 1, out);
  } else {
    const char* const windows[kSteps] = {bytes, reinterpret_cast<const char*>(steps[1]),
                                         reinterpret_cast<const char*>(steps[2]),
                                         reinterpret_cast<const char*>(steps[3])};
    switch (n / kLeaves) {
      case 0:
        return ordered_rest<Op, T, Acc, 0>(windows, n % kLeaves, out);
      case 1:
        return ordered_rest<Op, T, Acc, 1>(windows, n % kLeaves, out);
      case 2:
        return ordered_rest<Op, T, Acc, 2>(windows, n % kLeaves, out);
      default:
        return ordered_rest<Op, T, Acc, 3>(windows, n % kLeaves, out);
    }
  }
}

// The trees over kSubtrees values each, in place.
template <class Op, class Acc>
void fold_subtrees(Acc* x, int64_t count) {
  if constexpr (!order_free<Op, Acc>) {
    if (count % kLanes<Acc> == 0) return ordered_trees<Op, Acc, 4>(x, count, x);
  }
  fold<Op>(x, kSubtrees, count);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

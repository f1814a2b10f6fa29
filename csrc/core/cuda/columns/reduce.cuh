// What a lane makes of its loads: the trees over the leaves of each column.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/columns/loads.cuh"
#include "core/cuda/lane/first_largest.cuh"
#include "core/cuda/lane/near.cuh"

namespace torch_reduce::cuda {

// Loads as the operator's kernels take them.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ auto adapted_loads(Loads<O, In, Acc, A, Leaves, Steps> loads, const SourceOf<O>& source) {
#pragma unroll
  for (auto& leaf : loads.raw) {
#pragma unroll
    for (auto& v : leaf) v = adapted<O, In>(v, source);
  }
  return loads;
}
// From here on a compiler does not know what it has made of the loads.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ void forget(Loads<O, In, Acc, A, Leaves, Steps>& loads) {
#if defined(__CUDA_ARCH__)
#pragma unroll
  for (auto& leaf : loads.raw) {
#pragma unroll
    for (auto& v : leaf) asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w));
  }
#endif
}

// The trees over the loads' leaves by How, column after column: so few values wait. The first leaf begins with row
// `row`. Adapted: the loads are as the operator's kernels take them.
template <bool Adapted = false, class How, class O, class In, class Acc, Access A, int Leaves, int Steps, class Value,
          int V>
__device__ __forceinline__ void trees_of_columns(How& how, const SourceOf<O>& source,
                                                 const Loads<O, In, Acc, A, Leaves, Steps>& loads, int64_t row,
                                                 int64_t n, Value (&to)[V]) {
#pragma unroll
  for (int e = 0; e < V; ++e) {
    to[e] = tree_of<Leaves>(how, [&](int k) {
      Value leaf;
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        const Numbers numbers{row + k + s * kLeaves, 0, n};
        Value x;
        if constexpr (Adapted) {
          x = lifted(how, widen_element<In, number_of<Value>>(loads.raw[k][s], e), numbers.first, n);
        } else {
          x = lift_element<In, Value>(how, loads.raw[k][s], source, numbers, e);
        }
        leaf = s == 0 ? x : how.combine(leaf, x);
      }
      return leaf;
    });
  }
}

// The largest of each column and its place.
template <class Op, class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ auto largest_of_columns(const SourceOf<O>& source,
                                                   const Loads<O, In, Acc, A, Leaves, Steps>& loads, int64_t row) {
  constexpr int kWidth = column_width<In, A>(), kCount = Leaves * Steps;
  const auto place = [](int i) { return i / Leaves * kLeaves + i % Leaves; };
  const auto vector = [&](int i) { return adapted<O, In>(loads.raw[i % Leaves][i / Leaves], source); };
  Columns<Acc, kWidth> c;
  if constexpr (are_halves<In>) {
#pragma unroll
    for (int e = 0; e < kWidth; e += 2) {
      const auto word = [&](int i) { return word_of_vector(vector(i), e / 2); };
      const auto two = first_largest_of_halves<Op, In, Acc, kCount>(row, word, place);
      c.e[e] = two.low;
      c.e[e + 1] = two.high;
    }
  } else {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      const auto element = [&](int i) { return widen_element<In, Compared<In, Acc>>(vector(i), e); };
      c.e[e] = first_largest<Op, Acc, kCount>(row, element, place);
    }
  }
  return c;
}

// The smallest and the largest of each column, two columns to an instruction.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ auto extremes_of_columns(const SourceOf<O>& source,
                                                    const Loads<O, In, Acc, A, Leaves, Steps>& loads) {
  using Two = Halves<In>;
  Columns<Acc, vector_width<In>> c;
#pragma unroll
  for (int e = 0; e < vector_width<In>; e += 2) {
    uint32_t least, largest;
#pragma unroll
    for (int i = 0; i < Leaves * Steps; ++i) {
      const uint32_t word = word_of_vector(adapted<O, In>(loads.raw[i / Steps][i % Steps], source), e / 2);
      least = i == 0 ? word : Two::smaller(least, word);
      largest = i == 0 ? word : Two::larger(largest, word);
    }
    c.e[e] = {Two::low(least), Two::low(largest)};
    c.e[e + 1] = {Two::high(least), Two::high(largest)};
  }
  return c;
}

// What an operator makes of each column. Elements may combine as they are.
template <class Op, class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ auto reduce_by(const SourceOf<O>& source, const Loads<O, In, Acc, A, Leaves, Steps>& loads,
                                          int64_t row, int64_t n) {
  using C = BatchColumns<O, In, Acc, A>;
  if constexpr (Op::needs_index && loads_vectors(A)) {
    return largest_of_columns<Op>(source, loads, row);
  } else if constexpr (Op::has_two_extremes && !Op::masks_missing && are_halves<In>) {
    return extremes_of_columns(source, loads);
  } else if constexpr (has_plain<Acc> && (A == Access::Contiguous || A == Access::Segmented)) {
    C c;
    auto elements = loads;
    if constexpr (Op::may_take_magnitudes) elements = adapted_loads(loads, source);
    const auto combine = [&](auto& how, auto& to) {
      // Accumulators come second, and rarely. Numbers that waited for them would be registers, so they make their own,
      // which takes magnitudes once more.
      constexpr bool comes_second = std::is_same<std::decay_t<decltype(how)>, Op>::value,
                     is_adapted = Op::may_take_magnitudes && !comes_second;
      if constexpr (Op::may_take_magnitudes && comes_second) forget(elements);
      trees_of_columns<is_adapted>(how, source, elements, row, n, to);
    };
    if constexpr (adds_near<Op>) {
      const Near near = near_of_vectors<Op, In, word_of<Acc>>([&](auto look) {
#pragma unroll
        for (const auto& leaf : loads.raw) {
#pragma unroll
          for (const uint4& v : leaf) look(v);
        }
      });
      combine_exponentials<Op>(near, c.e, combine);
    } else {
      combine_elements<Op>(c.e, combine);
    }
    return c;
  } else {
    using Value = std::decay_t<decltype(C{}.e[0])>;
    constexpr int kValues = sizeof(C) / sizeof(Value);
    Value leaf[Leaves * kValues];
    combine_elements<Op>(leaf, [&](auto& how, auto& to) {
      using How = std::decay_t<decltype(how)>;
      using Combined = std::conditional_t<std::is_same<How, Op>::value, Acc, word_of<Acc>>;
#pragma unroll
      for (int k = 0; k < Leaves; ++k) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) {
          const auto read = loads.template columns_of<Combined>(how, source, k, s, row + k + s * kLeaves, n);
#pragma unroll
          for (int e = 0; e < kValues; ++e) {
            auto& v = to[k * kValues + e];
            v = s == 0 ? read.e[e] : how.combine(v, read.e[e]);
          }
        }
      }
    });
    Counter<ByColumn<O>, C, 2> leaves;  // the loop is unrolled, so its count is a constant
    C c;
#pragma unroll
    for (int k = 0; k < Leaves; ++k) {
#pragma unroll
      for (int e = 0; e < kValues; ++e) c.e[e] = leaf[k * kValues + e];
      c = leaves.push(c);
    }
    return c;
  }
}

// `all` says that every row exists.
template <class O, class In, class Acc, Access A, int Leaves, int Steps>
__device__ __forceinline__ auto reduce(const SourceOf<O>& source, const Loads<O, In, Acc, A, Leaves, Steps>& loads,
                                       int64_t row, int64_t n, bool all) {
  if constexpr (O::masks_missing && loads_vectors(A)) {
    if (all) return reduce_by<OfAll<O>>(source, loads, row, n);
  }
  return reduce_by<O>(source, loads, row, n);
}

}  // namespace torch_reduce::cuda

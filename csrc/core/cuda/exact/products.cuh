// Exact sums of products of rows: of two tensors' elements, or of one's with themselves. What is read is a pair of
// tiles, and what is added up doubles, which hold the products of numbers of up to 32 bits without error. All else is
// as in sums of fp64.
#pragma once

#include "core/cuda/exact/row_tile.cuh"
#include "core/cuda/lane/place.cuh"

namespace torch_reduce::cuda {

// The exponent of a unit of which all numbers in a range are multiples.
template <class In>
__device__ __forceinline__ int unit_of(const Range<In>& range) {
  const int least = static_cast<int>((range.least_less_1 + 1) >> Field<In>::kBits);
  return max(least, 1) - Field<In>::kBias - Field<In>::kFraction;
}

// A range that holds all products of two numbers in these. As the least magnitude it has that of a number whose last
// bit is the product of both units, so that it says of what products are multiples.
template <class In>
__device__ __forceinline__ Range<double> range_of_products(const Range<In>& a, const Range<In>& b) {
  constexpr uint32_t kFraction = (1u << Field<double>::kBits) - 1;
  const auto field = [](int exponent) { return static_cast<uint32_t>(exponent + Field<double>::kBias); };
  Range<double> range;
  if (a.most >= kInfMagnitude<In> || b.most >= kInfMagnitude<In>) {
    range.most = kInfMagnitude<double>;
  } else if (a.most != 0 && b.most != 0) {
    range.most = field(above<In>(a.most) + above<In>(b.most) - 1) << Field<double>::kBits | kFraction;
  } else {
    return range;
  }
  const int unit = unit_of<In>(a) + unit_of<In>(b);
  range.least_less_1 = (field(unit + Field<double>::kFraction) << Field<double>::kBits) - 1;
  return range;
}

// Of fp16 they are fp32 numbers too, of 22 bits and at least 2^-48, and so one conversion less.
template <class In>
__device__ __forceinline__ double product_of(In a, In b) {
  if constexpr (std::is_same<In, Half>::value) {
    return static_cast<double>(to_float(a) * to_float(b));
  } else {
    return widen<double>(a) * widen<double>(b);
  }
}

// A tile of each.
template <class In, class Part>
struct ProductTile {
  static constexpr int V = Part::V;
  static constexpr int kElements = Part::kElements;
  static constexpr bool has_floats = sizeof(In) == 2, are_products_of_floats = has_floats;
  Part own, other;  // of the same places

  __device__ __forceinline__ double element(int load, int e) const {
    return product_of(own.element(load, e), other.element(load, e));
  }
  // Rounded once, where fp32 has the product.
  __device__ __forceinline__ float plus(int load, int e, float other_number) const {
    return __builtin_fmaf(widen<float>(own.element(load, e)), widen<float>(other.element(load, e)), other_number);
  }
  __device__ __forceinline__ Range<double> range() const {
    return range_of_products<In>(own.template range<true>(), other.template range<true>());
  }
  __device__ __forceinline__ ProductTile again() const { return {own.again(), other.again()}; }
};

// As RowSource. Contiguous: the rows of both lie at the same place between two multiples of 16 bytes.
template <class In, Access A>
struct ProductRows {
  using Element = In;
  using Number = double;
  using Place = Two;
  using Kept = TwoKept<Access::Strided>;
  template <int Loads>
  using Part = ProductTile<In, Tile<In, A, Loads>>;
  static constexpr bool has_one_tile = sizeof(In) == 2;
  static constexpr int kTensors = 2;

  RowSource<In, A> own, other;
  int64_t span;
  bool squares;  // there is one tensor

  template <int Loads>
  __device__ __forceinline__ Part<Loads> load(const Two& place, int64_t tile) const {
    Part<Loads> t;
    t.own = own.template load<Loads>(place.own, tile);
    if (squares) {
      t.other = t.own;
    } else {
      t.other = other.template load<Loads>(place.other, tile);
    }
    return t;
  }
};

}  // namespace torch_reduce::cuda

// Exact sums of products in registers. A product of fp64 numbers is two doubles, the rounded one and the rest, of which
// three slices of 50 bits each (slices.cuh) hold all bits where the product is no more than 45 octaves below the top.
// One of others is a double, which two slices hold.
#pragma once

#include "core/contract/exact/wide_products.h"
#include "core/cuda/exact/sums.cuh"

namespace torch_reduce::cuda {

using exact::Products;

constexpr int kProductSlices = 3;

// Where the slices of numbers below 2^(unit + kSliceBits) lie: the first in units of 2^unit, the next ones kSliceBits
// lower each.
struct ProductWindow {
  // A double is a multiple of the last slice's unit, at the lowest.
  static constexpr int kLowestUnit = exact::Double::kLowest + (kProductSlices - 1) * kSliceBits;
  int unit;
  double m[kProductSlices];

  __device__ __forceinline__ static int unit_for(int above) { return max(above - kSliceBits, kLowestUnit); }
  __device__ __forceinline__ explicit ProductWindow(int above) : unit(unit_for(above)) {
#pragma unroll
    for (int i = 0; i < kProductSlices; ++i) m[i] = 1.5 * power_of_two(unit - i * kSliceBits + 52);
  }
};

// What is added in each slice, of up to kMostAdds products, with the bits of M in it. Of a product the first slice
// takes up to 2^50 units, the second one less than 2^49 + 2^47 of its own, and the third one 2^49.
struct ProductSlices {
  int64_t sum[kProductSlices] = {};

  // Adds what `Count` slices from number First on hold of x, and returns the rest.
  template <int First, int Count>
  __device__ __forceinline__ double add(const ProductWindow& w, double x) {
#pragma unroll
    for (int i = First; i < First + Count; ++i) {
      const double t = x + w.m[i];
      sum[i] += __double_as_longlong(t);
      x -= t - w.m[i];
    }
    return x;
  }
  // Takes the bits of M out again, of so many numbers in each slice.
  __device__ __forceinline__ void remove(const ProductWindow& w, const int (&numbers)[kProductSlices]) {
#pragma unroll
    for (int i = 0; i < kProductSlices; ++i) sum[i] -= numbers[i] * __double_as_longlong(w.m[i]);
  }
};

// The rounded product, and the rest where there is one, in the slices that may hold them. Returns the bits that are
// left: but for the sign none, mostly.
template <bool Rests>
__device__ __forceinline__ int64_t add_product(const ProductWindow& w, ProductSlices& slices, double& product,
                                               double& rest) {
  product = slices.add<0, 2>(w, product);
  if constexpr (!Rests) return __double_as_longlong(product);
  rest = slices.add<1, 2>(w, rest);
  return __double_as_longlong(product) | __double_as_longlong(rest);
}
__device__ __forceinline__ bool is_anything(int64_t bits) { return bits << 1 != 0; }
// Takes the bits of M out again that add_product() added, of so many products.
template <bool Rests>
__device__ __forceinline__ void remove_products(const ProductWindow& w, ProductSlices& slices, int products) {
  slices.remove(w, {products, Rests ? 2 * products : products, Rests ? products : 0});
}

// The sums of some lanes' slices.
struct ProductSum {
  int128 slice[kProductSlices];
  int unit;  // of the first one

  // Writes it, of elements of type In; the divisor is 1. Of 77 bits and more of the first two slices, what is below
  // only decides whether a tie is one, so that it may become their last bit.
  template <class In>
  __device__ __forceinline__ void finish(const ExactSink& s, int64_t place) const {
    constexpr int kRoom = 126 - kSliceBits;
    const int128 below = slice[2] & ((static_cast<int128>(1) << kSliceBits) - 1);
    int128 v = (slice[0] << kSliceBits) + slice[1] + (slice[2] >> kSliceBits);
    int exponent = unit - kSliceBits;
    if (v >> kRoom == v >> 127) {
      v = (v << kSliceBits) + below;
      exponent -= kSliceBits;
    } else if (below != 0) {
      v |= 1;
    }
    finish_value<In>(s, place, v, exponent);
  }
};

// Adds upper * 2^(exponent + kSliceBits) + lower * 2^exponent. Not inlined, as it is rare.
template <int Across>
__device__ __noinline__ void add_two_to_words(int64_t* words, int128 upper, int128 lower, int exponent) {
#pragma unroll 1
  for (int i = 0; i < 2; ++i, upper = lower) {
    const int unit = i == 0 ? exponent + kSliceBits : exponent;
    if constexpr (Across == 1) {
      add_by_warp<Products>(words, upper, unit);
    } else if (threadIdx.x % kWarp < Across) {
      spill<Products>({words, 1}, upper, unit);
    }
    __syncwarp();
  }
}

// The open slices of a warp's lanes, in one window. `Rests`: products are two doubles each, else one. `Across` lanes
// side by side have an output each, and so have those that are as many further on; an output has a superaccumulator for
// what slices do not hold, which goes there in other windows. All lanes call what is here together, each with its
// output's words.
template <bool Rests, int Across>
struct OpenProducts {
  ProductWindow window{0};
  ProductSlices slices;
  int adds = 0;
  bool in_words = false;

  // Products that are two doubles each; both are zero where there is none. `most`: the largest magnitude's upper half,
  // which is zero for zeros alone.
  template <int N>
  __device__ __forceinline__ void add(double (&product)[N], double (&rest)[N], uint32_t most, int64_t* words) {
    most = max_across_warp(static_cast<int>(most));
    if (most == 0) return;
    const int top = above<double>(most);
    if (!fits(top, N)) {
      close(words);
      window = ProductWindow(top + exact::kSlack);
    }
    int64_t left = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) left |= add_product<Rests>(window, slices, product[i], rest[i]);
    adds += N;
#pragma unroll 1
    while (__ballot_sync(kAllLanes, is_anything(left)) != 0) left = add_in_next_window(product, rest, words);
  }

  // Adds what there is to the words.
  __device__ __forceinline__ void close(int64_t* words) {
    if (adds == 0) return;
    add_to_words(sum(), words);
    slices = ProductSlices{};
    adds = 0;
  }

  // Of all lanes that have the output.
  __device__ __forceinline__ ProductSum sum() {
    remove_products<Rests>(window, slices, adds);
    return sum_of(slices, window);
  }

 private:
  __device__ __forceinline__ bool fits(int top, int more) const {
    return adds > 0 && top <= window.unit + kSliceBits &&
           ProductWindow::unit_for(top + exact::kSlack) + exact::kLower >= window.unit &&
           adds + more <= exact::kMostAdds;
  }

  // In one more window, which holds the largest number of all lanes; returns the bits of what is left.
  template <int N>
  __device__ __forceinline__ int64_t add_in_next_window(double (&product)[N], double (&rest)[N], int64_t* words) {
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      most = max(most, magnitude(product[i]));
      if constexpr (Rests) most = max(most, magnitude(rest[i]));
    }
    const ProductWindow w(above<double>(max_across_warp(static_cast<int>(most))));
    ProductSlices some;
    int64_t left = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      product[i] = some.add<0, kProductSlices>(w, product[i]);
      left |= __double_as_longlong(product[i]);
      if constexpr (Rests) {
        rest[i] = some.add<0, kProductSlices>(w, rest[i]);
        left |= __double_as_longlong(rest[i]);
      }
    }
    constexpr int kNumbers = Rests ? 2 * N : N;
    some.remove(w, {kNumbers, kNumbers, kNumbers});
    add_to_words(sum_of(some, w), words);
    return left;
  }

  __device__ __forceinline__ void add_to_words(const ProductSum& s, int64_t* words) {
    add_two_to_words<Across>(words, (s.slice[0] << kSliceBits) + s.slice[1], s.slice[2], s.unit - 2 * kSliceBits);
    in_words = true;
  }

  __device__ __forceinline__ static ProductSum sum_of(const ProductSlices& slices, const ProductWindow& w) {
    ProductSum sum;
#pragma unroll
    for (int i = 0; i < kProductSlices; ++i) {
      if constexpr (Across == 1) {
        sum.slice[i] = sum_across_warp(slices.sum[i]);
      } else {
        sum.slice[i] = slices.sum[i];
#pragma unroll
        for (int mask = Across; mask < kWarp; mask *= 2) sum.slice[i] += exchange(sum.slice[i], mask);
      }
    }
    sum.unit = w.unit;
    return sum;
  }
};

}  // namespace torch_reduce::cuda

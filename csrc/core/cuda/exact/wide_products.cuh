// Exact sums of products of fp64 numbers. A warp has an output, or a unit of one that several warps share. Its lanes
// take turns in the elements, one at a time, and add each product to an expansion, by floating additions alone. What
// that does not hold, and products near the ends of a double's range, go to the warp's superaccumulator in shared
// memory.
#pragma once

#include "core/contract/exact/wide_products.h"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/finish.cuh"
#include "core/cuda/lane/place.cuh"

namespace torch_reduce::cuda {

using Expansion = exact::Expansion<>;
using exact::Products;

struct WideProductsArgs {
  const double *own, *other;
  int64_t n, outputs, units, unit_elements;
  TwoKept<Access::Strided> kept;
  TwoReduced<Access::Strided> reduced;
  ExactSink sink;
  int64_t* partials;  // [output][unit][word], of several units
};

// A product of which an expansion does not take the two doubles.
static __device__ __noinline__ void spill_product(Digits digits, double a, double b) {
  if (exact::is_special(a) || exact::is_special(b)) return spill<Products>(digits, a * b);
  exact::split_product(a, b, [&](int d, int64_t piece) { digits.add_to_word(d, piece); });
}

__device__ __forceinline__ void add_product(double a, double b, Expansion& sum, Digits digits) {
  const double product = a * b;
  if (!exact::is_two_doubles(a, b, product)) return spill_product(digits, a, b);
  const double left = sum.add(product), other_left = sum.add<1>(exact::rest_of(a, b, product));
  if (left != 0) spill<Products>(digits, left);
  if (other_left != 0) spill<Products>(digits, other_left);
}

// The sums of all lanes in the first one's.
__device__ __forceinline__ void add_across_warp(Expansion& sum, Digits digits) {
#pragma unroll 1
  for (int mask = 1; mask < kWarp; mask *= 2) {
#pragma unroll 1
    for (int i = 0; i < Expansion::kTerms; ++i) {
      const double received = __shfl_down_sync(kAllLanes, sum.term[i], mask);
      if (threadIdx.x % (2 * mask) != 0) continue;
      const double left = sum.add(received);
      if (left != 0) spill<Products>(digits, left);
    }
  }
}

// A word of which the upper half has gone to the next one, so that any number of them add up.
__device__ __forceinline__ int64_t with_carry(const int64_t* words, int d) {
  const bool has_next = d < Products::kDigits - 1, has_last = d > 0 && d < Products::kDigits;
  const int64_t own = has_next ? words[d] & exact::kDigitMask : words[d];
  return own + (has_last ? words[d - 1] >> exact::kDigitBits : 0);
}

__global__ void __launch_bounds__(exact::kWideProductsWarps* kWarp)
    exact_wide_products(const __grid_constant__ WideProductsArgs a) {
  __shared__ int64_t words_of_warps[exact::kWideProductsWarps][Products::kWords];
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  a.units > 1 ? allow_next_kernel() : allow_next_kernel_if_small();
  // Warps side by side have neighbouring outputs.
  const int64_t index = static_cast<int64_t>(blockIdx.x) * exact::kWideProductsWarps + warp;
  const int64_t unit = index / a.outputs, output = index - unit * a.outputs;
  if (unit >= a.units) return;
  int64_t* const words = words_of_warps[warp];
  for (int d = lane; d < Products::kWords; d += kWarp) words[d] = 0;
  __syncwarp();

  const Digits digits{words, 1};
  const Two place = a.kept.in(output);
  const int64_t begin = unit * a.unit_elements, end = min(begin + a.unit_elements, a.n);
  Expansion sum;
  wait_for_previous_kernel();
#pragma unroll 1
  for (int64_t first = begin + lane; first < end; first += kWarp * exact::kWideProductsLoads) {
    double x[exact::kWideProductsLoads] = {}, y[exact::kWideProductsLoads] = {};
#pragma unroll
    for (int i = 0; i < exact::kWideProductsLoads; ++i) {
      const int64_t element = first + i * kWarp;
      if (element >= end) continue;
      x[i] = a.own[place.own + a.reduced.own.at(element)];
      y[i] = a.other[place.other + a.reduced.other.at(element)];
    }
#pragma unroll
    for (int i = 0; i < exact::kWideProductsLoads; ++i) add_product(x[i], y[i], sum, digits);
  }
  add_across_warp(sum, digits);
  __syncwarp();
  if (lane == 0) {
    for (const double term : sum.term) spill<Products>(digits, term);
  }
  __syncwarp();
  if (a.units == 1) return finish_by_warp<Products>(a.sink, a.kept.out(output), words);
  int64_t* const to = a.partials + (output * a.units + unit) * Products::kWords;
  for (int d = lane; d < Products::kWords; d += kWarp) to[d] = with_carry(words, d);
}

// An output to a lane.
__global__ void __launch_bounds__(exact::kWideProductsWarps* kWarp)
    exact_few_wide_products(const __grid_constant__ WideProductsArgs a) {
  const int64_t output = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t word[Products::kWords] = {};
  wait_for_previous_kernel();
  allow_next_kernel_if_small();
  if (output >= a.outputs) return;
  const Two place = a.kept.in(output);
#pragma unroll 1
  for (int64_t i = 0; i < a.n; ++i) {
    const double x = a.own[place.own + a.reduced.own.at(i)], y = a.other[place.other + a.reduced.other.at(i)];
    if (exact::is_special(x) || exact::is_special(y)) {
      ++word[Products::kDigits + exact::special_of(x * y)];
    } else {
      exact::split_product(x, y, [&](int d, int64_t piece) { word[d] += piece; });
    }
  }
  const auto bits = exact::round_words<Products>([&](int d) { return word[d]; }, 1, exact::target_of(a.sink.type));
  exact::store_bits(a.sink.out, a.kept.out(output), a.sink.type, bits);
}

// A CTA adds up the units of an output, a warp some of them.
__global__ void __launch_bounds__(exact::kWideProductsFinishWarps* kWarp)
    exact_finish_wide_products(const __grid_constant__ WideProductsArgs a) {
  constexpr int kOfLane = (Products::kWords + kWarp - 1) / kWarp;
  __shared__ int64_t words[Products::kWords];
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  for (int d = threadIdx.x; d < Products::kWords; d += blockDim.x) words[d] = 0;
  __syncthreads();
  wait_for_previous_kernel();
  allow_next_kernel();
  const int64_t* const from = a.partials + blockIdx.x * a.units * Products::kWords;
  int64_t sum[kOfLane] = {};
#pragma unroll 4
  for (int64_t unit = warp; unit < a.units; unit += exact::kWideProductsFinishWarps) {
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int d = lane + i * kWarp;
      if (d < Products::kWords) sum[i] += from[unit * Products::kWords + d];
    }
  }
#pragma unroll
  for (int i = 0; i < kOfLane; ++i) {
    if (sum[i] != 0) Digits{words, 1}.add_to_word(lane + i * kWarp, sum[i]);
  }
  __syncthreads();
  if (warp == 0) finish_by_warp<Products>(a.sink, a.kept.out(blockIdx.x), words);
}

}  // namespace torch_reduce::cuda

// Exact sums of products, read by single elements. A lane has an output, if it is short and they are many. Else a warp
// or a CTA has one, or a few side by side where they are near in memory or short, and its lanes take turns in the
// elements; a CTA may have a unit of them. Products add up in slices in registers. What slices do not hold, and
// products near the ends of a double's range, go to superaccumulators in shared memory, one to a warp and output.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/exact/finish.cuh"
#include "core/cuda/exact/product_slices.cuh"
#include "core/cuda/exact/products.cuh"
#include "core/cuda/lane/place.cuh"

namespace torch_reduce::cuda {

struct ElementProductsArgs {
  const void *own, *other;
  int64_t n, outputs, units, unit_elements;
  bool by_cta;
  TwoKept<Access::Strided> kept;
  TwoReduced<Access::Strided> reduced;
  ExactSink sink;
  int64_t* partials;  // [output][unit][word], of several units
};

// Where an output's elements begin.
template <class In>
struct FactorsOf {
  const In *own, *other;

  __device__ __forceinline__ FactorsOf(const ElementProductsArgs& a, int64_t output) {
    const Two place = a.kept.in(output);
    own = static_cast<const In*>(a.own) + place.own;
    other = static_cast<const In*>(a.other) + place.other;
  }
};

// The upper halves of products' magnitudes. Two doubles hold every bit of a product from 2^-960 up and below 2^990.
struct Magnitudes {
  static constexpr uint32_t kLeast = (1023 - 960) << 20, kEnd = (1023 + 990) << 20;
  uint32_t least = ~0u, most = 0;

  __device__ __forceinline__ static uint32_t of(double product) {
    return static_cast<uint32_t>(__double2hiint(product)) & 0x7fffffffu;
  }
  __device__ __forceinline__ static bool is_usual(double product) { return of(product) - kLeast < kEnd - kLeast; }
  template <int N>
  __device__ __forceinline__ explicit Magnitudes(const double (&product)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      least = __vimin3_u32(least, of(product[i]), of(product[i + 1]));
      most = __vimax3_u32(most, of(product[i]), of(product[i + 1]));
    }
  }
  __device__ __forceinline__ bool are_usual() const { return least >= kLeast && most < kEnd; }
};

// A product of two fp64 numbers is two doubles, the rounded one and the rest; of others it is a double.
template <class In>
constexpr bool has_rest = std::is_same<In, double>::value;
template <class In>
__device__ __forceinline__ double rest_of(In a, In b, double product) {
  if constexpr (has_rest<In>) return exact::rest_of(a, b, product);
  return 0;
}

// A product of two numbers one of which is zero, but for NaN.
template <class In>
__device__ __forceinline__ bool is_nothing(In a, In b, double product) {
  return product == 0 && (!has_rest<In> || widen<double>(a) == 0 || widen<double>(b) == 0);
}
// One that is neither usual nor nothing.
static __device__ __noinline__ void spill_product(Digits digits, double a, double b) {
  if (exact::is_special(a) || exact::is_special(b)) return spill<Products>(digits, a * b);
  exact::split_product(a, b, [&](int d, int64_t piece) { digits.add_to_word(d, piece); });
}

// A word of which the upper half has gone to the next one, so that any number of them add up.
__device__ __forceinline__ int64_t with_carry(const int64_t* words, int d) {
  const bool has_next = d < Products::kDigits - 1, has_last = d > 0 && d < Products::kDigits;
  const int64_t own = has_next ? words[d] & exact::kDigitMask : words[d];
  return own + (has_last ? words[d - 1] >> exact::kDigitBits : 0);
}

// Not inlined: a lane has many places to find.
template <class In>
__device__ __noinline__ In element_of(const In* from, const ReducedIndex<Access::Strided>& reduced, int64_t element,
                                      int64_t end) {
  return element < end ? from[reduced.at(element)] : In{};
}

// The elements first, first + step and so on of an output that begins at `from`; zeros from `end` on.
template <class In, int N>
__device__ __forceinline__ void load_elements(const In* from, const ReducedIndex<Access::Strided>& reduced,
                                              int64_t first, int step, int64_t end, In (&x)[N]) {
  const int count = static_cast<int>(min(end - first, static_cast<int64_t>(N * step)));
  if (reduced.dims <= 1) {
    const int64_t apart = step * reduced.stride();
    from += first * reduced.stride();
#pragma unroll
    for (int i = 0; i < N; ++i, from += apart) x[i] = i * step < count ? *from : In{};
  } else if (reduced.quotients.exist && reduced.steps.fit) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const auto element = static_cast<int32_t>(first) + i * step;
      x[i] = i * step < count ? from[reduced.steps.from<kStraightDims>(0, reduced.quotients, element)] : In{};
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = element_of(from, reduced, first + i * step, end);
  }
}

template <class In, int Across>
__global__ void __launch_bounds__(exact::kElementProductsWarps* kWarp, exact::kElementProductsCtasPerSm)
    exact_element_products(const __grid_constant__ ElementProductsArgs a) {
  constexpr int kLoads = exact::element_products_loads(Across, dtype_of<In>::value),
                kWarps = exact::kElementProductsWarps;
  __shared__ int64_t words_of_warps[Across][kWarps][Products::kWords], of_output[Across][Products::kWords];
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), column = lane % Across;
  a.units > 1 ? allow_next_kernel() : allow_next_kernel_if_small();
  const int64_t index = a.by_cta ? blockIdx.x : static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  const int64_t groups = (a.outputs + Across - 1) / Across, unit = index / groups;
  const int64_t output0 = (index - unit * groups) * Across;
  if (unit >= a.units) return;
  const int outputs = static_cast<int>(min(a.outputs - output0, static_cast<int64_t>(Across)));
  const int64_t output = output0 + min(column, outputs - 1);
#pragma unroll
  for (int c = 0; c < Across; ++c) {
    for (int d = lane; d < Products::kWords; d += kWarp) words_of_warps[c][warp][d] = 0;
  }
  __syncwarp();

  int64_t* const words = words_of_warps[column][warp];
  const FactorsOf<In> from(a, output);
  const int64_t begin = unit * a.unit_elements, end = min(begin + a.unit_elements, a.n);
  const int step = (a.by_cta ? kWarps * kWarp : kWarp) / Across;
  const int mine = (a.by_cta ? static_cast<int>(threadIdx.x) : lane) / Across;
  In x[kLoads], y[kLoads];
  OpenProducts<has_rest<In>, Across> sum;
  bool spills = false;
  wait_for_previous_kernel();
  load_elements(from.own, a.reduced.own, begin + mine, step, end, x);
  load_elements(from.other, a.reduced.other, begin + mine, step, end, y);
  // Elements are loaded while the ones before them are added.
#pragma unroll 1
  for (int64_t next = begin + step * kLoads; next < end + step * kLoads; next += step * kLoads) {
    double product[kLoads], rest[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      product[i] = product_of(x[i], y[i]);
      rest[i] = rest_of(x[i], y[i], product[i]);
    }
    Magnitudes magnitudes(product);
    if (!magnitudes.are_usual()) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if (Magnitudes::is_usual(product[i])) continue;
        if (!is_nothing(x[i], y[i], product[i]))
          spill_product({words, 1}, widen<double>(x[i]), widen<double>(y[i])), spills = true;
        product[i] = rest[i] = 0;
      }
      magnitudes = Magnitudes(product);
    }
    __syncwarp();
    load_elements(from.own, a.reduced.own, next + mine, step, end, x);
    load_elements(from.other, a.reduced.other, next + mine, step, end, y);
    sum.add(product, rest, magnitudes.most, words);
  }
  const bool in_words = __ballot_sync(kAllLanes, spills) != 0 || sum.in_words;
  if (!a.by_cta && !in_words) {
    const ProductSum total = sum.sum();
    if (lane < outputs) total.template finish<In>(a.sink, a.kept.out(output));
    return;
  }
  sum.close(words);
  __syncwarp();
  if (a.by_cta) {
    __syncthreads();
    for (int i = threadIdx.x; i < outputs * Products::kWords; i += kWarps * kWarp) {
      const int c = i / Products::kWords, d = i % Products::kWords;
      int64_t of_cta = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) of_cta += with_carry(words_of_warps[c][w], d);
      int64_t* const to = a.units > 1 ? a.partials + ((output0 + c) * a.units + unit) * Products::kWords : of_output[c];
      to[d] = of_cta;
    }
    if (a.units > 1) return;
    __syncthreads();
  }
  const int64_t* const totals = a.by_cta ? of_output[0] : words_of_warps[0][warp];
  const int apart = a.by_cta ? Products::kWords : kWarps * Products::kWords;
#pragma unroll 1
  for (int c = a.by_cta ? warp : 0; c < outputs; c += a.by_cta ? kWarps : 1) {
    finish_by_warp<Products>(a.sink, a.kept.out(output0 + c), totals + c * apart);
  }
}

// An output of which slices do not hold every product.
template <class In>
__device__ __noinline__ void finish_few_in_words(const ElementProductsArgs& a, const FactorsOf<In>& from,
                                                 int64_t output) {
  int64_t word[Products::kWords] = {};
#pragma unroll 1
  for (int64_t i = 0; i < a.n; ++i) {
    const auto x = widen<double>(from.own[a.reduced.own.at(i)]);
    const auto y = widen<double>(from.other[a.reduced.other.at(i)]);
    if (exact::is_special(x) || exact::is_special(y)) {
      ++word[Products::kDigits + exact::special_of(x * y)];
    } else {
      exact::split_product(x, y, [&](int d, int64_t piece) { word[d] += piece; });
    }
  }
  const auto bits = exact::round_words<Products>([&](int d) { return word[d]; }, 1, exact::target_of(a.sink.type));
  exact::store_bits(a.sink.out, a.kept.out(output), a.sink.type, bits);
}

// An output to a lane, which looks for its window first.
template <class In>
__global__ void __launch_bounds__(exact::kElementProductsWarps* kWarp, exact::kElementProductsFewCtasPerSm)
    exact_few_element_products(const __grid_constant__ ElementProductsArgs a) {
  const int64_t output = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  wait_for_previous_kernel();
  allow_next_kernel_if_small();
  if (output >= a.outputs) return;
  const FactorsOf<In> from(a, output);
  // Calls f with the elements, four of which are loaded at a time.
  const auto for_each_product = [&](auto f) {
#pragma unroll 4
    for (int64_t i = 0; i < a.n; ++i) {
      f(from.own[a.reduced.own.at(i)], from.other[a.reduced.other.at(i)]);
    }
  };
  uint32_t most = 0;
  bool fit = true;
  for_each_product([&](In x, In y) {
    const double product = product_of(x, y);
    fit &= Magnitudes::is_usual(product) || is_nothing(x, y, product);
    most = max(most, magnitude(product));
  });
  if (!fit) return finish_few_in_words(a, from, output);
  const ProductWindow window(above<double>(most));
  ProductSlices slices;
  int64_t left = 0;
  for_each_product([&](In x, In y) {
    double product = product_of(x, y), rest = rest_of(x, y, product);
    left |= add_product<has_rest<In>>(window, slices, product, rest);
  });
  if (is_anything(left)) return finish_few_in_words(a, from, output);
  remove_products<has_rest<In>>(window, slices, static_cast<int>(a.n));
  ProductSum{{slices.sum[0], slices.sum[1], slices.sum[2]}, window.unit}.template finish<In>(a.sink,
                                                                                             a.kept.out(output));
}

// A CTA adds up the units of an output, a warp some of them.
__global__ void __launch_bounds__(exact::kElementProductsFinishWarps* kWarp)
    exact_finish_element_products(const __grid_constant__ ElementProductsArgs a) {
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
  for (int64_t unit = warp; unit < a.units; unit += exact::kElementProductsFinishWarps) {
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

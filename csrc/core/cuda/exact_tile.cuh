// A warp's (or a lane's) elements in registers while their slices are taken.
#pragma once

#include "../tuning.h"
#include "exact_digits.cuh"

namespace torch_reduce::cuda {

constexpr int kExactThreads = exact::kWarps * kWarp;

template <class In, Access A>
constexpr int exact_width = A == Access::Strided ? 1 : vector_width<In>;

// `Loads` loads of a lane: 16 bytes each, or an element.
template <class In, Access A, int Loads>
struct Tile {
  static constexpr int V = exact_width<In, A>;
  static constexpr int kElements = Loads * V;
  uint4 part[Loads];

  __device__ __forceinline__ double element(int load, int e) const {
    return widen<double>(bit_cast<Vector<In>>(part[load]).e[e]);
  }
  // The same elements, unknown to the compiler: it would keep all of them as doubles for a second loop, and spill.
  __device__ __forceinline__ Tile again() const {
    Tile t = *this;
#pragma unroll
    for (auto& p : t.part) asm volatile("" : "+r"(p.x), "+r"(p.y), "+r"(p.z), "+r"(p.w));
    return t;
  }
  __device__ __forceinline__ uint32_t most() const {
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < Loads; ++i) see_vector<In>(most, part[i]);
    return seen<In>(most);
  }
};
template <class In, int Loads>
struct Tile<In, Access::Strided, Loads> {
  static constexpr int V = 1;
  static constexpr int kElements = Loads;
  In part[Loads];

  __device__ __forceinline__ double element(int load, int) const { return widen<double>(part[load]); }
  __device__ __forceinline__ Tile again() const { return *this; }
  __device__ __forceinline__ uint32_t most() const {
    Magnitude<In> m;
#pragma unroll
    for (int i = 0; i < Loads; ++i) m.see(part[i]);
    return m.most;
  }
};

template <class In>
__device__ __forceinline__ In zero_element() {
  return bit_cast<In>(
      std::conditional_t<sizeof(In) == 2, uint16_t, std::conditional_t<sizeof(In) == 4, uint32_t, uint64_t>>(0));
}

// 16 bytes of a row, of which only the first `count` elements exist.
template <class In>
__device__ __forceinline__ uint4 load_first(const In* from, int count) {
  Vector<In> v;
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) v.e[e] = e < count ? from[e] : zero_element<In>();
  return bit_cast<uint4>(v);
}

// The sums of a lane's elements, of one column or of V: a window, and slices that are open.
template <class In, int Columns>
struct OpenSlices {
  using F = exact::FormatOf<In>;
  Window window;
  Slices column[Columns];
  int adds = 0;  // of a column, since the window was set
  bool open = false;

  // Whether the window does for elements below 2^above, `more` of them a column.
  __device__ __forceinline__ bool fits(int above, int more) const {
    const int unit = min(max(above + exact::kSlack - kSliceBits, kLowestUnit<F>), kHighestUnit);
    return open && unit <= window.unit && unit + exact::kLower >= window.unit && adds + more <= exact::kMostAdds;
  }
  __device__ __forceinline__ void set(int above) {
    window = window_for<F>(above);
#pragma unroll
    for (auto& c : column) c = Slices{};
    adds = 0;
    open = true;
  }
};

// Sums an output again, element(i) for i below n, in a superaccumulator in local memory: for the few that need it.
template <class In, class Element>
__device__ __noinline__ void finish_by_lane(const ExactSink& s, int64_t n, int64_t place, Element element) {
  using F = exact::FormatOf<In>;
  int64_t word[F::kWords] = {};
#pragma unroll 1
  for (int64_t i = 0; i < n; ++i) {
    const double x = widen<double>(element(i));
    if (exact::is_special(x)) {
      ++word[F::kDigits + exact::special_of(x)];
    } else if (x != 0) {
      exact::split<F>(x, [&](int d, int64_t piece) { word[d] += piece; });
    }
  }
  finish_words<F>(s, place, [&](int d) { return word[d]; });
}

// Zeros alone. The upper half of a tiny fp64 number is zero too, so that none of those is known to be.
template <class In>
__device__ __forceinline__ bool is_nothing(uint32_t most) {
  return sizeof(In) < 8 && most == 0;
}

// Elements that are too large for a window of so many bits, or not finite.
template <class In>
__device__ __forceinline__ bool is_beyond(uint32_t most, int bits) {
  return most >= Magnitude<In>::kInf || Magnitude<In>::above(most) > kHighestUnit + bits;
}

}  // namespace torch_reduce::cuda

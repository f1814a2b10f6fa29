// A lane's elements in registers, and the slices that they go to.
#pragma once

#include "core/cuda/exact/digits.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

constexpr int kExactThreads = exact::kWarps * kWarp;

__device__ __forceinline__ int64_t* shared_words() {
  extern __shared__ __align__(16) unsigned char shared[];
  return reinterpret_cast<int64_t*>(shared);
}

// The kept dims without the innermost `skip`, in the input and in the output.
template <Access A>
struct ExactKept : KeptIndex<A> {
  using KeptIndex<A>::KeptIndex;
};
template <>
struct ExactKept<Access::Contiguous> {
  int64_t in_stride, out_stride;

  ExactKept(const Layout& l, int skip)
      : in_stride(l.kept_dims > skip ? l.kept[0].in_stride : 0),
        out_stride(l.kept_dims > skip ? l.kept[0].out_stride : 0) {}
  __device__ __forceinline__ int64_t in(int64_t index) const { return index * in_stride; }
  __device__ __forceinline__ int64_t out(int64_t index) const { return index * out_stride; }
};

template <class In, Access A>
constexpr int exact_width = A == Access::Strided ? 1 : vector_width<In>;

template <class In>
__device__ __forceinline__ In zero_element() {
  if constexpr (sizeof(In) == 2) {
    return In{0};
  } else {
    return In(0);
  }
}

// `Loads` loads of a lane: 16 bytes each, or an element.
template <class In, Access A, int Loads>
struct Tile {
  static constexpr int V = exact_width<In, A>;
  static constexpr int kElements = Loads * V;
  uint4 part[Loads];

  static constexpr bool has_floats = sizeof(In) == 2;  // elements are fp32 numbers of few bits
  static constexpr bool are_products_of_floats = false;

  __device__ __forceinline__ In element(int load, int e) const { return bit_cast<Vector<In>>(part[load]).e[e]; }
  // The element and another number.
  __device__ __forceinline__ float plus(int load, int e, float other) const {
    return widen<float>(element(load, e)) + other;
  }
  template <bool has_least = !one_slice_is_enough<In>>
  __device__ __forceinline__ Range<In> range() const {
    return range_of<In, has_least>(part);
  }
  // The same elements, unknown to the compiler: it would keep all of them as doubles for a second loop, and spill.
  __device__ __forceinline__ Tile again() const {
    Tile t = *this;
#pragma unroll
    for (auto& p : t.part) asm volatile("" : "+r"(p.x), "+r"(p.y), "+r"(p.z), "+r"(p.w));
    return t;
  }
};
template <class In, int Loads>
struct Tile<In, Access::Strided, Loads> {
  static constexpr int V = 1;
  static constexpr int kElements = Loads;
  static constexpr bool has_floats = sizeof(In) == 2, are_products_of_floats = false;
  In part[Loads];

  __device__ __forceinline__ In element(int load, int) const { return part[load]; }
  __device__ __forceinline__ float plus(int load, int, float other) const { return widen<float>(part[load]) + other; }
  __device__ __forceinline__ Range<In> range() const {
    Range<In> range;
#pragma unroll
    for (int i = 0; i < Loads; ++i) range.see(part[i]);
    return range;
  }
  __device__ __forceinline__ Tile again() const { return *this; }
};

// 16 bytes, of which only the elements from `begin` on and before `end` are read.
template <class In>
__device__ __forceinline__ uint4 load_between(const In* from, int64_t begin, int64_t end) {
  Vector<In> v;
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) v.e[e] = e >= begin && e < end ? from[e] : zero_element<In>();
  return bit_cast<uint4>(v);
}

// Calls f(element, its place in the load) for every element of a tile.
template <class Tile, class F>
__device__ __forceinline__ void for_each(const Tile& tile, F f) {
#pragma unroll
  for (int i = 0; i < Tile::kElements / Tile::V; ++i) {
#pragma unroll
    for (int e = 0; e < Tile::V; ++e) f(tile.element(i, e), e);
  }
}

// What is added to both float slices for a number, as `add` makes it of the number and another one, rounded once.
template <class Add>
__device__ __forceinline__ void add_to_float_slices(const FloatWindow& w, uint32_t& first, uint32_t& second, Add add) {
  const float rounded = add(w.m0);
  first += __float_as_uint(rounded);
  second += __float_as_uint(add(w.both - rounded));  // what the first slice does not hold, and m1
}

// The sum of a lane's elements, all of which both slices hold, in units of the second one.
template <class Tile>
__device__ __forceinline__ int64_t sum_in_floats(const Tile& t, const FloatWindow& w) {
  uint32_t first = 0, second = 0;
#pragma unroll
  for (int i = 0; i < Tile::kElements / Tile::V; ++i) {
#pragma unroll
    for (int e = 0; e < Tile::V; ++e) {
      add_to_float_slices(w, first, second, [&](float other) { return t.plus(i, e, other); });
    }
  }
  const auto value = [](uint32_t sum, float m) {
    return static_cast<int32_t>(sum - Tile::kElements * __float_as_uint(m));
  };
  return (static_cast<int64_t>(value(first, w.m0)) << kFloatSliceBits) + value(second, w.m1);
}

// Elements too large for a window of so many bits, or not finite.
template <class In>
__device__ __forceinline__ bool is_beyond(uint32_t most, int bits) {
  return most >= kInfMagnitude<In> || above<In>(most) > kHighestUnit + bits;
}

// The open slices of a lane's elements, of one column or of several.
template <class In, int Columns>
struct OpenSlices {
  using F = exact::FormatOf<In>;
  // Bits between the largest element and the top of a slice: the sum of kTogether elements lies below that too.
  static constexpr int kTopBits = 3, kTogether = 1 << kTopBits;
  Window window;
  Slices column[Columns];
  int adds = 0;  // to a column, since the window was set
  bool open = false;

  // Whether the window does for elements below 2^above, `more` of them a column, of at most `most_adds`.
  __device__ __forceinline__ bool fits(int above, int more, int most_adds) const {
    return open && above + kTopBits <= window.unit + kSliceBits &&
           unit_for<F>(above + kTopBits + exact::kSlack) + exact::kLower >= window.unit && adds + more <= most_adds;
  }
  __device__ __forceinline__ void set(int above) {
    window = window_for<F>(above + kTopBits + exact::kSlack);
    clear();
    open = true;
  }
  __device__ __forceinline__ void clear() {  // but for the window
#pragma unroll
    for (auto& c : column) c = Slices{};
    adds = 0;
  }
  // Whether elements in the window and in this range are whole in the first slice; in both.
  __device__ __forceinline__ bool first_holds(const Range<In>& range) const {
    return one_slice_is_enough<In> || range.is_multiple(window.unit);
  }
  __device__ __forceinline__ bool both_hold(const Range<In>& range) const {
    return range.is_multiple(window.unit - kSliceBits);
  }

  // A tile that the first slice holds.
  template <class Tile>
  __device__ __forceinline__ void add_to_first(const Tile& t, const Range<In>& range) {
    if constexpr (Tile::has_floats) {
      const int top = above<In>(range.most);
      if (FloatWindow::exists(top)) {
        const FloatWindow w(top);
        if (!one_slice_is_enough<In> && range.is_multiple(w.unit)) return add_in_floats<1>(t, w);
        if (one_slice_is_enough<In> || range.is_multiple(w.unit - kFloatSliceBits)) return add_in_floats<2>(t, w);
      }
    }
    add_in_doubles(t);
  }

 private:
  // By float slices, whose units are moved to the first slice's at the end.
  template <int N, class Tile>
  __device__ __forceinline__ void add_in_floats(const Tile& t, const FloatWindow& w) {
    constexpr int kRows = Tile::kElements / Columns;
    static_assert(kRows <= 1 << 8, "so that a slice's sum has 30 bits");
    uint32_t sum[2][Columns] = {};
#pragma unroll
    for (int i = 0; i < Tile::kElements / Tile::V; ++i) {
#pragma unroll
      for (int e = 0; e < Tile::V; ++e) {
        const int c = Columns > 1 ? e : 0;
        const auto add = [&](float other) { return t.plus(i, e, other); };
        if constexpr (N > 1) {
          add_to_float_slices(w, sum[0][c], sum[1][c], add);
        } else {
          sum[0][c] += __float_as_uint(add(w.m0));
        }
      }
    }
    const auto moved = [&](uint32_t sum, float m, int unit) {
      const int64_t k = static_cast<int32_t>(sum - kRows * __float_as_uint(m));
      return unit >= window.unit ? k << (unit - window.unit) : k >> (window.unit - unit);
    };
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      column[c].first += moved(sum[0][c], w.m0, w.unit);
      if constexpr (N > 1) column[c].first += moved(sum[1][c], w.m1, w.unit - kFloatSliceBits);
    }
    adds += kRows;
  }

  // kTogether multiples of 2^w below 2^(w+47) add in a double without error.
  template <class Tile>
  __device__ __forceinline__ void add_in_doubles(const Tile& t) {
    constexpr int kRows = Tile::kElements / Columns, kSums = (kRows + kTogether - 1) / kTogether;
    double sum[Columns][kSums];
    int row[Columns] = {};
    for_each(t, [&](In x, int v) {
      const int c = Columns > 1 ? v : 0, r = row[c]++;
      double& s = sum[c][r / kTogether];
      s = r % kTogether == 0 ? widen<double>(x) : s + widen<double>(x);
    });
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) column[c].add_to_first(window, sum[c][i]);
      column[c].remove_from_first(window, kSums);
    }
    adds += kRows;
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

}  // namespace torch_reduce::cuda

// Sums of the products of fp64 elements, of two tensors or of one with itself.
#pragma once

#include "core/contract/exact/wide_products.h"
#include "core/cpu/exact/products.h"
#include "core/cpu/exact/superaccumulator.h"
#include "core/cpu/simd/plain_leaves.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A sum as a few doubles, the exact one, or as a few vectors of them. It takes 2^20 products and what is left of each.
template <class T = double>
struct Expansion {
  static constexpr int kTerms = 4;
  T term[kTerms] = {};

  // Adds x from one of the terms on: what the rounded sum of two doubles lacks is a double (D. E. Knuth), which the
  // next term takes. Returns what is left for elsewhere, mostly nothing.
  template <int First = 0>
  TR_HD T add(T x) {
    TR_UNROLL
    for (int i = First; i < kTerms; ++i) {
      const T sum = term[i] + x, of_x = sum - term[i];
      x = (term[i] - (sum - of_x)) + (x - of_x);
      term[i] = sum;
      if constexpr (!order::ScaleOf<T>::is_vector) {
        if (x == 0) break;
      }
    }
    return x;
  }
};

// Whether a product is two doubles that an expansion takes, itself rounded and the rest: the last of its 106 bits is a
// double from some magnitude on, and a factor that is zero leaves no bits. In each lane.
template <class T>
TR_HD auto is_two_doubles(T a, T b, T product) {
  const T zero{}, magnitude = order::magnitude_of(product);
  const auto is_nothing = (product == zero) & ((a == zero) | (b == zero));
  return is_nothing | ((magnitude >= zero + 0x1p-960) & (magnitude <= zero + 0x1p990));
}

// Sums of products side by side, each an expansion.
class ProductSums {
 public:
  static constexpr bool has_rest = true;

  void start(int64_t count) {
    for (auto& term : term_) {
      for (int64_t j = 0; j < count + kLanes<double>; ++j) term[j] = 0;
    }
    for (int64_t j = 0; j < count + kLanes<double>; ++j) lost_[j] = 0;
  }

  // own[j] * factors[j] to sum j, for the first `count` sums; so many numbers and a vector can be read.
  __attribute__((noinline)) void add(const double* own, const double* factors, int64_t count) {
    for (int64_t j = 0; j < count; j += kLanes<double>) {
      const auto a = load<double>(own + j), b = load<double>(factors + j), product = a * b;
      Expansion<Vector<double>> sum;
      for (int i = 0; i < kTerms; ++i) sum.term[i] = load<double>(term_[i] + j);
      const auto left = sum.add(product), other_left = sum.template add<1>(exact::rest_of(a, b, product));
      const auto lost = ~is_two_doubles(a, b, product) | (left != 0) | (other_left != 0) | load<int64_t>(lost_ + j);
      for (int i = 0; i < kTerms; ++i) __builtin_memcpy(term_[i] + j, &sum.term[i], sizeof(sum.term[i]));
      __builtin_memcpy(lost_ + j, &lost, sizeof(lost));
    }
  }

  // Whether nearest(j) is that of the sum itself. Where what is below two doubles might decide a tie, it is not said to
  // be.
  bool is_exact(int64_t j, int) const {
    const Triple t = triple(j);
    const double margin = __builtin_fabs(t.rest) * 0x1p-40;
    const bool is_far = (t.value + (t.rest - margin) == t.value) & (t.value + (t.rest + margin) == t.value);
    return (lost_[j] == 0) & ((t.below == 0) | ((t.below <= margin * 0x1p-1) & is_far));
  }
  Nearest nearest(int64_t j) const {
    const Triple t = triple(j);
    return {t.value, t.rest};
  }

 private:
  static constexpr int kTerms = Expansion<>::kTerms;

  // A sum is value + rest, but for what is not above `below`.
  struct Triple {
    double value, rest, below;
  };
  // Twice from the last term to the first one, each takes what it can of those below.
  Triple triple(int64_t j) const {
    double t[kTerms];
    for (int i = 0; i < kTerms; ++i) t[i] = term_[i][j];
    for (int times = 0; times < 2; ++times) {
      for (int i = kTerms - 1; i > 0; --i) {
        const double sum = t[i - 1] + t[i], of_last = sum - t[i - 1];
        t[i] = (t[i - 1] - (sum - of_last)) + (t[i] - of_last);
        t[i - 1] = sum;
      }
    }
    return {t[0], t[1], __builtin_fabs(t[2]) + __builtin_fabs(t[3])};
  }

  double term_[kTerms][kMostSums + kLanes<double>];
  int64_t lost_[kMostSums + kLanes<double>];  // not zero where the terms do not hold everything
};

class WideProductReader : public ProductReader {
 public:
  using Format = exact::Products;
  using SideBySide = ProductSums;
  using ProductReader::ProductReader;

  bool has_side_by_side() const { return is_across(); }

  // The sums of products first .. end of neighbouring outputs.
  void sum(int64_t first, int64_t end, ProductSums& sums) {
    sums.start(count());
    double own[kMostSums + kLanes<double>] = {}, other[kMostSums + kLanes<double>] = {};
    for_each_across(first, end, [&](int64_t stride, int64_t other_stride) {
      sums.add(own, read(count(), stride, other_stride, own, other), count());
    });
  }

  // Adds products first .. end of the first output, at most a block.
  void add(int64_t first, int64_t end, Superaccumulator<Format>& sum) {
    double own[kExactBlock], other[kExactBlock];
    Expansion<Vector<double>> lanes;
    Expansion<> near;
    for_each_run(first, end, [&](int64_t count, int64_t stride, int64_t other_stride) {
      const double* const factors = read(count, stride, other_stride, own, other);
      int64_t i = 0;
      for (; i + kLanes<double> <= count; i += kLanes<double>) {
        if (add_products(load<double>(own + i), load<double>(factors + i), lanes, sum)) continue;
        for (int64_t j = i; j < i + kLanes<double>; ++j) add_product(own[j], factors[j], near, sum);
      }
      for (; i < count; ++i) add_product(own[i], factors[i], near, sum);
    });
    for (int i = 0; i < near.kTerms; ++i) {
      sum.add(near.term[i]);
      for (int lane = 0; lane < kLanes<double>; ++lane) sum.add(lanes.term[i][lane]);
    }
  }

 private:
  // Products in all lanes, if all of them are two doubles.
  static bool add_products(Vector<double> a, Vector<double> b, Expansion<Vector<double>>& lanes,
                           Superaccumulator<Format>& sum) {
    const Vector<double> product = a * b;
    if (any_negative(~is_two_doubles(a, b, product))) return false;
    const auto left = lanes.add(product), other_left = lanes.template add<1>(exact::rest_of(a, b, product));
    if (any_negative((left != 0) | (other_left != 0))) {
      for (int lane = 0; lane < kLanes<double>; ++lane) sum.add(left[lane]), sum.add(other_left[lane]);
    }
    return true;
  }
  static void add_product(double a, double b, Expansion<>& near, Superaccumulator<Format>& sum) {
    const double product = a * b;
    if (!is_two_doubles(a, b, product)) return add_rare(a, b, sum);
    const double left = near.add(product), other_left = near.add<1>(exact::rest_of(a, b, product));
    if (left != 0) sum.add(left);
    if (other_left != 0) sum.add(other_left);
  }
  __attribute__((noinline)) static void add_rare(double a, double b, Superaccumulator<Format>& sum) {
    if (exact::is_special(a) || exact::is_special(b)) return sum.count(a * b);
    if (++sum.adds == kAddsPerCarry) sum.carry();
    exact::split_product(a, b, sum.adds_pieces());
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE

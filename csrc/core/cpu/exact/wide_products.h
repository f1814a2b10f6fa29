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

class WideProductReader : public ProductReader {
 public:
  using Format = exact::Products;
  using ProductReader::ProductReader;

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

// Sums of the products of fp64 elements, of two tensors or of one with itself.
#pragma once

#include "core/contract/exact/wide_products.h"
#include "core/cpu/exact/products.h"
#include "core/cpu/exact/superaccumulator.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

class WideProductReader : public ProductReader {
 public:
  using Format = exact::Products;
  using ProductReader::ProductReader;

  // Adds products first .. end of the first output, at most a block.
  void add(int64_t first, int64_t end, Superaccumulator<Format>& sum) {
    double own[kExactBlock], other[kExactBlock];
    exact::Expansion near;
    for_each_run(first, end, [&](int64_t count, int64_t stride, int64_t other_stride) {
      const double* const factors = read(count, stride, other_stride, own, other);
      for (int64_t i = 0; i < count; ++i) add_product(own[i], factors[i], near, sum);
    });
    for (const double term : near.term) sum.add(term);
  }

 private:
  static void add_product(double a, double b, exact::Expansion& near, Superaccumulator<Format>& sum) {
    const double product = a * b;
    if (!exact::is_one_of_two(product)) {
      if (!exact::is_nothing(a, b, product)) add_rare(a, b, sum);
      return;
    }
    const double left = near.add(product), other_left = near.add<1>(exact::other_of_two(a, b, product));
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

// An operator of three words, for tests: count, mean and the sum of squared differences from it, as a variance has them
// (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979). Written so
// that combine(a, b) and combine(b, a) have the same bits. The model is in tests/support/moments.py.
#pragma once

#include <torch_reduce/host_device.h>

#include <cstdint>
#include <type_traits>

template <class T>
struct ThreeWords {
  using Word = T;
  T count, mean, squares;
};

struct CombineMoments {
  // Of elements, which are none in particular, and of what is combined.
  template <class T>
  static TORCH_REDUCE_HD T identity() {
    return T{};
  }
  template <class Acc>
  static TORCH_REDUCE_HD Acc combine(Acc a, Acc b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    using T = typename Acc::Word;
    const T n = a.count + b.count, difference = b.mean - a.mean;
    return {n, (a.count * a.mean + b.count * b.mean) / n,
            (a.squares + b.squares) + difference * difference * (a.count * b.count / n)};
  }
  template <class Acc>
  static TORCH_REDUCE_HD auto finish(Acc a, int64_t n) {
    return a.squares / static_cast<typename Acc::Word>(n);
  }
};

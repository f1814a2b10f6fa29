// Products of columns as a warp combines a batch of them: as they are, in one word each. With two words each, eight
// columns a lane would leave an SM half of its warps.
#pragma once

#include "core/cuda/columns/meet.cuh"
#include "core/cuda/columns/reduce.cuh"
#include "core/cuda/lane/normal_product.cuh"

namespace torch_reduce::cuda {

// The columns of a lane, and whether they are what scaled products would be.
template <class T, int V>
class PlainColumns {
 public:
  template <class O, class In, class Acc, Access A, int Leaves, int Steps>
  __device__ __forceinline__ Columns<T, V> reduce(const SourceOf<O>& source,
                                                  const Loads<O, In, Acc, A, Leaves, Steps>& loads, int64_t row,
                                                  int64_t n) {
    Columns<T, V> c;
    trees_of_columns(how_, source, loads, row, n, c.e);
    return c;
  }

  __device__ __forceinline__ Columns<T, V> combine(Columns<T, V> a, const Columns<T, V>& b) {
#pragma unroll
    for (int e = 0; e < V; ++e) a.e[e] = how_.combine(a.e[e], b.e[e]);
    return a;
  }

  // Whether the products of all lanes' elements are of normal numbers.
  __device__ __forceinline__ bool are_normal(const Columns<T, V>& c) const {
    return __all_sync(kAllLanes, how_.are_normal(c.e));
  }

  // With one power of two for all columns of a lane, that of the first: so elements may have any size, and columns may
  // differ. Returns false where they differ too much, or where the first one is 2^127 or more: there is no factor for
  // it.
  __device__ __forceinline__ bool share_out(Columns<T, V> c, int across, int kept,
                                            Columns<order::Scaled<T>, V>& to) const {
    PlainProducts<T> how = how_;
    auto power = NormalProduct<T>::of(c.e[0]).power;
    const T factor = power_of_two(-power, T());
#pragma unroll
    for (int e = 0; e < V; ++e) c.e[e] = how.combine(c.e[e], factor);
    cuda::share_out(how, c, across);
    if (!__all_sync(kAllLanes, how.are_normal(c.e))) return false;
    for (int mask = across; mask < kWarp; mask *= 2) power += exchange(power, mask);
#pragma unroll
    for (int e = 0; e < V; ++e) {
      if (e == kept) break;
      to.e[e] = NormalProduct<T>{c.e[e], power}.scaled_of_normal();
    }
    return true;
  }

 private:
  PlainProducts<T> how_;
};

}  // namespace torch_reduce::cuda

// What a lane holds of a row, from the loads to the results.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/map/places.cuh"
#include "core/plan/tuning/map.h"

namespace torch_reduce::cuda {

// How the CTAs of a row meet: there is one; by a cluster; or by two kernels, of which the first leaves a value of each
// CTA in scratch and the second has them.
enum class Meets : uint8_t { Alone, Cluster, LeavesPartials, HasPartials };

template <class Word>
struct MapArgs {
  const void *x, *second, *weight, *bias, *read;
  void *out, *written, *partials;
  DType parameters, out_type;
  int64_t n, rows;
  Word epsilon;
  MapStrides along;
  MapIndex index;
  int log_lanes, log_warps, rows_per_cta;
  FastDivisor units;
  Meets meets;
  bool reads_vectors, writes_vectors;
};

// Registers for two CTAs of an SM, where what is held leaves room for that.
template <class M, class In>
constexpr int map_ctas_at_once = (M::reads_second ? 2 : 1) * sizeof(In) <= 2 ? 2 : 1;

template <class M, class Word>
__device__ __noinline__ Word uncommon_value(const AtPlace<Word>& at, const row_of_map<M, Word>& row) {
  return M::value(at, row);
}
template <class M, class Word>
__device__ __forceinline__ Word value_of(const AtPlace<Word>& at, const row_of_map<M, Word>& row) {
  if constexpr (M::has_common_value) {
    return M::is_common(at, row) ? M::common_value(at, row) : uncommon_value<M>(at, row);
  } else {
    return M::value(at, row);
  }
}

template <class M, class In, class Word>
class LanePlaces {
 public:
  using O = typename M::Reduces;
  using Acc = total_of<M, Word>;
  static constexpr int V = vector_width<In>, kLoads = kChunk / (kWarp * V);
  static constexpr int kSets = kLoads / kSteps;

  // Load 0 is of the places from `first` on, of a row of n.
  __device__ __forceinline__ LanePlaces(int64_t first, int64_t n)
      : first_(first), left_(static_cast<int>(max(int64_t{0}, min(n - first, static_cast<int64_t>(kChunk))))) {}

  __device__ __forceinline__ void load(const MapArgs<Word>& a, const MapStrides& place) {
    load(static_cast<const In*>(a.x) + place.x, a.along.x, a.reads_vectors, x_);
    if constexpr (M::reads_second) {
      load(static_cast<const In*>(a.second) + place.second, a.along.second, a.reads_vectors, second_);
    }
  }

  // The row's numbers, as far as the warp has them; in every one of the row's lanes.
  __device__ __forceinline__ void reduce(const MapArgs<Word>& a, const read_of_map<M, Word>& saved, int lanes,
                                         Acc (&total)[M::sums]) const {
    total[0] = reduce_one<0>(a, saved, lanes);
    if constexpr (M::sums > 1) total[1] = reduce_one<1>(a, saved, lanes);
  }

  __device__ __forceinline__ void store(const MapArgs<Word>& a, const MapStrides& place,
                                        const row_of_map<M, Word>& row) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int count = left_ - place_of(i);
      if (count <= 0) break;
      AtPlace<Word> in[V];
      read(a, i, true, in);
      Word y[V];
#pragma unroll
      for (int e = 0; e < V; ++e) y[e] = value_of<M>(in[e], row);
      const int64_t at = place.out + (first_ + place_of(i)) * a.along.out;
      write_places(a.out, a.out_type, at, a.along.out, count, a.writes_vectors, y);
    }
  }

 private:
  // Of load i, behind the first place.
  static constexpr __device__ __forceinline__ int place_of(int i) { return i * kWarp * V; }

  __device__ __forceinline__ void load(const In* row, int64_t stride, bool vectors, uint4 (&to)[kLoads]) {
    row += first_ * stride;
    if (vectors && left_ > place_of(kLoads - 1) + V - 1) {  // most lanes have a whole chunk
#pragma unroll
      for (int i = 0; i < kLoads; ++i) to[i] = load16_kept(row + place_of(i));
      return;
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      to[i] = load_places(row + place_of(i) * stride, stride, left_ - place_of(i), vectors);
    }
  }

  // What stands at the places of load i.
  __device__ __forceinline__ void read(const MapArgs<Word>& a, int i, bool bias, AtPlace<Word> (&to)[V]) const {
    const int64_t at = first_ + place_of(i);
    const int count = left_ - place_of(i);
    Word x[V], other[V]{}, weight[V], shift[V];
    widen_places<In>(x_[i], x);
    if constexpr (M::reads_second) widen_places<In>(second_[i], other);
    read_parameters<In>(M::reads_weight ? a.weight : nullptr, a.parameters, at, count, Word(1), weight);
    read_parameters<In>(M::reads_bias && bias ? a.bias : nullptr, a.parameters, at, count, Word(-0.0), shift);
#pragma unroll
    for (int e = 0; e < V; ++e) to[e] = {x[e], other[e], weight[e], shift[e]};
  }

  template <int Which>
  __device__ __forceinline__ Acc reduce_one(const MapArgs<Word>& a, const read_of_map<M, Word>& saved,
                                            int lanes) const {
    Acc set[kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Acc leaf[V];
      combine_elements<O>(leaf, [&](auto& how, auto& to) {
        using Value = std::decay_t<decltype(to[0])>;
#pragma unroll
        for (int i = s; i < kLoads; i += kSets) {
          AtPlace<Word> in[V];
          read(a, i, false, in);
#pragma unroll
          for (int e = 0; e < V; ++e) {
            const bool is_there = place_of(i) + e < left_;
            const Word number = is_there ? M::template number<Which>(in[e], saved) : O::template identity<Word>();
            const Value lifted = how.lift(number);
            to[e] = i == s ? lifted : how.combine(to[e], lifted);
          }
        }
      });
      set[s] = tree<O>(leaf);
    }
    if (lanes == kWarp) return tree_across_warp_and_sets<O, kSets>(set);
    return tree_across_lanes<O>(set[0], 1, lanes);  // a short row has places of the first load alone
  }

  int64_t first_;
  int left_;  // of the row, as far as the lane may have them
  uint4 x_[kLoads], second_[M::reads_second ? kLoads : 1];
};

}  // namespace torch_reduce::cuda

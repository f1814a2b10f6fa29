// What a lane makes of its pieces: the row's numbers, and the results.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/lane/meeting.cuh"
#include "core/cuda/map/pieces.cuh"

namespace torch_reduce::cuda {

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

template <class M, class In, class Word, Places places>
class LanePlaces : public LanePieces<M, In, Word, places> {
  using Pieces = LanePieces<M, In, Word, places>;
  using Pieces::a_;
  using Pieces::is_whole;
  using Pieces::place_of;

 public:
  using O = typename M::Reduces;
  using Acc = total_of<M, Word>;
  using Pieces::are_vectors;
  using Pieces::is_short;
  using Pieces::keeps;
  using Pieces::kLoads;
  using Pieces::V;
  static constexpr int kSets = is_short ? kLoads : Pieces::kLoadsOfChunk / kSteps;

  using Pieces::Pieces;

  // The row's numbers, as far as the warp has them of a piece; in every one of the row's lanes.
  __device__ __forceinline__ void reduce(const Piece& p, const read_of_map<M, Word>& saved, int lanes,
                                         Acc (&total)[M::sums]) {
    total[0] = reduce_one<0>(p, saved, lanes);
    if constexpr (M::sums > 1) total[1] = reduce_one<1>(p, saved, lanes);
  }

  __device__ __forceinline__ void store(const Piece& p, const MapStrides& place, const row_of_map<M, Word>& row) {
    const int64_t at = place.out + p.first * a_.along.out;
    if constexpr (are_vectors) {
      if (a_.out_type == dtype_of<In>::value) return store_vectors(p, static_cast<In*>(a_.out) + at, row);
      store_vectors(p, static_cast<Word*>(a_.out) + at, row);
    } else {
#pragma unroll 1
      for (int i = 0; i < a_.loads; ++i) {
        const int count = p.left - place_of(i);
        if (count <= 0) break;
        Word y[V];
        make_values(p, i, row, y);
        write_places(a_.out, a_.out_type, at + place_of(i) * a_.along.out, a_.along.out, count, a_.writes_vectors, y);
      }
    }
  }

 private:
  // What stands at the places of load i: what results need, or numbers.
  enum class For : uint8_t { Numbers, Values };
  template <For use>
  __device__ __forceinline__ void read(const Piece& p, int i, AtPlace<Word> (&to)[V]) const {
    constexpr bool weighs = use == For::Values ? M::reads_weight : M::weighs_numbers;
    Word x[V], other[V]{}, weight[V], shift[V];
    widen_vector<In>(this->vector(p, i), x);
    if constexpr (M::scales) {
#pragma unroll
      for (Word& number : x) number *= a_.scale;
    }
    if constexpr (M::reads_second) widen_vector<In>(this->second(p, i), other);
    parameters_at(p, i, weighs ? a_.weight : nullptr, Word(1), weight);
    parameters_at(p, i, M::reads_bias && use == For::Values ? a_.bias : nullptr, Word(-0.0), shift);
#pragma unroll
    for (int e = 0; e < V; ++e) to[e] = {x[e], other[e], weight[e], shift[e]};
  }
  __device__ __forceinline__ void parameters_at(const Piece& p, int i, const void* parameters, Word missing,
                                                Word (&to)[V]) const {
    const int64_t at = p.first + place_of(i);
    if constexpr (!are_vectors) {
      read_parameters<In>(parameters, a_.parameters, at, p.left - place_of(i), missing, to);
    } else if (parameters != nullptr) {
      widen_vector<In>(load16_kept(static_cast<const In*>(parameters) + at), to);
    } else {
#pragma unroll
      for (int e = 0; e < V; ++e) to[e] = missing;
    }
  }

  template <int Which>
  __device__ __forceinline__ Acc reduce_one(const Piece& p, const read_of_map<M, Word>& saved, int lanes) {
    Acc set[kSets];
    if (are_vectors && is_whole(p)) {
      reduce_loads<Which, are_vectors>(p, saved, set);
    } else {
      reduce_loads<Which, false>(p, saved, set);
    }
    if constexpr (is_short) {
      return tree_of_lanes<O>(set, lanes);
    } else {
      if (lanes == kWarp) {
        if constexpr (keeps) return tree_of_sets<O, kSets>(set);
        return tree_across_warp_and_sets<O, kSets>(set);  // fewer registers
      }
      return tree_across_lanes<O>(set[0], 1, lanes);  // a shorter row has places of the first load alone
    }
  }
  template <int Which, bool whole>
  __device__ __forceinline__ void reduce_loads(const Piece& p, const read_of_map<M, Word>& saved, Acc (&set)[kSets]) {
    bool are_plain = true;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      set[s] = O::template identity<Acc>();
      if (!whole && p.left <= place_of(s)) continue;  // this lane has no places there
      Acc root[1];
      are_plain &= combine_elements<O>(root, [&](auto& how, auto& to) {
        std::decay_t<decltype(to[0])> leaf[V];
#pragma unroll
        for (int i = s; i < kLoads; i += kSets) {
          if (!whole && p.left <= place_of(i)) break;
          lift_load<Which, whole>(p, saved, i, i == s, how, leaf);
        }
        to[0] = tree_by(how, leaf);
      });
      set[s] = root[0];
    }
    if constexpr (keeps) kept_ |= static_cast<unsigned>(are_plain) << p.number;
  }

  // Combines load i with what is there; the first one is all there is.
  template <int Which, bool whole, class How, class Value>
  __device__ __forceinline__ void lift_load(const Piece& p, const read_of_map<M, Word>& saved, int i, bool is_first,
                                            How& how, Value (&to)[V]) {
    AtPlace<Word> in[V];
    read<For::Numbers>(p, i, in);
    Value lifted[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      const Word number = M::template number<Which>(in[e], saved);
      const bool is_there = whole || are_vectors || place_of(i) + e < p.left;
      lifted[e] = how.lift(is_there ? number : O::template identity<Word>());
      to[e] = is_first ? lifted[e] : how.combine(to[e], lifted[e]);
    }
    if constexpr (keeps && std::is_same<How, Plain<Acc>>::value) this->keep(p, i, lifted);
  }

  template <class Out>
  __device__ __forceinline__ void store_vectors(const Piece& p, Out* to, const row_of_map<M, Word>& row) const {
    // Parameters of all loads are on the way together; without them, results of longer rows that come one by one leave
    // more room for other CTAs' loads.
    constexpr int kAtOnce = M::reads_weight || is_short ? kLoads : 1;
    if (is_whole(p)) {
      if constexpr (keeps) {
        if (is_kept(p, row)) return store_kept(p, to, row);
      }
#pragma unroll kAtOnce
      for (int i = 0; i < kLoads; ++i) store_vector(p, i, to, row);
    } else {
#pragma unroll 1
      for (int i = 0; i < kLoads; ++i) {
        if (p.left <= place_of(i)) break;
        store_vector(p, i, to, row);
      }
    }
  }
  template <class Out>
  __device__ __forceinline__ void store_kept(const Piece& p, Out* to, const row_of_map<M, Word>& row) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      Word y[V];
      make_of_kept(p, i, row, y);
      write_vectors(to + place_of(i), y);
    }
  }
  template <class Out>
  __device__ __forceinline__ void store_vector(const Piece& p, int i, Out* to, const row_of_map<M, Word>& row) const {
    Word y[V];
    make_values(p, i, row, y);
    write_vectors(to + place_of(i), y);
  }

  __device__ __forceinline__ bool is_kept(const Piece& p, const row_of_map<M, Word>& row) const {
    return (kept_ >> p.number & 1) && M::is_common_row(row);
  }
  __device__ __forceinline__ void make_of_kept(const Piece& p, int i, const row_of_map<M, Word>& row,
                                               Word (&y)[V]) const {
    this->read_kept(p, i, y);
#pragma unroll
    for (int e = 0; e < V; ++e) y[e] = M::kept_value(y[e], row);
  }

  // The results of load i.
  __device__ __forceinline__ void make_values(const Piece& p, int i, const row_of_map<M, Word>& row,
                                              Word (&y)[V]) const {
    if constexpr (keeps) {
      if (is_kept(p, row)) return make_of_kept(p, i, row, y);
    }
    AtPlace<Word> in[V];
    read<For::Values>(p, i, in);
#pragma unroll
    for (int e = 0; e < V; ++e) y[e] = value_of<M>(in[e], row);
  }

  unsigned kept_ = 0;  // a bit a piece: whether what was lifted of it is kept
};

}  // namespace torch_reduce::cuda

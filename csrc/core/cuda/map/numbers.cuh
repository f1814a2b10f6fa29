// What a lane makes of its pieces: the numbers of a row.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/lane/meeting.cuh"
#include "core/cuda/lane/near.cuh"
#include "core/cuda/map/pieces.cuh"

namespace torch_reduce::cuda {

template <class M, class In, class Word, Places places>
class LaneNumbers : public LanePieces<M, In, Word, places> {
  using Pieces = LanePieces<M, In, Word, places>;

 protected:
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

  using Pieces::Pieces;

  // The row's numbers, as far as the warp has them of a piece; in every one of the row's lanes.
  __device__ __forceinline__ void reduce(const Piece& p, const read_of_map<M, Word>& saved, int lanes,
                                         Acc (&total)[M::sums]) {
    Acc set[M::sums][kSets];
    if (has_whole && __all_sync(kAllLanes, is_whole(p))) {
      reduce_loads<has_whole>(p, saved, set);
    } else {
      reduce_loads<false>(p, saved, set);
    }
#pragma unroll
    for (int k = 0; k < M::sums; ++k) total[k] = tree_of_row(set[k], lanes);
  }

 protected:
  // What stands at the places of load i: what results need, or numbers.
  enum class For : uint8_t { UnscaledNumbers, Numbers, Values };
  template <For use>
  __device__ __forceinline__ void read(const Piece& p, int i, AtPlace<Word> (&to)[V]) const {
    constexpr bool weighs = use == For::Values ? M::reads_weight : M::weighs_numbers;
    Word x[V], other[V]{}, weight[V], shift[V];
    widen_vector<In>(this->vector(p, i), x);
    if constexpr (M::scales && use != For::UnscaledNumbers) {
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
    if constexpr (M::has_channels) {
      channels_at(p, at, p.left - place_of(i), parameters, missing, to);
    } else if constexpr (!are_vectors) {
      read_parameters<In>(parameters, a_.parameters, at, p.left - place_of(i), missing, to);
    } else if constexpr (M::reads_bias) {
      // Most have both parameters, so missing ones are made in few registers. Of one parameter this is slower.
      Vector<In> v;
#pragma unroll
      for (In& e : v.e) e = Narrow<In, Word>::from(missing);
      auto raw = bit_cast<uint4>(v);
      if (parameters != nullptr) raw = load16_kept(static_cast<const In*>(parameters) + at);
      widen_vector<In>(raw, to);
    } else if (parameters != nullptr) {
      widen_vector<In>(load16_kept(static_cast<const In*>(parameters) + at), to);
    } else {
#pragma unroll
      for (int e = 0; e < V; ++e) to[e] = missing;
    }
  }

  // V places of whole vectors have one channel.
  __device__ __forceinline__ void channels_at(const Piece& p, int64_t at, int count, const void* parameters,
                                              Word missing, Word (&to)[V]) const {
    Word value[V];
#pragma unroll
    for (Word& v : value) v = missing;
    if (parameters != nullptr) {
      if constexpr (are_vectors) {
        const int64_t channel = p.channel + a_.by_channel.quotient(static_cast<uint32_t>(at));
        const Word one = read_channel<In, Word>(parameters, a_.parameters, channel);
#pragma unroll
        for (Word& v : value) v = one;
      } else {
        read_channels<In>(parameters, a_.parameters, p.channel, at, count, a_.channel, value);
      }
    }
#pragma unroll
    for (int e = 0; e < V; ++e) to[e] = value[e];
  }

  __device__ __forceinline__ bool is_kept(const Piece& p) const { return (kept_ >> p.number & 1) != 0; }

 private:
  static constexpr int kSets = is_short ? kLoads : Pieces::kLoadsOfChunk / kSteps;
  static constexpr bool has_whole = places != Places::Any;
  static constexpr bool looks = O::adds_exponentials && places != Places::Any;  // at all elements first

  static __device__ __forceinline__ Acc tree_of_row(Acc (&set)[kSets], int lanes) {
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
  template <bool whole>
  __device__ __forceinline__ void reduce_loads(const Piece& p, const read_of_map<M, Word>& saved,
                                               Acc (&set)[M::sums][kSets]) {
    [[maybe_unused]] Near near;
    if constexpr (looks) near = near_of<whole>(p);
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
#pragma unroll
      for (int k = 0; k < M::sums; ++k) set[k][s] = O::template identity<Acc>();
      if (!whole && p.left <= place_of(s)) continue;  // this lane has no places there
      Acc root[M::sums];
      const auto combine = [&](auto& how, auto& to) {
        std::decay_t<decltype(to[0])> leaf[M::sums][V];
#pragma unroll
        for (int i = s; i < kLoads; i += kSets) {
          if (!whole && p.left <= place_of(i)) break;
          lift_load<whole>(p, saved, i, i == s, how, leaf);
        }
#pragma unroll
        for (int k = 0; k < M::sums; ++k) to[k] = tree_by(how, leaf[k]);
      };
      if constexpr (looks) {
        combine_exponentials<O>(near, root, combine);
      } else {
        combine_elements<O>(root, combine);
      }
#pragma unroll
      for (int k = 0; k < M::sums; ++k) set[k][s] = root[k];
    }
    if constexpr (keeps) kept_ |= static_cast<unsigned>(near != Near::Not) << p.number;
  }
  template <bool whole>
  __device__ __forceinline__ Near near_of(const Piece& p) const {
    constexpr bool may_be_all = are_vectors || whole;
    const auto for_each = [&](auto look) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if (whole || p.left > place_of(i)) look(this->vector(p, i));
      }
    };
    return near_of_vectors<typename M::Reduces, In, Word, may_be_all>(for_each, M::scales ? a_.scale : Word(1));
  }

  // Combines load i with what is there; the first one is all there is.
  template <bool whole, class How, class Value>
  __device__ __forceinline__ void lift_load(const Piece& p, const read_of_map<M, Word>& saved, int i, bool is_first,
                                            How& how, Value (&to)[M::sums][V]) {
    AtPlace<Word> in[V];
    read<std::is_same<How, NearExponentials<Word>>::value ? For::UnscaledNumbers : For::Numbers>(p, i, in);
    Value lifted[M::sums][V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      Word number[M::sums];
      number[0] = M::template number<0>(in[e], saved);
      if constexpr (M::sums > 1) number[1] = M::template number<1>(in[e], saved);
      const bool is_there = whole || are_vectors || place_of(i) + e < p.left;
#pragma unroll
      for (int k = 0; k < M::sums; ++k) {
        lifted[k][e] = how.lift(is_there ? number[k] : O::template identity<Word>());
        to[k][e] = is_first ? lifted[k][e] : how.combine(to[k][e], lifted[k][e]);
      }
    }
    if constexpr (keeps && std::is_base_of<NearExponentials<Word>, How>::value) this->keep(p, i, lifted[0]);
  }

  unsigned kept_ = 0;  // a bit a piece: whether what was lifted stands in place of elements
};

}  // namespace torch_reduce::cuda

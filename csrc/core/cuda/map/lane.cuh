// What a lane makes of its pieces: the row's numbers, and the results.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/lane/meeting.cuh"
#include "core/cuda/lane/near.cuh"
#include "core/cuda/map/pieces.cuh"

namespace torch_reduce::cuda {

template <class M, class Word>
__device__ __noinline__ Word uncommon_value(const AtPlace<Word>& at, const row_of_map<M, Word>& row) {
  return M::value(at, row);
}
template <class M, class Word>
__device__ __noinline__ Word value_of_kept(Word lifted, const row_of_map<M, Word>& row) {
  return M::any_kept_value(lifted, row);
}
template <class M, class Word, int V>
__device__ __forceinline__ void make_values_of(const AtPlace<Word> (&at)[V], const row_of_map<M, Word>& row,
                                               Word (&y)[V]) {
  if constexpr (M::has_common_value) {
    bool are_common = true;
#pragma unroll
    for (const auto& place : at) are_common &= M::is_common(place, row);
    if (!are_common) {
#pragma unroll
      for (int e = 0; e < V; ++e) y[e] = uncommon_value<M>(at[e], row);
      return;
    }
#pragma unroll
    for (int e = 0; e < V; ++e) y[e] = M::common_value(at[e], row);
  } else {
#pragma unroll
    for (int e = 0; e < V; ++e) y[e] = M::value(at[e], row);
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

  static constexpr bool has_whole = places != Places::Any;
  static constexpr bool looks = O::adds_exponentials && places != Places::Any;  // at all elements first

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

  __device__ __forceinline__ void store(const Piece& p, const MapStrides& place, const row_of_map<M, Word>& row) {
    const int64_t at = place.out + p.first * a_.along.out;
    if constexpr (Pieces::are_unaligned) {
      if (a_.out_type == dtype_of<In>::value) return store_unaligned(p, static_cast<In*>(a_.out) + at, row);
      store_unaligned(p, static_cast<Word*>(a_.out) + at, row);
    } else if constexpr (are_vectors) {
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
    return near_of_vectors<In, Word, may_be_all>(for_each, M::scales ? a_.scale : Word(1));
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

  template <class Out>
  __device__ __forceinline__ void store_vectors(const Piece& p, Out* to, const row_of_map<M, Word>& row) const {
    // Parameters of all loads are on the way together; without them, results of longer rows that come one by one leave
    // more room for other CTAs' loads.
    constexpr int kAtOnce = M::reads_weight || is_short ? kLoads : 1;
    if constexpr (sizeof(Out) > sizeof(In) && writes_groups) {
      if (__all_sync(kAllLanes, is_whole(p) && (!keeps || is_kept_and_common(p, row)))) {
        return store_groups(p, to, row);
      }
    }
    if constexpr (keeps) {
      if (is_kept_and_common(p, row)) {
        if (is_whole(p)) return store_kept<true>(p, to, row);
        return store_kept<false>(p, to, row);
      }
    }
    if (is_whole(p)) {
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
  // Results that are wider than elements, 16 bytes of a lane beside those of the next one: else a warp writes halves of
  // what memory takes at once.
  static constexpr bool writes_groups = !is_short && sizeof(In) < sizeof(Word) && !M::reads_second && !M::reads_weight;
  template <class Out>
  __device__ __forceinline__ void store_groups(const Piece& p, Out* mine, const row_of_map<M, Word>& row) const {
    constexpr int kEach = 16 / sizeof(Out);
    const int lane = threadIdx.x % kWarp;
    Out* const chunk = mine - lane * V;
    __syncwarp();  // other lanes' elements are there
#pragma unroll 2
    for (int group = lane; group < kChunk / kEach; group += kWarp) {
      Word y[kEach];
      if constexpr (keeps) {
        this->read_kept_group(p, group, y);
#pragma unroll
        for (Word& number : y) number = M::kept_value(number, row);
      } else {
        AtPlace<Word> in[kEach];
        this->read_group(p, group, y);
#pragma unroll
        for (int e = 0; e < kEach; ++e) in[e] = {M::scales ? y[e] * a_.scale : y[e], 0, 1, Word(-0.0)};
        make_values_of<M>(in, row, y);
      }
      write_vectors(chunk + group * kEach, y);
    }
  }
  // The same of rows that begin anywhere: groups are the output's 16 bytes, the first and the last of which may be
  // others' too.
  template <class Out>
  __device__ __forceinline__ void store_unaligned(const Piece& p, Out* mine, const row_of_map<M, Word>& row) const {
    constexpr int kEach = 16 / sizeof(Out);
    const int lane = threadIdx.x % kWarp, left = __shfl_sync(kAllLanes, p.left, 0);
    Out* const chunk = mine - lane * V;
    const int before = bytes_before(chunk) / static_cast<int>(sizeof(Out));
    __syncwarp();
#pragma unroll 1
    for (int first = lane * kEach - before; first < left; first += kWarp * kEach) {
      const bool is_whole = first >= 0 && first + kEach <= left;
      Word y[kEach];
      if (is_whole) {
        values_from(p, first, row, y, [](int at) { return at; });
        write_vectors(chunk + first, y);
      } else {
        values_from(p, first, row, y, [&](int at) { return max(0, min(at, left - 1)); });
#pragma unroll
        for (int e = 0; e < kEach; ++e) {
          if (first + e >= 0 && first + e < left) chunk[first + e] = Narrow<Out, Word>::from(y[e]);
        }
      }
    }
  }
  // Results of elements in(first), in(first + 1), ... of a chunk.
  template <int Count, class Place>
  __device__ __forceinline__ void values_from(const Piece& p, int first, const row_of_map<M, Word>& row,
                                              Word (&y)[Count], Place in) const {
    if constexpr (keeps) {
      if (is_kept(p)) {
#pragma unroll
        for (int e = 0; e < Count; ++e) y[e] = this->kept_element(p, in(first + e));
        return make_values_of_kept(row, y);
      }
    }
    AtPlace<Word> at[Count];
#pragma unroll
    for (int e = 0; e < Count; ++e) {
      const Word x = this->element(p, in(first + e));
      at[e] = {M::scales ? x * a_.scale : x, 0, 1, Word(-0.0)};
      if constexpr (M::reads_second) at[e].second = this->second_element(p, in(first + e));
    }
    make_values_of<M>(at, row, y);
  }
  template <bool whole, class Out>
  __device__ __forceinline__ void store_kept(const Piece& p, Out* to, const row_of_map<M, Word>& row) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (!whole && p.left <= place_of(i)) break;
      Word y[V];
      this->read_kept(p, i, y);
#pragma unroll
      for (Word& number : y) number = M::kept_value(number, row);
      write_vectors(to + place_of(i), y);
    }
  }
  template <class Out>
  __device__ __forceinline__ void store_vector(const Piece& p, int i, Out* to, const row_of_map<M, Word>& row) const {
    Word y[V];
    make_values(p, i, row, y);
    write_vectors(to + place_of(i), y);
  }

  __device__ __forceinline__ bool is_kept(const Piece& p) const { return (kept_ >> p.number & 1) != 0; }
  __device__ __forceinline__ bool is_kept_and_common(const Piece& p, const row_of_map<M, Word>& row) const {
    if constexpr (keeps) return is_kept(p) && M::is_common_row(row);
    return false;
  }

  template <int Count>
  static __device__ __forceinline__ void make_values_of_kept(const row_of_map<M, Word>& row, Word (&y)[Count]) {
    if (M::is_common_row(row)) {
#pragma unroll
      for (Word& number : y) number = M::kept_value(number, row);
    } else {
#pragma unroll
      for (Word& number : y) number = value_of_kept<M>(number, row);
    }
  }

  // The results of load i.
  __device__ __forceinline__ void make_values(const Piece& p, int i, const row_of_map<M, Word>& row,
                                              Word (&y)[V]) const {
    if constexpr (keeps) {
      if (is_kept(p)) {
        this->read_kept(p, i, y);
        return make_values_of_kept(row, y);
      }
    }
    AtPlace<Word> in[V];
    read<For::Values>(p, i, in);
    make_values_of<M>(in, row, y);
  }

  unsigned kept_ = 0;  // a bit a piece: whether what was lifted stands in place of elements
};

}  // namespace torch_reduce::cuda

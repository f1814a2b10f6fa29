// What a lane makes of its pieces: the results.
#pragma once

#include "core/cuda/map/numbers.cuh"

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
class LanePlaces : public LaneNumbers<M, In, Word, places> {
  using Numbers = LaneNumbers<M, In, Word, places>;
  using Pieces = LanePieces<M, In, Word, places>;
  using Numbers::is_kept;
  using Pieces::a_;
  using Pieces::is_whole;
  using Pieces::place_of;
  using typename Numbers::For;

 public:
  using Numbers::are_vectors;
  using Numbers::is_short;
  using Numbers::keeps;
  using Numbers::kLoads;
  using Numbers::V;

  using Numbers::Numbers;

  __device__ __forceinline__ void store(const Piece& p, const MapStrides& place, const row_of_map<M, Word>& row) {
    const int64_t at = place.out + p.first * a_.along.out;
    if constexpr (Numbers::are_unaligned) {
      if (a_.out_type == dtype_of<In>::value) return store_shifted(p, static_cast<In*>(a_.out) + at, row);
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
  // Of rows that begin anywhere: lanes make results of their own elements, and write the output's aligned 16 bytes,
  // which begin with results of the lane before. The first and the last of those bytes may be others' too.
  __device__ __forceinline__ void store_shifted(const Piece& p, In* mine, const row_of_map<M, Word>& row) const {
    const int lane = threadIdx.x % kWarp, left = __shfl_sync(kAllLanes, p.left, 0);
    In* const chunk = mine - lane * V;
    const int bytes = bytes_before(chunk), before = bytes / static_cast<int>(sizeof(In));
    uint4 of_load{};
#pragma unroll 1
    for (int i = 0; i * kWarp * V < left + before; ++i) {
      const uint4 of_load_before = of_load;
      if (i < a_.loads) {
        Word y[V];
        make_values(p, i, row, y);
        write_vectors(reinterpret_cast<In*>(&of_load), y);
      }
      const uint4 group = join_with_lane_before<In>(of_load_before, of_load, bytes);
      const int first = i * kWarp * V + lane * V - before;
      if (first >= 0 && first + V <= left) {
        *reinterpret_cast<uint4*>(chunk + first) = group;
      } else {
        const auto results = bit_cast<Vector<In>>(group);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          if (first + e >= 0 && first + e < left) chunk[first + e] = results.e[e];
        }
      }
    }
  }
  // The same of results of another type, by groups of the output's 16 bytes, whose elements are looked for one by one.
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
    this->template read<For::Values>(p, i, in);
    make_values_of<M>(in, row, y);
  }
};

}  // namespace torch_reduce::cuda

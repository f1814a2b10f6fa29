// What a lane has of a row, from the loads to the results.
//
// It copies its elements to shared memory, where no other lane looks for them: there is room for many on the way, and
// registers are left to the arithmetic. A piece is a chunk of a row, or as many short rows as a warp has side by side.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/map/places.cuh"
#include "core/plan/gpu/map.h"
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
  int log_lanes, log_warps, warp_rows, warp_chunks, rows_per_cta;
  int loads;  // of a lane and a piece
  FastDivisor units;
  Meets meets;
  bool reads_vectors, writes_vectors;
};

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

// One lane's elements of a row of n, of a piece that begins at its place `first`.
struct Piece {
  int number;
  int64_t first;
  int left;  // of the row from there on, as far as the lane may have them

  __device__ __forceinline__ Piece(int piece, int64_t begin, int64_t n)
      : number(piece), first(begin), left(static_cast<int>(max(int64_t{0}, min(n - begin, int64_t{kChunk})))) {}
};

// What is known of a row's places when a kernel is compiled: nothing; or that they come in whole vectors, of input, of
// result and of parameters, the latter of the elements' type; and that there is one load of a lane.
enum class Places : uint8_t { Any, Vectors, OneVector };

template <class M, class In, class Word, Places kind>
class LanePlaces {
 public:
  using O = typename M::Reduces;
  using Acc = total_of<M, Word>;
  static constexpr int V = vector_width<In>, kLoadsOfChunk = kChunk / (kWarp * V);
  static constexpr int kLoads = kind == Places::OneVector ? 1 : kLoadsOfChunk;
  static constexpr int kSets = kLoadsOfChunk / kSteps;
  static constexpr bool are_vectors = kind != Places::Any, keeps = keeps_lifted<M, Word>;

  // `pieces` of a warp are in shared memory.
  __device__ __forceinline__ LanePlaces(const MapArgs<Word>& a, unsigned char* shared, int pieces)
      : a_(a), piece_bytes_(map_piece_bytes(M::reads_second, keeps, a.loads, sizeof(In), sizeof(Word))) {
    mine_ = shared + warp_of_cta() * pieces * piece_bytes_ + threadIdx.x % kWarp * 16;
  }

  // Begins to copy; wait_for_copies() ends it.
  __device__ __forceinline__ void load(const Piece& p, const MapStrides& place) {
    copy(p, static_cast<const In*>(a_.x) + place.x, a_.along.x, vectors(p));
    if constexpr (M::reads_second) {
      copy(p, static_cast<const In*>(a_.second) + place.second, a_.along.second, seconds(p));
    }
    prefetch(p, M::reads_weight ? a_.weight : nullptr);
    prefetch(p, M::reads_bias ? a_.bias : nullptr);
  }

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
  // Of load i, behind the first place.
  static constexpr __device__ __forceinline__ int place_of(int i) { return i * kWarp * V; }
  // Load i of the lane has vector i * kWarp; what is kept of it, kKept ones from i * kWarp * kKept on.
  static constexpr int kKept = V * static_cast<int>(sizeof(Word)) / 16;
  __device__ __forceinline__ uint4* vectors(const Piece& p) const {
    return reinterpret_cast<uint4*>(mine_ + p.number * piece_bytes_);
  }
  __device__ __forceinline__ uint4* seconds(const Piece& p) const { return vectors(p) + a_.loads * kWarp; }
  __device__ __forceinline__ uint4* kept(const Piece& p) const {
    return vectors(p) + a_.loads * kWarp * (M::reads_second ? 2 : 1);
  }

  // Whether the row has all places of the lane's loads, as most have: code without branches keeps more on the way.
  __device__ __forceinline__ bool is_whole(const Piece& p) const { return p.left >= place_of(kLoads - 1) + V; }

  __device__ __forceinline__ void copy(const Piece& p, const In* row, int64_t stride, uint4* to) const {
    row += p.first * stride;
    if constexpr (are_vectors) {
      if (is_whole(p)) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) copy16(to + i * kWarp, row + place_of(i));
      } else {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          if (place_of(i) < p.left) copy16(to + i * kWarp, row + place_of(i));
        }
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < a_.loads; ++i) {
        const int count = p.left - place_of(i);
        if (a_.reads_vectors && count >= V) {
          copy16(to + i * kWarp, row + place_of(i));
        } else {
          to[i * kWarp] = load_places(row + place_of(i) * stride, stride, count);
        }
      }
    }
  }

  // Where few CTAs read parameters, nobody else has brought them near.
  __device__ __forceinline__ void prefetch(const Piece& p, const void* parameters) const {
    if (parameters == nullptr || !is_small_grid()) return;
    const int64_t size = a_.parameters == dtype_of<In>::value ? sizeof(In) : sizeof(Word);
#pragma unroll 1
    for (int i = 0; i < a_.loads; ++i) {
      if (p.left <= place_of(i)) break;
      prefetch_to_l2(static_cast<const char*>(parameters) + (p.first + place_of(i)) * size);
    }
  }

  // What stands at the places of load i: what results need, or numbers.
  enum class For : uint8_t { Numbers, Values };
  template <For use>
  __device__ __forceinline__ void read(const Piece& p, int i, AtPlace<Word> (&to)[V]) const {
    constexpr bool weighs = use == For::Values ? M::reads_weight : M::weighs_numbers;
    Word x[V], other[V]{}, weight[V], shift[V];
    widen_vector<In>(vectors(p)[i * kWarp], x);
    if constexpr (M::reads_second) widen_vector<In>(seconds(p)[i * kWarp], other);
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
    if constexpr (are_vectors) {
      if (is_whole(p)) return reduce_loads<Which, true>(p, saved, lanes);
    }
    return reduce_loads<Which, false>(p, saved, lanes);
  }
  template <int Which, bool whole>
  __device__ __forceinline__ Acc reduce_loads(const Piece& p, const read_of_map<M, Word>& saved, int lanes) {
    Acc set[kSets];
    bool are_plain = true;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Acc root[1];
      are_plain &= combine_elements<O>(root, [&](auto& how, auto& to) {
        using Value = std::decay_t<decltype(to[0])>;
        Value leaf[V];
        if (!whole || s >= kLoads) {  // there may be none, but a tree is of something
#pragma unroll
          for (Value& l : leaf) l = nothing<Value>();
        }
#pragma unroll
        for (int i = s; i < kLoads; i += kSets) {
          if (!whole && p.left <= place_of(i)) break;
          lift_load<Which, whole>(p, saved, i, i == s, how, leaf);
        }
        to[0] = tree_by(how, leaf);
      });
      const bool has_any = s < kLoads && (whole || p.left > place_of(s));
      set[s] = has_any ? root[0] : O::template identity<Acc>();
    }
    if constexpr (keeps) kept_ |= static_cast<unsigned>(are_plain) << p.number;
    if (lanes == kWarp) return tree_across_warp_and_sets<O, kSets>(set);
    return tree_across_lanes<O>(set[0], 1, lanes);  // a short row has places of the first load alone
  }

  // What changes nothing, of what is combined, or of exponentials as they are.
  template <class Value>
  static __device__ __forceinline__ Value nothing() {
    if constexpr (std::is_same<Value, Acc>::value) {
      return O::template identity<Acc>();
    } else {
      return Value(0);
    }
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
    if constexpr (keeps && std::is_same<How, Plain<Acc>>::value) {
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        uint4 vector;
        memcpy(&vector, lifted + k * (V / kKept), 16);
        kept(p)[(i * kKept + k) * kWarp] = vector;
      }
    }
  }

  template <class Out>
  __device__ __forceinline__ void store_vectors(const Piece& p, Out* to, const row_of_map<M, Word>& row) const {
    // Parameters of all loads are on the way together; without them, results that come one by one leave more room for
    // other CTAs' loads.
    constexpr int kAtOnce = M::reads_weight ? kLoads : 1;
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
  template <class Out>
  __device__ __forceinline__ void store_vector(const Piece& p, int i, Out* to, const row_of_map<M, Word>& row) const {
    Word y[V];
    make_values(p, i, row, y);
    write_vectors(to + place_of(i), y);
  }

  // The results of load i.
  __device__ __forceinline__ void make_values(const Piece& p, int i, const row_of_map<M, Word>& row,
                                              Word (&y)[V]) const {
    if constexpr (keeps) {
      if ((kept_ >> p.number & 1) && M::is_common_row(row)) {
#pragma unroll
        for (int k = 0; k < kKept; ++k) {
          const uint4 vector = kept(p)[(i * kKept + k) * kWarp];
          memcpy(y + k * (V / kKept), &vector, 16);
        }
#pragma unroll
        for (int e = 0; e < V; ++e) y[e] = M::kept_value(y[e], row);
        return;
      }
    }
    AtPlace<Word> in[V];
    read<For::Values>(p, i, in);
#pragma unroll
    for (int e = 0; e < V; ++e) y[e] = value_of<M>(in[e], row);
  }

  const MapArgs<Word>& a_;
  unsigned char* mine_;
  int piece_bytes_;
  unsigned kept_ = 0;  // a bit a piece: whether what was lifted of it is kept
};

}  // namespace torch_reduce::cuda

// A lane's elements in shared memory, where no other lane looks for them: so there is room for many on the way, and
// registers are left to the arithmetic. A piece is a chunk of a row, or as many short rows as a warp has side by side.
#pragma once

#include "core/cuda/map/args.cuh"

namespace torch_reduce::cuda {

// One lane's elements of a row, of a piece that begins at its place `first`.
struct Piece {
  int number;
  int64_t first, channel;  // the first one of the row, where it has channels
  int left;                // of the row from there on, as far as the lane may have them

  // `left_of_row` may be less than none.
  __device__ __forceinline__ Piece(int piece, int64_t begin, int left_of_row, int64_t first_channel)
      : number(piece), first(begin), channel(first_channel), left(max(0, min(left_of_row, kChunk))) {}
};

template <class M, class In, class Word, Places places>
class LanePieces {
 public:
  static constexpr int V = vector_width<In>, kLoadsOfChunk = kChunk / (kWarp * V);
  static constexpr bool is_short = has_short_rows(places);
  static constexpr int kLoads = places == Places::OneVector ? 1 : is_short ? kLoadsOfShort : kLoadsOfChunk;
  static constexpr bool are_vectors = places != Places::Any, keeps = keeps_lifted<M, Word>;
  static_assert(!keeps || !M::reads_second, "a piece has room for one of both");

  // `pieces` of a warp are in shared memory.
  __device__ __forceinline__ LanePieces(const MapArgs<Word>& a, unsigned char* shared, int pieces)
      : a_(a), piece_bytes_(map_piece_bytes(M::reads_second, keeps, a.loads, sizeof(In), sizeof(Word))) {
    mine_ = shared + warp_of_cta() * pieces * piece_bytes_ + threadIdx.x % kWarp * 16;
  }

  // Begins to copy; wait_for_copies() ends it.
  __device__ __forceinline__ void load(const Piece& p, const MapStrides& place) {
    copy(p, static_cast<const In*>(a_.x) + place.x, a_.along.x, vectors(p));
    if constexpr (M::reads_second) {
      copy(p, static_cast<const In*>(a_.second) + place.second, a_.along.second, seconds(p));
    }
    fetch(p, M::reads_weight && !M::has_channels ? a_.weight : nullptr);
    fetch(p, M::reads_bias && !M::has_channels ? a_.bias : nullptr);
  }

  // What x becomes before all else. Waits for copies.
  static constexpr bool may_prepare = M::adds_second || M::takes_mask;
  __device__ __forceinline__ bool prepares() const { return M::adds_second || a_.mask != nullptr; }
  __device__ __forceinline__ void prepare(const Piece& p, const MapStrides& place) const {
    if constexpr (M::adds_second) {
      add_second(p, static_cast<In*>(a_.sum) + place.out + p.first * a_.along.out);
    } else {
      mask_out(p, a_.mask + place.mask + p.first * a_.along.mask);
    }
  }

 protected:
  // Of load i, behind the first place.
  __device__ __forceinline__ int place_of(int i) const { return is_short ? (i * V) << a_.log_lanes : i * kWarp * V; }
  // Whether the row has all places of the lane's loads, as most have: code without branches keeps more on the way.
  __device__ __forceinline__ bool is_whole(const Piece& p) const { return p.left >= place_of(kLoads - 1) + V; }

  // What there is of load i, of the first tensor and of the second one.
  __device__ __forceinline__ const uint4& vector(const Piece& p, int i) const { return vectors(p)[i * kWarp]; }
  __device__ __forceinline__ const uint4& second(const Piece& p, int i) const { return seconds(p)[i * kWarp]; }

  // What is made of load i may be kept in its place.
  __device__ __forceinline__ void keep(const Piece& p, int i, const Word (&x)[V]) const {
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      uint4 vector;
      memcpy(&vector, x + k * (V / kKept), 16);
      first_vector(p)[(k * a_.loads + i) * kWarp] = vector;
    }
  }
  __device__ __forceinline__ void read_kept(const Piece& p, int i, Word (&x)[V]) const {
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const uint4 vector = first_vector(p)[(k * a_.loads + i) * kWarp];
      memcpy(x + k * (V / kKept), &vector, 16);
    }
  }

  // Of a whole chunk, as many neighbours as are 16 bytes of the compute type: as read, and as kept.
  static constexpr int kGroup = 16 / static_cast<int>(sizeof(Word));
  __device__ __forceinline__ void read_group(const Piece& p, int group, Word (&x)[kGroup]) const {
    struct alignas(kGroup * sizeof(In)) Elements {
      In e[kGroup];
    };
    const auto elements = reinterpret_cast<const Elements*>(vectors(p) - threadIdx.x % kWarp)[group];
#pragma unroll
    for (int e = 0; e < kGroup; ++e) x[e] = widen<Word>(elements.e[e]);
  }
  __device__ __forceinline__ void read_kept_group(const Piece& p, int group, Word (&x)[kGroup]) const {
    const int vector = group / kKept, load = vector / kWarp;
    const uint4 kept = first_vector(
        p)[(group % kKept * a_.loads + load) * kWarp + vector % kWarp - static_cast<int>(threadIdx.x % kWarp)];
    memcpy(x, &kept, 16);
  }

  const MapArgs<Word>& a_;

 private:
  // Vectors of what is kept of a load.
  static constexpr int kKept = V * static_cast<int>(sizeof(Word)) / 16;
  __device__ __forceinline__ uint4* first_vector(const Piece& p) const {
    return reinterpret_cast<uint4*>(mine_ + p.number * piece_bytes_);
  }
  // What is kept of load i stands in its place, and in those before all elements.
  __device__ __forceinline__ uint4* vectors(const Piece& p) const {
    return first_vector(p) + (keeps ? (kKept - 1) * a_.loads * kWarp : 0);
  }
  __device__ __forceinline__ uint4* seconds(const Piece& p) const { return vectors(p) + a_.loads * kWarp; }

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

  __device__ __forceinline__ void fetch(const Piece& p, const void* parameters) const {
    if (parameters == nullptr || !a_.fetches_parameters) return;
    const int64_t size = a_.parameters == dtype_of<In>::value ? sizeof(In) : sizeof(Word);
#pragma unroll 1
    for (int i = 0; i < a_.loads; ++i) {
      if (p.left <= place_of(i)) break;
      prefetch_to_l2(static_cast<const char*>(parameters) + (p.first + place_of(i)) * size);
    }
  }

  __device__ __forceinline__ void add_second(const Piece& p, In* sum) const {
    wait_for_copies();
#pragma unroll are_vectors ? kLoads : 1
    for (int i = 0; i < kLoads; ++i) {
      const int count = p.left - place_of(i);
      if (count <= 0) break;
      Word x[V], y[V];
      widen_vector<In>(vectors(p)[i * kWarp], x);
      widen_vector<In>(seconds(p)[i * kWarp], y);
      Vector<In> v;
#pragma unroll
      for (int e = 0; e < V; ++e) v.e[e] = Narrow<In, Word>::from(x[e] + y[e]);
      const auto whole = bit_cast<uint4>(v);
      vectors(p)[i * kWarp] = whole;
      In* const to = sum + place_of(i) * a_.along.out;
      if (are_vectors || (a_.writes_vectors && count >= V)) {
        *reinterpret_cast<uint4*>(to) = whole;
      } else {
        store_places(whole, to, a_.along.out, count);
      }
    }
  }

  __device__ __forceinline__ void mask_out(const Piece& p, const bool* mask) const {
    bool keeps[kLoads][V];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (p.left <= place_of(i)) break;
      read_mask(mask + place_of(i) * a_.along.mask, a_.along.mask, p.left - place_of(i), a_.masks_vectors, keeps[i]);
    }
    wait_for_copies();
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (p.left <= place_of(i)) break;
      auto v = bit_cast<Vector<In>>(vectors(p)[i * kWarp]);
#pragma unroll
      for (int e = 0; e < V; ++e) {
        if (!keeps[i][e]) v.e[e] = Narrow<In, Word>::from(static_cast<Word>(M::kMasked));
      }
      vectors(p)[i * kWarp] = bit_cast<uint4>(v);
    }
  }

  unsigned char* mine_;
  int piece_bytes_;
};

}  // namespace torch_reduce::cuda

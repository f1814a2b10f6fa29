// A lane's elements in shared memory: so there is room for many on the way, and registers are left to the arithmetic.
// Other lanes of the warp look for them only behind __syncwarp(): where rows begin anywhere, and where results are
// wider than elements. A piece is a chunk of a row, or as many short rows as a warp has side by side.
#pragma once

#include "core/cuda/lane/copy_groups.cuh"
#include "core/cuda/lane/unaligned.cuh"
#include "core/cuda/map/args.cuh"

namespace torch_reduce::cuda {

// One lane's elements of a row, of a piece that begins at its place `first`.
struct Piece {
  int number;
  int64_t first, channel;  // the first one of the row, where it has channels
  int left;                // of the row from there on, as far as the lane may have them

  // `left_of_row` may be less than none.
  template <class Left>
  __device__ __forceinline__ Piece(int piece, int64_t begin, Left left_of_row, int64_t first_channel)
      : number(piece),
        first(begin),
        channel(first_channel),
        left(static_cast<int>(max(Left{0}, min(left_of_row, Left{kChunk})))) {}
};

// How many bytes lie before what begins at `p` in its aligned 16 bytes.
__device__ __forceinline__ int bytes_before(const void* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16);
}

template <class M, class In, class Word, Places places>
class LanePieces {
 public:
  static constexpr int V = vector_width<In>, kLoadsOfChunk = kChunk / (kWarp * V);
  static constexpr bool is_short = has_short_rows(places);
  static constexpr int kLoads = places == Places::OneVector ? 1 : is_short ? kLoadsOfShort : kLoadsOfChunk;
  static constexpr bool are_unaligned = places == Places::Unaligned;
  static constexpr bool are_vectors = places != Places::Any && !are_unaligned;
  static constexpr bool keeps = keep_lifted(map_types<M, Word>, places);
  static_assert(!keeps || !M::reads_second, "a piece has room for one of both");

  // `pieces` of a warp are in shared memory.
  __device__ __forceinline__ LanePieces(const MapArgs<Word>& a, unsigned char* shared, int pieces)
      : a_(a), piece_bytes_(map_piece_bytes(places, M::reads_second, keeps, a.loads, sizeof(In), sizeof(Word))) {
    mine_ = shared + warp_of_cta() * pieces * piece_bytes_ + threadIdx.x % kWarp * 16;
  }

  // Begins to copy a piece. To be called for all of them before wait_for() or settle().
  __device__ __forceinline__ void load(const Piece& p, const MapStrides& place) {
    copy(p, static_cast<const In*>(a_.x) + place.x, a_.along.x, vectors(p));
    if constexpr (M::reads_second) {
      copy(p, static_cast<const In*>(a_.second) + place.second, a_.along.second, seconds(p));
    }
    fetch(p, M::reads_weight && !M::has_channels ? a_.weight : nullptr);
    fetch(p, M::reads_bias && !M::has_channels ? a_.bias : nullptr);
    if constexpr (places != Places::Any) commit_copies();
  }

  // Waits for a piece, but not for the `later` ones behind it. Only where nothing prepares().
  template <class PlaceOfRow>
  __device__ __forceinline__ void wait_for(const Piece& p, PlaceOfRow place_of_row, int later) const {
    wait_for_copies_but(later);
    if constexpr (are_unaligned) align(p, place_of_row());
  }
  // Makes of a piece, once all copies are there, what it is to be before all else.
  static constexpr bool may_settle = are_unaligned || M::adds_second || M::takes_mask;
  __device__ __forceinline__ bool prepares() const { return M::adds_second || (M::takes_mask && a_.mask != nullptr); }
  __device__ __forceinline__ bool settles() const { return are_unaligned || prepares(); }
  __device__ __forceinline__ void settle(const Piece& p, const MapStrides& place) const {
    if constexpr (are_unaligned) align(p, place);
    if constexpr (M::adds_second) {
      add_second(p, static_cast<In*>(a_.sum) + place.out + p.first * a_.along.out);
    } else if constexpr (M::takes_mask) {
      if (a_.mask != nullptr) mask_out(p, a_.mask + place.mask + p.first * a_.along.mask);
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
  // Element `at` of a chunk, whoever has it.
  __device__ __forceinline__ Word element(const Piece& p, int at) const { return element_of(vectors(p), at); }
  __device__ __forceinline__ Word second_element(const Piece& p, int at) const { return element_of(seconds(p), at); }
  __device__ __forceinline__ Word kept_element(const Piece& p, int at) const {
    const uint4* const group = first_vector(p) - threadIdx.x % kWarp + at % V / kGroup * a_.loads * kWarp + at / V;
    return reinterpret_cast<const Word*>(group)[at % kGroup];
  }
  static __device__ __forceinline__ Word element_of(const uint4* mine, int at) {
    return widen<Word>(reinterpret_cast<const In*>(mine - threadIdx.x % kWarp)[at]);
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
  __device__ __forceinline__ uint4* seconds(const Piece& p) const {
    return vectors(p) + a_.loads * kWarp + are_unaligned;
  }

  __device__ __forceinline__ void copy(const Piece& p, const In* row, int64_t stride, uint4* to) const {
    row += places == Places::Any ? p.first * stride : p.first;  // else neighbours lie side by side
    if constexpr (are_unaligned) {
      copy_unaligned(p, row, to);
    } else if constexpr (are_vectors) {
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

  // By the aligned 16 bytes that hold a chunk's elements.
  __device__ __forceinline__ void copy_unaligned(const Piece& p, const In* mine, uint4* to) const {
    const int lane = threadIdx.x % kWarp;
    const char* const chunk = reinterpret_cast<const char*>(mine - lane * V);
    const int before = bytes_before(chunk);
    const int left = __shfl_sync(kAllLanes, p.left, 0) * static_cast<int>(sizeof(In));
    const int end = left > 0 ? before + left : 0;
#pragma unroll
    for (int i = 0; i <= kLoads; ++i) {
      const int at = (i * kWarp + lane) * 16;
      const int bytes = max(0, min(end - at, 16));
      if (i < a_.loads || (i == a_.loads && lane == 0)) {
        copy_some_of_16(to + i * kWarp, bytes > 0 ? chunk - before + at : static_cast<const char*>(a_.x), bytes);
      }
    }
  }
  // Each lane's own elements, where they would be if the chunk began at a multiple of 16 bytes.
  __device__ __forceinline__ void align(const Piece& p, const MapStrides& place) const {
    align_tensor(p, static_cast<const In*>(a_.x) + place.x, vectors(p));
    if constexpr (M::reads_second) align_tensor(p, static_cast<const In*>(a_.second) + place.second, seconds(p));
  }
  __device__ __forceinline__ void align_tensor(const Piece& p, const In* row, uint4* vector) const {
    const int before = bytes_before(row + p.first - threadIdx.x % kWarp * V);
    __syncwarp();  // other lanes' copies are there
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (i >= a_.loads) break;
      const uint4 mine = vector[i * kWarp], next = vector[i * kWarp + 1];
      uint32_t w[8] = {mine.x, mine.y, mine.z, mine.w, next.x, next.y, next.z, next.w};
      __syncwarp();
      vector[i * kWarp] = words_behind<In>(w, before);
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
    bool counts[kLoads][V];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (p.left <= place_of(i)) break;
      read_mask(mask + place_of(i) * a_.along.mask, a_.along.mask, p.left - place_of(i), a_.masks_vectors, counts[i]);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (p.left <= place_of(i)) break;
      auto v = bit_cast<Vector<In>>(vectors(p)[i * kWarp]);
#pragma unroll
      for (int e = 0; e < V; ++e) {
        if (!counts[i][e]) v.e[e] = Narrow<In, Word>::from(static_cast<Word>(M::kMasked));
      }
      vectors(p)[i * kWarp] = bit_cast<uint4>(v);
    }
  }

  unsigned char* mine_;
  int piece_bytes_;
};

}  // namespace torch_reduce::cuda

// The places of a CTA in shared memory, and what is copied between them and memory, in the order in which it lies
// there.
//
// A warp has a region of 1024 places: a chunk of a row, or some short rows of 2^log_width places each. What is read
// stands at the region's end, and what is written at its beginning, so that results of a step take no place of an
// element of a later one. Granules of 16 bytes are exchanged within each 128 bytes, so that neither lanes that stand
// side by side nor those that take eight neighbours each meet in a bank.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/lane/any_element.cuh"
#include "core/cuda/lane/index.cuh"
#include "core/cuda/lane/unaligned.cuh"
#include "core/plan/gpu/scan.h"

namespace torch_reduce::cuda {

constexpr int kGranule = 16;

__device__ __forceinline__ char* granule(char* region, int number) {
  return region + ((number ^ ((number >> 3) & 7)) * kGranule);
}
__device__ __forceinline__ char* place(char* region, int bytes) {
  return granule(region, bytes / kGranule) + bytes % kGranule;
}

// One side of the copies: the input or the output.
struct ScanSide {
  int64_t address, stride;  // of the first row's first element, and between elements of a row; in bytes
  int size;                 // of an element
  bool across;              // neighbours in memory are of different rows
  bool packed;              // a warp's rows fill its places, and follow one another in memory without a gap
  bool vectors;             // across, neighbours are vectors of 16 bytes, if the address is a multiple of that
};

struct ScanShape {
  int64_t n, outputs;
  int log_width, log_warps, log_chunks, slot_bytes;

  __device__ __forceinline__ int log_rows_of_warp() const { return 10 - log_width; }
};

// Which part of which rows a CTA has.
struct ScanTile {
  int64_t row0;      // the CTA's first row
  int64_t element0;  // the first element of its chunks

  // The first element of a warp's chunk, and its first row.
  __device__ __forceinline__ int64_t element_of(const ScanShape& s, int warp) const {
    return element0 + static_cast<int64_t>(warp & ((1 << s.log_chunks) - 1)) * kChunk;
  }
  __device__ __forceinline__ int64_t row_of(const ScanShape& s, int warp) const {
    return row0 + (static_cast<int64_t>(warp >> s.log_chunks) << s.log_rows_of_warp());
  }
};

// Bytes from the tensor's first element to a row's. Of several kept dims a call, as that is long.
inline __device__ __noinline__ int64_t offset_in_dims(const KeptIndex<Access::Strided>& kept, bool is_input,
                                                      int64_t row) {
  return is_input ? kept.in(row) : kept.out(row);
}
__device__ __forceinline__ int64_t offset_of_row(const KeptIndex<Access::Strided>& kept, const ScanSide& side,
                                                 bool is_input, int64_t row) {
  const int64_t in_dim = row * (is_input ? kept.dim[0].in_stride : kept.dim[0].out_stride);
  return (kept.dims <= 1 ? in_dim : offset_in_dims(kept, is_input, row)) * (is_input ? 1 : side.size);
}

// Calls f(bytes in the region, address) for 8 of the 32 places of a thread that the row has, f(0, 0) for those it
// lacks.
template <class F>
__device__ __forceinline__ void each_of_eight(const ScanShape& s, const ScanTile& tile, const ScanSide& side,
                                              const KeptIndex<Access::Strided>& kept, bool is_input, int round, F f) {
  const int lane = threadIdx.x % kWarp, log_rows = s.log_warps - s.log_chunks + s.log_rows_of_warp();
  int64_t known = -1, from = 0;
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    int warp = static_cast<int>(threadIdx.x) / kWarp, slot = (round * 8 + u) * kWarp + lane;
    if (side.across) {  // the rows of a CTA side by side, of one chunk
      const int i = (round * 8 + u) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
      const int row = i & ((1 << log_rows) - 1);
      warp = row >> s.log_rows_of_warp();
      slot = ((row & ((1 << s.log_rows_of_warp()) - 1)) << s.log_width) + (i >> log_rows);
    }
    const int64_t row = tile.row_of(s, warp) + (slot >> s.log_width);
    const int64_t element = tile.element_of(s, warp) + (slot & ((1 << s.log_width) - 1));
    const bool exists = row < s.outputs && element < s.n;
    if (exists && row != known) {
      known = row;
      from = side.address + offset_of_row(kept, side, is_input, row);
    }
    f(u, exists, warp, slot, from + element * side.stride);
  }
}

// A warp's elements, where they follow one another from a multiple of 16 bytes on.
struct ScanRun {
  bool exists;  // else they do not follow one another
  int elements;
  int64_t address;
};
__device__ __forceinline__ ScanRun run_of_warp(const ScanShape& s, const ScanTile& tile, const ScanSide& side,
                                               const KeptIndex<Access::Strided>& kept, bool is_input, int warp) {
  const bool is_short = s.log_width < 10;
  if (side.across || !(is_short ? side.packed : side.stride == side.size)) return {false, 0, 0};
  const int64_t row = tile.row_of(s, warp), element = tile.element_of(s, warp);
  const int64_t left = is_short ? (s.outputs - row) << s.log_width : row < s.outputs ? s.n - element : 0;
  if (left <= 0) return {true, 0, 0};
  const int64_t from = side.address + offset_of_row(kept, side, is_input, row) + element * side.stride;
  return {from % kGranule == 0, left < kChunk ? static_cast<int>(left) : kChunk, from};
}
// Copies an element, of the size in bytes.
__device__ __forceinline__ void copy_element(void* to, const void* from, int size) {
  if (size == 1) *static_cast<uint8_t*>(to) = *static_cast<const uint8_t*>(from);
  if (size == 2) *static_cast<uint16_t*>(to) = *static_cast<const uint16_t*>(from);
  if (size == 4) *static_cast<uint32_t*>(to) = *static_cast<const uint32_t*>(from);
  if (size == 8) *static_cast<uint64_t*>(to) = *static_cast<const uint64_t*>(from);
}

// Calls f(u, exists, first row of the CTA's, place in a row, address) for kAtOnce vectors of neighbouring rows.
template <int kOfVector, int kAtOnce, class F>
__device__ __forceinline__ void each_vector(const ScanShape& s, const ScanTile& tile, const ScanSide& side, int first,
                                            F f) {
  const int log_vectors = s.log_warps + s.log_rows_of_warp() - (kOfVector == 8 ? 3 : kOfVector == 4 ? 2 : 1);
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const int i = (first + u) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    const int row = (i & ((1 << log_vectors) - 1)) * kOfVector, element = i >> log_vectors;
    const int64_t address = side.address + (tile.row0 + row) * side.size + (tile.element0 + element) * side.stride;
    f(u, tile.row0 + row < s.outputs && tile.element0 + element < s.n, row, element, address);
  }
}
// Calls f(reference to the place, number in the vector) for the elements of one.
template <class Bits, class F>
__device__ __forceinline__ void each_place(const ScanShape& s, char* begin, int row, int element, F f) {
  constexpr int kOfVector = kGranule / sizeof(Bits);
  const int log_rows = s.log_rows_of_warp(), region = kChunk * s.slot_bytes;
#pragma unroll
  for (int e = 0; e < kOfVector; ++e) {
    const int r = row + e, slot = ((r & ((1 << log_rows) - 1)) << s.log_width) + element;
    f(*reinterpret_cast<Bits*>(place(begin + (r >> log_rows) * region, slot * static_cast<int>(sizeof(Bits)))), e);
  }
}
template <class Bits>
__device__ __forceinline__ void read_vectors(const ScanShape& s, const ScanTile& tile, const ScanSide& in,
                                             char* begin) {
  constexpr int kOfVector = kGranule / sizeof(Bits), kOfThread = kWarp / kOfVector,
                kAtOnce = kOfThread < 8 ? kOfThread : 8;
#pragma unroll 1
  for (int first = 0; first < kOfThread; first += kAtOnce) {
    uint4 v[kAtOnce];
    each_vector<kOfVector, kAtOnce>(s, tile, in, first, [&](int u, bool exists, int, int, int64_t address) {
      load16_if(exists, reinterpret_cast<const void*>(address), v[u]);
    });
    each_vector<kOfVector, kAtOnce>(s, tile, in, first, [&](int u, bool exists, int row, int element, int64_t) {
      if (!exists) return;
      Bits x[kOfVector];
      __builtin_memcpy(x, &v[u], sizeof(x));
      each_place<Bits>(s, begin, row, element, [&](Bits& to, int e) { to = x[e]; });
    });
  }
}
template <class Bits>
__device__ __forceinline__ void write_vectors(const ScanShape& s, const ScanTile& tile, const ScanSide& out,
                                              char* begin) {
  constexpr int kOfVector = kGranule / sizeof(Bits), kOfThread = kWarp / kOfVector,
                kAtOnce = kOfThread < 4 ? kOfThread : 4;
#pragma unroll 1
  for (int first = 0; first < kOfThread; first += kAtOnce) {
    each_vector<kOfVector, kAtOnce>(s, tile, out, first, [&](int, bool exists, int row, int element, int64_t address) {
      if (!exists) return;
      Bits x[kOfVector];
      each_place<Bits>(s, begin, row, element, [&](const Bits& from, int e) { x[e] = from; });
      uint4 v;
      __builtin_memcpy(&v, x, sizeof(v));
      *reinterpret_cast<uint4*>(address) = v;
    });
  }
}
__device__ __forceinline__ bool has_vectors(const ScanSide& side) {
  return side.vectors && side.address % kGranule == 0;
}

// From memory into the places, by the whole CTA; each warp may use its own once it is synchronised, or if neighbours
// are of different rows, the CTA.
__device__ __forceinline__ void read_places(const ScanShape& s, const ScanTile& tile, const ScanSide& in,
                                            const KeptIndex<Access::Strided>& kept, char* shared) {
  const int warp = warp_of_cta(), lane = threadIdx.x % kWarp;
  char* const begin = shared + kChunk * (s.slot_bytes - in.size);
  const int region = kChunk * s.slot_bytes;
  const ScanRun run = run_of_warp(s, tile, in, kept, true, warp);
  if (run.exists) {
    const int granules = run.elements * in.size / kGranule;
#pragma unroll 1
    for (int first = lane; first < granules; first += 8 * kWarp) {
      uint4 v[8];
#pragma unroll
      for (int u = 0; u < 8; ++u) {
        const int64_t from = run.address + (first + u * kWarp) * kGranule;
        load16_if(first + u * kWarp < granules, reinterpret_cast<const void*>(from), v[u]);
      }
#pragma unroll
      for (int u = 0; u < 8; ++u) {
        const int g = first + u * kWarp;
        if (g < granules) *reinterpret_cast<uint4*>(granule(begin + warp * region, g)) = v[u];
      }
    }
    const int rest = granules * kGranule + lane * in.size;
    if (run.elements < kChunk && rest < run.elements * in.size) {
      copy_element(place(begin + warp * region, rest), reinterpret_cast<const void*>(run.address + rest), in.size);
    }
    return;
  }
  if (has_vectors(in)) {
    if (in.size == 2) return read_vectors<uint16_t>(s, tile, in, begin);
    if (in.size == 4) return read_vectors<uint32_t>(s, tile, in, begin);
    return read_vectors<uint64_t>(s, tile, in, begin);
  }
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
    uint64_t bits[8] = {};
    char* to[8];
    each_of_eight(s, tile, in, kept, true, round, [&](int u, bool exists, int of_warp, int slot, int64_t address) {
      to[u] = exists ? place(begin + of_warp * region, slot * in.size) : nullptr;
      load_bits<uint8_t>(exists && in.size == 1, address, bits[u]);
      load_bits<uint16_t>(exists && in.size == 2, address, bits[u]);
      load_bits<uint32_t>(exists && in.size == 4, address, bits[u]);
      load_bits<uint64_t>(exists && in.size == 8, address, bits[u]);
    });
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      if (to[u] != nullptr) copy_element(to[u], &bits[u], in.size);
    }
  }
}

// And back. Whoever filled the places has been waited for.
__device__ __forceinline__ void write_places(const ScanShape& s, const ScanTile& tile, const ScanSide& out,
                                             const KeptIndex<Access::Strided>& kept, char* shared) {
  const int warp = warp_of_cta(), lane = threadIdx.x % kWarp, region = kChunk * s.slot_bytes;
  const ScanRun run = run_of_warp(s, tile, out, kept, false, warp);
  if (run.exists) {
    const int granules = run.elements * out.size / kGranule;
#pragma unroll 4
    for (int g = lane; g < granules; g += kWarp) {
      *reinterpret_cast<uint4*>(run.address + g * kGranule) =
          *reinterpret_cast<const uint4*>(granule(shared + warp * region, g));
    }
    const int rest = granules * kGranule + lane * out.size;
    if (run.elements < kChunk && rest < run.elements * out.size) {
      copy_element(reinterpret_cast<void*>(run.address + rest), place(shared + warp * region, rest), out.size);
    }
    return;
  }
  if (has_vectors(out)) {
    if (out.size == 2) return write_vectors<uint16_t>(s, tile, out, shared);
    if (out.size == 4) return write_vectors<uint32_t>(s, tile, out, shared);
    return write_vectors<uint64_t>(s, tile, out, shared);
  }
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
    each_of_eight(s, tile, out, kept, false, round, [&](int, bool exists, int of_warp, int slot, int64_t to) {
      if (exists) {
        copy_element(reinterpret_cast<void*>(to), place(shared + of_warp * region, slot * out.size), out.size);
      }
    });
  }
}

}  // namespace torch_reduce::cuda

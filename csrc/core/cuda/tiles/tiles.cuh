// Tiles: reduced dims that lie in memory in another order than in the shape. A CTA reads some chunks of the order along
// memory into shared memory, and its warps reduce them from there.
//
// A line is `inner` logically consecutive elements. Lanes stand on neighbouring lines, which are neighbours in memory,
// and walk along them. A row is a whole number of lines: all of an output, or less where memory's neighbours are found
// among rows only; then a CTA takes several. Of each it takes one aligned power-of-two range of chunks.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/block/tree.cuh"
#include "core/cuda/lane/chunk_vectors.cuh"
#include "core/cuda/tiles/index.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class Acc>
struct TilesArgs {
  const void* data;
  int64_t n, row_elements, units_of_row;
  int inner, rows_per_cta;
  int log_slots, log_chunks;  // chunks of a row that a CTA takes: in all, and at a time
  int along;                  // threads behind each other on a line; the others stand side by side
  int pad_shift;              // after so many elements in shared memory there is a gap of 16 bytes
  int tile_bytes;
  Sink<Acc> sink;
  TileRows rows;
  ReducedIndex<Access::Strided> lines, columns;
};

// The range of a row that a CTA takes.
struct TileRange {
  int64_t base, output;
  int64_t first;  // element of the output's that comes next
  int64_t line;   // where that lies, ...
  int in_line;    // ... and where in the line
  int left;       // elements from there on
};

// From global to shared memory: elements of four or eight bytes past the registers, others in two steps.
template <class In>
__device__ __forceinline__ void fetch(In& x, In* to, const In* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(In) >= 4) {
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(sizeof(In)) : "memory");
    return;
  }
#endif
  x = *from;
}
template <class In>
__device__ __forceinline__ void keep(In* to, const In& x) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(In) >= 4) return;
#endif
  *to = x;
}
template <class O, class In, class Acc>
__global__ void __launch_bounds__(tuning::kTilesThreads, tuning::kTilesCtasAtOnce)
    tiles(const __grid_constant__ TilesArgs<Acc> a) {
  using Part = ChunkVectors<O, In, Acc>;
  constexpr int V = vector_width<In>, kBatch = tuning::kTilesBatch;
  __shared__ TileRange range[tuning::kTilesRows];
  extern __shared__ __align__(16) unsigned char shared[];
  In* const tile = reinterpret_cast<In*>(shared);
  uint32_t* const column = reinterpret_cast<uint32_t*>(shared + a.tile_bytes);
  constexpr int kWords = sizeof(Acc) / sizeof(uint32_t);
  Acc* const slots = reinterpret_cast<Acc*>(column + (a.inner + kWords - 1) / kWords * kWords);
  const auto padded = [&](int p) { return p + (p >> a.pad_shift) * V; };

  const int warp = warp_of_cta(), lane = threadIdx.x % kWarp;
  const int64_t strip = quotient(blockIdx.x, a.units_of_row), unit = blockIdx.x - strip * a.units_of_row;
  const int64_t unit_elements = static_cast<int64_t>(kChunk) << a.log_slots;
  if (threadIdx.x < a.rows_per_cta) {
    const int64_t index = strip * a.rows_per_cta + threadIdx.x;
    TileRange r{};
    if (index < a.rows.count) {
      const auto p = a.rows.at(index);
      const int64_t begin = p.row * a.row_elements;
      r.base = p.base;
      r.first = (quotient(begin + unit_elements - 1, unit_elements) + unit) * unit_elements;
      r.output = p.output + (r.first / unit_elements) * a.sink.unit_stride;
      r.line = quotient(r.first, a.inner);
      r.in_line = static_cast<int>(r.first - r.line * a.inner);
      if (r.first < min(begin + a.row_elements, a.n)) r.left = static_cast<int>(min(unit_elements, a.n - r.first));
    }
    range[threadIdx.x] = r;
  }
  for (int i = threadIdx.x; i < a.inner; i += blockDim.x) column[i] = static_cast<uint32_t>(a.columns.at(i));
  __syncthreads();
  wait_for_previous_kernel();

  const int row_tile = kChunk << a.log_chunks;
  const int lines = ((row_tile + a.inner - 2) / a.inner + 1) * a.rows_per_cta;
  const int side = blockDim.x / a.along, i0 = threadIdx.x / side, line0 = threadIdx.x - i0 * side;
#pragma unroll 1
  for (int done = 0; done < 1 << a.log_slots; done += 1 << a.log_chunks) {
    // Element `i` of a line, for begin <= i < end, goes to `place` + i of the tile.
    const In* source = nullptr;
    int place = 0, begin = 0, end = 0;
    const auto find = [&](int line) {
      int s = 0, below = line;
      if (a.rows_per_cta > 1) {
        below = line / a.rows_per_cta;
        s = line - below * a.rows_per_cta;
      }
      const TileRange& r = range[s];
      const int first = below * a.inner - r.in_line;
      place = s * row_tile + first;
      begin = max(-first, 0);
      end = line < lines ? min(min(r.left, row_tile) - first, a.inner) : 0;
      if (begin < end) source = static_cast<const In*>(a.data) + r.base + a.lines.at(r.line + below);
    };
    // Batches along a line, or, where lines are short, from line to line.
    if (a.inner < kBatch) {
      constexpr int kHalf = kBatch / 2;  // places take registers too
#pragma unroll 1
      for (int first = line0; first < lines && i0 < a.along; first += kHalf * side) {
        In x[kHalf];
        int at[kHalf];
#pragma unroll
        for (int u = 0; u < kHalf; ++u) {
          find(first + u * side);
          at[u] = i0 >= begin && i0 < end ? padded(place + i0) : -1;
          if (at[u] >= 0) fetch(x[u], tile + at[u], source + column[i0]);
        }
#pragma unroll
        for (int u = 0; u < kHalf; ++u) {
          if (at[u] >= 0) keep(tile + at[u], x[u]);
        }
      }
    } else {
#pragma unroll 1
      for (int line = line0; line < lines && i0 < a.along; line += side) {
        find(line);
#pragma unroll 1
        for (int i = i0; i < end; i += kBatch * a.along) {
          // Together, as a warp that diverges takes both ways.
          const bool whole = all_agree(begin == 0 && i + (kBatch - 1) * a.along < end);
          const auto go = [&](const auto& wanted, const auto& to) {
            In x[kBatch];
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
              const int e = i + u * a.along;
              if (wanted(e)) fetch(x[u], to(place + e), source + column[e]);
            }
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
              const int e = i + u * a.along;
              if (wanted(e)) keep(to(place + e), x[u]);
            }
          };
          const auto some = [&](int e) { return e >= begin && e < end; };
          const auto all = [](int) { return true; };
          const auto with_gaps = [&](int p) { return tile + padded(p); };
          const auto densely = [&](int p) { return tile + p; };
          if (!whole) {
            go(some, with_gaps);
          } else if (a.pad_shift < kNoGaps) {
            go(all, with_gaps);
          } else {
            go(all, densely);
          }
        }
      }
    }
    if constexpr (sizeof(In) >= 4) wait_for_copies();
    __syncthreads();
    a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();
#pragma unroll 1
    for (int slot = warp; slot < a.rows_per_cta << a.log_chunks; slot += blockDim.x / kWarp) {
      const int s = slot >> a.log_chunks, chunk = slot - (s << a.log_chunks);
      const int left = range[s].left - chunk * kChunk;
      Part part;
#pragma unroll
      for (int u = 0; u < Part::kLoads; ++u) {
        const int e = (u * kWarp + lane) * V;
        auto v = bit_cast<Vector<In>>(*reinterpret_cast<const uint4*>(tile + padded(slot * kChunk + e)));
        if (e + V > left) {
#pragma unroll
          for (int k = 0; k < V; ++k) {
            if (e + k >= left) v.e[k] = identity_element<In, O>();
          }
        }
        part.part[u] = bit_cast<uint4>(v);
      }
      Acc set[Part::kSets];
      part.reduce_leaves(Source{}, 0, kChunk, set);
      const Acc v = tree_across_warp_and_sets<O, Part::kSets>(set);
      if (lane == 0) slots[(s << a.log_slots) + done + chunk] = v;
    }
    __syncthreads();
    if (threadIdx.x < a.rows_per_cta) {
      TileRange& r = range[threadIdx.x];
      r.first += row_tile;
      r.left -= row_tile;
      r.line = quotient(r.first, a.inner);
      r.in_line = static_cast<int>(r.first - r.line * a.inner);
    }
    __syncthreads();
  }
  Acc v;
  const int log_lanes = tree_over_slots<O>(slots, a.rows_per_cta << a.log_slots, a.log_slots, v);
  const int s = lane >> log_lanes;
  const bool first = (lane & ((1 << log_lanes) - 1)) == 0;
  // What was left before, is left but for what has been taken.
  if (warp > 0 || !first || s >= a.rows_per_cta || range[s].left + static_cast<int>(unit_elements) <= 0) return;
  deliver<O, LikelyOut<O, In, Acc>>(a.sink, range[s].output, v);
}

}  // namespace torch_reduce::cuda

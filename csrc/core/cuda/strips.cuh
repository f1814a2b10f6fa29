// Strips: rows of at least a thousand logically consecutive elements each, side by side in memory. A CTA walks along
// some neighbouring rows at a time, and keeps their leaves in registers.
//
// A thread stays on one row and takes every 256th element of it, for each of some leaves; the elements of a leaf come
// one after the other, so that it combines them as they come. Where a row's chunks begin is the row's own
// matter, and so is which leaf a thread has; but in a block of 1024 elements each row has the end of just one chunk,
// whose leaves then meet in shared memory, a warp for each row.
//
// A row's last chunk ends in the next row, which is read on to there. So of a row a CTA takes the units (aligned
// power-of-two ranges of chunks) that begin in its range of the row.
#pragma once

#include "rows.cuh"
#include "tile_index.cuh"

namespace torch_reduce::cuda {

template <class Acc>
struct StripsArgs {
  const void* data;
  int64_t n, row_elements;
  int64_t range, ranges;  // elements of a row that a CTA takes, a multiple of a chunk, and CTAs for a row
  int rows_per_cta, log_slots;
  Sink<Acc> sink;
  TileRows rows;
  ReducedIndex<Access::Strided> lines, columns;  // a row's first element, and those behind it
};

struct StripRow {
  int64_t begin, end;  // the units' chunks
  int64_t first;       // the row's first element
  int64_t output;
};

template <class O, class In, class Acc>
__global__ void __launch_bounds__(tuning::kStripsRows* tuning::kStripsThreads, 2)
    strips(const __grid_constant__ StripsArgs<Acc> a) {
  constexpr int kThreads = tuning::kStripsThreads, kLeavesOfThread = kLeaves / kThreads;
  constexpr int kAtOnce = tuning::kStripsLoads / kSteps / (sizeof(Acc) == 8 ? 2 : 1);
  constexpr int kPitch = kLeaves + 16 / static_cast<int>(sizeof(Acc));
  __shared__ StripRow row[tuning::kStripsRows];
  using Units = Counter<O, Acc, tuning::kStripsMostLogSlots>;
  extern __shared__ __align__(16) unsigned char shared[];
  uint32_t* const column = reinterpret_cast<uint32_t*>(shared);
  Acc* const leaves = reinterpret_cast<Acc*>(column + kChunk);                        // [row][leaf]
  Units* const counter = reinterpret_cast<Units*>(leaves + a.rows_per_cta * kPitch);  // [row]: chunks of its unit

  const int warp = warp_of_cta(), lane = threadIdx.x % kWarp;
  const int64_t strip = quotient(blockIdx.x, a.ranges), c0 = (blockIdx.x - strip * a.ranges) * a.range;
  const int64_t c1 = min(c0 + a.range, a.row_elements), unit_elements = static_cast<int64_t>(kChunk) << a.log_slots;
  const int mine = threadIdx.x % a.rows_per_cta, j0 = threadIdx.x / a.rows_per_cta;
  const bool idle = j0 >= kThreads;

  const In *source = nullptr, *next_row = nullptr;
  int64_t from = 0, to = 0;  // elements of the row, and of the next, that the thread reads
  int shift = 0;             // how far into a chunk the row's range begins
  {
    const int64_t index = strip * a.rows_per_cta + mine;
    StripRow r{0, 0, 0, 0};
    if (!idle && index < a.rows.count) {
      const auto p = a.rows.at(index);
      const In* output = static_cast<const In*>(a.data) + p.base;
      r.first = p.row * a.row_elements;
      r.output = p.output;
      r.begin = quotient(r.first + c0 + unit_elements - 1, unit_elements) << a.log_slots;
      r.end = min(quotient(r.first + c1 + unit_elements - 1, unit_elements) << a.log_slots, chunk_count(a.n));
      from = r.begin * kChunk - r.first;
      to = min(r.end * kChunk, a.n) - r.first;
      shift = static_cast<int>((r.first + c0) % kChunk);
      source = output + a.lines.at(p.row);
      next_row = source;
      if (to > a.row_elements) next_row = output + a.lines.at(p.row + 1);
    }
    if (j0 == 0) {
      row[mine] = r;
      counter[mine].count = 0;
    }
  }
  // Evenly spaced elements of a row lie alike in every block.
  const bool even = a.columns.dims <= 1;
  const int64_t stride = a.columns.dim[0].stride;
  if (even) {
    for (int c = threadIdx.x; c < kChunk; c += blockDim.x) column[c] = static_cast<uint32_t>(c * stride);
  }
  __syncthreads();
  int64_t ends = 0;  // of all rows' chunks
  for (int s = 0; s < a.rows_per_cta; ++s) {
    if (row[s].end > row[s].begin) ends = max(ends, row[s].end * kChunk - row[s].first);
  }
  Acc leaf[kLeavesOfThread];
#pragma unroll
  for (auto& l : leaf) l = O::template identity<Acc>();
  wait_for_previous_kernel();
  a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();

#pragma unroll 1
  for (int64_t block = c0; block < ends; block += kChunk) {
    if (!even) {
      for (int c = threadIdx.x; c < kChunk; c += blockDim.x) {
        const int64_t i = block + c;
        column[c] = static_cast<uint32_t>(a.columns.at(i < a.row_elements ? i : i - a.row_elements));
      }
    }
    __syncthreads();  // the columns are there, and the last chunks' leaves have been read
    const bool whole = block >= from && block + kChunk <= min(to, a.row_elements);
    const In* const here = source + (even ? block * stride : 0);
    const In* const there = next_row + (even ? (block - a.row_elements) * stride : 0);
    const int first = static_cast<int>(max(from - block, int64_t{0}));
    const int last = static_cast<int>(min(max(to - block, int64_t{0}), int64_t{kChunk}));
    const int row_end = static_cast<int>(min(a.row_elements - block, int64_t{kChunk}));
#pragma unroll
    for (int part = 0; part < kLeavesOfThread; part += kAtOnce) {
      In x[kSteps][kAtOnce];
      const int c = j0 + part * kThreads;
      if (whole) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
#pragma unroll
          for (int u = 0; u < kAtOnce; ++u) x[step][u] = here[column[c + step * kLeaves + u * kThreads]];
        }
      } else {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
#pragma unroll
          for (int u = 0; u < kAtOnce; ++u) {
            const int i = c + step * kLeaves + u * kThreads;
            x[step][u] = identity_element<In, O>();
            if (i >= first && i < last) x[step][u] = (i < row_end ? here : there)[column[i]];
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        // The leaf's chunk ends before the step `end`, where the next one's begins.
        const int at = shift + c + u * kThreads, end = max(kChunk - at + kLeaves - 1, 0) / kLeaves;
        Acc v = leaf[part + u], ended = v;
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          const Acc e = widen<Acc>(x[step][u]);
          v = step == end ? e : O::combine(v, e);
          if (step + 1 == end) ended = v;
        }
        leaf[part + u] = end == kSteps ? O::template identity<Acc>() : v;
        if (!idle) leaves[mine * kPitch + at % kLeaves] = ended;
      }
    }
    __syncthreads();
    // The chunks that ended in this block.
#pragma unroll 1
    for (int s = warp; s < a.rows_per_cta; s += blockDim.x / kWarp) {
      const StripRow r = row[s];
      const int64_t chunk = (r.first + block) / kChunk;
      if (chunk < r.begin || chunk >= r.end) continue;
      constexpr int kEach = kLeaves / kWarp;
      Acc each[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) each[i] = leaves[s * kPitch + lane * kEach + i];
      const Acc v = tree_across_warp<O>(tree<O>(each));
      if (lane != 0) continue;
      counter[s].push(v);
      if ((chunk + 1) % (1 << a.log_slots) != 0 && chunk + 1 != r.end) continue;
      deliver<O, LikelyOut<In, Acc>>(a.sink, r.output + (chunk >> a.log_slots) * a.sink.unit_stride,
                                     counter[s].result());
      counter[s].count = 0;
    }
  }
}

}  // namespace torch_reduce::cuda

// Strips: rows of at least a thousand logically consecutive elements each, side by side in memory. A CTA walks along
// some neighbouring rows, a block of 256 elements of each at a time: it reads the block along memory and leaves it in
// shared memory by rows, where a warp has some rows and adds each one's block to its 256 leaves, in registers.
//
// Where a row's chunks begin is the row's own matter. So a lane's leaves are numbered by places in the block, which
// are leaves that begin elsewhere, and go to where the tree wants them when a chunk ends. It ends within a block,
// whose other elements are the first ones of the next chunk.
//
// A row's last chunk ends in the next row, which is read on to there. So of a row a CTA takes the units (aligned
// power-of-two ranges of chunks) that begin in its range of the row. What is read of other chunks on the way goes into
// sums that nobody delivers.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/vector.cuh"
#include "core/cuda/tiles/index.cuh"
#include "core/cuda/tiles/strip_block.cuh"

namespace torch_reduce::cuda {

template <class Acc>
struct StripsArgs {
  const void* data;
  int64_t n, row_elements;
  int64_t range, ranges;  // elements of a row that a CTA takes, a multiple of a chunk, and CTAs for a row
  int rows_per_cta, log_slots;
  bool vector;  // 16-byte loads, of neighbouring rows
  Sink<Acc> sink;
  TileRows rows;
  ReducedIndex<Access::Strided> lines, columns;  // a row's first element, and those behind it
};

struct StripRow {
  int64_t begin, end;  // the units' chunks
  int64_t first;       // the row's first element
  int64_t output;
  int64_t address;
};

template <class O, class In, class Acc>
__global__ void __launch_bounds__(tuning::strips_rows(sizeof(Acc)) * tuning::kStripsThreads, 2)
    strips(const __grid_constant__ StripsArgs<Acc> a) {
  constexpr int V = vector_width<In>, kThreads = tuning::kStripsThreads, kRows = tuning::strips_rows(sizeof(Acc));
  constexpr int kSets = kLeaves / (kWarp * V), kRowsOfWarp = kWarp / kThreads;
  using Block = StripBlock<O, In, Acc>;
  using Units = Counter<O, Acc, tuning::kStripsMostLogSlots>;
  __shared__ StripRow row[kRows];
  __shared__ __align__(16) uint32_t column[kLeaves];  // where the block's elements lie, from the first one on
  extern __shared__ __align__(16) unsigned char shared[];
  In* const staged = reinterpret_cast<In*>(shared);
  const int warp = warp_of_cta(), lane = threadIdx.x % kWarp, rows_of_warps = blockDim.x / kThreads;
  const int of_warp = Block::place_of_vector(warp * kRowsOfWarp, lane);
  Acc* const turned = reinterpret_cast<Acc*>(staged + rows_of_warps * kLeaves) + warp * TurnedLeaves<Acc, V>::kPlaces;
  Units* const counter = reinterpret_cast<Units*>(  // of a row: chunks of its unit
      reinterpret_cast<Acc*>(staged + rows_of_warps * kLeaves) + blockDim.x / kWarp * TurnedLeaves<Acc, V>::kPlaces);

  const int64_t strip = quotient(blockIdx.x, a.ranges), c0 = (blockIdx.x - strip * a.ranges) * a.range;
  const int64_t c1 = min(c0 + a.range, a.row_elements), unit_elements = static_cast<int64_t>(kChunk) << a.log_slots;
  // Places in the row count from c0 on: of those, numbers of 32 bits are enough.
  constexpr int64_t kMost = int64_t{1} << 29;
  Block block(a.rows_per_cta, static_cast<int>(min(a.row_elements - c0, kMost)));
  int end = 0;  // of the row's last chunk
  {
    const int64_t first = strip * a.rows_per_cta;
    const bool exists = first + block.row < a.rows.count;
    const auto p = a.rows.at(exists ? first + block.row : first);
    StripRow r{0, 0, p.row * a.row_elements, p.output, 0};
    if (exists) {
      r.begin = quotient(r.first + c0 + unit_elements - 1, unit_elements) << a.log_slots;
      r.end = min(quotient(r.first + c1 + unit_elements - 1, unit_elements) << a.log_slots, chunk_count(a.n));
    }
    if (r.end > r.begin) end = static_cast<int>(r.end * kChunk - r.first - c0);
    const int64_t output = reinterpret_cast<int64_t>(a.data) + p.base * static_cast<int64_t>(sizeof(In));
    const bool last = r.first + a.row_elements >= a.n;
    r.address = output + a.lines.at(p.row) * static_cast<int64_t>(sizeof(In));
    block.here = r.address;
    block.there = last ? r.address : output + a.lines.at(p.row + 1) * static_cast<int64_t>(sizeof(In));
    block.readable = block.row_end + (last ? 0 : static_cast<int>(min(a.row_elements, kMost)));
    if (threadIdx.x < a.rows_per_cta) {
      row[threadIdx.x] = r;
      counter[threadIdx.x].count = 0;
    }
  }
  end = __reduce_max_sync(kAllLanes, end);  // every warp has all of the rows

  // Evenly spaced elements of a row lie alike in every block.
  const bool even = a.columns.dims <= 1;
  const int64_t stride = a.columns.dim[0].stride;
  const auto find_columns = [&](int64_t first) {
    for (int c = threadIdx.x; c < kLeaves; c += blockDim.x) {
      const int64_t i = first + c;
      column[c] = static_cast<uint32_t>(even ? c * stride : a.columns.at(i < a.row_elements ? i : i - a.row_elements));
    }
  };
  find_columns(c0);
  __syncthreads();
  const int64_t step = even ? stride * static_cast<int64_t>(sizeof(In)) : 0;
  int vectors_end = 0;
  if (a.vector) {
    block.find_group(a.rows_per_cta, row);
    vectors_end = block.row_end;
  }
  block.move_on(c0 * step);

  int shift[kRowsOfWarp];  // how far into a chunk the range of each of the warp's rows begins
  int next_end = 0;        // of their chunks, or before it
  Acc leaf[kRowsOfWarp][kSets][V];
#pragma unroll
  for (int r = 0; r < kRowsOfWarp; ++r) {
    const int s = warp * kRowsOfWarp + r;
    shift[r] = s < a.rows_per_cta ? static_cast<int>((row[s].first + c0) % kChunk) : 0;
#pragma unroll
    for (auto& set : leaf[r]) {
#pragma unroll
      for (auto& l : set) l = O::template identity<Acc>();
    }
  }
  const auto from_shared = [&](int r, Acc(&e)[kSets][V]) {
#pragma unroll
    for (int set = 0; set < kSets; ++set)
      widen_all<O, In>(Block::vector_of(staged, of_warp, r, set * kWarp), Source{}, e[set]);
  };
  const auto add = [&](int r) {
    Acc e[kSets][V];
    from_shared(r, e);
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int k = 0; k < V; ++k) leaf[r][set][k] = O::combine(leaf[r][set][k], e[set][k]);
    }
  };
  wait_for_previous_kernel();
  a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();

  // A block's loads are under way while the one before is added.
#pragma unroll 1
  for (int at = -kLeaves; at < end; at += kLeaves) {
    const int next = at + kLeaves;
    if (at >= 0) {
      __syncthreads();  // the last block has been read, and so have the columns
      block.stage(staged, next <= vectors_end);
      if (!even) find_columns(c0 + next);
      __syncthreads();
    }
    if (next < end) {
      next + kLeaves <= vectors_end ? block.load_vectors(column) : block.load_elements(next, step, column);
      block.move_on(kLeaves * step);
    }
    if (at < 0) continue;

    if (next < next_end) {
#pragma unroll
      for (int r = 0; r < kRowsOfWarp; ++r) add(r);
      continue;
    }
    Acc of_chunk = O::template identity<Acc>();  // of the chunk that ends in row `lane` of the warp's
    bool ends_here = false;
    next_end = at + 2 * kChunk;
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      const int begin = (shift[r] + at) & (kChunk - 1), rest = kChunk - begin;  // of the block's first chunk
      next_end = min(next_end, at + (rest > kLeaves ? rest : rest + kChunk));
      if (rest > kLeaves) {
        add(r);
        continue;
      }
      Acc e[kSets][V], ended[kSets][V];
      from_shared(r, e);
      if (rest == kLeaves) {
#pragma unroll
        for (int set = 0; set < kSets; ++set) {
#pragma unroll
          for (int k = 0; k < V; ++k) {
            ended[set][k] = O::combine(leaf[r][set][k], e[set][k]);
            leaf[r][set][k] = O::template identity<Acc>();
          }
        }
      } else {
#pragma unroll
        for (int set = 0; set < kSets; ++set) {
          const int of_lane = rest - (set * kWarp + lane) * V;
#pragma unroll
          for (int k = 0; k < V; ++k) {
            const Acc sum = O::combine(leaf[r][set][k], e[set][k]);
            ended[set][k] = k < of_lane ? sum : leaf[r][set][k];
            leaf[r][set][k] = k < of_lane ? O::template identity<Acc>() : e[set][k];
          }
        }
        TurnedLeaves<Acc, V>::turn(turned, ended, begin);
      }
      Acc set[kSets];
#pragma unroll
      for (int i = 0; i < kSets; ++i) set[i] = tree<O>(ended[i]);
      const Acc v = tree_across_warp_and_sets<O, kSets>(set);
      if (lane == r) of_chunk = v, ends_here = true;
    }
    const int s = warp * kRowsOfWarp + lane;
    if (ends_here && s < a.rows_per_cta) {
      const StripRow r = row[s];
      const int64_t chunk = (r.first + c0 + at) / kChunk;
      if (chunk >= r.begin && chunk < r.end) {
        counter[s].push(of_chunk);
        if ((chunk + 1) % (1 << a.log_slots) == 0 || chunk + 1 == r.end) {
          const int64_t unit = chunk >> a.log_slots;
          deliver<O, LikelyOut<O, In, Acc>>(a.sink, r.output + unit * a.sink.unit_stride, counter[s].result());
          counter[s].count = 0;
        }
      }
    }
  }
}

}  // namespace torch_reduce::cuda

// Scans: a warp has a chunk of a row, or some short rows; a CTA some chunks of a row, or the same chunk of some rows.
// What is read is read once, and once written.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/scan/chunk.cuh"
#include "core/cuda/scan/look_back.cuh"

namespace torch_reduce::cuda {

template <class O, class Acc>
struct ScanArgs {
  Source source;
  DType out_type;
  uint64_t mirror;  // as Target's
  ScanSide in, out;
  ScanShape shape;
  uint32_t chunks, tiles, log_parts;
  uint32_t* ticket;
  LookBack<O, Acc> look_back;
  KeptIndex<Access::Strided> kept;
};

// v = left op v, of all elements that a lane has.
template <class In, class Value, int Steps>
__device__ __forceinline__ void combine_all(const Value& left, Value (&v)[Steps][kNeighbours]) {
#pragma unroll
  for (auto& step : v) {
#pragma unroll
    for (Value& x : step) x = In::combine(left, x);
  }
}

// Complete subtrees of the CTA's chunks, in shared memory: level k has 2^(log_warps - k) nodes.
template <class Acc>
__device__ __forceinline__ Acc* subtrees(Acc* begin, int log_warps, int level) {
  return begin + ((2 << log_warps) - ((2 << log_warps) >> level));
}

template <class O, class Acc>
__global__ void __launch_bounds__(tuning::scan_warps(sizeof(Acc)) * kWarp, tuning::kScanCtasAtOnce)
    scan(const __grid_constant__ ScanArgs<O, Acc> a) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ uint32_t unit_of_cta;
  const ScanShape& s = a.shape;
  const int warp = warp_of_cta(), lane = threadIdx.x % kWarp, in_row = warp & ((1 << s.log_chunks) - 1);
  char* const regions = reinterpret_cast<char*>(shared);
  char* const region = regions + warp * kChunk * s.slot_bytes;
  Acc* const nodes = reinterpret_cast<Acc*>(regions + (kChunk << s.log_warps) * s.slot_bytes);
  Acc* const before = nodes + (2 << s.log_warps) + (warp >> s.log_chunks) * a.log_parts;

  wait_for_previous_kernel();
  uint32_t unit = blockIdx.x;
  if (a.log_parts > 0) {
    if (threadIdx.x == 0) unit_of_cta = atomicAdd(a.ticket, 1u);
    __syncthreads();
    unit = unit_of_cta;
  }
  // The same part of all rows comes before the next one.
  const uint32_t part = unit / a.tiles;
  const int log_rows = s.log_warps - s.log_chunks + s.log_rows_of_warp();
  const ScanTile tile{static_cast<int64_t>(unit - part * a.tiles) << log_rows,
                      (static_cast<int64_t>(part) << s.log_chunks) * kChunk};
  read_places(s, tile, a.in, a.kept, regions);
  a.in.across ? __syncthreads() : __syncwarp();
  allow_next_kernel_if_small();

  const int64_t row = tile.row_of(s, warp);
  const int64_t begin = tile.element_of(s, warp), rest = s.n - begin;
  const int left = row >= s.outputs ? 0 : rest < kChunk ? static_cast<int>(rest) : kChunk;
  const bool looks_back = a.log_parts > 0 && in_row == 0 && row < s.outputs;
  char* const elements = region + kChunk * (s.slot_bytes - a.in.size);
  using Number = number_of<Acc>;
  using All = InChunk<O, Acc>;
  using Near = NearInChunk<O, word_of<Acc>>;
  const bool is_short = s.log_width < 10;
  constexpr bool kMayBeNear = O::adds_exponentials;
  bool is_near = false;
  if constexpr (kMayBeNear) {
    is_near = may_be_in_chunk<O, Number, Near>(elements, a.source, s.log_width, left);
  }
  const auto by_values = [&](const auto& f) {
    if constexpr (kMayBeNear) {
      if (is_near) return f(Near{});
    }
    return f(All{});
  };
  if (a.chunks > 1) {
    Acc value =
        by_values([&](auto by) { return total_of_chunk<O, Number, decltype(by)>(elements, a.source, begin, left); });
    if (s.log_chunks > 0) {
      if (lane == 0) nodes[warp] = value;
      __syncthreads();
      if (warp == 0) {
        Acc node = lane < 1 << s.log_warps ? nodes[lane] : O::template identity<Acc>();
        for (int k = 1; k <= s.log_chunks; ++k) {
          node = O::combine(node, exchange(node, 1 << (k - 1)));
          const bool is_first = (lane & ((1 << k) - 1)) == 0 && lane < 1 << s.log_warps;
          if (is_first) subtrees(nodes, s.log_warps, k)[lane >> k] = node;
        }
      }
      __syncthreads();
      value = subtrees(nodes, s.log_warps, s.log_chunks)[warp >> s.log_chunks];
    }
    if (looks_back) a.look_back.leave_value(value, part, row);
  }

  const auto wait_for_left = [&] {
    if (a.log_parts == 0) return;
    if (looks_back) a.look_back.wait_for_others(part, row, before);
    s.log_chunks > 0 ? __syncthreads() : __syncwarp();
  };
  // The subtrees of chunks left of this one, the nearest first, and of parts.
  const auto for_each_left = [&](const auto& f) {
    for (int bits = in_row; bits != 0; bits &= bits - 1) {
      const int k = __ffs(bits) - 1;
      f(subtrees(nodes, s.log_warps, k)[(warp >> k) - 1]);
    }
    for (uint32_t bits = part; bits != 0; bits &= bits - 1) f(before[__ffs(bits) - 1]);
  };
  const auto write_prefixes = [&](auto by) {
    using In = decltype(by);
    const int levels = is_short ? s.log_width : kTreeLevels;
    ChunkPrefixes<O, Acc, In> prefixes;
    prefixes.start();
    // Steps that a lane has in registers at once. The first of them are made before the wait for what stands left.
    constexpr int kHeld = sizeof(typename In::Value) == 4 ? kSteps : 1;
#pragma unroll 1
    for (int held = 0; held < kSteps; held += kHeld) {
      const auto place_of = [&](int step) { return (held + step) * kLeaves + lane * kNeighbours; };
      const auto number_of = [&](int step) {
        return is_short ? place_of(step) & ((1 << s.log_width) - 1) : place_of(step);
      };
      const auto exists = [&](int step) { return (held + step) * kLeaves < (is_short && left > 0 ? kChunk : left); };
      typename In::Value v[kHeld][kNeighbours];
#pragma unroll
      for (int step = 0; step < kHeld; ++step) {
        if (!exists(step)) break;
        read_lifted<O, Number, In>(elements, place_of(step), a.source, begin, number_of(step), left, v[step]);
        if (is_short) prefixes.start();
        prefixes.step(v[step], levels);
      }
      if (held == 0 && !kMayBeNear) wait_for_left();
      if (!exists(0)) break;
      In in;
      for_each_left([&](const Acc& subtree) { combine_all<In>(in.left(subtree), v); });
      __syncwarp();  // results may take the places of elements of these steps
#pragma unroll
      for (int step = 0; step < kHeld; ++step) {
        if (!exists(step)) break;
        Finished<O, Acc> result[kNeighbours];
#pragma unroll
        for (int e = 0; e < kNeighbours; ++e) {
          result[e] = in.finish(v[step][e], begin + number_of(step) + e + 1, a.mirror);
        }
        write_numbers<O>(region, place_of(step), a.out_type, result);
      }
    }
  };
  if constexpr (kMayBeNear) {  // the values depend on what stands left
    wait_for_left();
    for_each_left([&](const Acc& subtree) { is_near = is_near && Meeting<Acc>::may(subtree); });
  }
  by_values(write_prefixes);
  a.out.across ? __syncthreads() : __syncwarp();
  write_places(s, tile, a.out, a.kept, regions);
}

}  // namespace torch_reduce::cuda

// Unaligned short rows, one behind the other: a warp copies the memory that several rows fill to shared
// memory by aligned 16-byte loads, and takes the elements from there.
//
// A lane takes eight neighbours of a row, and a warp several rows at once, up to 64 elements: there, few lanes meet in
// a bank. Longer rows go to the whole warp two at a time, whose lanes read neighbours.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/vector.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class Acc>
struct StagedRowsArgs {
  Source source;
  int64_t n, outputs;
  KeptIndex<Access::Contiguous> kept;
  int log_lanes;  // of a row
  int rows_per_warp;
  int warp_bytes;  // of shared memory: the rows, and 16 bytes at either end
  Sink<Acc> sink;
};

// The bytes from `from` to `to`, to the same places of shared memory from the last multiple of 16 before `from` on.
// Nothing is read from `end` on.
template <class In>
__device__ __forceinline__ void stage(const In* from, const In* to, const In* end, unsigned char* staged) {
  constexpr int V = vector_width<In>, kAtOnce = 8;
  const In* begin = from - reinterpret_cast<uintptr_t>(from) % 16 / sizeof(In);
  const int vectors = static_cast<int>((to - begin + V - 1) / V);
  const int whole = static_cast<int>(min(static_cast<int64_t>(vectors), (end - begin) / V));
#pragma unroll 1
  for (int i0 = threadIdx.x % kWarp; i0 < whole; i0 += kAtOnce * kWarp) {
    uint4 v[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int i = i0 + u * kWarp;
      if (i < whole) v[u] = load16(begin + i * V);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int i = i0 + u * kWarp;
      if (i < whole) reinterpret_cast<uint4*>(staged)[i] = v[u];
    }
  }
  const int last = whole * V + static_cast<int>(threadIdx.x) % kWarp;
  if (whole < vectors && begin + last < end) reinterpret_cast<In*>(staged)[last] = begin[last];
}

// A row of at most 8 << log_lanes elements, by so many lanes: in each of them. With `pairs`, n is even and the row
// begins at a multiple of two elements of two bytes, which are read together: half of the accesses, whose lanes meet in
// banks.
template <class O, class In, class Acc>
__device__ __forceinline__ Acc reduce_in_group(const Source& source, const In* row, int n, int log_lanes, bool pairs) {
  constexpr int kElements = tuning::kShortRowsElements;
  const int first = (threadIdx.x & ((1 << log_lanes) - 1)) * kElements;
  Acc leaf[kElements];
  if constexpr (sizeof(In) == 2) {
    static_assert(vector_width<In> == kElements, "a lane's elements are 16 bytes");
    if (pairs) {
      const uint4 none = identity_vector<In, O>(source);
      const auto* words = reinterpret_cast<const uint32_t*>(row + first);
      const auto word = [&](int i, uint32_t otherwise) { return first + 2 * i < n ? words[i] : otherwise; };
      widen_all<O, In>({word(0, none.x), word(1, none.y), word(2, none.z), word(3, none.w)}, source, leaf);
      return tree_across_lanes<O>(tree<O>(leaf), 1, 1 << log_lanes);
    }
  }
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    leaf[e] = first + e < n ? O::lift(widen<Acc>(adapted<O, In>(row[first + e], source))) : O::template identity<Acc>();
  }
  return tree_across_lanes<O>(tree<O>(leaf), 1, 1 << log_lanes);
}

// Two rows by the warp, of at most 32 * Sets leaves each: the first one's result in even lanes, the other's in odd
// ones.
template <class O, class In, class Acc, int Sets>
__device__ __forceinline__ Acc reduce_two(const Source& source, const In* first, const In* second, int n) {
  const int lane = threadIdx.x % kWarp;
  const auto value = [&](const In* row, int k) { return O::lift(widen<Acc>(adapted<O, In>(row[k], source))); };
  Acc v[2 * Sets];
#pragma unroll
  for (int s = 0; s < Sets; ++s) {
    const int k = s * kWarp + lane;
    v[s] = v[Sets + s] = O::template identity<Acc>();
    if (k < n) {
      v[s] = value(first, k);
      v[Sets + s] = value(second, k);
    }
  }
#pragma unroll 1
  for (int step = kLeaves; step < n; step += kLeaves) {
#pragma unroll
    for (int s = 0; s < Sets; ++s) {
      const int k = step + s * kWarp + lane;
      if (k < n) {
        v[s] = O::combine(v[s], value(first, k));
        v[Sets + s] = O::combine(v[Sets + s], value(second, k));
      }
    }
  }
  return trees_across_warp_and_sets<O, 2, Sets>(v);
}

template <class O, class In, class Acc, bool InGroups>
__global__ void __launch_bounds__(tuning::kShortRowsWarps* kWarp)
    staged_rows(const __grid_constant__ StagedRowsArgs<Acc> a) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), n = static_cast<int>(a.n);
  unsigned char* staged = shared + warp * a.warp_bytes;
  const In* source = static_cast<const In*>(a.source.data);
  const int64_t row0 = (static_cast<int64_t>(blockIdx.x) * tuning::kShortRowsWarps + warp) * a.rows_per_warp;
  if (row0 >= a.outputs) return;
  const int rows = static_cast<int>(min(static_cast<int64_t>(a.rows_per_warp), a.outputs - row0));
  const In* from = source + a.kept.in(row0);

  wait_for_previous_kernel();
  stage(from, from + a.kept.in(rows - 1) + n, source + a.kept.in(a.outputs - 1) + n, staged);
  allow_next_kernel_if_small();
  __syncwarp();
  const In* first = reinterpret_cast<const In*>(staged + reinterpret_cast<uintptr_t>(from) % 16);
  const int stride = static_cast<int>(a.kept.in_stride);
  auto send = [&](int r, Acc v) { write<O, LikelyOut<O, In, Acc>>(a.sink, (row0 + r) * a.sink.output_stride, v); };
  if constexpr (InGroups) {
    const bool pairs = (n | stride) % 2 == 0 && reinterpret_cast<uintptr_t>(from) % 4 == 0;
#pragma unroll 2
    for (int r0 = 0; r0 < rows; r0 += kWarp >> a.log_lanes) {
      const int r = r0 + (lane >> a.log_lanes);
      const Acc v = reduce_in_group<O, In, Acc>(a.source, first + min(r, rows - 1) * stride, n, a.log_lanes, pairs);
      if (r < rows && (lane & ((1 << a.log_lanes) - 1)) == 0) send(r, v);
    }
  } else {
    // A lane keeps the result of one of 32 rows, which then are stored together.
    Acc mine = O::template identity<Acc>();
#pragma unroll 1
    for (int r = 0; r < rows; r += 2) {
      const In* row = first + r * stride;
      const In* next = r + 1 < rows ? row + stride : row;
      const Acc v = n <= 4 * kWarp ? reduce_two<O, In, Acc, 4>(a.source, row, next, n)
                                   : reduce_two<O, In, Acc, 8>(a.source, row, next, n);
      const int of_batch = r % kWarp;
      if (lane / 2 == of_batch / 2) mine = v;
      if ((of_batch == kWarp - 2 || r + 2 >= rows) && r - of_batch + lane < rows) send(r - of_batch + lane, mine);
    }
  }
}

}  // namespace torch_reduce::cuda

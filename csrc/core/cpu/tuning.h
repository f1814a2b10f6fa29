// Measured constants of the CPU kernels, each with its reason. Results do not depend on any of them.
#pragma once

#include <cstdint>

namespace torch_reduce::cpu {

// Up to here one thread is done before the pool is awake.
constexpr int64_t kParallelAbove = 131072;

// The elements of a task: fewer are not worth handing out.
constexpr int64_t kGrain = 32768;

// More tasks than threads, so that a thread that the system takes away does not hold up the others for long.
constexpr int64_t kTasksPerThread = 4;

// Compute-type bytes of a strip of columns: the partials of the lower tree levels stay in the first cache, and
// what one row gives is long enough (4 KiB of fp32) for the hardware prefetcher.
constexpr int64_t kStripBytes = 4096;

// Fewer columns than this do not fill a vector, so their leaves are transposed before the tree.
constexpr int64_t kNarrowColumns = 16;

// From here on a loop over the columns of some rows is long enough to be run row by row; below, rows that follow one
// another in memory are taken as one array.
constexpr int64_t kManyColumns = 256;

// Chunks that are reduced as columns leave a partial each: 4 MiB of fp32.
constexpr int64_t kMostChunkColumns = int64_t{1} << 20;

// Below this a contiguous segment is too short for the hardware prefetcher, and costs an address translation.
constexpr int64_t kPageBytes = 4096;

// Prefetching lets one core use more of the memory (fp32: 1.1 times, bf16: 1.5 times), and costs a tenth where data
// come from a cache anyway. 2-byte types take longer for the same bytes, and want it from further ahead.
constexpr int64_t kPrefetchAbove = int64_t{24} << 20;
constexpr __attribute__((always_inline)) inline int64_t prefetch_distance(int64_t element_size) {
  return element_size <= 2 ? 8192 : 2048;
}

// Chunks of contiguous 4-byte elements, on a machine with 1 MB of second and 32 MB of third cache: rolled_chunk() is
// half as fast again up to 512 KB, 1.1 times as fast at 1 MB, 1.07 up to 8 MB, and a fifth slower at 32 MB; prefetching
// is a fourth slower at 24 MB, and no faster before 64 MB.
constexpr int64_t kRollUpTo = int64_t{8} << 20, kPrefetchChunksAbove = int64_t{64} << 20;

// The same with less than AVX-512, on a machine with 512 KB of second and 32 MB of third cache: torch.sum took 0.64 of
// our time for 16 MB, 0.62 for 32 and 0.76 for 256 where nothing was fetched, or 2048 bytes ahead; now 0.99, 0.84,
// 0.83.
constexpr int64_t kPrefetchChunksAboveAvx2 = int64_t{12} << 20, kChunksPrefetchAvx2 = 8192;

// A chunk of several columns is read in four places at once, and wants it from further ahead still.
constexpr int64_t kChunkPrefetch = 12288;

}  // namespace torch_reduce::cpu

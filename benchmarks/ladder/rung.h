// How a rung is called: all that the rungs share. Everything else stands in the rung's own file, again and again, so
// that each can be read alone.
//
// A rung is a function `cudaError_t ladder_<name>(const T* in, T* out, float* scratch, int n, cudaStream_t stream)`:
//   in       n elements, starting at a multiple of 16 bytes; never written to. 1 <= n <= 2^29
//   out      the result: one element, or n where the rung's work has n results. Its content before does not matter
//   scratch  scratch memory: max(n / 64, 4096) floats. Zero when a rung gets it for the first time; afterwards it is as
//            that rung left it
//   stream   all work goes there and nothing waits for it, so that a call can be captured into a graph
#pragma once

#include <cuda_runtime.h>

#define LADDER_API extern "C" __attribute__((visibility("default")))

// Defines ladder_<name>_blocks_per_sm(): how many blocks of the rung's kernel an SM holds at the same time. Registers,
// shared memory and threads each set a limit, and the lowest counts. The kernel stands last as its name may hold
// commas.
#define LADDER_OCCUPANCY(name, threads, ...)                                         \
  LADDER_API int ladder_##name##_blocks_per_sm() {                                   \
    int blocks = 0;                                                                  \
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, __VA_ARGS__, threads, 0); \
    return blocks;                                                                   \
  }

// How the rungs in sum/ combine their blocks. A kernel leaves one partial sum for each block, a block taking `tile`
// elements; the same kernel is launched again on the partial sums, until a single block is left and writes the result.
// combine/ has other ways, and several_launches there spells this one out.
template <class T>
cudaError_t launch_until_one(void (*kernel)(const T*, T*, int), int threads, int tile, const T* in, T* out, T* scratch,
                             int n, cudaStream_t stream) {
  while (n > tile) {
    const int blocks = (n + tile - 1) / tile;
    kernel<<<blocks, threads, 0, stream>>>(in, scratch, n);
    in = scratch;
    n = blocks;
    scratch += (blocks + 7) / 8 * 8;  // the next input, too, starts at a multiple of 16 bytes
  }
  kernel<<<1, threads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, attribute, device);
  return value;
}

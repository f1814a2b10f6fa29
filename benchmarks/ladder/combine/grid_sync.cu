// Changes against two_pass: one kernel, with a barrier of the whole grid between the passes (cooperative groups).
//
// It reads like the code of one block. But every block waits for the slowest one, while tickets let all but the last
// leave; all blocks must be resident at the same time, so the grid may not be larger than the GPU holds; and it needs a
// cooperative launch.
#include <cooperative_groups.h>

#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 640;

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

__device__ float block_sum(float v) {  // thread 0 has the result
  __shared__ float warps[kThreads / 32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) v = warp_sum(threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0);
  return v;
}

// A thread's share of the input: the grid walks through it with four 16-byte loads in flight for each thread.
__device__ float thread_sum(const float* in, int n) {
  const float4* vectors = reinterpret_cast<const float4*>(in);
  const int count = n / 4, stride = gridDim.x * kThreads;
  int i = blockIdx.x * kThreads + threadIdx.x;
  float sum = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const float4 a = vectors[i], b = vectors[i + stride], c = vectors[i + 2 * stride], d = vectors[i + 3 * stride];
    sum += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
    sum += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
  }
  for (; i < count; i += stride) sum += (vectors[i].x + vectors[i].y) + (vectors[i].z + vectors[i].w);
  if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += in[4 * count + threadIdx.x];
  return sum;
}

__global__ void grid_sync(const float* in, float* out, float* partials, int n) {
  float sum = block_sum(thread_sum(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x > 0) return;
  sum = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += kThreads) sum += partials[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}

}  // namespace

LADDER_OCCUPANCY(grid_sync, kThreads, grid_sync)

LADDER_API cudaError_t ladder_grid_sync(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  if (!device_attribute(cudaDevAttrCooperativeLaunch)) return cudaErrorNotSupported;
  const int resident = device_attribute(cudaDevAttrMultiProcessorCount) * ladder_grid_sync_blocks_per_sm();
  const int blocks = resident < kMostBlocks ? resident : kMostBlocks;
  void* arguments[] = {&in, &out, &scratch, &n};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_sync), blocks, kThreads, arguments, 0, stream);
}

// Changes against two_pass: no second launch. Every block leaves its partial sum, then takes a ticket; the block that
// draws the last one knows that all others are done, and sums the partials.
//
// The fence before the ticket makes the partial visible to the GPU before the ticket is; the one after it keeps the
// last block from reading partials early. Whoever is last, the partials are summed in the same order: the bits repeat.
// atomicInc wraps around to zero at the last ticket, so the counter is ready for the next call. But two calls at the
// same time must not share it: it belongs into scratch memory of the call, never into a global variable.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 640;

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

__global__ void last_block_fence(const float* in, float* out, float* partials, unsigned* tickets, int n) {
  __shared__ bool last;
  float sum = block_sum(thread_sum(in, n));
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  sum = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += kThreads) sum += partials[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}

}  // namespace

LADDER_OCCUPANCY(last_block_fence, kThreads, last_block_fence)

LADDER_API cudaError_t ladder_last_block_fence(const float* in, float* out, float* scratch, int n,
                                               cudaStream_t stream) {
  unsigned* tickets = reinterpret_cast<unsigned*>(scratch + kBlocks);
  last_block_fence<<<kBlocks, kThreads, 0, stream>>>(in, out, scratch, tickets, n);
  return cudaGetLastError();
}

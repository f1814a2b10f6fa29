// Changes against two_pass: every block adds its sum to the result by atomicAdd, and there is no second kernel.
//
// 640 additions queue up at one address, some of them while other blocks still read. But blocks arrive in any order, so
// the bits may differ from run to run; the result must be zero before, which is a launch again (a memset); and an
// atomicAdd on fp32 in global memory flushes subnormal values to zero.
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

__global__ void atomic_block(const float* in, float* out, int n) {
  const float sum = block_sum(thread_sum(in, n));
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

}  // namespace

LADDER_OCCUPANCY(atomic_block, kThreads, atomic_block)

LADDER_API cudaError_t ladder_atomic_block(const float* in, float* out, float*, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  atomic_block<<<kBlocks, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

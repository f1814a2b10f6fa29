// Blocks combined by a second launch: 640 blocks of 256 threads leave a partial sum each, and one block of the same
// kernel sums the 640.
//
// The end of a kernel is the one barrier across blocks that always holds, so nothing is shared and nothing needs to be
// zero before. The order of additions is fixed, so the bits repeat. The price is a second launch, whose one block reads
// 2.5 KiB with the whole GPU waiting.
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

__global__ void two_pass(const float* in, float* out, int n) {
  const float sum = block_sum(thread_sum(in, n));
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

}  // namespace

LADDER_OCCUPANCY(two_pass, kThreads, two_pass)

LADDER_API cudaError_t ladder_two_pass(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  two_pass<<<kBlocks, kThreads, 0, stream>>>(in, scratch, n);
  two_pass<<<1, kThreads, 0, stream>>>(scratch, out, kBlocks);
  return cudaGetLastError();
}

// Blocks combined by as many launches as it takes: every launch leaves one partial sum for each 4,096 values, and the
// next one sums those. Two buffers take turns as input and output (ping-pong), since blocks of one launch may not
// overwrite what others still read.
//
// The first rung of its group, as the simplest that is right for any n and repeats its bits: the tree's shape depends
// on n alone. 2^29 elements take three launches, and each one waits for the one before it.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;
constexpr int kTile = 4 * kLoads * kThreads;

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

__global__ void several_launches(const float* in, float* out, int n) {
  const float4* vectors = reinterpret_cast<const float4*>(in);
  const int count = n / 4, t = threadIdx.x;
  const int first = blockIdx.x * (kThreads * kLoads) + t;
  float4 v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = first + k * kThreads;
    v[k] = i < count ? vectors[i] : float4{0, 0, 0, 0};
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  if (blockIdx.x == 0 && t < n % 4) sum += in[4 * count + t];
  sum = block_sum(sum);
  if (t == 0) out[blockIdx.x] = sum;
}

}  // namespace

LADDER_OCCUPANCY(several_launches, kThreads, several_launches)

LADDER_API cudaError_t ladder_several_launches(const float* in, float* out, float* scratch, int n,
                                               cudaStream_t stream) {
  float* ping = scratch;
  float* pong = scratch + ((n + kTile - 1) / kTile + 3) / 4 * 4;  // 16-byte aligned, as every input must be
  while (n > kTile) {
    const int blocks = (n + kTile - 1) / kTile;
    several_launches<<<blocks, kThreads, 0, stream>>>(in, ping, n);
    in = ping;
    n = blocks;
    ping = pong;
    pong = const_cast<float*>(in);
  }
  several_launches<<<1, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

// The wrong way to vectorise: every thread takes two neighbouring elements, by two scalar loads, against one float2
// load.
//
// "Two elements a thread" is not what makes vector loads good. With two scalar loads, neighbouring threads are two
// elements apart: each load is strided, touches 8 sectors where 4 would hold its data, and the second one asks for the
// same 8 again. The caches hide most of that from memory, not from the load units. One float2 load asks once.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kPairs = 4;
constexpr int kTile = kThreads * kPairs;  // pairs that a block takes at a time

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

__device__ void add_block(float* out, float v) {
  __shared__ float warps[kThreads / 32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  v = warp_sum(threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

// Resident blocks take tiles in turn.
__global__ void pairs_scalar(const float* in, float* out, int n) {
  float sum = 0;
  for (int first = blockIdx.x * kTile + threadIdx.x; first < (n + 1) / 2; first += gridDim.x * kTile) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const int i = 2 * (first + k * kThreads);
      sum += (i < n ? in[i] : 0) + (i + 1 < n ? in[i + 1] : 0);
    }
  }
  add_block(out, sum);
}

__global__ void pairs_float2(const float* in, float* out, int n) {
  const float2* pairs = reinterpret_cast<const float2*>(in);
  float sum = 0;
  for (int first = blockIdx.x * kTile + threadIdx.x; first < n / 2; first += gridDim.x * kTile) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const int i = first + k * kThreads;
      const float2 pair = i < n / 2 ? pairs[i] : float2{0, 0};
      sum += pair.x + pair.y;
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 2) sum += in[n - 1];
  add_block(out, sum);
}

int resident_blocks() { return device_attribute(cudaDevAttrMultiProcessorCount) * 2048 / kThreads; }

}  // namespace

LADDER_OCCUPANCY(pairs_scalar, kThreads, pairs_scalar)
LADDER_OCCUPANCY(pairs_float2, kThreads, pairs_float2)

LADDER_API cudaError_t ladder_pairs_scalar(const float* in, float* out, float*, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  pairs_scalar<<<resident_blocks(), kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

LADDER_API cudaError_t ladder_pairs_float2(const float* in, float* out, float*, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  pairs_float2<<<resident_blocks(), kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

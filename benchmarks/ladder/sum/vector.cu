// Changes against shuffle: a load takes 16 bytes, four elements, and a thread has four such loads in flight.
//
// A quarter of the load instructions for the same bytes, and twice the bytes in flight for each thread. 16-byte loads
// need addresses that are multiples of 16: the last n % 4 elements are read one by one.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

__global__ void vector(const float* in, float* out, int n) {
  __shared__ float shared[kThreads / 32];
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
  sum = warp_sum(sum);
  if (t % 32 == 0) shared[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  sum = warp_sum(t < kThreads / 32 ? shared[t] : 0);
  if (t == 0) out[blockIdx.x] = sum;
}

}  // namespace

LADDER_OCCUPANCY(vector, kThreads, vector)

LADDER_API cudaError_t ladder_vector(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(vector, kThreads, 4 * kThreads * kLoads, in, out, scratch, n, stream);
}

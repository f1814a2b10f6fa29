// Changes against coarsened: the tree within a warp runs by shuffles, from register to register. Only one value a warp
// goes through shared memory, with one barrier in place of three.
//
// A shuffle makes the exchange and waits for the warp in one instruction; the shared-memory step took a store, a wait,
// a load and a wait.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kFactor = 8;

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

__global__ void shuffle(const float* in, float* out, int n) {
  __shared__ float shared[kThreads / 32];
  const int t = threadIdx.x;
  const int first = blockIdx.x * (kThreads * kFactor) + t;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kFactor; ++k) {
    const int i = first + k * kThreads;
    sum += i < n ? in[i] : 0;
  }
  sum = warp_sum(sum);
  if (t % 32 == 0) shared[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  sum = warp_sum(t < kThreads / 32 ? shared[t] : 0);
  if (t == 0) out[blockIdx.x] = sum;
}

}  // namespace

LADDER_OCCUPANCY(shuffle, kThreads, shuffle)

LADDER_API cudaError_t ladder_shuffle(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(shuffle, kThreads, kThreads * kFactor, in, out, scratch, n, stream);
}

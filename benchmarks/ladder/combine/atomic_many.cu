// The kernel of first_add, with another end: every block adds its sum to the result by atomicAdd, one for each 512
// elements. The most common code for a sum, and one launch.
//
// Additions to one address happen one after the other, so their number alone sets a time, however good the rest is:
// elements / 512 times the time of one. The rungs above this one could not show what they gain if they ended like this.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void atomic_many(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * (2 * kThreads) + t;
  shared[t] = (i < n ? in[i] : 0) + (i + kThreads < n ? in[i + kThreads] : 0);
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) shared[t] += shared[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, shared[0]);
}

}  // namespace

LADDER_OCCUPANCY(atomic_many, kThreads, atomic_many)

LADDER_API cudaError_t ladder_atomic_many(const float* in, float* out, float*, int n, cudaStream_t stream) {
  const int tile = 2 * kThreads;
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  atomic_many<<<(n + tile - 1) / tile, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

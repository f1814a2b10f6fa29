// Changes against interleaved_strided: the stride decreases, so thread t works on elements t and t + stride. Working
// threads are neighbours, and so are the words that they touch: neither divergence nor bank conflicts.
//
// What is left: half of the threads do nothing but load one element, and every step has a barrier.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void sequential(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * kThreads + t;
  shared[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) shared[t] += shared[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

}  // namespace

LADDER_OCCUPANCY(sequential, kThreads, sequential)

LADDER_API cudaError_t ladder_sequential(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(sequential, kThreads, kThreads, in, out, scratch, n, stream);
}

// Changes against sequential: every thread loads two elements and adds them on the way into shared memory.
//
// Half as many blocks, so half as many trees, barriers and partial sums, and two loads in flight for each thread:
// memory answers after hundreds of cycles, and the more is asked for meanwhile, the better it is used.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void first_add(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * (2 * kThreads) + t;
  shared[t] = (i < n ? in[i] : 0) + (i + kThreads < n ? in[i + kThreads] : 0);
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) shared[t] += shared[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

}  // namespace

LADDER_OCCUPANCY(first_add, kThreads, first_add)

LADDER_API cudaError_t ladder_first_add(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(first_add, kThreads, 2 * kThreads, in, out, scratch, n, stream);
}

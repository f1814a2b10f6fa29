// Changes against interleaved_modulo: thread t works on element 2 * stride * t, so the working threads are neighbours
// again. No divergence above the last five steps, no modulo.
//
// In exchange, the threads of a warp now touch shared memory `2 * stride` words apart. Shared memory has 32 banks, one
// word each at a time: with a stride of 16 words and more, 32 threads meet in one or two banks and are served one after
// the other (bank conflicts).
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void interleaved_strided(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * kThreads + t;
  shared[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = 1; stride < blockDim.x; stride *= 2) {
    const int at = 2 * stride * t;
    if (at < blockDim.x) shared[at] += shared[at + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

}  // namespace

LADDER_OCCUPANCY(interleaved_strided, kThreads, interleaved_strided)

LADDER_API cudaError_t ladder_interleaved_strided(const float* in, float* out, float* scratch, int n,
                                                  cudaStream_t stream) {
  return launch_until_one(interleaved_strided, kThreads, kThreads, in, out, scratch, n, stream);
}

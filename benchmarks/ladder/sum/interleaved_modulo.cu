// Changes against atomic_each: a block of 256 sums its elements by a tree in shared memory and leaves one partial sum;
// the partial sums are summed by the same kernel, launched again. No two threads write to the same place.
//
// The tree is the interleaved one with increasing stride: which threads work is decided by a modulo test, so the
// working threads are spread over all warps (divergence, as in one_block_increasing), and % is slow besides, where its
// right side is no constant: blockDim.x is known when the kernel runs, not when it is compiled.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void interleaved_modulo(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * kThreads + t;
  shared[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = 1; stride < blockDim.x; stride *= 2) {
    if (t % (2 * stride) == 0) shared[t] += shared[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

}  // namespace

LADDER_OCCUPANCY(interleaved_modulo, kThreads, interleaved_modulo)

LADDER_API cudaError_t ladder_interleaved_modulo(const float* in, float* out, float* scratch, int n,
                                                 cudaStream_t stream) {
  return launch_until_one(interleaved_modulo, kThreads, kThreads, in, out, scratch, n, stream);
}

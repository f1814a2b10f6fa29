// One block of 1,024 threads sums up to 2,048 elements in global memory. Thread t owns element 2t; partners are 1, then
// 2, 4, ... 1,024 elements away.
//
// Against the CPU loop: 11 steps after one another in place of 2,047. But in step s only every 2^s-th thread works, and
// those that do are spread over all warps: every warp runs to the end for ever fewer of its lanes (divergence). And
// every step goes through global memory.
#include "../rung.h"

namespace {

constexpr int kThreads = 1024;

__global__ void one_block_increasing(const float* in, float* out, float* data, int n) {
  const int t = threadIdx.x;
  // The input is not ours to overwrite, so the tree works on a copy, padded with zeros.
  data[t] = t < n ? in[t] : 0;
  data[t + kThreads] = t + kThreads < n ? in[t + kThreads] : 0;
  for (int stride = 1; stride <= kThreads; stride *= 2) {
    __syncthreads();
    if (t % stride == 0) data[2 * t] += data[2 * t + stride];
  }
  if (t == 0) *out = data[0];
}

}  // namespace

LADDER_OCCUPANCY(one_block_increasing, kThreads, one_block_increasing)

LADDER_API cudaError_t ladder_one_block_increasing(const float* in, float* out, float* scratch, int n,
                                                   cudaStream_t stream) {
  if (n > 2 * kThreads) return cudaErrorInvalidValue;
  one_block_increasing<<<1, kThreads, 0, stream>>>(in, out, scratch, n);
  return cudaGetLastError();
}

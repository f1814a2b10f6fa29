// Changes against one_block_increasing: the distance between partners decreases, 1,024 to 1, and thread t owns element
// t.
//
// The threads that still work are neighbours, 0 to stride - 1, so whole warps retire together and divergence is left in
// the last five steps only. Neighbouring threads also touch neighbouring elements, so that a warp's accesses are
// coalesced. Still, every step goes through global memory.
#include "../rung.h"

namespace {

constexpr int kThreads = 1024;

__global__ void one_block_decreasing(const float* in, float* out, float* data, int n) {
  const int t = threadIdx.x;
  data[t] = t < n ? in[t] : 0;
  data[t + kThreads] = t + kThreads < n ? in[t + kThreads] : 0;
  for (int stride = kThreads; stride >= 1; stride /= 2) {
    __syncthreads();
    if (t < stride) data[t] += data[t + stride];
  }
  if (t == 0) *out = data[0];
}

}  // namespace

LADDER_OCCUPANCY(one_block_decreasing, kThreads, one_block_decreasing)

LADDER_API cudaError_t ladder_one_block_decreasing(const float* in, float* out, float* scratch, int n,
                                                   cudaStream_t stream) {
  if (n > 2 * kThreads) return cudaErrorInvalidValue;
  one_block_decreasing<<<1, kThreads, 0, stream>>>(in, out, scratch, n);
  return cudaGetLastError();
}

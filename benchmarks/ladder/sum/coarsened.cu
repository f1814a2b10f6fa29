// Changes against grid_stride: each thread adds a fixed number of elements, eight, and there are as many blocks as that
// takes (thread coarsening).
//
// The eight loads do not wait for one another and their number is known when compiling, so all of them are in flight
// before the first addition. Blocks end and new ones start all the time, so no SM waits at the end for one that had
// more to do. In exchange there is a tree for every 2,048 elements.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kFactor = 8;

// One step of the tree within the first warp.
__device__ float add_from(float* shared, float v, int distance) {
  v += shared[threadIdx.x + distance];
  __syncwarp();  // all have read before anyone writes
  shared[threadIdx.x] = v;
  __syncwarp();  // and all have written before the next step reads
  return v;
}

__global__ void coarsened(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int first = blockIdx.x * (kThreads * kFactor) + t;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kFactor; ++k) {
    const int i = first + k * kThreads;
    sum += i < n ? in[i] : 0;
  }
  shared[t] = sum;
  __syncthreads();
  for (int stride = kThreads / 2; stride > 32; stride /= 2) {
    if (t < stride) shared[t] += shared[t + stride];
    __syncthreads();
  }
  if (t >= 32) return;
  float v = shared[t];
  v = add_from(shared, v, 32);
  v = add_from(shared, v, 16);
  v = add_from(shared, v, 8);
  v = add_from(shared, v, 4);
  v = add_from(shared, v, 2);
  v = add_from(shared, v, 1);
  if (t == 0) out[blockIdx.x] = v;
}

}  // namespace

LADDER_OCCUPANCY(coarsened, kThreads, coarsened)

LADDER_API cudaError_t ladder_coarsened(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(coarsened, kThreads, kThreads * kFactor, in, out, scratch, n, stream);
}

// Changes against atomic_block: eight blocks form a cluster (Hopper and later), whose blocks run at the same time on
// neighbouring SMs and can read each other's shared memory. Block 0 of a cluster collects the eight sums there and does
// one atomicAdd: 80 of them in place of 640.
//
// The cluster's barriers cost, and fewer atomicAdds help only where these were what the kernel waited for. As with
// atomic_block, the bits may differ from run to run.
#include <cooperative_groups.h>

#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 640;
constexpr int kClusterBlocks = 8;

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

__device__ float block_sum(float v) {  // thread 0 has the result
  __shared__ float warps[kThreads / 32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) v = warp_sum(threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0);
  return v;
}

// A thread's share of the input: the grid walks through it with four 16-byte loads in flight for each thread.
__device__ float thread_sum(const float* in, int n) {
  const float4* vectors = reinterpret_cast<const float4*>(in);
  const int count = n / 4, stride = gridDim.x * kThreads;
  int i = blockIdx.x * kThreads + threadIdx.x;
  float sum = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const float4 a = vectors[i], b = vectors[i + stride], c = vectors[i + 2 * stride], d = vectors[i + 3 * stride];
    sum += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
    sum += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
  }
  for (; i < count; i += stride) sum += (vectors[i].x + vectors[i].y) + (vectors[i].z + vectors[i].w);
  if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += in[4 * count + threadIdx.x];
  return sum;
}

__global__ void cluster(const float* in, float* out, int n) {
  const float sum = block_sum(thread_sum(in, n));
#if __CUDA_ARCH__ >= 900
  const auto group = cooperative_groups::this_cluster();
  __shared__ float mine;
  if (threadIdx.x == 0) mine = sum;
  group.sync();
  if (group.block_rank() == 0 && threadIdx.x < 32) {
    const float theirs = threadIdx.x < kClusterBlocks ? *group.map_shared_rank(&mine, threadIdx.x) : 0;
    const float total = warp_sum(theirs);
    if (threadIdx.x == 0) atomicAdd(out, total);
  }
  group.sync();  // a block that has ended has no shared memory to read from
#else
  if (threadIdx.x == 0) atomicAdd(out, sum);  // there are no clusters, and the launch below is never made
#endif
}

}  // namespace

LADDER_OCCUPANCY(cluster, kThreads, cluster)

LADDER_API cudaError_t ladder_cluster(const float* in, float* out, float*, int n, cudaStream_t stream) {
  if (!device_attribute(cudaDevAttrClusterLaunch)) return cudaErrorNotSupported;
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {kClusterBlocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, cluster, in, out, n);
}

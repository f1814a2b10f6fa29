// The final rung (16-byte loads, warp and block reduce, last block by an acquire-release ticket) for any operator: an
// operator is a struct with an identity and a way to combine two values.
//
// Against last_block_acq_rel nothing but the operator changes, and as the kernel waits for memory, add, max, min and
// product cost the same. A ticket combines blocks for every operator alike, where atomics on fp32 in global memory
// exist for addition only. Max and min here take NaN for what `>` and `<` make of it; the product's amax and amin let
// it win.
#include <cuda/atomic>

#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 640;

struct Add {
  static constexpr float kIdentity = 0;
  static __device__ float combine(float a, float b) { return a + b; }
};

struct Max {
  static constexpr float kIdentity = -__builtin_huge_valf();
  static __device__ float combine(float a, float b) { return a > b ? a : b; }
};

struct Min {
  static constexpr float kIdentity = __builtin_huge_valf();
  static __device__ float combine(float a, float b) { return a < b ? a : b; }
};

struct Product {
  static constexpr float kIdentity = 1;
  static __device__ float combine(float a, float b) { return a * b; }
};

template <class Op>
__device__ float warp_reduce(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v = Op::combine(v, __shfl_down_sync(~0u, v, distance));
  return v;
}

template <class Op>
__device__ float block_reduce(float v) {  // thread 0 has the result
  __shared__ float warps[kThreads / 32];
  v = warp_reduce<Op>(v);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) v = warp_reduce<Op>(threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : Op::kIdentity);
  return v;
}

template <class Op>
__device__ float combine_four(float4 v) {
  return Op::combine(Op::combine(v.x, v.y), Op::combine(v.z, v.w));
}

template <class Op>
__device__ float thread_reduce(const float* in, int n) {
  const float4* vectors = reinterpret_cast<const float4*>(in);
  const int count = n / 4, stride = gridDim.x * kThreads;
  int i = blockIdx.x * kThreads + threadIdx.x;
  float v = Op::kIdentity;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const float4 a = vectors[i], b = vectors[i + stride], c = vectors[i + 2 * stride], d = vectors[i + 3 * stride];
    v = Op::combine(v, Op::combine(combine_four<Op>(a), combine_four<Op>(b)));
    v = Op::combine(v, Op::combine(combine_four<Op>(c), combine_four<Op>(d)));
  }
  for (; i < count; i += stride) v = Op::combine(v, combine_four<Op>(vectors[i]));
  if (blockIdx.x == 0 && threadIdx.x < n % 4) v = Op::combine(v, in[4 * count + threadIdx.x]);
  return v;
}

template <class Op>
__global__ void operators(const float* in, float* out, float* partials, unsigned* tickets, int n) {
  __shared__ bool last;
  float v = block_reduce<Op>(thread_reduce<Op>(in, n));
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = v;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> ticket(*tickets);
    last = ticket.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  v = Op::kIdentity;
  for (int i = threadIdx.x; i < gridDim.x; i += kThreads) v = Op::combine(v, partials[i]);
  v = block_reduce<Op>(v);
  if (threadIdx.x == 0) {
    *out = v;
    *tickets = 0;  // for the next call
  }
}

template <class Op>
cudaError_t launch(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  unsigned* tickets = reinterpret_cast<unsigned*>(scratch + kBlocks);
  operators<Op><<<kBlocks, kThreads, 0, stream>>>(in, out, scratch, tickets, n);
  return cudaGetLastError();
}

}  // namespace

LADDER_OCCUPANCY(operator_add, kThreads, operators<Add>)
LADDER_OCCUPANCY(operator_max, kThreads, operators<Max>)
LADDER_OCCUPANCY(operator_min, kThreads, operators<Min>)
LADDER_OCCUPANCY(operator_product, kThreads, operators<Product>)

LADDER_API cudaError_t ladder_operator_add(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch<Add>(in, out, scratch, n, stream);
}

LADDER_API cudaError_t ladder_operator_max(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch<Max>(in, out, scratch, n, stream);
}

LADDER_API cudaError_t ladder_operator_min(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch<Min>(in, out, scratch, n, stream);
}

LADDER_API cudaError_t ladder_operator_product(const float* in, float* out, float* scratch, int n,
                                               cudaStream_t stream) {
  return launch<Product>(in, out, scratch, n, stream);
}

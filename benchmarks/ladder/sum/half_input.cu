// Changes against vector: the elements are fp16, eight to a 16-byte load. Each is widened to fp32 as it arrives, and
// all additions are in fp32 (the compute type), the partial sums and the result too. So the kernel is a template on the
// type of its input: the second launch reads fp32.
//
// Half the bytes, so about half the time where memory is the limit. The input was rounded to fp16 once, before; nothing
// is lost afterwards.
#include <cuda_fp16.h>

#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;

template <class In>
union Packed {  // what a 16-byte load brings
  static constexpr int kCount = 16 / sizeof(In);
  uint4 bits;
  In elements[kCount];
};

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

template <class In>
__global__ void half_input(const In* in, float* out, int n) {
  constexpr int kCount = Packed<In>::kCount;
  __shared__ float shared[kThreads / 32];
  const uint4* vectors = reinterpret_cast<const uint4*>(in);
  const int count = n / kCount, t = threadIdx.x;
  const int first = blockIdx.x * (kThreads * kLoads) + t;
  Packed<In> v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = first + k * kThreads;
    v[k].bits = i < count ? vectors[i] : uint4{0, 0, 0, 0};
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) sum += static_cast<float>(v[k].elements[j]);
  }
  if (blockIdx.x == 0 && t < n % kCount) sum += static_cast<float>(in[kCount * count + t]);
  sum = warp_sum(sum);
  if (t % 32 == 0) shared[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  sum = warp_sum(t < kThreads / 32 ? shared[t] : 0);
  if (t == 0) out[blockIdx.x] = sum;
}

}  // namespace

LADDER_OCCUPANCY(half_input, kThreads, half_input<__half>)

LADDER_API cudaError_t ladder_half_input(const __half* in, float* out, float* scratch, int n, cudaStream_t stream) {
  const int tile = 8 * kThreads * kLoads, blocks = (n + tile - 1) / tile;
  float* partials = blocks == 1 ? out : scratch;
  half_input<__half><<<blocks, kThreads, 0, stream>>>(in, partials, n);
  if (blocks == 1) return cudaGetLastError();
  scratch += (blocks + 7) / 8 * 8;
  return launch_until_one(half_input<float>, kThreads, 4 * kThreads * kLoads, partials, out, scratch, blocks, stream);
}

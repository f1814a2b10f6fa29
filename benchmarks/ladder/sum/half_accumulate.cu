// Changes against half_input: the additions are in fp16 too, the partial sums and the result as well. It shows what
// goes wrong, and is no faster where memory is the limit: the bytes are the same.
//
// fp16 has 11 significant bits. Above 2,048 a sum moves in steps of 2, above 4,096 in steps of 4, so small elements get
// lost; and beyond 65,504 there is only infinity. It is in the ladder so that nobody has to try.
#include <cuda_fp16.h>

#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;

union Eight {  // what a 16-byte load brings
  uint4 bits;
  __half2 pairs[4];
};

__device__ __half warp_sum(__half v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v = __hadd(v, __shfl_down_sync(~0u, v, distance));
  return v;
}

__global__ void half_accumulate(const __half* in, __half* out, int n) {
  __shared__ __half shared[kThreads / 32];
  const uint4* vectors = reinterpret_cast<const uint4*>(in);
  const int count = n / 8, t = threadIdx.x;
  const int first = blockIdx.x * (kThreads * kLoads) + t;
  uint4 v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = first + k * kThreads;
    v[k] = i < count ? vectors[i] : uint4{0, 0, 0, 0};
  }
  __half2 two = __float2half2_rn(0);
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const Eight eight{v[k]};
    for (__half2 pair : eight.pairs) two = __hadd2(two, pair);
  }
  __half sum = __hadd(__low2half(two), __high2half(two));
  if (blockIdx.x == 0 && t < n % 8) sum = __hadd(sum, in[8 * count + t]);
  sum = warp_sum(sum);
  if (t % 32 == 0) shared[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  sum = warp_sum(t < kThreads / 32 ? shared[t] : __float2half(0));
  if (t == 0) out[blockIdx.x] = sum;
}

}  // namespace

LADDER_OCCUPANCY(half_accumulate, kThreads, half_accumulate)

LADDER_API cudaError_t ladder_half_accumulate(const __half* in, __half* out, float* scratch, int n,
                                              cudaStream_t stream) {
  const int tile = 8 * kThreads * kLoads;
  __half* partials = reinterpret_cast<__half*>(scratch);
  return launch_until_one(half_accumulate, kThreads, tile, in, out, partials, n, stream);
}

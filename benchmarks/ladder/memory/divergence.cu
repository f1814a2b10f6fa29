// A switch with 32 cases, on threadIdx.x % 32 against threadIdx.x / 32. A case k adds k + 1 to its element, 64 times.
//
// A warp has one program counter for lanes that agree. By lane, each of a warp's 32 threads takes another case, so the
// warp runs all 32, one after the other, for one lane each. By warp, the 32 threads agree: the same cases, the same
// number of additions, and every warp runs a single one.
#include "../rung.h"

namespace {

constexpr int kThreads = 1024;

template <int Case>
__device__ float work(float v) {
  // Not unrolled: loops stay apart, where straight code with other constants might be merged into one.
#pragma unroll 1
  for (int i = 0; i < 64; ++i) v += Case + 1;
  return v;
}

__device__ float choose(int which, float v) {
  switch (which) {
    case 0:
      return work<0>(v);
    case 1:
      return work<1>(v);
    case 2:
      return work<2>(v);
    case 3:
      return work<3>(v);
    case 4:
      return work<4>(v);
    case 5:
      return work<5>(v);
    case 6:
      return work<6>(v);
    case 7:
      return work<7>(v);
    case 8:
      return work<8>(v);
    case 9:
      return work<9>(v);
    case 10:
      return work<10>(v);
    case 11:
      return work<11>(v);
    case 12:
      return work<12>(v);
    case 13:
      return work<13>(v);
    case 14:
      return work<14>(v);
    case 15:
      return work<15>(v);
    case 16:
      return work<16>(v);
    case 17:
      return work<17>(v);
    case 18:
      return work<18>(v);
    case 19:
      return work<19>(v);
    case 20:
      return work<20>(v);
    case 21:
      return work<21>(v);
    case 22:
      return work<22>(v);
    case 23:
      return work<23>(v);
    case 24:
      return work<24>(v);
    case 25:
      return work<25>(v);
    case 26:
      return work<26>(v);
    case 27:
      return work<27>(v);
    case 28:
      return work<28>(v);
    case 29:
      return work<29>(v);
    case 30:
      return work<30>(v);
    default:
      return work<31>(v);
  }
}

__global__ void divergent_lanes(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) out[i] = choose(threadIdx.x % 32, in[i]);
}

__global__ void divergent_warps(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) out[i] = choose(threadIdx.x / 32, in[i]);
}

}  // namespace

LADDER_OCCUPANCY(divergent_lanes, kThreads, divergent_lanes)
LADDER_OCCUPANCY(divergent_warps, kThreads, divergent_warps)

LADDER_API cudaError_t ladder_divergent_lanes(const float* in, float* out, float*, int n, cudaStream_t stream) {
  divergent_lanes<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

LADDER_API cudaError_t ladder_divergent_warps(const float* in, float* out, float*, int n, cudaStream_t stream) {
  divergent_warps<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

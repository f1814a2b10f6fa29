// expf against the intrinsic __expf: the sum of exp(x - j) over j = 0 ... 63.
//
// The GPU has a unit for 2^x. __expf is a multiplication and that unit; the product x * log2(e) is rounded, so the
// result is off by more the larger |x| is. expf carries the rounded part along, which takes a handful of instructions
// more and keeps it within 2 ulp.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kTerms = 64;

__global__ void exp_accurate(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < kTerms; ++j) sum += expf(in[i] - j);
  out[i] = sum;
}

__global__ void exp_fast(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < kTerms; ++j) sum += __expf(in[i] - j);
  out[i] = sum;
}

}  // namespace

LADDER_OCCUPANCY(exp_accurate, kThreads, exp_accurate)
LADDER_OCCUPANCY(exp_fast, kThreads, exp_fast)

LADDER_API cudaError_t ladder_exp_accurate(const float* in, float* out, float*, int n, cudaStream_t stream) {
  exp_accurate<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

LADDER_API cudaError_t ladder_exp_fast(const float* in, float* out, float*, int n, cudaStream_t stream) {
  exp_fast<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

// A constant without an `f`: v * 0.9 + 0.1 against v * 0.9f + 0.1f, 64 times for each element.
//
// 0.9 is a double, so v is widened, multiplied and added in double, and rounded back, at every step: two conversions
// and two operations in a unit that is half as wide as the fp32 one on a data-centre GPU and 1/64 as wide on others.
// The compiler may not drop any of it, as 0.9 and 0.9f are different numbers; it could for constants that fp32 holds,
// as 0.5.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 64;

__global__ void constant_double(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  for (int k = 0; k < kSteps; ++k) v = v * 0.9 + 0.1;
  out[i] = v;
}

__global__ void constant_float(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  for (int k = 0; k < kSteps; ++k) v = v * 0.9f + 0.1f;
  out[i] = v;
}

}  // namespace

LADDER_OCCUPANCY(constant_double, kThreads, constant_double)
LADDER_OCCUPANCY(constant_float, kThreads, constant_float)

LADDER_API cudaError_t ladder_constant_double(const float* in, float* out, float*, int n, cudaStream_t stream) {
  constant_double<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

LADDER_API cudaError_t ladder_constant_float(const float* in, float* out, float*, int n, cudaStream_t stream) {
  constant_float<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}

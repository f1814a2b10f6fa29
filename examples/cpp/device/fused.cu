// The two kernels behind C functions, for a stream of the current device. A program would launch them itself.
#include "relu_sum.cuh"
#include "rms_norm.cuh"

extern "C" int relu_sum(const float* score, const float* weight, float* out, int64_t rows, int64_t n, void* stream) {
  constexpr int kRows = fused::kReluThreads / fused::order::kWarp;
  const auto grid = static_cast<unsigned>((rows + kRows - 1) / kRows);
  fused::relu_sum<<<grid, fused::kReluThreads, 0, static_cast<cudaStream_t>(stream)>>>(score, weight, out, rows, n);
  return cudaGetLastError();
}

extern "C" int rms_norm(const float* x, const float* weight, float* out, int64_t rows, int64_t n, float eps,
                        void* stream) {
  const auto grid = static_cast<unsigned>(rows);
  fused::rms_norm<<<grid, fused::kNormThreads, 0, static_cast<cudaStream_t>(stream)>>>(x, weight, out, n, eps);
  return cudaGetLastError();
}

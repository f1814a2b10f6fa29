// RMSNorm of each row, in one kernel: the bits of
//   x / torch.sqrt(torch.ops.reduce.mean(x * x, 1, True) + eps) * weight
// A block takes a row, and every one of its threads has the mean.
#pragma once

#include <torch_reduce/device/order.cuh>

namespace fused {

namespace order = torch_reduce::order;
constexpr int kNormThreads = 256;

__global__ void __launch_bounds__(kNormThreads)
    rms_norm(const float* x, const float* weight, float* out, int64_t n, float eps) {
  __shared__ order::BlockStorage<float, kNormThreads> storage;
  const float* row = x + static_cast<int64_t>(blockIdx.x) * n;
  float* result = out + static_cast<int64_t>(blockIdx.x) * n;
  const float squares =
      order::block_reduce<order::Sum>(n, [&](int64_t i) { return order::multiply(row[i], row[i]); }, storage);
  const float scale = __fsqrt_rn(order::add(order::Mean::finish(squares, n), eps));
  for (int64_t i = threadIdx.x; i < n; i += kNormThreads) {
    result[i] = order::multiply(order::divide(row[i], scale), weight[i]);
  }
}

}  // namespace fused

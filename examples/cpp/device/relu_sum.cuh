// The sum of relu(score) * weight over each row, fused: the bits of
//   torch.ops.reduce.sum(torch.relu(score) * weight, 1)
// without the tensor in between. A warp takes a row.
#pragma once

#include <torch_reduce/device/order.cuh>

namespace fused {

namespace order = torch_reduce::order;
constexpr int kReluThreads = 128;

__global__ void __launch_bounds__(kReluThreads)
    relu_sum(const float* score, const float* weight, float* out, int64_t rows, int64_t n) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kReluThreads / order::kWarp) + threadIdx.x / order::kWarp;
  if (row >= rows) return;  // whole warps
  const float* mine = score + row * n;
  const float sum = order::warp_reduce<order::Sum>(n, [&](int64_t i) {
    const float x = mine[i];
    return order::multiply(x < 0 ? 0.0f : x, weight[i]);  // NaN stays, as in torch.relu
  });
  if (threadIdx.x % order::kWarp == 0) out[row] = order::Sum::finish(sum, n);
}

}  // namespace fused

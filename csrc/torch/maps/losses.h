// From logits and their targets to the steps of a loss.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/problem/loss_steps.h"

namespace torch_reduce {

// What steps read; undefined: not given. Of rows: what is kept of each, by what its gradient is scaled and shifted, the
// mean logit, the gradient of the loss.
struct LossInputs {
  at::Tensor self, target, row, gradient_row, mean, gradient;
};

// Rows are described as a map's. Tensors that have more dims of rows than `most_dims` are replaced by contiguous ones.
// `result` may be undefined; else it has as many dims as self, and lies in the same order.
struct LossCall {
  MapProblem rows;
  LossOptions options;

  LossCall(LossInputs& in, int64_t dim, int64_t ignore_index, double smoothing, double z, const at::Tensor& result,
           int most_dims);
};

// Addresses of a step's memory. `out` is what it writes: losses, rows of gradients, or gradients.
template <class Word>
LossBuffers<Word> loss_buffers(const LossInputs& in, const at::Tensor& out) {
  const auto read = [](const at::Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; };
  return {read(in.self),
          in.target.const_data_ptr<int64_t>(),
          static_cast<const LogitsRow<Word>*>(read(in.row)),
          static_cast<const GradientRow<Word>*>(read(in.gradient_row)),
          static_cast<const Word*>(read(in.mean)),
          static_cast<const Word*>(read(in.gradient)),
          out.mutable_data_ptr()};
}

}  // namespace torch_reduce

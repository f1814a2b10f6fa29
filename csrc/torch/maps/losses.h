// From logits and their targets to the steps of a loss.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/contract/maps/loss.h"
#include "core/problem/map_problem.h"

namespace torch_reduce {

// What a step reads; undefined: not given. Of rows: what is kept of each, the mean logit, the gradient of the loss.
struct LossInputs {
  at::Tensor self, target, row, mean, gradient;
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
LossBuffers<Word> loss_buffers(LossStep step, const LossInputs& in, const at::Tensor& out) {
  const auto read = [](const at::Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; };
  LossBuffers<Word> b{};
  b.x = in.self.const_data_ptr();
  b.target = in.target.const_data_ptr<int64_t>();
  b.mean = static_cast<const Word*>(read(in.mean));
  b.gradient = static_cast<const Word*>(read(in.gradient));
  if (step == LossStep::TargetGradients) {
    b.gradient_rows = static_cast<GradientRow<Word>*>(const_cast<void*>(in.row.const_data_ptr()));
  } else {
    b.row = static_cast<const LogitsRow<Word>*>(in.row.const_data_ptr());
  }
  void* const to = out.mutable_data_ptr();
  if (step == LossStep::Losses) b.losses = static_cast<Word*>(to);
  if (step == LossStep::GradientRows) b.gradient_rows = static_cast<GradientRow<Word>*>(to);
  if (step == LossStep::TargetGradients) b.out = to;
  return b;
}

}  // namespace torch_reduce

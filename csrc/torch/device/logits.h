// What is kept of rows of logits: the logarithm of the sum of exponentials in two words, in a last dim.
#pragma once

#include "../dispatch/register.h"
#include "core/contract/maps/loss.h"

namespace torch_reduce {

inline Request request_of_logits(const at::Tensor& self, const int64_t& dim) {
  return {kOfLogits, at::IntArrayRef(dim), false, self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat};
}

// Device has what Strided asks of it, and
//   static void run(const Problem&, const at::Tensor& self, const at::Tensor& out);
template <class Device>
at::Tensor logits(const at::Tensor& self, int64_t dim) {
  const Request r = request_of_logits(self, dim);
  const Checked checked = check(r, self);
  auto sizes = result_sizes(r, checked, self.sizes());
  sizes.push_back(2);
  const at::Tensor out = Device::empty(sizes, checked.type, self);
  Problem p = make_problem(r, checked, self, out.strides().slice(0, sizes.size() - 1));
  p.second = 1;
  Device::run(p, self, out);
  return out;
}

}  // namespace torch_reduce

// What devices share of the operators of two tensors.
#pragma once

#include <torch/library.h>

#include "../dispatch/two.h"

namespace torch_reduce {

// Device has, beside what Strided asks of it,
//   static void run(const Problem&, const at::Tensor& self, const at::Tensor& other, const at::Tensor& counts,
//                   const at::Tensor& out);
// where counts is undefined if the operator does not ask for them.
template <class Device>
at::Tensor of_two(const at::Tensor& self, const at::Tensor& other, c10::string_view op, at::IntArrayRef dim,
                  bool keepdim, c10::string_view dtype, c10::string_view mode, double correction) {
  const Request r = request_of_two(op, dim, keepdim, dtype, mode, correction);
  const Checked checked = check_two(r, self, other);
  Device::permit(r, checked, self);
  const auto sizes = result_sizes(r, checked, self.sizes());
  const at::Tensor out = Device::empty(sizes, checked.type, self);
  const Problem p = make_problem(r, checked, self, out.strides(), &other);
  Device::run(p, self, other, divides_by_counts(p) ? counts_of(r, other) : at::Tensor(), out);
  return out;
}

inline const int64_t* counts_in(const at::Tensor& counts) {
  return counts.defined() ? counts.const_data_ptr<int64_t>() : nullptr;
}

}  // namespace torch_reduce

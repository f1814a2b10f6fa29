// What devices share of selections: check, allocate, describe, run.
#pragma once

#include "../dispatch/call.h"
#include "core/problem/selection.h"

namespace torch_reduce {

// Refuses what has no selection; the dim, wrapped.
int64_t check_selection(const at::Tensor& self, const c10::SymInt& count, int64_t dim);

// The rows of `self` along the dim, and an output that takes as many results as `out` has.
Problem rows_of_selection(const at::Tensor& self, int64_t dim, const at::Tensor& out);

// Device has
//   static constexpr int kMostDims;  // of rows, as far as they do not merge
//   static at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& like);
//   static void run(const Selection&, const at::Tensor& self, const at::Tensor& out);
template <class Device>
at::Tensor select(const at::Tensor& self, int64_t count, int64_t dim, bool largest) {
  dim = check_selection(self, count, dim);
  at::DimVector sizes(self.sizes());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = count;
  const at::Tensor out = Device::empty(sizes, at::kLong, self);
  if (out.numel() == 0) return out;
  const Problem rows = rows_of_selection(self, dim, out);
  if (rows.layout.kept_dims > Device::kMostDims) return select<Device>(self.contiguous(), count, dim, largest);
  Device::run({rows, count, largest}, self, out);
  return out;
}

}  // namespace torch_reduce

// The accumulator's operators: what CPU, CUDA and Meta share.
#pragma once

#include <torch/library.h>

#include "../schema/request.h"
#include "core/contract/exact/format.h"

namespace torch_reduce {

// A call of exact_accumulate that fits its tensor. NotImplementedError for a dtype without an accumulator, else as sum.
struct AccumulateRequest {
  Request request;
  Checked checked;
  int words;

  AccumulateRequest(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim);

  template <class Int>
  c10::SmallVector<Int, 5> sizes(c10::ArrayRef<Int> input) const {
    auto sizes = result_sizes(request, checked, input);
    sizes.push_back(words);
    return sizes;
  }
  // The core's problem of filling `out`; its strides count words.
  Problem problem(const at::Tensor& self, const at::Tensor& out) const;
};

// RuntimeError unless `acc` is an int64 tensor whose last dim holds the words of one of the formats.
void check_accumulators(const char* op, const at::Tensor& acc);

// RuntimeError unless the dtype is one of the floating ones, ValueError unless the divisor is positive.
void check_rounding(at::ScalarType dtype, const c10::SymInt& divisor);
DType rounded_type(at::ScalarType dtype);

// `count` accumulators, one after the other.
struct Accumulators {
  const int64_t* data;
  int64_t count;
  int words;
  explicit Accumulators(const at::Tensor& contiguous)
      : data(contiguous.const_data_ptr<int64_t>()),
        count(contiguous.numel() / contiguous.size(-1)),
        words(static_cast<int>(contiguous.size(-1))) {}
};

// Device has, beside what Strided asks for,
//   static void accumulate(const Problem&, const at::Tensor& self, const at::Tensor& out);
//   static void round(const Accumulators&, int64_t divisor, DType type, const at::Tensor& out);
//   static void normalize(const Accumulators&, const at::Tensor& out);
template <class Device>
struct ExactKernels {
  static at::Tensor accumulate(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
    const AccumulateRequest r{self, dim, keepdim};
    const at::Tensor read = as_read(r.checked, self);
    at::Tensor out = Device::empty(r.sizes(self.sizes()), at::kLong, self);
    Device::accumulate(r.problem(read, out), read, out);
    return out;
  }
  static at::Tensor round(const at::Tensor& acc, at::ScalarType dtype, int64_t divisor) {
    check_accumulators("exact_round", acc);
    check_rounding(dtype, divisor);
    at::Tensor out = Device::empty(acc.sizes().slice(0, acc.dim() - 1), dtype, acc);
    Device::round(Accumulators(acc.contiguous()), divisor, rounded_type(dtype), out);
    return out;
  }
  static at::Tensor normalize(const at::Tensor& acc) {
    check_accumulators("exact_normalize", acc);
    at::Tensor out = Device::empty(acc.sizes(), at::kLong, acc);
    Device::normalize(Accumulators(acc.contiguous()), out);
    return out;
  }
};

template <class Device>
void register_exact(torch::Library& m) {
  m.impl("exact_accumulate", TORCH_FN(ExactKernels<Device>::accumulate));
  m.impl("exact_round", TORCH_FN(ExactKernels<Device>::round));
  m.impl("exact_normalize", TORCH_FN(ExactKernels<Device>::normalize));
}

}  // namespace torch_reduce

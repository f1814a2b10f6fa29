#include "exact.h"

#include <ATen/core/Formatting.h>

#include "../schema/result_type.h"

namespace torch_reduce {
namespace {

bool has_accumulator(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kDouble;
}

Checked check_accumulate(const Request& r, const at::Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      has_accumulator(self.scalar_type()) || is_float8(self.scalar_type()), "reduce::exact_accumulate: the dtype ",
      self.scalar_type(),
      " has no accumulator; accepted are float16, bfloat16, float32, float64, float8_e4m3fn and "
      "float8_e5m2");
  return check(r, self);
}

}  // namespace

AccumulateRequest::AccumulateRequest(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim)
    : request{kAccumulated, dim, keepdim, std::nullopt, "exact"},
      checked(check_accumulate(request, self)),
      words(self.scalar_type() == at::kDouble ? exact::Double::kWords : exact::Single::kWords) {}

Problem AccumulateRequest::problem(const at::Tensor& self, const at::Tensor& out) const {
  return make_problem(request, checked, self, out.strides().slice(0, out.dim() - 1));
}

void check_accumulators(const char* op, const at::Tensor& acc) {
  TORCH_CHECK(acc.scalar_type() == at::kLong, "reduce::", op, ": an accumulator is an int64 tensor, got dtype ",
              acc.scalar_type());
  const bool fits =
      acc.dim() > 0 && (acc.sym_size(-1) == exact::Single::kWords || acc.sym_size(-1) == exact::Double::kWords);
  TORCH_CHECK(fits, "reduce::", op, ": the last dim of an accumulator holds ", exact::Single::kWords, " or ",
              exact::Double::kWords, " words, got shape ", acc.sym_sizes());
}

void check_rounding(at::ScalarType dtype, const c10::SymInt& divisor) {
  TORCH_CHECK(has_accumulator(dtype), "reduce::exact_round: dtype is float16, bfloat16, float32 or float64, got ",
              dtype);
  TORCH_CHECK_VALUE(divisor >= 1, "reduce::exact_round: the divisor is at least 1, got ", divisor);
}

DType rounded_type(at::ScalarType dtype) {
  return dtype == at::kHalf       ? DType::Float16
         : dtype == at::kBFloat16 ? DType::BFloat16
         : dtype == at::kFloat    ? DType::Float32
                                  : DType::Float64;
}

}  // namespace torch_reduce

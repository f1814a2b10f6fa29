#include "describe.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/empty.h>

#include "../schema/request.h"
#include "core/problem/build_problem.h"

namespace torch_reduce {
namespace {

bool is_computed(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kDouble;
}

// The stride between neighbours of the row, if it is one.
std::optional<int64_t> stride_of_row(const at::Tensor& t, RowDims row) {
  std::optional<int64_t> stride;
  int64_t next = 0;
  for (int64_t d = row.end - 1; d >= row.first; --d) {
    if (t.size(d) == 1) continue;
    if (!stride) {
      stride = t.stride(d);
    } else if (t.stride(d) != next) {
      return std::nullopt;
    }
    next = t.stride(d) * t.size(d);
  }
  return stride ? *stride : 1;
}

// What is not given lies at 0, a multiple of everything.
int alignment(const at::Tensor& t) {
  return alignment_of(t.defined() ? reinterpret_cast<uintptr_t>(t.const_data_ptr()) : 0);
}

}  // namespace

void check_map_dtype(const char* name, at::ScalarType type, const char* of) {
  TORCH_CHECK_NOT_IMPLEMENTED(is_computed(type), "reduce::", name, ": the dtype ", type, " of ", of,
                              " is not supported; accepted are float16, bfloat16, float32 and float64");
}

at::ScalarType compute_type_of_map(at::ScalarType type) { return at::toOpMathType(type); }

at::Tensor mask_over(const char* name, const at::Tensor& mask, const at::Tensor& x) {
  TORCH_CHECK_TYPE(mask.scalar_type() == at::kBool, "reduce::", name, ": mask must have the dtype bool, got ",
                   mask.scalar_type());
  TORCH_CHECK(mask.device() == x.device(), "reduce::", name, ": mask must be on the input's device, ", x.device(),
              ", got ", mask.device());
  return mask.expand_symint(x.sym_sizes());
}

void make_parameters_alike(const char* name, MapInputs& in) {
  const at::ScalarType type = in.x.scalar_type(), compute = compute_type_of_map(type);
  const auto is_direct = [&](const at::Tensor& t) {
    return !t.defined() || t.scalar_type() == type || t.scalar_type() == compute;
  };
  for (const at::Tensor* t : {&in.weight, &in.bias}) {
    if (!t->defined()) continue;
    check_map_dtype(name, t->scalar_type(), "weight and bias");
    TORCH_CHECK(t->scalar_type() != at::kDouble || type == at::kDouble, "reduce::", name,
                ": weight and bias of Double need an input of Double, got ", type);
    TORCH_CHECK(t->device() == in.x.device(), "reduce::", name, ": weight and bias must be on the input's device, ",
                in.x.device(), ", got ", t->device());
  }
  const bool alike = is_direct(in.weight) && is_direct(in.bias) &&
                     (!in.weight.defined() || !in.bias.defined() || in.weight.scalar_type() == in.bias.scalar_type());
  for (at::Tensor* t : {&in.weight, &in.bias}) {
    if (t->defined()) *t = (alike ? *t : t->to(compute)).contiguous();
  }
}

MapProblem describe_map(Map map, MapInputs& in, RowDims row, const MapOptions& options, const MapOutputs& to,
                        int most_dims) {
  if (!stride_of_row(in.x, row)) in.x = in.x.contiguous();
  if (in.second.defined() && !stride_of_row(in.second, row)) in.second = in.second.contiguous();
  const at::Tensor &x = in.x, &second = in.second.defined() ? in.second : in.x, &out = to.out.defined() ? to.out : in.x;
  const at::Tensor& parameters = in.weight.defined() ? in.weight : in.bias;
  MapProblem p{map,
               to_dtype(x.scalar_type()),
               to_dtype(out.scalar_type()),
               to_dtype(parameters.defined() ? parameters.scalar_type() : x.scalar_type()),
               to_dtype(compute_type_of_map(x.scalar_type())),
               options.epsilon,
               options.scale,
               std::min(alignment(x), alignment(second)),
               std::min(alignment(out), alignment(to.sum)),
               std::min(alignment(in.weight), alignment(in.bias)),
               alignment(in.mask)};
  const auto mask_stride = [&](int64_t d) { return in.mask.defined() ? in.mask.stride(d) : 0; };
  for (int64_t d = row.first; d < row.end; ++d) p.n *= x.size(d);
  p.channel = options.channel;
  p.groups = options.groups;
  p.along = {*stride_of_row(x, row), *stride_of_row(second, row), *stride_of_row(out, row), mask_stride(row.first)};
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d >= row.first && d < row.end) continue;
    add_dim(p, {x.size(d), {x.stride(d), second.stride(d), out.stride(d), mask_stride(d)}});
  }
  if (p.dims <= most_dims || is_empty(p)) return p;
  in.x = x.contiguous();
  if (in.second.defined()) in.second = second.contiguous();
  if (in.mask.defined()) in.mask = in.mask.contiguous();
  return describe_map(map, in, row, options, to, kMaxDims);
}

Problem describe_weight_gradient(const WeightInputs& in, int64_t dims, const at::Tensor& out) {
  const int64_t rank = in.self.dim(), rows = rank - dims;
  bool reduced[kMaxDims];
  int64_t strides[kMaxDims];  // of the output, by dim of the input
  for (int64_t d = 0; d < rank; ++d) {
    reduced[d] = d < rows;
    strides[d] = reduced[d] ? 0 : out.stride(d - rows);
  }
  Description description{kOfWeight,
                          Mode::Deterministic,
                          to_dtype(in.grad.scalar_type()),
                          to_dtype(out.scalar_type()),
                          alignment(in.grad),
                          static_cast<int>(rank),
                          in.grad.sizes().data(),
                          in.grad.strides().data(),
                          reduced,
                          strides};
  description.role = Role::NormalFactor;
  description.other_type = to_dtype(in.self.scalar_type());
  description.other_alignment = alignment(in.self);
  description.other_strides = in.self.strides().data();
  description.row_words = static_cast<int>(in.row.size(-1));
  return build_problem(description);
}

}  // namespace torch_reduce

// From tensors to a map's problem.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/problem/map_problem.h"

namespace torch_reduce {

// What a map reads; undefined: not given.
struct MapInputs {
  at::Tensor x, second, weight, bias, row;
};

// Which of a tensor's neighbouring dims are a row.
struct RowDims {
  int64_t first, end;
};

// NotImplementedError unless the dtype is one that maps compute with.
void check_map_dtype(const char* name, at::ScalarType type, const char* of);
at::ScalarType compute_type_of_map(at::ScalarType type);

// Weight and bias as kernels read them: contiguous, of one type, which is that of x or the compute type.
void make_parameters_alike(const char* name, MapInputs& in);

// Inputs whose rows are not at one stride each, or that have more dims of rows than `most_dims`, are replaced by
// contiguous copies.
MapProblem describe_map(Map map, MapInputs& in, RowDims row, double epsilon, const at::Tensor& out, int most_dims);

}  // namespace torch_reduce

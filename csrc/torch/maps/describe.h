// From tensors to a map's problem.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/problem/map_problem.h"
#include "core/problem/problem.h"

namespace torch_reduce {

// What a map reads; undefined: not given. The mask has the shape of x.
struct MapInputs {
  at::Tensor x, second{}, weight{}, bias{}, row{}, mask{};
};
// And writes; undefined: not asked for.
struct MapOutputs {
  at::Tensor out, written{}, sum{};
};
// What the gradient of a norm's weight is made of.
struct WeightInputs {
  at::Tensor grad, self, row;
};
// Numbers of the caller.
struct MapOptions {
  double epsilon = 0, scale = 1;
  int64_t channel = 1, groups = 1;  // as MapProblem's
};

// Which of a tensor's neighbouring dims are a row.
struct RowDims {
  int64_t first, end;
};

// NotImplementedError unless the dtype is one that maps compute with.
void check_map_dtype(const char* name, at::ScalarType type, const char* of);
at::ScalarType compute_type_of_map(at::ScalarType type);

// The mask over the shape of x, without a copy. TypeError unless it is of bools.
at::Tensor mask_over(const char* name, const at::Tensor& mask, const at::Tensor& x);

// Weight and bias as kernels read them: contiguous, of one type, which is that of x or the compute type.
void make_parameters_alike(const char* name, MapInputs& in);

// Inputs whose rows are not at one stride each, or that have more dims of rows than `most_dims`, are replaced by
// contiguous copies.
MapProblem describe_map(Map map, MapInputs& in, RowDims row, const MapOptions& options, const MapOutputs& to,
                        int most_dims);

// The sum over all rows, of the last `dims` dims each, of the gradient times the elements that words of the row
// normalise.
Problem describe_weight_gradient(const WeightInputs& in, int64_t dims, const at::Tensor& out);

}  // namespace torch_reduce

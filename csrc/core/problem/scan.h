// One scan, described: the reduction that each of its results is of the elements up to it, and where results lie along
// the scanned dim, which is the reduced one.
#pragma once

#include "core/problem/problem.h"

namespace torch_reduce {

struct ScanProblem {
  Problem reduction;   // `n` elements of each of `outputs` rows; at most one reduced dim
  int64_t out_stride;  // along the scanned dim, in elements

  int64_t in_stride() const { return reduction.layout.reduced_dims > 0 ? reduction.layout.reduced[0].stride : 0; }
  bool is_empty() const { return reduction.layout.outputs == 0 || reduction.layout.n == 0; }
};

}  // namespace torch_reduce

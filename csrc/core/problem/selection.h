// Some elements of each row, the largest or the smallest ones, by their indices.
#pragma once

#include "core/contract/selection.h"
#include "core/problem/problem.h"

namespace torch_reduce {

struct Selection {
  const Problem& rows;  // as of a scan of indices: Problem::scan_stride is from one of them to the next
  int64_t count;        // of a row, at most as many as that has
  bool largest;
};

}  // namespace torch_reduce

// Full sums of transposed tensors and their kin: the innermost reduced dim strides through memory, and an outer one is
// adjacent there. A chunk is then a column of memory, and the chunks of adjacent lines are adjacent columns.
#pragma once

#include "core/problem/problem.h"

namespace torch_reduce::cpu {

// Whether chunks are columns: lines of the innermost reduced dim are made of whole chunks.
bool has_chunk_columns(const Problem& problem);

// The reduction of every chunk, whose outputs are values of the compute type, [output][chunk] of `problem`.
Problem chunk_columns(const Problem& problem);

}  // namespace torch_reduce::cpu

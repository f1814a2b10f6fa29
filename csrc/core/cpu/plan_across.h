// Plans for rows that lie across memory: their elements follow one another in another order there than in the output.
#pragma once

#include "plan.h"

namespace torch_reduce::cpu {

// Each completes a plan of Family::Rows, if its way is one for the problem and the best there is.
bool plan_bundles(const Problem& problem, int threads, CpuPlan& plan);
bool plan_strips(const Problem& problem, int threads, bool wide, CpuPlan& plan);

// For the others: how many lines of the innermost reduced dim are copied at a time into their logical order; 0 if they
// lie in memory in that order, or are too long.
int64_t tile_lines(const Problem& problem, int threads);

// A tile of so many lines, and the chunk that the one before it has begun.
int64_t tile_bytes(const Problem& problem, int64_t lines);

}  // namespace torch_reduce::cpu

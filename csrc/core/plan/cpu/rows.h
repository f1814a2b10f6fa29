// Plans for rows whose elements do not follow one another in memory, or whose neighbours there belong to other rows.
#pragma once

#include "core/plan/cpu/plan.h"

namespace torch_reduce::cpu {

// Each completes a plan of Family::Rows in which every piece is one chunk, if its access is one for the problem and
// the best there is.
bool plan_bundles(const Problem& problem, int threads, int vectors, CpuPlan& plan);
bool plan_strips(const Problem& problem, int threads, int vectors, CpuPlan& plan);

// Each finds out whether outputs that are not cut, or pieces of any size, are read by its access.
void plan_tiles(const Problem& problem, int threads, int vectors, CpuPlan& plan);
void plan_segments(const Problem& problem, int threads, int vectors, CpuPlan& plan);

}  // namespace torch_reduce::cpu

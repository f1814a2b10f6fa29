// From a map to the way a GPU works on it. Pure, as plan.h.
//
// A warp holds a chunk of a row in registers, or several short rows, and a CTA up to 16 chunks of one row, or several
// rows. So a row is read once and written once. The CTAs of a longer row meet in a cluster; where there are no such
// clusters, one kernel leaves a value of each CTA in scratch, and a second one reads the rows again.
#pragma once

#include "core/plan/gpu/plan.h"
#include "core/problem/map_problem.h"

namespace torch_reduce {

struct MapPlan {
  int log_lanes = 5;  // of a row in a warp
  int log_warps = 0;  // of a row in a CTA, a chunk each
  int rows_per_cta = 1;
  int64_t units = 1;                                   // CTAs of a row
  bool in_cluster = false;                             // they are one, or else meet in scratch
  bool reads_vectors = false, writes_vectors = false;  // rows lie side by side at multiples of 16 bytes
  int64_t grid = 1;
  int block = 0;
  int launches = 1;
  int64_t scratch_bytes = 0;
};

TR_SHARED MapPlan make_map_plan(const MapProblem& problem, const Gpu& gpu);

}  // namespace torch_reduce

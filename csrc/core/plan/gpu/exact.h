// From a problem to the way a GPU sums it exactly. Pure host functions, as plan.h.
#pragma once

#include "core/contract/exact/format.h"
#include "core/plan/gpu/plan.h"

namespace torch_reduce::exact {

struct ExactPlan {
  Family family = Family::Empty;
  bool vector = false, segmented = false;
  int block = 32;
  int64_t grid = 0;
  int64_t units = 1;     // CTAs per output
  int64_t row_span = 0;  // Rows: elements that the loads of a row span at most
  // A warp has so many rows, or, where this is 0, 2^log_team warps have a row or a unit of one, of so many tiles.
  int64_t warp_rows = 0;
  int log_team = 0;
  int64_t unit_tiles = 0;
  int loads = 0;      // of a lane in a tile
  int log_lanes = 0;  // ShortRows: 2^log_lanes lanes share an output
  // Columns: as in Plan; `direct` where a lane has its columns alone.
  int log_across = 0;
  int64_t unit_rows = 0, column_tiles = 0;
  bool direct = false;
  int finish_log_across = 0, finish_block = 0;  // of the kernel that adds up units
  int64_t shared_bytes = 0, scratch_bytes = 0, expected_bytes = 0;
  int launches = 0;
};

// `words`: the results are superaccumulators. The constraint's split is not looked at.
ExactPlan make_exact_plan(const Problem& problem, bool words, const Gpu& gpu, const Constraint& constraint = {});

}  // namespace torch_reduce::exact

// How columns are cut: into tiles of lanes side by side, and down into units.
#pragma once

#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

// The lanes that a plan's warps may have side by side.
struct Lanes {
  int64_t v;              // columns of each
  int64_t partial_bytes;  // of its columns, in the compute type
  int64_t vectors;        // of so many columns in the innermost kept dim
  int64_t widest;         // most lanes side by side
  int64_t narrowest = 1;  // where memory alone would have fewer
  int64_t helpers = 0;    // of those side by side, the last ones, which have no columns of their own
  bool idle_warps = true;
};

struct Cut {
  int64_t across;                         // lanes side by side
  int64_t wanted;                         // CTAs, until there are so many columns are cut; 0: they are not
  int64_t warps = tuning::kColumnsWarps;  // of a CTA, at most
  int64_t units = kMaxGrid;               // at most
  int64_t ctas = kMaxGrid;                // at most
};

Lanes lanes_of(const Plan& plan, const Problem& p, const Shape& s);

// CTAs that are enough for columns not to be cut.
inline int64_t enough_uncut(const Gpu& gpu) { return gpu.tuning.columns_uncut_ctas_per_sm * gpu.sms; }

// As the kernel is compiled.
kernels::ColumnsBatch columns_batch(const Plan& plan, const Problem& p);

// The plan of columns that are cut as said; but for a constraint, whose split comes first.
Plan columns_cut(Plan plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, const Constraint& c, const Cut& cut);

// Leaves of one batch of a warp.
inline int64_t leaves_of_warp(const Plan& plan) {
  return int64_t{kWarp >> columns(plan).log_across} * columns(plan).batch_leaves;
}

// A plan of one launch, `narrow` lanes being a sector; of no CTA where two launches are faster.
Plan columns_in_one_launch(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t narrow);

}  // namespace torch_reduce::planning

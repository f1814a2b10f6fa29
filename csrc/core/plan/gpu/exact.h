// From a problem to the way a GPU sums it exactly. Pure host functions, as plan.h.
#pragma once

#include <variant>

#include "core/contract/exact/format.h"
#include "core/plan/gpu/plan.h"

namespace torch_reduce::exact {

// A warp has `warp_rows` rows; or, where that is 0, 2^log_team warps have a row, or a unit of one, of so many tiles.
struct RowsPlan {
  int64_t span = 0;  // elements that the loads of a row span at most
  int64_t warp_rows = 0;
  int log_team = 0;
  int64_t unit_tiles = 0;
  int loads = 0;  // of a lane in a tile
};

// 2^log_lanes lanes share an output.
struct ShortRowsPlan {
  int log_lanes = 0;
  int loads = 0;  // of a lane
};

// A lane has its columns alone.
struct ShortColumnsPlan {
  int64_t tiles = 0;
};

// As torch_reduce::ColumnsPlan; a CTA takes so many rows.
struct ColumnsPlan {
  int log_across = 0;
  int64_t unit_rows = 0, tiles = 0;
  int finish_log_across = 0, finish_block = 0;  // of the kernel that adds up units
};

// Who has an output, or `across` neighbouring ones: a lane, a warp or a CTA, which may have a unit of so many elements.
enum class Worker { Lane, Warp, Cta };
struct ElementProductsPlan {
  Worker worker = Worker::Lane;
  int across = 1;
  int64_t unit_elements = 0;
};

struct ExactPlan {
  std::variant<std::monostate, RowsPlan, ShortRowsPlan, ShortColumnsPlan, ColumnsPlan, ElementProductsPlan> kernel;
  Access access = Access::Strided;  // Contiguous, Segmented or Strided
  bool words = false;               // the results are superaccumulators
  int block = 32;
  int64_t grid = 0;
  int64_t units = 1;  // CTAs per output
  int64_t shared_bytes = 0, scratch_bytes = 0, expected_bytes = 0;
  int launches = 0;
};

TR_SHARED Family family_of(const ExactPlan& plan);

// `words`: the results are superaccumulators. The constraint's split is not looked at.
TR_SHARED ExactPlan make_exact_plan(const Problem& problem, bool words, const Gpu& gpu,
                                    const Constraint& constraint = {});

}  // namespace torch_reduce::exact

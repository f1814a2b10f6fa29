// From a problem to the way the CPU sums it exactly. Pure, as plan.h.
#pragma once

#include <cstdint>

#include "core/problem/problem.h"

namespace torch_reduce::cpu {

// Outputs of a few elements that are summed side by side (cpu/exact/few.h).
constexpr int64_t kFewOutputs = 64;

struct ExactPlan {
  bool few = false;   // elements an output: no superaccumulator unless one is needed
  int64_t group = 1;  // adjacent outputs that one task reduces, so that the cache lines they share are read once
  int64_t groups = 0;
  int64_t split = 1;  // pieces that an output's elements are cut into
  int64_t piece = 0;  // elements of each but the last
  int64_t scratch_bytes = 0;
  bool words = false;  // the results are superaccumulators
};
TR_SHARED ExactPlan make_exact_plan(const Problem& problem, bool words, int threads);

}  // namespace torch_reduce::cpu

// From the derivative of a norm of rows to the way a GPU makes all gradients in one pass. Pure, as plan.h.
//
// A CTA has whole rows: those of a few neighbouring leaves of the sums over the rows, one after the other. What weight
// and bias have of them adds up in registers, and leaves as the CTA's unit of these sums. Short rows, of no two
// elements of one leaf, share a warp.
#pragma once

#include <optional>

#include "core/plan/gpu/map.h"
#include "core/problem/map_problem.h"

namespace torch_reduce {

struct NormGradientsPlan {
  bool is_short = false;  // rows stand side by side in a warp, each of leaves of its own
  int log_lanes = 5;      // of a row in a warp
  int log_warps = 0;      // of a row in a CTA
  int log_leaves = 0;     // of a row at a time
  int sums = 1;           // over the rows: of the weight, and of the bias
  int64_t units = 1;      // CTAs
  int block = 0;
  int64_t shared_bytes = 0, most_shared_bytes = 0;  // of a CTA; and of any plan on this GPU
  int64_t scratch_bytes = 0;
  FinishPlan finish;
};

// Where there is a kernel for it: for rows of whole vectors at multiples of 16 bytes, of up to 8 chunks, which are
// computed in fp32.
TR_SHARED std::optional<NormGradientsPlan> make_norm_gradients_plan(const MapProblem& problem, const Gpu& gpu);

}  // namespace torch_reduce

// From a problem to the way the CPU sums it exactly. Pure, as plan.h.
#pragma once

#include <cstdint>

#include "core/problem/problem.h"

namespace torch_reduce::cpu {

// Elements of an output that are summed before their sum goes to a superaccumulator, if there are more of them.
constexpr int kLogExactBlock = 10;
constexpr int64_t kExactBlock = int64_t{1} << kLogExactBlock;

// Outputs, or parts of one, that are summed side by side at most.
constexpr int64_t kMostSums = 256;

// Outputs that take turns in consecutive elements: narrow columns, row after row.
constexpr int64_t kMostTurns = 32;

// Rows that are summed side by side at most, a sum for each lane, and the bytes of an element that they have at least.
constexpr int64_t kMostRows = 16, kLeastOfRow = 4;

enum class ExactReading {
  Runs,     // of consecutive elements, in which `group` outputs take turns: one of them, or kMostTurns at most
  Rows,     // of consecutive elements, `group` outputs one after the other: kMostRows at most
  Columns,  // an element of each of `group` neighbours in memory, then the next of each
  Apart,    // the same of outputs that are no neighbours in memory: they are copied so that they are
};

struct ExactPlan {
  ExactReading reading = ExactReading::Runs;
  int64_t group = 1;  // neighbours along the innermost kept dim that one task sums
  int64_t groups = 0;
  int64_t split = 1;  // pieces that an output's elements are cut into
  int64_t piece = 0;  // elements of each but the last
  int64_t scratch_bytes = 0;
  bool words = false;  // the results are superaccumulators
};
TR_SHARED ExactPlan make_exact_plan(const Problem& problem, bool words, int threads);

}  // namespace torch_reduce::cpu

// What a GPU is given to do: a problem and its plan, of which exact sums and scans have kinds of their own.
#pragma once

#include <variant>

#include "core/plan/gpu/exact.h"
#include "core/plan/gpu/plan.h"
#include "core/plan/gpu/scan.h"

namespace torch_reduce {

struct Work {
  const Problem& problem;  // 2.5 KiB, whose copy a small call would notice
  std::variant<Plan, exact::ExactPlan, ScanPlan> plan;

  // Device memory for partials, aligned to 16 bytes, whose contents do not matter.
  int64_t scratch_bytes() const {
    return std::visit([](const auto& p) { return p.scratch_bytes; }, plan);
  }
};

// `words`: the results are superaccumulators. Throws as make_plan does.
inline Work make_work(const Problem& problem, const Gpu& gpu, const Constraint& constraint = {}, bool words = false) {
  if (problem.scan_stride) return {problem, make_scan_plan(problem)};
  if (is_accumulated(problem)) return {problem, exact::make_exact_plan(problem, words, gpu, constraint)};
  return {problem, make_plan(problem, gpu, constraint)};
}

}  // namespace torch_reduce

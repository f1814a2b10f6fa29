// What the CPU is given to do: a problem and its plan, of which two tensors, exact sums and scans have kinds of their
// own.
#pragma once

#include <variant>

#include "core/plan/cpu/exact.h"
#include "core/plan/cpu/partner.h"
#include "core/plan/cpu/plan.h"
#include "core/plan/cpu/scan.h"

namespace torch_reduce::cpu {

struct Work {
  const Problem& problem;  // 2.5 KiB, whose copy a small call would notice
  std::variant<CpuPlan, PartnerPlan, ExactPlan, ScanPlan> plan;
};

// Whether work is planned for one thread, however many there are: so nobody need ask, which takes as long as the plan
// of a small call.
inline bool is_for_one_thread(const Problem& problem) {
  if (problem.scan_stride) return is_scan_for_one_thread(problem.layout);
  if (is_accumulated(problem)) return false;
  if (is_of_two(problem)) return is_pair_for_one_thread(problem.layout);
  return is_for_one_thread(problem.layout);
}

// For as many threads. `words`: the results are superaccumulators. Throws as make_plan does.
inline Work make_work(const Problem& problem, int threads, const Constraint& constraint = {}, bool words = false) {
  if (problem.scan_stride) return {problem, make_scan_plan(problem, threads)};
  if (is_accumulated(problem)) return {problem, make_exact_plan(problem, words, threads)};
  if (is_of_two(problem)) return {problem, make_partner_plan(problem, threads)};
  return {problem, make_plan(problem, threads, constraint)};
}

}  // namespace torch_reduce::cpu

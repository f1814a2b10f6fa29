// What choose.cpp and the families' plans share.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/contract/integers.h"
#include "core/contract/order.h"
#include "core/plan/gpu/kernels.h"
#include "core/plan/gpu/plan.h"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::planning {

constexpr int64_t kMaxGrid = (int64_t{1} << 31) - 1;
using tuning::kWarp;
constexpr int64_t kSmallNumbers = int64_t{1} << 30;  // divisions by a multiplication are exact to here, rounded up

// What the families can do with a problem.
struct Shape {
  int64_t v;  // elements per 16 bytes
  bool aligned;
  bool row_vector, row_segmented, row_unaligned, row_unordered;
  bool short_vector, short_staged, short_scalar;
  bool columns, column_vector, column_segmented, column_unaligned, column_pairs;
};

Shape inspect(const Problem& p);

// A tuned count for the whole GPU, as a power of two, which is what shapes and splits often are.
inline int64_t on_all_sms(const Gpu& gpu, int64_t per_sm) { return power_of_two_near(per_sm * gpu.sms); }

[[noreturn]] inline void refuse(const std::string& what) {
  throw std::invalid_argument("reduce: the constraint on the plan is not legal for this tensor: " + what);
}

inline ColumnsPlan& columns(Plan& plan) { return plan.as<ColumnsPlan>(); }
inline const ColumnsPlan& columns(const Plan& plan) { return plan.as<ColumnsPlan>(); }

// How many of `steps` (what a CTA does before it looks for more) go to one CTA: a power of two, at least `wanted`, and
// enough for the partials to stay small.
int64_t steps_per_unit(const Problem& p, int64_t steps, int64_t wanted, const Constraint& c, int64_t ctas_per_unit);

// Whether a plan's CTAs all run at once, and those that share an output are a cluster at most.
bool fits_clusters(const Plan& plan, const Gpu& gpu);

// Whether units may be added to the output. Accumulators that are not the output would have to be waited for, to be
// rounded: partials are faster.
bool adds_atomically(const Problem& p);

void plan_rows(Plan& plan, bool vector, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c);
void plan_short_rows(Plan& plan, bool vector, const Problem& p, const Shape& s, const Gpu& gpu);
// The kept dim along which results lie innermost.
int innermost_of_results(const Layout& l);
// Where outputs are one element each: the kept dim along which the rows of tiles lie, beside lanes along the innermost.
// That is the one of the results, if it is another, and else the longest. -1 where there are no such tiles: they would
// be mostly empty, or there are too few outputs, or so many that their numbers need more than 32 bits.
int copied_rows(const Layout& l);
void plan_columns(Plan& plan, bool vector, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c);
inline kernels::ClusterCode columns_cluster_code(const Plan& plan) {
  return kernels::columns_cluster_code(plan.access, columns(plan).steps);
}
// Shared memory for what the units of columns leave to one another in a cluster, and whether they can: their kernel has
// code for it, and a CTA room.
int64_t cluster_bytes(const Plan& plan, const Problem& p);
bool columns_meet_in_clusters(const Plan& plan, const Problem& p);

// Whether tiles can do it.
bool tiles_are_legal(const Problem& p);
void plan_tiles(Plan& plan, bool vector, const Problem& p, const Gpu& gpu, const Constraint& c);

void plan_finish(Plan& plan, const Problem& p, const Gpu& gpu);
// Where units leave a partial of each of many outputs: neighbouring threads have neighbouring outputs. So many units at
// most.
constexpr int64_t kMostUnitsOfMany =
    int64_t{tuning::kFinishThreads / kWarp} * (tuning::kFinishAtOnce << tuning::kFinishLevels);
FinishPlan finish_of_many(int64_t outputs, int64_t units);

}  // namespace torch_reduce::planning

// How the CTAs of an output meet: in a cluster, by partials and a second kernel, or by atomic adds.
#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Whether the outputs fill memory without gaps from the output's address on, so that zeroing it is one memset.
bool dense(const Layout& l) {
  int64_t last = 0;
  for (int d = 0; d < l.kept_dims; ++d) {
    if (l.kept[d].out_stride <= 0) return false;
    last += (l.kept[d].size - 1) * l.kept[d].out_stride;
  }
  return last + 1 == l.outputs;
}

// Units that meet in a cluster need no second kernel. That pays where all CTAs run at once, each on an SM of its own:
// else the CTAs of a cluster wait for places together, and keep theirs until the last one of them is done.
bool plan_cluster(Plan& plan, const Problem& p, const Gpu& gpu) {
  const bool tiles = plan.is<TilesPlan>() || plan.is<StripsPlan>();
  if (tiles || !fits_clusters(plan, gpu)) return false;
  if (plan.is<ColumnsPlan>()) {
    if (!columns_meet_in_clusters(plan, p)) return false;
    columns(plan).cluster_offset = plan.shared_bytes;
    plan.shared_bytes += cluster_bytes(plan, p);
  }
  plan.finish = Finish::Cluster;
  if (plan.is<RowsPlan>()) plan.as<RowsPlan>().interleaved = false;  // the CTAs of a cluster are neighbours
  return true;
}

// The split of an SM's memory into shared memory and L1 that columns' CTAs need, for their second kernel to keep. An SM
// changes it only while nothing runs there: so one that the second kernel has changed takes fewer CTAs of the next
// call, which begins beside it, and the rest come when all others have ended. Only for sums of 64 bits, as of others
// most took as long and some longer; not for unaligned columns, nor where a few outputs have a CTA each.
int carveout(const Plan& plan, const Problem& p, const Gpu& gpu) {
  const bool helps = accumulator_bytes(p) == 8 && plan.is<ColumnsPlan>() && plan.access != Access::Unaligned &&
                     !plan.finish_kernel.few_outputs;
  if (!helps || gpu.shared_bytes == 0) return -1;
  return static_cast<int>(std::min<int64_t>(ceil_div(100 * columns(plan).shared_at_once, gpu.shared_bytes), 100));
}

// A CTA for each output, or a cluster of them. A thread takes its units by 64 bytes.
void plan_few_outputs(Plan& plan, const Problem& p, const Gpu& gpu) {
  const int64_t acc = accumulator_bytes(p), outputs = p.layout.outputs;
  FinishPlan& f = plan.finish_kernel;
  f.padded_units = ceil_div(plan.units, finish_vector(acc)) * finish_vector(acc);
  const auto more_ctas = [&](int64_t ctas) {
    return ctas <= gpu.cluster_ctas && ctas * outputs <= gpu.sms && ctas * kFinishUnits <= plan.units;
  };
  while (more_ctas(2 * f.cluster)) f.cluster *= 2;
  const int64_t units = ceil_div(plan.units, f.cluster), side_by_side = finish_side_by_side(acc);
  f.block = kWarp;
  while (f.block < kFinishThreads && f.block * side_by_side < units) f.block *= 2;
  f.units_per_thread = static_cast<int>(side_by_side);
  while (int64_t{f.block} * f.units_per_thread < units) f.units_per_thread *= 2;
  f.grid = outputs * f.cluster;
}

}  // namespace

FinishPlan finish_of_many(int64_t outputs, int64_t units) {
  FinishPlan f;
  f.padded_units = units;
  while (f.log_across < 5 && (int64_t{1} << f.log_across) < outputs) ++f.log_across;
  int64_t along = 1;
  while (along * kFinishAtOnce < units && (along << f.log_across) < kFinishThreads) along *= 2;
  while (along * f.units_per_thread < units) f.units_per_thread *= 2;
  f.block = static_cast<int>(std::max<int64_t>(along << f.log_across, kWarp));
  f.grid = ceil_div(outputs, int64_t{1} << f.log_across);
  return f;
}

bool adds_atomically(const Problem& p) {
  return p.mode == Mode::Atomic && traits_of(p.op).adds && traits_of(p.op).ending == Ending::Own &&
         p.out == p.compute && dense(p.layout);
}

bool fits_clusters(const Plan& plan, const Gpu& gpu) { return plan.units <= gpu.cluster_ctas && plan.grid <= gpu.sms; }

void plan_finish(Plan& plan, const Problem& p, const Gpu& gpu) {
  const int64_t outputs = p.layout.outputs;
  plan.launches = 1;
  if (plan.units == 1) return;
  if (plan_cluster(plan, p, gpu)) return;
  plan.launches = 2;
  if (adds_atomically(p)) {
    plan.finish = Finish::Atomic;  // the other launch comes before, and zeroes
    return;
  }
  plan.finish = Finish::Partials;
  if (plan.is<RowsPlan>() || outputs <= on_all_sms(gpu, gpu.tuning.finish_few_outputs_per_sm)) {
    plan.finish_kernel.few_outputs = true;
    plan_few_outputs(plan, p, gpu);
  } else {
    plan.finish_kernel = finish_of_many(outputs, plan.units);
  }
  plan.finish_kernel.carveout = carveout(plan, p, gpu);
  plan.scratch_bytes = outputs * plan.finish_kernel.padded_units * accumulator_bytes(p);
}

}  // namespace torch_reduce::planning

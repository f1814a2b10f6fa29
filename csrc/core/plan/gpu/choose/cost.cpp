#include "core/plan/gpu/choose/cost.h"

#include <cmath>

#include "core/plan/gpu/box.h"
#include "core/plan/gpu/columns_cut.h"

namespace torch_reduce {

using namespace planning;
using tuning::Kernel;

namespace {

Kernel rows_kernel(Access access) {
  switch (access) {
    case Access::Contiguous:
      return Kernel::RowsContiguous;
    case Access::Segmented:
      return Kernel::RowsSegmented;
    case Access::Unaligned:
      return Kernel::RowsUnaligned;
    case Access::UnalignedSegmented:
      return Kernel::RowsUnalignedSegmented;
    case Access::Unordered:
      return Kernel::RowsUnordered;
    default:
      return Kernel::RowsStrided;
  }
}

Kernel columns_kernel(Access access) {
  switch (access) {
    case Access::Contiguous:
      return Kernel::ColumnsContiguous;
    case Access::Segmented:
      return Kernel::ColumnsSegmented;
    case Access::Unaligned:
      return Kernel::ColumnsUnaligned;
    case Access::Pairs:
      return Kernel::ColumnsPairs;
    default:
      return Kernel::ColumnsStrided;
  }
}

// `count` consecutive elements of each of `rows` outputs, which are neighbours in the input.
Box box_of(const Layout& l, int64_t rows, int64_t count) {
  Box box;
  add_consecutive(box, l, 0, l.reduced_dims, count);
  add_rows(box, l, 0, rows);
  return box;
}

Box results_of(const Layout& l, int64_t rows) {
  Box box;
  for (int d = l.kept_dims - 1; d >= 0 && rows > 1; --d) {
    box.add(l.kept[d].out_stride, std::min(l.kept[d].size, rows));
    rows = ceil_div(rows, l.kept[d].size);
  }
  return box;
}

// The effort of each kind of kernel: what its warps load, and what its CTAs read and write.
struct EffortOf {
  const Problem& p;
  const Plan& plan;
  const Gpu& gpu;
  Effort e{};
  const Layout& l = p.layout;
  double grid = static_cast<double>(plan.grid), sms = std::max(gpu.sms, 1);
  int64_t element = static_cast<int64_t>(size_of(p.in)), result = static_cast<int64_t>(size_of(p.out)),
          v = 16 / element;

  // `loads` of all warps, each of `width` elements for a lane, of which a warp has so many in flight. So many of them
  // lie in the box.
  void load(double loads, int64_t width, double in_flight, const Box& box, double loads_of_box = 1) {
    const double most = kWarp * ceil_div(width * element, tuning::kLine);
    const double warps = grid * plan.block / kWarp, waves = std::ceil(grid * plan.block / (tuning::kThreadsOfSm * sms));
    if (is_slow()) in_flight = 1.0 / 3;
    e.loads = loads;
    e.lines = loads * std::clamp(box.pieces(tuning::kLine, element) / loads_of_box, 1.0, most);
    e.values = loads * (kernels::adds_packed(kernels::types_of(p)) ? ceil_div(width * element, 4) : width);
    e.warps = warps / waves;
    e.rounds = std::ceil(std::max(loads / warps, 1.0) / in_flight) * waves;
  }
  // Whether one load waits for another: by a loop over many dims between them, or as each is one of four, by the
  // element's size, into one register.
  bool is_slow() const {
    const bool loops = plan.access == Access::Strided && l.reduced_dims > kFewDims;
    const kernels::Types types = kernels::types_of(p);
    return loops || !(kernels::are_typed(types) || kernels::are_of_float8(types));
  }

  // Of what lies in so many bytes and is used again, the share that a cache has lost by then.
  static double lost(double bytes, double cache) { return std::max(0.0, 1 - cache / bytes); }
  double bytes(const Box& box) const { return box.sectors(element) * tuning::kSector; }
  double results(double ctas, int64_t rows) const { return ctas * results_of(l, rows).sectors(result); }

  // CTAs each walk `count` elements of each of `rows` outputs, `step` of them at a time. A sector that several elements
  // share is read once, if the L1 still has it: within a step, or when a later one comes back to it. What is not in the
  // L1 is read from the L2, or from memory.
  void cta_of_rows(int64_t rows, int64_t count, int64_t step) {
    step = std::min(step, count);
    const Box whole = box_of(l, rows, count), of_step = box_of(l, rows, step);
    const double once = grid * whole.sectors(element),
                 by_step = std::max(once, grid * of_step.sectors(element) * count / step),
                 by_load = std::max(by_step, e.lines);
    const double ctas_of_sm = std::max(1.0, double{tuning::kThreadsOfSm} / plan.block);
    const double beside = std::clamp(grid / sms, 1.0, ctas_of_sm), at_once = std::min(grid, sms * ctas_of_sm);
    e.cta_sectors = once + lost(beside * bytes(whole), tuning::kL1Bytes) * (by_step - once) +
                    lost(beside * bytes(of_step), tuning::kL1Bytes) * (by_load - by_step) + results(grid, rows);
    const double from_memory = lost(bytes(box_of_ctas(at_once, rows, count)), tuning::kL2Bytes) * by_step +
                               lost(bytes(box_of_ctas(at_once, rows, step)), tuning::kL2Bytes) * (by_load - by_step);
    e.memory_bytes = from_memory * tuning::kSector;
  }
  // What so many CTAs read, which are neighbours.
  Box box_of_ctas(double ctas, int64_t rows, int64_t count) const {
    const double elements = ctas * rows * count, n = std::max<int64_t>(l.n, 1);
    const double all_rows = std::clamp<double>(std::ceil(elements / n), rows, std::max(rows, l.outputs));
    const double all_count = std::clamp<double>(elements / rows, count, n);
    return box_of(l, static_cast<int64_t>(all_rows), static_cast<int64_t>(all_count));
  }

  void operator()(std::monostate) {}
  void operator()(const RowsPlan& rows) {
    e.kernel = rows_kernel(plan.access);
    const bool vector = loads_vectors(plan.access);
    const int64_t width = vector ? v : 1, slots = int64_t{1} << rows.log_slots;
    const int64_t places = is_slow() ? kChunk : std::clamp<int64_t>(rows.places, 1, kChunk);
    const int64_t of_chunk = ceil_div(places, kWarp * width);
    const double chunks = 1.0 * l.outputs * std::max<int64_t>(chunk_count(rows.places), 1);
    load(chunks * of_chunk, width, vector ? tuning::kLoadsInFlight : kChunk / kWarp, box_of(l, 1, kWarp * width));
    cta_of_rows(rows.rows_per_cta, std::min(l.n, slots * kChunk), plan.block / kWarp * kChunk);
  }
  void operator()(const ShortRowsPlan& rows) {
    const int64_t lanes = int64_t{1} << rows.log_lanes, at_once = kWarp >> rows.log_lanes;
    if (plan.access == Access::Strided) {
      e.kernel = lanes > 1 ? Kernel::ShortRowsShared : Kernel::ShortRowsStrided;
      // Lanes are as many elements apart as each has.
      const int64_t elements = std::clamp<int64_t>(l.n, 1, rows.lane_elements);
      Box apart;
      if (l.reduced_dims > 0) {
        apart.add(l.reduced[l.reduced_dims - 1].stride * elements, std::min(lanes, ceil_div(l.n, elements)));
      }
      add_rows(apart, l, 0, at_once);
      const int64_t of_warp = int64_t{rows.lane_rows} * rows.lane_elements;
      load(1.0 * of_warp * ceil_div(l.outputs, at_once * rows.lane_rows), 1, of_warp, apart);
    } else {
      const bool unaligned = plan.access == Access::Unaligned;
      e.kernel = unaligned ? Kernel::ShortRowsUnaligned : Kernel::ShortRowsAligned;
      const double of_row = unaligned ? 1.0 * l.n / v : lanes;  // loads of lanes
      load(std::max(l.outputs * of_row / kWarp, 1.0), v, rows.lane_rows, box_of(l, at_once, lanes * v));
    }
    cta_of_rows(rows.rows_per_cta, l.n, l.n);
  }
  void operator()(const CopiesPlan& copies) {
    e.kernel = Kernel::Copies;
    const KeptDim &lanes = l.kept[l.kept_dims - 1], &rows = l.kept[copies.rows];
    const int64_t across = std::min<int64_t>(lanes.size, kWarp),
                  down = std::min<int64_t>(rows.size, tuning::kCopiesRows);
    Box of_load, box, results;
    of_load.add(lanes.in_stride, across);
    box.add(lanes.in_stride, across);
    box.add(rows.in_stride, down);
    results.add(lanes.out_stride, across);
    results.add(rows.out_stride, down);
    load(grid * down, 1, tuning::kCopiesRows / tuning::kCopiesWarps, of_load);
    e.cta_sectors = grid * (box.sectors(element) + results.sectors(result));
  }
  void operator()(const ColumnsPlan& columns) {
    e.kernel = columns_kernel(plan.access);
    const int64_t width = loads_vectors(plan.access) ? v : plan.access == Access::Pairs ? 2 : 1;
    const int64_t across = int64_t{1} << columns.log_across, down = kWarp >> columns.log_across;
    const int64_t batch = columns.batch_leaves * columns.steps;
    const double warps = grid * plan.block / kWarp;
    load(warps * (batch << columns.log_batches), width, batch, box_of(l, across * width, down));
    cta_of_rows(columns.tile_columns, ceil_div(l.n, plan.units), plan.block / kWarp * down * batch);
  }
  void operator()(const StackedPlan& stacked) {
    e.kernel = plan.access == Access::Pairs ? Kernel::StackedPairs : Kernel::Stacked;
    load(1.0 * l.n * ceil_div(stacked.threads, kWarp), stacked.columns, l.n, box_of(l, kWarp * stacked.columns, 1));
    cta_of_rows(plan.block * stacked.columns, l.n, l.n);
  }
  void operator()(const TilesPlan& tiles) {
    e.kernel = Kernel::Tiles;
    const int64_t count = int64_t{kChunk} << tiles.log_chunks;
    Box box;
    add_consecutive(box, l, tiles.outer, l.reduced_dims, count);
    add_rows(box, l, tiles.outer, tiles.rows_per_cta);
    const double passes = grid * (1 << (tiles.log_slots - tiles.log_chunks)),
                 loads = 1.0 * count * tiles.rows_per_cta / kWarp;
    load(passes * loads, 1, tuning::kTilesBatch, box, loads);
    e.cta_sectors = passes * box.sectors(element) + results(passes, tiles.rows_per_cta);
  }
  void operator()(const StripsPlan& strips) {
    const bool vector = loads_vectors(plan.access);
    e.kernel = vector ? Kernel::Strips : Kernel::StripsStrided;
    Box box;
    add_consecutive(box, l, strips.cut, l.reduced_dims, strips.range);
    add_rows(box, l, strips.cut, strips.rows_per_cta);
    const int64_t width = vector ? v : 1;
    const double loads = 1.0 * strips.range * strips.rows_per_cta / (kWarp * width);
    load(grid * loads, width, tuning::kLoadsInFlight, box, loads);
    e.cta_sectors = grid * box.sectors(element) + results(grid, strips.rows_per_cta);
  }
};

}  // namespace

Effort effort_of(const Problem& p, const Plan& plan, const Gpu& gpu) {
  const Layout& l = p.layout;
  if (l.n == 0 || plan.grid == 0) return {};
  EffortOf effort{p, plan, gpu};
  std::visit([&](const auto& kernel) { effort(kernel); }, plan.kernel);
  Effort& e = effort.e;
  Box tensor;
  for (int d = 0; d < l.kept_dims; ++d) tensor.add(l.kept[d].in_stride, l.kept[d].size);
  for (int d = 0; d < l.reduced_dims; ++d) tensor.add(l.reduced[d].stride, l.reduced[d].size);
  e.memory_bytes = std::max(e.memory_bytes, tensor.sectors(effort.element) * tuning::kSector) +
                   1.0 * l.outputs * effort.result + 2.0 * plan.scratch_bytes;
  e.trees = 1.0 * l.outputs * plan.units;
  e.sms = std::min(effort.grid, effort.sms);
  e.shares_sms = effort.grid > effort.sms;
  return e;
}

double estimated_us(const Effort& e, Finish finish) {
  const tuning::KernelCost& kernel = tuning::kKernelCosts[static_cast<int>(e.kernel)];
  const double instructions =
      e.loads * kernel.load_instructions + e.values * tuning::kValueInstructions + e.trees * kernel.tree_instructions;
  const double causes[] = {
      e.memory_bytes / std::min(tuning::kMemoryBytesPerUs, e.sms * tuning::kSmBytesPerUs),
      e.cta_sectors * tuning::kSector / tuning::kCtaBytesPerUs,
      e.lines / (e.sms * tuning::kLinesPerUs),
      instructions / (e.sms * tuning::kInstructionsPerUs),
      e.rounds * tuning::kRoundUs + instructions / e.warps * tuning::kInstructionUs,
  };
  double sum = 0;
  for (const double us : causes) sum += us * us * us;
  const double start = kernel.start_us + (e.shares_sms ? tuning::kSharedSmUs : 0);
  return start + tuning::kFinishUs[static_cast<int>(finish)] + std::cbrt(sum);
}

}  // namespace torch_reduce

// Plans of the family that reads along memory where the order of the reduced dims is another.
#include "core/plan/gpu/box.h"
#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

int64_t rows_of(const Layout& l, int outer) {
  int64_t rows = l.outputs;
  for (int d = 0; d < outer; ++d) rows *= l.reduced[d].size;
  return rows;
}

// How the reduced dims are cut: a row is what the first `outer` of them leave, a line what the first `cut` do; a CTA
// takes 2^log_chunks chunks of each of rows_per_cta rows at a time, or, in strips, goes along lines.
struct TileCut {
  bool strips = false;
  int outer = 0, cut = 0, log_chunks = 0, rows_per_cta = 1;
};

// The length of the runs that a CTA reads, in bytes up to kRun.
int64_t run_of(const TileCut& plan, const Layout& l, int64_t element) {
  Box box;
  if (plan.strips) {
    add_consecutive(box, l, plan.cut, l.reduced_dims, kChunk);
  } else {
    add_consecutive(box, l, plan.outer, l.reduced_dims, int64_t{kChunk} << plan.log_chunks);
  }
  add_rows(box, l, plan.outer, plan.rows_per_cta);
  return std::min(box.run() * element, kRun);
}

int64_t size_behind(const Layout& l, int cut) {
  int64_t size = 1;
  for (int d = cut; d < l.reduced_dims; ++d) size *= l.reduced[d].size;
  return size;
}

// How far apart the elements of a line are, at most.
int64_t span(const Layout& l, int cut) {
  int64_t last = 0;
  for (int d = cut; d < l.reduced_dims; ++d) last += (l.reduced[d].size - 1) * l.reduced[d].stride;
  return last;
}

// Chunks of a unit. Units end where chunks of the output do, not where rows do, so rows must be longer than those.
int64_t most_slots(const TileCut& plan, const Layout& l, int64_t acc) {
  constexpr int64_t kBytes = 4 << 10;  // of shared memory, beside a tile
  int64_t slots = plan.strips ? int64_t{1} << kStripsMostLogSlots : kTilesMostSlots;
  while (!plan.strips && slots * plan.rows_per_cta * acc > kBytes) slots /= 2;
  while (plan.outer && slots * kChunk > size_behind(l, plan.outer)) slots /= 2;
  return slots;
}

// The way to cut the reduced dims that has the longest runs; among equals, whole outputs come first, as their ranges
// begin where their rows do, then long lines.
TileCut best_cut(const Problem& p, int64_t* best_run) {
  const Layout& l = p.layout;
  const int64_t element = static_cast<int64_t>(size_of(p.in)), acc = static_cast<int64_t>(size_of(p.compute));
  const int64_t most = kTilesBytes / element / kChunk;
  const int64_t least = steps_per_unit(p, std::max<int64_t>(chunk_count(l.n), 1), 1, {}, 1);
  TileCut best;
  *best_run = 0;
  auto consider = [&](const TileCut& plan) {
    const int64_t run = run_of(plan, l, element);
    if (run > *best_run && most_slots(plan, l, acc) >= least && span(l, plan.cut) < (int64_t{1} << 32))
      best = plan, *best_run = run;
  };
  TileCut plan;
  for (plan.cut = 1; plan.cut < l.reduced_dims; ++plan.cut) {
    if (size_behind(l, plan.cut) > kTilesInner) continue;
    plan.log_chunks = std::min(log2_above(most), log2_above(chunk_count(l.n)));
    consider(plan);
  }
  for (plan.cut = 1; plan.cut < l.reduced_dims; ++plan.cut) {
    if (size_behind(l, plan.cut) < kChunk) continue;
    plan.strips = true;
    plan.log_chunks = 0;
    plan.outer = plan.cut;
    plan.rows_per_cta = static_cast<int>(std::min<int64_t>(rows_of(l, plan.cut), strips_rows(acc)));
    consider(plan);
  }
  plan.strips = false;
  for (plan.cut = 2; plan.cut < l.reduced_dims; ++plan.cut) {
    if (size_behind(l, plan.cut) > kTilesInner) continue;
    for (plan.outer = 1; plan.outer < plan.cut; ++plan.outer) {
      for (plan.log_chunks = 0; (1 << plan.log_chunks) < most; ++plan.log_chunks) {
        plan.rows_per_cta = static_cast<int>(std::min(rows_of(l, plan.outer), most >> plan.log_chunks));
        if (size_behind(l, plan.outer) >> plan.log_chunks >= kChunk) consider(plan);
      }
    }
  }
  return best;
}

// Whether 16 bytes hold the same element of neighbouring rows, everywhere.
bool strips_read_vectors(const TileCut& plan, const Problem& p) {
  const Layout& l = p.layout;
  const int64_t v = 16 / static_cast<int64_t>(size_of(p.in));
  int64_t neighbours = 0;  // rows side by side
  bool multiple = p.in_alignment == 16;
  const auto consider = [&](int64_t stride, int64_t size, bool rows) {
    if (rows && stride == 1 && neighbours == 0) {
      neighbours = size;
    } else {
      multiple &= stride % v == 0 && stride > 0;
    }
  };
  for (int d = 0; d < l.kept_dims; ++d) consider(l.kept[d].in_stride, l.kept[d].size, true);
  for (int d = 0; d < l.reduced_dims; ++d) consider(l.reduced[d].stride, l.reduced[d].size, d < plan.outer);
  return multiple && neighbours > 0 && neighbours % v == 0 && plan.rows_per_cta % v == 0;
}

// Threads on a line: as many as leave the fewest batches with the fewest empty places, of runs of at least a sector.
int threads_along(int64_t inner, int64_t lines, int64_t element) {
  if (inner < kTilesBatch) return static_cast<int>(inner);
  int64_t best = 0, least = 0;
  for (int64_t along = 1; along * kSector / element <= kTilesThreads; ++along) {
    const int64_t batches = ceil_div(lines, kTilesThreads / along) * ceil_div(inner, along * kTilesBatch);
    if (best == 0 || batches < least) best = along, least = batches;
  }
  return static_cast<int>(best);
}

}  // namespace

bool tiles_are_legal(const Problem& p) {
  const Layout& l = p.layout;
  if (!kernels::have_tiles(kernels::types_of(p)) || p.mode != Mode::Deterministic) return false;
  for (int d = 0; d < l.reduced_dims; ++d) {
    if (l.reduced[d].stride < 0) return false;  // places in a line are numbers without a sign
  }
  if (l.n == 0 || l.reduced_dims < 2 || l.kept_dims + l.reduced_dims > kTileDims) return false;
  int64_t run;
  best_cut(p, &run);
  return run > 0;
}

namespace {

// Chunks of a unit: whole units need reading nothing twice, others read one more in part.
int64_t slots_of_unit(const Problem& p, const TileCut& cut, const Constraint& c, int64_t row, int64_t most) {
  const int64_t chunks = chunk_count(p.layout.n), outputs = p.layout.outputs;
  int64_t wanted = int64_t{1} << cut.log_chunks;
  if (cut.strips) {
    const auto many = [&] {
      return row % (2 * wanted * kChunk) == 0
                 ? chunks * outputs / wanted > kStripsWholePartials
                 : chunks * outputs / wanted > kStripsPartials && row >= kStripsLeastUnits * wanted * kChunk;
    };
    while (2 * wanted <= most && many()) wanted *= 2;
  }
  const int64_t slots = steps_per_unit(p, chunks, wanted, c, 1);
  if (slots > most) refuse("tiles of so many elements need more units");
  return slots;
}

void plan_strips(Plan& plan, bool vector, const Problem& p, const TileCut& cut, const Gpu& gpu, int64_t slots) {
  const Layout& l = p.layout;
  const int64_t element = static_cast<int64_t>(size_of(p.in)), acc = static_cast<int64_t>(size_of(p.compute));
  const int64_t row = size_behind(l, cut.outer), strips = ceil_div(rows_of(l, cut.outer), cut.rows_per_cta);
  const int64_t least_units = row % (slots * kChunk) == 0 ? 1 : kStripsUnits;
  int64_t range = std::max(kStripsRange, least_units * slots);
  while (range / 2 >= least_units * slots && strips * ceil_div(row, range * kChunk) < kStripsCtasPerSm * gpu.sms)
    range /= 2;
  // Small tensors: better read twice in part than by few CTAs.
  while (range / 2 >= slots && strips * ceil_div(row, range * kChunk) < gpu.sms) range /= 2;
  range = std::min(range, power_of_two_above(chunk_count(row))) * kChunk;
  const int64_t ranges = ceil_div(row, range);
  plan.kernel = StripsPlan{cut.cut, cut.rows_per_cta, log2_above(slots), range, row, ranges};
  plan.access = vector && strips_read_vectors(cut, p) ? Access::Contiguous : Access::Strided;
  plan.block = static_cast<int>(ceil_div(cut.rows_per_cta * kStripsThreads, kWarp)) * kWarp;
  plan.grid = strips * ranges;
  const int64_t rows_of_warps = plan.block / kStripsThreads, v = 16 / element;
  const int64_t turned = plan.block / kWarp * (kLeaves / v * (v + 1)),
                counters = rows_of_warps * (kStripsMostLogSlots + 2);
  plan.shared_bytes = rows_of_warps * kLeaves * element + (turned + counters) * acc;
}

void plan_tiles_in_shared_memory(Plan& plan, const Problem& p, const TileCut& cut, int64_t slots) {
  const Layout& l = p.layout;
  const int64_t element = static_cast<int64_t>(size_of(p.in)), acc = static_cast<int64_t>(size_of(p.compute));
  const int64_t row = size_behind(l, cut.outer), strips = ceil_div(rows_of(l, cut.outer), cut.rows_per_cta);
  TilesPlan tiles{cut.outer, cut.cut, cut.rows_per_cta, log2_above(slots)};
  tiles.row = row;
  tiles.units_of_row = ceil_div(row, slots * kChunk);
  tiles.log_chunks = std::min(cut.log_chunks, tiles.log_slots);
  plan.block = kTilesThreads;
  plan.grid = strips * tiles.units_of_row;
  const int64_t inner = size_behind(l, cut.cut), row_tile = int64_t{kChunk} << tiles.log_chunks;
  const int64_t lines = (ceil_div(row_tile - 1, inner) + 1) * cut.rows_per_cta;
  tiles.line = static_cast<int>(inner);
  tiles.along = threads_along(inner, lines, element);
  tiles.pad_shift = kNoGaps;
  if (inner * element % 16 == 0) {
    // Lines that begin at the same banks of shared memory would be in each other's way.
    for (tiles.pad_shift = log2_above(kLine / element); inner % (int64_t{2} << tiles.pad_shift) == 0;)
      ++tiles.pad_shift;
  }
  const int64_t tile = cut.rows_per_cta * row_tile;
  tiles.tile_bytes = static_cast<int>(tile * element + ((tile - 1) >> tiles.pad_shift) * 16);
  plan.shared_bytes = tiles.tile_bytes + ceil_div(inner * 4, acc) * acc + (cut.rows_per_cta * acc << tiles.log_slots);
  plan.kernel = tiles;
}

}  // namespace

void plan_tiles(Plan& plan, bool vector, const Problem& p, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  int64_t run;
  TileCut cut = best_cut(p, &run);
  const int64_t row = size_behind(l, cut.outer), rows = rows_of(l, cut.outer);
  const int64_t most = most_slots(cut, l, static_cast<int64_t>(size_of(p.compute)));
  // Small tensors: narrow strips, so that more SMs get one.
  while (cut.strips && cut.rows_per_cta > kStripsLeastRows && rows / cut.rows_per_cta * chunk_count(row) < gpu.sms) {
    cut.rows_per_cta /= 2;
  }
  const int64_t slots = slots_of_unit(p, cut, c, row, most);
  if (cut.strips) {
    plan_strips(plan, vector, p, cut, gpu, slots);
  } else {
    plan_tiles_in_shared_memory(plan, p, cut, slots);
  }
  plan.units = ceil_div(chunk_count(l.n), slots);
  if (c.vector == 1 && !loads_vectors(plan.access)) refuse("no 16-byte loads in these tiles");
}

}  // namespace torch_reduce::planning

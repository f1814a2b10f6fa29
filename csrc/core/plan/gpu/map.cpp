#include "core/plan/gpu/map.h"

#include <algorithm>

#include "core/contract/integers.h"
#include "core/contract/order.h"
#include "core/plan/tuning/kernels.h"
#include "core/plan/tuning/map.h"

namespace torch_reduce {

using tuning::kWarp;

namespace {

constexpr int kVectorBytes = 16, kLogLanesOfSector = 1;

// Whether V neighbours of every row lie at a multiple of their bytes, up to 16.
bool are_vectors(const MapProblem& p, int64_t MapStrides::* stride, DType type, int alignment, int64_t v) {
  const int64_t bytes = std::min<int64_t>(v * static_cast<int64_t>(size_of(type)), kVectorBytes);
  bool are = (p.along.*stride == 1 || p.n == 1) && alignment >= bytes;
  for (int d = 0; d < p.dims; ++d) are &= p.dim[d].stride.*stride % v == 0;
  return are;
}

void choose_places(MapPlan& plan, const MapProblem& p, const TraitsOfMap& map, int64_t v) {
  plan.reads_vectors =
      are_vectors(p, &MapStrides::x, p.in, p.alignment, v) && are_vectors(p, &MapStrides::second, p.in, p.alignment, v);
  plan.writes_vectors = are_vectors(p, &MapStrides::out, p.out, p.out_alignment, v);
  plan.masks_vectors = are_vectors(p, &MapStrides::mask, DType::Bool, p.mask_alignment, v);
  const bool has_likely_result = !map.writes_values || (plan.writes_vectors && (p.out == p.in || p.out == p.compute));
  const bool has_likely_parameters = map.has_channels ? p.channel % v == 0 && p.n < int64_t{1} << 31
                                                      : p.parameters == p.in && p.parameter_alignment == kVectorBytes;
  if (plan.reads_vectors && has_likely_result && has_likely_parameters && p.n % v == 0) plan.places = Places::Vectors;
}

// The lanes of a row in a warp, and the loads of a lane. Many short rows have few lanes each, as every lane computes
// what a row needs once. Two lanes are the least: they read a sector of memory.
void choose_lanes(MapPlan& plan, const MapProblem& p, int64_t v, bool has_short, const Gpu& gpu) {
  const int64_t vectors = ceil_div(std::min<int64_t>(p.n, kChunk), v);
  const int most = std::min(log2_above(vectors), 5);
  const int least = std::min(std::max(log2_above(ceil_div(vectors, kLoadsOfShort)), kLogLanesOfSector), most);
  const bool are_many = ceil_div(p.rows, kWarp >> least) >= gpu.sms * tuning::kMapShortWarpsPerSm;
  const bool is_short = plan.places == Places::Vectors && p.n <= kLeaves;
  plan.log_lanes = is_short && has_short && are_many ? least : most;
  plan.loads = static_cast<int>(ceil_div(vectors, 1 << plan.log_lanes));
  if (is_short && plan.loads == 1) {
    plan.places = Places::OneVector;
  } else if (is_short && has_short) {
    plan.places = Places::ShortVectors;
  }
}

bool lie_side_by_side(const MapProblem& p) {
  return p.along.x == 1 && p.along.second == 1 && p.along.out == 1 && (p.out == p.in || p.out == p.compute);
}

// The pieces of a warp: few warps with much to do meet seldom, but all SMs are to have enough. A long row's are its
// chunks.
int choose_pieces(const MapProblem& p, int64_t chunks, int64_t side_by_side, int64_t piece_bytes, const Gpu& gpu) {
  const auto warps_of = [&](int pieces) {
    return chunks > 1 ? p.rows * ceil_div(chunks, pieces) : ceil_div(p.rows, side_by_side * pieces);
  };
  int pieces = chunks > tuning::kMapWarps * tuning::kMapChunks ? tuning::kMapMostChunks : tuning::kMapChunks;
  while (chunks > 1 && pieces / 2 >= chunks) pieces /= 2;
  while (pieces > 1 &&
         (warps_of(pieces) < gpu.sms * tuning::kMapWarpsPerSm || pieces * piece_bytes > tuning::kMapWarpBytes)) {
    pieces /= 2;
  }
  return pieces;
}

// The warps of a row in a CTA; and more chunks of each, where only so a cluster has room for the row.
void choose_warps(MapPlan& plan, int64_t chunks, int64_t piece_bytes, const Gpu& gpu) {
  const auto log_warps_of = [&](int most) {
    return log2_above(std::min<int64_t>(ceil_div(chunks, plan.warp_chunks), most));
  };
  const auto fits = [&](int64_t pieces) { return pieces * piece_bytes <= plan.most_shared_bytes; };
  const auto count_units = [&] { return ceil_div(chunks, int64_t{plan.warp_chunks} << plan.log_warps); };
  plan.log_warps = log_warps_of(tuning::kMapWarps);
  while (!fits(int64_t{plan.warp_chunks} << plan.log_warps)) --plan.log_warps;
  if (count_units() > gpu.cluster_ctas && fits(tuning::kMapMostWarps * plan.warp_chunks)) {
    plan.log_warps = log_warps_of(tuning::kMapMostWarps);
  }
  while (count_units() > gpu.cluster_ctas && plan.warp_chunks < tuning::kMapMostChunks &&
         fits(int64_t{2} * plan.warp_chunks << plan.log_warps)) {
    plan.warp_chunks *= 2;
  }
  plan.units = count_units();
}

}  // namespace

// An SM keeps 1 KiB for each CTA, and static shared memory is beside it.
int64_t most_shared_bytes(const Gpu& gpu) {
  constexpr int64_t kLeast = 64 << 10, kBeside = 8 << 10;
  return std::max<int64_t>(gpu.shared_bytes, kLeast) - kBeside;
}

MapPlan make_map_plan(const MapProblem& p, const Gpu& gpu) {
  MapPlan plan;
  const TraitsOfMap map = traits_of(p.map);
  const int bytes = static_cast<int>(size_of(p.in)), word = static_cast<int>(size_of(p.compute));
  const int64_t v = kVectorBytes / bytes, chunks = chunk_count(p.n);
  choose_places(plan, p, map, v);
  const MapTypes types{map.total_words > 0, map.reads_weight, map.writes_values, map.keeps_lifted, word};
  choose_lanes(plan, p, v, have_map(types, Places::ShortVectors), gpu);

  if (plan.places == Places::Any && kWarp >> plan.log_lanes == 1 && lie_side_by_side(p) &&
      have_map(types, Places::Unaligned)) {
    plan.places = Places::Unaligned;
  }

  const bool keeps = keep_lifted(types, plan.places);
  const int piece_bytes = map_piece_bytes(plan.places, map.reads_second, keeps, plan.loads, bytes, word);
  const int64_t side_by_side = kWarp >> plan.log_lanes;
  if (plan.places != Places::ShortVectors) {
    (chunks > 1 ? plan.warp_chunks : plan.warp_rows) = choose_pieces(p, chunks, side_by_side, piece_bytes, gpu);
  }
  plan.most_shared_bytes = most_shared_bytes(gpu);
  choose_warps(plan, chunks, piece_bytes, gpu);

  const int warps = std::max(1 << plan.log_warps, tuning::kMapLeastWarps);
  plan.rows_per_cta = (warps >> plan.log_warps) * plan.warp_rows * static_cast<int>(side_by_side);
  plan.in_cluster = map.total_words > 0 && plan.units > 1 && plan.units <= gpu.cluster_ctas;
  plan.grid = ceil_div(p.rows, plan.rows_per_cta) * plan.units;
  plan.block = warps * kWarp;
  plan.shared_bytes = int64_t{warps} * plan.warp_rows * plan.warp_chunks * piece_bytes;
  plan.fetches_parameters = plan.grid <= tuning::kMapFewCtas;
  if (map.total_words > 0 && plan.units > 1 && !plan.in_cluster) {
    plan.launches = 2;
    plan.scratch_bytes = p.rows * plan.units * map.total_words * word;
  }
  return plan;
}

}  // namespace torch_reduce

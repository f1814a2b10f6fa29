// Which kernels exist. Plans choose among them, and launchers instantiate them, by these predicates alone.
#pragma once

#include "core/contract/ops.h"
#include "core/contract/order.h"
#include "core/plan/gpu/access.h"
#include "core/plan/tuning/kernels.h"
#include "core/problem/problem.h"

namespace torch_reduce::kernels {

// What an instantiation is made for.
struct Types {
  TraitsOf op;
  DType in, compute;
  bool tested;   // elements convert to bool first
  bool untyped;  // finds out the element type at run time
};
inline Types types_of(const Problem& p) {
  return {traits_of_kernels(p.op, p.partner.role), p.in, p.compute, p.tested, false};
}

// Whether there are kernels for the element type itself: for those that are common with the compute type. Elements that
// are tested have those of their size.
constexpr bool are_typed(const Types& t) {
  if (t.untyped || is_float8(t.in)) return false;
  if (t.op.has_order) return is_floating(t.in) && t.in != DType::Float64 && t.compute == DType::Float64;
  if (t.op.role != Role::None) {
    return is_floating(t.in) && t.compute == (t.in == DType::Float64 ? DType::Float64 : DType::Float32);
  }
  if (t.tested) return t.op.adds && !t.op.lifts_integers && t.compute == DType::Int64;
  switch (t.compute) {
    case DType::Float32:
      return is_floating(t.in) && t.in != DType::Float64;
    case DType::Float64:
      return t.in == DType::Float64 || (t.in == DType::Float32 && t.op.widens()) ||
             (is_floating(t.in) && t.op.has_wider_kernels);
    case DType::Endless:
      return t.in == DType::Float64 && t.op.has_wider_kernels;
    case DType::Int128:
      return t.op.sums_in_128_bits && t.in == DType::Int64;
    default:
      return t.op.has_few_kernels ? t.in == DType::Int32 || t.in == DType::Int64 : t.in <= DType::Int64;
  }
}
// Whether there are kernels for both float8 types, of one tensor, by single elements.
constexpr bool are_of_float8(const Types& t) {
  return is_float8(t.in) && t.compute == DType::Float32 && t.op.role == Role::None && !t.tested && !t.untyped;
}
// Whether there are kernels that find out the element type at run time.
constexpr bool are_untyped(const TraitsOf& op, DType compute) {
  return compute == DType::Int64 || (compute == DType::Int128 && op.sums_in_128_bits) ||
         (compute == DType::Endless && op.has_order) || (compute == DType::Float64 && (op.widens() || op.needs_index));
}

// Rare: without the kernels that only some layouts of common types need.
constexpr bool are_few(const Types& t) { return t.op.has_few_kernels || t.tested; }

// Accumulators of several words, elements of rare operators in a wider compute type, and two tensors have kernels for
// aligned loads and for single elements, in the canonical order.
constexpr bool are_scalar(const Types& t) {
  return t.op.role == Role::None && has_scalars(t.op, t.compute) &&
         !(t.op.has_wider_kernels && t.compute == DType::Float64 && t.in != t.compute);
}

// Sums over rows, most of which lie along memory, of places: by columns, or by single elements.
constexpr bool are_of_columns(const Types& t) { return t.op.role == Role::NormalFactor; }

constexpr bool have_rows(const Types& t, Access a) {
  const auto element = static_cast<int64_t>(size_of(t.in));
  switch (a) {
    case Access::Strided:
      return true;
    case Access::Contiguous:
    case Access::Segmented:
      return are_typed(t) && !are_of_columns(t);
    case Access::Unaligned:
    case Access::UnalignedSegmented:
      return are_typed(t) && are_scalar(t) && element <= tuning::kRowsUnalignedElement;
    case Access::Unordered:
      return are_typed(t) && are_scalar(t) && !are_few(t) && t.compute != DType::Float64 &&
             element <= tuning::kUnorderedElement;
    default:
      return false;
  }
}

// Chunks that a warp of rows loads in a step, before it reduces any: as many as the loads in flight are.
constexpr int rows_chunks_at_once(const Types& t, Access a) {
  if (!loads_vectors(a)) return 1;
  const int64_t chunk_loads = kChunk * static_cast<int64_t>(size_of(t.in)) / (16 * tuning::kWarp);
  return chunk_loads < tuning::kLoadsInFlight ? static_cast<int>(tuning::kLoadsInFlight / chunk_loads) : 1;
}
// Warps of a CTA of rows at most: CTAs of a cluster may be wider, where kernels have room for that.
constexpr int rows_most_warps(const Types& t, Access a) {
  const bool wide = t.op.role == Role::None && size_of(t.in) < 8 && loads_vectors(a) && !is_unaligned(a);
  return wide ? tuning::kRowsWarpsInCluster : tuning::kRowsWarps;
}

constexpr bool have_short_rows(const Types& t, Access a) {
  if (a == Access::Strided) return true;
  if (a == Access::Unaligned) return are_typed(t) && are_scalar(t);
  return (a == Access::Contiguous || a == Access::Segmented) && are_typed(t) && !are_of_columns(t);
}

constexpr bool have_columns(const Types& t, Access a) {
  switch (a) {
    case Access::Strided:
      return true;
    case Access::Contiguous:
    case Access::Segmented:
      return are_typed(t);
    case Access::Unaligned:
      return are_typed(t) && are_scalar(t) && static_cast<int64_t>(size_of(t.in)) <= tuning::kColumnsUnalignedElement;
    case Access::Pairs:
      return are_typed(t) && are_scalar(t) && !are_few(t) && t.compute == DType::Float32;
    default:
      return false;
  }
}

// Whether sums of bytes and half-words take several elements to an instruction; and whether those of bytes, down the
// columns, are two to a register (cuda/columns/packed.cuh).
constexpr bool adds_packed(const Types& t) {
  return t.op.adds && !t.op.lifts_integers && t.compute == DType::Int64 && are_typed(t) && size_of(t.in) <= 2;
}
constexpr bool packs_columns(const Types& t, Access a) {
  return adds_packed(t) && size_of(t.in) == 1 && loads_vectors(a);
}
// Whether products of columns combine as plain numbers first: those of eight columns a lane
// (cuda/columns/plain.cuh). Fewer leave room for accumulators of two words, which zeros do not slow down.
constexpr bool have_plain_columns(const Types& t, Access a) {
  return t.op.multiplies && t.compute == DType::Float32 && are_typed(t) && size_of(t.in) == 2 && loads_vectors(a);
}

// Whether there are kernels for columns of leaves of two elements: by those of four, half of the loads would be of
// missing ones, which take as long to combine.
constexpr bool have_columns_of_two_steps(const Types& t, Access a) {
  return a == Access::Contiguous && t.op.role == Role::None && are_typed(t);
}
// The steps of a leaf that a lane loads at once, of outputs of n elements.
constexpr int columns_steps(const Types& t, Access a, int64_t n) {
  if (n <= kLeaves && a != Access::Segmented) return 1;
  return n <= 2 * kLeaves && have_columns_of_two_steps(t, a) ? 2 : kSteps;
}

// The code that kernels of columns have for units that are a cluster: none, or beside the rest, or in kernels of their
// own, whose CTAs may have kColumnsWarpsInCluster warps. Unused, it cost contiguous columns 2 to 7 %.
enum class ClusterCode : uint8_t { None, Beside, Apart };
constexpr ClusterCode columns_cluster_code(Access a, int steps) {
  if (a != Access::Contiguous) return ClusterCode::Beside;
  return steps > 1 ? ClusterCode::Apart : ClusterCode::None;
}

// What a lane of columns loads at a time, and for how many CTAs of them an SM has registers.
struct ColumnsBatch {
  int loads, ctas_at_once;
};
constexpr ColumnsBatch columns_batch(const Types& t, Access a, int steps) {
  const bool two = t.op.role != Role::None;
  if (have_plain_columns(t, a) && !two) return {tuning::kColumnsPlainLoads, tuning::kColumnsPlainCtasAtOnce};
  const int loads = loads_vectors(a) || steps == 1 ? tuning::kLoadsInFlight : tuning::kColumnsElementwiseLoads;
  const int64_t width = loads_vectors(a)     ? 16 / static_cast<int64_t>(size_of(t.in))
                        : a == Access::Pairs ? 2
                                             : 1,
                bytes = width * (packs_columns(t, a) ? 2 : accumulator_bytes(t.op, t.compute));
  return {loads, tuning::columns_ctas_at_once(a == Access::Unaligned, bytes, loads, two)};
}

// Whether a lane may have so many elements of each of so many scattered rows. One size serves rare operators' rows.
constexpr bool have_scattered_rows(const Types& t, int elements, int rows) {
  return !are_few(t) || (elements == tuning::kShortRowsElements && rows == tuning::scattered_rows_of_lane(elements));
}
// Outputs of one element, between layouts.
constexpr bool have_copies(const Types& t) { return !are_few(t) && t.op.role == Role::None; }

// Columns of which a thread has all elements: as many as its registers hold the values of.
constexpr bool have_stacked_columns(const Types& t, Access a) {
  const auto width = a == Access::Pairs ? 2 : 16 / static_cast<int64_t>(size_of(t.in));
  const auto bytes = width * accumulator_bytes(t.op, t.compute);
  return t.op.role == Role::None && (a == Access::Contiguous || a == Access::Pairs) && have_columns(t, a) &&
         bytes <= tuning::kStackedBytes;
}

// Only an order that matters needs tiles.
constexpr bool have_tiles(const Types& t) {
  return are_typed(t) && are_scalar(t) && is_floating(t.compute) && !t.op.selects;
}

}  // namespace torch_reduce::kernels

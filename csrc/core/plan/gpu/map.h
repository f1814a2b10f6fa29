// From a map to the way a GPU works on it. Pure, as plan.h.
//
// A warp has chunks of a row in shared memory, or several short rows, and a CTA several warps of one row, or several
// rows. So a row is read once and written once. The CTAs of a longer row meet in a cluster; where there are no such
// clusters, one kernel leaves a value of each CTA in scratch, and a second one reads the rows again.
#pragma once

#include "core/plan/gpu/plan.h"
#include "core/problem/map_problem.h"

namespace torch_reduce {

// What is known of a row's places when a kernel is compiled: nothing; that all lanes of a warp have them, which lie
// side by side wherever they begin; or that they come in whole vectors, of input, of result and of parameters, the
// latter of the elements' type; that no two elements of a row are of one leaf; and that there is one load of a lane.
enum class Places : uint8_t { Any, Unaligned, Vectors, ShortVectors, OneVector };
constexpr TR_HD bool has_short_rows(Places p) { return p == Places::ShortVectors || p == Places::OneVector; }

// The most loads of a lane and a short row.
constexpr int kLoadsOfShort = 4;

// Of a map, what decides about its kernels.
struct MapTypes {
  bool reduces, reads_weight, writes_values, keeps_lifted;
  int word_bytes;
};
// Whether there are kernels for such places. Short rows: of maps that reduce, in fp32. Unaligned ones: of maps without
// parameters, as rows that have them are mostly whole vectors.
constexpr TR_HD bool have_map(const MapTypes& t, Places places) {
  if (places == Places::ShortVectors) return t.reduces && t.word_bytes == 4;
  return places != Places::Unaligned || (!t.reads_weight && t.writes_values);
}
// Whether they keep what they lifted: words of fp32, as exponentials of others are as fast to make as to keep.
constexpr TR_HD bool keep_lifted(const MapTypes& t, Places places) {
  return t.keeps_lifted && t.word_bytes == 4 && places != Places::Any;
}

struct MapPlan {
  Places places = Places::Any;
  int log_lanes = 5;  // of a row in a warp
  int log_warps = 0;  // of a row in a CTA
  // What a warp takes one after the other: groups of rows that have lanes side by side, or chunks of one row.
  int warp_rows = 1, warp_chunks = 1;
  int loads = 1;  // of a lane and a chunk
  int rows_per_cta = 1;
  int64_t units = 1;                                   // CTAs of a row
  bool in_cluster = false;                             // they are one, or else meet in scratch
  bool reads_vectors = false, writes_vectors = false;  // rows lie side by side at multiples of 16 bytes
  bool masks_vectors = false;                          // and so does the mask, by as many elements
  bool fetches_parameters = false;                     // before they are read, as few CTAs do
  int64_t grid = 1;
  int block = 0;
  int64_t shared_bytes = 0, most_shared_bytes = 0;  // of a CTA; and of any plan on this GPU
  int launches = 1;
  int64_t scratch_bytes = 0;
};

// Shared memory for a chunk, of so many loads a lane. What is lifted of elements is kept in their place. Those that
// begin between multiples of 16 bytes lie in 16 more.
constexpr TR_HD int map_piece_bytes(Places places, bool reads_second, bool keeps_lifted, int loads, int element_bytes,
                                    int word_bytes) {
  constexpr int kLoadBytes = 32 * 16;  // of a warp
  return loads * kLoadBytes * (keeps_lifted ? word_bytes / element_bytes : 1 + reads_second) +
         (places == Places::Unaligned ? 16 * (1 + reads_second) : 0);
}

// Shared memory of a CTA that fills an SM. Nobody launches for a GPU that is not known.
int64_t most_shared_bytes(const Gpu& gpu);

TR_SHARED MapPlan make_map_plan(const MapProblem& problem, const Gpu& gpu);

}  // namespace torch_reduce

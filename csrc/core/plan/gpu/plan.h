// From a problem to the way a GPU works on it: kernel family, grid, split and scratch. Pure host functions: no
// pointer is read and no GPU is needed.
#pragma once

#include <cstdint>
#include <variant>

#include "core/plan/family.h"
#include "core/plan/gpu/access.h"
#include "core/plan/tuning/gpu.h"
#include "core/problem/problem.h"

namespace torch_reduce {

enum class Finish : uint8_t {
  Direct,    // one CTA sees the whole output and writes it
  Cluster,   // the CTAs of an output run at the same time, and the first one combines their values
  Partials,  // CTAs leave partials in scratch, a second kernel combines them in the canonical order
  Atomic,    // CTAs add to the output atomically
};

constexpr int kMostUnitsOfCluster = 16;

// What a plan may know of the device. Zeros: not known.
struct Gpu {
  int sms = 0;
  Tuning tuning{};
  int cluster_ctas = 1;      // the most CTAs of a cluster
  int64_t shared_bytes = 0;  // of an SM
};

// Hopper and later have clusters: 8 CTAs are portable, 16 what GPUs of data centers take with the kernel's consent.
inline Gpu make_gpu(int sms, int major, int minor) {
  return {sms, tuning_of(major, minor),
          major < 9     ? 1
          : major <= 10 ? kMostUnitsOfCluster
                        : 8,
          shared_bytes_of(major, minor)};
}

// A CTA takes 2^log_slots chunks of each of rows_per_cta outputs.
struct RowsPlan {
  int log_slots = 0;
  int rows_per_cta = 1;
  int chunks_at_once = 1;  // of a warp
  int64_t steps = 1;       // in which the CTA's warps take the chunks of each of its outputs
  int64_t places = 0;      // of an output, that are divided into chunks: its elements, or those its loads have room for
  int64_t segment_vectors = 0;  // Unordered: loads of each segment
  bool interleaved = false;     // the same unit of all outputs comes before the next one, as their memory interleaves
};

// 2^log_lanes lanes share an output.
struct ShortRowsPlan {
  int log_lanes = 0;
  int lane_elements = 1, lane_rows = 1;  // Strided: of a lane, so many elements of each of so many outputs
  int rows_per_cta = 1;
};

// Outputs of one element: tiles whose lanes lie along the innermost kept dim, and whose rows along this one.
struct CopiesPlan {
  int rows = 0;
  int64_t across = 1, down = 1;  // tiles along the innermost kept dim, and along the other
};

// 2^log_across lanes of a warp stand side by side, the others on the next leaves. A CTA has 2^log_warps_across x
// 2^log_warps_along warps. A lane takes 2^log_batches batches of `batch_leaves` leaves of `steps` elements.
struct ColumnsPlan {
  int log_across = 0, log_warps_across = 0, log_warps_along = 0;
  int steps = 1, batch_leaves = 1, log_batches = 0;
  int64_t tiles = 1;           // CTAs side by side over the columns
  int64_t tile_columns = 1;    // of each
  int64_t shared_at_once = 0;  // shared memory of all CTAs that an SM has at once
  int64_t cluster_offset = 0;  // Finish::Cluster: the bytes of shared memory before the values of the units
};

// Columns of a few elements: a thread has so many whole ones.
struct StackedPlan {
  int64_t threads = 1;
  int64_t columns = 1;
};

// A row is what the first `outer` of the reduced dims leave, and a line what the first `cut` do. Of each of
// rows_per_cta rows a CTA takes 2^log_slots chunks, 2^log_chunks at a time, with `along` threads on a line.
struct TilesPlan {
  int outer = 0, cut = 0;
  int rows_per_cta = 1;
  int log_slots = 0, log_chunks = 0;
  int64_t row = 1, units_of_row = 1;  // its elements, and the CTAs for it
  int line = 1;                       // its elements
  int along = 1;
  int pad_shift = 0, tile_bytes = 0;  // a gap of 16 bytes in shared memory after 2^pad_shift elements
};

// Rows are lines, side by side in memory. Of each a CTA takes `range` elements, by units of 2^log_slots chunks.
struct StripsPlan {
  int cut = 0;
  int rows_per_cta = 1;
  int log_slots = 0;
  int64_t range = 0;
  int64_t row = 1, ranges_of_row = 1;  // its elements, and the CTAs for it
};

// The second kernel, which combines partials.
struct FinishPlan {
  bool few_outputs = false;  // partials lie [output][unit], for a CTA or a cluster per output; else [unit][output]
  int64_t padded_units = 1;  // few_outputs: partials from one output to the next, a multiple of 16 bytes
  int64_t grid = 0;
  int block = 32;
  int cluster = 1;     // few_outputs: CTAs for each output
  int log_across = 0;  // else: 2^log_across threads side by side, on neighbouring outputs
  int units_per_thread = 1;
  int carveout = -1;  // in percent of an SM's shared memory; -1: as the driver likes
};

// What every kernel is launched by, and what its kernel and the second one are told.
struct Plan {
  std::variant<std::monostate, RowsPlan, ShortRowsPlan, CopiesPlan, ColumnsPlan, StackedPlan, TilesPlan, StripsPlan>
      kernel;
  Access access = Access::Strided;
  Finish finish = Finish::Direct;
  FinishPlan finish_kernel;  // Finish::Partials
  int block = 32;            // threads
  int64_t grid = 0;          // CTAs
  int64_t units = 1;         // CTAs per output; each takes an aligned range of leaves, a power of two of them
  int64_t shared_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t expected_bytes = 0;  // device memory traffic: input, output and scratch
  int launches = 0;

  template <class Kernel>
  Kernel& as() {
    return *std::get_if<Kernel>(&kernel);
  }
  template <class Kernel>
  const Kernel& as() const {
    return *std::get_if<Kernel>(&kernel);
  }
  template <class Kernel>
  bool is() const {
    return std::holds_alternative<Kernel>(kernel);
  }
};

TR_SHARED Family family_of(const Plan& plan);

constexpr int64_t kMaxScratch = int64_t{4} << 20;

// Throws std::invalid_argument with one sentence if the constraint is not legal for the problem, or if the
// problem has more than kMaxKernelDims dims that do not merge.
TR_SHARED Plan make_plan(const Problem& problem, const Gpu& gpu, const Constraint& constraint = {});

TR_SHARED const char* name(Finish finish);

// Kernel parameters have room for this many kept and as many reduced dims. Dims that walk memory like one are
// merged before, so a tensor that needs more has over 2^32 elements.
constexpr int kMaxKernelDims = 32;
// The arguments are copied at every launch, so kernels that read 16 bytes at a time have room for the common few only.
constexpr int kFewDims = 4;
// Shared memory without gaps, as TilesPlan::pad_shift.
constexpr int kNoGaps = 30;
// Kept dims and those reduced ones that are walked with them, where memory's order is not the shape's.
constexpr int kTileDims = 8;

}  // namespace torch_reduce

// From a problem to the way a GPU works on it: kernel family, grid, split and scratch. Pure host functions: no
// pointer is read and no GPU is needed.
#pragma once

#include <cstdint>

#include "core/plan/tuning/gpu.h"
#include "core/problem/problem.h"

namespace torch_reduce {

// Each family is a kernel file in cuda/.
enum class Family : uint8_t {
  Empty,      // no output: nothing is launched
  Rows,       // a warp reduces a chunk; several CTAs may share one output
  ShortRows,  // a warp reduces one or more whole outputs
  Columns,    // neighbouring threads own neighbouring outputs
  Tiles,      // a CTA reads along memory what the order has elsewhere
};

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

// For tests: what a plan must choose. A constraint that is not legal for a problem makes it unplannable.
struct Constraint {
  int family = -1;  // a Family, or -1
  int vector = -1;  // 0, 1, or -1
  int64_t split = 0;
};

struct Plan {
  Family family = Family::Empty;
  Finish finish = Finish::Direct;
  bool vector = false;     // loads of 16 bytes; else an element at a time, at any stride
  bool segmented = false;  // with vector: the reduced dims are two, or the kept dims more than the kernel walks
  bool anywhere = false;   // with vector: what is read begins at any element, not only at multiples of 16 bytes

  int block = 32;     // threads
  int64_t grid = 0;   // CTAs
  int64_t units = 1;  // CTAs per output; each takes an aligned range of leaves, a power of two of them

  // Rows: a CTA takes 2^log_slots chunks of each of rows_per_cta outputs.
  int log_slots = 0;
  int rows_per_cta = 1;
  int chunks_at_once = 1;    // of a warp
  int64_t run_vectors = 0;   // with `anywhere`, if the order is free: loads of each run of neighbours
  bool interleaved = false;  // the same unit of all outputs comes before the next one, as their memory interleaves
  // ShortRows: 2^log_lanes lanes share an output, with so many elements each, of so many outputs.
  int log_lanes = 0, lane_elements = 1, lane_rows = 1;
  // Of one element: the kept dim along which a tile's rows lie, or -1 for no tiles; its lanes lie along the innermost.
  int copied_rows = -1;
  // Columns: 2^log_across lanes of a warp stand side by side, the others on the next leaves. A CTA has
  // 2^log_warps_across x 2^log_warps_along warps. A lane takes 2^log_batches batches of `batch_leaves` leaves.
  int log_across = 0, log_warps_across = 0, log_warps_along = 0;
  int batch_leaves = 2, log_batches = 0;
  bool pairs = false;  // without `vector`: neighbouring columns two at a time
  // With `stacked`, a thread has its columns whole.
  bool stacked = false;
  int64_t tiles = 1;         // CTAs (stacked: threads) side by side over the columns
  int64_t tile_columns = 1;  // of each
  // Tiles: a row is what the first `outer` of the reduced dims leave, and a line what the first `cut` do. Of each of
  // rows_per_cta rows a CTA takes 2^log_slots chunks, 2^log_chunks at a time, with `along` threads on a line;
  // or, in strips, whose rows are lines, `range` elements, by units of 2^log_slots chunks.
  bool strips = false;
  int outer = 0, cut = 0, log_chunks = 0, along = 1;
  int pad_shift = 0, tile_bytes = 0;  // a gap of 16 bytes in shared memory after 2^pad_shift elements
  int64_t range = 0;

  bool few_outputs = false;  // Partials lie [output][unit], for a CTA per output; else [unit][output]
  int finish_ctas = 1;       // few_outputs: of a cluster for each output
  int64_t padded_units = 1;  // few_outputs: partials from one output to the next, a multiple of 16 bytes
  int64_t shared_bytes = 0;
  int64_t shared_at_once = 0;  // Columns: of all CTAs that an SM has at once
  int carveout = -1;           // of the second kernel, in percent of an SM's shared memory; -1: as the driver likes
  int64_t cluster_offset = 0;  // Columns, Cluster: the bytes of shared memory before the values of the units
  int64_t scratch_bytes = 0;
  int64_t expected_bytes = 0;  // device memory traffic: input, output and scratch
  int launches = 0;
};

// Of an output, what rows divide into chunks: its elements, or places in the loads of its runs.
inline int64_t rows_places(const Plan& plan, const Layout& l, int64_t vector_width) {
  if (plan.run_vectors == 0) return l.n;
  return l.n / l.reduced[l.reduced_dims - 1].size * plan.run_vectors * vector_width;
}

constexpr int64_t kMaxScratch = int64_t{4} << 20;

// Throws std::invalid_argument with one sentence if the constraint is not legal for the problem, or if the
// problem has more than kMaxKernelDims dims that do not merge.
Plan make_plan(const Problem& problem, const Gpu& gpu, const Constraint& constraint = {});

const char* name(Family family);
const char* name(Finish finish);

// Kernel parameters have room for this many kept and as many reduced dims. Dims that walk memory like one are
// merged before, so a tensor that needs more has over 2^32 elements.
constexpr int kMaxKernelDims = 32;
// The arguments are copied at every launch, so kernels that read 16 bytes at a time have room for the common few only.
constexpr int kFewDims = 4;
// Shared memory without gaps, as Plan::pad_shift.
constexpr int kNoGaps = 30;
// Kept dims and those reduced ones that are walked with them, where memory's order is not the shape's.
constexpr int kTileDims = 8;

}  // namespace torch_reduce

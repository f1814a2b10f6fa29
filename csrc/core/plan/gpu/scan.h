// From a scan to the way a GPU works on it. Pure, as plan.h.
//
// A warp scans a chunk of a row, or the whole of some short rows. Its 1024 places in shared memory hold what is read,
// and then what is written, so that both are read and written as memory lies. A CTA has the places of 32 KiB: chunks of
// one row that follow one another, or the same chunk of neighbouring rows. Where a row is longer than its chunks in a
// CTA, CTAs leave the values of complete subtrees in scratch.
#pragma once

#include "core/problem/problem.h"

namespace torch_reduce {

struct ScanPlan {
  int log_width = 0;   // places of a row in a warp: 1024, or fewer, where a row has at most 256 elements
  int log_warps = 0;   // of a CTA
  int log_chunks = 0;  // of a row in a CTA
  int slot_bytes = 0;  // of a place
  bool reads_across = false, writes_across = false;  // neighbours are of different rows
  bool reads_vectors = false,
       writes_vectors = false;  // those neighbours, 16 bytes of them, from multiples of 16 bytes on
  bool reads_packed = false, writes_packed = false;  // rows fill their places and follow one another without a gap
  int64_t chunks = 1;                                // of a row
  int64_t parts = 1;                                 // of a row: CTAs that share it
  int log_parts = 0;                                 // rounded up
  int64_t tiles = 1;                                 // CTAs side by side
  int64_t grid = 1;
  int block = 0;     // threads
  int launches = 1;  // two where scratch is zeroed first
  int64_t shared_bytes = 0, scratch_bytes = 0;

  int rows_per_warp() const { return 1 << (10 - log_width); }
  int64_t rows_per_cta() const { return (int64_t{1} << (log_warps - log_chunks)) * rows_per_warp(); }
};

// Throws std::invalid_argument for a tensor of more dims than kernels take.
TR_SHARED ScanPlan make_scan_plan(const Problem& problem);

}  // namespace torch_reduce

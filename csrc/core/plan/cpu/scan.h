// From a scan to the way the CPU works on it. Pure, as plan.h.
#pragma once

#include "core/problem/problem.h"

namespace torch_reduce::cpu {

struct ScanPlan {
  bool across = false;       // a vector holds neighbouring rows, and else neighbouring leaves of a row
  int64_t pieces = 1;        // of a row, that are scanned side by side
  int64_t piece_chunks = 0;  // of each but the last: a power of two
  bool alone = true;         // in one thread
};

// Whether the scan is so small that waking other threads takes longer.
TR_SHARED bool is_scan_for_one_thread(const Layout& layout);

TR_SHARED ScanPlan make_scan_plan(const Problem& problem, int threads);

}  // namespace torch_reduce::cpu

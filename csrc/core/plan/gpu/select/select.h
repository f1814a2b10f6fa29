// From a selection to the way a GPU works on it. Pure, as plan.h.
//
// A CTA selects from a row, or from a segment of one. What it collects has a room in shared memory. Where rows have
// several segments, their selections are items in scratch, from which another kernel selects.
#pragma once

#include "core/plan/gpu/plan.h"
#include "core/problem/selection.h"

namespace torch_reduce {

// The most items that a CTA sorts, and the most that are selected where a row has more elements.
constexpr int64_t kMostItems = 2048, kMostSelected = 1024;
inline bool can_select(int64_t n, int64_t count) { return n <= kMostItems || count <= kMostSelected; }

// How one kernel works on some elements of each row.
struct SelectStep {
  int log_room = 0;  // of items
  int block = 0;     // threads
  int64_t grid = 1;
};

struct SelectPlan {
  int64_t segments = 1, segment = 0;  // of a row; elements of each but the last
  bool reads_vectors = false;
  SelectStep first, second;  // the latter where rows have several segments
  int64_t scratch_bytes = 0;
};

// Of a selection that a GPU can make: can_select(), and rows of at most kMaxKernelDims dims.
TR_SHARED SelectPlan make_select_plan(const Selection& selection, const Gpu& gpu);

}  // namespace torch_reduce

// From a reduction of two tensors to the way the CPU works on it. Pure, as plan.h.
#pragma once

#include "core/plan/cpu/plan.h"

namespace torch_reduce::cpu {

constexpr int64_t kMostWidthOfPieces = 32;

// What the two make together comes block by block into memory without gaps, and is reduced there as any tensor is.
struct PartnerPlan {
  bool across = false;  // a block holds `width` neighbours element by element, and else one output after another
  int64_t width = 1;    // outputs of a block; kMostWidthOfPieces at most where there are several pieces
  int64_t length = 0;   // elements of each: all, or a power of two of chunks
  int64_t pieces = 1;   // blocks along an output
  int64_t groups = 1;   // and across them
  bool alone = true;    // in one thread
  DType type = DType::Float32;  // of the elements in a block
};

TR_SHARED bool is_pair_for_one_thread(const Layout& layout);

TR_SHARED PartnerPlan make_partner_plan(const Problem& problem, int threads);

// The reduction of a block of `width` outputs and `length` elements: results are what is combined, side by side, of so
// many words.
TR_SHARED Problem block_of(const Problem& problem, const PartnerPlan& plan, int64_t width, int64_t length,
                           int64_t words);

}  // namespace torch_reduce::cpu

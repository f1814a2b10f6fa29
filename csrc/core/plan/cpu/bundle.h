// Reduced dims of which the one outside of the innermost is adjacent in memory, as in a full sum of a transposed
// matrix. Some adjacent columns of memory, one after the other in the order, are whole chunks: a bundle. The same
// element of neighbouring bundles is the same place in a chunk.
#pragma once

#include "core/problem/problem.h"

namespace torch_reduce::cpu {

// A bundle's lines that are equal modulo `leaves`, `steps` of them, have in the order, column by column, an element of
// each of `parts` leaves, then the next element of these, and after four of each the next chunk's.
struct Bundle {
  int64_t columns = 0;  // a power of two; 0: there are no bundles
  int64_t leaves = 0;   // neighbours, whose elements come from neighbouring lines: a subtree of a chunk
  int64_t parts = 0;    // such subtrees of a chunk
  int64_t steps = 0;    // lines
  int64_t chunks = 0;   // of a bundle
};

// Where dims are outside of the two, columns are whole bundles.
Bundle bundle_of(const Layout& layout);

// How many bundles lie side by side.
int64_t bundles_in_line(const Layout& layout, const Bundle& bundle);

}  // namespace torch_reduce::cpu

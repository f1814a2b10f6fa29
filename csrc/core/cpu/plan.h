// From a problem to the way the CPU works on it. Pure: no pointer is read, no thread is started.
#pragma once

#include <cstdint>

#include "../plan.h"

namespace torch_reduce::cpu {

// The ways to reduce an order that lies across memory in which every piece is one chunk.
enum class Across {
  Nothing,  // none of them
  Chunks,   // Columns of chunk_columns()
  Bundles,  // Rows in bundles (bundles.h), `strip` side by side
  Strips,   // Rows in strips (strips.h), `strip` side by side
};

struct CpuPlan {
  Family family = Family::Empty;
  int64_t split = 1;           // pieces that one output is cut into; each but the last has piece_chunks chunks
  int64_t piece_chunks = 0;    // a power of two, so that a piece is a complete subtree
  int64_t strip = 1;           // Columns: adjacent outputs that one task reduces; or see Across
  int64_t strips = 1;          // Columns: tasks side by side over the innermost kept dim
  int64_t tasks = 0;           // independent pieces of work
  int64_t grain = 1;           // how many of them a thread takes at least
  int64_t tile_lines = 0;      // Rows: lines of the innermost reduced dim in a tile (tiles.h); 0: no tiles
  int64_t scratch_bytes = 0;   // partials; and, of each thread that works, its tile or its strips' or bundles' sums
  int64_t expected_bytes = 0;  // memory traffic: input, output and partials
  Across across = Across::Nothing;
};

// Whether there are so few elements that make_plan() takes no more than one thread for them.
bool is_for_one_thread(const Layout& layout);

// Whether the kernels in use have AVX-512's vectors.
bool has_wide_vectors();

// `threads` is how many threads may work. Throws std::invalid_argument with one sentence if the constraint is not
// legal for the problem; `vector` is not looked at, the compiler's loops load whole vectors wherever they can. Any
// kernels may run the plan; `wide` says which ones it is to be good for.
CpuPlan make_plan(const Problem& problem, int threads, const Constraint& constraint = {},
                  bool wide = has_wide_vectors());

}  // namespace torch_reduce::cpu

// From a problem to the way the CPU works on it. Pure: no pointer is read, no thread is started.
#pragma once

#include <cstdint>

#include "core/plan/family.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu {

// The order in which a family reads memory.
enum class Access {
  Straight,  // that of the elements, one after the other
  Segments,  // Rows: that of memory, `strip` outputs at a time (cpu/rows/segments.h)
  Tiles,     // Rows: some lines of memory together, copied into the elements' order (cpu/transposed/tiles.h)
  // Those in which every piece is one chunk:
  Chunks,   // Columns of chunk_columns()
  Bundles,  // Rows: that of memory, `strip` bundles side by side (cpu/transposed/bundles.h)
  Strips,   // Rows: that of memory, `strip` rows side by side (cpu/transposed/strips.h)
};

TR_SHARED const char* name(Access access);

struct CpuPlan {
  Family family = Family::Empty;
  Access access = Access::Straight;
  int64_t split = 1;           // pieces that one output is cut into; each but the last has piece_chunks chunks
  int64_t piece_chunks = 0;    // a power of two, so that a piece is a complete subtree
  int64_t strip = 1;           // Columns: adjacent outputs that one task reduces; or see Access
  int64_t strips = 1;          // tasks side by side: of Columns, over the innermost kept dim
  int64_t block_rows = 0;      // Columns: chunks of as many rows go by blocks (cpu/columns/blocks.h); 0: none do
  int64_t tile_lines = 0;      // Tiles: lines of the innermost reduced dim in one
  int64_t tasks = 0;           // independent pieces of work
  int64_t workers = 1;         // that take a share of the tasks each
  int64_t held_bytes = 0;      // what a worker holds, but on the call stack: a multiple of a line of the cache
  int64_t partial_bytes = 0;   // what all of them leave to be combined
  int64_t expected_bytes = 0;  // memory traffic: input, output and partials

  int64_t scratch_bytes() const { return workers * held_bytes + partial_bytes; }
};

// Whether kernels with vectors of so many bytes read the elements themselves; those of rare types are converted first
// (cpu/dispatch/element_table.h).
bool is_read_directly(const Problem& problem, int vectors);

// Whether the loops over strips, bundles and blocks can combine its elements as they are.
bool takes_elements(const Problem& problem);

// Whether there are so few elements that make_plan() takes no more than one thread for them.
TR_SHARED bool is_for_one_thread(const Layout& layout);

// Bytes of a vector of the kernels in use: 16, 32 or 64, and 0 where they have none.
TR_SHARED int vector_bytes();

// `threads` is how many threads may work. Throws std::invalid_argument with one sentence if the constraint is not
// legal for the problem; `vector` is not looked at, the compiler's loops load whole vectors wherever they can.
// `vectors` says which kernels the plan is for; those without vectors run no other.
TR_SHARED CpuPlan make_plan(const Problem& problem, int threads, const Constraint& constraint = {},
                            int vectors = vector_bytes());

}  // namespace torch_reduce::cpu

// The kinds of kernels that both devices have.
#pragma once

#include <cstdint>

namespace torch_reduce {

// Each is a folder of cuda/, and but for Tiles of cpu/.
enum class Family : uint8_t {
  Empty,      // no output: nothing is launched
  Rows,       // a warp reduces a chunk; several CTAs may share one output
  ShortRows,  // a warp reduces one or more whole outputs
  Columns,    // neighbouring threads own neighbouring outputs
  Tiles,      // a CTA reads along memory what the order has elsewhere
};

inline const char* name(Family family) {
  constexpr const char* names[] = {"empty", "rows", "short_rows", "columns", "tiles"};
  return names[static_cast<int>(family)];
}

// For tests: what a plan must choose. A constraint that is not legal for a problem makes it unplannable.
struct Constraint {
  int family = -1;  // a Family, or -1
  int vector = -1;  // 0, 1, or -1
  int64_t split = 0;
};

}  // namespace torch_reduce

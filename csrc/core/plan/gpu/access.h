// How a kernel reads memory. A plan chooses; launchers and kernels switch on it.
#pragma once

#include <cstdint>

namespace torch_reduce {

// A segment is what a reduced dim of stride 1 leaves side by side in memory.
enum class Access : uint8_t {
  Contiguous,          // aligned 16-byte loads; one reduced and one kept dim, beside the columns; strips: several
  Segmented,           // aligned 16-byte loads; up to two reduced and kFewDims kept dims
  Unaligned,           // 16-byte loads of what begins at any element; one reduced and up to kFewDims kept dims ...
  UnalignedSegmented,  // ... or two reduced dims
  Unordered,           // the same of up to kFewDims + 1 reduced dims, segments innermost: where any order will do
  Strided,             // an element at a time, at any stride
  Pairs,               // two neighbouring columns at a time, at multiples of both
};

constexpr bool loads_vectors(Access a) { return a != Access::Strided && a != Access::Pairs; }

constexpr bool is_unaligned(Access a) {
  return a == Access::Unaligned || a == Access::UnalignedSegmented || a == Access::Unordered;
}

}  // namespace torch_reduce

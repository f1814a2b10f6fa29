// What kernels cost. `python -m benchmarks.tune.fit` fits these numbers to the times of every legal plan of some 5,000
// reductions on an H100, so that the fastest plan has the least estimate (plan/gpu/choose/cost.cpp).
#pragma once

#include <cstdint>

namespace torch_reduce::tuning {

enum class Kernel : uint8_t {
  RowsContiguous,
  RowsSegmented,
  RowsUnaligned,
  RowsUnalignedSegmented,
  RowsUnordered,
  RowsStrided,
  ShortRowsAligned,
  ShortRowsUnaligned,
  ShortRowsStrided,  // a lane has whole rows, ...
  ShortRowsShared,   // ... or several lanes have one
  Copies,
  ColumnsContiguous,
  ColumnsSegmented,
  ColumnsUnaligned,
  ColumnsStrided,
  ColumnsPairs,
  Stacked,
  StackedPairs,
  Tiles,
  Strips,
  StripsStrided,
};

struct KernelCost {
  const char* name;
  double start_us;           // until the first load, and from the last result on
  double load_instructions;  // of a warp's load, beside those of its values
  double tree_instructions;  // of a unit of an output
};
constexpr KernelCost kKernelCosts[] = {
    {"rows, contiguous", 1.16, 8.66, 215},
    {"rows, segmented", 1.2, 15.8, 291},
    {"rows, unaligned", 1.37, 17.1, 227},
    {"rows, unaligned segmented", 2.55, 15.4, 10},
    {"rows, unordered", 2.03, 131, 14.7},
    {"rows, strided", 1.49, 19.5, 396},
    {"short rows, aligned", 1.38, 14.8, 6.93},
    {"short rows, unaligned", 1.57, 14.8, 4.78},
    {"short rows, strided", 0.678, 21.1, 3.26},
    {"short rows, shared", 0.966, 33.2, 1.46},
    {"copies", 1.21, 13.7, 3.57},
    {"columns, contiguous", 0.462, 79.3, 4.74},
    {"columns, segmented", 1.67, 16.4, 10.2},
    {"columns, unaligned", 3.58, 114, 3.75},
    {"columns, strided", 1.29, 29.9, 8.12},
    {"columns, pairs", 1.29, 44.7, 12.9},
    {"stacked", 1.18, 14, 2.94},
    {"stacked, pairs", 0.593, 15.8, 3.23},
    {"tiles", 2.74, 72, 10.1},
    {"strips, aligned", 3.8, 16.1, 10},
    {"strips, strided", 1.69, 56.3, 10.1},
};

constexpr const char* name(Kernel kernel) { return kKernelCosts[static_cast<int>(kernel)].name; }

// What an SM and the GPU have, of Hopper: threads, as kernels are compiled, and room for what CTAs read.
constexpr int kThreadsOfSm = 1024;
constexpr double kL1Bytes = 192 << 10, kL2Bytes = 40 << 20;

constexpr double kValueInstructions = 4.01;   // of a value that a warp's lanes take from a load
constexpr double kMemoryBytesPerUs = 3.82e6;  // of the GPU's memory
constexpr double kSmBytesPerUs = 5.06e4;      // of that, for an SM
constexpr double kCtaBytesPerUs = 6.61e6;     // of the L2
constexpr double kLinesPerUs = 2050;          // of an SM's L1
constexpr double kInstructionsPerUs = 6800;   // of an SM: four schedulers at 1.7 GHz
constexpr double kRoundUs = 0.269;            // that a warp waits for its loads
constexpr double kInstructionUs = 0.000464;   // of a warp's instructions, which wait for one another
constexpr double kSharedSmUs = 0.643;         // until SMs have their second CTA
// Beyond one launch, by Finish: direct, cluster, partials, atomic.
constexpr double kFinishUs[] = {0, 0.809, 1.53, 1.45};

}  // namespace torch_reduce::tuning

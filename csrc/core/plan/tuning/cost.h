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
    {"rows, contiguous", 1.33, 6.71, 217},
    {"rows, segmented", 1.5, 18.6, 6.71},
    {"rows, unaligned", 1.64, 52.6, 180},
    {"rows, unaligned segmented", 3.19, 10.1, 5},
    {"rows, unordered", 2.18, 94.5, 5.7},
    {"rows, strided", 1.69, 14.7, 412},
    {"short rows, aligned", 1.04, 8.61, 2.75},
    {"short rows, unaligned", 1.9, 9.49, 3.13},
    {"short rows, strided", 1.18, 14.3, 2.09},
    {"short rows, shared", 1.21, 17.4, 4.19},
    {"copies", 1.57, 8.95, 2.52},
    {"columns, contiguous", 1.25, 9.85, 2.61},
    {"columns, segmented", 1.72, 13.7, 5.39},
    {"columns, unaligned", 2.01, 71.2, 6.86},
    {"columns, strided", 1.54, 26.7, 4.88},
    {"columns, pairs", 1.72, 40.6, 3.68},
    {"stacked", 0.766, 8.77, 1.08},
    {"stacked, pairs", 1.06, 7.88, 1.9},
    {"tiles", 3.14, 59.2, 5.18},
    {"strips, aligned", 10.5, 10.6, 5.01},
    {"strips, strided", 7.4, 59.2, 5.04},
};

constexpr const char* name(Kernel kernel) { return kKernelCosts[static_cast<int>(kernel)].name; }

// What an SM and the GPU have, of Hopper: threads, as kernels are compiled, and room for what CTAs read.
constexpr int kThreadsOfSm = 1024;
constexpr double kL1Bytes = 192 << 10, kL2Bytes = 40 << 20;

constexpr double kValueInstructions = 4.39;   // of a value that a warp's lanes take from a load
constexpr double kMemoryBytesPerUs = 4.03e6;  // of the GPU
constexpr double kCtaBytesPerUs = 4.37e6;     // of the L2
constexpr double kLinesPerUs = 2310;          // of an SM's L1
constexpr double kInstructionsPerUs = 6800;   // of an SM: four schedulers at 1.7 GHz
constexpr double kRoundUs = 0.175;            // that a warp waits for its loads
constexpr double kInstructionUs = 0.483e-3;   // of a warp's instructions, which wait for one another
// Beyond one launch, by Finish: direct, cluster, partials, atomic.
constexpr double kFinishUs[] = {0, 0.623, 1.38, 1.24};

}  // namespace torch_reduce::tuning

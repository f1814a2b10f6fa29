#include "core/plan/tuning/gpu.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "core/plan/tuning/kernels.h"

namespace torch_reduce {
namespace {

using namespace tuning;

static_assert(sizeof(Tuning) == std::size(kTunables) * sizeof(int64_t), "every value has a name");

struct Row {
  int capability;  // 10 * major + minor
  Tuning tuning;
};

// Measured, each on the GPU named: `make tune` prints a row of its own GPU.
constexpr Row kMeasured[] = {
    // NVIDIA H200
    {90, {/*rows*/ 32, 64, 5, 2, 3, /*staged*/ 3 << 10, 4, /*columns*/ 4, 3, 3, 128, 40 << 10, 32 << 10, /*finish*/ 2}},
};

// What an SM holds at most, of which 64 K registers everywhere: NVIDIA, CUDA C++ Programming Guide, the table
// "Technical Specifications per Compute Capability". Bandwidth and SMs are of one GPU of the architecture, by its data
// sheet.
struct Architecture {
  int capability, threads, ctas, shared_bytes;
  int gb_per_s, sms;
};
constexpr Architecture kArchitectures[] = {
    {80, 2048, 32, 164 << 10, 2039, 108},   // A100 80GB
    {86, 1536, 16, 100 << 10, 936, 82},     // GeForce RTX 3090
    {89, 1536, 24, 100 << 10, 864, 142},    // L40S
    {90, 2048, 32, 228 << 10, 4800, 132},   // H200
    {100, 2048, 32, 228 << 10, 8000, 148},  // B200
    {120, 1536, 24, 100 << 10, 1792, 170},  // GeForce RTX 5090
};
const Architecture& architecture_of(int capability) {
  const Architecture* found = kArchitectures;
  for (const Architecture& a : kArchitectures) {
    if (a.capability <= capability) found = &a;
  }
  return *found;
}
constexpr const Architecture& kHopper = kArchitectures[3];
static_assert(kHopper.capability == 90 && kMeasured[0].capability == 90, "what the others are derived from");

// The CTAs that launch bounds keep registers for are there at the same time on every SM. So counts per SM, which follow
// from how many CTAs run at once, are alike everywhere.
constexpr bool holds_ctas(const Architecture& a) {
  for (const int ctas : {kRowsCtasAtOnce * kRowsWarps, kRowsElementwiseCtasAtOnce * kRowsWarps,
                         kColumnsCtasAtOnce * kColumnsWarps, kStackedCtasAtOnce * kStackedThreads / kWarp}) {
    if (ctas * kWarp > a.threads) return false;
  }
  return kStackedCtasAtOnce <= a.ctas && kFinishThreads <= a.threads;
}

// A row that nobody measured: 9.0's, but for shared memory, where an SM has less of it, and for the size that is small:
// it is weighed against a second pass, which is latency, so it is what memory delivers in the same time.
constexpr Tuning derive(const Architecture& a) {
  Tuning t = kMeasured[0].tuning;
  t.columns_shared = std::min(t.columns_shared, a.shared_bytes / kColumnsCtasAtOnce - kSharedReserved);
  const int64_t staged_ctas = a.threads / (kShortRowsWarps * kWarp);
  t.staged_warp_bytes =
      std::min(t.staged_warp_bytes, (a.shared_bytes / staged_ctas - kSharedReserved) / kShortRowsWarps);
  t.columns_small_per_sm = t.columns_small_per_sm * a.gb_per_s * kHopper.sms / (int64_t{kHopper.gb_per_s} * a.sms);
  return t;
}

constexpr bool all_hold_ctas() {
  for (const Architecture& a : kArchitectures) {
    if (!holds_ctas(a)) return false;
  }
  return true;
}
static_assert(all_hold_ctas(), "launch bounds are for the smallest SM");

std::string names() {
  std::string all;
  for (const Tunable& t : kTunables) all += (all.empty() ? "" : ", ") + std::string(t.name);
  return all;
}

}  // namespace

int64_t shared_bytes_of(int major, int minor) { return architecture_of(10 * major + minor).shared_bytes; }

Tuning tuning_of(int major, int minor) {
  const int capability = 10 * major + minor;
  const Architecture& found = architecture_of(capability);
  const Row* measured = nullptr;  // of this architecture, or of one between the two
  for (const Row& row : kMeasured) {
    const bool near = found.capability <= row.capability && row.capability <= capability;
    if (near && (measured == nullptr || measured->capability < row.capability)) measured = &row;
  }
  return measured != nullptr ? measured->tuning : derive(found);
}

void Tunable::check(int64_t given) const {
  if (given >= least && given <= most && (!power_of_two || (given & (given - 1)) == 0)) return;
  throw std::invalid_argument("reduce: " + std::string(name) + " is " + (power_of_two ? "a power of two " : "") +
                              "from " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
                              std::to_string(given));
}

const Tunable& tunable(const std::string& name) {
  for (const Tunable& t : kTunables) {
    if (name == t.name) return t;
  }
  throw std::invalid_argument("reduce: unknown tuning value \"" + name + "\"; there are " + names());
}

}  // namespace torch_reduce

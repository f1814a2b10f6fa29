// Which build of the kernels runs: the best that this machine can execute, unless a test chose another.
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#if defined(__x86_64__) && !defined(TR_BASELINE_ONLY)
#define TR_X86_KERNELS
#include <cpuid.h>
#endif

#include "core/cpu/dispatch/kernels.h"
#include "core/cpu/dispatch/reduce.h"
#include "core/cpu/exact/kernels.h"
#include "core/cpu/map/kernels.h"
#include "core/cpu/scan/kernels.h"
#include "core/cpu/select/kernels.h"

namespace torch_reduce::cpu {
namespace {

struct Capability {
  const char* name;
  Run* run;
  RunPair* run_pair;
  RunExactly* run_exactly;
  RunScan* run_scan;
  RunMap* run_map;
  RunChannelMap* run_channel_map;
  RunSelection* run_selection;
  bool (*supported)();
  int vector_bytes;
};

#if defined(TR_X86_KERNELS)
// Not __builtin_cpu_supports, whose names Clang learnt later.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

// Worst first.
constexpr Capability kCapabilities[] = {
#if !defined(TR_X86_KERNELS)
    {"baseline", baseline::run, baseline::run_pair, baseline::run_exactly, baseline::run_scan, baseline::run_map,
     baseline::run_channel_map, baseline::run_selection, [] { return true; }, 16},
#else
    {"baseline", baseline::run, baseline::run_pair, baseline::run_exactly, baseline::run_scan, baseline::run_map,
     baseline::run_channel_map, baseline::run_selection, [] { return true; }, 0},
    {"avx2", avx2::run, avx2::run_pair, avx2::run_exactly, avx2::run_scan, avx2::run_map, avx2::run_channel_map,
     avx2::run_selection, [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); },
     32},
    {"avx512", avx512::run, avx512::run_pair, avx512::run_exactly, avx512::run_scan, avx512::run_map,
     avx512::run_channel_map, avx512::run_selection,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
     },
     64},
#endif
};

const Capability* best() {
  const Capability* found = nullptr;
  for (const Capability& c : kCapabilities) {
    if (c.supported()) found = &c;
  }
  return found;
}

std::atomic<const Capability*>& current() {
  static std::atomic<const Capability*> chosen{best()};
  return chosen;
}

[[noreturn]] void refuse(const Problem& p, const std::string& kernel) {
  throw std::logic_error(std::string("reduce: ") + name(p.op) + " has no CPU kernel of " + kernel + ", computing in " +
                         name(p.compute));
}

}  // namespace

int vector_bytes() { return current().load(std::memory_order_relaxed)->vector_bytes; }

const char* capability() { return current().load()->name; }

void set_capability(const char* name) {
  if (std::strcmp(name, "auto") == 0) {
    current() = best();
    return;
  }
  std::string known;
  for (const Capability& c : kCapabilities) {
    if (!c.supported()) continue;
    if (std::strcmp(name, c.name) == 0) {
      current() = &c;
      return;
    }
    known += std::string(c.name) + ", ";
  }
  throw std::invalid_argument("reduce: this machine has no CPU capability '" + std::string(name) + "', only " + known +
                              "or auto for the best");
}

void reduce(const Work& work, const Buffers& b, const Threads& threads) {
  const Problem& problem = work.problem;
  if (is_empty(problem)) return;
  const Capability& kernels = *current().load(std::memory_order_relaxed);
  if (const auto* plan = std::get_if<CpuPlan>(&work.plan)) {
    if (kernels.run(problem, *plan, b.in, b.out, Scratch(*plan), threads)) return;
    refuse(problem, std::string(name(plan->family)) + ", " + name(plan->access));
  } else if (const auto* pair = std::get_if<PartnerPlan>(&work.plan)) {
    if (!kernels.run_pair(problem, *pair, b, threads)) refuse(problem, "two tensors");
  } else if (const auto* scan = std::get_if<ScanPlan>(&work.plan)) {
    kernels.run_scan(problem, *scan, b.in, b.out, threads);
  } else {
    kernels.run_exactly(problem, *std::get_if<ExactPlan>(&work.plan), b, threads);
  }
}

void map(const MapProblem& problem, const MapBuffers& buffers, const Threads& threads) {
  if (!is_empty(problem)) current().load(std::memory_order_relaxed)->run_map(problem, buffers, threads);
}

void map(const ChannelProblem& problem, const ChannelBuffers& buffers, const Threads& threads) {
  if (problem.channels > 0) current().load(std::memory_order_relaxed)->run_channel_map(problem, buffers, threads);
}

void select(const Selection& s, const void* in, int64_t* out, const Threads& threads) {
  if (!is_empty(s.rows) && s.count > 0) {
    current().load(std::memory_order_relaxed)->run_selection(s, in, out, threads);
  }
}

}  // namespace torch_reduce::cpu

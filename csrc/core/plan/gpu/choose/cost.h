// What a plan is estimated to take. choose.cpp takes the legal plan that takes least.
#pragma once

#include "core/plan/gpu/plan.h"
#include "core/plan/tuning/cost.h"

namespace torch_reduce {

// What a plan makes a GPU do, all CTAs together.
struct Effort {
  tuning::Kernel kernel{};
  double memory_bytes = 0;  // of device memory, in sectors that are read or written
  double cta_sectors = 0;   // that CTAs read and write, each for itself: the L2's
  double lines = 0;         // that warps' loads touch: the L1's
  double loads = 0;         // of warps
  double values = 0;        // that their lanes take from these
  double trees = 0;         // outputs times units
  double rounds = 0;        // loads of a warp that wait for one another, times waves of CTAs
  double warps = 1;         // that run at once
  double sms = 1;           // that have a CTA
  bool shares_sms = false;  // whether some have several
};

TR_SHARED Effort effort_of(const Problem& p, const Plan& plan, const Gpu& gpu);

// Microseconds: those of a kernel's start and finish, and what its causes take. Causes overlap, so that the longest one
// decides: the cube root of the sum of their cubes.
TR_SHARED double estimated_us(const Effort& effort, Finish finish);

}  // namespace torch_reduce

// From a map of elements by channel to the way a GPU works on it. Pure, as plan.h.
#pragma once

#include "core/contract/integers.h"
#include "core/problem/channel_problem.h"

namespace torch_reduce {

// The channels of a vector: one; two, of which the second begins within; or as many as elements. Of vectors of
// neighbouring channels, a thread has the same ones of several rows.
enum class Channels : uint8_t { One, Two, Any, Rows };

constexpr int kChannelThreads = 256, kChannelLoads = 4;

struct ChannelPlan {
  Channels channels;
  int64_t grid;
  int64_t rows_apart = 0, across = 1;  // Rows: those of a thread; vectors of a row
};

inline ChannelPlan make_channel_plan(const ChannelProblem& p) {
  const int64_t v = 16 / static_cast<int64_t>(size_of(p.in));
  const auto plan = [&](Channels channels) {
    return ChannelPlan{channels, ceil_div(p.elements, kChannelThreads * kChannelLoads * v)};
  };
  if (p.neighbours % v == 0) return plan(Channels::One);
  if (p.neighbours > v) return plan(Channels::Two);
  if (p.neighbours > 1 || p.channels % v != 0 || p.elements / v >= int64_t{1} << 31) return plan(Channels::Any);
  const int64_t rows_apart = ceil_div(p.elements / p.channels, kChannelLoads), across = p.channels / v;
  return {Channels::Rows, ceil_div(rows_apart * across, kChannelThreads), rows_apart, across};
}

}  // namespace torch_reduce

#include "core/plan/gpu/select/select.h"

#include <algorithm>

#include "core/contract/integers.h"
#include "core/contract/order.h"
#include "core/plan/gpu/detail.h"

namespace torch_reduce {
namespace {

constexpr int64_t kLeastSegment = 4096;                  // elements
constexpr int64_t kFewSegments = 8, kFewItems = 512;     // that segments leave, where these are more
constexpr int64_t kLeastRoom = 64, kRoomOfSelected = 4;  // items; for each that is selected
constexpr int64_t kThreadsOfSelected = 2, kElementsOfThread = 8, kManyThreads = 512;

// For so many elements of each row. More than there is room for are compared with the best that each thread has, for
// which there is room too.
SelectStep step_for(int64_t elements, int64_t count, int64_t ctas) {
  constexpr int64_t kMostCtas = 0x7fffffff;
  const int64_t for_elements = std::min(kManyThreads, power_of_two_above(ceil_div(elements, kElementsOfThread)));
  const int64_t threads = std::clamp(std::max(for_elements, power_of_two_above(kThreadsOfSelected * count)),
                                     int64_t{planning::kWarp}, kMostSelected);
  const int64_t room =
      std::clamp(power_of_two_above(kRoomOfSelected * count), std::max(kLeastRoom, threads), kMostItems);
  SelectStep step;
  step.log_room = log2_above(std::min(room, elements));
  step.block = static_cast<int>(threads);
  step.grid = std::min(ctas, kMostCtas);
  return step;
}

}  // namespace

SelectPlan make_select_plan(const Selection& s, const Gpu& gpu) {
  const Layout& l = s.rows.layout;
  const auto size = static_cast<int64_t>(size_of(s.rows.in));
  SelectPlan plan;
  const int64_t least = std::max(kLeastSegment, kRoomOfSelected * power_of_two_above(s.count));
  const int64_t most = std::max(kFewSegments, kFewItems / std::max<int64_t>(s.count, 1));
  const int64_t wanted = std::min(most, gpu.sms / std::max<int64_t>(l.outputs, 1));
  const int64_t segments = std::max<int64_t>(1, std::min(wanted, l.n / least));
  constexpr int64_t kVector = 16;  // elements, of which vectors are made whatever their type
  plan.segment = segments == 1 ? l.n : ceil_div(ceil_div(l.n, segments), kVector) * kVector;
  plan.segments = ceil_div(l.n, plan.segment);
  plan.reads_vectors = s.rows.in_alignment == 16 && scanned_stride(s.rows) == 1;
  for (int d = 0; d < l.kept_dims; ++d) plan.reads_vectors &= l.kept[d].in_stride * size % 16 == 0;
  plan.first = step_for(plan.segment, s.count, l.outputs * plan.segments);
  if (plan.segments > 1) {
    plan.second = step_for(plan.segments * s.count, s.count, l.outputs);
    plan.scratch_bytes = l.outputs * plan.segments * s.count * accumulator_bytes(s.rows);
  }
  return plan;
}

}  // namespace torch_reduce

// The steps of a loss that are a number or two a row of logits, for every device: what one reads and writes.
#pragma once

#include "core/contract/maps/loss.h"
#include "core/problem/map_problem.h"

namespace torch_reduce {

enum class LossStep : uint8_t { Losses, GradientRows, TargetGradients };

// Rows are those of a MapProblem: logits in place of x, their targets in second place, gradients as the output. What
// there is of each row lies in order. Null: the step does not read or write it, or it is not given.
template <class Word>
struct LossBuffers {
  const void* logits;
  const int64_t* target;
  const LogitsRow<Word>* row;
  const GradientRow<Word>* gradient_row;
  const Word *mean, *gradient;  // the mean logit; the gradient of the loss
  void* out;                    // losses; gradient rows; or gradients of logits
};

// The step of a row that begins there. False where the target is no class.
template <LossStep step, class In, class Word>
TR_HD bool do_loss_step(const LossBuffers<Word>& b, const LossOptions& o, int64_t row, const MapStrides& at,
                        const MapStrides& along) {
  const int64_t target = b.target[at.second];
  const bool counts = target != o.ignored;
  if (counts && (target < 0 || target >= o.classes)) return false;
  const auto logit = [&] { return widen<Word>(static_cast<const In*>(b.logits)[at.x + target * along.x]); };
  if constexpr (step == LossStep::Losses) {
    const Word mean = b.mean == nullptr ? Word(0) : b.mean[row];
    static_cast<Word*>(b.out)[row] = counts ? loss_of(logit(), b.row[row], mean, o) : Word(0);
  } else if constexpr (step == LossStep::GradientRows) {
    static_cast<GradientRow<Word>*>(b.out)[row] = gradient_row(counts ? b.gradient[row] : Word(0), b.row[row], o);
  } else if (counts) {
    const Word gradient = target_gradient(logit(), b.gradient[row], b.gradient_row[row], o);
    static_cast<In*>(b.out)[at.out + target * along.out] = Narrow<In, Word>::from(gradient);
  }
  return true;
}

}  // namespace torch_reduce

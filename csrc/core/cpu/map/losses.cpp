#include "core/cpu/map/losses.h"

namespace torch_reduce::cpu {
namespace {

template <LossStep step, class In, class Word>
const int64_t* do_rows(const MapProblem& p, const LossBuffers<Word>& b, const LossOptions& o) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const MapStrides at = place_of_row(p, row);
    if (!do_loss_step<step, In>(b, o, row, at, p.along)) {
      return b.target + at.second;
    }
  }
  return nullptr;
}

template <LossStep step, class Word>
const int64_t* do_step(const MapProblem& p, const LossBuffers<Word>& b, const LossOptions& o) {
  if constexpr (sizeof(Word) == 8) {
    return do_rows<step, double>(p, b, o);
  } else {
    switch (p.in) {
      case DType::Float16:
        return do_rows<step, Half>(p, b, o);
      case DType::BFloat16:
        return do_rows<step, BFloat16>(p, b, o);
      default:
        return do_rows<step, float>(p, b, o);
    }
  }
}

template <class Word>
const int64_t* do_step(LossStep step, const MapProblem& p, const LossBuffers<Word>& b, const LossOptions& o) {
  switch (step) {
    case LossStep::Losses:
      return do_step<LossStep::Losses>(p, b, o);
    case LossStep::GradientRows:
      return do_step<LossStep::GradientRows>(p, b, o);
    default:
      return do_step<LossStep::TargetGradients>(p, b, o);
  }
}

}  // namespace

const int64_t* loss_step(LossStep step, const MapProblem& p, const LossBuffers<float>& b, const LossOptions& o) {
  return do_step(step, p, b, o);
}
const int64_t* loss_step(LossStep step, const MapProblem& p, const LossBuffers<double>& b, const LossOptions& o) {
  return do_step(step, p, b, o);
}

}  // namespace torch_reduce::cpu

// The operators, and one for tests, whose row is in ../../torch_reduce/operators.def.
#pragma once

#include "../../../../csrc/core/contract/operators.h"
#include "moments.h"

namespace torch_reduce {

struct Moments : Traits, CombineMoments {
  template <class Word>
  using Accumulator = ThreeWords<Word>;
  static constexpr bool lifts = true;
  static constexpr bool masks_missing = true;
  static constexpr bool has_few_kernels = true;
  template <class Word>
  static TR_HD ThreeWords<Word> lift(Word x) {
    return {1, x, 0};
  }
};

}  // namespace torch_reduce

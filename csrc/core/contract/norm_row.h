// What a norm keeps of a row of elements, and the elements by that.
#pragma once

#include "core/contract/numeric.h"

namespace torch_reduce {

// The mean in two words, whose sum it is, and one over the root that elements are divided by.
template <class Word>
struct NormRow {
  Word mean, rest, inverse;

  // Of an element, or of a vector of them.
  template <class X>
  TR_HD X normal(X x) const {
    return ((x - mean) - rest) * inverse;
  }
};
// Of row `index`, of which `words` are kept: all, or the last one alone, whose elements then are not centred. Nothing
// taken off changes no bit.
template <class Word>
TR_HD NormRow<Word> norm_row(const void* rows, int words, int64_t index) {
  const Word* const row = static_cast<const Word*>(rows) + index * words;
  return words == 1 ? NormRow<Word>{0, 0, row[0]} : NormRow<Word>{row[0], row[1], row[2]};
}

}  // namespace torch_reduce

// What orders the elements of a row, of which some are selected.
#pragma once

#include "core/contract/ops.h"

namespace torch_reduce {

// Whose elements, accumulators and results they are.
using Selects = ArgMax;

// The first ones are the larger: by their values, and of equal ones by their indices. NaN is larger than any number.
// Where the smallest are selected, values have the opposite order.
template <class Word>
TR_HD Indexed<Word> selectable(Word x, int64_t index, bool largest) {
  Indexed<Word> item = Selects::lift(x, index);
  if (!largest) item.key = static_cast<typename Indexed<Word>::Key>(~item.key);
  return item;
}

// The value of an element that has such a key; of zeros +0.
template <class Word>
TR_HD Word value_of(const Indexed<Word>& item, bool largest) {
  using Key = typename Indexed<Word>::Key;
  const Key key = largest ? item.key : static_cast<Key>(~item.key);
  if constexpr (std::is_integral<Word>::value) {
    return key;
  } else {
    return bit_cast<Word>(static_cast<Key>(key ^ ((key >> (8 * sizeof(Key) - 1)) & std::numeric_limits<Key>::max())));
  }
}

}  // namespace torch_reduce

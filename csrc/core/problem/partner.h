// The second tensor of a reduction of two.
#pragma once

#include "core/contract/traits.h"
#include "core/contract/types.h"
#include "core/problem/layout.h"

namespace torch_reduce {

// Its elements lie beside those of the layout's tensor: the same dims, with strides of their own.
struct Partner {
  Role role = Role::None;  // the rest holds for others
  DType type;
  int alignment;  // as Problem's
  int row_words;  // that a norm keeps, of NormalFactor
  int64_t kept[kMaxDims], reduced[kMaxDims];
};

// The loop nest over the partner alone.
inline Layout layout_of(const Partner& partner, Layout layout) {
  for (int d = 0; d < layout.kept_dims; ++d) layout.kept[d].in_stride = partner.kept[d];
  for (int d = 0; d < layout.reduced_dims; ++d) layout.reduced[d].stride = partner.reduced[d];
  return layout;
}

}  // namespace torch_reduce

// The canonical order is a public header, which kernels of other programs share: nothing of it is written twice.
#pragma once

#include <torch_reduce/order.h>

#include "core/contract/types.h"

namespace torch_reduce {

using order::chunk_count;
using order::Counter;
using order::first_element;
using order::kChunk;
using order::kLeaves;
using order::kSteps;
using order::leaf_count;
using order::tree;
using order::tree_by;
using order::tree_of;

}  // namespace torch_reduce

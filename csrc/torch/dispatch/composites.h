// Operators that are made of others.
#pragma once

#include <torch/library.h>

// Registers them by `add(torch::Library&)`; under vmap too, where torch would call them example by example: what they
// are made of has batching rules.
#define TORCH_REDUCE_COMPOSITES(add)                                   \
  TORCH_LIBRARY_IMPL(reduce, CompositeImplicitAutograd, m) { add(m); } \
  TORCH_LIBRARY_IMPL(reduce, FuncTorchBatchedDecomposition, m) { add(m); }

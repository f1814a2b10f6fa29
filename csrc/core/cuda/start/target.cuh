// Where the results of a problem go.
#pragma once

#include "core/cuda/block/sink.cuh"
#include "core/cuda/start/buffers.h"

namespace torch_reduce::cuda {

inline Target target_of(const Problem& p, const Buffers& b) {
  return {b.out,    count_of_elements(p), p.out, traits_of(p.op).ending, mirror_of_result(p), p.second,
          b.counts, p.correction};
}

}  // namespace torch_reduce::cuda

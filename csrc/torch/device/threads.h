// The threads that a reduction on the CPU may use.
#pragma once

#include "core/cpu/job/threads.h"

namespace torch_reduce {

// torch's own pool, as torch.set_num_threads sizes it.
cpu::Threads torch_threads();

}  // namespace torch_reduce

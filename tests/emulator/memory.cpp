// What is defined in a file of its own.
#include "emulator.h"

namespace torch_reduce::cuda {

// Beside a kernel's declaration of it, GCC 12 calls a function to initialise it, which is not there.
thread_local unsigned char shared[emulator::kMostShared + emulator::kGap];

}  // namespace torch_reduce::cuda

// What code compiled with -fsanitize=alignment calls: on a GPU, such an access is an error.
extern "C" void __ubsan_handle_type_mismatch_v1(void*, void*) {
  emulator::fail("reads or writes at an address that is not a multiple of what is there");
}

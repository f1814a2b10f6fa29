// What is defined in a file of its own.
#include "emulator.h"

namespace torch_reduce::cuda {

// Beside a kernel's declaration of it, GCC 12 calls a function to initialise it, which is not there.
thread_local unsigned char shared[emulator::kMostShared + emulator::kGap];

}  // namespace torch_reduce::cuda

// The function by which other files would have it initialised. GCC 12 calls it from some without asking whether it is
// there.
extern "C" void initialise_shared() __asm__("_ZTHN12torch_reduce4cuda6sharedE");
extern "C" void initialise_shared() {}

// What code compiled with -fsanitize=alignment calls: on a GPU, such an access is an error.
extern "C" void __ubsan_handle_type_mismatch_v1(void*, void*) {
  emulator::fail("reads or writes at an address that is not a multiple of what is there");
}

#include <torch_reduce/core.h>

namespace torch_reduce::core {

const char* name(Status status) noexcept {
  constexpr const char* names[] = {
      "success",
      "null_pointer",
      "bad_op",
      "bad_dims",
      "bad_sizes",
      "bad_strides",
      "unsupported_dtype",
      "unsupported_mode",
      "no_elements",
      "misaligned_pointer",
      "workspace_too_small",
      "wrong_device",
      "too_large",
      "out_of_memory",
      "no_cuda",
      "cuda_error",
  };
  constexpr int count = sizeof(names) / sizeof(names[0]);
  static_assert(count == static_cast<int>(Status::cuda_error) + 1);
  const int i = static_cast<int>(status);
  return i >= 0 && i < count ? names[i] : "unknown";
}

}  // namespace torch_reduce::core

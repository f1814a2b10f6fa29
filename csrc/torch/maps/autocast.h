// What autocast does to operators that are made of others. They ask for it themselves, as vmap takes them apart before
// a kernel of autocast would run.
#pragma once

#include <ATen/autocast_mode.h>

namespace torch_reduce {

// Whether the tensor is on a device of this kind, where autocast is on.
inline bool autocast_is_on(const at::Tensor& t, at::DeviceType device) {
  return t.device().type() == device && at::autocast::is_autocast_enabled(device);
}

// On CUDA, of a tensor and of what comes with it.
class Float32OfAutocast {
 public:
  // `is_listed`: whether torch's function is on its list.
  explicit Float32OfAutocast(const at::Tensor& self, bool is_listed = true)
      : is_on_(is_listed && autocast_is_on(self, at::kCUDA)) {}

  template <class T>
  T operator()(const T& t) const {
    return is_on_ ? at::autocast::cached_cast(at::kFloat, t, at::kCUDA) : t;
  }

 private:
  bool is_on_;
};

}  // namespace torch_reduce

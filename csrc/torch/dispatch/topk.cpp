// The largest or the smallest elements along a dim, in order: the indices by a kernel, and what stands there.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace torch_reduce {
namespace {

// Not all types can be gathered; their bits can.
at::ScalarType type_of_bits(at::ScalarType type) {
  switch (type) {
    case at::kUInt16:
      return at::kShort;
    case at::kUInt32:
      return at::kInt;
    case at::kUInt64:
      return at::kLong;
    default:
      return type;
  }
}

std::tuple<at::Tensor, at::Tensor> topk(const at::Tensor& self, c10::SymInt k, int64_t dim, bool largest) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce::_topk_indices", "")
                             .typed<at::Tensor(const at::Tensor&, c10::SymInt, int64_t, bool)>();
  const at::Tensor indices = op.call(self, std::move(k), dim, largest);
  const at::ScalarType type = self.scalar_type(), bits = type_of_bits(type);
  if (bits == type) return {self.gather(dim, indices), indices};
  return {self.view(bits).gather(dim, indices).view(type), indices};
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CompositeImplicitAutograd, m) { m.impl("topk", TORCH_FN(topk)); }

// Integers have no derivative, so the operator runs as if there were none.
TORCH_LIBRARY_IMPL(reduce, Autograd, m) { m.impl("_topk_indices", torch::CppFunction::makeFallthrough()); }

}  // namespace torch_reduce

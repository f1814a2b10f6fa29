// The largest or the smallest elements along a dim, in order: the indices by a kernel, and what stands there.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "call.h"
#include "composites.h"
#include "two.h"

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
  const at::ScalarType type = self.scalar_type(), bits = type_of_bits(type);
  const at::Tensor elements = without_float8(self), indices = op.call(elements, std::move(k), dim, largest);
  if (bits == type) return {elements.gather(dim, indices).to(type), indices};
  // torch has no batching rule for such a view: then a copy, whose bits are those.
  if (self.key_set().has(c10::DispatchKey::FuncTorchBatched)) {
    return {self.to(bits).gather(dim, indices).to(type), indices};
  }
  return {self.view(bits).gather(dim, indices).view(type), indices};
}

std::tuple<at::Tensor&, at::Tensor&> topk_out(const at::Tensor& self, c10::SymInt k, int64_t dim, bool largest,
                                              at::Tensor& values, at::Tensor& indices) {
  TORCH_CHECK(!values.is_alias_of(indices), "reduce::topk: values and indices share memory");
  const auto [found, places] = topk(self, std::move(k), dim, largest);
  check_takes("topk", found, values);
  check_takes("topk", places, indices);
  write_to(values, found);
  write_to(indices, places);
  return {values, indices};
}

void register_composites(torch::Library& m) {
  m.impl("topk", TORCH_FN(topk));
  m.impl("topk.out", TORCH_FN(topk_out));
}

}  // namespace

TORCH_REDUCE_COMPOSITES(register_composites)

// Integers have no derivative, so the operator runs as if there were none.
TORCH_LIBRARY_IMPL(reduce, Autograd, m) { m.impl("_topk_indices", torch::CppFunction::makeFallthrough()); }

}  // namespace torch_reduce

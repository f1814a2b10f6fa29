// Who owns an autograd node. torch counted the owners by std::shared_ptr first and later in the node itself.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <type_traits>

namespace torch_reduce {

template <class N, bool Intrusive = std::is_base_of_v<c10::intrusive_ptr_target, N>>
struct NodeOwner {
  static auto make() { return c10::make_intrusive<N>(); }
  static auto of(N& node) { return c10::intrusive_ptr<torch::autograd::Node>::reclaim_copy(&node); }
};

template <class N>
struct NodeOwner<N, false> {
  // deleteNode, found by its argument's type, unlinks long graphs without recursion.
  static auto make() {
    return std::shared_ptr<N>(new N(), [](N* node) { deleteNode(node); });
  }
  static auto of(N& node) { return node.shared_from_this(); }
};

}  // namespace torch_reduce

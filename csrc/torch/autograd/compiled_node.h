// What a node does under compiled autograd, as torch's own nodes do it: its apply() becomes one call of a pure function
// in the graph. The function is bound to Python once, by a name, and takes what the node holds as packed values.
#pragma once

#include <torch/csrc/dynamo/compiled_autograd.h>

#include <mutex>
#include <tuple>

namespace torch_reduce {

// A node's Gradient has
//   using Values = std::tuple<...>;  // of types that torch packs: int64_t, std::string, std::vector<c10::SymInt>, ...
//   static constexpr const char* name;
//   static List of(const at::Tensor& grad, Values);  // a gradient for each input
template <class Gradient, class Values = typename Gradient::Values>
struct CompiledNode;

template <class Gradient, class... Value>
struct CompiledNode<Gradient, std::tuple<Value...>> {
  using List = torch::autograd::variable_list;

  // The call in place of apply(). `node` holds what stands for its values in the graph, and so do `values`.
  static List call(const torch::autograd::Node& node, const List& grads,
                   const torch::dynamo::autograd::SwapSavedVariables& saved, const std::tuple<Value...>& values) {
    namespace dynamo = torch::dynamo::autograd;
    const auto& python = dynamo::getPyCompilerInterface();
    static std::once_flag bound;
    std::call_once(bound, [&] {
      python->bind_function(saved.get_py_compiler(), Gradient::name, apply,
                            {dynamo::IValuePacker<Value>::packed_type()...});
    });
    dynamo::PackedArgs packed;
    std::apply([&](const Value&... value) { (packed.pack(value), ...); }, values);
    using Metadata = std::vector<std::optional<torch::autograd::InputMetadata>>;
    return python->call_function(saved.get_py_compiler(), "apply_functional", Gradient::name, grads, packed.vec(),
                                 dynamo::IValuePacker<Metadata>::pack(dynamo::get_input_metadata(node.next_edges())));
  }

 private:
  static List apply(const List& grads, const std::vector<c10::IValue>& packed) {
    torch::dynamo::autograd::PackedArgs args(packed);
    return Gradient::of(grads[0], std::tuple<Value...>{args.unpack<Value>()...});  // in sequence, by the braces
  }
};

}  // namespace torch_reduce
